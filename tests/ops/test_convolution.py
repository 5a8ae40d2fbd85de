"""CONV_2D and DEPTHWISE_CONV_2D equal TensorFlow Lite Micro over their attributes."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest

from glowmcu.compilation import Options
from glowmcu.errors import GlowmcuError
from glowmcu.frontend.read_model import read_model
from glowmcu.frontend.tflite.writer import ModelBuilder
from glowmcu.ir.operation import RowWindow
from glowmcu.ir.vector_search import pattern_inputs
from glowmcu.ops import convolution
from glowmcu.pipeline import compile_model
from tests.support.check_model import check_model
from tests.support.oracle import run_tflm


@dataclass(frozen=True)
class Case:
    """`groups` is for CONV_2D; for DEPTHWISE_CONV_2D `depth_out` is a multiple of the depth."""

    shape: tuple[int, int, int, int]
    depth_out: int
    kernel: tuple[int, int]
    strides: tuple[int, int] = (1, 1)
    dilations: tuple[int, int] = (1, 1)
    padding: str = "VALID"
    groups: int = 1
    bias: bool = True
    per_channel: bool = True
    activation: str = "NONE"
    scale: float = 0.1
    zero_point: int = -7
    out_scale: float = 0.35
    out_zero_point: int = 9
    weights: int | None = None
    least_weight: int = -128
    weights_scale: float = 0.02
    weights_zero_point: int = 0
    weights_type: str = "int8"


SPATIAL = {
    "odd size, same padding": Case((1, 5, 7, 2), 4, (3, 3), padding="SAME"),
    "stride 2, odd width, same padding": Case((1, 6, 7, 2), 4, (3, 3), (2, 2), padding="SAME"),
    "stride 2, even size, same padding": Case((1, 6, 8, 2), 4, (3, 3), (2, 2), padding="SAME"),
    "strides that differ": Case((1, 9, 8, 2), 4, (2, 3), (3, 1), padding="SAME"),
    "stride larger than the kernel": Case((1, 9, 8, 2), 4, (1, 2), (3, 4)),
    "even kernel, same padding": Case((1, 5, 6, 2), 4, (2, 4), padding="SAME"),
    "kernel as large as the image": Case((1, 3, 4, 2), 4, (3, 4)),
    "kernel larger than the image": Case((1, 2, 3, 2), 4, (5, 7), padding="SAME"),
    "dilation 2": Case((1, 7, 8, 2), 4, (3, 3), dilations=(2, 2)),
    "dilations that differ, same padding": Case(
        (1, 7, 8, 2), 4, (3, 2), dilations=(3, 2), padding="SAME"
    ),
    "dilation and stride": Case((1, 9, 9, 2), 4, (3, 3), (2, 2), (2, 2)),
    "kernel of one row": Case((1, 1, 16, 2), 4, (1, 5), padding="SAME"),
    "kernel of one column": Case((1, 16, 1, 2), 4, (5, 1)),
    "batch of three": Case((3, 4, 3, 2), 4, (3, 3), padding="SAME"),
}
NUMBERS = {
    "no bias": Case((1, 3, 4, 3), 6, (2, 2), bias=False),
    "one scale for all weights": Case((1, 3, 4, 3), 6, (2, 2), per_channel=False),
    "relu": Case((1, 3, 4, 3), 6, (2, 2), activation="RELU"),
    "relu6": Case((1, 3, 4, 3), 6, (2, 2), activation="RELU6", out_scale=0.04),
    "relu between -1 and 1": Case((1, 3, 4, 3), 6, (2, 2), activation="RELU_N1_TO_1"),
    "relu, zero point -128": Case((1, 3, 4, 3), 6, (2, 2), activation="RELU", out_zero_point=-128),
    "input zero point 127": Case((1, 3, 4, 3), 6, (2, 2), zero_point=127, padding="SAME"),
    "input zero point -128": Case((1, 3, 4, 3), 6, (2, 2), zero_point=-128, padding="SAME"),
    "weights all -128": Case((1, 3, 4, 3), 6, (2, 2), weights=-128, out_scale=20.0),
    "weights all 0": Case((1, 3, 4, 3), 6, (2, 2), weights=0),
    "scale above 1": Case((1, 3, 4, 3), 6, (2, 2), out_scale=1e-4, weights_scale=0.5),
    "scale of exactly 1/2": Case((1, 3, 4, 3), 6, (2, 2), (1, 1), per_channel=False,
                                 bias=False, scale=0.5, weights_scale=0.5, out_scale=0.5),
    "tiny scale": Case((1, 3, 4, 3), 6, (2, 2), out_scale=500.0),
    "vanishing scale": Case((1, 3, 4, 3), 6, (2, 2), scale=1e-9, out_scale=1e5, bias=False),
    "int4 weights": Case((1, 3, 4, 3), 6, (3, 3), weights_type="int4"),
}  # fmt: skip
CONV_CASES = {
    "one pixel, weights of four bits": Case((1, 1, 1, 13), 9, (1, 1), weights_type="int4"),
    "one pixel, one channel": Case((1, 1, 1, 1), 1, (1, 1)),
    "1x1, three channels out": Case((1, 3, 3, 5), 3, (1, 1)),
    "1x1, four channels out": Case((1, 3, 3, 4), 4, (1, 1)),
    "1x1, five channels out": Case((1, 3, 3, 8), 5, (1, 1)),
    "1x1, stride 2": Case((1, 5, 4, 3), 4, (1, 1), (2, 2)),
    "seventeen channels": Case((1, 3, 3, 17), 17, (3, 3), padding="SAME"),
    "two groups": Case((1, 4, 4, 6), 4, (3, 3), groups=2),
    "three groups of five outputs": Case((1, 4, 4, 6), 15, (3, 3), padding="SAME", groups=3),
    "as many groups as channels": Case((1, 4, 4, 5), 10, (2, 2), groups=5),
    "groups and dilation": Case((1, 6, 6, 4), 8, (2, 2), dilations=(2, 2), groups=2),
    **SPATIAL,
    **NUMBERS,
}
DEPTHWISE_CASES = {
    "one pixel, one channel": Case((1, 1, 1, 1), 1, (1, 1)),
    "multiplier 1, seven channels": Case((1, 4, 4, 7), 7, (3, 3), padding="SAME"),
    "multiplier 5": Case((1, 4, 4, 3), 15, (3, 3), padding="SAME"),
    "one channel to eight": Case((1, 6, 5, 1), 8, (3, 3), (2, 2), padding="SAME"),
    "large kernel": Case((1, 12, 6, 3), 3, (10, 4), (2, 2), padding="SAME"),
    **SPATIAL,
    **NUMBERS,
}


def conv_model(kind: str, case: Case) -> bytes:
    model = ModelBuilder()
    add_conv(model, kind, case)
    return model.finish()


def add_conv(model: ModelBuilder, kind: str, case: Case, suffix: str = "") -> None:
    """One more layer with its own input; `suffix` keeps names apart."""
    generator = np.random.default_rng(11)
    is_depthwise = kind == "DEPTHWISE_CONV_2D"
    depth = case.shape[3]
    kernel = (
        (1, *case.kernel, case.depth_out)
        if is_depthwise
        else (case.depth_out, *case.kernel, depth // case.groups)
    )
    low, high = (-8, 7) if case.weights_type == "int4" else (case.least_weight, 127)
    values = generator.integers(low, high + 1, kernel)
    if case.weights is not None:
        values = np.full(kernel, case.weights)
    factors = generator.uniform(0.05, 1.5, case.depth_out) if case.per_channel else np.ones(1)
    scales = case.weights_scale * factors
    x = model.input(f"x{suffix}", case.shape, "int8", case.scale, case.zero_point)
    w = model.constant(
        f"w{suffix}", values.astype(np.int8), scales, case.weights_zero_point,
        axis=3 if is_depthwise else 0, dtype=case.weights_type,
    )  # fmt: skip
    operands = [x, w]
    if case.bias:
        bias = generator.integers(-2000, 2000, case.depth_out).astype(np.int32)
        operands.append(model.constant(f"bias{suffix}", bias, scales * case.scale))
    out_h, out_w = (
        -(-size // stride)
        if case.padding == "SAME"
        else (size - (kernel - 1) * dilation - 1) // stride + 1
        for size, kernel, stride, dilation in zip(
            case.shape[1:3], case.kernel, case.strides, case.dilations, strict=True
        )
    )
    y = model.tensor(
        f"y{suffix}", (case.shape[0], out_h, out_w, case.depth_out), "int8",
        case.out_scale, case.out_zero_point,
    )  # fmt: skip
    options: dict[str, int | str] = {
        "padding": case.padding,
        "stride_h": case.strides[0],
        "stride_w": case.strides[1],
        "dilation_h_factor": case.dilations[0],
        "dilation_w_factor": case.dilations[1],
        "fused_activation_function": case.activation,
    }
    if is_depthwise:
        options["depth_multiplier"] = case.depth_out // depth
    model.op(kind, operands, [y], options)
    model.output(y)


@pytest.mark.parametrize("case", CONV_CASES.values(), ids=CONV_CASES)
def test_convolution_equals_tflm(case: Case) -> None:
    check_model(conv_model("CONV_2D", case), oracle=run_tflm)


@pytest.mark.parametrize("case", DEPTHWISE_CASES.values(), ids=DEPTHWISE_CASES)
def test_depthwise_convolution_equals_tflm(case: Case) -> None:
    check_model(conv_model("DEPTHWISE_CONV_2D", case), oracle=run_tflm)


@pytest.mark.parametrize("kind", ["CONV_2D", "DEPTHWISE_CONV_2D"])
def test_images_in_bands_of_rows_are_the_whole_image(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, case in SPATIAL.items():
        graph = read_model(conv_model(kind, case), "m.tflite")
        node = next(node for node in graph.nodes if node.op.name == kind.lower())
        for more in (0, 9):  # then there are windows, and bands, of nothing but zeros
            padding = tuple(side + more for side in node.op.padding)
            op = replace(node.op, padding=padding)
            shape = op.infer([value.type for value in node.inputs])[0]
            signature = replace(
                node.signature, outputs=(replace(node.signature.output, shape=shape),)
            )
            image = pattern_inputs(graph, 7)[0]
            constants = [graph.constant_data(value) for value in node.inputs[1:]]
            results = []
            for elements in (1 << 17, 1):
                monkeypatch.setattr(convolution, "_IMAGE_AT_ONCE", elements)
                results += op.evaluate([image, *constants], signature, graph.rounding)
            assert results[0].shape == shape
            assert np.array_equal(*results), (name, more)


@pytest.mark.parametrize("case", SPATIAL.values(), ids=SPATIAL)
def test_input_rows_are_just_those_under_the_window(case: Case) -> None:
    done = compile_model(conv_model("CONV_2D", case), "m.tflite", Options("m"))
    (node,) = (node for node in done.imported.nodes if node.op.name == "conv_2d")
    for row in range(node.output.type.shape[1]):
        top = row * case.strides[0] - node.op.padding[0]
        taps = (top + ky * case.dilations[0] for ky in range(case.kernel[0]))
        inside = [y for y in taps if 0 <= y < case.shape[1]]
        window = node.op.input_rows(node.signature, row, row + 1)[0]
        assert isinstance(window, RowWindow)
        assert window.first <= inside[0]
        assert inside[-1] < window.end
        if case.dilations[0] == 1:
            assert (window.first, window.end) == (inside[0], inside[-1] + 1)


REFUSED = {
    "weights with a zero point": (
        Case((1, 2, 2, 1), 1, (2, 2), per_channel=False, weights_zero_point=3),
        "GM106",
        "weights must have zero point 0",
    ),
    "window larger than the image": (
        Case((1, 2, 2, 1), 1, (2, 2), dilations=(2, 2)),
        "GM106",
        "exceeds 2",
    ),
    "groups that do not divide": (
        Case((1, 2, 2, 5), 4, (2, 2), groups=2),
        "GM106",
        "5 input channels do not split into groups of 2",
    ),
    "tanh fused": (
        Case((1, 2, 2, 1), 1, (2, 2), activation="TANH"),
        "GM105",
        "fused activation TANH",
    ),
}


@pytest.mark.parametrize(("case", "code", "text"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_computed_is_refused(case: Case, code: str, text: str) -> None:
    with pytest.raises(GlowmcuError, match=text) as caught:
        compile_model(conv_model("CONV_2D", case), "m.tflite", Options("m"))
    assert caught.value.problems[0].code == code


def test_an_accumulator_that_can_overflow_is_refused_with_its_bound() -> None:
    data = _with_bias(2**31 - 1)
    with pytest.raises(GlowmcuError, match="an accumulator can reach 2147516287") as caught:
        compile_model(data, "m.tflite", Options("m"))
    assert caught.value.problems[0].code == "GM502"


def _with_bias(bias: int) -> bytes:
    model = ModelBuilder()
    x = model.input("x", (1, 1, 1, 1), "int8", 0.1, 127)
    w = model.constant("w", np.full((1, 1, 1, 1), -128, np.int8), 0.02)
    b = model.constant("b", np.array([bias], np.int32), 0.002)
    y = model.tensor("y", (1, 1, 1, 1), "int8", 0.35)
    model.op("CONV_2D", [x, w, b], [y], {"padding": "VALID", "stride_h": 1, "stride_w": 1})
    model.output(y)
    return model.finish()
