"""Arithmetic on two tensors: Python meaning == generated C == TensorFlow Lite Micro."""

from __future__ import annotations

import subprocess

import numpy as np
import pytest

from glowmcu.compilation import Options
from glowmcu.errors import GlowmcuError
from glowmcu.frontend.tflite.writer import ModelBuilder
from glowmcu.kernels.kernel import load_kernels
from glowmcu.pipeline import compile_model
from tests.support.check_model import check_model
from tests.support.oracle import run_tflm

INT8 = np.arange(-128, 128, dtype=np.int8)
ALL_PAIRS = [[INT8.reshape(256, 1), INT8.reshape(1, 256)]]
NONE, RELU, RELU_N1_TO_1, RELU6 = 0, 1, 2, 3
FUSED = ("ADD", "SUB", "MUL")


def pair_model(kind, shapes, dtype="int8", scales=(0.5, 0.25, 0.6), points=(3, -7, 5), act=NONE,
               constant=None):  # fmt: skip
    """`kind` on inputs a and b; `constant` is `(position, values)` of an operand that is none."""
    builder = ModelBuilder()
    quantization = list(zip(scales, points, strict=True)) if scales else [(None, 0)] * 3
    operands = []
    for position, name in enumerate("ab"):
        if constant is not None and constant[0] == position:
            operands.append(builder.constant(name, constant[1], *quantization[position]))
        else:
            operands.append(builder.input(name, shapes[position], dtype, *quantization[position]))
    out = builder.tensor("out", np.broadcast_shapes(*shapes), dtype, *quantization[2])
    builder.op(kind, operands, [out], {"fused_activation_function": act} if kind in FUSED else None)
    builder.output(out)
    return builder.finish()


ALL_PAIRS_CASES = {
    "add": ("ADD", (0.5, 0.25, 0.6), (3, -7, 5), NONE),
    "add, extreme zero points": ("ADD", (0.1, 0.1, 0.1), (-128, 127, 0), NONE),
    "add, output scale far smaller": ("ADD", (0.9, 0.01, 0.003), (1, 2, -3), NONE),
    "add, output scale far larger": ("ADD", (0.011, 0.37, 41.0), (-5, 9, 100), NONE),
    "add with relu": ("ADD", (0.031, 0.047, 0.052), (12, -100, -128), RELU),
    "add with relu6": ("ADD", (0.031, 0.047, 0.052), (12, -100, -20), RELU6),
    "add with relu from -1 to 1": ("ADD", (0.031, 0.047, 0.012), (12, -10, 7), RELU_N1_TO_1),
    "sub": ("SUB", (0.5, 0.25, 0.6), (3, -7, 5), NONE),
    "sub with relu": ("SUB", (0.0379, 0.0117, 0.0239), (-128, 127, -128), RELU),
    "sub, tiny first scale": ("SUB", (1e-6, 0.3, 0.21), (0, 0, 0), NONE),
    "mul": ("MUL", (0.5, 0.25, 0.6), (3, -7, 5), NONE),
    "mul with factor above 1": ("MUL", (3.1, 7.3, 11.9), (-128, 127, 0), NONE),
    "mul with relu6": ("MUL", (0.031, 0.047, 0.0252), (0, 0, -128), RELU6),
    "mul with factor below 2^-31": ("MUL", (1e-6, 1e-6, 100.0), (0, 0, 9), NONE),
    "squared difference": ("SQUARED_DIFFERENCE", (0.5, 0.25, 0.6), (3, -7, 5), NONE),
    "squared difference, large": ("SQUARED_DIFFERENCE", (1.5, 1.25, 0.1), (-128, 127, -128), NONE),
    "squared difference, small": ("SQUARED_DIFFERENCE", (0.013, 0.019, 0.0071), (0, 1, -128), NONE),
    "maximum": ("MAXIMUM", (0.5, 0.5, 0.5), (3, 3, 3), NONE),
    "maximum of stored values when scales differ": ("MAXIMUM", (0.5, 0.25, 0.6), (3, -7, 5), NONE),
    "minimum": ("MINIMUM", (0.5, 0.5, 0.5), (3, 3, 3), NONE),
    "prelu": ("PRELU", (0.5, 0.01, 0.4), (3, -7, 5), NONE),
    "prelu with alpha above 1": ("PRELU", (0.5, 0.2, 0.1), (-128, 127, -3), NONE),
}  # fmt: skip


@pytest.mark.parametrize("case", ALL_PAIRS_CASES.values(), ids=ALL_PAIRS_CASES.keys())
def test_all_pairs_of_int8_equal_the_oracle(case) -> None:
    kind, scales, points, act = case
    data = pair_model(kind, [(256, 1), (1, 256)], scales=scales, points=points, act=act)
    check_model(data, ALL_PAIRS, oracle=run_tflm)


@pytest.mark.parametrize("kind", ["ADD", "SUB", "MUL", "SQUARED_DIFFERENCE", "PRELU"])
def test_random_scales_and_zero_points_equal_the_oracle_in_meaning(kind) -> None:
    from glowmcu.frontend.tflite.reader import read_tflite
    from glowmcu.ir.interpreter import run_graph

    generator = np.random.default_rng(7)
    for _ in range(6):
        scales = np.exp(generator.uniform(-4, 1, 3)).astype(np.float32).tolist()
        points = generator.integers(-128, 128, 3).tolist()
        data = pair_model(kind, [(256, 1), (1, 256)], scales=scales, points=points)
        (want,) = run_tflm(data, ALL_PAIRS[0])
        (got,) = run_graph(read_tflite(data, "m"), ALL_PAIRS[0])
        np.testing.assert_array_equal(got, want, err_msg=f"{scales} {points}")


SHAPES = {
    "the same, rank 4": ((2, 3, 5, 7), (2, 3, 5, 7)),
    "one element": ((1,), (1,)),
    "scalars of rank 0": ((), ()),
    "a scalar second": ((3, 11), ()),
    "a scalar first": ((1,), (2, 3, 4)),
    "a channel vector": ((1, 4, 5, 6), (6,)),
    "a channel vector first": ((1, 1, 1, 6), (2, 4, 5, 6)),
    "a row and a column": ((4, 1), (1, 5)),
    "middle axes": ((2, 1, 3, 1), (1, 4, 1, 5)),
    "rank 5 in turns": ((2, 1, 3, 1, 2), (1, 3, 1, 2, 2)),
    "rank 6 in turns": ((2, 1, 2, 1, 3, 1), (1, 3, 1, 2, 1, 2)),
    "rank 6 in turns, last axis shared": ((1, 2, 1, 2, 1, 3), (2, 1, 2, 1, 2, 3)),
    "ranks 2 and 4": ((5, 7), (2, 3, 1, 7)),
    "batch repeats": ((1, 2, 3, 4), (5, 2, 3, 4)),
}  # fmt: skip


@pytest.mark.parametrize("shapes", SHAPES.values(), ids=SHAPES.keys())
def test_every_way_of_broadcasting_equals_the_oracle(shapes) -> None:
    check_model(pair_model("SUB", shapes), oracle=run_tflm, count=2)


@pytest.mark.parametrize("shapes", SHAPES.values(), ids=SHAPES.keys())
def test_the_shared_loop_broadcasts_like_the_baked_one(shapes, monkeypatch) -> None:
    only_shared(monkeypatch)
    compilation = check_model(pair_model("SUB", shapes), oracle=run_tflm, count=2)
    assert "glowmcu_sub_s8(" in compilation.files["m.c"]


@pytest.mark.parametrize("kind", ["ADD", "SUB", "MUL", "SQUARED_DIFFERENCE", "PRELU"])
def test_the_shared_loop_of_every_operator_equals_the_oracle(kind, monkeypatch) -> None:
    only_shared(monkeypatch)
    compilation = check_model(pair_model(kind, [(256, 1), (1, 256)]), ALL_PAIRS, oracle=run_tflm)
    assert f"glowmcu_{kind.lower()}_s8(" in compilation.files["m.c"]


def only_shared(monkeypatch) -> None:
    """Leaves the shared loop as the only kernel."""
    baked = {
        k for kernels in load_kernels().values() for k in kernels if k.name == "elementwise.baked"
    }
    for variant in baked:
        monkeypatch.setattr(variant, "accepts", lambda site, target: False)


@pytest.mark.parametrize("position", [0, 1])
@pytest.mark.parametrize("kind", ["ADD", "MUL", "MINIMUM", "PRELU"])
def test_a_constant_may_stand_on_either_side(kind, position) -> None:
    values = np.array([-128, -7, 3, 127, 0], np.int8)
    shapes = [(2, 3, 5), (2, 3, 5)]
    shapes[position] = (5,)
    check_model(pair_model(kind, shapes, constant=(position, values)), oracle=run_tflm, count=2)


def test_an_operand_may_be_added_to_itself() -> None:
    builder = ModelBuilder()
    x = builder.input("x", (1, 7), "int8", 0.1, 3)
    y = builder.tensor("y", (1, 7), "int8", 0.2, -4)
    builder.op("ADD", [x, x], [y])
    builder.output(y)
    check_model(builder.finish(), oracle=run_tflm)


def begins_at_zero(position, dtype, scales, points, act, zeros):
    """The first step of an unrolled LSTM: x * state + x, the state being a constant."""
    builder = ModelBuilder()
    x = builder.input("x", (2, 5), dtype, scales[0], points[0])
    state = builder.constant("state", zeros, scales[1], points[1])
    product = builder.tensor("product", (2, 5), dtype, scales[2], points[2])
    y = builder.tensor("y", (2, 5), dtype, scales[0], points[0])
    factors = [x, state] if position else [state, x]
    builder.op("MUL", factors, [product], {"fused_activation_function": act})
    builder.op("ADD", [product, x], [y], {"fused_activation_function": NONE})
    builder.output(y)
    return builder.finish()


@pytest.mark.parametrize("position", [0, 1])
@pytest.mark.parametrize(
    ("dtype", "scales", "points", "act"),
    [
        ("int16", (3e-5, 0.0, 3.59e-43), (0, 0, 0), NONE),
        ("int8", (0.5, 0.25, 1e-20), (3, -7, -9), NONE),
        ("int8", (0.5, 0.25, 1e-20), (3, -7, -128), RELU),
        ("int8", (0.5, 0.25, 0.6), (3, -7, 5), NONE),
    ],
    ids=["int16 as Keras has it", "int8", "with a relu", "an ordinary scale"],
)
def test_a_product_with_zeros_is_zero_at_any_scale(position, dtype, scales, points, act) -> None:
    """To a constant of zeros, and to products with it, converters give the least scale there is."""
    zeros = np.full(5, points[1], dtype)
    data = begins_at_zero(position, dtype, scales, points, act, zeros)
    check_model(data, oracle=run_tflm)


@pytest.mark.parametrize(
    "zeros", [np.array([0, 0, 0, 0, 1], np.int16), np.zeros(4, np.int16)], ids=["a 1", "4 zeros"]
)
def test_other_products_at_such_a_scale_are_refused(zeros) -> None:
    data = begins_at_zero(1, "int16", (3e-5, 0.5, 3.59e-43), (0, 0, 0), NONE, zeros)
    with pytest.raises(GlowmcuError, match="GM106"):
        compile_model(data, "m.tflite", Options("m"))


@pytest.mark.parametrize("kind", ["ADD", "SUB", "MUL"])
def test_int16_equals_the_oracle(kind) -> None:
    data = pair_model(kind, [(4, 251), (4, 251)], "int16", (0.001, 0.002, 0.0015), (0, 0, 0), RELU)
    check_model(data, oracle=run_tflm)


@pytest.mark.parametrize("kind", ["ADD", "SUB", "MUL", "MAXIMUM", "MINIMUM", "SQUARED_DIFFERENCE"])
def test_int32_without_quantization_equals_the_oracle(kind) -> None:
    data = pair_model(kind, [(2, 1), (1, 3)], "int32", None)
    extreme = np.array([[2**31 - 1], [-(2**31)]], np.int32)
    small = np.array([[-7, 0, 9]], np.int32)
    check_model(data, [[extreme, small], [small[:, :2].T, small]], oracle=run_tflm)


@pytest.mark.parametrize(("dtype", "scale"), [("int64", None), ("float32", None), ("int16", 0.1)])
def test_the_larger_of_other_types_equals_the_oracle(dtype, scale) -> None:
    scales, points = ((scale,) * 3, (0, 0, 0)) if scale else (None, (0, 0, 0))
    data = pair_model("MAXIMUM", [(3, 5), (5,)], dtype, scales, points)
    check_model(data, oracle=run_tflm)


REFUSED = {
    "shapes that do not broadcast": (
        pair_model("ADD", [(3, 1), (3, 1)], "int16", (0.1, 0.1, 1e-6), (0, 0, 0)),
        "add: the output multiplier must be below 1, got 6.1",
    ),
    "mul out of int32": (
        pair_model("MUL", [(3,), (3,)], scales=(100.0, 100.0, 1e-6)),
        "mul: the output scale is so small that results leave int32 (factor 1e+10)",
    ),
    "a fused activation on int32": (
        pair_model("ADD", [(3,), (3,)], "int32", None, act=RELU),
        "a fused activation on int32[3] is not supported",
    ),
    "a fused tanh": (
        pair_model("ADD", [(3,), (3,)], act=4),
        "fused activation TANH is not supported on int8[3] scale 0.6 zp 5",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("data", "text"), REFUSED.values(), ids=REFUSED.keys())
def test_what_is_refused_says_why(data, text) -> None:
    with pytest.raises(GlowmcuError) as caught:
        compile_model(data, "m.tflite", Options("m"))
    assert text in str(caught.value)


def test_broadcasting_beyond_rank_6_is_refused() -> None:
    shapes = [(1, 2, 1, 2, 1, 2, 1), (2, 1, 2, 1, 2, 1, 2)]
    with pytest.raises(GlowmcuError, match="broadcasting is limited to rank 6"):
        compile_model(pair_model("ADD", shapes), "m.tflite", Options("m"))


@pytest.mark.arm
@pytest.mark.parametrize("loop", ["baked", "shared"])
@pytest.mark.parametrize("shapes", [SHAPES["the same, rank 4"], SHAPES["rank 6 in turns"]])
def test_loops_compile_for_arm_and_as_cpp_without_a_warning(
    loop, shapes, tmp_path, monkeypatch
) -> None:
    """gcc 12 for Arm saw the walk of an unbroadcast operator end before its outer axes."""
    if loop == "shared":
        only_shared(monkeypatch)
    compilation = compile_model(pair_model("ADD", shapes), "m.tflite", Options("m"))
    for name, text in compilation.files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    warnings = ["-pedantic", "-Wall", "-Wextra", "-Werror", "-Wconversion", "-Wshadow"]
    for command in (
        ["arm-none-eabi-gcc", "-std=c99", "-mcpu=cortex-m4", "-mthumb", "-Wcast-qual"],
        ["g++", "-x", "c++", "-std=c++11"],
    ):
        args = [*command, *warnings, "-O2", "-c", tmp_path / "m.c", "-o", tmp_path / "m.o"]
        subprocess.run(args, check=True)
