"""Modules and enums of TensorFlow Lite's schema, as the package `tflite` has them."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from functools import cache
from types import MappingProxyType, ModuleType


@cache
def schema_module(name: str) -> ModuleType:
    """Of the table or enum `name`."""
    return importlib.import_module(f"tflite.{name}")


@cache
def schema_enum(name: str) -> Mapping[str, int]:
    """Name -> number of a schema enum such as `TensorType`, in the schema's order."""
    members = vars(getattr(schema_module(name), name))
    # Python 3.13 adds numbers of its own to a class.
    return MappingProxyType(
        {
            key: value
            for key, value in members.items()
            if isinstance(value, int) and not key.startswith("_")
        }
    )


def schema_names(name: str) -> dict[int, str]:
    """Number -> name of a schema enum."""
    return {number: key for key, number in schema_enum(name).items()}
