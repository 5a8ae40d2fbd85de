"""What gradients of convolutions and poolings share: an image tap by tap.

Tap (ky, kx) of a window sees every `stride`-th pixel of the padded image from (ky, kx) on. As a
slice that is an image of the result's size, so that no image of all windows is ever made.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from glowmcu.gradient.builder import Builder
from glowmcu.gradient.rules import NoGradient
from glowmcu.ir.graph import Value
from glowmcu.ir.types import Shape
from glowmcu.lazy_dataclass import dataclass
from glowmcu.ops.padding import Pad
from glowmcu.ops.slicing import Slice

#: Each tap is some nodes.
_MOST_TAPS = 64
Pair = tuple[int, int]


@dataclass(frozen=True)
class Windows:
    """Windows of `kernel` on an image NHWC of shape `image`; `out` is height, width of the result,
    `padding` top, left, bottom, right.
    """

    image: Shape
    out: Pair
    kernel: Pair
    strides: Pair
    dilations: Pair
    padding: tuple[int, int, int, int]

    def __post_init__(self) -> None:
        count = self.kernel[0] * self.kernel[1]
        if count > _MOST_TAPS:
            raise NoGradient(f"a window of {count} elements, where gradients take {_MOST_TAPS}")

    @property
    def taps(self) -> Iterator[Pair]:
        """Rows and columns of a window."""
        return ((ky, kx) for ky in range(self.kernel[0]) for kx in range(self.kernel[1]))

    @property
    def _spans(self) -> tuple[Pair, Pair]:
        """For height and width: elements before the image, and of the padded image all that any
        tap sees, and the image.
        """
        spans = []
        for axis in (0, 1):
            before = self.padding[axis]
            seen = (self.out[axis] - 1) * self.strides[axis]
            seen += (self.kernel[axis] - 1) * self.dilations[axis] + self.strides[axis]
            spans.append((before, max(seen, before + self.image[1 + axis])))
        return spans[0], spans[1]

    def padded(self, build: Builder, x: Value, value: float = 0.0) -> Value:
        """The image with what taps see around it."""
        paddings = [(0, 0)]
        for axis, (before, size) in enumerate(self._spans):
            paddings.append((before, size - before - self.image[1 + axis]))
        paddings.append((0, 0))
        if not any(map(any, paddings)):
            return x
        return build.add(Pad(tuple(paddings), value), x)

    def seen(self, build: Builder, padded: Value, tap: Pair) -> Value:
        """What a tap sees in every window: (n, out height, out width, c)."""
        n, _, _, channels = padded.type.shape
        begin = (0, tap[0] * self.dilations[0], tap[1] * self.dilations[1], 0)
        size = (n, *self.out, channels)
        return build.add(Slice(begin, size, (1, *self.strides, 1)), padded)

    def spread(self, build: Builder, part: Value, tap: Pair) -> Value:
        """The inverse: an image of the padded size with `part` where the tap sees, 0 elsewhere."""
        n, height, width, channels = part.type.shape
        (sy, sx), ((_, rows), (_, columns)) = self.strides, self._spans
        if (sy, sx) != (1, 1):
            apart = build.reshape(part, (n, height, 1, width, 1, channels))
            gaps = ((0, 0), (0, 0), (0, sy - 1), (0, 0), (0, sx - 1), (0, 0))
            part = build.reshape(
                build.add(Pad(gaps), apart), (n, height * sy, width * sx, channels)
            )
        top, left = tap[0] * self.dilations[0], tap[1] * self.dilations[1]
        bottom, right = rows - top - height * sy, columns - left - width * sx
        paddings = ((0, 0), (top, bottom), (left, right), (0, 0))
        return build.add(Pad(paddings), part) if any(map(any, paddings)) else part

    def gathered(self, build: Builder, part: Callable[[Pair], Value]) -> Value:
        """The gradient of the image from those of what each tap sees, one after the other: so that
        there is one image of them at a time.
        """
        total: Value | None = None
        for tap in self.taps:
            spread = self.spread(build, part(tap), tap)
            total = spread if total is None else build.plus(total, spread)
        assert total is not None
        (top, rows), (left, columns) = self._spans
        n, height, width, channels = self.image
        if (rows, columns) == (height, width):
            return total
        begin, size = (0, top, left, 0), (n, height, width, channels)
        return build.add(Slice(begin, size, (1, 1, 1, 1)), total)
