"""Portable kernels of all reductions: loops over results around loops over what goes into one, both
coalesced at compile time. Of bools, stored as 0 and 1, `all` is the smallest and `any` the largest.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

import numpy as np

from glowmcu.errors import ExitCode, error
from glowmcu.ir.kernel_code import ConstantArray, Field, KernelCode, Parameters
from glowmcu.ir.operation import Operation
from glowmcu.ir.types import ElementType
from glowmcu.kernels.kernel import Cost, Kernel, Site, Target, kernel
from glowmcu.ops.movement import Loop, whole
from glowmcu.ops.reduction import (
    Mean,
    ReduceAll,
    ReduceAny,
    ReduceMax,
    ReduceMin,
    ReduceProd,
    ReduceSumAbsolute,
    ReduceSumSquare,
    Reduction,
    Sum,
    is_plain,
)

#: As many as libjit's `GLOWMCU_REDUCE_LOOPS`.
MAX_LOOPS = 8
_INT32_END = 2**31
_BYTES = (ElementType.I8, ElementType.BOOL)


def coalesced(loops: Iterable[Loop]) -> list[Loop]:
    """The fewest loops that visit the same elements in the same order."""
    merged: list[Loop] = []
    for count, stride in loops:
        if count == 1:
            continue
        if merged and merged[-1][1] == count * stride:
            merged[-1] = (merged[-1][0] * count, stride)
        else:
            merged.append((count, stride))
    return merged


def reduction_loops(site: Site) -> tuple[list[Loop], list[Loop]]:
    """Loops `(count, stride)` over results, and (one at least) over the elements of one."""
    op = site.node.op
    assert isinstance(op, Reduction)
    loops = list(enumerate(whole(site.signature.inputs[0].shape).loops))
    kept = coalesced(loop for axis, loop in loops if axis not in op.axes)
    reduced = coalesced(loop for axis, loop in loops if axis in op.axes)
    return kept, reduced or [(1, 0)]


def _cost(site: Site, element_cycles: float, result_cycles: float, code_bytes: int) -> Cost:
    work = _work(site)
    cycles = element_cycles * work["element"] + 25.0 * work["row"] + result_cycles * work["result"]
    return Cost(cycles, code_bytes, _loop_bytes(site) + 28)


def _work(site: Site) -> dict[str, float]:
    _, reduced = reduction_loops(site)
    elements = site.signature.inputs[0].element_count
    return {
        "call": 1.0,
        "element": elements,
        "row": elements / max(reduced[-1][0], 1),
        "result": site.signature.output.element_count,
    }


def _loop_bytes(site: Site) -> int:
    kept, reduced = reduction_loops(site)
    return 8 * (len(kept) + len(reduced))


def loops_table(loops: Iterable[Loop]) -> ConstantArray:
    """The loops as `glowmcu_reduce_walk_start` reads them."""
    return ConstantArray("loops", np.array(list(loops), np.int32), "count, step")


def _table(kept: list[Loop], reduced: list[Loop]) -> Field:
    return Field("loops", loops_table([*kept, *reduced]))


def _accepts(site: Site) -> bool:
    return all(len(loops) <= MAX_LOOPS for loops in reduction_loops(site))


@kernel("reduce_sum.portable", Mean, Sum)
class PortableReduceSum(Kernel):
    """One result after the other; any core."""

    element: ClassVar[ElementType] = ElementType.I8
    suffix: ClassVar[str] = "s8"

    def accepts(self, site: Site, target: Target) -> bool:
        x = site.signature.inputs[0]
        return x.element is self.element and not is_plain(x) and _accepts(site)

    def work(self, site: Site, target: Target) -> dict[str, float]:
        return _work(site)

    def flash_bytes(self, site: Site, target: Target) -> int:
        return _loop_bytes(site)

    def generate(self, site: Site, target: Target) -> KernelCode:
        op = site.node.op
        assert isinstance(op, (Mean, Sum))
        x, out = site.signature.inputs[0], site.signature.output
        kept, reduced = reduction_loops(site)
        count = op.reduced_count(x)
        bound = sum_bound(site, count)
        scale = op.requantization(site.signature)
        fields = (
            Field("out_loops", len(kept)),
            Field("sum_loops", len(reduced)),
            Field("offset", -x.zero_point * count),
            Field("multiplier", int(scale.multipliers[0])),
            Field("shift", int(scale.shifts[0])),
            Field("out_zero_point", out.zero_point),
            _table(kept, reduced),
        )
        text = f"{count:,} elements a result; |acc| <= {bound:,} < 2^31".replace(",", " ")
        return KernelCode(
            function=f"glowmcu_reduce_sum_{self.suffix}",
            operands=(0,),
            header=f"glowmcu_reduce_sum_{self.suffix}.h",
            parameters=Parameters("glowmcu_reduce_sum", fields),
            notes=(text,),
        )


@kernel("reduce_sum.portable_s16", Mean, Sum)
class WideReduceSum(PortableReduceSum):
    """The same on 16-bit activations."""

    element: ClassVar[ElementType] = ElementType.I16
    suffix: ClassVar[str] = "s16"


def sum_bound(site: Site, count: int) -> int:
    """Greatest |accumulator| while `count` elements, each as large as can be, are added to the
    offset -zero_point * count. GM502 when that leaves int32.
    """
    x = site.signature.inputs[0]
    bound = (abs(x.zero_point) - x.element.limits[0]) * count
    if bound >= _INT32_END:
        raise error(
            "GM502",
            f"{site.node.op.name}: a sum of {count} elements can reach {bound}, "
            f"int32 ends at {_INT32_END - 1}",
            f'{site.node.source} "{site.node.name}"',
            "reduce in two steps: first one axis, then the other",
            ExitCode.UNSUPPORTED,
        )
    return bound


@kernel("reduce_extreme.portable", ReduceAll, ReduceAny, ReduceMax, ReduceMin)
class PortableReduceExtreme(Kernel):
    """int8 and bool, one result after the other; any core."""

    def accepts(self, site: Site, target: Target) -> bool:
        return site.signature.inputs[0].element in _BYTES and _accepts(site)

    def work(self, site: Site, target: Target) -> dict[str, float]:
        return _work(site)

    def flash_bytes(self, site: Site, target: Target) -> int:
        return _loop_bytes(site)

    def generate(self, site: Site, target: Target) -> KernelCode:
        kept, reduced = reduction_loops(site)
        fields = (
            Field("out_loops", len(kept)),
            Field("group_loops", len(reduced)),
            Field("flip", 0 if isinstance(site.node.op, (ReduceAny, ReduceMax)) else -1),
            _table(kept, reduced),
        )
        return KernelCode(
            function="glowmcu_reduce_extreme_s8",
            operands=(0,),
            header="glowmcu_reduce_extreme.h",
            parameters=Parameters("glowmcu_reduce_extreme", fields),
        )


#: How an element `x[…]` joins `row`; sums begin at 0, products at 1, extremes with the first.
_SUMS: dict[type[Operation], str] = {
    Sum: "row + {x}",
    Mean: "row + {x}",
    ReduceSumAbsolute: "row + (({x} < 0) ? 0 - {x} : {x})",
    ReduceSumSquare: "row + {x} * {x}",
    ReduceProd: "row * {x}",
}
_EXTREMES: dict[type[Operation], str] = {ReduceMax: ">", ReduceMin: "<"}
_UNSIGNED = {ElementType.I32: "uint32_t", ElementType.I64: "uint64_t"}


@kernel("reduce.portable_plain", *_SUMS, *_EXTREMES)
class PortableReducePlain(Kernel):
    """Real numbers and plain integers, by a function of the layer's own; any core.

    A row of the innermost axis is summed by itself: sums of many float32 lose less that way.
    """

    def accepts(self, site: Site, target: Target) -> bool:
        x = site.signature.inputs[0]
        plain = is_plain(x) or (type(site.node.op) in _EXTREMES and x.element not in _BYTES)
        return plain and len(_rows(site)[1]) <= MAX_LOOPS and _accepts(site)

    def cost(self, site: Site, target: Target) -> Cost:
        return _cost(site, 6.0, 40.0, 160)

    def generate(self, site: Site, target: Target) -> KernelCode:
        kept, rows = _rows(site)
        count, step = rows[-1]
        element = site.signature.inputs[0].element
        loops = [*kept, *rows[:-1]]
        view = {
            "type": element.c_name,
            "out_loops": len(kept),
            "row_loops": len(rows) - 1,
            "loops": loops_table(loops) if loops else "NULL",
            "count": count,
            **_arithmetic(site, "x[i]" if step == 1 else f"x[i * {step}]"),
        }
        return KernelCode(
            function="",
            operands=(0,),
            header="glowmcu_reduce.h",
            template="portable/reduce.c.j2",
            view=view,
        )


def _rows(site: Site) -> tuple[list[Loop], list[Loop]]:
    """Loops over results, and loops over rows with the one within a row last."""
    op = site.node.op
    assert isinstance(op, Reduction)
    kept, _ = reduction_loops(site)
    loops = enumerate(whole(site.signature.inputs[0].shape).loops)
    return kept, [loop for axis, loop in loops if axis in op.axes and loop[0] != 1] or [(1, 0)]


def _arithmetic(site: Site, x: str) -> dict[str, str]:
    """C of the sums: their type, start, step, how rows join, and the result."""
    op, type_ = site.node.op, site.signature.inputs[0]
    if type(op) in _EXTREMES:
        sign, c_name = _EXTREMES[type(op)], type_.element.c_name
        return {
            "sum_type": c_name,
            "start": "from[0]",
            "step": f"({c_name})(({x} {sign} row) ? {x} : row)",
            "join": f"({c_name})((row {sign} sum) ? row : sum)",
            "result": "sum",
        }
    real = type_.element.is_float
    sum_type = "float" if real else _UNSIGNED[type_.element]
    operand = x if real else f"({sum_type}){x}"
    step = _SUMS[type(op)].replace("{x} < 0", f"{x} < 0").replace("{x}", operand)
    start = 1 if isinstance(op, ReduceProd) else 0
    result = f"sum / {float(op.reduced_count(type_))}f" if isinstance(op, Mean) else "sum"
    return {
        "sum_type": sum_type,
        "start": f"{start}.0f" if real else str(start),
        "step": step,
        "join": "sum * row" if isinstance(op, ReduceProd) else "sum + row",
        "result": result if real else f"({type_.element.c_name})sum",
    }
