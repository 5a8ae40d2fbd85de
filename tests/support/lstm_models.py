"""Models of one LSTM or SVDF layer, as the TensorFlow Lite converter writes them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from glowmcu.frontend.tflite.writer import ModelBuilder, OptionValue
from glowmcu.frontend.tflite.writer_tables import TensorRef


@dataclass(frozen=True)
class LstmCase:
    """A layer; `cell_power`: the cell state has a scale of 2^that. `weight_scale` times the largest
    weight is how far a single input moves a gate.
    """

    batches: int = 1
    steps: int = 3
    depth: int = 5
    units: int = 4
    dtype: str = "int8"
    time_major: bool = False
    cell_clip: float = 0.0
    cell_power: int = -11
    x_zero_point: int = -7
    hidden_scale: float = 1 / 128
    hidden_zero_point: int = 3
    weight_scale: float = 0.02
    extreme: bool = False
    cell_scale: float = 0.0
    options: Mapping[str, OptionValue] = field(default_factory=dict)

    @property
    def x_shape(self) -> tuple[int, int, int]:
        """Of the input."""
        first = (self.steps, self.batches) if self.time_major else (self.batches, self.steps)
        return (*first, self.depth)


def lstm_model(case: LstmCase, seed: int = 0) -> bytes:
    """The layer alone."""
    model = ModelBuilder()
    model.output(add_lstm(model, case, np.random.default_rng([1, seed])))
    return model.finish()


def add_lstm(
    model: ModelBuilder, case: LstmCase, random: np.random.Generator, suffix: str = ""
) -> TensorRef:
    """The layer on a new input; its result. Names of all tensors end in `suffix`."""
    kind, wide = case.dtype, case.dtype == "int16"
    is_float = kind == "float32"
    points = 0 if kind != "int8" else 1
    x_scale = None if is_float else float(random.uniform(0.01, 0.03)) / (256 if wide else 1)
    h_scale = None if is_float else case.hidden_scale / (256 if wide else 1)
    cell_scale = case.cell_scale or 2.0**case.cell_power

    def weights(name: str, columns: int, scale: float) -> TensorRef:
        name, shape = name + suffix, (case.units, columns)
        if is_float:
            return model.constant(name, random.normal(0, scale * 64, shape).astype(np.float32))
        data = random.integers(-127, 128, shape)
        if case.extreme:
            data = random.choice([-128, -127, 127], shape)
        return model.constant(name, data.astype(np.int8), scale * float(random.uniform(0.5, 2)))

    def bias(name: str) -> TensorRef:
        name += suffix
        if is_float:
            return model.constant(name, random.normal(0, 1, case.units).astype(np.float32))
        dtype = np.int64 if wide else np.int32
        data = random.integers(-2000, 2000, case.units) * (256 if wide else 1)
        return model.constant(name, data.astype(dtype), 1e-4)

    def state(name: str, dtype: str, scale: float | None, zero_point: int) -> TensorRef:
        shape = (case.batches, case.units)
        return model.tensor(name + suffix, shape, dtype, scale, zero_point, is_variable=True)

    x = model.input(f"x{suffix}", case.x_shape, kind, x_scale, points * case.x_zero_point)
    inputs = [weights(f"w{gate}", case.depth, case.weight_scale) for gate in "ifgo"]
    recurrent = [weights(f"r{gate}", case.units, case.weight_scale) for gate in "ifgo"]
    biases = [bias(f"b{gate}") for gate in "ifgo"]
    hidden = state("hidden", kind, h_scale, points * case.hidden_zero_point)
    cell = state("cell", *(("float32", None) if is_float else ("int16", cell_scale)), 0)
    shape = (*case.x_shape[:2], case.units)
    y = model.tensor(f"y{suffix}", shape, kind, h_scale, points * case.hidden_zero_point)
    none = [None] * 3
    operands = [x, *inputs, *recurrent, *none, *biases, None, None, hidden, cell, *none, None]
    options = {
        "fused_activation_function": "TANH",
        "cell_clip": case.cell_clip,
        "proj_clip": 0.0,
        "time_major": case.time_major,
        **case.options,
    }
    model.op("UNIDIRECTIONAL_SEQUENCE_LSTM", operands, [y], options)
    return y


@dataclass(frozen=True)
class SvdfCase:
    """A layer; the state has `dtype`, and its scale is `narrow` times what F x can reach."""

    batches: int = 1
    depth: int = 6
    units: int = 5
    rank: int = 1
    memory: int = 4
    dtype: str = "int8"
    x_zero_point: int = -5
    state_zero_point: int = -50
    narrow: float = 0.3
    activation: str = "RELU"
    extreme: bool = False


def svdf_model(case: SvdfCase, seed: int = 0, **changes: Any) -> bytes:
    """The layer alone; `changes` are the operator's options."""
    model = ModelBuilder()
    model.output(add_svdf(model, case, np.random.default_rng([2, seed]), **changes))
    return model.finish()


def add_svdf(
    model: ModelBuilder, case: SvdfCase, random: np.random.Generator, suffix: str = "",
    **changes: Any,
) -> TensorRef:  # fmt: skip
    """The layer on a new input; its result. Names of all tensors end in `suffix`."""
    filters = case.units * case.rank
    is_float = case.dtype == "float32"
    kind = "float32" if is_float else "int8"
    f_scale, t_scale = float(random.uniform(0.005, 0.01)), float(random.uniform(0.005, 0.01))
    if case.dtype == "int16":
        t_scale /= 256
    x_scale = 0.05
    reach = x_scale * f_scale * 64 * 128 * np.sqrt(case.depth)
    limit = 32767 if case.dtype == "int16" else 127
    state_scale = float(case.narrow * reach / limit)
    y_scale = float(state_scale * t_scale * limit * np.sqrt(case.memory * case.rank) / 3)

    def scaled(scale: float, zero_point: int = 0) -> tuple[float | None, int]:
        return (None, 0) if is_float else (scale, zero_point)

    def weights(name: str, columns: int, dtype: str, scale: float) -> TensorRef:
        name, shape = name + suffix, (filters, columns)
        if is_float:
            return model.constant(name, random.normal(0, 0.5, shape).astype(np.float32))
        end = np.iinfo(dtype).max
        if case.extreme and dtype == "int8":
            data = random.choice([-128, -127, 127], shape).astype(np.int8)
            return model.constant(name, data, scale)
        return model.constant(name, random.integers(-end, end + 1, shape).astype(dtype), scale)

    x_shape = (case.batches, case.depth)
    x = model.input(f"x{suffix}", x_shape, kind, *scaled(x_scale, case.x_zero_point))
    features = weights("features", case.depth, "int8", f_scale)
    times = weights("times", case.memory, case.dtype, t_scale)
    data = random.integers(-500, 500, case.units)
    bias = model.constant(
        f"bias{suffix}", data.astype(np.float32) / 500 if is_float else data.astype(np.int32),
        *scaled(state_scale * t_scale),
    )  # fmt: skip
    state = model.tensor(
        f"state{suffix}", (case.batches, filters * case.memory), case.dtype,
        *scaled(state_scale, case.state_zero_point), is_variable=True,
    )  # fmt: skip
    y = model.tensor(f"y{suffix}", (case.batches, case.units), kind, *scaled(y_scale, -20))
    options = {"rank": case.rank, "fused_activation_function": case.activation, **changes}
    model.op("SVDF", [x, features, times, bias, state], [y], options)
    return y
