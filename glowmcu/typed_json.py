"""Values of JSON as annotations have them: objects as dataclasses, lists as tuples.

Every value is checked, since a file may come from anywhere.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Mapping
from types import UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

_LARGEST = 2**63


def typed(value: object, kind: Any, where: str) -> Any:  # noqa: ANN401 - types of any kind
    """`value` as a `kind`. Raises ValueError that names the place of what is none, KeyError for a
    key that is missing.
    """
    origin, parts = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):  # only of a type and None
        return None if value is None else typed(value, parts[0], where)
    if origin is tuple and isinstance(value, list | tuple):
        return tuple(typed(item, parts[0], f"{where}[{at}]") for at, item in enumerate(value))
    if origin is dict and isinstance(value, dict):
        return {key: typed(item, parts[1], f"{where}.{key}") for key, item in value.items()}
    if dataclasses.is_dataclass(kind) and isinstance(value, Mapping):
        return _instance(value, kind, where)
    if not _is_plain(value, kind):
        raise ValueError(f"{where} is not of its type")
    return value


def _instance(row: Mapping[str, object], kind: Any, where: str) -> object:  # noqa: ANN401
    hints, needed = _fields(kind)
    dot = f"{where}." if where else ""
    if unknown := row.keys() - hints.keys():
        raise ValueError(f"{dot}{min(unknown)} is not known")
    for name in needed:
        if name not in row:
            raise KeyError(name)
    return kind(**{name: typed(item, hints[name], dot + name) for name, item in row.items()})


@functools.cache
def _fields(kind: type) -> tuple[Mapping[str, Any], tuple[str, ...]]:
    """Types by name, and the names that have no default."""
    none = dataclasses.MISSING
    needed = [
        item.name
        for item in dataclasses.fields(kind)
        if item.default is none and item.default_factory is none
    ]
    return get_type_hints(kind), tuple(needed)


def _is_plain(value: object, kind: object) -> bool:
    if isinstance(value, bool):
        return kind is bool
    if isinstance(value, int):
        return kind in (int, float) and abs(value) < _LARGEST
    if isinstance(value, float):
        return kind is float and math.isfinite(value)
    return kind is str and isinstance(value, str)
