"""A text with a position: the parsers ask for what may come next; no token list is built.

Every refusal is a GlowmcuError GM21x that names file and line.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TypeVar

from glowmcu.errors import GlowmcuError, error

_Item = TypeVar("_Item")

_BLANK = re.compile(r"(?:\s+|//[^\n]*)*")
_FOUND = re.compile(r'"(?:[^"\\\n]|\\.)*"|[%!@^]?[\w$.]+|->|\S|$')
_STRING = re.compile(r'"(?:[^"\\\n]|\\.)*"')
_ESCAPE = re.compile(rb'\\(?:(["\\nt])|([0-9A-Fa-f]{2}))')
_PLAIN = {b'"': b'"', b"\\": b"\\", b"n": b"\n", b"t": b"\t"}


class Scanner:
    """Reads `text` from front to back. `name` is the file that errors point to."""

    def __init__(self, text: str, name: str) -> None:
        self.text = text
        self.name = name
        self.position = 0
        self.skip()

    def skip(self) -> None:
        """Step over blanks and `//` comments."""
        found = _BLANK.match(self.text, self.position)
        assert found is not None
        self.position = found.end()

    def fail(self, code: str, message: str, hint: str = "", at: int | None = None) -> GlowmcuError:
        """An error at the line of position `at` (default: here)."""
        line = self.text.count("\n", 0, self.position if at is None else at) + 1
        return error(code, message, f"{self.name}, line {line}", hint)

    def unexpected(self, expected: str) -> GlowmcuError:
        """GM210: the next thing is not what the syntax wants."""
        found = _FOUND.match(self.text, self.position)
        assert found is not None
        got = repr(found[0][:40]) if found[0] else "the end of the text"
        return self.fail("GM210", f"expected {expected}, found {got}")

    def peek(self, text: str) -> bool:
        """Whether `text` comes next."""
        return self.text.startswith(text, self.position)

    def accept(self, text: str) -> bool:
        """Step over `text` if it comes next."""
        if not self.peek(text):
            return False
        self.position += len(text)
        self.skip()
        return True

    def expect(self, *texts: str) -> None:
        """Step over each of `texts`; GM210 when another thing comes."""
        for text in texts:
            if not self.accept(text):
                raise self.unexpected(repr(text))

    def try_match(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        """Step over `pattern` if it comes next."""
        found = pattern.match(self.text, self.position)
        if found is not None:
            self.position = found.end()
            self.skip()
        return found

    def match(self, pattern: re.Pattern[str], expected: str) -> str:
        """Step over `pattern`; GM210 when another thing comes."""
        found = self.try_match(pattern)
        if found is None:
            raise self.unexpected(expected)
        return found[0]

    def string(self, expected: str = "a string") -> str:
        """A quoted string, unescaped."""
        start = self.position
        quoted = self.match(_STRING, expected)
        try:
            return unquoted(quoted)
        except ValueError as cause:
            raise self.fail("GM210", f"bad string: {cause}", at=start) from cause

    def sequence(self, opening: str, item: Callable[[], _Item], closing: str) -> list[_Item]:
        """`opening item, item, … closing`, also empty."""
        self.expect(opening)
        items: list[_Item] = []
        if self.accept(closing):
            return items
        while True:
            items.append(item())
            if self.accept(closing):
                return items
            if not self.accept(","):
                raise self.unexpected(f"',' or {closing!r}")


def quoted(text: str) -> str:
    """A string literal as MLIR escapes it: bytes outside printable ASCII become `\\XX`."""
    parts = []
    for byte in text.encode("utf-8", "surrogatepass"):
        char = chr(byte)
        if char in '"\\' or not 0x20 <= byte < 0x7F:
            parts.append(f"\\{byte:02X}")
        else:
            parts.append(char)
    return f'"{"".join(parts)}"'


def unquoted(literal: str) -> str:
    """The string behind a literal. Raises ValueError for an unknown escape or broken UTF-8."""

    def plain(found: re.Match[bytes]) -> bytes:
        return bytes.fromhex(found[2].decode()) if found[2] else _PLAIN[found[1]]

    body = literal[1:-1].encode("utf-8", "surrogatepass")
    rest = _ESCAPE.sub(b"", body)
    if b"\\" in rest:
        raise ValueError("unknown escape")
    return _ESCAPE.sub(plain, body).decode("utf-8", "surrogatepass")
