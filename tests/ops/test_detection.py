"""TFLite_Detection_PostProcess equals TensorFlow Lite Micro, in every bit of what it writes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from glowmcu.compilation import Options
from glowmcu.errors import GlowmcuError
from glowmcu.frontend.tflite.reader import read_tflite
from glowmcu.ir.interpreter import run_graph
from glowmcu.pipeline import compile_model
from tests.support.check_model import check_model, expect_equal
from tests.support.detection_models import DetectionCase, detection_model, inputs_of
from tests.support.oracle import open_tflm, run_litert_reference, run_tflm

Array = np.ndarray[Any, Any]
CASES = {
    "fast": DetectionCase(),
    "fast, no background": DetectionCase(background=0),
    "fast, one class": DetectionCase(classes=1),
    "fast, one box": DetectionCase(boxes=1),
    "fast, everything kept": DetectionCase(score=-1.0, overlap=1.0, most=30),
    "fast, nothing kept": DetectionCase(score=2.0),
    "fast, little overlap": DetectionCase(boxes=40, overlap=0.05, most=20),
    "fast, longer codes": DetectionCase(code_length=7),
    "fast, two classes a box": DetectionCase(per_box=2),
    "fast, more classes a box than there are": DetectionCase(per_box=9, most=3),
    "fast, places to spare": DetectionCase(places=9),
    "fast, many boxes": DetectionCase(boxes=150, classes=5, most=40),
    "fast, corners of many boxes": DetectionCase(boxes=600, most=600, score=-1.0, overlap=1.0),
    "regular": DetectionCase(regular=True),
    "regular, no background": DetectionCase(regular=True, background=0, boxes=30),
    "regular, one of each class": DetectionCase(regular=True, per_class=1),
    "regular, more allowed than there are": DetectionCase(regular=True, most=50),
    "regular, one detection": DetectionCase(regular=True, most=1, boxes=20),
    "regular, places to spare": DetectionCase(regular=True, places=8),
    "regular, many boxes": DetectionCase(regular=True, boxes=100, classes=7, most=25),
    "further options": DetectionCase(extra={"_output_quantized": True, "junk": 2.5}),
}


def written(case: DetectionCase, results: list[Array]) -> list[Array]:
    """The results without what TFLM leaves as it was: places where fast suppression puts nothing,
    and those that no detection may take.
    """
    corners, kinds, scores, count = (np.array(result) for result in results)
    ranks = min(case.per_box, case.classes)
    if case.regular:
        used = np.arange(case.most)
    else:
        used = np.array([ranks * n + n % ranks for n in range(int(count[0]))], np.int64)
    for array in (kinds, scores):
        array[0, np.setdiff1d(np.arange(array.shape[1]), used)] = 0
    corners[0, np.setdiff1d(np.arange(kinds.shape[1]), used)] = 0
    return [corners, kinds, scores, count]


def oracle_of(case: DetectionCase):
    return lambda data, arrays: written(case, run_tflm(data, arrays))


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_detections_equal_tflm(case: DetectionCase) -> None:
    check_model(detection_model(case), inputs_of(case, 12), oracle_of(case), rtol=0.0)


def random_case(generator: np.random.Generator, seed: int) -> DetectionCase:
    return DetectionCase(
        boxes=int(generator.integers(1, 45)),
        classes=int(generator.integers(1, 6)),
        background=int(generator.integers(0, 2)),
        most=int(generator.integers(2, 12)),
        per_box=int(generator.choice([1, 1, 2, 3])),
        regular=bool(generator.integers(0, 2)),
        per_class=None if generator.random() < 0.5 else int(generator.integers(1, 6)),
        score=float(generator.choice([-1.0, 0.0, 0.2, 0.5, 0.9])),
        overlap=float(generator.choice([0.01, 0.3, 0.5, 0.6, 1.0])),
        scales=tuple(float(s) for s in generator.uniform(1, 12, 4)),
        seed=seed,
    )


def test_random_detections_equal_tflm_to_the_bit() -> None:
    generator, found = np.random.default_rng(21), 0
    for seed in range(200):
        case = random_case(generator, seed)
        data = detection_model(case)
        graph, oracle = read_tflite(data, "m.tflite"), open_tflm(data)
        for arrays in inputs_of(case, 3):
            want = written(case, oracle(arrays))
            for index, got in enumerate(run_graph(graph, arrays)):
                expect_equal(got, want[index], f"{case}: output {index}")
            found += int(want[3][0])
    assert found > 1000


@pytest.mark.parametrize("regular", [False, True], ids=["fast", "regular"])
def test_equal_scores_come_in_the_order_of_boxes_and_classes(regular: bool) -> None:
    case = DetectionCase(boxes=50, most=40, regular=regular, per_class=20, overlap=0.9)
    (codes, scores), *_ = inputs_of(case, 1)
    scores[...] = 0.5
    check_model(detection_model(case), [[codes, scores]], oracle_of(case), rtol=0.0)


@pytest.mark.parametrize("regular", [False, True], ids=["fast", "regular"])
def test_codes_at_the_ends_of_float32(regular: bool) -> None:
    case = DetectionCase(boxes=9, regular=regular, score=-1.0, most=9)
    values = [0.0, -0.0, 1e-30, 300.0, -300.0, 442.0, 444.0, 2000.0, 1e30]
    sets = []
    for column in range(4):
        (codes, scores), *_ = inputs_of(case, 1, column)
        codes[0, :, column] = values
        sets.append([codes, scores])
    graph = read_tflite(detection_model(case), "m.tflite")
    for arrays in sets:
        assert all(np.isfinite(result).all() or result.any() for result in run_graph(graph, arrays))
    check_model(detection_model(case), sets, rtol=0.0)


@pytest.mark.parametrize("value", [1e4, 2e5, np.inf])
def test_boxes_that_reach_far_equal_tflm(value: float) -> None:
    case = DetectionCase(boxes=4, most=4, score=-1.0)
    (codes, scores), *_ = inputs_of(case, 1)
    codes[0, 1, 2:] = value
    check_model(detection_model(case), [[codes, scores]], oracle_of(case), rtol=0.0)


@pytest.mark.parametrize("per_box", [1, 2])
def test_scores_that_are_no_numbers_are_no_detections(per_box: int) -> None:
    case = DetectionCase(boxes=6, most=6, per_box=per_box, background=0)
    (codes, scores), *_ = inputs_of(case, 1)
    scores[...] = 0.7
    scores[0, 1], scores[0, 2, 1:], scores[0, 3, 0] = np.nan, np.nan, np.nan
    compilation = check_model(detection_model(case), [[codes, scores]], rtol=0.0)
    results = run_graph(compilation.imported, [codes, scores])
    assert np.isfinite(results[2]).all()
    assert results[3][0] > 0


@pytest.mark.parametrize("regular", [False, True], ids=["fast", "regular"])
def test_a_box_without_extent_is_an_error_to_tflm_and_no_detection_here(regular: bool) -> None:
    case = DetectionCase(regular=regular)
    (codes, scores), *_ = inputs_of(case, 1)
    codes[0, 3, 2] = -1e6
    data = detection_model(case)
    with pytest.raises(RuntimeError, match="invocation failed"):
        run_tflm(data, [codes, scores])
    nothing = [np.zeros(s, np.float32) for s in ((1, 5, 4), (1, 5), (1, 5), (1,))]
    check_model(data, [[codes, scores]], lambda *_: nothing, rtol=0.0)


@pytest.mark.parametrize("regular", [False, True], ids=["fast", "regular"])
def test_quantized_operands_are_real_numbers_as_in_litert(regular: bool) -> None:
    case = DetectionCase(regular=regular, dtype="uint8", boxes=20)
    sets = inputs_of(case, 8)
    oracle = lambda data, arrays: written(case, run_litert_reference(data, arrays))  # noqa: E731
    check_model(detection_model(case), sets, oracle, rtol=0.0)
    signed = replace(case, dtype="int8")
    moved = [[(a.astype(np.int16) - 128).astype(np.int8) for a in arrays] for arrays in sets]
    graphs = [read_tflite(detection_model(c), "m.tflite") for c in (case, signed)]
    for arrays, others in zip(sets, moved, strict=True):
        for got, want in zip(run_graph(graphs[1], others), run_graph(graphs[0], arrays),
                             strict=True):  # fmt: skip
            expect_equal(got, want, "int8 against uint8")


def refusal(case: DetectionCase, options: dict[str, Any] | None = None) -> tuple[str, str]:
    with pytest.raises(GlowmcuError) as caught:
        compile_model(detection_model(case, options), "m.tflite", Options("m"))
    return caught.value.problems[0].code, str(caught.value)


SMALL = DetectionCase(places=5)
NUMBERS = {
    "no detection": ({"max_detections": 0}, "at least one detection"),
    "fewer than none": ({"max_detections": -7}, "at least one detection"),
    "no class a box": ({"max_classes_per_detection": 0}, "at least one class a detection"),
    "no classes": ({"num_classes": 0}, "0 classes; the scores have 4"),
    "fewer classes": ({"num_classes": 2}, "2 classes; the scores have 4"),
    "more classes": ({"num_classes": 5}, "5 classes; the scores have 4"),
    "overlap 0": ({"nms_iou_threshold": 0.0}, "above 0 and at most 1"),
    "overlap above 1": ({"nms_iou_threshold": 1.01}, "above 0 and at most 1"),
    "overlap not a number": ({"nms_iou_threshold": float("nan")}, "above 0 and at most 1"),
    "score not a number": ({"nms_score_threshold": float("nan")}, "is not a number"),
    "scale 0": ({"y_scale": 0.0}, "four scales other than 0"),
    "scale infinite": ({"w_scale": float("inf")}, "four scales other than 0"),
    "none of a class": ({"use_regular_nms": True, "detections_per_class": 0}, "detection a class"),
    "more than there are places": (
        {"use_regular_nms": True, "max_detections": 6}, "have 5 places, and detections may take 6"),
    "places between": ({"max_classes_per_detection": 2}, "have 5 places, and detections may take"),
}  # fmt: skip


@pytest.mark.parametrize(("changes", "said"), NUMBERS.values(), ids=NUMBERS)
def test_numbers_that_cannot_be_meant_are_refused(changes, said: str) -> None:
    code, text = refusal(SMALL, {**SMALL.options(), **changes})
    assert (code, said in text) == ("GM106", True), text


@pytest.mark.parametrize("name", ["max_detections", "num_classes", "y_scale", "w_scale",
                                  "nms_iou_threshold", "nms_score_threshold",
                                  "max_classes_per_detection"])  # fmt: skip
def test_an_option_that_is_missing_is_named(name: str) -> None:
    options = {key: value for key, value in SMALL.options().items() if key != name}
    code, text = refusal(SMALL, options)
    assert code == "GM128"
    assert f"lacks the option {name}; it has" in text


@pytest.mark.parametrize("value", [2.5, 2**31, 2**40, -(2**33)])
def test_counts_are_whole_numbers(value: float) -> None:
    code, text = refusal(SMALL, {**SMALL.options(), "max_detections": value})
    assert code == "GM128"
    assert "max_detections is" in text


def test_results_without_end_are_refused_before_anything_is_allocated() -> None:
    code, _ = refusal(replace(SMALL, places=2**30, most=2**30))
    assert code == "GM114"


@pytest.mark.parametrize("count", [2, 4])
def test_another_number_of_operands_is_refused(count: int) -> None:
    from glowmcu.frontend.tflite.writer import ModelBuilder

    model = ModelBuilder()
    xs = [model.input(f"x{i}", (1, 4, 4), "float32") for i in range(count)]
    outs = [model.tensor(f"y{i}", (1, 5), "float32") for i in range(4)]
    model.custom_op("TFLite_Detection_PostProcess", xs, outs, b"")
    model.output(outs[0])
    with pytest.raises(GlowmcuError, match=f"has {count} operands and 4 results; expected 3 and 4"):
        compile_model(model.finish(), "m.tflite", Options("m"))
