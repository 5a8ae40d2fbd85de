"""Float windows of few products: inputs of several pixels stay in registers for all outputs.

See glowmcu_few_inputs_f32.h. Tiles of pixels and channels load inputs anew for each block of
channels: with few products that is more than the weights of an output, once for all pixels.
"""

from __future__ import annotations

import numpy as np

from glowmcu.ir.function_names import specialized
from glowmcu.kernels.common.layer_fields import clamping_fields, constant
from glowmcu.kernels.common.overlap import (
    Overlaps,
    block_overlaps,
    first_pixels,
    pixel_blocks,
)
from glowmcu.kernels.float.convolution import conv_2d, is_matrix, packs, rows_of_weights
from glowmcu.kernels.float.few_inputs_assembly import Tile, best_tile, loads, tile_assembly
from glowmcu.kernels.float.windows import output_word
from glowmcu.kernels.kernel import (
    ConstantArray,
    Field,
    Kernel,
    KernelCode,
    Parameters,
    Site,
    Target,
    kernel,
)
from glowmcu.ops.convolution import Conv2D

#: Distances of results are immediates.
_MOST_OUTPUTS = 1023


@kernel("conv_2d.few_inputs_f32", Conv2D)
class FewInputsF32(Kernel):
    """1x1 of up to 8 inputs, 3x3 of one and their like; an FPU without float vectors."""

    def accepts(self, site: Site, target: Target) -> bool:
        if target.core.has_mve or not packs(site, target):
            return False
        x, weights = site.signature.inputs[0].shape, site.signature.inputs[1].shape
        near = all(
            d == 1 or n == 1 for d, n in zip(conv_2d(site).dilations, weights[1:3], strict=True)
        )
        finite = bool(np.isfinite(constant(site, 1)).all())
        if x[3] != weights[3] or not near or not finite or weights[0] > _MOST_OUTPUTS:
            return False
        return _tile(site) is not None

    def work(self, site: Site, target: Target) -> dict[str, float]:
        op, tile, x, out = conv_2d(site), _the_tile(site), *_shapes(site)
        tiles, copied = _tiles(site), _copied(site)
        times = x[0] * tiles * out[3]
        return {
            "call": float(x[0]),
            "tile": float(x[0] * tiles),
            "input": float(x[0] * tiles * tile.inputs),
            "copied": float(x[0] * copied * tile.inputs),
            "weight": float(times * loads(tile)),
            "product": float(times * tile.products * tile.pixels * (tile.held > 1)),
            "product alone": float(times * tile.products * tile.pixels * (tile.held == 1)),
            output_word(op.clamp): float(times * tile.pixels),
        }

    def flash_bytes(self, site: Site, target: Target) -> int:
        return 4 * (_the_tile(site).products + 1) * site.signature.output.shape[3]

    def code_key(self, site: Site, target: Target) -> str:
        tile, outputs = _the_tile(site), site.signature.output.shape[3]
        return specialized(
            "fewfloats",
            f"{tile.height}x{tile.width}x{tile.depth} to {outputs}",
            f"{tile.pixels} pixels",
            f"stride {tile.stride}" if tile.stride > 1 else "",
            {"": "", "relu": "clipped", "most": "clamped"}[_limit(site)],
            "rows" if is_matrix(site) else "",
        )

    def generate(self, site: Site, target: Target) -> KernelCode:
        op, tile, x, out = conv_2d(site), _the_tile(site), *_shapes(site)
        # A bias of -0 is stored as 0: no sum is -0, so that results are the same.
        bias = constant(site, 2) + np.float32(0.0)
        columns = np.column_stack([rows_of_weights(site), bias]).astype(np.float32)
        fields = (
            Field("in_height", x[1]),
            Field("in_width", x[2]),
            Field("out_width", out[2]),
            Field("stride_y", op.strides[0]),
            Field("pad_top", op.padding[0]),
            Field("pad_left", op.padding[1]),
            *clamping_fields(op.clamp),
            Field(
                "weights", ConstantArray("weights", columns.reshape(-1), "weights and a bias each")
            ),
        )
        return KernelCode(
            function=self.code_key(site, target),
            operands=(0,),
            template="float/few_inputs_f32.c.j2",
            view={
                "assembly": tile_assembly(tile, out[3], _limit(site)),
                "limit": _limit(site),
                "tile": tile,
                "outputs": out[3],
                "is_matrix": is_matrix(site),
                "headers": ("glowmcu_few_inputs_f32.h",),
            },
            parameters=Parameters("glowmcu_few_floats_real", fields),
            rows=out[1],
            batches=out[0],
            overlaps=self.overlaps(site),
        )

    def overlaps(self, site: Site) -> Overlaps:
        """Of one image; nothing of several."""
        kernel = site.signature.inputs[1].shape[1:3]
        first = first_pixels(conv_2d(site), site.signature, kernel)
        blocks = pixel_blocks(len(first), _the_tile(site).pixels, _row(site))
        return block_overlaps(site.signature, first, blocks, reads_first=True)


def _shapes(site: Site) -> tuple[tuple[int, ...], tuple[int, ...]]:
    return site.signature.inputs[0].shape, site.signature.output.shape


def _row(site: Site) -> int:
    """Pixels in a row of tiles."""
    out = site.signature.output.shape
    return out[1] * out[2] if is_matrix(site) else out[2]


def _tile(site: Site) -> Tile | None:
    _, height, width, depth = site.signature.inputs[1].shape
    return best_tile(height, width, depth, conv_2d(site).strides[1], _row(site))


def _the_tile(site: Site) -> Tile:
    """What `accepts` has found to exist."""
    tile = _tile(site)
    assert tile is not None
    return tile


def _limit(site: Site) -> str:
    """How the loop limits results: as glowmcu_clamps_now says."""
    clamp = conv_2d(site).clamp
    word = output_word(clamp)
    if clamp is None or word != "output clamped":
        return {"output": "", "output relu": "relu"}[word]
    _, low, high = (field.value for field in clamping_fields(clamp))
    assert isinstance(low, float) and isinstance(high, float)
    from_zero = low == 0.0 and not np.signbit(low)
    return "most" if from_zero and 0.0 < high < np.inf else ""


def _tiles(site: Site) -> int:
    """Of an image."""
    rows = 1 if is_matrix(site) else site.signature.output.shape[1]
    return rows * -(-_row(site) // _the_tile(site).pixels)


def _copied(site: Site) -> int:
    """Tiles that lie partly outside the image."""
    op, tile, (x, out) = conv_2d(site), _the_tile(site), _shapes(site)
    if is_matrix(site):
        return int(_row(site) % tile.pixels > 0)
    tops = np.arange(out[1]) * op.strides[0] - op.padding[0]
    lefts = np.arange(0, out[2], tile.pixels) * op.strides[1] - op.padding[1]
    down = (tops >= 0) & (tops + tile.height <= x[1])
    along = (lefts >= 0) & (lefts + tile.columns <= x[2])
    return len(tops) * len(lefts) - int(down.sum() * along.sum())
