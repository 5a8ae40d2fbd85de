"""A convolution on three spatial axes as one on two: planes laid side by side as channels.

The planes of the first axis that one plane of the result reads become channels of one image, in
each group of channels for itself; each plane of the result is an image of the batch then.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from glowmcu.ir.graph import Value
from glowmcu.ir.operation import Operation, OperationError
from glowmcu.lazy_dataclass import dataclass
from glowmcu.ops.joining import Concatenation
from glowmcu.ops.padding import Pad
from glowmcu.ops.shape import Reshape
from glowmcu.ops.slicing import Slice

#: Adds a node with one result.
Add = Callable[[Operation, Sequence[Value]], Value]


@dataclass(frozen=True)
class Planes:
    """Windows along the first spatial axis; `padding` before and behind."""

    kernel: int
    stride: int
    dilation: int
    padding: tuple[int, int]

    def count(self, depth: int) -> int:
        """Planes of the result. Raises OperationError where the kernel exceeds the image."""
        room = sum(self.padding) + depth - ((self.kernel - 1) * self.dilation + 1)
        if room < 0:
            raise OperationError(f"a kernel of {self.kernel} planes exceeds {depth}")
        return room // self.stride + 1


def stack_planes(add: Add, x: Value, planes: Planes, groups: int = 1) -> Value:
    """(N, D, H, W, C) as images (N * result planes, H, W, kernel * C): of each group's channels
    all planes in turn.
    """
    n, depth, height, width, channels = x.type.shape
    count = planes.count(depth)
    if any(planes.padding):
        x = add(Pad(((0, 0), planes.padding, (0, 0), (0, 0), (0, 0))), [x])
    size, step = (n, count, height, width, channels), (1, planes.stride, 1, 1, 1)
    taps = [
        add(Slice((0, plane * planes.dilation, 0, 0, 0), size, step), [x])
        for plane in range(planes.kernel)
    ]
    if groups > 1:
        grouped = (n * count, height, width, groups, channels // groups)
        taps = [add(Reshape(grouped), [tap]) for tap in taps]
    stacked = add(Concatenation(4), taps)
    return add(Reshape((n * count, height, width, planes.kernel * channels)), [stacked])
