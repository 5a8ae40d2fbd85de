"""What one scale loses of an output that holds numbers of very different sizes is said."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import glowmcu
from glowmcu.ir.graph import Graph
from glowmcu.ops.elementwise import Mul
from glowmcu.ops.joining import Concatenation
from glowmcu.ops.matmul import FullyConnected
from glowmcu.ops.normalization import Softmax
from glowmcu.ops.transcendental import Logistic
from glowmcu.quality import Demands
from glowmcu.quant.judgement import Judge, judge_of
from glowmcu.quant.options import Interface, QuantizationOptions
from glowmcu.quant.profiling import profile_graph
from glowmcu.quant.samples import samples_of
from tests.ir.graphs import GraphBuilder
from tests.quant.networks import draw, real
from tests.support.onnx_models import finished

onnx = pytest.importorskip("onnx", reason="pip install onnx")


def head(size: float, axis: int = 2, joined: bool = True) -> Graph:
    """Four numbers up to `size`, and one up to 1, of each of six places."""
    graph = GraphBuilder()
    x = graph.input(real(1, *((6, 4) if axis == 2 else (4, 6))), "image")
    y = graph.input(real(1, *((6, 1) if axis == 2 else (1, 6))), "object")
    scale = graph.constant(np.full((1, 1, 1), size, np.float32))
    boxes = graph.add(Mul(), graph.add(Logistic(), x), scale, name="boxes")
    scores = graph.add(Logistic(), y, name="scores")
    if not joined:
        return graph.finish(boxes, scores)
    shape = real(1, *((6, 5) if axis == 2 else (5, 6)))
    return graph.finish(graph.add(Concatenation(axis), boxes, scores, like=shape, name="found"))


def judge(graph: Graph) -> Judge:
    samples = samples_of(
        graph, {x.name: draw(at, 64, *x.type.shape[1:]) for at, x in enumerate(graph.inputs)}
    )
    return judge_of(graph, samples, profile_graph(graph, samples), is_own=True)


def notes(graph: Graph, **options: object) -> tuple[str, ...]:
    chosen = QuantizationOptions(**options)  # type: ignore[arg-type]
    return judge(graph).entry(chosen, Demands()).notes


@pytest.mark.parametrize("axis", [1, 2])
def test_columns_of_few_steps_are_named_with_what_helps(axis: int) -> None:
    (note,) = notes(head(96.0, axis))
    assert note.startswith(f"column 4 of output 'found' along axis {axis} has ")
    assert 1 < float(note.split(" has ")[1].split()[0]) < 3
    assert note.endswith(
        "make outputs of what the model joins at its end, or add --io float --keep-float found"
    )


def test_what_is_named_helps() -> None:
    assert notes(head(96.0, joined=False)) == ()
    kept = notes(head(96.0), interface=Interface.FLOAT, keep_float=("found",))
    assert kept == ()
    graph = head(96.0)
    judged = judge(graph)
    wrong = []
    for options in (
        QuantizationOptions(),
        QuantizationOptions(interface=Interface.FLOAT, keep_float=("found",)),
    ):
        got = judged._outputs(judged.quantized(options).graph)[0]
        wrong.append(np.abs(got - judged.wanted[0])[..., 4].max())
    assert wrong[0] > 0.1
    assert wrong[1] < 0.02


def test_columns_of_one_size_and_chances_are_not_spoken_of() -> None:
    assert notes(head(3.0)) == ()
    graph = GraphBuilder()
    w = draw(1, 5, 8)
    bias = np.float32([0, 0, 0, 0, -9])
    x = graph.input(real(1, 8), "x")
    scores = graph.add(FullyConnected(), x, graph.constant(w), graph.constant(bias))
    assert notes(graph.finish(graph.add(Softmax(), scores))) == ()


def test_a_layer_that_computes_numbers_of_different_sizes_is_to_be_kept_float() -> None:
    graph = GraphBuilder()
    w = draw(1, 3, 8) * np.float32([[100], [0.01], [0.02]])
    x = graph.input(real(1, 8), "x")
    dense = graph.add(FullyConnected(), x, graph.constant(w), graph.constant(w[:, 0]), name="dense")
    note = notes(graph.finish(dense))[-1]
    assert note.startswith("columns 1 to 2 of output 'dense' along axis 1 have ")
    assert note.endswith("large; add --io float --keep-float dense")


def test_real_numbers_are_not_advised_where_the_application_has_bytes() -> None:
    """Frames of a camera are bytes, and so is what stages of a pipeline hand on."""
    (joined,) = judge(head(96.0)).entry(QuantizationOptions(), Demands(), may_be_float=False).notes
    assert joined.endswith("; make outputs of what the model joins at its end")


def test_a_camera_s_image_keeps_its_bytes_in_what_is_advised(tmp_path: Path) -> None:
    file, images = tmp_path / "m.onnx", draw(3, 32, 1, 8, 8)
    w = draw(1, 64, 3) * np.float32([100, 0.01, 0.02])
    node, value = onnx.helper.make_node, onnx.helper.make_tensor_value_info
    nodes = [
        node("Reshape", ["image", "flat"], ["row"], "reshape"),
        node("MatMul", ["row", "w"], ["y"], "dense"),
    ]
    arrays = [
        onnx.numpy_helper.from_array(w.astype(np.float32), "w"),
        onnx.numpy_helper.from_array(np.int64([1, 64]), "flat"),
    ]
    inputs, outputs = [value("image", 1, (1, 1, 8, 8))], [value("y", 1, (1, 3))]
    file.write_bytes(finished(onnx, nodes, inputs, outputs, arrays))
    plain = glowmcu.compile(file, samples=images, output=tmp_path / "plain")
    framed = glowmcu.compile(
        file, samples=images, output=tmp_path / "framed", camera={"image": "grey:16x16"}
    )
    said = [
        [note for note in bundle.notes if "steps of its scale" in note]
        for bundle in (plain, framed)
    ]
    assert ["--io float" in note for notes in said for note in notes] == [True, False]
