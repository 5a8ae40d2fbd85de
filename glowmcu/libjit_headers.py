"""Headers of libjit, of plug-ins and of users: their texts, and which include which."""

from __future__ import annotations

import re
from functools import cache

from glowmcu.resources import find_resource

INCLUDE = re.compile(r'^#include "(\w+\.h)"', re.MULTILINE)
#: What users brought, by a name that a digest of the text is part of.
_BROUGHT: dict[str, str] = {}


def bring_header(name: str, text: str) -> None:
    """From now on there is a header `name`, which nothing else is called."""
    assert _BROUGHT.setdefault(name, text) == text, f"{name} is of two texts"


def included_headers(text: str) -> tuple[str, ...]:
    """The libjit headers that `text` includes."""
    return tuple(INCLUDE.findall(text))


def libjit_closure(headers: tuple[str, ...]) -> dict[str, str]:
    """The headers named and those that they include. Raises GM755 for one that is nowhere."""
    found: dict[str, str] = {}
    todo = list(headers)
    while todo:
        header = todo.pop()
        if header not in found:
            found[header] = _BROUGHT.get(header) or _libjit_text(header)
            todo += included_headers(found[header])
    return dict(sorted(found.items()))


@cache
def _libjit_text(header: str) -> str:
    """A libjit header as it is in the package, read once: each bundle asks for dozens."""
    return find_resource("libjit", header).read_text(encoding="utf-8")
