"""One-dimensional models as Keras writes them: `(1, time, channels)`, a single row for each layer.

CONV_2D and DEPTHWISE_CONV_2D lie on `(1, 1, time, channels)`, poolings stand on
`(1, time, 1, channels)`; padding, sums, joints and means see three axes. Reshapes lie between them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from hypothesis import strategies as st

from glowmcu.frontend.tflite.writer import ModelBuilder


@dataclass(frozen=True, eq=False)
class Sequence:
    """A tensor `(1, steps, channels)` of the model."""

    ref: Any
    steps: int
    channels: int
    scale: float
    zero_point: int


@dataclass(frozen=True)
class Slide:
    """What a layer slides over the steps."""

    kernel: int = 3
    stride: int = 1
    dilation: int = 1
    padding: str = "SAME"

    def count(self, steps: int) -> int:
        """Steps of the result; below 1 where the window does not fit."""
        if self.padding == "SAME":
            return -(-steps // self.stride)
        return (steps - (self.kernel - 1) * self.dilation - 1) // self.stride + 1


@dataclass
class SequenceModel:
    """Builds a model operator by operator; int16 activations where `wide`."""

    seed: int = 0
    wide: bool = False
    builder: ModelBuilder = field(default_factory=ModelBuilder)

    def __post_init__(self) -> None:
        self._random = np.random.default_rng(self.seed)
        self._count = 0

    def input(self, steps: int, channels: int, row: bool = False) -> Sequence:
        """From the application; as an image of one `row`, or a list."""
        name, zero_point = self._name("x"), 0 if self.wide else -3
        shape = (1, 1, steps, channels) if row else (1, steps, channels)
        scale = 1 / 64 if not self.wide else 1 / 4096
        x = Sequence(
            self.builder.input(name, shape, self._type, scale, zero_point),
            steps, channels, scale, zero_point,
        )  # fmt: skip
        return self._reshaped(x, x.ref, (1, steps, channels)) if row else x

    def conv(self, x: Sequence, channels: int, slide: Slide, activation: str = "NONE") -> Sequence:
        """Every channel from all."""
        shape = (channels, 1, slide.kernel, x.channels)
        return self._layer("CONV_2D", x, channels, slide, activation, shape, 0)

    def depthwise(self, x: Sequence, slide: Slide, activation: str = "NONE") -> Sequence:
        """Every channel from one."""
        shape = (1, 1, slide.kernel, x.channels)
        return self._layer("DEPTHWISE_CONV_2D", x, x.channels, slide, activation, shape, 3)

    def causal(
        self, x: Sequence, channels: int, slide: Slide, activation: str = "NONE"
    ) -> Sequence:
        """A convolution that sees no later steps: zeros in front, then windows inside."""
        padded = self.pad(x, (slide.kernel - 1) * slide.dilation)
        return self.conv(padded, channels, replace(slide, padding="VALID"), activation)

    def pad(self, x: Sequence, before: int) -> Sequence:
        """Zeros in front."""
        paddings = np.array([[0, 0], [before, 0], [0, 0]], np.int32)
        result = self._result((1, x.steps + before, x.channels), x.scale, x.zero_point)
        self.builder.op("PAD", [x.ref, self.builder.constant(self._name("p"), paddings)],
                        [result.ref])  # fmt: skip
        return result

    def pool(self, x: Sequence, size: int, kind: str = "MAX_POOL_2D") -> Sequence:
        """Windows of `size` steps side by side."""
        column = self._reshape(x.ref, (1, x.steps, 1, x.channels), x)
        shape = (1, x.steps // size, 1, x.channels)
        result = self._result(shape, x.scale, x.zero_point)
        options = {"padding": "VALID", "stride_h": size, "stride_w": 1, "filter_height": size,
                   "filter_width": 1}  # fmt: skip
        self.builder.op(kind, [column], [result.ref], options)
        return self._reshaped(result, result.ref, (1, x.steps // size, x.channels))

    def add(self, a: Sequence, b: Sequence, activation: str = "NONE") -> Sequence:
        """The sum."""
        zero_point = self._zero_point(activation, 5)
        scale = float(np.hypot(a.scale, b.scale))
        result = self._result((1, a.steps, a.channels), scale, zero_point)
        options = {"fused_activation_function": activation}
        self.builder.op("ADD", [a.ref, b.ref], [result.ref], options)
        return result

    def join(self, *parts: Sequence) -> Sequence:
        """Channels side by side, of one quantization."""
        channels = sum(part.channels for part in parts)
        first = parts[0]
        result = self._result((1, first.steps, channels), first.scale, first.zero_point)
        self.builder.op("CONCATENATION", [part.ref for part in parts], [result.ref], {"axis": 2})
        return result

    def mean(self, x: Sequence) -> Sequence:
        """Of each channel, `(1, channels)`."""
        result = self._result((1, x.channels), x.scale / 2, 0)
        axes = self.builder.constant(self._name("a"), np.array([1], np.int32))
        self.builder.op("MEAN", [x.ref, axes], [result.ref], {"keep_dims": False})
        return replace(result, steps=1, channels=x.channels)

    def finish(self, *outputs: Sequence) -> bytes:
        """The file."""
        for item in outputs:
            self.builder.output(item.ref)
        return self.builder.finish()

    @property
    def _type(self) -> str:
        return "int16" if self.wide else "int8"

    def _layer(
        self, kind: str, x: Sequence, channels: int, slide: Slide, activation: str,
        shape: tuple[int, ...], axis: int,
    ) -> Sequence:  # fmt: skip
        row = self._reshape(x.ref, (1, 1, x.steps, x.channels), x)
        values = self._random.integers(-100, 101, shape).astype(np.int8)
        scales = [float(2.0 ** -(7 + i % 2)) for i in range(channels)]
        points = [0] * channels
        weights = self.builder.constant(self._name("w"), values, scales, points, axis)
        sums = np.int64 if self.wide else np.int32
        bias = self.builder.constant(
            self._name("b"), self._random.integers(-500, 500, channels).astype(sums),
            [x.scale * scale for scale in scales], points,
        )  # fmt: skip
        steps = slide.count(x.steps)
        assert steps > 0, (x.steps, slide)
        taps = int(np.prod(shape)) // channels
        zero_point = self._zero_point(activation, int(self._random.integers(-20, 20)))
        scale = x.scale * float(np.sqrt(taps)) / 2
        result = self._result((1, 1, steps, channels), scale, zero_point)
        options = {"padding": slide.padding, "stride_h": 1, "stride_w": slide.stride,
                   "dilation_h_factor": 1, "dilation_w_factor": slide.dilation,
                   "fused_activation_function": activation}  # fmt: skip
        if kind == "DEPTHWISE_CONV_2D":
            options["depth_multiplier"] = 1
        self.builder.op(kind, [row, weights, bias], [result.ref], options)
        return self._reshaped(result, result.ref, (1, steps, channels))

    def _zero_point(self, activation: str, usual: int) -> int:
        if self.wide:
            return 0
        return -128 if activation == "RELU" else usual

    def _result(self, shape: tuple[int, ...], scale: float, zero_point: int) -> Sequence:
        assert min(shape) > 0, shape
        ref = self.builder.tensor(self._name("t"), shape, self._type, scale, zero_point)
        return Sequence(ref, shape[1], shape[-1], scale, zero_point)

    def _reshape(self, ref: Any, shape: tuple[int, ...], like: Sequence) -> Any:
        result = self._result(shape, like.scale, like.zero_point)
        target = self.builder.constant(self._name("s"), np.array(shape, np.int32))
        self.builder.op("RESHAPE", [ref, target], [result.ref])
        return result.ref

    def _reshaped(self, like: Sequence, ref: Any, shape: tuple[int, int, int]) -> Sequence:
        made = self._reshape(ref, shape, like)
        return Sequence(made, shape[1], shape[2], like.scale, like.zero_point)

    def _name(self, stem: str) -> str:
        self._count += 1
        return f"{stem}{self._count}"


_POINT = Slide(1)


def temporal_network(steps: int = 256, channels: int = 16, blocks: int = 5) -> bytes:
    """A TCN: residual blocks of causal convolutions, twice as dilated each."""
    model = SequenceModel(1)
    x = model.causal(model.input(steps, 6), channels, Slide(), "RELU")
    for block in range(blocks):
        slide = Slide(dilation=2**block)
        inner = model.causal(model.causal(x, channels, slide, "RELU"), channels, slide)
        x = model.add(inner, x, "RELU")
    return model.finish(model.mean(x))


def residual_network(steps: int = 512, channels: int = 16) -> bytes:
    """A ResNet of one dimension, with a pooling as its own column."""
    model = SequenceModel(2)
    x = model.conv(model.input(steps, 1), channels, Slide(7, 2), "RELU")
    x = model.pool(x, 2)
    for width, stride in ((channels, 1), (2 * channels, 2), (4 * channels, 2)):
        inner = model.conv(x, width, Slide(3, stride), "RELU")
        short = x if stride == 1 else model.conv(x, width, Slide(1, stride))
        x = model.add(model.conv(inner, width, Slide()), short, "RELU")
        inner = model.conv(model.conv(x, width, Slide(), "RELU"), width, Slide())
        x = model.add(inner, x, "RELU")
    return model.finish(model.mean(x))


def separable_network(steps: int = 200, channels: int = 32) -> bytes:
    """Depthwise and pointwise convolutions on frames of ten features."""
    model = SequenceModel(3)
    x = model.conv(model.input(steps, 10), channels, Slide(5, 2), "RELU")
    for stride in (1, 1, 2, 1):
        x = model.conv(model.depthwise(x, Slide(5, stride), "RELU"), channels, _POINT, "RELU")
    return model.finish(model.mean(x))


def joined_branches() -> bytes:
    """Windows of several sizes side by side; the input is an image of one row."""
    model = SequenceModel(4)
    x = model.conv(model.input(60, 3, row=True), 8, Slide(), "RELU")
    pooled = model.pool(x, 2, "AVERAGE_POOL_2D")
    wide = model.join(pooled, model.pool(x, 2))
    return model.finish(model.conv(wide, 5, Slide(5, padding="VALID")))


#: Realistic ones: their figures stand in docs/memory.md.
NETWORKS: dict[str, Callable[[], bytes]] = {
    "temporal convolutions": temporal_network,
    "residual blocks": residual_network,
    "separable convolutions": separable_network,
}
SMALL: dict[str, Callable[[], bytes]] = {
    "temporal convolutions": lambda: temporal_network(40, 6, 3),
    "residual blocks": lambda: residual_network(64, 4),
    "separable convolutions": lambda: separable_network(40, 6),
    "joined branches": joined_branches,
}


@dataclass
class _Drawer:
    """Adds operators to a model as Hypothesis wishes."""

    draw: st.DrawFn
    model: SequenceModel
    made: list[Sequence]

    def step(self) -> None:
        kind = self.draw(st.sampled_from(_STEPS))
        x = self.made[-min(self.draw(st.sampled_from([1, 1, 1, 2])), len(self.made))]
        self.made.append(getattr(self, kind)(x))

    def _slide(self, x: Sequence) -> Slide:
        slide = Slide(
            self.draw(st.sampled_from([1, 2, 3, 3, 5])),
            self.draw(st.sampled_from([1, 1, 1, 2, 3])),
            self.draw(st.sampled_from([1, 1, 2, 3])),
            self.draw(st.sampled_from(["SAME", "VALID"])),
        )
        return slide if slide.count(x.steps) > 0 else replace(slide, padding="SAME")

    def conv(self, x: Sequence) -> Sequence:
        activation = self.draw(st.sampled_from(["NONE", "RELU"]))
        return self.model.conv(x, self.draw(st.integers(1, 10)), self._slide(x), activation)

    def depthwise(self, x: Sequence) -> Sequence:
        return self.model.depthwise(x, self._slide(x))

    def causal(self, x: Sequence) -> Sequence:
        slide = Slide(self.draw(st.integers(2, 4)), 1, self.draw(st.integers(1, 4)))
        return self.model.causal(x, self.draw(st.integers(1, 9)), slide)

    def residual(self, x: Sequence) -> Sequence:
        inner = self.model.causal(x, x.channels, Slide(dilation=self.draw(st.integers(1, 3))))
        return self.model.add(inner, x)

    def pool(self, x: Sequence) -> Sequence:
        kind = self.draw(st.sampled_from(["MAX_POOL_2D", "AVERAGE_POOL_2D"]))
        return self.model.pool(x, self.draw(st.integers(1, min(3, x.steps))), kind)

    def join(self, x: Sequence) -> Sequence:
        return self.model.join(x, self.model.pool(x, 1))


_STEPS = ["conv", "conv", "depthwise", "causal", "residual", "residual", "pool", "join"]


@st.composite
def sequence_models(draw: st.DrawFn) -> bytes:
    """Chains, residual blocks, joints; a mean or a sequence at the end."""
    model = SequenceModel(draw(st.integers(0, 99)))
    x = model.input(draw(st.integers(5, 40)), draw(st.integers(1, 6)), draw(st.booleans()))
    drawer = _Drawer(draw, model, [x])
    for _ in range(draw(st.integers(1, 7))):
        drawer.step()
    last = drawer.made[-1]
    return model.finish(model.mean(last) if draw(st.booleans()) else last)
