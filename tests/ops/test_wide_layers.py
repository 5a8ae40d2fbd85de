"""Layers with int16 activations and int8 weights equal TensorFlow Lite Micro."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pytest

from glowmcu.compilation import Options
from glowmcu.errors import GlowmcuError
from glowmcu.frontend.tflite.writer import ModelBuilder
from glowmcu.pipeline import compile_model
from tests.support.check_model import check_model
from tests.support.oracle import run_tflm

Weights = npt.NDArray[np.int8]


@dataclass(frozen=True)
class Case:
    """`kernel` is empty for FULLY_CONNECTED; `bias` is its dtype, or empty for none."""

    kind: str
    shape: tuple[int, ...]
    depth_out: int
    kernel: tuple[int, ...] = ()
    stride: int = 1
    dilation: int = 1
    padding: str = "SAME"
    groups: int = 1
    bias: str = "int64"
    per_channel: bool = True
    activation: str = "NONE"
    scale: float = 1e-3
    out_scale: float = 2e-2
    weights: int | None = None
    largest_bias: int = 10**6
    bias_type: str = ""
    zero_points: tuple[int, int, int] = (0, 0, 0)

    @property
    def weights_shape(self) -> tuple[int, ...]:
        if self.kind == "DEPTHWISE_CONV_2D":
            return (1, *self.kernel, self.depth_out)
        return (self.depth_out, *self.kernel, self.shape[-1] // self.groups)

    @property
    def out_shape(self) -> tuple[int, ...]:
        if not self.kernel:
            return (*self.shape[:-1], self.depth_out)
        extents = [(taps - 1) * self.dilation + 1 for taps in self.kernel]
        sizes = zip(self.shape[1:3], extents, strict=True)
        if self.kind == "TRANSPOSE_CONV":
            longer = [0 if self.padding == "SAME" else max(e - self.stride, 0) for e in extents]
            image = [n * self.stride + m for n, m in zip(self.shape[1:3], longer, strict=True)]
        elif self.padding == "SAME":
            image = [-(-size // self.stride) for size, _ in sizes]
        else:
            image = [(size - extent) // self.stride + 1 for size, extent in sizes]
        return (self.shape[0], *image, self.depth_out)


CONV = {
    "one pixel, one channel": Case("CONV_2D", (1, 1, 1, 1), 1, (1, 1)),
    "1x1, four channels out": Case("CONV_2D", (1, 3, 3, 5), 4, (1, 1)),
    "seven channels, stride 2, batch of two": Case("CONV_2D", (2, 5, 6, 3), 7, (3, 2), 2),
    "dilation 2": Case("CONV_2D", (1, 7, 8, 2), 5, (3, 3), dilation=2),
    "two groups, valid": Case("CONV_2D", (1, 4, 4, 6), 8, (3, 3), groups=2, padding="VALID"),
    "int32 bias": Case("CONV_2D", (1, 3, 4, 3), 6, (2, 2), bias="int32"),
    "int32 bias, scale above 1": Case(
        "CONV_2D", (1, 3, 4, 3), 6, (2, 2), bias="int32", out_scale=1e-6
    ),
    "no bias": Case("CONV_2D", (1, 3, 4, 3), 6, (2, 2), bias=""),
    "no bias, int32 sums": Case("CONV_2D", (1, 3, 4, 3), 6, (2, 2), bias="", bias_type="INT32"),
    "one scale for all weights": Case("CONV_2D", (1, 3, 4, 3), 6, (2, 2), per_channel=False),
    "relu": Case("CONV_2D", (1, 3, 4, 3), 6, (2, 2), activation="RELU"),
    "relu6": Case("CONV_2D", (1, 3, 4, 3), 6, (2, 2), activation="RELU6", out_scale=2e-4),
    "a bias beyond int32": Case(
        "CONV_2D", (1, 3, 4, 3), 6, (2, 2), largest_bias=2**40, out_scale=1e4
    ),
    "weights all -128, 1152 taps: beyond int32": Case(
        "CONV_2D", (1, 3, 3, 128), 5, (3, 3), weights=-128, out_scale=0.9
    ),
    "weights all 127, rows of 600 taps": Case(
        "CONV_2D", (1, 1, 3, 200), 4, (1, 3), weights=127, padding="VALID", out_scale=0.3
    ),
    "scale just below 128": Case(
        "CONV_2D", (1, 2, 2, 2), 3, (1, 1), per_channel=False, scale=1.0,
        out_scale=0.02 / 127.9, largest_bias=3,
    ),
    "scale of exactly 1/2": Case(
        "CONV_2D", (1, 3, 3, 2), 3, (1, 1), per_channel=False, scale=1.0, out_scale=0.04, bias=""
    ),
    "tiny scale": Case("CONV_2D", (1, 3, 4, 3), 6, (2, 2), out_scale=900.0),
    "vanishing scale": Case("CONV_2D", (1, 3, 4, 3), 6, (2, 2), scale=1e-9, out_scale=1e5),
}  # fmt: skip
DEPTHWISE = {
    "multiplier 1, seven channels": Case("DEPTHWISE_CONV_2D", (1, 4, 4, 7), 7, (3, 3)),
    "multiplier 5, stride 2": Case("DEPTHWISE_CONV_2D", (2, 5, 4, 3), 15, (3, 3), 2),
    "one channel to eight, valid": Case(
        "DEPTHWISE_CONV_2D", (1, 6, 5, 1), 8, (3, 3), 1, 2, "VALID"
    ),
    "no bias, relu": Case("DEPTHWISE_CONV_2D", (1, 4, 4, 4), 4, (2, 3), bias="", activation="RELU"),
    "511 taps of -128": Case("DEPTHWISE_CONV_2D", (1, 2, 600, 1), 1, (2, 511), weights=-128),
}
DENSE = {
    "one input, one output": Case("FULLY_CONNECTED", (1, 1), 1),
    "three rows, five outputs": Case("FULLY_CONNECTED", (3, 17), 5),
    "rank 4": Case("FULLY_CONNECTED", (2, 1, 3, 8), 4),
    "int32 bias": Case("FULLY_CONNECTED", (2, 8), 6, bias="int32"),
    "int32 bias, one scale": Case("FULLY_CONNECTED", (2, 8), 6, bias="int32", per_channel=False),
    "no bias, relu": Case("FULLY_CONNECTED", (2, 8), 6, bias="", activation="RELU"),
    "no bias, int32 sums": Case("FULLY_CONNECTED", (9, 8), 6, bias="", bias_type="INT32"),
    "511 inputs": Case("FULLY_CONNECTED", (1, 511), 4, weights=-128),
    "512 inputs: beyond int32": Case("FULLY_CONNECTED", (1, 512), 5, weights=-128),
    "1300 inputs, one scale": Case("FULLY_CONNECTED", (1, 1300), 9, per_channel=False),
}
TRANSPOSED = {
    "stride 2, same": Case("TRANSPOSE_CONV", (1, 3, 4, 2), 5, (3, 3), 2),
    "stride 2, valid, batch of two": Case("TRANSPOSE_CONV", (2, 3, 2, 3), 4, (2, 3), 2, 1, "VALID"),
    "kernel smaller than the stride, no bias": Case(
        "TRANSPOSE_CONV", (1, 3, 3, 2), 3, (1, 2), 3, bias=""
    ),
    "600 channels": Case("TRANSPOSE_CONV", (1, 2, 1, 600), 5, (2, 1), 1, out_scale=0.9),
}
LAYERS = {
    f"{kind}, {name}": case
    for kind, cases in (
        ("conv", CONV),
        ("depthwise", DEPTHWISE),
        ("dense", DENSE),
        ("transposed", TRANSPOSED),
    )
    for name, case in cases.items()
}
#: One a kernel that computes any range of rows.
ROW_SAMPLES = {
    "int16 CONV_2D": CONV["seven channels, stride 2, batch of two"],
    "int16 DEPTHWISE_CONV_2D": DEPTHWISE["multiplier 5, stride 2"],
    "int16 DEPTHWISE_CONV_2D, one each": DEPTHWISE["multiplier 1, seven channels"],
    "int16 TRANSPOSE_CONV": TRANSPOSED["stride 2, valid, batch of two"],
}


def layer_model(case: Case) -> bytes:
    generator = np.random.default_rng(5)
    shape = case.weights_shape
    axis = 3 if case.kind == "DEPTHWISE_CONV_2D" else 0
    values = generator.integers(-128, 128, shape)
    if case.weights is not None:
        values = np.full(shape, case.weights)
    factors = generator.uniform(0.05, 1.5, case.depth_out) if case.per_channel else np.ones(1)
    scales = 0.02 * factors
    model = ModelBuilder()
    zero_x, zero_w, zero_y = case.zero_points
    x = model.input("x", case.shape, "int16", case.scale, zero_x)
    w = model.constant("w", values.astype(np.int8), scales, zero_w, axis=axis)
    operands = [x, w]
    if case.kind == "TRANSPOSE_CONV":
        operands = [model.constant("size", np.array(case.out_shape, np.int32)), w, x]
    if case.bias:
        limit = case.largest_bias
        bias = generator.integers(-limit, limit, case.depth_out).astype(case.bias)
        operands.append(model.constant("bias", bias, scales * case.scale))
    y = model.tensor("y", case.out_shape, "int16", case.out_scale, zero_y)
    options: dict[str, int | str | bool] = {"fused_activation_function": case.activation}
    if case.bias_type:
        options["quantized_bias_type"] = case.bias_type
    if case.kernel:
        options.update(padding=case.padding, stride_h=case.stride, stride_w=case.stride)
    else:
        options["keep_num_dims"] = True
    if case.kind in ("CONV_2D", "DEPTHWISE_CONV_2D"):
        options.update(dilation_h_factor=case.dilation, dilation_w_factor=case.dilation)
    if case.kind == "DEPTHWISE_CONV_2D":
        options["depth_multiplier"] = case.depth_out // case.shape[3]
    model.op(case.kind, operands, [y], options)
    model.output(y)
    return model.finish()


@pytest.mark.parametrize("case", LAYERS.values(), ids=LAYERS)
def test_a_layer_of_16_bits_equals_tflm(case: Case) -> None:
    check_model(layer_model(case), oracle=run_tflm)


_CONV = Case("CONV_2D", (1, 2, 2, 1), 1, (1, 1), per_channel=False)
REFUSED = {
    "input with a zero point": (replace(_CONV, zero_points=(3, 0, 0)), "zero point 0"),
    "result with a zero point": (replace(_CONV, zero_points=(0, 0, 3)), "zero point 0"),
    "weights with a zero point": (replace(_CONV, zero_points=(0, 3, 0)), "zero point 0"),
    "scale of 128": (replace(_CONV, scale=1.0, out_scale=0.02 / 128), "must be below 128 times"),
    "int16 bias": (replace(_CONV, bias="int16", largest_bias=9), "expected i32 or i64 bias"),
    "int32 bias of a depthwise convolution": (
        replace(DEPTHWISE["multiplier 1, seven channels"], bias="int32"), "expected i64 bias",
    ),
    "int32 bias of a transposed convolution": (
        replace(TRANSPOSED["stride 2, same"], bias="int32"),
        "expected i64 bias, got int32.*interpreters read int64.*biases of 64 bits",
    ),
    "a bias of 48 bits": (replace(_CONV, bias="int64", largest_bias=2**62), "beyond 48 bits"),
}  # fmt: skip


@pytest.mark.parametrize(("case", "text"), REFUSED.values(), ids=REFUSED)
def test_a_layer_that_16_bits_cannot_express_is_refused(case: Case, text: str) -> None:
    with pytest.raises(GlowmcuError, match=text):
        compile_model(layer_model(case), "m.tflite", Options("m"))


def test_the_comment_says_where_an_int32_accumulator_may_wrap() -> None:
    case = replace(CONV["weights all -128, 1152 taps: beyond int32"], bias="int32")
    done = check_model(layer_model(case))
    assert "beyond int32 it wraps" in done.files["m.c"]
