"""What a model's inputs of strings are in C: numbers of categories, whose names its header has."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: The number of a string that no encoder knows.
UNKNOWN = -1
#: Keys of a graph's metadata: the names, and the inputs that are strings in the file, as JSON.
_KEY, _INPUTS = "glowmcu.categories", "glowmcu.categories.inputs"


def numbered(array: NDArray[Any], names: Sequence[str]) -> NDArray[Any]:
    """An array of strings as the numbers of those categories, int32; others as they are."""
    import numpy as np

    is_text = array.dtype.kind in "UST" or (
        array.dtype == object and all(isinstance(item, str | bytes) for item in array.flat)
    )
    if not names or not is_text:
        return array
    numbers = {name: number for number, name in enumerate(names)}
    texts = (item.decode() if isinstance(item, bytes) else str(item) for item in array.flat)
    found = [numbers.get(text, UNKNOWN) for text in texts]
    return np.array(found, np.int32).reshape(array.shape)


def with_categories(
    metadata: Mapping[str, str], names: Sequence[str], inputs: Sequence[str]
) -> dict[str, str]:
    """The metadata of a graph whose `inputs` are numbers of these."""
    if not names:
        return dict(metadata)
    return {**metadata, _KEY: json.dumps(list(names)), _INPUTS: json.dumps(list(inputs))}


def inputs_of_categories(metadata: Mapping[str, str]) -> tuple[str, ...]:
    """Names of the inputs that are strings in the file."""
    return tuple(json.loads(metadata.get(_INPUTS, "[]")))


def categories_of(metadata: Mapping[str, str]) -> tuple[str, ...]:
    """Their names, each at its number; none where no input is a string."""
    return tuple(json.loads(metadata.get(_KEY, "[]")))
