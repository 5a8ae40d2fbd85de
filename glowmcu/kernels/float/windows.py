"""Float products of windows with all channels' weights on cores with an FPU: packing and pricing.

Two pixels by eight channels at a time: sixteen sums, eight weights, four inputs and four products
are the 32 registers. See glowmcu_window_f32.h.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from glowmcu.ir.kernel_code import Overlap
from glowmcu.ir.operation import Array, Signature
from glowmcu.ir.value_range import Int64Array
from glowmcu.kernels.common.overlap import NOTHING, Overlaps, first_pixels, least_gap
from glowmcu.kernels.common.window_work import Window, taps_inside
from glowmcu.kernels.kernel import ConstantArray, Field
from glowmcu.lazy_dataclass import dataclass
from glowmcu.ops.real import FLOAT_MAX, Clamp

#: How many pixels are computed together.
PAIRS = (2,)


def channel_blocks(channels: int) -> list[tuple[int, int]]:
    """`(first channel, width)` of each block: eights, then one of eight or four for the rest."""
    eights, left = divmod(channels, 8)
    blocks = [(8 * block, 8) for block in range(eights)]
    return [*blocks, (8 * eights, 8 if left > 4 else 4)] if left else blocks


def packed_blocks(weights: Array, bias: Array) -> ConstantArray:
    """`weights` is (channels, products): each block its products, then its biases.

    A bias of -0 is stored as 0: no sum is -0, so that results are the same.
    """
    parts = []
    for first, width in channel_blocks(len(weights)):
        block = np.zeros((weights.shape[1] + 1, width), np.float32)
        count = min(width, len(weights) - first)
        block[:-1, :count] = weights[first : first + count].T
        block[-1, :count] = bias[first : first + count] + np.float32(0.0)
        parts.append(block.reshape(-1))
    return ConstantArray("weights", np.concatenate(parts), "blocks of channels, then biases")


def packed_gates(weights: Array, bias: Array, gates: int) -> ConstantArray:
    """Each gate's `packed_blocks`, one behind the other."""
    pairs = zip(np.split(weights, gates), np.split(bias, gates), strict=True)
    data = np.concatenate([packed_blocks(*pair).data for pair in pairs])
    return ConstantArray("recurrent", data, "gates: blocks of channels, then biases")


def packed_bytes(channels: int, products: int) -> int:
    """What that takes."""
    return 4 * (products + 1) * sum(width for _, width in channel_blocks(channels))


def block_work(matrices: Sequence[tuple[int, int]], times: float) -> dict[str, float]:
    """The work of `times` vectors, one by one, times each of these matrices: inputs, outputs."""
    work = dict.fromkeys(
        ("block of eight", "block of four", "product for eight", "product for four"), 0.0
    )
    for depth, channels in matrices:
        for _, width in channel_blocks(channels):
            word = "eight" if width == 8 else "four"
            work[f"block of {word}"] += times
            work[f"product for {word}"] += times * depth
    return work


def output_word(clamp: Clamp) -> str:
    """What becomes of an output decides what it costs."""
    if clamp is None:
        return "output"
    return "output relu" if (clamp[0], clamp[1]) == (0.0, FLOAT_MAX) else "output clamped"


@dataclass(frozen=True)
class Windows:
    """Windows that are computed in pairs or alone: how many, their rows, and their products."""

    count: int
    rows: int
    products: int
    #: Of the products those that are the rest of a row's fours.
    ones: int


def window_products(
    channels: int, clamp: Clamp, pairs: Windows, singles: Windows
) -> dict[str, float]:
    """The work of computing all channels over these windows; a pair counts once."""
    blocks = channel_blocks(channels)
    eights = sum(width == 8 for _, width in blocks)
    four = len(blocks) - eights
    together = pairs.count + singles.count
    return {
        "call": 1.0,
        "pixels": together,
        "tail": together if channels % 8 else 0,
        "block": together * len(blocks),
        output_word(clamp): (2 * pairs.count + singles.count) * (8 * eights + 4 * four),
        "row": (pairs.rows + singles.rows) * len(blocks),
        "one": (pairs.ones + singles.ones) * len(blocks),
        "product for sixteen": pairs.products * eights,
        "product for eight": singles.products * eights + pairs.products * four,
        "product for four": singles.products * four,
    }


def inside_columns(op: Window, signature: Signature, kernel: Sequence[int]) -> tuple[int, int]:
    """The columns of results whose windows lie inside the image, from first to end."""
    width = signature.output.shape[2]
    starts = np.arange(width) * op.strides[1] - op.padding[1]
    ends = starts + (kernel[1] - 1) * op.dilations[1] + 1
    inside = np.flatnonzero((starts >= 0) & (ends <= signature.inputs[0].shape[2]))
    return (int(inside[0]), int(inside[-1]) + 1) if inside.size else (width, width)


def inside_fields(op: Window, signature: Signature, kernel: Sequence[int]) -> tuple[Field, Field]:
    """These columns as members of the structs."""
    first, end = inside_columns(op, signature, kernel)
    return Field("inside_first", first), Field("inside_end", end)


def groups(count: int, sizes: Sequence[int]) -> list[int]:
    """How many of each size `count` pixels are, the first of the sizes as often as it fits, …"""
    found = []
    for size in sizes:
        number, count = divmod(count, size)
        found.append(number)
    return found


def group_blocks(first: int, end: int, sizes: Sequence[int]) -> list[tuple[int, int]]:
    """From where to where these groups go, and single pixels behind them, in order."""
    found = []
    for size, number in zip((*sizes, 1), groups(end - first, (*sizes, 1)), strict=True):
        found += [(first + size * i, first + size * (i + 1)) for i in range(number)]
        first += size * number
    return found


def image_windows(
    op: Window,
    signature: Signature,
    kernel: Sequence[int],
    tap_products: int,
    sizes: Sequence[int] = PAIRS,
) -> list[Windows]:
    """Groups of so many columns inside the image, and windows that are alone."""
    x, out = signature.inputs[0].shape, signature.output.shape
    down, along = (
        taps_inside(x[1 + axis], out[1 + axis], kernel[axis], op.strides[axis],
                    op.dilations[axis], (op.padding[0], op.padding[1])[axis])
        for axis in (0, 1)
    )  # fmt: skip
    first, end = inside_columns(op, signature, kernel)
    *together, odd = groups(end - first, (*sizes, 1))
    alone = np.concatenate([along[:first], along[end:], along[first:][:odd]])
    height, taps = out[0] * out[1], out[0] * int(down.sum())
    rows = out[0] * int(np.maximum(down, 1).sum())
    full = kernel[1] * tap_products
    return [
        *(Windows(n * height, n * rows, n * taps * full, n * taps * (full % 4)) for n in together),
        Windows(
            len(alone) * height,
            len(alone) * rows,
            int(alone.sum()) * taps * tap_products,
            int((alone * tap_products % 4).sum()) * taps,
        ),
    ]


def image_overlaps(
    op: Window,
    signature: Signature,
    kernel: Sequence[int],
    own: int | None,
    sizes: Sequence[int] = PAIRS,
) -> Overlaps:
    """Of columns inside the image in groups, counted in each row, the others alone; see
    `group_overlaps`.
    """
    out, inside = signature.output.shape, inside_columns(op, signature, kernel)
    row = np.array(
        [
            *((ox, ox + 1) for ox in range(inside[0])),
            *group_blocks(*inside, sizes),
            *((ox, ox + 1) for ox in range(inside[1], out[2])),
        ],
        np.int64,
    )
    rows = np.arange(0, out[1] * out[2], out[2], dtype=np.int64)
    blocks: Int64Array = (rows[:, np.newaxis, np.newaxis] + row).reshape(-1, 2)
    first = first_pixels(op, signature, kernel)
    return group_overlaps(signature, first, blocks, own) if out[0] == 1 else {}


def group_overlaps(
    signature: Signature, first: Int64Array, blocks: Int64Array, own: int | None
) -> Overlaps:
    """Blocks `(start, end)` of some pixels, of which pixel i reads from `first[i]` on.

    `own` floats of a block's last pixel are written when its last channels are still to be read
    for; None if all channels are read for before any is written.
    """
    x, out = signature.inputs[0], signature.output
    pixel, out_pixel = 4 * x.shape[-1], 4 * out.shape[-1]
    of_blocks = np.array([first[start:end].min() for start, end in blocks], np.int64)
    needed = np.where(of_blocks < NOTHING, of_blocks * pixel, NOTHING)
    gap = least_gap(blocks[:, 1] * out_pixel, needed, x.size_bytes, reads_first=True)
    if own is not None:
        written = (blocks[:, 1] - 1) * out_pixel + 4 * own
        gap = max(gap, least_gap(written, needed, x.size_bytes, reads_first=False))
    return {0: Overlap(gap)}


def vector_overlaps(
    signature: Signature, vectors: int, own: int | None, sizes: Sequence[int] = PAIRS
) -> Overlaps:
    """Of vectors times a matrix, so many at a time; see `group_overlaps`."""
    blocks = np.array(group_blocks(0, vectors, sizes), np.int64).reshape(-1, 2)
    return group_overlaps(signature, np.arange(vectors, dtype=np.int64), blocks, own)


def last_channels(channels: int) -> int | None:
    """Where the last block begins; None if it is the only one."""
    return channel_blocks(channels)[-1][0] or None


def vector_work(vectors: int, depth: int, channels: int, clamp: Clamp) -> dict[str, float]:
    """Of vectors times a matrix, two at a time."""
    return window_products(channels, clamp, *vector_windows(vectors, depth))


def vector_windows(vectors: int, depth: int, sizes: Sequence[int] = PAIRS) -> list[Windows]:
    """Groups of so many vectors, and one that is alone."""
    return [
        Windows(number, number, number * depth, number * (depth % 4))
        for number in groups(vectors, (*sizes, 1))
    ]
