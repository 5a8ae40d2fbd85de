"""Random float networks, small, for what quantizes them: a chain with sums and joins beside it."""

from __future__ import annotations

import numpy as np

from benchmarks.random_draws import Generator, pick
from glowmcu.frontend.tflite.writer import ModelBuilder
from glowmcu.frontend.tflite.writer_tables import TensorRef

_CHANNELS = (1, 2, 3, 4, 5, 8, 12, 16)
_FUNCTIONS = ("RELU", "LOGISTIC", "TANH", "HARD_SWISH", "LEAKY_RELU")


class _Chain:
    def __init__(self, random: Generator) -> None:
        self.random, self.model, self.count = random, ModelBuilder(), 0
        height, width = (int(n) for n in random.integers(3, 11, 2))
        self.shape: tuple[int, ...] = (1, height, width, int(pick(random, _CHANNELS[:5])))
        self.at = self.model.input("x", self.shape, "float32")

    def result(self, shape: tuple[int, ...], kind: str) -> TensorRef:
        self.count, self.shape = self.count + 1, shape
        return self.model.tensor(f"{kind}_{self.count}", shape, "float32")

    def drawn(self, word: str, *shape: int, scale: float = 0.3) -> TensorRef:
        values = self.random.normal(0, scale, shape).astype(np.float32)
        return self.model.constant(f"{word}{self.count}_{len(shape)}", values)

    def convolution(self, is_depthwise: bool) -> None:
        _, height, width, depth = self.shape
        kernel = tuple(int(n) for n in self.random.integers(1, 4, 2))
        channels = depth if is_depthwise else int(pick(self.random, _CHANNELS))
        stride, point = int(self.random.integers(1, 3)), float(kernel[0] * kernel[1]) ** -0.5
        out = (1, -(-height // stride), -(-width // stride), channels)
        sizes = (1, *kernel, channels) if is_depthwise else (channels, *kernel, depth)
        x, w, b = self.at, self.drawn("w", *sizes, scale=point), self.drawn("b", channels)
        options: dict[str, int | str] = {
            "padding": "SAME", "stride_h": stride, "stride_w": stride,
            "fused_activation_function": str(pick(self.random, ("NONE", "RELU", "RELU6"))),
        }  # fmt: skip
        if is_depthwise:
            options["depth_multiplier"] = 1
        kind = "DEPTHWISE_CONV_2D" if is_depthwise else "CONV_2D"
        self.at = self.result(out, kind.lower())
        self.model.op(kind, [x, w, b], [self.at], options)

    def pooling(self) -> None:
        _, height, width, depth = self.shape
        kind = str(pick(self.random, ("MAX_POOL_2D", "AVERAGE_POOL_2D")))
        x, self.at = self.at, self.result((1, -(-height // 2), -(-width // 2), depth), kind.lower())
        self.model.op(kind, [x], [self.at], {
            "padding": "SAME", "stride_h": 2, "stride_w": 2, "filter_height": 2, "filter_width": 2,
        })  # fmt: skip

    def sum(self) -> None:
        x = self.at
        self.function()
        y, self.at = self.at, self.result(self.shape, "add")
        self.model.op("ADD", [x, y], [self.at], {"fused_activation_function": "NONE"})

    def function(self) -> None:
        kind = str(pick(self.random, _FUNCTIONS))
        x, self.at = self.at, self.result(self.shape, kind.lower())
        self.model.op(kind, [x], [self.at], {"alpha": 0.1} if kind == "LEAKY_RELU" else {})

    def classes(self) -> None:
        count, classes = int(np.prod(self.shape)), int(self.random.integers(2, 9))
        shape = self.model.constant("shape", np.array([1, count], np.int32))
        x, self.at = self.at, self.result((1, count), "flat")
        self.model.op("RESHAPE", [x, shape], [self.at], {})
        w, b = self.drawn("w", classes, count, scale=count**-0.5), self.drawn("b", classes)
        x, self.at = self.at, self.result((1, classes), "dense")
        self.model.op("FULLY_CONNECTED", [x, w, b], [self.at], {})
        if self.random.random() < 0.6:
            x, self.at = self.at, self.result((1, classes), "softmax")
            self.model.op("SOFTMAX", [x], [self.at], {"beta": 1.0})


def random_float_network(random: Generator) -> tuple[bytes, tuple[int, ...]]:
    """The `.tflite` file of one to five layers and perhaps a dense one, and its input's shape."""
    chain = _Chain(random)
    shape = chain.shape
    for _ in range(int(random.integers(1, 6))):
        match int(random.integers(6)):
            case 0 | 1:
                chain.convolution(is_depthwise=False)
            case 2:
                chain.convolution(is_depthwise=True)
            case 3:
                chain.pooling()
            case 4:
                chain.sum()
            case _:
                chain.function()
    if random.random() < 0.7:
        chain.classes()
    chain.model.output(chain.at)
    return chain.model.finish(), shape
