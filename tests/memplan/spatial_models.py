"""Models of convolutions, poolings and sums on images, as `.tflite` files.

Scales follow the number of taps, so that results neither saturate nor collapse: a wrong row shows.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from glowmcu.frontend.tflite.writer import ModelBuilder

Pair = tuple[int, int]


@dataclass(frozen=True, eq=False)
class Image:
    """A tensor `(1, height, width, channels)` of the model."""

    ref: Any
    shape: tuple[int, int, int]
    scale: float
    zero_point: int


@dataclass(frozen=True)
class Window:
    """What a convolution or a pooling slides over an image."""

    kernel: Pair = (3, 3)
    stride: Pair = (1, 1)
    dilation: Pair = (1, 1)
    padding: str = "SAME"

    def result_size(self, size: Pair) -> Pair:
        """Rows and columns of the result; below 1 where no window fits."""
        height, width = (self._count(*axis) for axis in zip(size, *self._axes, strict=True))
        return height, width

    @property
    def _axes(self) -> tuple[Pair, Pair, Pair]:
        return self.kernel, self.stride, self.dilation

    def _count(self, size: int, kernel: int, stride: int, dilation: int) -> int:
        if self.padding == "SAME":
            return -(-size // stride)
        return (size - (kernel - 1) * dilation - 1) // stride + 1


@dataclass
class SpatialModel:
    """Builds a model operator by operator."""

    seed: int = 0
    builder: ModelBuilder = field(default_factory=ModelBuilder)

    def __post_init__(self) -> None:
        self._random = np.random.default_rng(self.seed)
        self._count = 0

    def input(self, *shape: int) -> Image:
        """An image `height, width, channels` from the application."""
        name = self._name("x")
        ref = self.builder.input(name, (1, *shape), "int8", 1 / 64, -3)
        return Image(ref, shape, 1 / 64, -3)  # type: ignore[arg-type]

    def conv(self, x: Image, channels: int, window: Window, activation: str = "NONE") -> Image:
        """Every channel from all."""
        shape = (channels, *window.kernel, x.shape[2])
        weights = self._weights(shape, 0)
        result = self._result(window, x, channels, int(np.prod(shape[1:])), activation)
        options = _options(window, activation)
        self.builder.op("CONV_2D", [x.ref, weights, self._bias(x, channels)], [result.ref], options)
        return result

    def depthwise(
        self, x: Image, window: Window, multiplier: int = 1, activation: str = "NONE"
    ) -> Image:
        """Every channel from one."""
        channels = x.shape[2] * multiplier
        weights = self._weights((1, *window.kernel, channels), 3)
        result = self._result(window, x, channels, int(np.prod(window.kernel)), activation)
        options = {**_options(window, activation), "depth_multiplier": multiplier}
        operands = [x.ref, weights, self._bias(x, channels)]
        self.builder.op("DEPTHWISE_CONV_2D", operands, [result.ref], options)
        return result

    def pool(self, x: Image, kind: str, window: Window) -> Image:
        """`MAX_POOL_2D` or `AVERAGE_POOL_2D`."""
        height, width = window.kernel
        options = {
            "padding": window.padding,
            "stride_h": window.stride[0],
            "stride_w": window.stride[1],
            "filter_height": height,
            "filter_width": width,
        }
        size = window.result_size(x.shape[:2])
        result = self._image((*size, x.shape[2]), x.scale, x.zero_point)
        self.builder.op(kind, [x.ref], [result.ref], options)
        return result

    def add(self, a: Image, b: Image, activation: str = "NONE") -> Image:
        """The sum of images of one shape."""
        zero_point = -128 if activation == "RELU" else 5
        result = self._image(a.shape, float(np.hypot(a.scale, b.scale)), zero_point)
        options = {"fused_activation_function": activation}
        self.builder.op("ADD", [a.ref, b.ref], [result.ref], options)
        return result

    def pad(self, x: Image, top: int, bottom: int) -> Image:
        """Rows of zeros above and below, which a convolution takes for its own padding."""
        height, width, channels = x.shape
        paddings = np.array([[0, 0], [top, bottom], [0, 0], [0, 0]], np.int32)
        result = self._image((top + height + bottom, width, channels), x.scale, x.zero_point)
        paddings_ref = self.builder.constant(self._name("p"), paddings)
        self.builder.op("PAD", [x.ref, paddings_ref], [result.ref])
        return result

    def concat(self, *parts: Image) -> Image:
        """The channels of images of one size and one quantization."""
        channels = sum(part.shape[2] for part in parts)
        first = parts[0]
        result = self._image((*first.shape[:2], channels), first.scale, first.zero_point)
        self.builder.op("CONCATENATION", [part.ref for part in parts], [result.ref], {"axis": 3})
        return result

    def finish(self, *outputs: Image) -> bytes:
        """The file."""
        for image in outputs:
            self.builder.output(image.ref)
        return self.builder.finish()

    def _name(self, stem: str) -> str:
        self._count += 1
        return f"{stem}{self._count}"

    def _weights(self, shape: tuple[int, ...], axis: int) -> Any:
        values = self._random.integers(-100, 101, shape).astype(np.int8)
        scales = [float(2.0 ** -(7 + i % 2)) for i in range(shape[axis])]
        points = [0] * shape[axis]
        return self.builder.constant(self._name("w"), values, scales, points, axis)

    def _bias(self, x: Image, channels: int) -> Any:
        values = self._random.integers(-500, 500, channels).astype(np.int32)
        scales = [x.scale * float(2.0 ** -(7 + i % 2)) for i in range(channels)]
        return self.builder.constant(self._name("b"), values, scales, [0] * channels)

    def _result(self, window: Window, x: Image, channels: int, taps: int, activation: str) -> Image:
        size = window.result_size(x.shape[:2])
        zero_point = -128 if activation == "RELU" else int(self._random.integers(-20, 20))
        return self._image((*size, channels), x.scale * float(np.sqrt(taps)) / 2, zero_point)

    def _image(self, shape: tuple[int, int, int], scale: float, zero_point: int) -> Image:
        assert min(shape) > 0, shape
        ref = self.builder.tensor(self._name("t"), (1, *shape), "int8", scale, zero_point)
        return Image(ref, shape, scale, zero_point)


def _options(window: Window, activation: str) -> dict[str, Any]:
    return {
        "padding": window.padding,
        "stride_h": window.stride[0],
        "stride_w": window.stride[1],
        "dilation_h_factor": window.dilation[0],
        "dilation_w_factor": window.dilation[1],
        "fused_activation_function": activation,
    }
