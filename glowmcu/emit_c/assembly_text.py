"""Instructions as the strings of an `__asm__` statement: labels stand out, stages are titled.

A line of assembly is a label, an instruction, a directive or a comment alone, each but the last
perhaps with a comment behind it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from glowmcu.emit_c.c_text import wrap_words

_LIST = re.compile(r"(push|vpush) \{(.*?)\}")
_RESERVED = re.compile(r"sub sp, (?:sp, )?#(\d+)")
_WITH_COMMENT = re.compile(r"(.*?) *(/\* .* \*/)?", re.DOTALL)
_MARGIN = " " * 8
#: Columns of a string's text that leave room for quotes, `\\n` and the margin.
_COLUMNS = 86


def assembly_strings(lines: Iterable[str]) -> str:
    """The strings, a line each; comments are C's."""
    return "\n".join(text for line in lines for text in _strings(line))


def frame_bytes(lines: Iterable[str]) -> int:
    """What a function that is this assembly takes of the stack: it pushes and reserves at its start
    alone.
    """
    found = 0
    for line in lines:
        if pushed := _LIST.search(line):
            found += sum(map(_register_bytes, pushed[2].split(",")))
        elif reserved := _RESERVED.search(line):
            found += int(reserved[1])
    return found


def _register_bytes(part: str) -> int:
    """Of one item of a list: `lr`, `r4-r11`, `d8-d15`."""
    first, _, last = part.strip().partition("-")
    count = int(last[1:]) - int(first[1:]) + 1 if last else 1
    return count * (8 if first.startswith("d") else 4)


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
