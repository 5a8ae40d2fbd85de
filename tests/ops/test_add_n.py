"""ADD_N: Python meaning == generated C == TensorFlow Lite Micro, its odd zero point included."""

from __future__ import annotations

import numpy as np
import pytest

from glowmcu.compilation import Options
from glowmcu.errors import GlowmcuError
from glowmcu.frontend.tflite.reader import read_tflite
from glowmcu.frontend.tflite.writer import ModelBuilder
from glowmcu.goals import Goal
from glowmcu.ir.interpreter import run_graph
from glowmcu.ops.add_n import MOST_OPERANDS
from glowmcu.pipeline import compile_model
from tests.support.check_model import check_model, expect_equal
from tests.support.oracle import run_litert_reference, run_tflm

ALL = np.arange(-128, 128, dtype=np.int8)


def add_n_model(count, shape, dtype="int8", x=(0.5, -3), out=(0.9, 5), constants=()):
    """`constants` are further operands of the same scale."""
    model = ModelBuilder()
    quantization = x if dtype in ("int8", "uint8", "int16") else ()
    operands = [model.input(f"x{i}", shape, dtype, *quantization) for i in range(count)]
    for i, data in enumerate(constants):
        operands.append(model.constant(f"c{i}", data, *quantization))
    y = model.tensor("y", shape, dtype, *(out if quantization else ()))
    model.op("ADD_N", operands, [y])
    model.output(y)
    return model.finish()


def random_layer(generator: np.random.Generator) -> tuple[int, float, int, float, int]:
    """Operands, their scale and zero point, and the result's."""
    scale = float(np.float32(np.exp(generator.uniform(-8, 4))))
    out = float(np.float32(scale * np.exp(generator.uniform(-6, 5))))
    points = generator.choice([-128, 127, 0, *generator.integers(-128, 128, 3)], 2)
    return int(generator.integers(2, 14)), scale, int(points[0]), out, int(points[1])


def test_random_layers_equal_tflm_in_meaning() -> None:
    generator = np.random.default_rng(11)
    for _ in range(200):
        count, scale, point, out_scale, out_point = random_layer(generator)
        shape = tuple(int(n) for n in generator.integers(1, 7, generator.integers(1, 5)))
        data = add_n_model(count, shape, "int8", (scale, point), (out_scale, out_point))
        arrays = [generator.integers(-128, 128, shape).astype(np.int8) for _ in range(count)]
        (want,) = run_tflm(data, arrays)
        (got,) = run_graph(read_tflite(data, "m.tflite"), arrays)
        expect_equal(got, want, f"{count} of {scale} {point} to {out_scale} {out_point}")


def many_layers(seed: int, layers: int) -> bytes:
    """A model of many layers that read the same inputs through views of other scales."""
    generator, model = np.random.default_rng(seed), ModelBuilder()
    for number in range(layers):
        count, scale, point, out_scale, out_point = random_layer(generator)
        count = min(count, 5)
        x = [model.input(f"x{number}_{i}", (67,), "int8", scale, point) for i in range(count)]
        y = model.tensor(f"y{number}", (67,), "int8", out_scale, out_point)
        model.op("ADD_N", x, [y])
        model.output(y)
    return model.finish()


@pytest.mark.parametrize("goal", list(Goal))
def test_c_of_many_layers_equals_tflm(goal: Goal) -> None:
    check_model(many_layers(3, 12), oracle=run_tflm, options=Options("m", goal=goal))


CASES = {
    "two": add_n_model(2, (256,)),
    "seven, rank 4": add_n_model(7, (2, 3, 5, 7)),
    "more than fit in a stack": add_n_model(13, (1, 19)),
    "as many as there may be": add_n_model(MOST_OPERANDS, (3,), "int8", (0.5, 0), (40.0, 0)),
    "one element": add_n_model(2, (1,)),
    "no axes": add_n_model(2, ()),
    "a constant among them": add_n_model(2, (2, 5), constants=[ALL[:10].reshape(2, 5)]),
    "lowest zero points": add_n_model(3, (64,), "int8", (0.3, -128), (0.7, -128)),
    "highest zero points": add_n_model(3, (64,), "int8", (0.3, 127), (0.7, 127)),
}


@pytest.mark.parametrize("data", CASES.values(), ids=CASES)
def test_layers_equal_tflm(data: bytes) -> None:
    check_model(data, oracle=run_tflm)


@pytest.mark.parametrize("count", [16, 17, 33])
def test_sums_that_leave_int32_wrap_as_in_tflm(count: int) -> None:
    data = add_n_model(count, (256,), "int8", (0.5, -128), (0.5, -128))
    arrays = [np.full(256, 127, np.int8) for _ in range(count - 1)]
    check_model(data, [[*arrays, ALL]], run_tflm)


def test_one_tensor_may_come_twice() -> None:
    model = ModelBuilder()
    x = model.input("x", (256,), "int8", 0.5, 7)
    y = model.tensor("y", (256,), "int8", 1.1, -9)
    model.op("ADD_N", [x, x, x], [y])
    model.output(y)
    check_model(model.finish(), [[ALL]], run_tflm)


@pytest.mark.parametrize(("dtype", "oracle"), [("float32", run_tflm),
                                              ("int32", run_litert_reference)])  # fmt: skip
@pytest.mark.parametrize("count", [2, 3, 9])
def test_numbers_without_a_scale_are_added_in_order(dtype, oracle, count: int) -> None:
    data = add_n_model(count, (3, 1, 5), dtype)
    check_model(data, oracle=oracle, rtol=0.0)


@pytest.mark.parametrize("rounding", ["single"])
def test_single_rounding_is_the_same_in_c_and_in_meaning(rounding) -> None:
    from glowmcu.ir.operation import Rounding

    check_model(many_layers(5, 4), options=Options("m", rounding=Rounding(rounding)))


def refusal(data: bytes) -> str:
    with pytest.raises(GlowmcuError) as caught:
        compile_model(data, "m.tflite", Options("m"))
    assert {problem.code for problem in caught.value.problems} == {"GM106"}
    return str(caught.value)


def mixed_model(types, out=("int8", 0.5, 0)) -> bytes:
    model = ModelBuilder()
    refs = [model.input(f"x{i}", *type_) for i, type_ in enumerate(types)]
    y = model.tensor("y", (4,), *out)
    model.op("ADD_N", refs, [y])
    model.output(y)
    return model.finish()


INT8 = ((4,), "int8", 0.5, 0)
REFUSED = {
    "one operand": ([INT8], ("int8", 0.5, 0), "1 operands and 1 results"),
    "scales differ": ([INT8, ((4,), "int8", 0.25, 0)], ("int8", 0.5, 0), "must share scale"),
    "zero points differ": ([INT8, ((4,), "int8", 0.5, 1)], ("int8", 0.5, 0), "must share scale"),
    "shapes differ": ([INT8, ((1,), "int8", 0.5, 0)], ("int8", 0.5, 0), "of one shape and type"),
    "types differ": ([INT8, ((4,), "float32")], ("int8", 0.5, 0), "of one shape and type"),
    "int16": ([((4,), "int16", 0.5, 0)] * 2, ("int16", 0.5, 0), "expected int8, float32 or int32"),
    "uint8": ([((4,), "uint8", 0.5, 9)] * 2, ("uint8", 0.5, 9), "expected int8, float32 or int32"),
    "a float result": ([INT8, INT8], ("float32",), "expected int8, float32 or int32"),
    "no scale": ([((4,), "int8")] * 2, ("int8",), "expected quantization per tensor"),
    "a result's scale too small": (
        [INT8, INT8],
        ("int8", 1e-7, 0),
        "output multiplier must be below 1",
    ),
    "too many": ([INT8] * 65, ("int8", 0.5, 0), "expected 2 to 64 operands, got 65"),
}


@pytest.mark.parametrize(("types", "out", "said"), REFUSED.values(), ids=REFUSED)
def test_operands_that_do_not_fit_are_refused(types, out, said: str) -> None:
    assert said in refusal(mixed_model(types, out))
