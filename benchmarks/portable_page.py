"""portable_layers.md from portable_layers.json: portable kernels, and why they are chosen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

#: By the beginning of a kernel's name; the first one counts. "Open" could be faster.
REASONS = {
    "lookup": "A load, a load from the table and a store an element; nothing to pair.",
    "elementwise": "ADD and SUB have kernels where their results were proved to fit a line, MUL on "
    "cores with DSP instructions where its roundings fold; these do not fit. A table, a maximum or "
    "a comparison is a few instructions an element. Open: MUL and PRELU without DSP instructions.",
    "fully_connected.portable": "`balanced` weighs the code of another function against its "
    "cycles, and `speed` takes the faster one. Open without DSP instructions: a single row has no "
    "second pixel for pairs, which is all of MLPerf's anomaly detection.",
    "conv_2d.portable": "`balanced` weighs flash: pairs without DSP instructions pack a weight in "
    "two bytes and more, and `speed` takes them. With them, a pixel alone is quick enough.",
    "depthwise_conv_2d.portable": "A few pixels with a window beyond 3x3, mostly outside the "
    "image, or a multiplier: what the kernel of any window sets up takes as long.",
    "transpose_conv_2d": "Blocks of pixels are a convolution, which has kernels; but not of two "
    "images, nor of results that reach beyond all windows; where half of the taps are zeros it is "
    "slower, and without DSP instructions `balanced` weighs the flash of packed weights.",
    "batch_matmul": "Both operands change, so that nothing is packed before the run: open without "
    "DSP instructions; with them, the arena has no room to widen both. Of a constant operand it is "
    "a fully connected layer.",
    "log_softmax": "32-bit fixed point of exponentials and a logarithm are its work.",
    "l2_normalization": "A square root a row; then a product an element.",
    "softmax": "32-bit fixed point of exponentials is its work; few values a row need no table.",
    "average_pool_2d.portable": "Open: no kernel without DSP instructions or Helium.",
    "max_pool_2d.portable": "Open without DSP instructions; with them a narrow image, whose "
    "channels fill no word.",
    "reduce_extreme": "Open: one element after another.",
    "reduce_sum": "Axes that are not side by side, or a sum that no proof fits a kernel to.",
    "resize": "A pixel is a copy: positions are computed once a row.",
    "strided_copy": "Runs of bytes are copied by memcpy where there are such, else byte by byte.",
    "copy": "memcpy.",
    "pad": "memset and memcpy.",
}


_HEAD = """# Layers that no kernel of a core's family computes

Written by `python -m benchmarks.portable_layers` from `portable_layers.json`; do not edit.
Networks with int8 weights, compiled at `--optimize balanced` for a Cortex-M4, M0+ and M55: layers
with at least a hundredth of their network's cycles whose kernel is the same portable C for every
core. Random layers stand twelve to a network: each takes a share. Cycles are the kernels'
estimates, calibrated for most, a multiply-accumulate (MAC) or, without any, an element of the
result.
"""


@dataclass(frozen=True)
class Row:
    """A layer. `amount` is its multiply-accumulates or, without any, its elements."""

    network: str
    core: str
    operator: str
    kernel: str
    shapes: str
    amount: int
    has_macs: bool
    cycles: int
    share: float

    @property
    def cycles_each(self) -> float:
        """A multiply-accumulate, or an element."""
        return self.cycles / max(self.amount, 1)


def reason_of(row: Row) -> str | None:
    """Why the layer's kernel is a portable one; None where nobody has said."""
    for beginning, reason in REASONS.items():
        if row.kernel.startswith(beginning):
            return reason
    return None


def page(rows: Sequence[Row]) -> str:
    """The whole page."""
    table = [
        "| network | core | operator | kernel | shapes | cycles | of the network |",
        "| --- | --- | --- | --- | --- | ---: | ---: |",
        *map(_line, rows),
    ]
    kernels = sorted({row.kernel for row in rows})
    reasons = ["| kernel | why |", "| --- | --- |"]
    for kernel in kernels:
        some = next(row for row in rows if row.kernel == kernel)
        reasons.append(f"| `{kernel}` | {reason_of(some)} |")
    return "\n".join([_HEAD, *table, "", "## Why", "", *reasons]) + "\n"


def _line(row: Row) -> str:
    unit = "a MAC" if row.has_macs else "an element"
    return (
        f"| {row.network} | {row.core} | {row.operator} | `{row.kernel}` | {row.shapes} "
        f"| {row.cycles_each:.1f} {unit} | {100 * row.share:.1f} % |"
    )
