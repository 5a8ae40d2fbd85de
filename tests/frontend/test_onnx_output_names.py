"""An output is called as in the file, for that is the name of its C function."""

from __future__ import annotations

import numpy as np
import pytest

from glowmcu.frontend.onnx.reader import read_onnx
from glowmcu.frontend.state_pairs import found_pairs
from glowmcu.ir.interpreter import run_graph
from tests.conftest import REPO
from tests.support.onnx_models import finished


@pytest.mark.parametrize(
    ("model", "name"),
    [
        ("digits/digits.onnx", "scores"),
        ("gestures/model.onnx", "scores"),
        # A Gemm that becomes several nodes.
        ("vowels/model.onnx", "logits"),
    ],
)
def test_an_output_has_the_name_that_the_file_gives_it(model: str, name: str) -> None:
    path = REPO / "examples" / model
    graph = read_onnx(path.read_bytes(), path.name)
    graph.verify()
    assert [value.name for value in graph.outputs] == [name]


def test_what_is_an_input_too_or_an_output_twice_is_called_as_in_the_file() -> None:
    onnx = pytest.importorskip("onnx", reason="pip install onnx")
    node, info = onnx.helper.make_node, onnx.helper.make_tensor_value_info
    nodes = [
        node("Add", ["x", "h0"], ["y"]),
        node("Identity", ["y"], ["z"]),
        node("Identity", ["x"], ["hn"]),
    ]
    inputs = [info(name, 1, (1, 4)) for name in ("x", "h0")]
    model = finished(onnx, nodes, inputs, [info(name, 1, (1, 4)) for name in ("y", "z", "hn")], [])
    graph = read_onnx(model, "delay.onnx")
    graph.verify()
    assert [value.name for value in graph.results] == ["y", "z", "hn"]
    assert found_pairs(graph) == {"h0": "hn"}
    x, h0 = np.full((1, 4), 2, np.float32), np.full((1, 4), 3, np.float32)
    assert [result[0, 0] for result in run_graph(graph, [x, h0])] == [5, 5, 2]
