"""The one exception a user of GlowMCU sees: what is wrong, where, and what to try next.

A `Problem` is one finding; a `GlowmcuError` carries one or more of them, so that a model with five
unsupported nodes is reported once with five entries, not five times with one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from enum import IntEnum
from typing import Any

from glowmcu.asked_in_python import in_python
from glowmcu.lazy_dataclass import dataclass

#: Of a problem that a model has in many.
_MOST_PLACES = 4


class ExitCode(IntEnum):
    """What the command line returns to the shell.

    >>> glowmcu.ExitCode.DOES_NOT_FIT, int(glowmcu.ExitCode.UNSUPPORTED)
    (<ExitCode.DOES_NOT_FIT: 4>, 3)
    """

    OK = 0
    MISMATCH = 1
    USAGE = 2
    UNSUPPORTED = 3
    DOES_NOT_FIT = 4
    OUR_BUG = 70


@dataclass(frozen=True)
class Problem:
    """One finding.

    `code` is GM1xx frontend, 2xx IR and lowering, 3xx quantization, 4xx memory, 5xx kernels and
    emission, 6xx verification, 7xx command line and boards; one code a cause, never reused.
    `where` names the place (`kws.tflite, node 7 "dense_1"`), `hint` what to try next; `bind` names
    the model inputs that would have to be known at compile time, `flash_bytes` the budget that
    would do. The texts have the options of the
    commands; as a string, for a program, they have arguments of Python.

    >>> print(glowmcu.Problem("GM110", "cannot read the model", "kws.tflite", "check the path"))
    error[GM110]: cannot read the model
      --> kws.tflite
      hint: check the path
    """

    code: str
    message: str
    where: str = ""
    hint: str = ""
    bind: tuple[str, ...] = ()
    flash_bytes: int | None = None

    @property
    def for_shell(self) -> str:
        """All of it, for who typed a command."""
        lines = [f"error[{self.code}]: {self.message}"]
        if self.where:
            lines.append(f"  --> {self.where}")
        if self.hint:
            lines.append(f"  hint: {self.hint}")
        return "\n".join(lines)

    def __str__(self) -> str:
        # What a place is called is the user's own, unless it is an option.
        where = in_python(self.where) if self.where.startswith("--") else self.where
        said = Problem(self.code, in_python(self.message), where, in_python(self.hint))
        return said.for_shell


class GlowmcuError(Exception):
    """The user's situation: one or more problems and the exit code that they call for.

    >>> try:
    ...     glowmcu.compile("digits_int8.tflite", arena_budget=64)
    ... except glowmcu.GlowmcuError as cause:
    ...     cause.code, cause.exit_code.name, len(cause.problems)
    ('GM403', 'DOES_NOT_FIT', 1)
    """

    def __init__(self, problems: Sequence[Problem], exit_code: ExitCode = ExitCode.USAGE) -> None:
        assert problems, "an error without a problem says nothing"
        self.problems = tuple(problems)
        self.exit_code = exit_code
        super().__init__("\n".join(map(str, each_once(self.problems))))

    def __reduce__(self) -> tuple[Any, ...]:
        # By its text, which is all that Exception keeps, another process could not make it again.
        return type(self), (self.problems, self.exit_code)

    @property
    def for_shell(self) -> str:
        """All problems, for who typed a command."""
        return "\n".join(problem.for_shell for problem in each_once(self.problems))

    @property
    def code(self) -> str:
        """Code of the first problem."""
        return self.problems[0].code


def each_once(problems: Sequence[Problem]) -> list[Problem]:
    """What is the same in many places is said once, with the first of them."""
    places: dict[Problem, list[str]] = {}
    for problem in problems:
        places.setdefault(replace(problem, where="", bind=()), []).append(problem.where)
    return [replace(problem, where=_listed(where)) for problem, where in places.items()]


def _listed(places: Sequence[str]) -> str:
    shown = list(filter(None, places[:_MOST_PLACES]))
    if len(places) > _MOST_PLACES:
        shown.append(f"and {len(places) - _MOST_PLACES} more")
    return "\n  --> ".join(shown)


@contextmanager
def said_of(graph_name: str, file_name: str) -> Iterator[None]:
    """Problems whose place is a graph, of which users know nothing, are said of the file."""
    try:
        yield
    except GlowmcuError as cause:
        problems = [
            replace(problem, where=file_name) if problem.where == graph_name else problem
            for problem in cause.problems
        ]
        raise GlowmcuError(problems, cause.exit_code) from cause


def error(
    code: str,
    message: str,
    where: str = "",
    hint: str = "",
    exit_code: ExitCode = ExitCode.USAGE,
) -> GlowmcuError:
    """A `GlowmcuError` with a single problem: `raise error("GM101", …)`."""
    return GlowmcuError([Problem(code, message, where, hint)], exit_code)
