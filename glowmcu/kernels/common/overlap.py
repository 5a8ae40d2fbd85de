"""How far a result may reach into the operand that it is made of: distances for memory planning.

A kernel works in blocks of pixels or rows, in raster order. `written` are the bytes of the result
that exist after a block, `needed` is the first byte of the operand that a block reads. Whatever is
written must stay below all that is read later:

    operand start - result start >= max over blocks k of (written[k] - least needed of later blocks)

Block k itself is later too where it still reads after it has begun to write. Blocks that read ahead
are safe all the more. Images of more than one batch item share nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from glowmcu.ir.instructions import BUFFER_ALIGN
from glowmcu.ir.kernel_code import Overlap
from glowmcu.ir.operation import Operation, RowWindow, Signature
from glowmcu.ir.types import ElementType, TensorType
from glowmcu.ir.value_range import Int64Array
from glowmcu.kernels.common.window_work import Window

Overlaps = Mapping[int, Overlap]
#: Needed by what reads nothing.
NOTHING = 2**62


def least_gap(
    written: Int64Array, needed: Int64Array, operand_bytes: int, reads_first: bool
) -> int:
    """The distance above; `reads_first`: blocks read all that they need before they write."""
    left = np.minimum.accumulate(needed[::-1])[::-1]
    if reads_first:
        written, left = written[:-1], left[1:]
    distances = (written - left)[left < NOTHING]
    return int(distances.max()) if distances.size else -operand_bytes


def element_overlaps(signature: Signature) -> Overlaps:
    """Of a loop over elements in order: each operand that has as many as the result."""
    out = signature.output
    return {
        position: Overlap(_element_gap(type_, out))
        for position, type_ in enumerate(signature.inputs)
        if type_.element_count == out.element_count and _may_alias(type_, out)
    }


def _element_gap(x: TensorType, out: TensorType) -> int:
    """`least_gap` in closed form: after each of the first n elements, n more bytes are written than
    read for each byte that a result's element is larger.
    """
    most = x.element_count - 1
    growth = out.element.size_bytes - x.element.size_bytes
    return max(growth, growth * most) if most > 0 else -x.size_bytes


def _may_alias(x: TensorType, out: TensorType) -> bool:
    """Whether C lets a pointer to one element type see the other: the same, or one of bytes."""
    bytes_ = (ElementType.I8, ElementType.UI8)
    return x.element is out.element or x.element in bytes_ or out.element in bytes_


def first_pixels(op: Window, signature: Signature, kernel: Sequence[int]) -> Int64Array:
    """The first pixel of the image under each result pixel, `kernel` is height and width."""
    x, out = signature.inputs[0].shape, signature.output.shape
    rows, columns = (
        _first_places(np.arange(out[1 + axis]) * op.strides[axis] - op.padding[axis],
                      kernel[axis], op.dilations[axis], x[1 + axis])
        for axis in (0, 1)
    )  # fmt: skip
    pixels = rows[:, np.newaxis] * x[2] + columns
    outside = (rows[:, np.newaxis] == NOTHING) | (columns == NOTHING)
    return np.where(outside, NOTHING, pixels).reshape(-1)


def _first_places(origins: Int64Array, taps: int, dilation: int, size: int) -> Int64Array:
    """The first place inside [0, size) that each window along an axis looks at."""
    before = np.maximum(-(origins // dilation), 0)
    places = origins + before * dilation
    found: Int64Array = np.where((before < taps) & (places < size), places, NOTHING)
    return found


def pixel_blocks(count: int, size: int = 1, row: int = 0, shifted: bool = False) -> Int64Array:
    """`(start, end)` of each `size` pixels, counted anew in each row of `row` pixels, if any.

    A row's last block has what is left or, `shifted`, begins earlier.
    """
    row = row or count
    starts = np.arange(0, row, size, dtype=np.int64)
    ends = np.minimum(starts + size, row)
    starts = ends - size if shifted else starts
    one = np.stack([starts, ends], axis=1)
    rows = np.arange(0, count, row, dtype=np.int64)
    blocks: Int64Array = (rows[:, np.newaxis, np.newaxis] + one).reshape(-1, 2)
    return blocks


def block_overlaps(
    signature: Signature, first: Int64Array, blocks: Int64Array, reads_first: bool
) -> Overlaps:
    """Blocks of result pixels of which pixel i reads from pixel `first[i]` on."""
    x, out = signature.inputs[0], signature.output
    if x.shape[0] != 1:
        return {}
    of_blocks = np.array([first[start:end].min() for start, end in blocks], np.int64)
    needed = np.where(of_blocks < NOTHING, of_blocks * _pixel_bytes(x), NOTHING)
    written = blocks[:, 1] * _pixel_bytes(out)
    return {0: Overlap(least_gap(written, needed, x.size_bytes, reads_first))}


def window_overlaps(
    op: Window,
    signature: Signature,
    kernel: Sequence[int],
    size: int = 1,
    reads_first: bool = False,
) -> Overlaps:
    """Blocks of `size` windows on all rows together."""
    first = first_pixels(op, signature, kernel)
    return block_overlaps(signature, first, pixel_blocks(len(first), size), reads_first)


def channel_overlaps(
    op: Window, signature: Signature, kernel: Sequence[int], at_once: int
) -> Overlaps:
    """Pixel by pixel `at_once` channels after another, each read only for itself.

    The last ones are computed again where channels are no multiple. Within a pixel p, channel c is
    written when channels from c on are left to be read from its first pixel on; portable branches
    of vectors write each channel before they read the next.
    """
    x = signature.inputs[0]
    if x.shape[0] != 1:
        return {}
    first, pixel = first_pixels(op, signature, kernel), _pixel_bytes(x)
    count, groups = len(first), -(-x.shape[3] // at_once)
    again = (groups * at_once - x.shape[3]) * x.element.size_bytes
    places = np.arange(count, dtype=np.int64)
    inside = (places - first)[first < NOTHING] * pixel + again
    between = least_gap(
        (places + 1) * pixel,
        np.where(first < NOTHING, first * pixel, NOTHING),
        x.size_bytes,
        reads_first=True,
    )
    within = [int(gap) for gap in inside] if x.shape[3] > 1 else []
    return {0: Overlap(max([between, *within]))}


def matrix_overlaps(signature: Signature, rows: int, at_once: int, reads_first: bool) -> Overlaps:
    """Rows of a matrix to rows of a matrix, `at_once` at a time."""
    x, out = signature.inputs[0], signature.output
    starts = np.arange(0, rows, at_once, dtype=np.int64)
    written = np.minimum(starts + at_once, rows) * (out.size_bytes // rows)
    needed = starts * (x.size_bytes // rows)
    return {0: Overlap(least_gap(written, needed, x.size_bytes, reads_first))}


def row_overlaps(op: Operation, signature: Signature) -> Overlaps:
    """Rows of results that read rows of the image while they are written."""
    x, out = signature.inputs[0], signature.output
    if x.shape[0] != 1:
        return {}
    windows = [op.input_rows(signature, row, row + 1)[0] for row in range(out.shape[1])]
    assert all(isinstance(window, RowWindow) for window in windows)
    needed = np.array([window.first for window in windows if window], np.int64)
    needed *= x.size_bytes // x.shape[1]
    written = np.arange(1, out.shape[1] + 1, dtype=np.int64) * (out.size_bytes // out.shape[1])
    return {0: Overlap(least_gap(written, needed, x.size_bytes, reads_first=False))}


def ahead_overlaps(op: Operation, signature: Signature, rows_at_once: int) -> Overlaps:
    """Turns of rows of results; each first takes in the image's rows that no turn had before."""
    x, out = signature.inputs[0], signature.output
    if x.shape[0] != 1:
        return {}
    ends = np.minimum(np.arange(0, out.shape[1], rows_at_once) + rows_at_once, out.shape[1])
    written, needed, had = [], [], 0
    for start, end in zip([0, *ends[:-1]], ends, strict=True):
        window = op.input_rows(signature, int(start), int(end))[0]
        assert isinstance(window, RowWindow)
        new = max(had, window.first)
        needed.append(new * (x.size_bytes // x.shape[1]) if new < window.end else NOTHING)
        written.append(int(end) * (out.size_bytes // out.shape[1]))
        had = max(had, window.end)
    gap = least_gap(
        np.array(written, np.int64), np.array(needed, np.int64), x.size_bytes, reads_first=True
    )
    return {0: Overlap(gap)}


def lines_of_pixels(turns: Int64Array, size: Sequence[int], columns: bool) -> Int64Array:
    """The turn of each line, a row or a column, for all of its pixels in raster order."""
    spread = turns[np.newaxis, :] if columns else turns[:, np.newaxis]
    pixels: Int64Array = np.broadcast_to(spread, tuple(size)).reshape(-1)
    return pixels


def plane_overlaps(last_read: Int64Array, written: Int64Array, pixel_bytes: int) -> Overlaps:
    """Of a kernel that does all of a channel before the next: what happens to each pixel, when.

    `last_read` and `written` are turns, of the operand's and the result's pixels in raster order;
    pixels have the same bytes, so that no channel meets another whole pixels apart. A turn reads
    before it writes. The result may begin exactly as many pixels below the operand as is found.
    """
    for pixels in range(written.size // 2):
        common = min(last_read.size, written.size - pixels)
        is_safe = bool((written[pixels : pixels + common] >= last_read[:common]).all())
        if is_safe and pixels * pixel_bytes % BUFFER_ALIGN == 0:
            return {0: Overlap(None, only_gap_bytes=pixels * pixel_bytes)}
    return {}


def _pixel_bytes(type_: TensorType) -> int:
    return type_.shape[-1] * type_.element.size_bytes
