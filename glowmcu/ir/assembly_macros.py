"""Instructions that stand in many places of a bundle's assembly, as C macros that say what they do.

A function's assembly is lines and calls of macros. What a call stands for are a macro's lines with
its arguments in the place of `\\name`, so that a reader of the C meets each sequence once, and who
counts or orders instructions sees all of them: `plain`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache

from glowmcu.lazy_dataclass import dataclass

_PARAMETER = re.compile(r"\\([a-z]\w*)")


@dataclass(frozen=True)
class Macro:
    """`lines` have parameters as `\\name`.

    A name means the same lines in all bundles. `about` is a sentence for the C; `feature` is what
    functions with these instructions ask for.
    """

    name: str
    about: str
    parameters: tuple[str, ...]
    lines: tuple[str, ...]
    feature: str = "GLOWMCU_HAS_DSP"

    def __call__(self, *arguments: int | str, title: str = "", goes_on: bool = False) -> MacroCall:
        assert len(arguments) == len(self.parameters), self.name
        return MacroCall(self, tuple(map(str, arguments)), title, goes_on)


@dataclass(frozen=True)
class MacroCall:
    """A macro with numbers or registers. `goes_on`: it is shown behind the call before it."""

    macro: Macro
    arguments: tuple[str, ...]
    title: str
    goes_on: bool

    def lines(self) -> Iterator[str]:
        """The title, if any, and the instructions."""
        if self.title:
            yield f"/* {self.title} */"
        values = dict(zip(self.macro.parameters, self.arguments, strict=True))
        for line in self.macro.lines:
            yield _PARAMETER.sub(lambda found: values[found[1]], line)


AssemblyLine = str | MacroCall
Assembly = Sequence[AssemblyLine]


def plain(assembly: Iterable[AssemblyLine]) -> Iterator[str]:
    """All lines, none of them in a macro."""
    for line in assembly:
        yield from line.lines() if isinstance(line, MacroCall) else (line,)


def calls(assembly: Iterable[AssemblyLine]) -> Iterator[MacroCall]:
    """Those of macros, in their order."""
    return (line for line in assembly if isinstance(line, MacroCall))


def folded(lines: Sequence[str], macros: Sequence[Macro]) -> Iterator[AssemblyLine]:
    """The lines, with calls wherever one of `macros` stands for some of them."""
    at = 0
    while at < len(lines):
        for macro in macros:
            found = re.match(_pattern(macro), "\n".join(lines[at : at + len(macro.lines)]))
            if found:
                yield macro(*(found[name] for name in macro.parameters))
                at += len(macro.lines)
                break
        else:
            yield lines[at]
            at += 1


@cache
def _pattern(macro: Macro) -> re.Pattern[str]:
    """Of the macro's lines, with numbers in the place of its parameters."""
    text = re.escape("\n".join(macro.lines))
    for name in macro.parameters:
        text = text.replace(rf"\\{name}", rf"(?P<{name}>\d+)")
    return re.compile(rf"{text}\Z")
