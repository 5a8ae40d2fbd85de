"""A size that the application gives at run time, and how numbers depend on it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from fractions import Fraction

from glowmcu.lazy_dataclass import dataclass

#: Dividers that are tried: strides, and what they come to one after the other.
_MOST_OVER = 64


@dataclass(frozen=True)
class SizeEntry:
    """A size of the model that each run is given, from `smallest` to `largest` in steps: the
    argument `parameter` of its entry points.
    """

    symbol: str
    parameter: str
    smallest: int
    largest: int
    step: int = 1

    @property
    def sizes(self) -> range:
        """All of them."""
        return range(self.smallest, self.largest + 1, self.step)


@dataclass(frozen=True)
class OpenSize:
    """A symbolic size of the model: each run has one from `smallest` to `largest`, in steps."""

    symbol: str
    smallest: int
    largest: int
    step: int = 1

    @property
    def sizes(self) -> range:
        """All of them."""
        return range(self.smallest, self.largest + 1, self.step)

    @property
    def middle(self) -> int:
        """One between the ends, if there is one."""
        return self.sizes[len(self.sizes) // 2]

    def __str__(self) -> str:
        text = f"{self.symbol}={self.smallest}..{self.largest}"
        return text if self.step == 1 else f"{text}:{self.step}"


@dataclass(frozen=True)
class SizeForm:
    """`(square * size * size + times * size + plus) / over`, rounded down, times `factor`."""

    times: int
    plus: int
    over: int = 1
    square: int = 0
    factor: int = 1

    def at(self, size: int) -> int:
        """The number for a size."""
        number = self.square * size * size + self.times * size + self.plus
        return number // self.over * self.factor

    @property
    def is_fixed(self) -> bool:
        """Whether it is the same for all sizes."""
        return self.times == 0 and self.square == 0

    def text(self, name: str) -> str:
        """As C has it, for the variable `name` of type int32_t; in brackets unless a single
        word.
        """
        if self.is_fixed:
            return str(self.plus // self.over * self.factor)
        text = ""
        for factor, power in ((self.square, f"{name} * {name}"), (self.times, name)):
            if factor:
                text = _sum(text, factor, power)
        text = _sum(text, self.plus, "") if self.plus else text
        if self.over > 1:
            text = f"({text}) / {self.over}" if " " in text else f"{text} / {self.over}"
        if self.factor > 1:
            text = f"{text} * {self.factor}" if self.over > 1 else f"({text}) * {self.factor}"
        return f"({text})" if " " in text else text


def _sum(text: str, factor: int, power: str) -> str:
    """`text` with `factor * power` behind it."""
    size = abs(factor)
    term = power if size == 1 and power else f"{size} * {power}" if power else str(size)
    if not text:
        return term if factor > 0 else f"-{term}"
    return f"{text} {'+' if factor > 0 else '-'} {term}"


def size_form(values: Mapping[int, int]) -> SizeForm | None:
    """The form that gives these values by size: a line that rounds nothing, else that with the
    smallest divider, else such a form of what they are multiples of, as bytes of rounded numbers
    of elements are; None without one.

    Of sizes in steps other dividers come close, and are wrong beyond the sizes that are known.
    What is divided is never negative, so that C and Python round alike.
    """
    sizes = sorted(values)
    first, last = sizes[0], sizes[-1]
    if len(set(values.values())) == 1:
        return SizeForm(0, values[first])
    if (line := _line_form(values)) is not None:
        return line
    for over in range(1, _MOST_OVER + 1):
        slope = (values[last] - values[first]) * over / (last - first)
        for times in range(int(slope // 1) - 1, int(slope // 1) + 3):
            plus = _plus(values, times, over)
            if plus is not None and (over == 1 or min(times * s + plus for s in sizes) >= 0):
                return SizeForm(times, plus, over)
    return _square_form(values) or _multiple_form(values)


def _line_form(values: Mapping[int, int]) -> SizeForm | None:
    """The line through the first and the last, if all values are on it."""
    first, last = min(values), max(values)
    slope = Fraction(values[last] - values[first], last - first)
    start = values[first] - slope * first
    over = math.lcm(slope.denominator, start.denominator)
    form = SizeForm(int(slope * over), int(start * over), over)
    is_rounded = any(slope * size + start != value for size, value in values.items())
    is_negative = over > 1 and min(values.values()) < 0
    return None if is_rounded or is_negative or over > _MOST_OVER else form


def _square_form(values: Mapping[int, int]) -> SizeForm | None:
    """That through three of the values, if all are on it."""
    sizes = sorted(values)
    if len(sizes) < 4:
        return None
    a, b, c = sizes[0], sizes[len(sizes) // 2], sizes[-1]
    first = Fraction(values[b] - values[a], b - a)
    square = (Fraction(values[c] - values[b], c - b) - first) / (c - a)
    times = first - square * (a + b)
    plus = values[a] - times * a - square * a * a
    if {square.denominator, times.denominator, plus.denominator} != {1}:
        return None
    form = SizeForm(int(times), int(plus), square=int(square))
    return form if all(form.at(size) == value for size, value in values.items()) else None


def _multiple_form(values: Mapping[int, int]) -> SizeForm | None:
    """That of the values without what all of them are multiples of."""
    factor = math.gcd(*values.values())
    if factor == 1:
        return None
    form = size_form({size: value // factor for size, value in values.items()})
    return None if form is None else replace(form, factor=factor)


def _plus(values: Mapping[int, int], times: int, over: int) -> int | None:
    """The least that all values allow."""
    least = max(value * over - times * size for size, value in values.items())
    most = min((value + 1) * over - 1 - times * size for size, value in values.items())
    return least if least <= most else None


def shape_at(forms: Iterable[SizeForm], size: int) -> tuple[int, ...]:
    """A shape by forms of its axes."""
    return tuple(form.at(size) for form in forms)
