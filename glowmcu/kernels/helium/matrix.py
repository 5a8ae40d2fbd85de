"""Matrices of int8 weights packed for libjit's glowmcu_matrix_mve.h: four channels by 16 bytes.

Weights of four bits are two to a byte, those of two channels for one input.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from glowmcu.kernels.helium.scale import scale_mve
from glowmcu.kernels.kernel import ConstantArray, Field, Parameters
from glowmcu.kernels.requantization.forms import Form

Weights = npt.NDArray[np.int8]
#: What makes bytes (..., channels / 2, BLOCK) of weights of four bits (..., channels, BLOCK).
Packing = Callable[[Weights], Weights]

TILE = 4
BLOCK = 16
#: What stands beside a stream of weights of eight bits, and of four.
_STREAM_COMMENTS = (
    "weights and scales, 4 channels a group",
    "4 channels a group, see glowmcu_matrix_nibbles_mve.h",
)


def padded_depth(depth: int) -> int:
    """Bytes of a row: whole blocks."""
    return -(-depth // BLOCK) * BLOCK


def stream_bytes(channels: int, depth: int, form: Form, nibbles: bool = False) -> int:
    """Size of a layer's constants."""
    tiles, weights = -(-channels // TILE), padded_depth(depth) // (1 + nibbles)
    return tiles * TILE * (weights + 4 * len(scale_mve(form).constants))


def matrix_stream(
    weights: Weights,
    form: Form,
    packing: Packing | None = None,
    ahead: int = 0,
) -> npt.NDArray[np.int32]:
    """Weights (channels, depth) and constants in the order of the loops. `ahead`, if not 0:
    constants of four channels are in front of the next ones' weights, the last ones' in front of
    the first, and channels of so many fours alternate.
    """
    channels, depth = weights.shape
    scale = scale_mve(form)
    fours = max(ahead, 1)
    tiles = -(-channels // (TILE * fours)) * fours
    room = tiles * TILE - channels
    order = np.arange(tiles * TILE).reshape(-1, TILE, fours).swapaxes(1, 2).reshape(-1)
    rows = np.pad(weights, ((0, room), (0, padded_depth(depth) - depth)))[order]
    blocks = rows.reshape(tiles, TILE, -1, BLOCK).transpose(0, 2, 1, 3)
    packed = blocks if packing is None else packing(blocks)
    words = np.ascontiguousarray(packed).reshape(tiles, -1).view("<i4")
    constants = np.pad(scale.constants, ((0, 0), (0, room))).astype(np.int32)[:, order]
    vectors = constants.reshape(-1, tiles, TILE).transpose(1, 0, 2).reshape(tiles, -1)
    parts = [np.roll(vectors, 1, axis=0), words] if ahead else [words, vectors]
    return np.concatenate(parts, axis=1).astype(np.int32).reshape(-1)


def nibble_halves(blocks: Weights) -> Weights:
    """The even channel's weight in the low half of a byte, the odd one's in the high half."""
    return blocks[..., 1::2, :] << 4 | blocks[..., 0::2, :] & 15


def nibble_sums(blocks: Weights) -> Weights:
    """16 times the odd channel's weight, the even one's and 8, all of which a byte holds."""
    return 16 * blocks[..., 1::2, :] + (blocks[..., 0::2, :] + 8)


def matrix_parameters(weights: Weights, form: Form, packing: Packing | None = None) -> Parameters:
    """The `glowmcu_matrix_mve` of weights (channels, depth)."""
    channels, depth = weights.shape
    stream = matrix_stream(weights, form, packing)
    comment = _STREAM_COMMENTS[packing is not None]
    fields = (
        Field("depth", padded_depth(depth)),
        Field("channels", channels),
        Field("scale", scale_mve(form).parameters),
        Field("stream", ConstantArray("stream", stream, comment)),
    )
    return Parameters("glowmcu_matrix_mve", fields)


def matrix_work(rows: int, weights: Weights, form: Form) -> dict[str, float]:
    """Amounts of `glowmcu_matrix_mve_rows` for `rows` rows, of which one alone takes two tiles."""
    tiles = -(-weights.shape[0] // TILE)
    couples = -(-tiles // 2)
    blocks = padded_depth(weights.shape[1]) // BLOCK
    kind = form.kind.value
    return {
        "pair_block": rows // 2 * tiles * blocks,
        f"pair_tile_{kind}": rows // 2 * tiles,
        "single_block": rows % 2 * couples * blocks,
        f"single_tile_{kind}": rows % 2 * couples,
        "pair": rows // 2,
        "call": 1,
    }


def rows_work(rows: int, weights: Weights, form: Form) -> dict[str, float]:
    """Amounts of `glowmcu_matrix_nibbles_mve_row` for `rows` rows, eight channels at a time."""
    couples = -(-len(weights) // (2 * TILE))
    blocks = padded_depth(weights.shape[1]) // BLOCK
    return {
        "single_block": rows * couples * blocks,
        f"single_tile_{form.kind.value}": rows * couples,
        "row_block": rows * blocks,
        "row": rows,
        "call": 1,
    }


#: Instructions an amount, as counted on QEMU's Cortex-M55.
MATRIX_CYCLES = {
    "pair_block": 15.0,
    "pair_tile_floor": 31.0,
    "pair_tile_literal": 45.0,
    "single_block": 19.0,
    "single_tile_floor": 36.0,
    "single_tile_literal": 48.0,
    "pair": 25.0,
    "row_block": 3.0,
    "row": 60.0,
    "call": 40.0,
}
