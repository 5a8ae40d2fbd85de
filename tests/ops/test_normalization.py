"""Normalizations along the last axis equal TensorFlow Lite Micro, in every kernel variant."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from glowmcu.compilation import Options
from glowmcu.errors import GlowmcuError
from glowmcu.frontend.tflite.writer import ModelBuilder
from glowmcu.ir.operation import Rounding
from glowmcu.kernels.selection.choices import KernelChoices
from glowmcu.pipeline import compile_model
from tests.support.check_model import check_model
from tests.support.oracle import run_tflm


@dataclass(frozen=True)
class Case:
    shape: tuple[int, ...]
    scale: float = 0.1
    zero_point: int = 5
    beta: float = 1.0


SOFTMAX_CASES = {
    "one element": Case((1, 1)),
    "two elements": Case((1, 2)),
    "twelve words": Case((1, 12), 0.13, 14),
    "prime length": Case((1, 31)),
    "rank 1": Case((10,)),
    "rank 4, many rows": Case((2, 3, 5, 7), 0.3),
    "beta 0.5": Case((3, 10), 0.1, -128, 0.5),
    "beta 3": Case((3, 10), 0.1, 127, 3.0),
    "scale so large that only maxima count": Case((4, 9), 30.0),
    "scale that leaves the longest table": Case((4, 9), 0.12),
    "scale of one radius step": Case((4, 9), 16.5),
    "tiny scale": Case((4, 9), 1e-4),
    "smallest scale": Case((2, 9), 1.6e-8),
    "longest row that the reference takes": Case((1, 511), 0.01),
}


def model_of(kind: str, case: Case, element: str, scale: float, zero_point: int) -> bytes:
    model = ModelBuilder()
    x = model.input("x", case.shape, "int8", case.scale, case.zero_point)
    y = model.tensor("y", case.shape, element, scale, zero_point)
    model.op(kind, [x], [y], {"beta": case.beta} if kind == "SOFTMAX" else {})
    model.output(y)
    return model.finish()


def softmax_model(case: Case, element: str = "int8") -> bytes:
    scale, zero_point = (1 / 256, -128) if element == "int8" else (1 / 65536, -32768)
    return model_of("SOFTMAX", case, element, scale, zero_point)


@pytest.mark.parametrize("element", ["int8", "int16"])
@pytest.mark.parametrize("variant", ["softmax.table", "softmax.portable"])
@pytest.mark.parametrize("case", SOFTMAX_CASES.values(), ids=SOFTMAX_CASES)
def test_softmax_equals_tflm(case: Case, variant: str, element: str) -> None:
    data = softmax_model(case, element)
    # Simplified, the softmax of one element is a constant.
    options = Options("m", kernels=KernelChoices(forced_variant=variant), simplify=False)
    done = check_model(data, oracle=run_tflm, options=options, count=6)
    assert {chosen.kernel_name for chosen in done.selections.values()} == {variant}


def test_softmax_of_every_pair_of_elements_equals_tflm() -> None:
    values = np.arange(-128, 128, dtype=np.int8)
    pairs = np.stack(np.meshgrid(values, values), axis=-1).reshape(-1, 2)
    data = softmax_model(Case(pairs.shape, 0.0237, 0))
    check_model(data, [[pairs]], run_tflm)


def test_rows_too_long_for_the_reference_give_quotients_of_nothing() -> None:
    """TFLM stops at 512 equal elements; 1/512 is below half a step of the result."""
    case = Case((1, 1024), 0.1)
    done = check_model(softmax_model(case), count=2)
    assert done.selections
    flat = [[np.zeros(case.shape, np.int8)]]
    check_model(softmax_model(case), flat, lambda *_: [np.full(case.shape, -128, np.int8)])


LOG_SOFTMAX_CASES = {
    "one element": Case((1, 1)),
    "two elements": Case((5, 2), 0.05),
    "rank 3": Case((2, 3, 7), 0.1),
    "long row": Case((1, 300), 0.02),
    "scale 1": Case((4, 9), 1.0),
    "scale 8": Case((4, 9), 8.0),
    "tiny scale": Case((4, 9), 1e-4),
    "longest row": Case((1, 4095), 0.01),
}


@pytest.mark.parametrize("case", LOG_SOFTMAX_CASES.values(), ids=LOG_SOFTMAX_CASES)
def test_log_softmax_equals_tflm(case: Case) -> None:
    data = model_of("LOG_SOFTMAX", case, "int8", 1 / 16, 127)
    check_model(data, oracle=run_tflm, count=8)


L2_CASES = {
    "one element": Case((7, 1)),
    "two elements": Case((64, 2)),
    "rank 4": Case((2, 3, 4, 5), 0.1, -128),
    "long row": Case((1, 1999), 0.1, 127),
    "longest row": Case((1, 33025), 0.1, 127),
}


@pytest.mark.parametrize("case", L2_CASES.values(), ids=L2_CASES)
def test_l2_normalization_equals_tflm(case: Case) -> None:
    data = model_of("L2_NORMALIZATION", case, "int8", 1 / 128, 0)
    check_model(data, oracle=run_tflm, count=6)


def test_l2_normalization_of_short_vectors_equals_tflm() -> None:
    small = np.arange(-4, 5, dtype=np.int8)
    pairs = np.stack(np.meshgrid(small, small), axis=-1).reshape(-1, 2)
    data = model_of("L2_NORMALIZATION", Case(pairs.shape, 0.1, 0), "int8", 1 / 128, 0)
    check_model(data, [[pairs]], run_tflm)


REFUSED = {
    "softmax result on another scale": (
        model_of("SOFTMAX", Case((1, 4)), "int8", 1 / 128, -128),
        "the result must be i8 with scale 0.00390625 and zero point -128",
    ),
    "softmax of a beta of 0": (softmax_model(Case((1, 4), beta=0.0)), "is no positive number"),
    "softmax of 4096 elements": (softmax_model(Case((1, 4096))), "4096 exceeds 4095"),
    "log_softmax result on another zero point": (
        model_of("LOG_SOFTMAX", Case((1, 4)), "int8", 1 / 16, 0),
        "zero point 127",
    ),
    "l2_normalization result on another scale": (
        model_of("L2_NORMALIZATION", Case((1, 4)), "int8", 1 / 127, 0),
        "the result must be i8 with scale 0.0078125 and zero point 0",
    ),
}


@pytest.mark.parametrize(("data", "text"), REFUSED.values(), ids=REFUSED)
def test_what_the_reference_does_not_take_is_refused(data: bytes, text: str) -> None:
    with pytest.raises(GlowmcuError, match=text) as caught:
        compile_model(data, "m.tflite", Options("m"))
    assert caught.value.problems[0].code == "GM106"


@pytest.mark.parametrize(
    ("kind", "scale", "zero_point"),
    [("SOFTMAX", 1 / 256, -128), ("LOG_SOFTMAX", 1 / 16, 127), ("L2_NORMALIZATION", 1 / 128, 0)],
)
def test_a_result_in_the_place_of_its_input_equals_tflm(
    kind: str, scale: float, zero_point: int
) -> None:
    model = ModelBuilder()
    a, b = (model.input(name, (5, 9), "int8", 0.1, -3) for name in "ab")
    larger = model.tensor("larger", (5, 9), "int8", 0.1, -3)
    y = model.tensor("y", (5, 9), "int8", scale, zero_point)
    model.op("MAXIMUM", [a, b], [larger])
    model.op(kind, [larger], [y], {"beta": 1.0} if kind == "SOFTMAX" else {})
    model.output(y)
    done = check_model(model.finish(), oracle=run_tflm)
    last = done.plan.program.runs[-1]
    assert done.plan.program.offset(last.inputs[0]) == done.plan.program.offset(last.outputs[0])


@pytest.mark.parametrize("softmax", ["softmax.table", "softmax.portable"])
@pytest.mark.parametrize(
    ("kind", "scale", "zero_point"),
    [("SOFTMAX", 1 / 256, -128), ("LOG_SOFTMAX", 1 / 16, 127), ("L2_NORMALIZATION", 1 / 128, 0)],
)
def test_single_rounding_is_the_same_in_c(
    kind: str, scale: float, zero_point: int, softmax: str
) -> None:
    """No oracle rounds like this: the C is held to the Python meaning."""
    data = model_of(kind, Case((6, 11), 0.11), "int8", scale, zero_point)
    choices = KernelChoices(forced_variant=softmax)
    check_model(data, options=Options("m", kernels=choices, rounding=Rounding.SINGLE))
