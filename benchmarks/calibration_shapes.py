"""Shapes of sample layers that kernels are calibrated on: of real models, odd ones, tiny ones."""

from __future__ import annotations

from dataclasses import dataclass

#: Zero point of a result.
RESULT = -5


@dataclass(frozen=True)
class Image:
    """A convolution or pooling: size, channels in and out, window, strides, padding.

    Of weights that are `extreme` there is a -128 that cannot share a word with its neighbour. Those
    that are `even` are all over int8: many do not fit their group.
    """

    height: int
    width: int
    channels: int
    out_channels: int = 0
    kernel: tuple[int, int] = (1, 1)
    strides: tuple[int, int] = (1, 1)
    padding: str = "SAME"
    out_zero_point: int = RESULT
    extreme: bool = False
    even: bool = False
    four_bits: bool = False
    groups: int = 1
    activation: str = "NONE"

    @property
    def out_size(self) -> tuple[int, int]:
        sizes = zip((self.height, self.width), self.kernel, self.strides, strict=True)
        if self.padding == "SAME":
            height, width = (-(-size // stride) for size, _, stride in sizes)
        else:
            height, width = ((size - kernel) // stride + 1 for size, kernel, stride in sizes)
        return height, width

    @property
    def options(self) -> dict[str, int | str]:
        return {
            "padding": self.padding, "stride_h": self.strides[0], "stride_w": self.strides[1],
            "fused_activation_function": self.activation,
        }


POINTWISE = (
    Image(25, 5, 64, 64), Image(24, 24, 8, 16), Image(24, 24, 16, 32), Image(12, 12, 32, 32),
    Image(12, 12, 32, 64), Image(6, 6, 64, 128), Image(6, 6, 128, 128), Image(3, 3, 128, 256),
    Image(3, 3, 256, 256), Image(7, 5, 13, 11), Image(5, 5, 20, 30), Image(9, 1, 10, 40),
    Image(16, 16, 16, 32, strides=(2, 2)), Image(1, 1, 64, 10), Image(30, 1, 40, 32),
    Image(24, 1, 128, 128), Image(1, 15, 64, 40), Image(1, 1, 96, 40), Image(1, 1, 40, 100),
    Image(20, 10, 8, 24), Image(9, 9, 4, 30), Image(16, 16, 6, 12), Image(5, 30, 2, 17),
    Image(14, 7, 3, 8), Image(12, 12, 7, 9),
)  # fmt: skip
#: Few inputs, before a ReLU: beside the layers above, whose numbers follow from their places.
NARROW = (
    Image(24, 24, 8, 16), Image(20, 10, 8, 24), Image(9, 9, 4, 30), Image(16, 16, 6, 12),
    Image(5, 30, 2, 17), Image(14, 7, 3, 8), Image(12, 12, 7, 9), Image(10, 11, 5, 33),
)  # fmt: skip
#: For kernels of few products, of real numbers: 1x1, then windows.
FEW_INPUTS = (
    Image(24, 24, 8, 16), Image(20, 10, 8, 24), Image(7, 5, 8, 32), Image(13, 1, 8, 48),
    Image(16, 12, 4, 16),
)  # fmt: skip
FEW_TAPS = (
    Image(28, 28, 1, 8, (3, 3)), Image(20, 21, 1, 16, (3, 3), padding="VALID"),
    Image(33, 17, 1, 12, (3, 3), (2, 2)), Image(1, 40, 3, 16, (1, 3)), Image(12, 14, 2, 9, (2, 2)),
)  # fmt: skip
#: Rows of a matrix: fully connected layers with scales of their own for each channel.
PIXELS = (
    Image(1, 1, 64, 10), Image(1, 1, 96, 40), Image(1, 1, 40, 100), Image(1, 1, 128, 64),
    Image(1, 1, 37, 12), Image(1, 1, 256, 9), Image(1, 1, 16, 48),
)  # fmt: skip
WINDOWS = (
    Image(24, 24, 3, 8, (3, 3), (2, 2)), Image(32, 32, 3, 16, (3, 3)),
    Image(16, 16, 16, 16, (3, 3)), Image(16, 16, 16, 32, (3, 3), (2, 2)),
    Image(8, 8, 32, 32, (3, 3)), Image(8, 8, 32, 64, (3, 3), (2, 2)), Image(8, 8, 64, 64, (3, 3)),
    Image(49, 10, 1, 64, (10, 4), (2, 2)), Image(20, 1, 40, 32, (3, 1), padding="VALID"),
    Image(30, 1, 16, 24, (5, 1)), Image(7, 9, 5, 7, (2, 2), padding="VALID"),
    Image(10, 10, 12, 9, (5, 5)), Image(1, 40, 8, 16, (1, 7)),
)  # fmt: skip
#: Each output reads the inputs of its group.
GROUPED = (
    Image(12, 12, 16, 16, (3, 3), groups=4), Image(12, 12, 32, 32, (3, 3), groups=2),
    Image(10, 10, 64, 64, (3, 3), groups=8), Image(8, 8, 24, 48, groups=3),
    Image(9, 7, 12, 18, (3, 3), (2, 2), groups=6), Image(6, 6, 32, 32, (3, 3), groups=16),
    Image(1, 30, 16, 16, (1, 5), groups=2), Image(14, 14, 6, 6, (3, 3), groups=2),
    Image(7, 7, 40, 80, groups=4), Image(11, 5, 20, 35, (2, 3), padding="VALID", groups=5),
)  # fmt: skip
#: Time series: windows as wide as the image, inside it and beyond its ends.
COLUMNS = (
    Image(64, 1, 32, 32, (3, 1), padding="VALID"), Image(100, 1, 6, 16, (7, 1), (2, 1), "VALID"),
    Image(40, 1, 16, 24, (5, 1)), Image(20, 1, 64, 64, (3, 1)), Image(12, 1, 10, 12, (9, 1)),
    Image(50, 1, 24, 24, (2, 1)), Image(80, 3, 4, 10, (4, 3), (1, 1), "VALID"),
    Image(6, 1, 40, 30, (6, 1)), Image(30, 1, 12, 40, (8, 1), (4, 1)),
    # Sums too large to be packed: the image is as wide as the window.
    Image(6, 32, 40, 16, (3, 32), padding="VALID"), Image(4, 40, 64, 8, (1, 40), padding="VALID"),
)  # fmt: skip
#: Depthwise along one axis, as models of sound and of other signals have it.
LINES = (
    Image(26, 1, 32, 32, (5, 1), padding="VALID"), Image(22, 1, 64, 64, (9, 1), padding="VALID"),
    Image(40, 1, 32, 32, (21, 1), padding="VALID"), Image(30, 1, 10, 10, (13, 1)),
    Image(1, 50, 16, 16, (1, 7)), Image(1, 9, 24, 24, (1, 3)), Image(12, 1, 7, 7, (2, 1)),
    Image(3, 40, 12, 12, (1, 5)), Image(64, 2, 8, 8, (4, 1)),
)  # fmt: skip
#: Windows as high as the image: one row of results.
ONE_ROW = (
    Image(15, 1, 128, 128, (15, 1), padding="VALID"), Image(5, 5, 64, 64, (5, 5), padding="VALID"),
    Image(3, 9, 24, 24, (3, 3), padding="VALID"), Image(4, 6, 10, 10, (4, 3), padding="VALID"),
    Image(6, 3, 2, 8, (6, 2), padding="VALID"), Image(9, 2, 3, 3, (9, 2), padding="VALID"),
    Image(2, 2, 96, 96, (3, 3), (2, 2)),
)  # fmt: skip
#: Windows wider than three, from large images to small ones.
WIDE = (
    Image(24, 24, 16, 16, (5, 5)),
    Image(16, 16, 24, 24, (5, 5), (2, 2)),
    Image(8, 8, 96, 96, (5, 5)),
    Image(4, 4, 128, 128, (5, 5)),
    Image(9, 7, 13, 13, (5, 5), (2, 2)),
    Image(16, 16, 24, 24, (7, 7)),
    Image(10, 10, 40, 40, (7, 7), (2, 2)),
    Image(5, 5, 64, 64, (7, 7)),
    Image(12, 9, 5, 10, (9, 9)),
    Image(20, 18, 12, 12, (3, 5), padding="VALID"),
    Image(1, 64, 16, 16, (1, 9)),
)
DEPTHWISE = (
    Image(25, 5, 64, 64, (3, 3)), Image(48, 48, 8, 8, (3, 3)), Image(24, 24, 16, 16, (3, 3)),
    Image(24, 24, 32, 32, (3, 3), (2, 2)), Image(12, 12, 64, 64, (3, 3)),
    Image(12, 12, 64, 64, (3, 3), (2, 2)), Image(6, 6, 128, 128, (3, 3)),
    Image(40, 40, 12, 12, (3, 3), (2, 2)), Image(7, 6, 96, 96, (3, 3), (2, 2)),
    Image(3, 3, 256, 256, (3, 3)), Image(9, 7, 13, 13, (3, 3)), Image(12, 12, 20, 20, (5, 5)),
    Image(26, 1, 40, 40, (5, 1)), Image(16, 1, 64, 64, (9, 1), padding="VALID"),
    Image(20, 20, 1, 8, (3, 3), (2, 2)), Image(49, 10, 1, 8, (10, 8), (2, 2)),
    Image(8, 8, 6, 12, (3, 3)), Image(6, 9, 4, 16, (3, 2)),
    Image(10, 9, 8, 8, (2, 2), (2, 2), "VALID"),
    *LINES, *ONE_ROW, *WIDE, Image(6, 48, 48, 48, (3, 3)), Image(5, 64, 32, 32, (3, 3), (2, 2)),
    Image(6, 10, 32, 32, (3, 3), (2, 2)), Image(16, 8, 24, 24, (3, 3), (2, 2)),
)  # fmt: skip
#: Rows with windows of one row; an image of one row becomes a column.
SEQUENCES = (
    Image(2, 28, 128, 128, (1, 5), padding="VALID"), Image(3, 30, 40, 40, (1, 3), padding="VALID"),
    Image(2, 24, 128, 128, (1, 10), padding="VALID"), Image(4, 9, 24, 24, (1, 5)),
    Image(2, 64, 16, 16, (1, 13)), Image(2, 40, 70, 70, (1, 7)), Image(6, 5, 64, 64, (1, 3)),
    Image(2, 16, 48, 48, (1, 9)), Image(8, 12, 20, 20, (1, 4)),
    Image(2, 40, 18, 18, (1, 5), padding="VALID"), Image(2, 20, 16, 16, (1, 5), padding="VALID"),
    Image(3, 12, 32, 32, (1, 9), padding="VALID"), Image(2, 100, 17, 17, (1, 2), padding="VALID"),
)  # fmt: skip
POOLS = (
    Image(25, 5, 64, kernel=(25, 5), padding="VALID"), Image(8, 8, 64, kernel=(8, 8)),
    Image(16, 16, 16, kernel=(2, 2), strides=(2, 2)), Image(3, 3, 256, kernel=(3, 3)),
    Image(12, 12, 7, kernel=(3, 3)), Image(20, 1, 24, kernel=(4, 1), strides=(4, 1)),
    Image(10, 10, 3, kernel=(3, 3), strides=(2, 2), padding="VALID"),
    Image(3, 3, 256, kernel=(3, 3), padding="VALID"),
    Image(7, 7, 90, kernel=(7, 7), strides=(7, 7)),
    Image(20, 20, 12, kernel=(20, 20), padding="VALID"),
    Image(28, 28, 6, kernel=(28, 28), padding="VALID"),
    Image(30, 1, 40, kernel=(30, 1), padding="VALID"),
    Image(17, 24, 32, kernel=(17, 24), padding="VALID"),
    Image(9, 8, 3, kernel=(9, 8), padding="VALID"),
    Image(25, 20, 2, kernel=(25, 20), padding="VALID"),
    Image(6, 7, 1, kernel=(6, 7), padding="VALID"),
    Image(20, 20, 24, kernel=(2, 2), strides=(2, 2)), Image(14, 9, 40, kernel=(3, 3)),
)  # fmt: skip
#: (rows, depth in, depth out)
DENSE = (
    (1, 640, 128), (1, 128, 128), (1, 128, 8), (1, 8, 128), (1, 128, 640), (1, 64, 12),
    (1, 256, 2), (1, 64, 10), (1, 37, 11), (4, 40, 20), (16, 24, 32), (1, 10, 1),
    (1, 128, 1), (1, 64, 3), (1, 102, 4), (8, 31, 5), (1, 512, 7),
    # Sums too large to be packed, as behind a flattened image.
    (1, 3136, 32), (1, 4000, 10), (2, 2600, 17), (1, 5001, 16),
)  # fmt: skip
#: The last ones are those of attention: queries by keys, weights by values.
MATRICES = (
    (4, 16, 8), (16, 24, 32), (1, 64, 10), (20, 20, 7), (3, 5, 40), (2, 128, 3), (49, 16, 49),
    (49, 49, 16), (17, 8, 17), (64, 32, 64),
)  # fmt: skip
ELEMENTS = ((16, 16, 16), (8, 8, 32), (4, 4, 64), (9, 11, 7), (1, 1, 24), (1, 1, 1))
ROWS = ((1, 12), (1, 2), (1, 10), (1, 100), (16, 20), (40, 3))
#: Shape and the axes that are reduced; the result is one vector.
REDUCTIONS = (
    ((25, 5, 64), (1, 2)), ((8, 8, 64), (1, 2)), ((3, 3, 256), (1, 2)), ((6, 7, 10), (1, 2)),
    ((20, 20, 24), (1, 2)), ((28, 28, 6), (1, 2)), ((17, 24, 32), (1, 2)), ((9, 8, 3), (1, 2)),
    ((25, 20, 2), (1, 2)), ((6, 7, 1), (1, 2)), ((12, 1, 40), (1, 2)),
    ((9, 8, 5), (1, 3)), ((20, 10, 3), (1, 3)), ((4, 5, 30), (2, 3)),
)  # fmt: skip

#: Transposed convolutions, as decoders have them: of images, of time, of one pixel.
TRANSPOSED = (
    Image(8, 8, 32, 16, (2, 2), (2, 2)), Image(8, 8, 16, 8, (3, 3), (2, 2)),
    Image(4, 4, 32, 32, (4, 4), (2, 2)), Image(5, 7, 12, 6, (5, 5), (2, 2)),
    Image(1, 32, 16, 8, (1, 4), (1, 2)), Image(32, 1, 24, 12, (4, 1), (2, 1)),
    Image(3, 5, 7, 5, (3, 2), (3, 1)), Image(6, 6, 8, 4, (3, 3), (1, 1)),
    Image(4, 4, 64, 1, (2, 2), (2, 2)), Image(4, 4, 64, 3, (3, 3), (2, 2)),
    Image(2, 2, 8, 64, (4, 4), (4, 4)), Image(16, 16, 4, 2, (2, 2), (2, 2)),
    Image(4, 6, 40, 20, (3, 3), (2, 1)), Image(2, 3, 3, 8, (2, 3), (2, 3)),
)  # fmt: skip
