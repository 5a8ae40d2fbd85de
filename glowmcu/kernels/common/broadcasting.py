"""Loops over broadcast operands: neighbouring axes that all operands walk alike become one."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from glowmcu.ir.kernel_code import ConstantArray, Field, Parameters
from glowmcu.ir.operation import Signature
from glowmcu.ir.types import Shape
from glowmcu.lazy_dataclass import dataclass


@dataclass(frozen=True)
class Axis:
    """One loop: its trip count, and for each operand the elements from one turn to the next."""

    size: int
    strides: tuple[int, ...]


def loop_axes(shapes: Sequence[Shape], out: Shape) -> tuple[Axis, ...]:
    """The fewest loops, outermost first and at least one, that visit `out` in C order."""
    axes: list[Axis] = []
    for position, size in enumerate(out):
        strides = tuple(_stride(shape, len(out), position) for shape in shapes)
        if size == 1:
            continue
        if axes and all(o == s * size for o, s in zip(axes[-1].strides, strides, strict=True)):
            axes[-1] = Axis(axes[-1].size * size, strides)
        else:
            axes.append(Axis(size, strides))
    if math.prod(out) == 0:
        return (Axis(0, (1,) * len(shapes)),)
    return tuple(axes) or (Axis(1, (1,) * len(shapes)),)


def _stride(shape: Shape, rank: int, position: int) -> int:
    """Elements between neighbours along an axis of the result; 0 if the operand repeats."""
    own = position - (rank - len(shape))
    if own < 0 or shape[own] == 1:
        return 0
    return math.prod(shape[own + 1 :])


def jumps(axes: Sequence[Axis], operand: int) -> tuple[int, ...]:
    """How far an operand's pointer moves when an axis but the innermost advances, outermost first.

    The pointer has come to the end of what the inner axes cover, and the innermost steps it.
    """
    moved = [axis.size * axis.strides[operand] for axis in axes]
    return tuple(
        axis.strides[operand] - inner for axis, inner in zip(axes[:-1], moved[1:], strict=True)
    )


def walk(shapes: Sequence[Shape], out: Shape) -> Parameters:
    """The `glowmcu_walk` of two operands."""
    axes = loop_axes(shapes, out)
    moves = [jumps(axes, operand) for operand in range(len(shapes))]
    rows = [
        (axes[level].size, *(move[level] for move in moves))
        for level in reversed(range(len(axes) - 1))
    ]
    table = ConstantArray("axes", np.array(rows, np.int32), "size and jumps, innermost first")
    fields = (
        Field("run", axes[-1].size),
        Field("step_a", axes[-1].strides[0]),
        Field("step_b", axes[-1].strides[1]),
        Field("axes", len(rows)),
        Field("axis", table if rows else None),
    )
    return Parameters("glowmcu_walk", fields)


def walk_work(signature: Signature, block: int) -> dict[str, float]:
    """Work of a loop that takes `block` elements at once where both operands step along a run, the
    rest one by one.
    """
    shapes = [type_.shape for type_ in signature.inputs]
    innermost = loop_axes(shapes, signature.output.shape)[-1]
    runs = signature.output.element_count // max(innermost.size, 1)
    single = innermost.size % block if innermost.strides == (1, 1) else innermost.size
    return {
        "call": 1.0,
        "run": runs,
        "element": (innermost.size - single) * runs,
        "single_element": single * runs,
    }
