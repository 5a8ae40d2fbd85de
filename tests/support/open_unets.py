"""U-Nets whose sequence or image has an open length: (1, 4, T) or (1, 4, T, 12), T a multiple of 4.

Two layers of stride 2 lead down, and what leads up again is joined with what was there before.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

Array = npt.NDArray[Any]
CHANNELS, WIDTH, DEPTH = 4, 12, 2
#: By name: axes of the image, and whether a transposed convolution or a resize leads up.
UNETS = {
    "unet_1d": (1, True),
    "unet_1d_resized": (1, False),
    "unet_2d": (2, True),
    "unet_2d_resized": (2, False),
}


def unet_input(name: str, length: int, seed: int = 0) -> Array:
    """One of such a length."""
    shape = (1, CHANNELS, length) if UNETS[name][0] == 1 else (1, CHANNELS, length, WIDTH)
    return np.random.default_rng((seed, length)).normal(size=shape).astype(np.float32)


def unet(name: str, symbol: str = "T") -> bytes:
    """The network as a file, in which the length is called `symbol`."""
    axes, transposed = UNETS[name]
    network = _Network(axes)
    now, channels, skips = network.block("x", CHANNELS, 6, 1), 6, list[tuple[str, int]]()
    for _ in range(DEPTH):
        skips.append((now, channels))
        now, channels = network.block(now, channels, channels + 4, 2), channels + 4
    for skip, wanted in reversed(skips):
        up = network.up(now, channels, wanted) if transposed else network.resized(now)
        joined = network.add("Concat", [up, skip], axis=1)
        now = network.block(joined, (wanted if transposed else channels) + wanted, wanted, 1)
        channels = wanted
    network.add("Conv", [now, network.weights(3, channels, *[1] * axes)], "y")
    return network.finish([1, CHANNELS, symbol, *[WIDTH] * (axes - 1)])


class _Network:
    def __init__(self, axes: int) -> None:
        self._onnx = pytest.importorskip("onnx", reason="pip install onnx")
        self._axes = axes
        self._nodes: list[Any] = []
        self._constants: dict[str, Array] = {}

    def add(self, kind: str, inputs: list[str], name: str = "", **more: object) -> str:
        name = name or f"v{len(self._nodes)}"
        self._nodes.append(self._onnx.helper.make_node(kind, inputs, [name], **more))
        return name

    def weights(self, *shape: int) -> str:
        drawn = np.random.default_rng((len(self._constants), *shape)).normal(0, 0.3, shape)
        return self._constant(drawn.astype(np.float32))

    def block(self, x: str, channels: int, made: int, stride: int) -> str:
        """A convolution 3 wide and a ReLU."""
        kernel = self.weights(made, channels, *[3] * self._axes)
        more = {"strides": [stride] * self._axes, "pads": [1] * 2 * self._axes}
        return self.add("Relu", [self.add("Conv", [x, kernel, self.weights(made)], **more)])

    def up(self, x: str, channels: int, made: int) -> str:
        kernel = self.weights(channels, made, *[2] * self._axes)
        return self.add("ConvTranspose", [x, kernel], strides=[2] * self._axes)

    def resized(self, x: str) -> str:
        scales = self._constant(np.array([1, 1, *[2] * self._axes], np.float32))
        words = {"mode": "nearest", "nearest_mode": "floor"}
        return self.add("Resize", [x, "", scales], **words,
                        coordinate_transformation_mode="asymmetric")  # fmt: skip

    def finish(self, shape: list[int | str]) -> bytes:
        helper, numpy_helper = self._onnx.helper, self._onnx.numpy_helper
        float_ = self._onnx.TensorProto.FLOAT
        graph = helper.make_graph(
            self._nodes, "unet", [helper.make_tensor_value_info("x", float_, shape)],
            [helper.make_tensor_value_info("y", float_, None)],
            [numpy_helper.from_array(data, name) for name, data in self._constants.items()],
        )  # fmt: skip
        opset = [helper.make_opsetid("", 17)]
        made = helper.make_model(graph, opset_imports=opset, ir_version=8)
        data: bytes = made.SerializeToString()
        return data

    def _constant(self, data: Array) -> str:
        name = f"c{len(self._constants)}"
        self._constants[name] = data
        return name
