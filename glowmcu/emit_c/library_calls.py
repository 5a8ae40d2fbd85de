"""Which functions of the C library a bundle's code calls: what a product without one must have."""

from __future__ import annotations

import re
from collections.abc import Iterable

_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
#: All of <string.h> that templates and libjit call; there is no other header with functions.
_CALL = re.compile(r"\b(mem(?:cmp|cpy|move|set)|strcmp)\(")
#: Name and body of a function, whose last brace alone begins a line.
_FUNCTION = re.compile(r"^[\w* ]*?(\w+)\([^;{}]*\)\n\{\n(.*?)^\}", re.MULTILINE | re.DOTALL)
_WORD = re.compile(r"\w+")


def library_calls(source: str, headers: Iterable[str]) -> tuple[str, ...]:
    """Their names in order; of functions in headers, those that the source may reach count.
    Compilers may call `memcpy`, `memset` and their own library, too.
    """
    reached, bodies = [_COMMENT.sub("", source)], dict[str, str]()
    for header in headers:
        text = _COMMENT.sub("", header)
        bodies |= dict(_FUNCTION.findall(text))
        reached.append(_FUNCTION.sub("", text))
    for text in reached:
        reached += [bodies.pop(name) for name in set(_WORD.findall(text)) & bodies.keys()]
    return tuple(sorted({name for text in reached for name in _CALL.findall(text)}))
