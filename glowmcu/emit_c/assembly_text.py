"""Instructions as the strings of an `__asm__` statement: labels stand out, stages are titled.

A line of assembly is a label, an instruction, a directive or a comment alone, each but the last
perhaps with a comment behind it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from glowmcu.emit_c.c_text import wrap_words

_WITH_COMMENT = re.compile(r"(.*?) *(/\* .* \*/)?", re.DOTALL)
_MARGIN = " " * 8
#: Columns of a string's text that leave room for quotes, `\\n` and the margin.
_COLUMNS = 86


def assembly_strings(lines: Iterable[str]) -> str:
    """The strings, a line each; comments are C's."""
    return "\n".join(text for line in lines for text in _strings(line))


def _strings(line: str) -> Iterator[str]:
    found = _WITH_COMMENT.fullmatch(line)
    assert found is not None
    code, comment = found[1].replace("\\", "\\\\"), found[2]
    is_title = not code or code.endswith(":")
    if comment and is_title:
        yield _MARGIN + comment
    if not code:
        return
    *first, last = wrap_words(code, "" if is_title else "    ", _COLUMNS)
    yield from (f'{_MARGIN}"{part} "' for part in first)
    behind = f" {comment}" if comment and not is_title else ""
    yield f'{_MARGIN}"{last}\\n"{behind}'
