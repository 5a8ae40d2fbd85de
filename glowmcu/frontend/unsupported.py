"""What an importer raises when an operator or tensor cannot become part of the graph."""

from __future__ import annotations

from glowmcu.asked_in_python import is_in_memory
from glowmcu.errors import Problem


class Unsupported(Exception):
    """Code, what was expected and got, and what to try next; the driver adds where. `in_python` is
    the hint for a model that no command line was given.
    """

    def __init__(
        self, code: str, message: str, hint: str = "", bind: tuple[str, ...] = (),
        in_python: str = "",
    ) -> None:  # fmt: skip
        super().__init__(message)
        self.code, self.message, self.hint, self.bind = code, message, hint, bind
        self.in_python = in_python or hint

    def problem(self, where: str) -> Problem:
        """The finding at its place."""
        hint = self.in_python if is_in_memory(where) else self.hint
        return Problem(self.code, self.message, where, hint, self.bind)
