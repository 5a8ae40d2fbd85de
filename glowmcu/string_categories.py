"""What a model's inputs of strings are in C: numbers of categories, whose names its header has."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

#: The number of a string that no encoder knows.
UNKNOWN = -1
#: Key of a graph's metadata: the names as JSON.
_KEY = "glowmcu.categories"


def with_categories(metadata: Mapping[str, str], names: Sequence[str]) -> dict[str, str]:
    """The metadata of a graph with inputs that are numbers of these."""
    return {**metadata, **({_KEY: json.dumps(list(names))} if names else {})}


def categories_of(metadata: Mapping[str, str]) -> tuple[str, ...]:
    """Their names, each at its number; none where no input is a string."""
    return tuple(json.loads(metadata.get(_KEY, "[]")))
