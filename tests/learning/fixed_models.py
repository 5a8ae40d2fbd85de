"""int8 networks whose layers have windows of all kinds, for learning in fixed point."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from glowmcu.frontend.tflite.writer import ModelBuilder
from glowmcu.frontend.tflite.writer_tables import TensorRef


@dataclass
class Network:
    """Adds layers behind each other; scales are such that results fill most of what 8 bits hold,
    of layers with windows divided by `gain`.
    """

    shape: tuple[int, ...]
    seed: int = 0
    gain: float = 1.0
    model: ModelBuilder = field(default_factory=ModelBuilder)
    count: int = 0

    def __post_init__(self) -> None:
        self.random = np.random.default_rng(self.seed)
        self.at = self.model.input("x", self.shape, "int8", 0.05, 3)
        self.scale, self.point = 0.05, 3

    def _result(self, shape: tuple[int, ...], scale: float, point: int) -> TensorRef:
        self.count += 1
        self.shape, self.scale, self.point = shape, scale, point
        return self.model.tensor(f"y{self.count}", shape, "int8", scale, point)

    def _weights(self, shape: tuple[int, ...], axis: int | None) -> tuple[TensorRef, TensorRef]:
        channels = shape[axis or 0]
        factors = np.ones(1) if axis is None else self.random.uniform(0.3, 1.2, channels)
        scales, number = 0.01 * factors, self.count
        data = np.clip(np.rint(self.random.normal(0, 45, shape)), -127, 127).astype(np.int8)
        bias = self.random.integers(-1500, 1500, channels).astype(np.int32)
        name = f"layer{number}"
        w = self.model.constant(f"{name}/w", data, scales, axis=0 if axis is None else axis)
        return w, self.model.constant(f"{name}/b", bias, scales * self.scale)

    def convolution(
        self, depth: int, kernel: tuple[int, int], stride: int = 1, dilation: int = 1,
        padding: str = "SAME", multiplier: int = 0, activation: str = "RELU",
    ) -> Network:  # fmt: skip
        """CONV_2D, or with a multiplier DEPTHWISE_CONV_2D."""
        _, height, width, channels = self.shape
        depth = channels * multiplier if multiplier else depth
        window = (1, *kernel, depth) if multiplier else (depth, *kernel, channels)
        w, b = self._weights(window, 3 if multiplier else 0)
        sizes = [
            -(-size // stride)
            if padding == "SAME"
            else (size - (taps - 1) * dilation - 1) // stride + 1
            for size, taps in zip((height, width), kernel, strict=True)
        ]
        products = kernel[0] * kernel[1] * (1 if multiplier else channels)
        scale = self.scale * 0.45 * products**0.5 / self.gain
        point = -128 if activation == "RELU" else 5
        y = self._result((1, *sizes, depth), scale, point)
        options: dict[str, int | str] = {
            "padding": padding, "stride_h": stride, "stride_w": stride,
            "dilation_h_factor": dilation, "dilation_w_factor": dilation,
            "fused_activation_function": activation,
        }  # fmt: skip
        if multiplier:
            options["depth_multiplier"] = multiplier
        self.model.op("DEPTHWISE_CONV_2D" if multiplier else "CONV_2D", [self.at, w, b], [y],
                      options)  # fmt: skip
        self.at = y
        return self

    def residual(self, kernel: tuple[int, int]) -> Network:
        """A convolution, added to what it reads."""
        before, scale = self.at, self.scale
        self.convolution(self.shape[3], kernel, activation="NONE")
        y = self._result(self.shape, 1.3 * max(scale, self.scale), -20)
        self.model.op("ADD", [before, self.at], [y], {"fused_activation_function": "NONE"})
        self.at = y
        return self

    def greatest(
        self, kernel: tuple[int, int], stride: int, padding: str = "SAME", activation: str = "NONE",
        kind: str = "MAX_POOL_2D",
    ) -> Network:  # fmt: skip
        """MAX_POOL_2D or AVERAGE_POOL_2D."""
        _, height, width, channels = self.shape
        sizes = [
            -(-size // stride) if padding == "SAME" else (size - taps) // stride + 1
            for size, taps in zip((height, width), kernel, strict=True)
        ]
        y = self._result((1, *sizes, channels), self.scale, self.point)
        options: dict[str, int | str] = {
            "padding": padding, "stride_h": stride, "stride_w": stride, "filter_height": kernel[0],
            "filter_width": kernel[1], "fused_activation_function": activation,
        }  # fmt: skip
        self.model.op(kind, [self.at], [y], options)
        self.at = y
        return self

    def spread(
        self, depth: int, kernel: tuple[int, int], stride: int, padding: str = "SAME",
        activation: str = "RELU",
    ) -> Network:  # fmt: skip
        """TRANSPOSE_CONV."""
        _, height, width, channels = self.shape
        w, b = self._weights((depth, *kernel, channels), 0)
        sizes = [
            size * stride + (0 if padding == "SAME" else max(taps - stride, 0))
            for size, taps in zip((height, width), kernel, strict=True)
        ]
        shape = self.model.constant(f"size{self.count}", np.array([1, *sizes, depth], np.int32))
        scale = self.scale * 0.5 * (channels * kernel[0] * kernel[1]) ** 0.5 / stride / self.gain
        y = self._result((1, *sizes, depth), scale, -128 if activation == "RELU" else 5)
        options: dict[str, int | str] = {
            "padding": padding, "stride_h": stride, "stride_w": stride,
            "fused_activation_function": activation,
        }  # fmt: skip
        self.model.op("TRANSPOSE_CONV", [shape, w, self.at, b], [y], options)
        self.at = y
        return self

    def resized(self, kind: str, size: tuple[int, int], **flags: bool) -> Network:
        """RESIZE_BILINEAR or RESIZE_NEAREST_NEIGHBOR."""
        given = self.model.constant(f"size{self.count}", np.array(size, np.int32))
        y = self._result((1, *size, self.shape[3]), self.scale, self.point)
        self.model.op(kind, [self.at, given], [y], dict(flags))
        self.at = y
        return self

    def function(self, kind: str, scale: float, point: int) -> Network:
        """An activation of its own."""
        y = self._result(self.shape, scale, point)
        self.model.op(kind, [self.at], [y], {})
        self.at = y
        return self

    def times(self, other: TensorRef, shape: tuple[int, ...]) -> Network:
        """MUL by what broadcasts, or is broadcast to `shape`."""
        y = self._result(shape, 0.9 * self.scale, -90)
        self.model.op("MUL", [self.at, other], [y], {"fused_activation_function": "NONE"})
        self.at = y
        return self

    def repeated(self, count: int) -> Network:
        """Each pixel so many times along rows and columns, as Keras 3 writes UpSampling2D."""
        for axis in (1, 2):
            apart = (*self.shape[: axis + 1], 1, *self.shape[axis + 1 :])
            counts = np.array([count if at == axis + 1 else 1 for at in range(5)], np.int32)
            repeated = tuple(int(size) for size in np.multiply(apart, counts))
            shape = list(self.shape)
            shape[axis] *= count
            for op, given, made in (
                ("RESHAPE", apart, apart), ("TILE", counts, repeated), ("RESHAPE", shape, shape),
            ):  # fmt: skip
                operand = self.model.constant(f"given{self.count}", np.array(given, np.int32))
                y = self._result(tuple(made), self.scale, self.point)
                self.model.op(op, [self.at, operand], [y], {})
                self.at = y
        return self

    def average(
        self, kernel: tuple[int, int], stride: int, padding: str = "SAME", activation: str = "NONE"
    ) -> Network:
        """AVERAGE_POOL_2D."""
        return self.greatest(kernel, stride, padding, activation, "AVERAGE_POOL_2D")

    def joined(self, other: TensorRef) -> Network:
        """Side by side with what has as many channels at other scales."""
        shape, parts = self.shape, [self.at, other]
        for at, each in enumerate(parts):
            scale = self.scale if at else 1.8 * self.scale
            parts[at] = self._result(shape, scale, -50)
            self.model.op("QUANTIZE", [each], [parts[at]], {})
        y = self._result((*shape[:3], 2 * shape[3]), self.scale, -50)
        self.model.op("CONCATENATION", parts, [y],
                      {"axis": 3, "fused_activation_function": "NONE"})  # fmt: skip
        self.at = y
        return self

    def moved(self) -> Network:
        """Padded, cut, and axes changed: the first columns, and rows as columns."""
        _, height, width, channels = self.shape
        build, number = self.model, self.count
        around = build.constant(f"around{number}", np.int32([[0, 0], [1, 0], [0, 2], [0, 0]]))
        y = self._result((1, height + 1, width + 2, channels), self.scale, self.point)
        build.op("PAD", [self.at, around], [y], {})
        places = ([0, 0, 0, 0], [1, height + 1, width, channels], [1, 2, 1, 1])
        ends = [build.constant(f"end{number}/{n}", np.int32(each)) for n, each in enumerate(places)]
        rows = -(-(height + 1) // 2)
        cut = self._result((1, rows, width, channels), self.scale, self.point)
        build.op("STRIDED_SLICE", [y, *ends], [cut], {})
        order = build.constant(f"order{number}", np.int32([0, 2, 1, 3]))
        y = self._result((1, width, rows, channels), self.scale, self.point)
        build.op("TRANSPOSE", [cut, order], [y], {})
        self.at = y
        return self

    def halves(self) -> Network:
        """Split by channels, the second one through a convolution, and together again."""
        _, height, width, channels = self.shape
        axis = self.model.constant(f"axis{self.count}", np.array(3, np.int32))
        part = (1, height, width, channels // 2)
        first, second = (self._result(part, self.scale, self.point) for _ in range(2))
        self.model.op("SPLIT", [axis, self.at], [first, second], {"num_splits": 2})
        self.at = second
        return self.convolution(channels // 2, (3, 1), activation="NONE").joined(first)

    def taken(self, count: int) -> Network:
        """Rows of the image at places that a second input says."""
        _, _, width, channels = self.shape
        places = self.model.input("places", (1, count), "int32")
        y = self._result((1, count, width, channels), self.scale, self.point)
        self.model.op("GATHER", [self.at, places], [y], {"axis": 1, "batch_dims": 1})
        self.at = y
        return self

    def mean(self) -> Network:
        """Over the whole image."""
        axes = self.model.constant("axes", np.array([1, 2], np.int32))
        y = self._result((1, self.shape[3]), 0.7 * self.scale, -90)
        self.model.op("MEAN", [self.at, axes], [y], {"keep_dims": False})
        self.at = y
        return self

    def flat(self) -> Network:
        """As a row."""
        count = int(np.prod(self.shape))
        shape = self.model.constant("shape", np.array([1, count], np.int32))
        y = self.model.tensor("flat", (1, count), "int8", self.scale, self.point)
        self.model.op("RESHAPE", [self.at, shape], [y], {})
        self.at, self.shape = y, (1, count)
        return self

    def classes(self, count: int, has_softmax: bool = True) -> bytes:
        """Fully connected, one scale for all weights, and a softmax: the file."""
        w, b = self._weights((count, self.shape[-1]), None)
        scale = self.scale * 0.45 * self.shape[-1] ** 0.5
        y = self._result((1, count), scale, 4)
        self.model.op("FULLY_CONNECTED", [self.at, w, b], [y],
                      {"fused_activation_function": "NONE"})  # fmt: skip
        if not has_softmax:
            self.model.output(y)
            return self.model.finish()
        z = self.model.tensor("scores", (1, count), "int8", 1 / 256, -128)
        self.model.op("SOFTMAX", [y], [z], {"beta": 1.0})
        self.model.output(z)
        return self.model.finish()


def windows() -> bytes:
    """Strides, odd depths, a depth multiplier, a residual: 4 layers and the classes."""
    made = Network((1, 9, 7, 3))
    made.convolution(6, (3, 3), stride=2).convolution(0, (3, 3), multiplier=2)
    return made.residual((1, 1)).mean().classes(5)


def dilated() -> bytes:
    """Dilation, no padding, strides of depthwise layers, channels by fours, a row of all."""
    made = Network((1, 10, 8, 2), seed=1)
    made.convolution(8, (2, 3), dilation=2, padding="VALID", activation="RELU")
    made.convolution(0, (3, 2), stride=2, multiplier=1).convolution(7, (1, 1))
    return made.convolution(12, (1, 1), stride=2, activation="NONE").flat().classes(3)


def separable() -> bytes:
    """Layers whose gradients are packed, of odd numbers of channels and pixels, in front of such
    whose are not, behind them, and behind each other.
    """
    made = Network((1, 9, 7, 3), seed=4)
    made.convolution(9, (3, 3)).convolution(0, (3, 3), multiplier=1).convolution(13, (1, 1))
    made.convolution(0, (3, 2), stride=2, multiplier=1).convolution(10, (1, 1))
    return made.residual((1, 1)).mean().classes(5)


def pooled() -> bytes:
    """Maxima of windows apart from each other, of such that overlap, and within an activation."""
    made = Network((1, 13, 11, 2), seed=3)
    made.convolution(6, (3, 3)).greatest((2, 2), 2).convolution(5, (3, 2), activation="NONE")
    made.greatest((3, 3), 1, activation="RELU6").convolution(7, (1, 1)).greatest((3, 2), 2, "VALID")
    return made.flat().classes(4)


def decoder() -> bytes:
    """As U-Nets are: down and up again, by transposed convolutions and resizing, with what was
    there before.
    """
    made = Network((1, 8, 6, 3), seed=5, gain=2.0).convolution(6, (3, 3))
    before = made.at
    made.average((3, 3), 2).convolution(5, (3, 3)).spread(6, (2, 2), 2).joined(before)
    return made.spread(5, (3, 3), 1, "VALID", "NONE").average((2, 3), 2).mean().classes(4)


def resized() -> bytes:
    """Nearest pixels and means of them, larger and smaller, by all rules of where pixels lie."""
    made = Network((1, 6, 5, 3), seed=6, gain=1.8).convolution(6, (3, 3))
    made.resized("RESIZE_NEAREST_NEIGHBOR", (12, 10)).convolution(5, (3, 3), stride=2)
    made.resized("RESIZE_BILINEAR", (12, 10), half_pixel_centers=True).convolution(5, (3, 2))
    made.resized("RESIZE_BILINEAR", (7, 13), align_corners=True).convolution(4, (1, 1))
    return made.resized("RESIZE_NEAREST_NEIGHBOR", (5, 4)).mean().classes(4)


def repeated() -> bytes:
    """Pixels that are repeated."""
    made = Network((1, 4, 3, 3), seed=9, gain=1.6).convolution(6, (3, 3)).repeated(2)
    made.convolution(5, (3, 3), stride=2).repeated(3).convolution(6, (2, 2))
    return made.mean().classes(4)


def gated() -> bytes:
    """As MobileNetV3 is: h-swish, and channels that the image's means weigh."""
    made = Network((1, 6, 5, 3), seed=10, gain=0.8).convolution(6, (3, 3), activation="NONE")
    made.function("HARD_SWISH", 0.09, -120)
    image, of_image, shape = made.at, (made.scale, made.point), made.shape
    made.average((6, 5), 1, "VALID").convolution(6, (1, 1), activation="NONE")
    made.function("LOGISTIC", 1 / 256, -128)
    gate = made.at
    made.at, made.shape, (made.scale, made.point) = image, shape, of_image
    return made.times(gate, shape).convolution(5, (3, 3)).mean().classes(4)


def moving() -> bytes:
    """Parts of images, halves of channels, other orders of axes, transposed in large steps."""
    made = Network((1, 7, 6, 3), seed=7, gain=1.4).convolution(6, (3, 3)).moved().halves()
    made.spread(3, (2, 3), 3, "VALID").convolution(6, (3, 3), stride=2)
    return made.mean().classes(3)


def gathered() -> bytes:
    """Rows at places that are an input."""
    return Network((1, 6, 4, 3), seed=8).convolution(6, (3, 3)).taken(9).mean().classes(3)


def regression() -> bytes:
    """Results that are no classes."""
    return Network((1, 6, 6, 3), seed=2).convolution(8, (3, 3), stride=2).flat().classes(4, False)
