"""conv_2d and fully_connected on cores with Helium, whose windows are read row by row as they lie.

See glowmcu_direct_mve.h: nothing is gathered; images that have to be padded are copied once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from glowmcu.kernels.common.bounds import accumulator_bound, bound_note
from glowmcu.kernels.common.layer_fields import constant, is_padded
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
from glowmcu.kernels.helium.matrix import BLOCK, TILE, matrix_stream, stream_bytes
from glowmcu.kernels.helium.scale import scale_mve
from glowmcu.kernels.kernel import (
    ConstantArray,
    Cost,
    Field,
    KernelCode,
    Parameters,
    Site,
    Target,
    kernel,
    once_a_site,
)
from glowmcu.kernels.requantization.forms import FormKind
from glowmcu.ops.convolution import Conv2D, DepthwiseConv2D
from glowmcu.ops.matmul import FullyConnected

#: Blocks of a window that are one turn.
_MOST_AT_ONCE = 4
#: Blocks of a turn where there are more, the first that divides those of a row.
_TURNS = (3, 4, 2, 5, 7, 1)
#: The walk over rows, which all functions share.
_ROWS_BYTES = 420
#: Instructions of each amount of work.
_CYCLES = {
    "pair_block": 15.0,
    "pair_turn": 6.0,
    "pair_tile_floor": 28.0,
    "pair_tile_literal": 38.0,
    "pair": 18.0,
    "row": 80.0,
    "value": 0.25,
    "call": 60.0,
}


@dataclass(frozen=True)
class _Layout:
    """How windows lie: `row_blocks` vectors in each of `rows` rows that are `line_bytes` apart.

    `row_bytes` of a row in scratch, 0 where the image is read as it is.
    """

    rows: int
    row_blocks: int
    line_bytes: int
    row_bytes: int
    is_one_row: bool

    @property
    def blocks(self) -> int:
        """Of a turn."""
        if self.rows == 1 and self.row_blocks <= _MOST_AT_ONCE:
            return self.row_blocks
        return next(blocks for blocks in _TURNS if self.row_blocks % blocks == 0)

    @property
    def turns(self) -> int:
        """Of a window."""
        return self.rows * self.row_blocks // self.blocks

    def steps(self) -> npt.NDArray[np.int32]:
        """Twice the bytes from each turn to the next one, odd from the last one back."""
        each = self.row_blocks // self.blocks
        starts = [
            row * self.line_bytes + turn * self.blocks * BLOCK
            for row in range(self.rows)
            for turn in range(each)
        ]
        return np.array([*(2 * np.diff(starts)), 1 - 2 * starts[-1]], np.int32)


@kernel("matrix.direct_mve", Conv2D, DepthwiseConv2D, FullyConnected)
class DirectMatrix(MatrixKernel):
    """Two windows by four channels; what follows a row in its last vector is read as well."""

    def accepts(self, site: Site, target: Target) -> bool:
        return (
            super().accepts(site, target)
            and len(matrix_of(site)) % TILE == 0
            and pixels_of(site) > 1
            and _layout(site) is not None
        )

    def work(self, site: Site, target: Target) -> Mapping[str, float]:
        layout, out = _known_layout(site), site.signature.output.shape
        batch, height, width = (1, 1, pixels_of(site))
        if not isinstance(site.node.op, FullyConnected):
            batch, height, width = out[:3]
        pairs = batch * (
            -(-height * width // 2) if layout.is_one_row else height * -(-width // 2)
        )
        tiles = pairs * len(matrix_of(site)) // TILE
        rows = 0 if layout.is_one_row else batch * height
        return {
            "pair_block": tiles * layout.turns * layout.blocks,
            "pair_turn": 0 if _code(site).is_once else tiles * layout.turns,
            f"pair_tile_{matrix_form(site).kind.value}": tiles,
            "pair": pairs,
            "row": rows,
            "value": rows * layout.rows * layout.row_bytes,
            "call": batch,
        }

    def flash_bytes(self, site: Site, target: Target) -> int:
        layout = _known_layout(site)
        depth = layout.rows * layout.row_blocks * BLOCK
        return stream_bytes(len(matrix_of(site)), depth, matrix_form(site)) + 4 * layout.turns

    def scratch_bytes(self, site: Site, target: Target) -> int:
        layout = _known_layout(site)
        # A pointer is handed over even where nothing is copied.
        beyond = layout.row_blocks * BLOCK - geometry_of(site)["part_bytes"]
        return layout.rows * layout.row_bytes + beyond if layout.row_bytes else TILE

    def code_key(self, site: Site, target: Target) -> str:
        return f"glowmcu_direct_mve_{_code(site).suffix}"

    def cost(self, site: Site, target: Target) -> Cost:
        return Cost(
            sum(_CYCLES[name] * amount for name, amount in self.work(site, target).items()),
            _code(site).size_bytes,
            self.flash_bytes(site, target),
            self.scratch_bytes(site, target),
            code_key=self.code_key(site, target),
            around="glowmcu_direct_mve_rows",
            around_bytes=_ROWS_BYTES,
        )

    def overlaps(self, site: Site) -> Overlaps:
        """Rows are copied before a row of results is written, or windows are read by pairs."""
        op, signature, layout = site.node.op, site.signature, _known_layout(site)
        if isinstance(op, FullyConnected):
            return matrix_overlaps(signature, pixels_of(site), 2, reads_first=False)
        if layout.row_bytes:
            return ahead_overlaps(op, signature, rows_at_once=1)
        assert isinstance(op, Conv2D | DepthwiseConv2D)
        first = first_pixels(op, signature, signature.inputs[1].shape[1:3])
        row = 0 if layout.is_one_row else signature.output.shape[2]
        blocks = pixel_blocks(len(first), 2, row=row)
        return block_overlaps(signature, first, blocks, reads_first=False)

    def generate(self, site: Site, target: Target) -> KernelCode:
        code, shape = _code(site), site.signature.output.shape
        is_dense = isinstance(site.node.op, FullyConnected)
        bound = accumulator_bound(site, matrix_of(site), constant(site, 2))
        return KernelCode(
            function=self.code_key(site, target),
            operands=(0,),
            template="helium/direct_mve.c.j2",
            view={
                "headers": ("glowmcu_direct_mve.h",),
                "assembly": direct_assembly(code),
                "blocks": code.blocks,
            },
            parameters=Parameters("glowmcu_direct_mve", _fields(site)),
            rows=1 if is_dense else shape[1],
            batches=1 if is_dense else shape[0],
            overlaps=self.overlaps(site),
            scratch_bytes=self.scratch_bytes(site, target),
            notes=(bound_note(site.node.macs, bound),),
        )


@once_a_site
def _layout(site: Site) -> _Layout | None:
    """None for windows with holes, and for vectors that would all be copied."""
    geometry = geometry_of(site)
    is_dense = isinstance(site.node.op, FullyConnected)
    is_whole = geometry["part_bytes"] % BLOCK == 0
    if geometry["parts"] > 1 or geometry["dilation_y"] > 1 or (is_dense and not is_whole):
        return None
    part, rows, line = (
        geometry["part_bytes"], geometry["kernel_height"], geometry["line_bytes"],
    )  # fmt: skip
    row_blocks = -(-part // BLOCK)
    last_window = (geometry["out_width"] - 1) * geometry["step_bytes"]
    if is_whole and (is_dense or not is_padded(site)):
        next_row = geometry["out_width"] * geometry["step_bytes"]
        is_one_row = next_row == geometry["stride_y"] * line
        return _Layout(rows, row_blocks, line, 0, is_one_row)
    return _Layout(rows, row_blocks, last_window + part, last_window + part, False)


def _known_layout(site: Site) -> _Layout:
    layout = _layout(site)
    assert layout is not None
    return layout


def _code(site: Site) -> DirectCode:
    layout = _known_layout(site)
    is_literal = matrix_form(site).kind is FormKind.LITERAL
    return DirectCode(layout.blocks, layout.turns == 1, is_literal)


def _fields(site: Site) -> tuple[Field, ...]:
    """In the order of `glowmcu_direct_mve`."""
    layout, geometry, form = _known_layout(site), geometry_of(site), matrix_form(site)
    matrix = matrix_of(site)
    rows = matrix.reshape(len(matrix), layout.rows, -1)
    room = layout.row_blocks * BLOCK - rows.shape[2]
    padded = np.pad(rows, ((0, 0), (0, 0), (0, room))).reshape(len(matrix), -1)
    stream = matrix_stream(padded, form)
    named = ("out_width", "kernel_height", "stride_y", "in_height", "line_bytes")
    return (
        Field("channels", len(matrix)),
        Field("scale", scale_mve(form).parameters),
        Field("stream", ConstantArray("stream", stream, "weights and scales, 4 channels a group")),
        Field("stream_bytes", 4 * stream.size),
        Field("steps", ConstantArray("steps", layout.steps(), "between turns, doubled")),
        Field("apart", geometry["step_bytes"]),
        *(Field(name, geometry[name]) for name in named),
        Field("row_bytes", layout.row_bytes),
        *(Field(name, geometry[name]) for name in ("pad_top", "pad_bytes", "in_zero_point")),
        Field("is_one_row", int(layout.is_one_row)),
    )
