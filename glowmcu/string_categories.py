"""What a model's inputs of strings are in C: numbers of categories, whose names its header has."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: The number of a string that no encoder knows.
UNKNOWN = -1
#: Key of a graph's metadata: the names as JSON.
_KEY = "glowmcu.categories"


def numbered(array: NDArray[Any], names: Sequence[str]) -> NDArray[Any]:
    """An array of strings as the numbers of those categories, int32; others as they are."""
    import numpy as np

    is_text = array.dtype.kind == "U" or (
        array.dtype == object and all(isinstance(item, str) for item in array.flat)
    )
    if not names or not is_text:
        return array
    numbers = {name: number for number, name in enumerate(names)}
    found = [numbers.get(str(item), UNKNOWN) for item in array.flat]
    return np.array(found, np.int32).reshape(array.shape)


def with_categories(metadata: Mapping[str, str], names: Sequence[str]) -> dict[str, str]:
    """The metadata of a graph with inputs that are numbers of these."""
    return {**metadata, **({_KEY: json.dumps(list(names))} if names else {})}


def categories_of(metadata: Mapping[str, str]) -> tuple[str, ...]:
    """Their names, each at its number; none where no input is a string."""
    return tuple(json.loads(metadata.get(_KEY, "[]")))
