"""conv_2d, fully_connected and one-channel depthwise_conv_2d on cores with Helium.

All are rows of int8 times a packed matrix: see glowmcu_matrix_mve.h. Rows are read where
they lie, or gathered from the image first.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from glowmcu.ir.layer_weights import are_nibbles
from glowmcu.ir.types import ElementType
from glowmcu.kernels.common.bounds import accumulator_bound, bound_note
from glowmcu.kernels.common.four_bits import FOUR_BITS_NOTES
from glowmcu.kernels.common.layer_fields import constant, is_constant, is_int8
from glowmcu.kernels.common.overlap import Overlaps, matrix_overlaps, window_overlaps
from glowmcu.kernels.helium.matrix import (
    BLOCK,
    MATRIX_CYCLES,
    TILE,
    Weights,
    matrix_parameters,
    matrix_work,
    nibble_sums,
    padded_depth,
    stream_bytes,
)
from glowmcu.kernels.helium.scale import vector_form
from glowmcu.kernels.kernel import (
    Cost,
    Field,
    Kernel,
    KernelCode,
    Parameters,
    Site,
    Target,
    kernel,
    once_a_site,
)
from glowmcu.kernels.requantization.forms import Form, FormKind, requantization_task
from glowmcu.ops.convolution import Conv2D, DepthwiseConv2D
from glowmcu.ops.matmul import FullyConnected

#: Products of -8 and -128, 16 times, that 32 bits cannot hold.
_MOST_NIBBLES = 1 << 17

#: Instructions to gather a part of a window, and 16 bytes of it.
GATHER_CYCLES = {"window": 25.0, "part": 12.0, "part_block": 3.0}

#: Instructions of pixels times four channels, and of a block of pixels times four channels.
_SHORT_CYCLES = {"pixel_tile": 17.0, "block_tile": 35.0, "call": 30.0}


def matrix_of(site: Site) -> Weights:
    """Weights as (channels, bytes of a window)."""
    weights = constant(site, 1).astype(np.int8)
    if isinstance(site.node.op, DepthwiseConv2D):
        return np.ascontiguousarray(weights.reshape(-1, weights.shape[-1]).T)
    return weights.reshape(len(weights), -1)


def _is_matrix(site: Site) -> bool:
    """Whether every output reads the same inputs, with int8 weights around 0."""
    op, (x, weights, _) = site.node.op, site.signature.inputs
    if not (is_constant(site, 1, 2) and is_int8(site) and x.element is ElementType.I8):
        return False
    if isinstance(op, Conv2D):
        return x.shape[3] == weights.shape[3]
    if isinstance(op, DepthwiseConv2D):
        return x.shape[3] == 1
    assert weights.quantization is not None
    return not any(weights.quantization.zero_points)


@once_a_site
def _has_nibbles(site: Site) -> bool:
    """Whether weights have four bits and 16 times a sum of products fits 32."""
    matrix = matrix_of(site)
    return are_nibbles(matrix) and matrix.shape[1] < _MOST_NIBBLES


def matrix_form(site: Site) -> Form:
    """The form that `accepts` has found."""
    form = vector_form(requantization_task(site))
    assert form is not None
    return form


def _is_pointwise(site: Site) -> bool:
    """Whether windows are the rows of the input as they lie."""
    op, (x, weights, _), out = site.node.op, site.signature.inputs, site.signature.output
    if isinstance(op, FullyConnected):
        return True
    assert isinstance(op, Conv2D | DepthwiseConv2D)
    return weights.shape[1:3] == (1, 1) and x.shape[1:3] == out.shape[1:3] and op.strides == (1, 1)


def pixels_of(site: Site) -> int:
    """Rows of results: output pixels."""
    return site.signature.output.element_count // len(matrix_of(site))


def geometry_of(site: Site) -> dict[str, int]:
    """What `glowmcu_conv_2d_mve` says of the walk; a fully connected layer is a 1x1 convolution."""
    op, (x, weights, _), out = site.node.op, site.signature.inputs, site.signature.output
    image, kernel = x.shape, weights.shape[1:3]
    if isinstance(op, FullyConnected):
        image, kernel = (1, 1, pixels_of(site), weights.shape[1]), (1, 1)
        strides, dilations, padding = (1, 1), (1, 1), (0, 0, 0, 0)
    else:
        assert isinstance(op, Conv2D | DepthwiseConv2D)
        strides, dilations, padding = op.strides, op.dilations, op.padding
    pixel, is_dense = image[3], dilations[1] == 1
    return {
        "in_height": image[1],
        "line_bytes": image[2] * pixel,
        "out_width": image[2] if isinstance(op, FullyConnected) else out.shape[2],
        "kernel_height": kernel[0],
        "stride_y": strides[0],
        "dilation_y": dilations[0],
        "pad_top": padding[0],
        "step_bytes": strides[1] * pixel,
        "pad_bytes": padding[1] * pixel,
        "parts": 1 if is_dense else kernel[1],
        "part_bytes": pixel * (kernel[1] if is_dense else 1),
        "part_step": dilations[1] * pixel,
        "in_zero_point": x.zero_point,
    }


class MatrixKernel(Kernel):
    """What all ways to get at the rows share."""

    #: Whether a block of pixels is read before the first one's results are written.
    reads_first: ClassVar[bool]
    #: Pixels of a block.
    at_once: ClassVar[int] = 2
    #: Whether it is for weights of four bits, two in a byte.
    nibbles: ClassVar[bool] = False

    def accepts(self, site: Site, target: Target) -> bool:
        if not target.core.has_mve or not _is_matrix(site):
            return False
        if self.nibbles and not _has_nibbles(site):
            return False
        return vector_form(requantization_task(site)) is not None

    def flash_bytes(self, site: Site, target: Target) -> int:
        channels, depth = matrix_of(site).shape
        return stream_bytes(channels, depth, matrix_form(site), self.nibbles)

    def overlaps(self, site: Site) -> Overlaps:
        """A block of pixels at a time; windows are gathered before anything is written."""
        op = site.node.op
        if isinstance(op, FullyConnected):
            return matrix_overlaps(site.signature, pixels_of(site), self.at_once, self.reads_first)
        assert isinstance(op, Conv2D | DepthwiseConv2D)
        kernel = site.signature.inputs[1].shape[1:3]
        return window_overlaps(op, site.signature, kernel, self.at_once, self.reads_first)

    def code(
        self, site: Site, name: str, struct: str, fields: tuple[Field, ...], scratch: int
    ) -> KernelCode:
        """A call of `name` with the matrix in front of `fields`."""
        packing = nibble_sums if self.nibbles else None
        matrix = matrix_of(site)
        bound = accumulator_bound(site, matrix, constant(site, 2))
        shape = site.signature.output.shape
        is_dense = isinstance(site.node.op, FullyConnected)
        head = Field("matrix", matrix_parameters(matrix, matrix_form(site), packing))
        return KernelCode(
            function=f"{name}_s8",
            operands=(0,),
            header=f"{name}.h",
            parameters=Parameters(struct, (head, *fields)),
            rows=1 if is_dense else shape[1],
            batches=1 if is_dense else shape[0],
            overlaps=self.overlaps(site),
            scratch_bytes=scratch,
            notes=(bound_note(site.node.macs, bound), *FOUR_BITS_NOTES[: self.nibbles]),
        )


@kernel("matrix.rows_mve", Conv2D, DepthwiseConv2D, FullyConnected)
class RowsMatrix(MatrixKernel):
    """Pixels or vectors of whole 16 bytes, read where they lie."""

    reads_first = False
    function: ClassVar[str] = "glowmcu_pointwise_mve"
    code_bytes: ClassVar[int] = 700

    def accepts(self, site: Site, target: Target) -> bool:
        return (
            super().accepts(site, target)
            and _is_pointwise(site)
            and matrix_of(site).shape[1] % BLOCK == 0
        )

    def work(self, site: Site, target: Target) -> Mapping[str, float]:
        return matrix_work(pixels_of(site), matrix_of(site), matrix_form(site))

    def cost(self, site: Site, target: Target) -> Cost:
        cycles = sum(MATRIX_CYCLES[name] * n for name, n in self.work(site, target).items())
        flash = self.flash_bytes(site, target)
        return Cost(cycles, self.code_bytes, flash, code_key=f"{self.function}_s8")

    def generate(self, site: Site, target: Target) -> KernelCode:
        fields = (Field("out_width", geometry_of(site)["out_width"]),)
        return self.code(site, self.function, self.function, fields, 0)


@kernel("matrix.short_mve", Conv2D, DepthwiseConv2D, FullyConnected)
class ShortMatrix(MatrixKernel):
    """Pixels of at most 16 bytes: the weights of four channels stay in registers."""

    reads_first = False
    at_once = 16  # GLOWMCU_SHORT_MATRIX_MVE_PIXELS

    def accepts(self, site: Site, target: Target) -> bool:
        if not super().accepts(site, target) or not _is_pointwise(site):
            return False
        channels, depth = matrix_of(site).shape
        return depth <= BLOCK and channels % TILE == 0 and matrix_form(site).kind is FormKind.FLOOR

    def work(self, site: Site, target: Target) -> Mapping[str, float]:
        tiles, pixels = len(matrix_of(site)) // TILE, pixels_of(site)
        return {
            "pixel_tile": pixels * tiles,
            "block_tile": -(-pixels // self.at_once) * tiles,
            "call": 1,
        }

    def cost(self, site: Site, target: Target) -> Cost:
        work = self.work(site, target)
        cycles = sum(_SHORT_CYCLES[name] * amount for name, amount in work.items())
        flash = self.flash_bytes(site, target)
        return Cost(cycles, 400, flash, code_key="glowmcu_short_matrix_mve_s8")

    def generate(self, site: Site, target: Target) -> KernelCode:
        fields = (
            Field("out_width", geometry_of(site)["out_width"]),
            Field("pixel_bytes", matrix_of(site).shape[1]),
        )
        name = "glowmcu_short_matrix_mve"
        return self.code(site, name, name, fields, 0)


@kernel("matrix.windows_mve", Conv2D, DepthwiseConv2D, FullyConnected)
class WindowsMatrix(MatrixKernel):
    """Any window, two of them gathered into scratch at a time."""

    reads_first = True
    function: ClassVar[str] = "glowmcu_conv_2d_mve"
    code_bytes: ClassVar[int] = 1000

    def work(self, site: Site, target: Target) -> Mapping[str, float]:
        pixels, geometry = pixels_of(site), geometry_of(site)
        parts = pixels * geometry["kernel_height"] * geometry["parts"]
        part_blocks = -(-geometry["part_bytes"] // BLOCK)
        gathering = {"window": pixels, "part": parts, "part_block": parts * part_blocks}
        return {**matrix_work(pixels, matrix_of(site), matrix_form(site)), **gathering}

    def scratch_bytes(self, site: Site, target: Target) -> int:
        return 2 * padded_depth(matrix_of(site).shape[1])

    def cost(self, site: Site, target: Target) -> Cost:
        unit_costs = {**MATRIX_CYCLES, **GATHER_CYCLES}
        return Cost(
            sum(unit_costs[name] * amount for name, amount in self.work(site, target).items()),
            self.code_bytes,
            self.flash_bytes(site, target),
            self.scratch_bytes(site, target),
            code_key=f"{self.function}_s8",
        )

    def generate(self, site: Site, target: Target) -> KernelCode:
        fields = tuple(Field(name, value) for name, value in geometry_of(site).items())
        scratch = self.scratch_bytes(site, target)
        return self.code(site, self.function, "glowmcu_conv_2d_mve", fields, scratch)
