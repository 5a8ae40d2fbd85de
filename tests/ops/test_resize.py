"""Resizing equals TensorFlow Lite Micro: where results lie, and how means are rounded."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from glowmcu.compilation import Options
from glowmcu.errors import GlowmcuError
from glowmcu.frontend.tflite.writer import ModelBuilder
from glowmcu.ir.operation import Rounding, RowWindow
from glowmcu.pipeline import compile_model
from tests.support.check_model import check_model
from tests.support.oracle import run_litert_reference, run_tflm


@dataclass(frozen=True)
class Case:
    shape: tuple[int, int, int, int]
    size: tuple[int, int]


CASES = {
    "one pixel to one": Case((1, 1, 1, 1), (1, 1)),
    "one pixel to many": Case((1, 1, 1, 3), (3, 5)),
    "many to one": Case((1, 5, 4, 2), (1, 1)),
    "same size": Case((1, 4, 5, 3), (4, 5)),
    "twice as large": Case((1, 3, 4, 2), (6, 8)),
    "half as large": Case((1, 8, 6, 2), (4, 3)),
    "third, odd sizes": Case((1, 9, 7, 3), (3, 2)),
    "prime to prime": Case((1, 7, 11, 1), (13, 5)),
    "larger one way, smaller the other": Case((2, 3, 16, 5), (10, 7)),
    "long row": Case((1, 1, 97, 1), (1, 251)),
}
MODES = {
    "plain": {},
    "align_corners": {"align_corners": True},
    "half_pixel_centers": {"half_pixel_centers": True},
}
BOTH = {"align_corners": True, "half_pixel_centers": True}
KINDS = ["RESIZE_BILINEAR", "RESIZE_NEAREST_NEIGHBOR"]


def resize_model(kind: str, case: Case, mode: dict[str, bool], dtype: str = "int8") -> bytes:
    model = ModelBuilder()
    quantization = () if dtype == "float32" else (0.1, 0)
    x = model.input("x", case.shape, dtype, *quantization)
    size = model.constant("size", np.array(case.size, np.int32))
    y = model.tensor("y", (case.shape[0], *case.size, case.shape[3]), dtype, *quantization)
    model.op(kind, [x, size], [y], mode)
    model.output(y)
    return model.finish()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("mode", MODES.values(), ids=MODES)
@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_resizing_equals_tflm(kind: str, mode: dict[str, bool], case: Case) -> None:
    check_model(resize_model(kind, case, mode), oracle=run_tflm)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_nearest_with_both_flags_equals_tflm(case: Case) -> None:
    check_model(resize_model("RESIZE_NEAREST_NEIGHBOR", case, BOTH), oracle=run_tflm)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("mode", MODES.values(), ids=MODES)
@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_resizing_of_real_numbers_equals_litert(
    kind: str, mode: dict[str, bool], case: Case
) -> None:
    data = resize_model(kind, case, mode, "float32")
    check_model(data, oracle=run_litert_reference, count=1)


def test_nearest_of_int16_equals_tflm() -> None:
    case = CASES["larger one way, smaller the other"]
    data = resize_model("RESIZE_NEAREST_NEIGHBOR", case, {}, "int16")
    check_model(data, oracle=run_tflm)


@pytest.mark.parametrize("mode", MODES.values(), ids=MODES)
@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_bilinear_of_int16_equals_litert(mode: dict[str, bool], case: Case) -> None:
    """TFLM registers int8 and float alone."""
    data = resize_model("RESIZE_BILINEAR", case, mode, "int16")
    check_model(data, oracle=run_litert_reference)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("mode", MODES.values(), ids=MODES)
@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_rows_outside_the_window_do_not_matter(
    kind: str, mode: dict[str, bool], case: Case
) -> None:
    graph = compile_model(resize_model(kind, case, mode), "m.tflite", Options("m")).imported
    node = graph.nodes[-1]
    generator = np.random.default_rng(3)
    x = generator.integers(-128, 128, case.shape).astype(np.int8)
    want = node.op.evaluate([x], node.signature, graph.rounding)[0]
    for row in range(case.size[0]):
        window = node.op.input_rows(node.signature, row, row + 1)[0]
        assert isinstance(window, RowWindow)
        other = generator.integers(-128, 128, case.shape).astype(np.int8)
        other[:, window.first : window.end] = x[:, window.first : window.end]
        got = node.op.evaluate([other], node.signature, graph.rounding)[0]
        assert np.array_equal(got[:, row], want[:, row])


REFUSED = {
    "both flags": (
        resize_model("RESIZE_BILINEAR", CASES["same size"], BOTH),
        "half_pixel_centers and align_corners exclude each other",
    ),
    "bilinear of int32": (
        resize_model("RESIZE_BILINEAR", CASES["same size"], {}, "int32"),
        "expected one type of i8, i16, f32",
    ),
    "steps that lead outside": (
        resize_model("RESIZE_BILINEAR", Case((1, 1501, 1, 1), (20000, 1)), MODES["align_corners"]),
        "lead outside the image",
    ),
}


@pytest.mark.parametrize(("data", "text"), REFUSED.values(), ids=REFUSED)
def test_what_the_reference_does_not_define_is_refused(data: bytes, text: str) -> None:
    with pytest.raises(GlowmcuError, match=text) as caught:
        compile_model(data, "m.tflite", Options("m"))
    assert caught.value.problems[0].code == "GM106"


@pytest.mark.parametrize("mode", MODES.values(), ids=MODES)
@pytest.mark.parametrize("dtype", ["int8", "int16"])
def test_bilinear_with_single_rounding_is_the_same_in_c(mode: dict[str, bool], dtype: str) -> None:
    """No oracle rounds like this; halves go up instead of away from zero."""
    case = CASES["larger one way, smaller the other"]
    options = Options("m", rounding=Rounding.SINGLE)
    check_model(resize_model("RESIZE_BILINEAR", case, mode, dtype), options=options)
