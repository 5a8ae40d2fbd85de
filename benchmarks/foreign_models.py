"""Networks of realistic size that no kernel and no plan was tuned for, with random weights.

Published layer tables where there are such.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tests.memplan.foreign_models import MODELS as SMALL_MODELS
from tests.memplan.foreign_models import Network
from tests.memplan.spatial_models import Image, Window

POINT = Window((1, 1))
HALF = Window(stride=(2, 2))
#: MobileNetV2 at width 0.35: expansion, channels, blocks, stride of the first.
#: Source: Sandler et al., MobileNetV2, table 2; channels rounded to eights as its authors do.
_MOBILE_NET_V2 = (
    (1, 8, 1, 1), (6, 8, 2, 2), (6, 16, 3, 2), (6, 24, 4, 2), (6, 32, 3, 1), (6, 56, 3, 2),
    (6, 112, 1, 1),
)  # fmt: skip


class DeepNetwork(Network):
    """What these networks need besides."""

    def bottleneck(
        self, x: Image, wide: int, channels: int, window: Window, sums: bool = True
    ) -> Image:
        """MobileNetV2's block with a kernel and a width of its own."""
        deep = x if wide == x.shape[2] else self.conv(x, wide, POINT, "RELU")
        deep = self.depthwise(deep, window, activation="RELU")
        narrow = self.conv(deep, channels, POINT)
        return self.add(narrow, x) if sums and narrow.shape == x.shape else narrow

    def spread(self, x: Image, channels: int, size: int, activation: str = "NONE") -> Image:
        """A transposed convolution, `size` taps high and wide, to twice the height and width."""
        height, width, depth = x.shape
        weights = self._weights((channels, size, size, depth), 0)
        shape = 2 * height, 2 * width, channels
        zero_point = -128 if activation == "RELU" else 7
        taps = max(size * size * depth // 4, 1)
        result = self._image(shape, x.scale * float(np.sqrt(taps)) / 2, zero_point)
        sizes = self.builder.constant(self._name("s"), np.array((1, *shape), np.int32))
        options = {
            "padding": "SAME", "stride_h": 2, "stride_w": 2,
            "fused_activation_function": activation,
        }  # fmt: skip
        operands = [sizes, weights, x.ref, self._bias(x, channels)]
        self.builder.op("TRANSPOSE_CONV", operands, [result.ref], options)
        return result

    def swish(self, x: Image) -> Image:
        """Each element times its own gate."""
        return self.scaled(x, self.gate(x))


def mobile_net_v2(size: int = 96, classes: int = 10) -> bytes:
    """The whole of it, at width 0.35."""
    model = DeepNetwork(40)
    x = model.conv(model.input(size, size, 3), 16, HALF, "RELU")
    for expansion, channels, blocks, stride in _MOBILE_NET_V2:
        for block in range(blocks):
            window = HALF if stride == 2 and block == 0 else Window()
            x = model.bottleneck(x, expansion * x.shape[2], channels, window)
    x = model.whole_mean(model.conv(x, 1280, POINT, "RELU"))
    return model.finish(model.conv(x, classes, POINT))


def squeezed_net(size: int = 64) -> bytes:
    """Inverted residual blocks, each with squeeze and excite, as MobileNetV3 has them."""
    model = DeepNetwork(41)
    x = model.conv(model.input(size, size, 3), 16, HALF, "RELU")
    for channels, stride in ((16, 2), (24, 2), (24, 1), (40, 2), (40, 1), (48, 1), (96, 2)):
        x = model.inverted(x, channels, stride, squeeze=True)
    return model.finish(model.conv(model.whole_mean(x), 10, POINT))


def u_net(size: int = 64, depth: int = 3, first: int = 8) -> bytes:
    """Two convolutions a level, skips joined by concatenations."""
    model = DeepNetwork(42)
    x, skips = model.input(size, size, 3), []
    for level in range(depth):
        x = _twice(model, x, first << level)
        skips.append(x)
        x = model.pool(x, "MAX_POOL_2D", Window((2, 2), (2, 2), padding="VALID"))
    x = _twice(model, x, first << depth)
    for skip in reversed(skips):
        up = model.conv(model.doubled(x), skip.shape[2], Window(), "RELU")
        x = _twice(model, model.joined(skip, up), skip.shape[2])
    return model.finish(model.conv(x, 2, POINT))


def autoencoder(size: int = 32) -> bytes:
    """Three convolutions down, three transposed ones up, with kernels of 2x2, 3x3 and 4x4."""
    model = DeepNetwork(45)
    x = model.input(size, size, 3)
    for channels in (16, 32, 32):
        x = model.conv(x, channels, HALF, "RELU")
    for channels, kernel in ((32, 2), (16, 3), (8, 4)):
        x = model.spread(x, channels, kernel, "RELU")
    return model.finish(model.conv(x, 3, POINT))


def _twice(model: DeepNetwork, x: Image, channels: int) -> Image:
    return model.conv(model.conv(x, channels, Window(), "RELU"), channels, Window(), "RELU")


def temporal_net(steps: int = 256, features: int = 40, channels: int = 32) -> bytes:
    """A temporal convolutional network: residual blocks whose dilation doubles."""
    model = DeepNetwork(43)
    x = model.conv(model.input(steps, 1, features), channels, POINT, "RELU")
    for dilation in (1, 2, 4, 8):
        window = Window((3, 1), dilation=(dilation, 1))
        inner = model.conv(model.conv(x, channels, window, "RELU"), channels, window, "RELU")
        x = model.add(inner, x, "RELU")
    return model.finish(model.conv(model.whole_mean(x), 12, POINT))


def transformer_mlp(tokens: int = 64, features: int = 96, blocks: int = 2) -> bytes:
    """The dense half of a transformer: four times as wide inside, swish, residual sums."""
    model = DeepNetwork(44)
    x = model.input(tokens, 1, features)
    for _ in range(blocks):
        x = model.add(model.dense(model.swish(model.dense(x, 4 * features)), features), x)
    return model.finish(x)


#: Realistic sizes first, then small ones of more kinds.
MODELS: dict[str, Callable[[], bytes]] = {
    "MobileNetV2 0.35, 96x96": mobile_net_v2,
    "squeeze and excite, 64x64": squeezed_net,
    "U-Net, 64x64": u_net,
    "autoencoder, 32x32": autoencoder,
    "temporal convolutions, 256 steps": temporal_net,
    "transformer's MLP, 64 tokens": transformer_mlp,
    **SMALL_MODELS,
}
