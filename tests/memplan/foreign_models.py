"""Blocks of well-known networks that no plan was tuned for, small and in any number."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tests.memplan.spatial_models import Image, SpatialModel, Window

POINT = Window((1, 1))
_HALF = Window(stride=(2, 2))


class Network(SpatialModel):
    """What these networks need besides. Layers' results are as large as what they read, at any
    depth, and few saturate: whatever the inputs say reaches the outputs.
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        #: Of the channels of the weights made last, for the bias.
        self._scales: list[float] = []

    def _weights(self, shape: tuple[int, ...], axis: int) -> Any:
        taps = int(np.prod(shape)) // shape[axis]
        self._scales = [2.0 ** -(5 + i % 2) / float(np.sqrt(taps)) for i in range(shape[axis])]
        values = self._random.integers(-127, 128, shape).astype(np.int8)
        return self.builder.constant(self._name("w"), values, self._scales, [0] * shape[axis], axis)

    def _bias(self, x: Image, channels: int) -> Any:
        values = self._random.integers(-500, 500, channels).astype(np.int32)
        scales = [x.scale * scale for scale in self._scales]
        return self.builder.constant(self._name("b"), values, scales, [0] * channels)

    def _result(self, window: Window, x: Image, channels: int, taps: int, activation: str) -> Image:
        size = window.result_size(x.shape[:2])
        zero_point = -128 if activation == "RELU" else int(self._random.integers(-20, 20))
        return self._image((*size, channels), x.scale, zero_point)

    def whole_mean(self, x: Image) -> Image:
        """The mean of each channel."""
        return self.pool(x, "AVERAGE_POOL_2D", Window(x.shape[:2], padding="VALID"))

    def gate(self, x: Image) -> Image:
        """A factor below one for each element."""
        result = self._image(x.shape, 1 / 256, -128)
        self.builder.op("LOGISTIC", [x.ref], [result.ref])
        return result

    def scaled(self, x: Image, factors: Image) -> Image:
        """Each channel times its factor."""
        result = self._image(x.shape, x.scale / 2, x.zero_point)
        self.builder.op("MUL", [x.ref, factors.ref], [result.ref])
        return result

    def doubled(self, x: Image) -> Image:
        """Twice the rows and columns."""
        height, width, channels = x.shape
        result = self._image((2 * height, 2 * width, channels), x.scale, x.zero_point)
        size = self.builder.constant(self._name("s"), np.array([2 * height, 2 * width], np.int32))
        self.builder.op("RESIZE_NEAREST_NEIGHBOR", [x.ref, size], [result.ref])
        return result

    def rescaled(self, x: Image, scale: float, zero_point: int) -> Image:
        """The same numbers at another scale."""
        result = self._image(x.shape, scale, zero_point)
        self.builder.op("QUANTIZE", [x.ref], [result.ref])
        return result

    def joined(self, a: Image, b: Image) -> Image:
        """Channels side by side, `b` at the scale of `a`."""
        return self.concat(a, self.rescaled(b, a.scale, a.zero_point))

    def dense(self, x: Image, count: int, activation: str = "NONE") -> Image:
        """A fully connected layer on each row of `(1, rows, 1, features)`."""
        weights = self._random.integers(-100, 101, (count, x.shape[2])).astype(np.int8)
        ref = self.builder.constant(self._name("w"), weights, 1 / 128, 0)
        bias = self.builder.constant(self._name("b"), np.zeros(count, np.int32), x.scale / 128, 0)
        zero_point = -128 if activation == "RELU" else 3
        scale = x.scale * float(np.sqrt(x.shape[2])) / 2
        result = self._image((x.shape[0], 1, count), scale, zero_point)
        options = {"fused_activation_function": activation, "keep_num_dims": True}
        self.builder.op("FULLY_CONNECTED", [x.ref, ref, bias], [result.ref], options)
        return result

    def inverted(self, x: Image, channels: int, stride: int = 1, squeeze: bool = False) -> Image:
        """MobileNetV2's block, MobileNetV3's with `squeeze`."""
        wide = self.conv(x, 4 * x.shape[2], POINT, "RELU")
        deep = self.depthwise(wide, Window(stride=(stride, stride)), activation="RELU")
        if squeeze:
            deep = self.scaled(deep, self.factors(deep))
        narrow = self.conv(deep, channels, POINT)
        return self.add(x, narrow) if narrow.shape == x.shape else narrow

    def factors(self, x: Image) -> Image:
        """Squeeze and excite."""
        few = self.conv(self.whole_mean(x), max(4, x.shape[2] // 4), POINT, "RELU")
        return self.gate(self.conv(few, x.shape[2], POINT))


def mobile_net(blocks: int = 6, squeeze: bool = False, size: int = 32) -> bytes:
    model = Network(20)
    x = model.conv(model.input(size, size, 3), 8, _HALF, "RELU")
    for block in range(blocks):
        turn = block % 3 == 0 and x.shape[0] > 4
        x = model.inverted(x, x.shape[2] + 4 * turn, 1 + turn, squeeze)
    return model.finish(model.conv(model.whole_mean(x), 10, POINT))


def inverted_chain(blocks: int) -> bytes:
    """Many of MobileNetV2's blocks at three sizes."""
    model = Network(30)
    x = model.conv(model.input(32, 32, 3), 8, _HALF, "RELU")
    for block in range(blocks):
        turn = block in (blocks // 4, blocks // 2)
        x = model.inverted(x, x.shape[2] + 4 * turn, 1 + turn)
        x = model.rescaled(x, 1 / 64, -3)
    return model.finish(model.conv(model.whole_mean(x), 10, POINT))


def squeeze_net() -> bytes:
    return mobile_net(4, squeeze=True, size=24)


def u_net(depth: int = 2, size: int = 24) -> bytes:
    model = Network(21)
    x, skips = model.input(size, size, 1), []
    for level in range(depth):
        x = model.conv(model.conv(x, 4 << level, Window(), "RELU"), 4 << level, Window(), "RELU")
        skips.append(x)
        x = model.pool(x, "MAX_POOL_2D", Window((2, 2), (2, 2), padding="VALID"))
    x = model.conv(x, 4 << depth, Window(), "RELU")
    for skip in reversed(skips):
        channels = skip.shape[2]
        x = model.conv(model.doubled(x), channels, Window(), "RELU")
        other = model.conv(skip, channels, POINT, "RELU")
        both = [model.conv(image, channels, POINT, "RELU") for image in (x, other)]
        x = model.conv(model.add(*both), channels, Window(), "RELU")
    return model.finish(model.conv(x, 2, POINT))


def u_net_of_parts(size: int = 32) -> bytes:
    """Skips that are joined by a concatenation, as most U-Nets have it."""
    model = Network(22)
    first = model.conv(model.input(size, size, 1), 8, Window(), "RELU")
    low = model.conv(model.pool(first, "MAX_POOL_2D", Window((2, 2), (2, 2))), 8, Window(), "RELU")
    up = model.doubled(model.pool(low, "AVERAGE_POOL_2D", Window()))
    return model.finish(model.conv(model.joined(first, up), 2, Window(), "RELU"))


def sound(rows: int = 200, channels: int = 16) -> bytes:
    """One-dimensional: samples, strided convolutions, separable ones, a mean."""
    model = Network(23)
    x = model.conv(model.input(rows, 1, 1), channels, Window((9, 1), (4, 1)), "RELU")
    for stride in (1, 2, 1, 2):
        x = model.depthwise(x, Window((5, 1), (stride, 1), padding="VALID"), activation="RELU")
        x = model.conv(x, channels, POINT, "RELU")
    return model.finish(model.conv(model.whole_mean(x), 6, POINT))


def perceptrons(rows: int = 16, features: int = 24, blocks: int = 2) -> bytes:
    """The dense half of a transformer, with its residual sums."""
    model = Network(24)
    x = model.input(rows, 1, features)
    for _ in range(blocks):
        wide = model.gate(model.dense(x, 4 * features))
        x = model.add(model.dense(wide, features), x)
    return model.finish(x)


def two_ears() -> bytes:
    """Two inputs through separable convolutions of their own, then together."""
    model = Network(25)
    ends = []
    for _ in range(2):
        x = model.conv(model.input(25, 10, 1), 16, Window((5, 4), (2, 2)), "RELU")
        for _ in range(2):
            x = model.conv(model.depthwise(x, Window(), activation="RELU"), 16, POINT, "RELU")
        ends.append(x)
    return model.finish(model.conv(model.whole_mean(model.add(*ends)), 4, POINT))


def many_heads() -> bytes:
    """A trunk with results at three sizes."""
    model = Network(26)
    x = model.conv(model.input(32, 32, 3), 8, _HALF, "RELU")
    heads = []
    for _ in range(3):
        x = model.inverted(model.inverted(x, x.shape[2]), x.shape[2] + 4, 2)
        heads.append(model.conv(x, 6, Window()))
    return model.finish(*heads)


def dense_net(layers: int = 5, growth: int = 4, size: int = 12) -> bytes:
    """Every layer reads what all layers before it made."""
    model = Network(27)
    x = model.conv(model.input(size, size, 3), 8, Window())
    for _ in range(layers):
        x = model.joined(x, model.conv(x, growth, Window()))
    return model.finish(model.conv(x, 4, POINT))


def residual_chain(blocks: int = 4, size: int = 8) -> bytes:
    model = Network(28)
    x = model.conv(model.input(size, size, 3), 8, Window(), "RELU")
    for _ in range(blocks):
        inner = model.conv(model.conv(x, 8, Window(), "RELU"), 8, Window())
        x = model.rescaled(model.add(inner, x), 1 / 64, -3)
    return model.finish(x)


def wide_branches(branches: int = 4, layers: int = 2, size: int = 8) -> bytes:
    model = Network(29)
    x = model.conv(model.input(size, size, 3), 8, Window(), "RELU")
    total = x
    for _ in range(branches):
        y = x
        for _ in range(layers):
            y = model.conv(y, 8, Window(), "RELU")
        total = model.add(total, y)
    return model.finish(total)


MODELS: dict[str, Callable[[], bytes]] = {
    "inverted residual blocks": mobile_net,
    "squeeze and excite": squeeze_net,
    "a U-Net with sums": u_net,
    "a U-Net with a concatenation": u_net_of_parts,
    "sound, one column": sound,
    "perceptrons of a transformer": perceptrons,
    "two inputs": two_ears,
    "results at three sizes": many_heads,
    "dense connections": dense_net,
    "a chain of residual blocks": residual_chain,
    "wide branches": wide_branches,
}
