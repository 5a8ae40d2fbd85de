"""Non-maximum suppression of both formats keeps the boxes that LiteRT and onnxruntime keep."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from glowmcu.errors import GlowmcuError
from glowmcu.frontend.notes import notes_on_file
from glowmcu.ir.operation import Array
from glowmcu.pipeline import reference_graph
from tests.support.check_model import check_model
from tests.support.onnx_models import Nodes, finished, onnx_model, run_onnxruntime
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


def selecting(net: Nodes) -> str:
    """At most 2 of 7 boxes in each of 3 classes."""
    numbers = net.number([2], "int64"), net.number([0.5]), net.number([0.2])
    return net.add("NonMaxSuppression", "boxes", "scores", *numbers)


def detector(net: Nodes, *outputs: str) -> bytes:
    onnx = pytest.importorskip("onnx", reason="pip install onnx")
    shapes = {"boxes": (1, 7, 4), "scores": (1, 3, 7)}
    inputs = [onnx.helper.make_tensor_value_info(name, 1, shapes[name]) for name in shapes]
    results = [onnx.ValueInfoProto(name=name) for name in outputs]
    return finished(onnx, net.nodes, inputs, results, net.constants)


def scores_of(net: Nodes, rows: str) -> str:
    return net.add("GatherND", "scores", rows)


def test_a_note_tells_of_what_is_gathered_by_rows_behind_the_last() -> None:
    net = Nodes()
    rows = selecting(net)
    gathered = scores_of(net, net.add("Identity", rows))
    (note,) = notes_on_file(detector(net, gathered), "m.onnx")
    assert f"{rows!r} of NonMaxSuppression has a row for each box that may stay" in note
    assert note.endswith("make the selection itself an output, and stop at its first -1")
    (note,) = notes_on_file(detector(net, gathered, rows), "m.onnx")
    assert note.endswith("no detection; stop at its first -1")
    reference_graph(detector(net, gathered, rows), "m.onnx")


def test_no_note_tells_of_a_selection_that_the_application_alone_reads() -> None:
    net = Nodes()
    whole = net.add("Cast", selecting(net), to=6)
    assert not notes_on_file(detector(net, whole), "m.onnx")


@pytest.mark.parametrize("kind", ["Shape", "Size", "ReduceMax", "TopK", "NonZero", "ArgMax"])
def test_what_depends_on_the_number_of_rows_is_refused(kind: str) -> None:
    net = Nodes()
    scores = scores_of(net, selecting(net))
    net.add("Identity", scores)
    more = [net.number([2], "int64")] if kind == "TopK" else []
    name = f"v{len(net.nodes)}"
    if kind == "TopK":
        onnx = pytest.importorskip("onnx", reason="pip install onnx")
        net.nodes.append(onnx.helper.make_node(kind, [scores, *more], [name, "places"]))
    else:
        net.add(kind, scores)
    with pytest.raises(GlowmcuError, match=f"GM105.*{kind} depends on how many boxes") as found:
        reference_graph(detector(net, name), "m.onnx")
    assert "make the selection itself an output" in str(found.value)


def test_a_maximum_along_classes_by_their_place_in_a_list_of_boxes_is_refused() -> None:
    """The rows may be the last axis, too; then it has as many elements as there are rows."""
    net = Nodes()
    column = net.add("Gather", selecting(net), net.number(2, "int64"), axis=1)
    chosen = net.add("Gather", "scores", column, axis=2)
    refused = net.add("ReduceMax", chosen, net.number([-1], "int64"))
    with pytest.raises(GlowmcuError, match=r"GM105.*ReduceMax depends on how many boxes"):
        reference_graph(detector(net, refused), "m.onnx")


def test_a_maximum_within_each_row_is_none_of_the_rows() -> None:
    net = Nodes()
    column = net.add("Gather", selecting(net), net.number(2, "int64"), axis=1)
    boxes = net.add("Squeeze", "boxes", net.number([0], "int64"))
    widest = net.add("ReduceMax", net.add("Gather", boxes, column), net.number([1], "int64"))
    graph = reference_graph(detector(net, widest), "m.onnx")
    assert graph.outputs[0].type.shape == (6, 1)


def test_a_graph_inside_of_an_operator_counts_no_rows_either() -> None:
    onnx = pytest.importorskip("onnx", reason="pip install onnx")
    net = Nodes()
    rows = selecting(net)
    size = onnx.helper.make_node("Size", [rows], ["size"])
    none = onnx.helper.make_node("Constant", [], ["none"], value_int=0)
    outputs = [onnx.ValueInfoProto(name=name) for name in ("size", "none")]
    graphs = [onnx.helper.make_graph([node], node.output[0], [], [out])
              for node, out in zip((size, none), outputs, strict=True)]  # fmt: skip
    first = net.add("ReduceMax", "scores", keepdims=0)
    asked = net.add("Greater", first, net.number(0.5))
    count = net.add("If", asked, then_branch=graphs[0], else_branch=graphs[1])
    with pytest.raises(GlowmcuError, match=r"GM105.*Size depends on how many boxes"):
        reference_graph(detector(net, count), "m.onnx")
