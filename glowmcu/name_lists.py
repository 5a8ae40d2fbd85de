"""Names of a model on one line of a bundle's options, and back: whatever characters they have.

Names stand as they are, with commas between; a comma, an equals sign or a backslash that belongs to
a name has a backslash in front.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

_SPECIAL = re.compile(r"[\\,=]")
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)


def _written(name: str) -> str:
    return _SPECIAL.sub(r"\\\g<0>", name)


def _read(text: str) -> str:
    return _ESCAPED.sub(r"\1", text)


def _parts(text: str, separator: str) -> list[str]:
    """What stands between separators without a backslash in front; still escaped, never empty."""
    return re.findall(rf"(?:[^\\{separator}]|\\.)+", text, re.DOTALL)


def names_text(names: Iterable[str]) -> str:
    """`a,b`."""
    return ",".join(map(_written, names))


def read_names(text: str) -> tuple[str, ...]:
    """The inverse of `names_text`."""
    return tuple(map(_read, _parts(text, ",")))


def pairs_text(pairs: Mapping[str, str]) -> str:
    """`a=1,b=2`."""
    return ",".join(f"{_written(name)}={_written(value)}" for name, value in pairs.items())


def read_pairs(text: str) -> dict[str, str]:
    """The inverse of `pairs_text`."""
    split = (_parts(pair, "=") for pair in _parts(text, ","))
    return {_read(pair[0]): _read("".join(pair[1:])) for pair in split}
