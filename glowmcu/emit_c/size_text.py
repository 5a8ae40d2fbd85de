"""C whose numbers follow from a size that is given at run time.

The text of a layer is made for every size. Where these texts are the same but for numbers, one text
serves all: a number that differs becomes an expression of the size, or an element of a table.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

import numpy as np

from glowmcu.ir.kernel_code import ConstantArray
from glowmcu.lazy_dataclass import dataclass
from glowmcu.size_forms import OpenSize, size_form

_TOKEN = re.compile(
    r"""(?P<skip>\s+|/\*.*?\*/)"""
    r"""|(?P<number>0[xX][0-9A-Fa-f]+[uUlL]*|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?[uUlLfF]*)"""
    r"""|(?P<text>"(?:\\.|[^"\\])*"|[A-Za-z_]\w*|.)""",
    re.DOTALL,
)
_TYPE = re.compile(r"(const|static|unsigned|float|double|int|char|u?int\d+_t)")


class Uneven(Exception):
    """Texts of different sizes differ in more than numbers; the text of the error says where."""


@dataclass(frozen=True)
class SizeText:
    """Writes numbers that depend on the size. `variable` holds it in C; `table` gives the symbol of
    a constant array.
    """

    size: OpenSize
    variable: str
    table: Callable[[ConstantArray], str]

    def number(self, values: Mapping[int, int | float]) -> str:
        """The expression for these values by size."""
        largest = values[self.size.largest]
        if all(isinstance(value, int) for value in values.values()):
            form = size_form({at: int(value) for at, value in values.items()})
            if form is not None:
                return form.text(self.variable)
        if len(values) < len(self.size.sizes):
            raise Uneven("numbers of no rule, and other code at some sizes")
        dtype = np.float32 if isinstance(largest, float) else np.int32
        data = np.array([values[at] for at in self.size.sizes], dtype)
        symbol = self.table(ConstantArray(f"by_{self.variable}", data, f"by {self.size.symbol}"))
        first, step = self.size.smallest, self.size.step
        index = f"{self.variable} - {first}" if first else self.variable
        return f"{symbol}[{index if step == 1 else f'({index}) / {step}'}]"

    def text(self, texts: Mapping[int, str]) -> str:
        """The text of the largest size, with expressions for numbers that differ. Raises Uneven."""
        largest = texts[self.size.largest]
        if all(text == largest for text in texts.values()):
            return largest
        tokens = {at: _tokens(text) for at, text in texts.items()}
        mine = tokens[self.size.largest]
        if any(len(found) != len(mine) for found in tokens.values()):
            raise Uneven("more code at some sizes than at others")
        pieces, place = [], 0
        for number, token in enumerate(mine):
            others = {at: found[number].text for at, found in tokens.items()}
            if all(text == token.text for text in others.values()):
                continue
            if not all(found[number].is_number for found in tokens.values()):
                raise Uneven(f"{token.text!r} at the largest size, other code below it")
            pieces += [largest[place : token.start], self._expression(mine, number, others)]
            place = token.start + len(token.text)
        return "".join((*pieces, largest[place:]))

    def _expression(self, tokens: list[_Token], number: int, texts: Mapping[int, str]) -> str:
        text = tokens[number].text
        if _is_length(tokens, number):
            return text
        if _is_static(tokens, number):
            raise Uneven("other tables for each size")
        values = {at: _value(item) for at, item in texts.items()}
        found = self.number(values)
        if text.lower().endswith("u") or _is_count(tokens, number):
            return f"(uint32_t){found}"
        return found


@dataclass(frozen=True)
class _Token:
    text: str
    start: int
    is_number: bool


def _tokens(text: str) -> list[_Token]:
    return [
        _Token(found.group(), found.start(), found.lastgroup == "number")
        for found in _TOKEN.finditer(text)
        if found.lastgroup != "skip"
    ]


def _value(text: str) -> int | float:
    plain = text.rstrip("uUlL") if text[:2].lower() == "0x" else text.rstrip("uUlLfF")
    try:
        return int(plain, 0)
    except ValueError:
        return float(plain)


def shape_of_text(text: str) -> tuple[str, ...]:
    """The text without its numbers: the same for texts that differ in them alone."""
    return tuple("0" if token.is_number else token.text for token in _tokens(text))


def _next(tokens: list[_Token], number: int) -> str:
    """The token behind it."""
    return tokens[number + 1].text if number + 1 < len(tokens) else ""


def _is_count(tokens: list[_Token], number: int) -> bool:
    """Whether it is how many bytes are copied or set, of an unsigned type."""
    if _next(tokens, number) != ")":
        return False
    begin = number
    while begin > 0 and tokens[begin].text not in ";{}":
        begin -= 1
    return bool({"memcpy", "memset"} & {token.text for token in tokens[begin:number]})


def _is_static(tokens: list[_Token], number: int) -> bool:
    """Whether it is in the initializer of a static variable."""
    depth, place = 0, number
    while place > 0 and (depth or tokens[place].text != "{"):
        depth += {"}": 1, "{": -1 if depth else 0}.get(tokens[place].text, 0)
        place -= 1
    if place == 0 or tokens[place - 1].text not in ("=", "{", ","):
        return False
    begin = place
    while begin > 0 and tokens[begin - 1].text not in ";}" and tokens[begin].text != "static":
        begin -= 1
    return tokens[begin].text == "static"


def _is_length(tokens: list[_Token], number: int) -> bool:
    """Whether it is the length of an array that is declared, which stays the largest."""
    if number < 2 or tokens[number - 1].text != "[" or _next(tokens, number) != "]":
        return False
    begin = number
    while begin > 0 and tokens[begin - 1].text not in ";{}":
        begin -= 1
    is_declared = _TYPE.fullmatch(tokens[begin].text) is not None
    return is_declared and "=" not in [token.text for token in tokens[begin:number]]
