"""Non-maximum suppression of both formats keeps the boxes that LiteRT and onnxruntime keep."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from glowmcu.errors import GlowmcuError
from glowmcu.ir.operation import Array
from glowmcu.pipeline import reference_graph
from tests.support.check_model import check_model
from tests.support.onnx_models import onnx_model, run_onnxruntime
from tests.support.oracle import run_litert_reference
from tests.support.single_op import Tensor, single_op_model


def boxes_of(seed: int, *shape: int, flat: float = 0.0) -> Array:
    """Corners in any order; of all boxes `flat` have no area."""
    random = np.random.default_rng(seed)
    corner, size = random.uniform(0, 10, (*shape, 2)), random.uniform(-4, 4, (*shape, 2))
    size[..., 0] *= random.uniform(size=shape) >= flat
    return np.concatenate([corner, corner + size], -1).astype(np.float32)


def tflite_model(
    version: int, boxes: int, most: int, overlap: float = 0.5, score: float = 0.2,
    sigma: float = 0.0, computed: bool = False,
) -> bytes:  # fmt: skip
    count = Tensor((), "int32") if computed else np.array(most, np.int32)
    operands = [Tensor((boxes, 4), "float32"), Tensor((boxes,), "float32"), count,
                np.array(overlap, np.float32), np.array(score, np.float32)]  # fmt: skip
    results = [Tensor((most,), "int32"), Tensor((), "int32")]
    if version == 5:
        operands.append(np.array(sigma, np.float32))
        results.insert(1, Tensor((most,), "float32"))
    return single_op_model(f"NON_MAX_SUPPRESSION_V{version}", operands, results)


@pytest.mark.parametrize("version", [4, 5])
@pytest.mark.parametrize(
    ("boxes", "most", "overlap", "score"),
    [(30, 6, 0.5, 0.2), (30, 30, 0.1, -1.0), (5, 9, 0.0, 0.5), (1, 1, 0.5, 0.0), (8, 4, 1.0, 2.0)],
)
def test_boxes_that_stay_are_those_of_litert(
    version: int, boxes: int, most: int, overlap: float, score: float
) -> None:
    data = tflite_model(version, boxes, most, overlap, score)
    scores = np.random.default_rng(7).permutation(boxes).astype(np.float32) / boxes
    sets = [[boxes_of(seed, boxes), scores] for seed in range(3)]
    check_model(data, sets, run_litert_reference)


def test_thresholds_themselves() -> None:
    """A score must be above its threshold, an overlap below."""
    boxes = np.array([[0, 0, 2, 2], [0, 0, 2, 1], [5, 5, 6, 6]], np.float32)
    scores = np.array([0.75, 0.5, 0.25], np.float32)
    data = tflite_model(4, 3, 3, overlap=0.5, score=0.25)
    found = check_model(data, [[boxes, scores]], run_litert_reference)
    assert found.imported.outputs[0].type.shape == (3,)
    onnx = onnx_boxes(1, 1, 3, 3, overlap=0.5, score=0.25)
    check_model(onnx, [[boxes[None], scores[None, None]]], padded)


def onnx_boxes(
    batches: int, classes: int, boxes: int, most: int, overlap: float | None = None,
    score: float | None = None, center: int = 0,
) -> bytes:  # fmt: skip
    numbers = [None if n is None else np.array([n], np.float32) for n in (overlap, score)]
    while numbers and numbers[-1] is None:
        numbers.pop()
    operands = [("boxes", "float32", (batches, boxes, 4)),
                ("scores", "float32", (batches, classes, boxes)), np.array([most], np.int64),
                *numbers]  # fmt: skip
    return onnx_model("NonMaxSuppression", operands, {"center_point_box": center})


def padded(data: bytes, inputs: Sequence[Array]) -> list[Array]:
    """onnxruntime's rows, and -1 in all that there might be."""
    (rows,) = run_onnxruntime(data, inputs)
    graph = reference_graph(data, "m.onnx")
    result = np.full(graph.outputs[0].type.shape, -1, np.int64)
    result[: len(rows)] = rows
    return [result]


@pytest.mark.parametrize("center", [0, 1], ids=["corners", "centers"])
@pytest.mark.parametrize(
    ("overlap", "score"), [(0.5, 0.4), (0.3, None), (None, None)],
    ids=["both", "overlap", "defaults"],
)  # fmt: skip
@pytest.mark.parametrize(("batches", "classes", "boxes", "most"), [(1, 1, 20, 5), (2, 3, 9, 20)])
def test_boxes_of_classes_are_those_of_onnxruntime(
    batches: int, classes: int, boxes: int, most: int, overlap: float | None, score: float | None,
    center: int,
) -> None:  # fmt: skip
    data = onnx_boxes(batches, classes, boxes, most, overlap, score, center)
    places = boxes_of(3, batches, boxes, flat=0.2)
    if center:
        places[..., 2:] = np.random.default_rng(4).uniform(0.5, 4, places[..., 2:].shape)
    scores = np.random.default_rng(5).integers(0, 12, (batches, classes, boxes)) / np.float32(12)
    check_model(data, [[places, scores.astype(np.float32)]], padded)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (tflite_model(5, 4, 2, sigma=0.5), "GM105.*sigma other than 0"),
        (tflite_model(4, 4, 2, computed=True), "GM112.*how many boxes stay"),
        (tflite_model(4, 4, 0), "GM106.*no box can stay"),
        (tflite_model(4, 4, 2, overlap=float("nan")), "GM106.*is not a number"),
        (onnx_boxes(1, 1, 4, 0), "GM106.*no box can stay"),
    ],
)
def test_what_is_not_supported_is_refused(data: bytes, said: str) -> None:
    with pytest.raises(GlowmcuError, match=f"(?s){said}"):
        reference_graph(data, "m.tflite" if data[4:8] == b"TFL3" else "m.onnx")
