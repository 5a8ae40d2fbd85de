"""From what something is at some sizes to what it is at another: operators, types, constants."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any, TypeVar, cast

import numpy as np

from glowmcu.size_forms import size_form

_T = TypeVar("_T")


class Irregular(Exception):
    """There is no rule by which it follows from the size; the text says what."""


def blended(known: Mapping[int, _T], size: int) -> _T:
    """What `known`, by size, is at another size. Raises Irregular.

    Numbers follow a `SizeForm`, parts of tuples and data classes for themselves; arrays are the
    beginning of the largest one.
    """
    return cast("_T", _blended(cast("Mapping[int, Any]", known), size))


def _blended(known: Mapping[int, Any], size: int) -> Any:  # noqa: ANN401 - any attribute
    largest = known[max(known)]
    kinds = {type(item) for item in known.values()}
    if len(kinds) > 1:
        raise Irregular(f"{' and '.join(sorted(kind.__name__ for kind in kinds))} by turns")
    if isinstance(largest, np.ndarray):
        return _array(known, size)
    if isinstance(largest, int) and not isinstance(largest, bool):
        form = size_form(known)
        if form is None:
            raise Irregular(f"{largest} at the largest size, by no rule below it")
        return form.at(size)
    if isinstance(largest, tuple):
        if len({len(item) for item in known.values()}) > 1:
            raise Irregular("more parts at some sizes than at others")
        parts = [
            _blended({at: item[number] for at, item in known.items()}, size)
            for number in range(len(largest))
        ]
        return type(largest)(*parts) if hasattr(largest, "_fields") else tuple(parts)
    if is_dataclass(largest) and not isinstance(largest, type):
        values = {
            item.name: _blended({at: getattr(one, item.name) for at, one in known.items()}, size)
            for item in fields(largest)
        }
        return type(largest)(**values)
    if any(item != largest for item in known.values()):
        raise Irregular(f"{largest!r} at the largest size, another below it")
    return largest


def _array(known: Mapping[int, Any], size: int) -> Any:  # noqa: ANN401 - an array
    """The beginning of the largest, along the axis that grows."""
    largest = known[max(known)]
    shape = _blended({at: item.shape for at, item in known.items()}, size)
    for item in known.values():
        if item is not largest and not np.array_equal(item, largest[tuple(map(slice, item.shape))]):
            raise Irregular("a constant that is another for each size")
    if shape == largest.shape:
        return largest
    return np.array(largest[tuple(map(slice, shape))], order="C")
