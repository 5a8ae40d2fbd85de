"""Which columns of a table are a model's inputs, and which are none, by their names."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import TypeVar

#: Columns that are no numbers for a model, by their usual names: the surest first.
ASIDE = (
    "", "unnamed: 0", "index", "id", "label", "labels", "class", "class_id", "target", "sample",
    "timestamp", "time", "y", "t",
)  # fmt: skip
#: Where these are all there, none of them is what a classifier gives.
_PLACES = {"x", "y", "z"}
#: What is no part of a name in a program.
_NO_NAME = re.compile(r"\W")
_T = TypeVar("_T")


def by_input(inputs: Sequence[str], columns: Mapping[str, _T]) -> dict[str, _T]:
    """The columns by what they are called, and those of inputs as these are: skl2onnx writes
    `length__cm_` of "length (cm)". A name that several have alike is nobody's.
    """
    found = dict(columns)
    for name in inputs:
        plain = _NO_NAME.sub("_", name)
        alike = [c for c in columns if c not in inputs and _NO_NAME.sub("_", c) == plain]
        is_alone = sum(_NO_NAME.sub("_", other) == plain for other in inputs) == 1
        if name not in columns and is_alone and len(alike) == 1:
            found[name] = found.pop(alike[0])
    return found


def kept_columns(names: Sequence[str], count: int, sizes: Collection[int]) -> list[int] | None:
    """Places of the `count` columns that a sample of one of `sizes` is made of: all, or without as
    few as possible of those that are usually none; None if that is not clear. `names` may be none.
    """
    if count in sizes:
        return list(range(count))
    plain = [name.strip().lower() for name in names]
    is_aside = set(ASIDE) - (_PLACES if set(plain) >= _PLACES else set())
    surest = sorted(
        (at for at, name in enumerate(plain) if name in is_aside),
        key=lambda at: ASIDE.index(plain[at]),
    )
    for size in sorted(sizes, reverse=True):
        if 0 < count - size <= len(surest):
            left = surest[: count - size]
            return [at for at in range(count) if at not in left]
    return None
