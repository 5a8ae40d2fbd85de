"""How near a result may begin to its operand: small cases that can be counted on one's fingers."""

from __future__ import annotations

import numpy as np
import pytest

from glowmcu.ir.kernel_code import Overlap
from glowmcu.ir.operation import Signature
from glowmcu.ir.types import ElementType, TensorType
from glowmcu.kernels.common.overlap import (
    NOTHING,
    ahead_overlaps,
    channel_overlaps,
    element_overlaps,
    least_gap,
    lines_of_pixels,
    matrix_overlaps,
    pixel_blocks,
    plane_overlaps,
    row_overlaps,
)
from glowmcu.ops.convolution import Conv2D
from glowmcu.ops.pooling import MaxPool2D

I8, I32, F32 = ElementType.I8, ElementType.I32, ElementType.F32

#: Bytes written after each of two blocks, first bytes they need, the gap when blocks write at once
#: and when they read first; the operand has 16 bytes.
GAPS = {
    "each block what it writes": ((4, 8), (0, 4), 4, 0),
    "the second block looks back": ((4, 8), (8, 0), 8, 4),
    "the second block looks ahead": ((4, 8), (0, 12), 4, -8),
    "the second block reads nothing": ((4, 8), (0, NOTHING), 4, -16),
    "nothing is read": ((4, 8), (NOTHING, NOTHING), -16, -16),
}


@pytest.mark.parametrize(("written", "needed", "at_once", "reads_first"), GAPS.values(), ids=GAPS)
def test_what_is_written_stays_below_what_is_read_later(
    written: tuple[int, int], needed: tuple[int, int], at_once: int, reads_first: int
) -> None:
    blocks = np.array(written, np.int64), np.array(needed, np.int64)
    assert least_gap(*blocks, 16, reads_first=False) == at_once
    assert least_gap(*blocks, 16, reads_first=True) == reads_first


BLOCKS = {
    "one by one": ({"count": 2}, [(0, 1), (1, 2)]),
    "a rest": ({"count": 5, "size": 2}, [(0, 2), (2, 4), (4, 5)]),
    "a rest, shifted": ({"count": 5, "size": 2, "shifted": True}, [(0, 2), (2, 4), (3, 5)]),
    "rows": ({"count": 6, "size": 2, "row": 3}, [(0, 2), (2, 3), (3, 5), (5, 6)]),
    "rows, shifted": (
        {"count": 6, "size": 2, "row": 3, "shifted": True},
        [(0, 2), (1, 3), (3, 5), (4, 6)],
    ),
}


@pytest.mark.parametrize(("arguments", "blocks"), BLOCKS.values(), ids=BLOCKS)
def test_blocks_of_pixels_end_with_the_row(
    arguments: dict[str, int], blocks: list[tuple[int, int]]
) -> None:
    assert [tuple(block) for block in pixel_blocks(**arguments).tolist()] == blocks


PLANES = {
    "read before written": ((0, 1, 2, 3), (0, 1, 2, 3), 4, 0),
    "a pixel later": ((1, 2, 3, 3), (0, 1, 2, 3), 4, 4),
    "a pixel later, no word": ((1, 2, 3, 3), (0, 1, 2, 3), 2, None),
    "half of the pixels later": ((2, 3, 3, 3), (0, 1, 2, 3), 4, None),
    "a longer operand": ((0, 1, 9, 9), (0, 1), 4, 0),
}


@pytest.mark.parametrize(("read", "written", "pixel", "gap"), PLANES.values(), ids=PLANES)
def test_planes_may_lie_so_many_whole_pixels_apart(
    read: tuple[int, ...], written: tuple[int, ...], pixel: int, gap: int | None
) -> None:
    found = plane_overlaps(np.array(read, np.int64), np.array(written, np.int64), pixel)
    assert found == ({} if gap is None else {0: Overlap(None, only_gap_bytes=gap)})


ELEMENTS = {
    "as wide": ((6,), I8, (6,), I8, 0),
    "of another shape": ((2, 3), I8, (6,), I8, 0),
    "wider": ((6,), I8, (6,), I32, 15),
    "narrower": ((6,), I32, (6,), I8, -3),
    "fewer": ((1,), I8, (6,), I8, None),
    "which C keeps apart": ((6,), I32, (6,), F32, None),
}


@pytest.mark.parametrize(
    ("shape", "element", "to", "becomes", "gap"), ELEMENTS.values(), ids=ELEMENTS
)
def test_a_loop_over_elements_writes_what_it_has_read(
    shape: tuple[int, ...], element: ElementType, to: tuple[int, ...], becomes: ElementType,
    gap: int | None,
) -> None:  # fmt: skip
    signature = Signature((TensorType(shape, element),), (TensorType(to, becomes),))
    assert element_overlaps(signature) == ({} if gap is None else {0: Overlap(gap)})


@pytest.mark.parametrize(("at_once", "reads_first", "gap"), [
    (1, True, 9), (1, False, 15), (2, True, 6), (2, False, 18), (3, True, 9), (3, False, 18),
    (4, True, -12), (4, False, 24),
])  # fmt: skip
def test_rows_of_a_matrix_that_grow_get_ahead_of_what_is_read(
    at_once: int, reads_first: bool, gap: int
) -> None:
    signature = Signature((TensorType((4, 3), I8),), (TensorType((4, 6), I8),))
    found = matrix_overlaps(signature, 4, at_once, reads_first)
    assert found == {0: Overlap(gap)}


def test_a_line_is_a_row_or_a_column() -> None:
    turns = np.arange(3)
    assert lines_of_pixels(turns, (3, 2), columns=False).tolist() == [0, 0, 1, 1, 2, 2]
    assert lines_of_pixels(turns, (2, 3), columns=True).tolist() == [0, 1, 2, 0, 1, 2]


#: Height of the kernel, its stride, rows of padding above and below, and the gap between an image
#: of 6 rows of 2 bytes and its result, row by row and with two rows of the result at a time, of
#: which the second takes in what the first did not.
WINDOWS = {
    "as it is": (1, 1, (0, 0), 2, 0),
    "a row above": (3, 1, (1, 1), 4, -2),
    "every other row": (2, 2, (0, 0), 2, -4),
    "a first row of padding alone": (1, 1, (1, 0), 4, 2),
    "a first turn of padding alone": (1, 2, (4, 0), 6, 4),
}


@pytest.mark.parametrize(
    ("height", "stride", "padding", "one_by_one", "ahead"), WINDOWS.values(), ids=WINDOWS
)
def test_rows_may_take_the_place_of_rows_that_were_read(
    height: int, stride: int, padding: tuple[int, int], one_by_one: int, ahead: int
) -> None:
    op = Conv2D((stride, 1), padding=(padding[0], 0, padding[1], 0))
    image, weights = TensorType((1, 6, 1, 2), I8), TensorType((2, height, 1, 2), I8)
    operands = image, weights, TensorType((2,), I32)
    signature = Signature(operands, (TensorType(op.infer(operands)[0], I8),))
    assert row_overlaps(op, signature) == {0: Overlap(one_by_one)}
    assert ahead_overlaps(op, signature, 2) == {0: Overlap(ahead)}


@pytest.mark.parametrize(
    ("width", "channels", "gap"), [(3, 1, 0), (1, 2, 2), (3, 4, 0), (3, 5, 3)],
    ids=["one channel", "two of one pixel", "as many as at once", "some again"],
)  # fmt: skip
def test_channels_that_are_computed_again_are_still_to_be_read(
    width: int, channels: int, gap: int
) -> None:
    type_ = TensorType((1, 1, width, channels), I8)
    op, signature = MaxPool2D((1, 1)), Signature((type_,), (type_,))
    assert channel_overlaps(op, signature, (1, 1), 4) == {0: Overlap(gap)}
