"""Instructions as the strings of an `__asm__` statement: labels stand out, stages are titled.

A line of assembly is a label, an instruction, a directive or a comment alone, each but the last
perhaps with a comment behind it; or a call of a macro, which is defined before the function where
that makes the bundle shorter.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from glowmcu.emit_c.c_text import wrap_words
from glowmcu.emit_c.folding import COLUMNS
from glowmcu.ir.assembly_macros import AssemblyLine, Macro, MacroCall, calls, plain

_LIST = re.compile(r"(push|vpush) \{(.*?)\}")
_RESERVED = re.compile(r"sub sp, (?:sp, )?#(\d+)")
_WITH_COMMENT = re.compile(r"(.*?) *(/\* .* \*/)?", re.DOTALL)
_MARGIN = " " * 8
#: Columns of a string's text that leave room for quotes, `\\n` and the margin.
_COLUMNS = 86


def assembly_strings(lines: Iterable[AssemblyLine]) -> str:
    """The strings and calls, a line each; comments are C's."""
    texts: list[str] = []
    found: list[MacroCall] = []
    for line in lines:
        if isinstance(line, MacroCall):
            if not line.goes_on:
                texts += _call_lines(found)
                found = []
            found.append(line)
            continue
        texts += [*_call_lines(found), *_strings(line)]
        found = []
    return "\n".join([*texts, *_call_lines(found)])


def _call_lines(found: Sequence[MacroCall]) -> list[str]:
    """A call with those that go on from it, and its title behind them or, if it is long, above."""
    text = _MARGIN + " ".join(map(_call, found))
    title = f"/* {found[0].title} */" if found and found[0].title else ""
    if len(text) + len(title) < COLUMNS:
        return [f"{text} {title}".rstrip()] if found else []
    return [*([_MARGIN + title] if title else ()), *(_MARGIN + _call(call) for call in found)]


def _call(call: MacroCall) -> str:
    return call.macro.name + (f"({', '.join(call.arguments)})" if call.arguments else "")


def frame_bytes(lines: Iterable[AssemblyLine]) -> int:
    """What a function that is this assembly takes of the stack: it pushes and reserves at its start
    alone.
    """
    found = 0
    for line in plain(lines):
        if pushed := _LIST.search(line):
            found += sum(map(_register_bytes, pushed[2].split(",")))
        elif reserved := _RESERVED.search(line):
            found += int(reserved[1])
    return found


def worthwhile_macros(assemblies: Iterable[Iterable[AssemblyLine]]) -> set[Macro]:
    """Macros of which definition and calls are fewer lines than what the calls stand for."""
    counts = Counter(call.macro for assembly in assemblies for call in calls(assembly))
    return {
        macro
        for macro, count in counts.items()
        if len(macro_definition(macro).splitlines()) + 2 + count < count * len(macro.lines)
    }


def macro_definition(macro: Macro) -> str:
    """In C: the strings of its lines, of which parameters are parts, below what they do."""
    about = wrap_words(macro.about, "", _COLUMNS + len(_MARGIN))
    comment = [f"/* {about[0]} */"] if not about[1:] else ["/*", *(f" * {a}" for a in about), " */"]
    parameters = f"({', '.join(macro.parameters)})" if macro.parameters else ""
    strings = [_parted(text, macro.parameters) for line in macro.lines for text in _strings(line)]
    lines = [f"#define {macro.name}{parameters}", *strings]
    width = max(map(len, lines[:-1]))
    return "\n".join([*comment, *(f"{line:{width}} \\" for line in lines[:-1]), lines[-1]])


def _parted(string: str, parameters: Iterable[str]) -> str:
    """A string of a macro's body: parameters become strings of their own."""
    for name in parameters:
        string = re.sub(rf"\\\\{name}\b", f'" #{name} "', string)
    return f"    {string.strip()}"


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
