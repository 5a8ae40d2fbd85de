"""Generated C in 100 columns: calls and signatures broken at commas, comments at words.

Templates are written as C that fits with short names; a model's own names may be longer. Only
what is too long changes, as a whole: a call goes on until its parentheses are closed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from glowmcu.emit_c.c_text import wrap_items, wrap_words

COLUMNS = 100
_ATTRIBUTE = re.compile(r"(GLOWMCU_NAKED|__attribute__\(\(.*?\)\)) (static .*)", re.DOTALL)
_TRAILING_COMMENT = re.compile(r"( *)(\S.*) (/\* .* \*/)")
_COMMENT_STARTS = ("/*", "*", "#")


#: Many lines of an array's elements, none of them long: nothing there is to be folded.
_ELEMENTS = re.compile(r"((?:^[ \d,.ef+-]{1,100}\n){64,})", re.MULTILINE)
_LONG = re.compile(rf"^.{{{COLUMNS + 1}}}", re.MULTILINE)


def fold_lines(text: str) -> str:
    """`text` with its long lines broken where C allows it; others stay as they are."""
    if not _LONG.search(text):
        return text  # constants can be megabytes: no copy of them
    parts = _ELEMENTS.split(text)
    parts[::2] = [_fold(part) if _LONG.search(part) else part for part in parts[::2]]
    return "".join(parts)


def _fold(text: str) -> str:
    lines = _fold_macros(text.split("\n"))
    return "\n".join(
        line
        for group in _groups(lines)
        for line in (_folded(group) if max(map(len, group)) > COLUMNS else group)
    )


def _is_macro_line(lines: list[str], at: int) -> bool:
    """Whether a backslash joins the line to the one before or after."""
    return lines[at].endswith("\\") or (at > 0 and lines[at - 1].endswith("\\"))


def _fold_macros(lines: list[str]) -> list[str]:
    """Lines of a macro end in a backslash wherever they are broken."""
    folded = []
    for at, line in enumerate(lines):
        if len(line) <= COLUMNS or '"' in line or not _is_macro_line(lines, at):
            folded.append(line)
            continue
        indent = line[: len(line) - len(line.lstrip())]
        pieces = wrap_words(line.strip().removesuffix("\\"), indent, COLUMNS - 2)
        folded += [f"{piece} \\" for piece in pieces[:-1]]
        folded.append(pieces[-1] + (" \\" if line.endswith("\\") else ""))
    return folded


def _groups(lines: list[str]) -> Iterator[list[str]]:
    """Lines that the same parentheses hold together; strings (assembly) are left alone."""
    at = 0
    while at < len(lines):
        if _is_macro_line(lines, at):
            yield lines[at : at + 1]
            at += 1
            continue
        end, depth = at + 1, _depth(lines[at])
        while depth > 0 and end < len(lines) and '"' not in lines[end]:
            depth += _depth(lines[end])
            end += 1
        if depth != 0:
            end = at + 1
        yield lines[at:end]
        at = end


def _depth(line: str) -> int:
    if '"' in line or line.lstrip().startswith(_COMMENT_STARTS):
        return 0
    return line.count("(") - line.count(")")


def _folded(group: list[str]) -> list[str]:
    first = group[0]
    if first.endswith("\\"):
        return group
    stripped = first.lstrip()
    indent = first[: len(first) - len(stripped)]
    if stripped.startswith("/* ") and stripped.endswith(" */"):
        return [f"{indent}/*", *wrap_words(stripped[3:-3], f"{indent} * "), f"{indent} */"]
    if stripped.startswith("* "):
        prefix = indent + stripped[: len(stripped) - len(stripped[1:].lstrip())]
        return wrap_words(stripped[1:].lstrip(), prefix)
    if found := _TRAILING_COMMENT.fullmatch(first):
        return fold_lines(f"{indent}{found[3]}\n{indent}{found[2]}").split("\n")
    if found := _ATTRIBUTE.fullmatch("\n".join([stripped, *group[1:]])):
        return [indent + found[1], *fold_lines(indent + found[2]).split("\n")]
    return _statement(group, indent)


def _statement(group: list[str], indent: str) -> list[str]:
    """A signature or call: what its last outermost parentheses hold goes below it."""
    whole = " ".join(line.strip() for line in group).replace("( ", "(")
    opened, closed = _last_parentheses(whole)
    if not 0 <= opened < closed or '"' in whole or whole.startswith("#"):
        return group
    arguments = _items(whole[opened + 1 : closed])
    arguments[-1] += whole[closed:]
    inner = wrap_items(arguments, indent + "    ")
    return [f"{indent}{whole[: opened + 1]}", *inner.split("\n")]


def _last_parentheses(text: str) -> tuple[int, int]:
    depth, opened, closed = 0, -1, -1
    for at, character in enumerate(text):
        if character == "(":
            opened = at if depth == 0 else opened
            depth += 1
        elif character == ")":
            depth -= 1
            closed = at if depth == 0 else closed
    return opened, closed


def _items(text: str) -> list[str]:
    """Split at commas that are in no parentheses."""
    items, depth, start = [], 0, 0
    for at, character in enumerate(text):
        depth += (character in "({") - (character in ")}")
        if character == "," and depth == 0:
            items.append(text[start:at].strip())
            start = at + 1
    return [*items, text[start:].strip()]
