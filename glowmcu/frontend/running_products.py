"""Running products along an axis, by as many products of whole tensors as the length has bits."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from glowmcu.ir.graph import Value
from glowmcu.ir.operation import Operation
from glowmcu.ir.types import Shape
from glowmcu.ops.elementwise import Mul
from glowmcu.ops.joining import Concatenation
from glowmcu.ops.slicing import Slice


def running_products(
    add: Callable[[Operation, Sequence[Value]], Value],
    ones: Callable[[Shape], Value],
    x: Value,
    axis: int,
    exclusive: bool,
    reverse: bool,
) -> Value:
    """What `cumprod` gives of `x`; `add` makes a node and `ones` a constant of the type of `x`."""
    length = x.type.shape[axis]

    def later(value: Value, steps: int) -> Value:
        """`value` moved by so many steps, behind as many ones."""
        kept = [n - steps if place == axis else n for place, n in enumerate(x.type.shape)]
        first = [steps if place == axis else n for place, n in enumerate(x.type.shape)]
        begin = [steps if reverse and place == axis else 0 for place in range(x.type.rank)]
        slice_ = Slice(tuple(begin), tuple(kept), (1,) * x.type.rank)
        parts = [ones(tuple(first)), add(slice_, [value])]
        return add(Concatenation(axis), parts[::-1] if reverse else parts)

    if exclusive and length > 0:
        x = later(x, 1)
    steps = 1
    while steps < length:
        x = add(Mul(), [x, later(x, steps)])
        steps *= 2
    return x
