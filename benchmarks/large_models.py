"""Networks of megabytes, with random weights: what compilation has to cope with in time and memory.

Published layer tables. Nobody runs all of these on a microcontroller; compiling them must not be
what tells so.
"""

from __future__ import annotations

from benchmarks.foreign_models import HALF, POINT, DeepNetwork
from tests.memplan.spatial_models import Image, Window

#: MobileNetV2 at width 1.0: expansion, channels, blocks, stride of the first.
#: Source: Sandler et al., MobileNetV2, table 2.
_MOBILE_NET_V2 = (
    (1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2),
    (6, 320, 1, 1),
)  # fmt: skip
#: Channels inside the bottlenecks of each of the stages, and how many blocks these have.
_RES_NET_26 = ((64, 2), (128, 2), (256, 2), (512, 2))


def mobile_net_v2(size: int = 224, classes: int = 1000) -> bytes:
    """The whole of it: 3.5 MB of weights in 64 layers."""
    model = DeepNetwork(50)
    x = model.conv(model.input(size, size, 3), 32, HALF, "RELU")
    for expansion, channels, blocks, stride in _MOBILE_NET_V2:
        for block in range(blocks):
            window = HALF if stride == 2 and block == 0 else Window()
            x = model.bottleneck(x, expansion * x.shape[2], channels, window)
    x = model.whole_mean(model.conv(x, 1280, POINT, "RELU"))
    return model.finish(model.conv(x, classes, POINT))


def res_net_26(size: int = 224, classes: int = 1000) -> bytes:
    """A residual network of bottlenecks, 26 layers deep: 16 MB of weights.

    Source: He et al., Deep Residual Learning, with two blocks in each stage.
    """
    model = DeepNetwork(51)
    x = model.conv(model.input(size, size, 3), 64, Window((7, 7), (2, 2)), "RELU")
    x = model.pool(x, "MAX_POOL_2D", Window(stride=(2, 2)))
    for stage, (inside, blocks) in enumerate(_RES_NET_26):
        for block in range(blocks):
            stride = 2 if stage > 0 and block == 0 else 1
            x = _residual(model, x, inside, stride)
    return model.finish(model.conv(model.whole_mean(x), classes, POINT))


def _residual(model: DeepNetwork, x: Image, inside: int, stride: int) -> Image:
    """A bottleneck and its shortcut, which a convolution brings to the result's shape."""
    y = model.conv(x, inside, POINT, "RELU")
    y = model.conv(y, inside, Window(stride=(stride, stride)), "RELU")
    y = model.conv(y, 4 * inside, POINT)
    if x.shape != y.shape:
        x = model.conv(x, 4 * inside, Window((1, 1), (stride, stride)))
    return model.add(y, x, "RELU")
