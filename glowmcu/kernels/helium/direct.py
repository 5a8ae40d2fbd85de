"""conv_2d and fully_connected on cores with Helium, two windows by four channels.

Windows are read row by row as they lie, see glowmcu_direct_mve.h; where their rows are shorter than
a vector they may be gathered, see glowmcu_narrow_mve.h. Images that have to be padded are copied
into scratch, each row once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import ClassVar

import numpy as np

from glowmcu.ir.function_names import specialized
from glowmcu.kernels.common.bounds import accumulator_bound, bound_note
from glowmcu.kernels.common.four_bits import FOUR_BITS_NOTES
from glowmcu.kernels.common.layer_fields import constant
from glowmcu.kernels.common.overlap import (
    Overlaps,
    ahead_overlaps,
    block_overlaps,
    first_pixels,
    matrix_overlaps,
    pixel_blocks,
)
from glowmcu.kernels.helium.convolution import (
    MatrixKernel,
    geometry_of,
    matrix_form,
    matrix_of,
    pixels_of,
)
from glowmcu.kernels.helium.direct_assembly import DirectCode, direct_assembly
from glowmcu.kernels.helium.direct_layout import (
    Layout,
    direct_layout,
    narrow_layout,
    straight_layout,
)
from glowmcu.kernels.helium.matrix import BLOCK, TILE, matrix_stream, nibble_halves, stream_bytes
from glowmcu.kernels.helium.scale import scale_mve
from glowmcu.kernels.helium.straight_assembly import StraightCode, straight_assembly
from glowmcu.kernels.kernel import (
    ConstantArray,
    Cost,
    Field,
    KernelCode,
    Parameters,
    Site,
    Target,
    kernel,
)
from glowmcu.kernels.requantization.forms import FormKind, requantization_task
from glowmcu.ops.convolution import Conv2D, DepthwiseConv2D
from glowmcu.ops.matmul import FullyConnected

_STREAM_COMMENTS = (
    "weights and scales, 4 channels a group",
    "4 channels a group, see glowmcu_direct_nibbles_mve.h",
)
_NIBBLES_HEADERS = ("glowmcu_direct_nibbles_mve.h",)
#: Instructions of each amount of work.
_CYCLES = {
    "pair_block": 15.0,
    "pair_turn": 6.0,
    "pair_tile_floor": 28.0,
    "pair_tile_literal": 38.0,
    "pair_eight_floor": 24.0,
    "pair_eight_literal": 50.0,
    "pair_masked": 4.0,
    "pair": 22.0,
    "row": 80.0,
    "value": 0.25,
    "window": 40.0,
    "part": 5.5,
    "fill": 60.0,
    "call": 60.0,
}


class _DirectKernel(MatrixKernel):
    """Two windows by four channels at a time, read where a layout says that they lie."""

    #: The struct and the walk in libjit.
    kind: ClassVar[str]
    struct: ClassVar[str]
    walk_bytes: ClassVar[int]

    def layout(self, site: Site) -> Layout:
        """Of a site that is accepted."""
        raise AssertionError(f"{type(self).__name__} does not say")

    def accepts(self, site: Site, target: Target) -> bool:
        if not super().accepts(site, target) or pixels_of(site) < 2:
            return False
        geometry = geometry_of(site)
        return geometry["parts"] == geometry["dilation_y"] == 1

    def work(self, site: Site, target: Target) -> Mapping[str, float]:
        layout, (batch, height, width) = self.layout(site), (1, 1, pixels_of(site))
        if not isinstance(site.node.op, FullyConnected):
            batch, height, width = site.signature.output.shape[:3]
        pairs = height * width if layout.is_one_row else height * (width + width % 2)
        tiles = batch * -(-pairs // 2) * -(-len(matrix_of(site)) // layout.channels)
        rows = 0 if layout.is_one_row else batch * height
        code = self._code(site)
        turns = 0 if isinstance(code, StraightCode) or code.is_once else layout.turns
        return {
            "pair_block": tiles * max(layout.ahead, 1) * layout.turns * layout.blocks,
            "pair_turn": tiles * turns,
            f"pair_{'eight' if layout.ahead > 1 else 'tile'}_{matrix_form(site).kind.value}": tiles,
            "pair_masked": tiles * code.is_partial,
            "pair": batch * -(-pairs // 2),
            "row": rows,
            "value": rows * geometry_of(site)["kernel_height"] * layout.row_bytes,
            "call": batch,
        }

    def flash_bytes(self, site: Site, target: Target) -> int:
        layout = self.layout(site)
        depth = layout.rows * layout.row_blocks * BLOCK
        channels = -(-len(matrix_of(site)) // layout.channels) * layout.channels
        stream = stream_bytes(channels, depth, matrix_form(site), self.nibbles)
        return stream + 4 * layout.turns

    def code_key(self, site: Site, target: Target) -> str:
        return specialized(self.kind, *self._code(site).facts)

    def cost(self, site: Site, target: Target) -> Cost:
        return Cost(
            sum(_CYCLES[name] * amount for name, amount in self.work(site, target).items()),
            self._code(site).size_bytes,
            self.flash_bytes(site, target),
            self.scratch_bytes(site, target),
            code_key=self.code_key(site, target),
            around=f"{self.struct}_rows",
            around_bytes=self.walk_bytes,
        )

    def generate(self, site: Site, target: Target) -> KernelCode:
        code, shape = self._code(site), site.signature.output.shape
        is_dense = isinstance(site.node.op, FullyConnected)
        bound = accumulator_bound(site, matrix_of(site), constant(site, 2))
        if isinstance(code, StraightCode):
            assembly = straight_assembly(code)
        else:
            assembly = direct_assembly(code)
        return KernelCode(
            function=self.code_key(site, target),
            operands=(0,),
            template="helium/direct_mve.c.j2",
            view={
                "headers": (f"{self.struct}.h", *_NIBBLES_HEADERS[: self.nibbles]),
                "walk": self.struct,
                "portable": f"glowmcu_direct{'_nibbles' * self.nibbles}_mve_portable",
                "assembly": assembly,
                "numbers": (code.blocks,)
                if self.nibbles
                else (code.blocks, self.layout(site).ahead),
            },
            parameters=self.parameters(site),
            rows=1 if is_dense else shape[1],
            batches=1 if is_dense else shape[0],
            overlaps=self.overlaps(site),
            scratch_bytes=self.scratch_bytes(site, target),
            notes=(bound_note(site.node.macs, bound), *FOUR_BITS_NOTES[: self.nibbles]),
        )

    def parameters(self, site: Site) -> Parameters:
        """The struct."""
        return self.direct(site, geometry_of(site)["step_bytes"])

    def direct(self, site: Site, apart: int) -> Parameters:
        """The `glowmcu_direct_mve` of windows that are `apart` bytes apart."""
        return _parameters(site, self.layout(site), apart, self.nibbles)

    def _laid_out(self, site: Site, layout: Layout) -> Layout:
        return layout if self.nibbles else straight_layout(site, layout)

    def _code(self, site: Site) -> DirectCode | StraightCode:
        layout = self.layout(site)
        form = matrix_form(site)
        is_literal = form.kind is FormKind.LITERAL
        is_partial = len(matrix_of(site)) % layout.channels != 0
        if layout.is_straight:
            size = (layout.rows, layout.row_blocks, layout.apart)
            preshift = -1 if is_literal else form.preshift
            is_clamped = is_literal and not requantization_task(site).has_halves
            return StraightCode(*size, preshift, is_clamped, is_partial)
        return DirectCode(layout.blocks, layout.turns == 1, is_literal, is_partial, self.nibbles)


@kernel("matrix.direct_mve", Conv2D, DepthwiseConv2D, FullyConnected)
class DirectMatrix(_DirectKernel):
    """What follows a row of a window in its last vector is read as well."""

    kind, struct = "direct", "glowmcu_direct_mve"
    walk_bytes = 450

    def layout(self, site: Site) -> Layout:
        return self._laid_out(site, direct_layout(site))

    def scratch_bytes(self, site: Site, target: Target) -> int:
        layout = self.layout(site)
        # A pointer is handed over even where nothing is copied.
        beyond = layout.row_blocks * BLOCK - geometry_of(site)["part_bytes"]
        copied = layout.copied * geometry_of(site)["part_bytes"] or layout.rows * layout.row_bytes
        return copied + beyond if copied else TILE

    def overlaps(self, site: Site) -> Overlaps:
        """Rows are copied before a row of results is written, or windows are read by pairs."""
        op, signature, layout = site.node.op, site.signature, self.layout(site)
        if isinstance(op, FullyConnected):
            return matrix_overlaps(signature, pixels_of(site), 2, reads_first=False)
        if layout.row_bytes:
            return ahead_overlaps(op, signature, rows_at_once=1)
        assert isinstance(op, Conv2D | DepthwiseConv2D)
        first = first_pixels(op, signature, signature.inputs[1].shape[1:3])
        row = 0 if layout.is_one_row else signature.output.shape[2]
        blocks = pixel_blocks(len(first), 2, row=row)
        return block_overlaps(signature, first, blocks, reads_first=False)


@kernel("matrix.masked_mve", Conv2D, DepthwiseConv2D, FullyConnected)
class MaskedMatrix(DirectMatrix):
    """The same with masks that it does not need, by a function that other layers have."""

    def accepts(self, site: Site, target: Target) -> bool:
        return super().accepts(site, target) and not super()._code(site).is_partial

    def _code(self, site: Site) -> DirectCode | StraightCode:
        return replace(super()._code(site), is_partial=True)


@kernel("matrix.blocks_mve", Conv2D, DepthwiseConv2D, FullyConnected)
class BlocksMatrix(DirectMatrix):
    """The same a block at a time, with masks: a function for windows of any size."""

    def layout(self, site: Site) -> Layout:
        return replace(direct_layout(site), blocks=1)

    def _code(self, site: Site) -> DirectCode | StraightCode:
        code = super()._code(site)
        assert isinstance(code, DirectCode)
        return replace(code, is_once=False, is_partial=True)


@kernel("matrix.narrow_mve", Conv2D, DepthwiseConv2D)
class NarrowMatrix(_DirectKernel):
    """Rows of windows of at most one vector, gathered from rows that lie in scratch."""

    kind, struct = "narrow", "glowmcu_narrow_mve"
    walk_bytes = 520
    #: As many as libjit's GLOWMCU_NARROW_MVE_WINDOWS.
    at_once = 8

    def accepts(self, site: Site, target: Target) -> bool:
        return super().accepts(site, target) and geometry_of(site)["part_bytes"] <= BLOCK

    def layout(self, site: Site) -> Layout:
        return self._laid_out(site, narrow_layout(site))

    def work(self, site: Site, target: Target) -> Mapping[str, float]:
        geometry, (batch, height) = geometry_of(site), site.signature.output.shape[:2]
        rows, pixels = geometry["kernel_height"], pixels_of(site)
        # Pairs are as many as windows say.
        work = {
            name: amount for name, amount in super().work(site, target).items() if name != "pair"
        }
        filled = batch * height * min(geometry["stride_y"], rows)
        return {**work, "window": pixels, "part": pixels * rows, "fill": filled}

    def scratch_bytes(self, site: Site, target: Target) -> int:
        layout = self.layout(site)
        gathered = self.at_once * layout.row_blocks * BLOCK + BLOCK
        rows = geometry_of(site)["kernel_height"] * layout.row_bytes
        return gathered + rows + BLOCK - geometry_of(site)["part_bytes"]

    def overlaps(self, site: Site) -> Overlaps:
        """Rows are copied before the results of the row before are written."""
        return ahead_overlaps(site.node.op, site.signature, rows_at_once=1)

    def parameters(self, site: Site) -> Parameters:
        geometry, layout = geometry_of(site), self.layout(site)
        fields = (
            Field("direct", self.direct(site, layout.row_blocks * BLOCK)),
            Field("part_bytes", geometry["part_bytes"]),
            Field("step_bytes", geometry["step_bytes"]),
        )
        return Parameters(self.struct, fields)


def _parameters(site: Site, layout: Layout, apart: int, nibbles: bool) -> Parameters:
    """The `glowmcu_direct_mve`."""
    geometry, form, matrix = geometry_of(site), matrix_form(site), matrix_of(site)
    rows = matrix.reshape(len(matrix), layout.rows, -1)
    room = layout.row_blocks * BLOCK - rows.shape[2]
    padded = np.pad(rows, ((0, 0), (0, 0), (0, room))).reshape(len(matrix), -1)
    packing = nibble_halves if nibbles else None
    stream = matrix_stream(padded, form, packing, layout.ahead)
    named = ("out_width", "kernel_height", "stride_y", "in_height", "line_bytes")
    fields = (
        Field("channels", len(matrix)),
        Field("scale", scale_mve(form).parameters),
        Field("stream", ConstantArray("stream", stream, _STREAM_COMMENTS[nibbles])),
        Field("stream_bytes", 4 * stream.size),
        Field("steps", ConstantArray("steps", layout.steps(), "between turns, doubled")),
        Field("apart", apart),
        *(Field(name, geometry[name]) for name in named),
        Field("row_bytes", layout.row_bytes),
        *(Field(name, geometry[name]) for name in ("pad_top", "pad_bytes", "in_zero_point")),
        Field("is_one_row", int(layout.is_one_row)),
        Field("copied", layout.copied),
    )
    return Parameters("glowmcu_direct_mve", fields)
