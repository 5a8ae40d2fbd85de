"""Random networks of variables: queues in front of windows, sums over time, values of one run ago.

Made as the TensorFlow Lite converter makes them: handles, reads and assignments, and a second
subgraph that CALL_ONCE runs.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from glowmcu.frontend.tflite.writer import ModelBuilder
from glowmcu.frontend.tflite.writer_tables import TensorRef

_SCALE = 0.05


@dataclass
class Signal:
    """A tensor of int8[1, rows, 1, channels]."""

    ref: TensorRef
    rows: int
    channels: int
    zero_point: int = 0


@dataclass
class StreamModel:
    """A model in the making; `begins` says whether CALL_ONCE sets the variables."""

    seed: int
    begins: bool = True
    builder: ModelBuilder = field(default_factory=ModelBuilder)

    def __post_init__(self) -> None:
        self.random = np.random.default_rng([3, self.seed])
        self._count = 0
        self._initial: list[tuple[str, npt.NDArray[Any], int]] = []
        if self.begins:
            self._once, number = self.builder.subgraph("NoOp")
            self.builder.op("CALL_ONCE", [], [], {"init_subgraph_index": number})

    def finish(self) -> bytes:
        """The file."""
        for name, data, zero_point in self._initial if self.begins else ():
            handle = self._handle(self._once, name)
            value = self._once.constant(f"{name}/initial", data, _SCALE, zero_point)
            self._once.op("ASSIGN_VARIABLE", [handle, value], [])
        return self.builder.finish()

    def name(self, word: str) -> str:
        """One that nothing else has."""
        self._count += 1
        return f"{word}_{self._count}"

    def tensor(self, word: str, rows: int, channels: int, zero_point: int = 0) -> Signal:
        """A result."""
        shape = [1, rows, 1, channels]
        ref = self.builder.tensor(self.name(word), shape, "int8", _SCALE, zero_point)
        return Signal(ref, rows, channels, zero_point)

    def input(self, rows: int, channels: int, zero_point: int = 0) -> Signal:
        """What comes new in every run."""
        ref = self.builder.input(self.name("x"), [1, rows, 1, channels], "int8", _SCALE, zero_point)
        return Signal(ref, rows, channels, zero_point)

    @staticmethod
    def _handle(builder: ModelBuilder, name: str) -> TensorRef:
        handle = builder.tensor(f"{name}/handle", [], "resource")
        builder.op("VAR_HANDLE", [], [handle], {"shared_name": name})
        return handle

    def variable(self, rows: int, channels: int, zero_point: int = 0) -> tuple[TensorRef, Signal]:
        """A handle and what the run before left."""
        name = self.name("state")
        data = self.random.integers(-128, 128, (1, rows, 1, channels)).astype(np.int8)
        if self.random.random() < 0.5:
            data[:] = zero_point
        self._initial.append((name, data, zero_point))
        handle = self._handle(self.builder, name)
        return handle, self.read(handle, rows, channels, zero_point)

    def read(self, handle: TensorRef, rows: int, channels: int, zero_point: int = 0) -> Signal:
        """The variable as it is now."""
        value = self.tensor("read", rows, channels, zero_point)
        self.builder.op("READ_VARIABLE", [handle], [value.ref])
        return value

    def assign(self, handle: TensorRef, value: Signal) -> None:
        """The variable is this from now on."""
        self.builder.op("ASSIGN_VARIABLE", [handle, value.ref], [])

    def rows(self, x: Signal, first: int, count: int) -> Signal:
        """Some of the rows."""
        result = self.tensor("rows", count, x.channels, x.zero_point)
        ends = np.array([[0, first, 0, 0], [1, first + count, 1, x.channels], [1] * 4], np.int32)
        constants = [self.builder.constant(self.name("c"), item) for item in ends]
        self.builder.op("STRIDED_SLICE", [x.ref, *constants], [result.ref], {})
        return result

    def queue(self, x: Signal, kept: int) -> Signal:
        """The newest `kept` rows of before and the new ones."""
        handle, old = self.variable(kept, x.channels, x.zero_point)
        window = self.tensor("window", kept + x.rows, x.channels, x.zero_point)
        self.builder.op("CONCATENATION", [old.ref, x.ref], [window.ref], {"axis": 1})
        self.assign(handle, self.rows(window, x.rows, kept))
        return window

    def depthwise(self, x: Signal, taps: int) -> Signal:
        """Each channel by itself, over the last so many rows."""
        shape = (1, taps, 1, x.channels)
        weights = self.random.integers(-127, 128, shape).astype(np.int8)
        scales = [0.01 + 0.001 * i for i in range(x.channels)]
        w = self.builder.constant(self.name("w"), weights, scales, 0, 3)
        b = self.builder.constant(
            self.name("b"), self.random.integers(-500, 500, x.channels).astype(np.int32),
            [_SCALE * scale for scale in scales], 0, 0,
        )  # fmt: skip
        result = self.tensor("depthwise", x.rows - taps + 1, x.channels, 3)
        options = {"padding": "VALID", "stride_w": 1, "stride_h": 1, "depth_multiplier": 1}
        self.builder.op("DEPTHWISE_CONV_2D", [x.ref, w, b], [result.ref], options)
        return result

    def conv(self, x: Signal, taps: int, channels: int) -> Signal:
        """All channels, over so many rows."""
        shape = (channels, taps, 1, x.channels)
        weights = self.random.integers(-127, 128, shape).astype(np.int8)
        w = self.builder.constant(self.name("w"), weights, 0.004, 0)
        b = self.builder.constant(
            self.name("b"), self.random.integers(-500, 500, channels).astype(np.int32),
            _SCALE * 0.004, 0,
        )  # fmt: skip
        result = self.tensor("conv", x.rows - taps + 1, channels, -128)
        options = {"padding": "VALID", "stride_w": 1, "stride_h": 1,
                   "fused_activation_function": "RELU"}  # fmt: skip
        self.builder.op("CONV_2D", [x.ref, w, b], [result.ref], options)
        return result

    def add(self, a: Signal, b: Signal) -> Signal:
        """The sum."""
        result = self.tensor("add", a.rows, a.channels, a.zero_point)
        self.builder.op("ADD", [a.ref, b.ref], [result.ref], {})
        return result

    def running(self, x: Signal) -> Signal:
        """A sum or a maximum of all that ever came."""
        handle, old = self.variable(x.rows, x.channels, x.zero_point)
        if self.random.random() < 0.5:
            result = self.add(old, x)
        else:
            result = self.tensor("most", x.rows, x.channels, x.zero_point)
            self.builder.op("MAXIMUM", [old.ref, x.ref], [result.ref], {})
        self.assign(handle, result)
        if self.random.random() < 0.5:
            return self.read(handle, x.rows, x.channels, x.zero_point)
        return result

    def delayed(self, x: Signal) -> Signal:
        """What came one run ago, and what comes now."""
        handle, old = self.variable(x.rows, x.channels, x.zero_point)
        self.assign(handle, x)
        return self.add(old, x)

    def exchanged(self, x: Signal) -> Signal:
        """Two variables of which each becomes the other's sum with what comes."""
        one, first = self.variable(x.rows, x.channels, x.zero_point)
        other, second = self.variable(x.rows, x.channels, x.zero_point)
        self.assign(one, second)
        self.assign(other, self.add(first, x))
        return self.add(first, second)

    def halves(self, x: Signal, kept: int) -> Signal:
        """A queue whose channels go apart, with windows of two lengths (MixConv)."""
        window = self.queue(x, kept)
        half = x.channels // 2
        parts = [self.tensor("half", window.rows, half, window.zero_point) for _ in range(2)]
        sizes = self.builder.constant(self.name("c"), np.array([half, half], np.int32))
        axis = self.builder.constant(self.name("c"), np.array(3, np.int32))
        self.builder.op("SPLIT_V", [window.ref, sizes, axis], [p.ref for p in parts],
                        {"num_splits": 2})  # fmt: skip
        short = self.rows(parts[0], 1, window.rows - 1)
        made = [self.depthwise(short, kept - 1), self.depthwise(parts[1], kept)]
        result = self.tensor("joined", made[0].rows, x.channels, 3)
        self.builder.op("CONCATENATION", [p.ref for p in made], [result.ref], {"axis": 3})
        return result


def random_stream_model(seed: int) -> bytes:
    """One to five layers, of which most remember."""
    model = StreamModel(seed, begins=seed % 4 != 3)
    random = model.random
    x = model.input(int(random.integers(1, 4)), 4 * int(random.integers(1, 5)))
    for _ in range(int(random.integers(1, 6))):
        kind = int(random.integers(7))
        if kind == 0:
            x = model.conv(model.queue(x, taps := int(random.integers(1, 6))), taps + 1, 8)
        elif kind == 1:
            x = model.depthwise(model.queue(x, taps := int(random.integers(1, 9))), taps + 1)
        elif kind == 2:
            x = model.running(x)
        elif kind == 3:
            x = model.delayed(x)
        elif kind == 4:
            x = model.exchanged(x)
        elif kind == 5:
            x = model.halves(x, int(random.integers(2, 7)))
        else:
            x = model.conv(x, 1, 4 * int(random.integers(1, 5)))
    model.builder.output(x.ref)
    return model.finish()
