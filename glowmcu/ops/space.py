"""Operators that trade space for depth or batch: `space_to_depth`, `depth_to_space`,
`space_to_batch` and `batch_to_space`, all NHWC.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from glowmcu.ir.operation import Array, OperationError, Rounding, Signature
from glowmcu.ir.types import Shape, TensorType
from glowmcu.lazy_dataclass import dataclass
from glowmcu.ops.movement import Copy, Movement, Region, whole
from glowmcu.ops.registry import operation

Pair = tuple[int, int]


def _nhwc(x: TensorType) -> tuple[int, int, int, int]:
    if x.rank != 4:
        raise OperationError(f"expected rank 4 (NHWC), got {x}")
    n, height, width, channels = x.shape
    return n, height, width, channels


def _blocks_to_depth(shape: Shape, block: int) -> Region:
    """The elements of NHWC `shape` in the order (n, y, x, by, bx, c)."""
    region = whole(shape).split(2, block).split(1, block)
    return region.permuted((0, 1, 3, 2, 4, 5))


@operation("space_to_depth")
@dataclass(frozen=True)
class SpaceToDepth(Movement):
    """Blocks of `block` x `block` pixels become one pixel, their channels one behind the other."""

    block: int = 1

    def infer(self, inputs: Sequence[TensorType]) -> tuple[Shape, ...]:
        n, height, width, channels = _nhwc(inputs[0])
        if self.block < 1 or height % self.block or width % self.block:
            raise OperationError(f"{inputs[0].shape} does not split into blocks of {self.block}")
        return ((n, height // self.block, width // self.block, channels * self.block**2),)

    def evaluate(
        self, inputs: Sequence[Array], signature: Signature, rounding: Rounding
    ) -> tuple[Array, ...]:
        n, height, width, depth = signature.output.shape
        tiles = inputs[0].reshape(n, height, self.block, width, self.block, -1)
        return (tiles.transpose(0, 1, 3, 2, 4, 5).reshape(n, height, width, depth),)

    def copies(self, signature: Signature) -> tuple[Copy, ...]:
        source = _blocks_to_depth(signature.inputs[0].shape, self.block)
        return (Copy(source, whole(source.shape)),)


@operation("depth_to_space")
@dataclass(frozen=True)
class DepthToSpace(Movement):
    """Each pixel becomes `block` x `block` pixels: the inverse of `space_to_depth`."""

    block: int = 1

    def infer(self, inputs: Sequence[TensorType]) -> tuple[Shape, ...]:
        n, height, width, channels = _nhwc(inputs[0])
        if self.block < 1 or channels % self.block**2:
            raise OperationError(f"{channels} channels do not make blocks of {self.block}")
        return ((n, height * self.block, width * self.block, channels // self.block**2),)

    def evaluate(
        self, inputs: Sequence[Array], signature: Signature, rounding: Rounding
    ) -> tuple[Array, ...]:
        n, height, width, _ = signature.inputs[0].shape
        tiles = inputs[0].reshape(n, height, width, self.block, self.block, -1)
        return (tiles.transpose(0, 1, 3, 2, 4, 5).reshape(signature.output.shape),)

    def copies(self, signature: Signature) -> tuple[Copy, ...]:
        target = _blocks_to_depth(signature.output.shape, self.block)
        return (Copy(whole(target.shape), target),)


@dataclass(frozen=True)
class _Group:
    """Offsets `[offset, offset + count)` within a block along one axis that share a range.

    Of those, positions `[first, first + length)` of the batch image lie inside the space image, the
    first of them at `position` for the group's first offset.
    """

    offset: int
    count: int
    first: int
    length: int
    position: int


def _groups(size: int, out: int, block: int, before: int) -> list[_Group]:
    """Position `p` of batch image `offset` is position `p * block + offset - before` in space."""
    groups: list[_Group] = []
    for offset in range(block):
        first = max(-((offset - before) // block), 0)
        end = min(-((offset - before - size) // block), out)
        if end <= first:
            continue
        position = first * block + offset - before
        last = groups[-1] if groups else None
        if last and (last.offset + last.count, last.first, last.length) == (
            offset, first, end - first,
        ):  # fmt: skip
            groups[-1] = _Group(last.offset, last.count + 1, last.first, last.length, last.position)
        else:
            groups.append(_Group(offset, 1, first, end - first, position))
    return groups


def _space_and_batch(
    space: Shape, batch: Shape, block: Pair, before: Pair
) -> list[tuple[Region, Region]]:
    """Pairs of regions of both images that hold the same pixels, axes (by, bx, n, y, x, c)."""
    images, height, width, depth = space
    _, out_height, out_width, _ = batch
    batch_shape = (*block, images, out_height, out_width, depth)
    pairs = []
    for row in _groups(height, out_height, block[0], before[0]):
        for column in _groups(width, out_width, block[1], before[1]):
            part = whole(batch_shape).along(0, row.offset, row.count)
            part = part.along(1, column.offset, column.count)
            part = part.along(3, row.first, row.length).along(4, column.first, column.length)
            stride_y, stride_x = width * depth, depth
            first = row.position * stride_y + column.position * stride_x
            loops = (
                (row.count, stride_y),
                (column.count, stride_x),
                (images, height * stride_y),
                (row.length, block[0] * stride_y),
                (column.length, block[1] * stride_x),
                (depth, 1),
            )
            pairs.append((Region(first, loops), part))
    return pairs


@operation("space_to_batch")
@dataclass(frozen=True)
class SpaceToBatch(Movement):
    """Every `block`-th pixel of the padded image becomes an image of the batch.

    Image `(by * block_w + bx) * n + i` holds the pixels at offset `(by, bx)` of image `i`.
    """

    block: Pair = (1, 1)
    padding: tuple[int, int, int, int] = (0, 0, 0, 0)
    value: int | float = 0

    def infer(self, inputs: Sequence[TensorType]) -> tuple[Shape, ...]:
        n, height, width, channels = _nhwc(inputs[0])
        top, left, bottom, right = self.padding
        height, width = top + height + bottom, left + width + right
        if min(self.block) < 1 or min(self.padding) < 0:
            raise OperationError(f"a block of {self.block} padded by {self.padding} is no block")
        if height % self.block[0] or width % self.block[1]:
            raise OperationError(f"({height}, {width}) does not split into blocks of {self.block}")
        return (
            (
                n * self.block[0] * self.block[1],
                height // self.block[0],
                width // self.block[1],
                channels,
            ),
        )

    def evaluate(
        self, inputs: Sequence[Array], signature: Signature, rounding: Rounding
    ) -> tuple[Array, ...]:
        top, left, bottom, right = self.padding
        padded = np.pad(
            inputs[0], ((0, 0), (top, bottom), (left, right), (0, 0)), constant_values=self.value
        )
        _, height, width, channels = signature.output.shape
        tiles = padded.reshape(-1, height, self.block[0], width, self.block[1], channels)
        return (tiles.transpose(2, 4, 0, 1, 3, 5).reshape(signature.output.shape),)

    def fill(self, signature: Signature) -> int | float | None:
        return self.value if any(self.padding) else None

    def copies(self, signature: Signature) -> tuple[Copy, ...]:
        before = self.padding[0], self.padding[1]
        pairs = _space_and_batch(
            signature.inputs[0].shape, signature.output.shape, self.block, before
        )
        return tuple(Copy(space, batch) for space, batch in pairs)


@operation("batch_to_space")
@dataclass(frozen=True)
class BatchToSpace(Movement):
    """The inverse of `space_to_batch`: images interleave to one, cropped by top, left, bottom,
    right.
    """

    block: Pair = (1, 1)
    crops: tuple[int, int, int, int] = (0, 0, 0, 0)

    def infer(self, inputs: Sequence[TensorType]) -> tuple[Shape, ...]:
        n, height, width, channels = _nhwc(inputs[0])
        top, left, bottom, right = self.crops
        if min(self.block) < 1 or n % (self.block[0] * self.block[1]):
            raise OperationError(f"a batch of {n} does not make blocks of {self.block}")
        height = height * self.block[0] - top - bottom
        width = width * self.block[1] - left - right
        if min(self.crops) < 0 or min(height, width) < 1:
            raise OperationError(f"crops {self.crops} leave nothing of {inputs[0].shape}")
        return ((n // (self.block[0] * self.block[1]), height, width, channels),)

    def evaluate(
        self, inputs: Sequence[Array], signature: Signature, rounding: Rounding
    ) -> tuple[Array, ...]:
        n, height, width, channels = signature.output.shape
        _, in_height, in_width, _ = signature.inputs[0].shape
        tiles = inputs[0].reshape(*self.block, n, in_height, in_width, channels)
        full = tiles.transpose(2, 3, 0, 4, 1, 5).reshape(
            n, in_height * self.block[0], in_width * self.block[1], channels
        )
        top, left, _, _ = self.crops
        return (full[:, top : top + height, left : left + width],)

    def copies(self, signature: Signature) -> tuple[Copy, ...]:
        before = self.crops[0], self.crops[1]
        pairs = _space_and_batch(
            signature.output.shape, signature.inputs[0].shape, self.block, before
        )
        return tuple(Copy(batch, space) for space, batch in pairs)
