"""What a header's macros of assembly come to: the lines of a function whose order is to change.

A macro's body is string literals, `#argument` and other such macros. Other cores get the macros
themselves, so that the header stays the one place where the instructions are.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache

from glowmcu.kernels.dsp.order.blocks import ordered
from glowmcu.kernels.kernel import Target
from glowmcu.lazy_dataclass import dataclass
from glowmcu.resources import find_resource

_DEFINE = re.compile(r"#define (GLOWMCU_\w+)(?:\(([^)]*)\))?((?:.*\\\n)*.*)")
_TOKEN = re.compile(r'"((?:[^"\\]|\\.)*)"|#(\w+)|(\w+)(?:\(([^)]*)\))?|\\?\n|\s+')


@dataclass(frozen=True)
class _Macro:
    parameters: tuple[str, ...]
    body: str


def in_statements(
    header: str, statements: Sequence[Sequence[str]], target: Target
) -> dict[str, object]:
    """Of a view: `statements` of macros of libjit's `header`, or the target's order of them."""
    if not target.core.dual_issue:
        return {"statements": statements, "assembly": ()}
    calls = (call for statement in statements for call in statement)
    return {"statements": (), "assembly": ordered(expanded(header, calls), target, apart=("r1",))}


def expanded(header: str, calls: Iterable[str]) -> tuple[str, ...]:
    """The lines of `calls`: a string literal, or a macro of libjit's `header` with arguments."""
    macros = _macros(header)
    text = "".join(part for call in calls for part in _parts(call, macros, {}))
    return tuple(line.strip() for line in text.split("\n") if line.strip())


@cache
def _macros(header: str) -> Mapping[str, _Macro]:
    text = find_resource("libjit", header).read_text(encoding="utf-8")
    return {
        match[1]: _Macro(_arguments(match[2] or ""), match[3]) for match in _DEFINE.finditer(text)
    }


def _arguments(text: str) -> tuple[str, ...]:
    return tuple(part.strip("\\ \n") for part in text.split(",") if part.strip())


def _parts(text: str, macros: Mapping[str, _Macro], known: Mapping[str, str]) -> Iterator[str]:
    for match in _TOKEN.finditer(text):
        literal, parameter, name, arguments = match.groups()
        if literal is not None:
            yield literal.replace("\\n", "\n").replace("\\t", "\t")
        elif parameter is not None:
            yield known[parameter]
        elif name is not None:
            macro = macros[name]
            given: Sequence[str] = _arguments(arguments or "")
            values = (known.get(value, value) for value in given)
            yield from _parts(macro.body, macros, dict(zip(macro.parameters, values, strict=True)))
