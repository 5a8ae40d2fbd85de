"""Variants of conv_2d for transpose_conv_2d: a convolution that computes blocks of pixels.

Results whose places have the same remainder by the strides get from the same taps. So a transposed
convolution is a convolution with as many outputs a pixel as a block has, `strides` pixels, and
windows as large as reach a block; its pixels are then put where they belong, a row at a time. Taps
that reach only some pixels of a block are zeros for the others.

Source: Shi et al., Is the deconvolution layer the same as a convolutional layer? (arXiv
1609.07009).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from typing import ClassVar

import numpy as np

from glowmcu.ir.graph import Node, Value
from glowmcu.ir.instructions import BUFFER_ALIGN, aligned
from glowmcu.ir.kernel_code import Overlap, PixelShuffle
from glowmcu.ir.operation import Array, Operation
from glowmcu.ir.types import Quantization, TensorType
from glowmcu.kernels.common.layer_fields import is_constant, is_int8
from glowmcu.kernels.common.overlap import Overlaps, least_gap
from glowmcu.kernels.kernel import Cost, Kernel, KernelCode, Site, Target, once_a_site
from glowmcu.lazy_dataclass import dataclass
from glowmcu.ops.convolution import Conv2D
from glowmcu.ops.transpose_conv import TransposeConv2D

#: Of the names of these variants; they are in files that users and benchmarks keep.
SUFFIX = ".subpixel"
#: Pixels of a call: rows that have fewer are computed several at a time.
_PIXELS_AT_ONCE = 8
#: How much of what single rows take longer than a whole image does is counted.
_ROW_SHARE = 0.5
#: Cycles of a call, of a piece that is copied, and of a byte of it; bytes of the code around it.
_CALL, _PIECE, _BYTE, _CODE_BYTES = 250.0, 40.0, 0.6, 180


@dataclass(frozen=True)
class _Axis:
    """Blocks along height or width: the first is number `first` of those that the result is cut
    from, and each gets from `taps` positions of the input.
    """

    stride: int
    taps: int
    first: int
    count: int
    size: int

    @classmethod
    def of(cls, size: int, kernel: int, stride: int, padding: int, result: int) -> _Axis:
        first = padding // stride
        end = (padding + result - 1) // stride + 1
        return cls(stride, -(-kernel // stride), first, end - first, size)

    @property
    def before(self) -> int:
        """Padding in front of the input."""
        return self.taps - 1 - self.first

    @property
    def behind(self) -> int:
        """Padding behind it."""
        return self.count + self.taps - 1 - self.before - self.size

    @property
    def is_window(self) -> bool:
        """Whether every window has a position of the input."""
        return 0 <= self.before < self.taps and 0 <= self.behind < self.taps


class SubPixel(Kernel):
    """The variant `convolution`, which computes blocks."""

    convolution: ClassVar[Kernel]

    def accepts(self, site: Site, target: Target) -> bool:
        if not can_convolve(site):
            return False
        return not self.convolution.accumulates and self.convolution.accepts(_inner(site), target)

    def work(self, site: Site, target: Target) -> Mapping[str, float]:
        return self.convolution.work(_inner(site), target)

    def cost(self, site: Site, target: Target) -> Cost:
        return self._around(self.convolution.cost(_inner(site), target), site)

    def calibrated_cost(self, site: Site, target: Target) -> Cost:
        return self._around(self.convolution.calibrated_cost(_inner(site), target), site)

    def _around(self, cost: Cost, site: Site) -> Cost:
        """With the calls, and the pixels put where they belong."""
        rows, columns = _axes(site.node)
        calls = -(-rows.count // _at_once(site.node))
        pieces = rows.count * columns.count * rows.stride
        slowdown = 1.0 + (self.convolution.row_slowdown - 1.0) * _ROW_SHARE
        cycles = calls * _CALL + pieces * _PIECE + _BYTE * site.signature.output.size_bytes
        return replace(
            cost, cycles=cost.cycles * slowdown + cycles,
            scratch_bytes=cost.scratch_bytes + _rows_bytes(site.node),
            layer_code_bytes=cost.layer_code_bytes + _CODE_BYTES,
        )  # fmt: skip

    def generate(self, site: Site, target: Target) -> KernelCode:
        code, (rows, columns) = self.convolution.generate(_inner(site), target), _axes(site.node)
        assert code.rows == rows.count and code.operands == (0,), f"{self.name}: not by rows"
        op, held = site.node.op, _rows_bytes(site.node)
        assert isinstance(op, TransposeConv2D)
        shuffle = PixelShuffle(
            rows.count, _at_once(site.node), rows.before, op.strides,
            op.padding[0] % rows.stride, op.padding[1] % columns.stride,
            columns.count, held, code.scratch_bytes,
        )  # fmt: skip
        headers = (*code.view.get("headers", ()), "glowmcu_pixel_shuffle.h")
        note = f"a convolution that computes blocks of {rows.stride}x{columns.stride} pixels"
        return replace(
            code, rows=0, shuffle=shuffle, scratch_bytes=held + code.scratch_bytes,
            overlaps=_overlaps(site.node), view={**code.view, "headers": headers},
            weight_passes=code.weight_passes * -(-rows.count // shuffle.at_once),
            notes=(*code.notes, note),
        )  # fmt: skip


@cache
def subpixel(variant: Kernel) -> SubPixel:
    """The variant of conv_2d for transposed convolutions; always the same one."""

    class Of(SubPixel):
        """That of one variant."""

        name: ClassVar[str] = variant.name + SUFFIX
        operations: ClassVar[tuple[type[Operation], ...]] = (TransposeConv2D,)
        keeps_int8_weights: ClassVar[bool] = variant.keeps_int8_weights
        stores_four_bits: ClassVar[bool] = variant.stores_four_bits
        convolution: ClassVar[Kernel] = variant

    return Of()


def convolution(variant: Kernel) -> Kernel:
    """The variant itself, or the one that computes its blocks."""
    return variant.convolution if isinstance(variant, SubPixel) else variant


def can_convolve(site: Site) -> bool:
    """Whether a transposed convolution of int8, a whole image of it, is a convolution of blocks."""
    op = site.node.op
    if not isinstance(op, TransposeConv2D) or site.by_rows:
        return False
    if site.signature.inputs[0].shape[0] != 1:
        return False
    if not is_constant(site, 1, 2) or not is_int8(site) or not op.is_plain(site.signature):
        return False
    return all(axis.is_window for axis in _axes(site.node))


def _axes(node: Node) -> tuple[_Axis, _Axis]:
    op, (x, weights, _) = node.op, node.signature.inputs
    assert isinstance(op, TransposeConv2D)
    rows, columns = (
        _Axis.of(
            x.shape[1 + axis], weights.shape[1 + axis], op.strides[axis], op.padding[axis],
            op.size[axis],
        )
        for axis in (0, 1)
    )  # fmt: skip
    return rows, columns


def _at_once(node: Node) -> int:
    rows, columns = _axes(node)
    return min(rows.count, -(-_PIXELS_AT_ONCE // columns.count))


def _rows_bytes(node: Node) -> int:
    rows, columns = _axes(node)
    block = rows.stride * columns.stride * node.signature.output.shape[3]
    return aligned(_at_once(node) * columns.count * block, BUFFER_ALIGN)


def _overlaps(node: Node) -> Overlaps:
    """Rows of blocks are read from the image before what they make is written."""
    rows, (x, out), op = _axes(node)[0], (node.signature.inputs[0], node.signature.output), node.op
    assert isinstance(op, TransposeConv2D)
    first = np.arange(0, rows.count, _at_once(node), dtype=np.int64)
    end = np.minimum(first + _at_once(node), rows.count) * rows.stride
    above = op.padding[0] % rows.stride
    written = np.clip(end - above, 0, out.shape[1]) * (out.size_bytes // out.shape[1])
    needed = np.maximum(first - rows.before, 0) * (x.size_bytes // x.shape[1])
    return {0: Overlap(least_gap(written, needed, x.size_bytes, reads_first=True))}


@once_a_site
def _inner(site: Site) -> Site:
    """The convolution, as a site of its own."""
    op, (rows, columns), out = site.node.op, _axes(site.node), site.signature.output
    x, weights, bias = site.signature.inputs
    assert isinstance(op, TransposeConv2D)
    kernel, offsets = site.constants[1:3]
    assert kernel is not None and offsets is not None
    blocks = rows.stride * columns.stride
    windows, biases = _windows(kernel, rows, columns), np.tile(offsets, blocks)
    biases.flags.writeable = False
    types = _repeated(weights, blocks).with_shape(windows.shape), _repeated(bias, blocks)
    result = out.with_shape((1, rows.count, columns.count, blocks * out.shape[3]))
    values = [
        Value(type_, value.name) for type_, value in zip((x, *types), site.node.inputs, strict=True)
    ]
    padding = rows.before, columns.before, rows.behind, columns.behind
    node = Node(
        Conv2D(padding=padding, clamp=op.clamp), tuple(values),
        (Value(result, site.node.outputs[0].name),), site.node.name, site.node.source,
        site.node.stage,
    )  # fmt: skip
    ranges = tuple(
        known if position == 0 else None for position, known in enumerate(site.input_ranges)
    )
    constants = (site.constants[0], windows, biases)
    limit = site.scratch_limit
    left = None if limit is None else max(limit - _rows_bytes(site.node), 0)
    return replace(
        site, node=node, constants=constants, input_ranges=ranges, scratch_limit=left, memory={}
    )


def _windows(kernel: Array, rows: _Axis, columns: _Axis) -> Array:
    """OHWI of the transposed convolution, as that of the convolution: block by pixel by channel."""
    depth, _, _, channels = kernel.shape
    shape = rows.stride, columns.stride, depth, rows.taps, columns.taps, channels
    found = np.zeros(shape, kernel.dtype)
    for y in range(kernel.shape[1]):
        for x in range(kernel.shape[2]):
            back, place_y = divmod(y, rows.stride)
            left, place_x = divmod(x, columns.stride)
            tap = rows.taps - 1 - back, columns.taps - 1 - left
            found[place_y, place_x, :, tap[0], tap[1]] = kernel[:, y, x]
    windows = found.reshape(-1, rows.taps, columns.taps, channels)
    windows.flags.writeable = False
    return windows


def _repeated(type_: TensorType, times: int) -> TensorType:
    """Axis 0 over again, with its scales."""
    found = type_.quantization
    if found is not None and found.per_channel:
        found = Quantization(found.scales * times, found.zero_points * times, found.axis)
    return TensorType((type_.shape[0] * times, *type_.shape[1:]), type_.element, found)
