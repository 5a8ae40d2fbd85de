"""What an importer raises when an operator or tensor cannot become part of the graph."""

from __future__ import annotations

from glowmcu.errors import Problem


class Unsupported(Exception):
    """Code, what was expected and got, and what to try next; the driver adds where."""

    def __init__(self, code: str, message: str, hint: str = "", bind: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.code, self.message, self.hint, self.bind = code, message, hint, bind

    def problem(self, where: str) -> Problem:
        """The finding at its place."""
        return Problem(self.code, self.message, where, self.hint, self.bind)
