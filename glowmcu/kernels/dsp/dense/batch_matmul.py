"""batch_matmul on cores with DSP instructions: both matrices are widened, four columns at a time.

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

#: Columns that share a word of the row.
_COLUMNS = 4
#: Twice a sum has 32 bits, and so has a zero point where the shift goes.
_SUMS_END, _MOST_SHIFT = 2**30, 22


@kernel("batch_matmul.dsp", BatchMatMul)
class BatchMatMulDsp(Kernel):
    """Two products an instruction, less zero points; scratch for a row and the second matrix."""

    def accepts(self, site: Site, target: Target) -> bool:
        if not target.core.has_dsp or not is_int8(site) or site.rounding is not Rounding.DOUBLE:
            return False
        return _bound(site) < _SUMS_END and 1 <= _right_shift(site) <= _MOST_SHIFT

    def work(self, site: Site, target: Target) -> Mapping[str, float]:
        op, out = site.node.op, site.signature.output
        assert isinstance(op, BatchMatMul)
        *batch, rows, _ = out.shape
        products, words, fours = math.prod(batch), _words(site), _fours(site)
        x = products * rows * words
        y = products * _COLUMNS * fours * words
        return {
            "call": 1.0,
            "row": products * rows,
            "four of columns": products * rows * fours,
            "step": x * fours,
            "output": out.element_count,
            "word": x * (not op.adj_x) + y * op.adj_y,
            "word with a stride": x * op.adj_x + y * (not op.adj_y),
        }

    def scratch_bytes(self, site: Site, target: Target) -> int:
        return 4 * _words(site) * (1 + _COLUMNS * _fours(site))

    def generate(self, site: Site, target: Target) -> KernelCode:
        op, (x, y), out = site.node.op, site.signature.inputs, site.signature.output
        assert isinstance(op, BatchMatMul)
        shift = _right_shift(site)
        fields = (
            Field("matrices", matrices(site)),
            Field("minus_zero_x", in_both_halves(-x.zero_point), f"{-x.zero_point} in both halves"),
            Field("minus_zero_y", in_both_halves(-y.zero_point), f"{-y.zero_point} in both halves"),
            Field("multiplier", int(op.requantization(site.signature).multipliers[0])),
            Field("step", (out.zero_point << shift) + (1 << (shift - 1))),
            Field("shift", shift),
        )
        return KernelCode(
            function="glowmcu_batch_matmul_dsp_s8",
            operands=(0, 1),
            header="glowmcu_batch_matmul_dsp.h",
            parameters=Parameters("glowmcu_batch_matmul_dsp", fields),
            scratch_bytes=self.scratch_bytes(site, target),
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


def _words(site: Site) -> int:
    """Of a row of the first matrix: two for each four elements."""
    op = site.node.op
    assert isinstance(op, BatchMatMul)
    return 2 * -(-op.depth(site.signature) // 4)


def _fours(site: Site) -> int:
    """Of columns."""
    return -(-site.signature.output.shape[-1] // _COLUMNS)
