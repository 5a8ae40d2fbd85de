"""Functions of one tensor at all 256 values: Python meaning == generated C == an interpreter.

TensorFlow Lite Micro is the oracle where it has the operator on int8, LiteRT's reference kernels
for RELU_N1_TO_1, RELU_0_TO_1, EXP, LOG and GELU. LiteRT's NEG negates stored bytes whatever their
scales: where that is meant, ours is equal but for -128, elsewhere it is held to the real function.
"""

from __future__ import annotations

import numpy as np
import pytest

from glowmcu.compilation import Options
from glowmcu.errors import GlowmcuError
from glowmcu.frontend.tflite.notes import notes_on_tflite
from glowmcu.frontend.tflite.writer import ModelBuilder
from glowmcu.input_options import InputOptions
from glowmcu.ir.interpreter import run_graph
from glowmcu.ir.operation import Rounding
from glowmcu.pipeline import compile_model, reference_graph
from tests.support.check_model import check_model
from tests.support.oracle import run_litert_reference, run_tflm

INT8 = np.arange(-128, 128, dtype=np.int8).reshape(1, 256)


def unary_model(kind, quantizations, options=None) -> bytes:
    """`kind` once for each `((scale, zp), (scale, zp))`, an input and an output each."""
    builder = ModelBuilder()
    for number, (source, target) in enumerate(quantizations):
        x = builder.input(f"x{number}", (1, 256), "int8", *source)
        y = builder.tensor(f"y{number}", (1, 256), "int8", *target)
        builder.op(kind, [x], [y], options)
        builder.output(y)
    return builder.finish()


def check_all_values(kind, quantizations, oracle=run_tflm, options=None) -> None:
    data = unary_model(kind, quantizations, options)
    check_model(data, [[INT8] * len(quantizations)], oracle=oracle)


def random_quantizations(count, seed, low=-5.0, high=0.0, ratio=1.0, out_zp=None):
    """Scales e^low to e^high, the output's within e^ratio of it, any zero points."""
    generator = np.random.default_rng(seed)
    made = []
    for _ in range(count):
        scale = np.exp(generator.uniform(low, high))
        out = scale * np.exp(generator.uniform(-ratio, ratio))
        points = generator.integers(-128, 128, 2).tolist()
        made.append(((scale, points[0]), (out, points[1] if out_zp is None else out_zp)))
    return made


FIXED = [
    ((0.1, 0), (0.1, 0)),
    ((0.1, -128), (0.1, -128)),
    ((0.1, 127), (0.1, 127)),
    ((0.05, 3), (0.1, -128)),
    ((0.9, -3), (0.1, 5)),
    ((0.02, 0), (3.0, 0)),
    # The ratio is a half that float32 and double round apart.
    ((0.33, 0), (0.22, 0)),
    ((0.7, 0), (0.2, 0)),
]


def test_sqrt_leaves_out_what_is_behind_the_point_as_litert_does() -> None:
    scales = random_quantizations(10, seed=8, low=-4.0)
    pairs = [
        ((scale, -128), (np.sqrt(200 * scale) / 128, point)) for (scale, _), (_, point) in scales
    ]
    check_all_values("SQRT", pairs, oracle=run_litert_reference)


def test_relu6_between_scales_is_rescaled_with_litert_s_rounding() -> None:
    """TFLM's bytes are the stored numbers, taken for the output's."""
    pairs = [pair for pair in FIXED + random_quantizations(10, seed=1) if pair[0] != pair[1]]
    data = unary_model("RELU6", pairs)
    inputs = [INT8] * len(pairs)
    expected = run_litert_reference(data, inputs)
    found = run_graph(reference_graph(data, "m.tflite", Rounding.LITERT), inputs)
    assert all(map(np.array_equal, found, expected))
    (note,) = notes_on_tflite(data, "m.tflite", InputOptions(), False)
    assert f"(node 0 'y0' and {len(pairs) - 1} more)" in note
    same = unary_model("RELU6", [(pairs[0][0], pairs[0][0])])
    assert not notes_on_tflite(same, "m.tflite", InputOptions(), False)


@pytest.mark.parametrize("kind", ["RELU", "RELU6", "ABS", "ELU"])
def test_simple_functions_equal_tflm(kind) -> None:
    check_all_values(kind, FIXED + random_quantizations(10, seed=1))


@pytest.mark.parametrize("alpha", [0.0, 0.01, 0.3, 1.0, 1.7, -0.25, -2.0])
def test_leaky_relu_equals_tflm_for_slopes_of_any_sign(alpha) -> None:
    quantizations = FIXED + random_quantizations(6, seed=2)
    check_all_values("LEAKY_RELU", quantizations, options={"alpha": alpha})


def test_hard_swish_equals_tflm() -> None:
    scales = [((s, zp), (s, zp)) for s in (0.001, 0.0235, 0.05, 0.4) for zp in (-128, 3, 127)]
    check_all_values("HARD_SWISH", scales + random_quantizations(12, seed=3))


def test_hard_swish_equals_tflm_for_scales_far_apart() -> None:
    pairs = [
        ((0.9, 0), (0.01, 3)),
        ((0.02, -7), (1.9, 0)),
        ((7.0, 1), (7.0, 1)),
        ((1e-4, 0), (1e-3, 9)),
    ]
    check_all_values("HARD_SWISH", pairs)


def test_logistic_equals_tflm() -> None:
    scales = (1e-5, 0.003, 0.02, 0.0627, 0.1, 0.25, 0.5, 1.0, 3.7, 40.0)
    pairs = [((s, zp), (1 / 256, -128)) for s in scales for zp in (-128, 0, 127)]
    check_all_values("LOGISTIC", pairs)


def test_tanh_equals_tflm() -> None:
    scales = (1e-5, 0.003, 0.02, 0.0627, 0.1, 0.25, 0.5, 1.0, 3.7, 40.0)
    pairs = [((s, zp), (1 / 128, 0)) for s in scales for zp in (-128, 5, 127)]
    check_all_values("TANH", pairs)


def test_rsqrt_of_positive_values_equals_tflm() -> None:
    quantizations = [
        ((0.1, -128), (0.05, -128)),
        ((0.0237, -128), (0.31, 0)),
        ((2.0, -128), (0.01, 9)),
    ]
    quantizations += [((scale, -128), out) for (scale, _), out in random_quantizations(8, seed=8)]
    check_all_values("RSQRT", quantizations)


@pytest.mark.parametrize("kind", ["RELU_N1_TO_1", "RELU_0_TO_1"])
def test_relu_up_to_1_equals_litert(kind) -> None:
    check_all_values(kind, FIXED + random_quantizations(6, seed=4), run_litert_reference)


@pytest.mark.parametrize("kind", ["EXP", "LOG"])
def test_exp_and_log_equal_litert(kind) -> None:
    pairs = [((0.03, -20), (0.1, 0)), ((0.02, 0), (0.09, -128)), ((0.01, 127), (0.004, -128))]
    check_all_values(kind, pairs + random_quantizations(6, seed=5, high=-3), run_litert_reference)


@pytest.mark.parametrize("approximate", [False, True])
def test_gelu_equals_litert(approximate) -> None:
    quantizations = FIXED + random_quantizations(10, seed=6)
    check_all_values("GELU", quantizations, run_litert_reference, {"approximate": approximate})


def test_neg_of_int8_is_the_nearest_representable_number() -> None:
    quantizations = [((0.1, 3), (0.1, -5)), ((0.1, -128), (0.1, 127)), ((0.07, 9), (0.11, 0))]
    data = unary_model("NEG", quantizations)
    compilation = check_model(data, [[INT8] * 3])
    from glowmcu.ir.interpreter import run_graph

    for (source, target), got in zip(
        quantizations, run_graph(compilation.graph, [INT8] * 3), strict=True
    ):
        real = -(INT8.astype(float) - source[1]) * source[0] / target[0] + target[1]
        assert np.abs(np.clip(real, -128, 127) - got).max() <= 0.500001


def test_neg_of_int8_with_zero_point_0_and_one_scale_equals_litert() -> None:
    data = unary_model("NEG", [((0.1, 0), (0.1, 0))])
    check_model(data, [[np.maximum(INT8, -127)]], oracle=run_litert_reference)


def test_neg_of_int32_equals_litert() -> None:
    builder = ModelBuilder()
    x = builder.input("x", (1, 5), "int32")
    y = builder.tensor("y", (1, 5), "int32")
    builder.op("NEG", [x], [y])
    builder.output(y)
    values = np.array([[0, 1, -1, 2**31 - 1, -(2**31) + 1]], np.int32)
    check_model(builder.finish(), [[values]], oracle=run_litert_reference)


def other_model(kind, dtype, *quantization) -> bytes:
    builder = ModelBuilder()
    x = builder.input("x", (1, 4), dtype, *quantization)
    y = builder.tensor("y", (1, 4), dtype, *quantization)
    builder.op(kind, [x], [y])
    builder.output(y)
    return builder.finish()


REFUSED = {
    "relu of int16 without scale": (
        other_model("RELU", "int16"),
        "RELU needs quantized int8, uint8 or int16, got int16[1x4]",
    ),
    "tanh of int16 to another scale": (
        other_model("TANH", "int16", 0.1),
        "tanh: i16 gives scale 1/32768, got int16[1x4] scale 0.1 zp 0",
    ),
    "floor of int16": (
        other_model("FLOOR", "int16", 0.1),
        "floor: expected i8, the same for all; got int16[1x4] scale 0.1 zp 0, int16[1x4]",
    ),
    "logistic with another zero point": (
        unary_model("LOGISTIC", [((0.1, 0), (1 / 256, 0))]),
        "logistic needs output zero point -128, got int8[1x256] scale 0.00390625 zp 0",
    ),
    "hard_swish with an output far finer": (
        unary_model("HARD_SWISH", [((0.9, 0), (0.001, 0))]),
        "hard_swish needs an output scale of 1/128 to 128 times the input's, got 0.9 and 0.001",
    ),
    "relu out of int32": (
        unary_model("RELU", [((100.0, 0), (1e-7, 0))]),
        "relu: the output scale is so small that results leave int32 (factor 1e+09)",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("data", "text"), REFUSED.values(), ids=REFUSED.keys())
def test_what_is_refused_says_why(data, text) -> None:
    with pytest.raises(GlowmcuError) as caught:
        compile_model(data, "m.tflite", Options("m"))
    assert text in str(caught.value)
