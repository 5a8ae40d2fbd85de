"""Numbers of categories, as an enumeration of the bundle's header."""

from __future__ import annotations

from collections.abc import Sequence

from glowmcu.emit_c.c_text import c_literal, unique_identifiers
from glowmcu.lazy_dataclass import dataclass


@dataclass(frozen=True)
class CategoryView:
    """A string as the end of an enumerator, and as a literal."""

    identifier: str
    literal: str


#: Compilers need to tell identifiers apart by no more characters.
_TOLD_APART = 31


def category_views(names: Sequence[str], prefix: str) -> tuple[CategoryView, ...]:
    """Each at its number; enumerators begin with `prefix`."""
    # One that is unknown has a name of its own.
    words = unique_identifiers(["unknown", *names], "category")
    taken, found = set[str](), list[CategoryView]()
    for number, plain in enumerate(words, -1):
        is_taken = f"{prefix}{plain}".upper()[:_TOLD_APART] in taken
        word = f"{number}_{plain}" if is_taken else plain
        taken.add(f"{prefix}{word}".upper()[:_TOLD_APART])
        if number >= 0:
            found.append(CategoryView(word.upper(), c_literal(names[number])))
    return tuple(found)
