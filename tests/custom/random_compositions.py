"""Definitions that nobody chose, of sums of products, windows and functions of elements: what is a
composition of operators, or nearly one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

_INDICES = ("i", "j", "k", "l")
_FUNCTIONS = ("{0}", "{0}", "sigmoid({0})", "tanh({0} * 0.5)", "max({0}, 0.25)", "{0} * {0}",
              "clip({0}, -0.5, 1.0)", "1.0 / ({0} * {0} + 1.0)", "(({0} + 0.5) / 3.0)", "(-{0})",
              "abs({0})", "float({1})")  # fmt: skip


@dataclass
class RandomComposition:
    """The text, the operands' shapes, and which of them are constants."""

    seed: int
    text: str = field(init=False)
    shapes: list[tuple[int, ...]] = field(init=False)
    known: list[bool] = field(init=False)

    def __post_init__(self) -> None:
        self._random = np.random.default_rng(self.seed)
        self._sizes = {name: int(self._random.integers(1, 5)) for name in _INDICES}
        #: The subscripts that each tensor is read at, and the indices in them.
        self._places: dict[str, list[str]] = {}
        self.shapes = []
        for name in ("x", "z", "w"):
            self._operand(name, windows=name == "x")
        self.known = [False, bool(self._random.random() < 0.3), bool(self._random.random() < 0.7)]
        lines = [line for count in range(3) for line in self._statement(f"t{count}")]
        read = {name for name in ("x", "z", "w") if any(f"{name}[" in line for line in lines)}
        for name in sorted({"x", "z", "w"} - read):
            lines += self._looped([*_INDICES], f"n{name}[i] += {self._read(name)}")
        operands = zip(("x", "z", "w"), self.shapes, strict=True)
        given = ", ".join(f'{name}: "float32{list(shape)}"' for name, shape in operands)
        results = ", ".join(
            f"t{count}: float32{[self._sizes[name] for name in self._places[f't{count}']]}"
            for count in (2, 1, 0)
        )
        head = f'def f({given}) -> "{results}":'
        self.text = "\n".join(["", head, *(f"    {line}" for line in lines), ""])

    def _chance(self, share: float) -> bool:
        return bool(self._random.random() < share)

    def _some(self, items: Sequence[str], least: int = 1) -> list[str]:
        count = int(self._random.integers(least, len(items) + 1))
        return [str(item) for item in self._random.permutation(list(items))[:count]]

    def _operand(self, name: str, windows: bool) -> None:
        """Its axes, with one subscript each; two of `windows` may be in one."""
        indices, places, shape = self._some(_INDICES), [], []
        while indices:
            one = indices.pop()
            stride = int(self._random.integers(1, 3)) if windows else 1
            text, reach = (
                f"{stride} * {one}" if stride > 1 else one,
                stride * (self._sizes[one] - 1),
            )
            if windows and indices and self._chance(0.5):
                other = indices.pop()
                text, reach = f"{text} + {other}", reach + self._sizes[other] - 1
            offset = int(self._random.integers(1, 3)) if windows and self._chance(0.2) else 0
            text = f"{text} + {offset}" if offset else text
            places.append(text)
            shape.append(reach + offset + 1)
        self._places[name] = places
        self.shapes.append(tuple(shape))

    def _statement(self, target: str) -> list[str]:
        indices = self._some(_INDICES)
        kind = str(self._random.choice(["=", "+=", "+=", "max"]))
        others = [name for name in _INDICES if name not in indices]
        reduced = [] if kind == "=" or not others else self._some(others)
        kind = "+=" if kind == "max" and not reduced else kind
        at, every = f"{target}[{', '.join(indices)}]", [*indices, *reduced]
        lines = []
        if kind == "+=" and self._chance(0.3):
            lines += self._looped(indices, f"{at} = {self._value(indices)}")
        value = self._value(every)
        if kind == "max":
            rest = " + ".join(f"float({name})" for name in reduced)
            lines += self._looped(every, f"{at} = max({value} + {rest})")
        else:
            lines += self._looped(every, f"{at} {kind} {value}")
        if self._chance(0.3):
            lines += self._looped(indices, f"{at} = max({at}, 0.0) * 0.5")
        self._places[target] = indices
        return lines

    def _value(self, indices: Sequence[str]) -> str:
        readable = [name for name in self._places if self._is_inside(name, indices)]
        count = int(self._random.integers(1, 4)) if readable else 0
        parts = [self._factor(str(self._random.choice(readable)), indices) for _ in range(count)]
        sign = " * " if self._chance(0.7) else " + "
        return sign.join(parts) or "1.5"

    def _factor(self, name: str, indices: Sequence[str]) -> str:
        function = str(self._random.choice(_FUNCTIONS))
        return function.format(self._read(name), indices[0])

    def _read(self, name: str) -> str:
        return f"{name}[{', '.join(self._places[name])}]"

    def _is_inside(self, name: str, indices: Sequence[str]) -> bool:
        used = {letter for place in self._places[name] for letter in place if letter.isalpha()}
        return used <= {*indices}

    def _looped(self, indices: Sequence[str], line: str) -> list[str]:
        loops = [f"{'    ' * depth}for {name} in range({self._sizes[name]}):"
                 for depth, name in enumerate(indices)]  # fmt: skip
        return [*loops, f"{'    ' * len(indices)}{line}"]
