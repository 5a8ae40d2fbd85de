"""Modules and enums of TensorFlow Lite's schema, as the package `tflite` has them.

The package imports its 186 modules, of which a model needs a dozen; `tflite` here imports those.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Mapping
from functools import cache
from importlib.util import find_spec, module_from_spec
from types import MappingProxyType, ModuleType
from typing import Any

_PACKAGE = "tflite"


class _Folder(ModuleType):
    """The package as a place of modules; it becomes the whole package for whoever wants a name."""

    def __setattr__(self, name: str, value: object) -> None:
        # An imported module has the name of its class, which the whole package shows there.
        if not isinstance(value, ModuleType):
            super().__setattr__(name, value)

    def __getattr__(self, name: str) -> object:
        object.__setattr__(self, "__class__", ModuleType)  # from now on
        loader = self.__spec__.loader if self.__spec__ is not None else None
        assert loader is not None
        loader.exec_module(self)
        return getattr(self, name)


def _find_folder() -> None:
    """Let modules be imported without the package, unless somebody has imported it."""
    if _PACKAGE not in sys.modules:
        spec = find_spec(_PACKAGE)
        if spec is not None:  # else the import of a module says so
            package = module_from_spec(spec)
            package.__class__ = _Folder
            sys.modules[_PACKAGE] = package


class _Schema:
    """Classes and functions of the schema by name, each from its module."""

    def __getattr__(self, name: str) -> Any:
        value = getattr(schema_module(_module_of(name)), name)
        setattr(self, name, value)
        return value


def _module_of(name: str) -> str:
    """`OperatorCodeAddVersion` is in `OperatorCode`, and so is what begins with no longer one."""
    _find_folder()
    for end in range(len(name), 0, -1):
        if find_spec(f"{_PACKAGE}.{name[:end]}") is not None:
            return name[:end]
    raise AttributeError(name)


@cache
def schema_module(name: str) -> ModuleType:
    """Of the table or enum `name`."""
    _find_folder()
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


tflite = _Schema()
