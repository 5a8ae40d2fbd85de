"""Definitions in index notation that nobody chose, for what they compute and what their gradients
are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from glowmcu.ir.types import Shape

_SIZES = ("A", "B", "C")
#: An index, and the size that it goes to.
_INDICES = {"i": "A", "j": "B", "k": "C", "l": "A", "m": "B"}
_OPERANDS = ("x", "w", "v")
#: Operations of two values: of any numbers, and those whose gradients have no corners.
_ANY, _SMOOTH = ("+", "-", "*", "min", "max", "where"), ("+", "-", "*", "tanh", "sigmoid")


@dataclass
class RandomDefinition:
    """The text and the operands' shapes and types; `text` has decorators if `scheduled`.

    `smooth`: sums and assignments of functions that finite differences can be taken of.
    """

    seed: int
    dtype: str
    smooth: bool = False
    scheduled: bool = False
    most: int = 9
    text: str = field(init=False)
    inputs: tuple[tuple[Shape, str], ...] = field(init=False)

    def __post_init__(self) -> None:
        self._random = np.random.default_rng(self.seed)
        sizes = {name: int(self._random.integers(1, self.most + 1)) for name in _SIZES}
        #: The sizes of each tensor by name; `of` has all of them, `at` whole numbers.
        self._axes: dict[str, list[str]] = {"of": list(_SIZES)}
        self._axes |= {name: self._some(_SIZES, 3, repeats=True) for name in _OPERANDS}
        self._at = self._some(_SIZES, 1)
        operands = [(name, self.dtype, axes) for name, axes in self._axes.items()]
        operands.append(("at", "int32", self._at))
        self._decorators: list[str] = []
        body: list[str] = []
        for number in range(self._random.integers(1, 4)):
            body += self._statement(f"t{number}")
        body += self._last()
        given = ", ".join(f'{name}: "{dtype}{_list(axes)}"' for name, dtype, axes in operands)
        made = [name for name in self._axes if name[0] == "t"]
        results = ", ".join(f"{name}: {self.dtype}{_list(self._axes[name])}" for name in made[::-1])
        head = [*self._decorators, f'def f({given}) -> "{results}":']
        self.text = "\n".join(["", *head, *(f"    {line}" for line in body), ""])
        self.inputs = tuple((tuple(sizes[axis] for axis in axes), dtype)
                            for _, dtype, axes in operands)  # fmt: skip

    def _pick(self, items: Sequence[str]) -> str:
        return items[int(self._random.integers(len(items)))]

    def _some(self, items: Sequence[str], most: int, repeats: bool = False) -> list[str]:
        """At least one."""
        count = int(self._random.integers(1, most + 1))
        return [str(item) for item in self._random.choice(list(items), count, replace=repeats)]

    def _chance(self, share: float) -> bool:
        return bool(self._random.random() < share)

    def _statement(self, target: str) -> list[str]:
        """Loops over all indices, of which the value may leave some out."""
        indices = self._some(list(_INDICES), 3)
        kinds = ("=", "+=", "+=", "*=") if self.smooth else ("=", "+=", "*=", "max", "min")
        kind = self._pick(kinds)
        others = [name for name in _INDICES if name not in indices]
        reduced = [] if kind == "=" else self._some(others, 2)
        value = self._value([*indices, *reduced], int(self._random.integers(1, 4)))
        if kind in ("max", "min"):
            value, kind = f"{kind}({' + '.join([value, *reduced])})", "="
        if self.scheduled:
            self._schedule(target, indices, reduced)
        self._axes[target] = [_INDICES[name] for name in indices]
        return _looped([*indices, *reduced], f"{target}[{', '.join(indices)}] {kind} {value}")

    def _schedule(self, target: str, indices: list[str], reduced: list[str]) -> None:
        turns = ", ".join(f"{name}={self._random.integers(1, 4)}" for name in indices)
        self._decorators.append(f'@tile("{target}", {turns})')
        if reduced:
            turns = f"{reduced[-1]}={self._random.integers(1, 3)}"
            self._decorators.append(f'@unroll("{target}", {turns})')
        if len(indices) > 1:
            order = ", ".join(f'"{name}"' for name in self._random.permutation(indices))
            self._decorators.append(f'@reorder("{target}", {order})')

    def _last(self) -> list[str]:
        """A statement that reads everything, so that nothing is left over."""
        zero = {"A": "i", "B": "0", "C": "0"}
        reads = [f"{name}[{', '.join(map(zero.__getitem__, axes))}]"
                 for name, axes in self._axes.items()]  # fmt: skip
        index = f"at[{zero[self._at[0]]}]"
        reads.append(index if self.dtype == "int32" else f"float({index})")
        self._axes["total"] = ["A"]
        return _looped(["i"], f"total[i] = {' + '.join(reads)}")

    def _value(self, indices: list[str], depth: int) -> str:
        if depth == 0 or self._chance(0.15):
            return self._leaf(indices)
        one, other = (self._value(indices, depth - 1) for _ in range(2))
        what = self._pick(_SMOOTH if self.smooth else _ANY)
        if what in ("min", "max"):
            return f"{what}({one}, {other})"
        if what in ("tanh", "sigmoid"):
            return f"{what}({one})"
        if what == "where":
            sign = self._pick(("<", "<=", ">", "==", "!="))
            return f"where({one} {sign} {other}, {one}, {other})"
        return f"({one} {what} {other})"

    def _leaf(self, indices: list[str]) -> str:
        if self._chance(0.1):
            return self._pick(("2", "3", "-1")) if self.dtype == "int32" else "0.5"
        if self._chance(0.1):
            return indices[0] if self.dtype == "int32" else f"float({indices[0]})"
        name = self._pick(list(self._axes))
        return f"{name}[{', '.join(self._subscript(indices, axis) for axis in self._axes[name])}]"

    def _subscript(self, indices: list[str], axis: str) -> str:
        """Inside of the axis, by whatever way."""
        index, last = self._pick(indices), f"{axis} - 1"
        if _INDICES[index] == axis and self._chance(0.8):
            return index if self._chance(0.8) else f"{last} - {index}"
        if self._chance(0.2):
            (size,) = self._at
            inner = index if _INDICES[index] == size else f"clip({index}, 0, {size} - 1)"
            return f"clip(at[{inner}], 0, {last})"
        if not self.smooth and self._chance(0.3):
            return f"{index} % {axis}" if self._chance(0.5) else f"clip({index} // 2, 0, {last})"
        other = self._pick((f"{index} + 1", f"{index} - 1", f"2 * {index}"))
        return f"clip({other}, 0, {last})"


def _list(axes: Sequence[str]) -> str:
    return f"[{', '.join(axes)}]"


def _looped(indices: Sequence[str], statement: str) -> list[str]:
    lines = [f"for {name} in range({_INDICES[name]}):" for name in indices] + [statement]
    return [f"{'    ' * depth}{line}" for depth, line in enumerate(lines)]
