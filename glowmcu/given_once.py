"""Options of `NAME=VALUE` that may be repeated: one value for each name."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

from glowmcu.errors import error

_T = TypeVar("_T")


def given_once(
    option: str, texts: Iterable[str], read: Callable[[str], tuple[str, _T]]
) -> dict[str, _T]:
    """What `read` makes of each text, by name. Raises GM154 for two texts of one name.

    The same text twice says nothing else, and passes.
    """
    values: dict[str, _T] = {}
    text_of: dict[str, str] = {}
    for text in texts:
        name, value = read(text)
        first = text_of.setdefault(name, text)
        if first != text:
            raise error(
                "GM154",
                f"{option} is given twice for {name!r}: as {first!r} and as {text!r}",
                hint=f"keep one of them: {option} {first}, or {option} {text}",
            )
        values[name] = value
    return values
