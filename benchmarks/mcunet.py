"""MCUNet's network for visual wake words, from its published table of layers.

Source: `mcunet-5fps_vww` of the MCUNet model zoo (github.com/mit-han-lab/mcunet), layer sizes as in
the code that TinyEngine generates for it, whose buffers are 93,992 B. Weights are random here:
arenas, cycles and multiply-accumulates do not depend on them.
"""

from __future__ import annotations

import numpy as np

from benchmarks.foreign_models import HALF, POINT, DeepNetwork
from tests.memplan.spatial_models import Image, Window

SIZE = 80
#: Of each inverted residual block: channels inside, kernel, stride, channels of the result.
BLOCKS = (
    (48, 3, 2, 16), (48, 3, 1, 16), (48, 3, 1, 16), (48, 7, 2, 24), (144, 3, 1, 24),
    (120, 5, 1, 24), (144, 7, 2, 40), (240, 7, 1, 40), (240, 3, 1, 48), (192, 3, 1, 48),
    (240, 5, 2, 96), (480, 3, 1, 96), (384, 3, 1, 96), (288, 7, 1, 160),
)  # fmt: skip


class _Padded(DeepNetwork):
    """Strided windows lie on images with as many zeros before as behind, as PyTorch pads them."""

    def depthwise(
        self, x: Image, window: Window, multiplier: int = 1, activation: str = "NONE"
    ) -> Image:
        if window.stride == (1, 1):
            return super().depthwise(x, window, multiplier, activation)
        x, window = self.padded(x, window)
        return super().depthwise(x, window, multiplier, activation)

    def padded(self, x: Image, window: Window) -> tuple[Image, Window]:
        """The image between zeros, and the same window without padding of its own."""
        (height, width, channels), (rows, columns) = x.shape, window.kernel
        before = (rows // 2, columns // 2)
        size = (height + 2 * before[0], width + 2 * before[1], channels)
        result = self._image(size, x.scale, x.zero_point)
        zeros = np.array([[0, 0], *([count, count] for count in before), [0, 0]], np.int32)
        paddings = self.builder.constant(self._name("p"), zeros)
        self.builder.op("PAD", [x.ref, paddings], [result.ref])
        return result, Window(window.kernel, window.stride, padding="VALID")


def mcunet_vww(chain: bool = False) -> bytes:
    """The file: int8, two classes. `chain`: neither residual sums nor what follows the last block,
    as msf-CNN's analysis has the network.
    """
    model = _Padded(45)
    image, window = model.padded(model.input(SIZE, SIZE, 3), HALF)
    x = model.bottleneck(model.conv(image, 16, window, "RELU"), 16, 8, Window())
    for wide, kernel, stride, channels in BLOCKS:
        window = Window((kernel, kernel), (stride, stride))
        x = model.bottleneck(x, wide, channels, window, sums=not chain)
    return model.finish(x if chain else model.conv(model.whole_mean(x), 2, POINT))
