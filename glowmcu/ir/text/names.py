"""SSA names: `%model_conv2d_Relu` from `model/conv2d/Relu;model/bn/…`, unique within a text."""

from __future__ import annotations

import re

_UNFIT = re.compile(r"[^0-9A-Za-z_]+")
_LONGEST = 48


class Names:
    """Hands out names that are unique, stable and close to what people called the value."""

    def __init__(self) -> None:
        self._names: dict[object, str] = {}
        self._taken: set[str] = set()

    def add(self, key: object, wish: str) -> str:
        """The name of `key` from now on."""
        assert key not in self._names, f"{wish!r} is named twice"
        stem = _stem(wish)
        name, number = stem, 1
        while name in self._taken:
            number += 1
            name = f"{stem}_{number}"
        self._taken.add(name)
        self._names[key] = name
        return name

    def __getitem__(self, key: object) -> str:
        return self._names[key]

    def __contains__(self, key: object) -> bool:
        return key in self._names


def _stem(wish: str) -> str:
    """Letters, digits and `_` of the first of TFLite's `;`-joined names, its end if long."""
    if _UNFIT.search(wish) is None and len(wish) <= _LONGEST:
        stem = wish
    else:
        stem = _UNFIT.sub("_", wish.partition(";")[0]).strip("_")
    if len(stem) > _LONGEST:
        stem = stem[-_LONGEST:].partition("_")[2] or stem[-_LONGEST:]
    return f"_{stem}" if not stem or stem[0].isdigit() else stem
