"""batch_matmul on cores with DSP instructions: four columns and four of their elements at a time.

The products of attention, whose operands are both computed. See glowmcu_batch_matmul_dsp.h.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from glowmcu.ir.operation import Rounding
from glowmcu.kernels.common.bounds import bound_note, largest_offset_input
from glowmcu.kernels.common.layer_fields import in_both_halves, is_int8
from glowmcu.kernels.kernel import Field, Kernel, KernelCode, Parameters, Site, Target, kernel
from glowmcu.kernels.portable.matmul import matrices
from glowmcu.ops.matmul import BatchMatMul

#: Columns that share what is loaded of a row.
_COLUMNS = 4
#: Twice a sum has 32 bits, and so has a zero point where the shift goes.
_SUMS_END, _MOST_SHIFT = 2**30, 22


@kernel("batch_matmul.dsp", BatchMatMul)
class BatchMatMulDsp(Kernel):
    """Two products an instruction; rows of the first operand in one piece, four columns or more."""

    def accepts(self, site: Site, target: Target) -> bool:
        if not target.core.has_dsp or not is_int8(site) or site.rounding is not Rounding.DOUBLE:
            return False
        op = site.node.op
        assert isinstance(op, BatchMatMul)
        if op.adj_x or min(site.signature.output.shape[-1], op.depth(site.signature)) < 4:
            return False
        return _bound(site) < _SUMS_END and 1 <= _right_shift(site) <= _MOST_SHIFT

    def work(self, site: Site, target: Target) -> Mapping[str, float]:
        op, out = site.node.op, site.signature.output
        assert isinstance(op, BatchMatMul)
        depth, columns = op.depth(site.signature), out.shape[-1]
        rows = math.prod(out.shape[:-1])
        fours = rows * -(-columns // _COLUMNS)
        way = "along" if op.adj_y else "across"
        return {
            "call": 1.0,
            "row": rows,
            "element of a row": rows * depth * (site.signature.inputs[1].zero_point != 0),
            "four": fours,
            f"step {way}": fours * (depth // 4),
            "rest": _COLUMNS * fours * (depth % 4),
        }

    def generate(self, site: Site, target: Target) -> KernelCode:
        op, (x, y), out = site.node.op, site.signature.inputs, site.signature.output
        assert isinstance(op, BatchMatMul)
        shift = _right_shift(site)
        fields = (
            Field("matrices", matrices(site)),
            Field("minus_zero_x", in_both_halves(-x.zero_point), f"{-x.zero_point} in both halves"),
            Field("zero_y", y.zero_point),
            Field("multiplier", int(op.requantization(site.signature).multipliers[0])),
            Field("step", (out.zero_point << shift) + (1 << (shift - 1))),
            Field("shift", shift),
        )
        return KernelCode(
            function="glowmcu_batch_matmul_dsp_s8",
            operands=(0, 1),
            header="glowmcu_batch_matmul_dsp.h",
            parameters=Parameters("glowmcu_batch_matmul_dsp", fields),
            notes=(bound_note(site.node.macs, _bound(site)),),
        )


def _bound(site: Site) -> int:
    """No |sum| is above."""
    op, (x, y) = site.node.op, site.signature.inputs
    assert isinstance(op, BatchMatMul)
    return op.depth(site.signature) * largest_offset_input(x) * largest_offset_input(y)


def _right_shift(site: Site) -> int:
    op = site.node.op
    assert isinstance(op, BatchMatMul)
    return -int(op.requantization(site.signature).shifts[0])
