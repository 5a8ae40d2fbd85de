"""What `inspect` says of an operator is that of the graphs inside of it, too."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import glowmcu
from glowmcu.frontend.tflite.writer import ModelBuilder
from tests.support.control_flow_models import SCALE, SHAPE, add_branches, added, whole

onnx = pytest.importorskip("onnx")
from onnx import TensorProto, helper, numpy_helper  # noqa: E402

ROWS, WIDE, NARROW = 1, 16, 8


def value(name: str, *shape: int) -> Any:
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape or None)


def save(folder: Path, steps: int) -> Path:
    """Relu, If and Tanh; the branch that is taken has as many operators, then a MatMul."""
    names = ["r", *(f"step{i}" for i in range(steps))]
    then = [helper.make_node("Abs", [x], [y]) for x, y in pairwise(names)]
    then += [helper.make_node("MatMul", [names[-1], "w"], ["a"])]
    otherwise = [helper.make_node("MatMul", ["r", "w"], ["b"])]
    graphs = {
        "then_branch": helper.make_graph(then, "then", [], [value("a")]),
        "else_branch": helper.make_graph(otherwise, "else", [], [value("b")]),
    }
    nodes = [
        helper.make_node("Relu", ["x"], ["r"]),
        helper.make_node("If", ["c"], ["z"], **graphs),
        helper.make_node("Tanh", ["z"], ["y"]),
    ]
    weights = numpy_helper.from_array(np.ones((WIDE, NARROW), np.float32), "w")
    constants = [weights, numpy_helper.from_array(np.array(True), "c")]
    graph = helper.make_graph(
        nodes, "main", [value("x", ROWS, WIDE)], [value("y", ROWS, NARROW)], constants
    )
    path = folder / "model.onnx"
    opsets = [helper.make_opsetid("", 17)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=8), path)
    return path


@pytest.mark.parametrize("steps", [0, 1, 8])
def test_the_work_of_a_branch_is_that_of_the_operator_around_it(steps: int, tmp_path: Path) -> None:
    found = glowmcu.inspect(save(tmp_path, steps))
    assert found.problems == ()
    assert found.macs == (0, ROWS * WIDE * NARROW, 0)
    shapes = [op.outputs[0].sizes for op in found.model.operators]
    assert shapes == [(ROWS, WIDE), (ROWS, NARROW), (ROWS, NARROW)]


def test_the_results_of_a_branch_are_not_those_of_its_last_operator(tmp_path: Path) -> None:
    nodes = [helper.make_node("Transpose", ["x"], ["a"]), helper.make_node("Relu", ["x"], ["b"])]
    branch = helper.make_graph(nodes, "branch", [], [value("a"), value("b")])
    both = {"then_branch": branch, "else_branch": branch}
    outer = [
        helper.make_node("If", ["c"], ["p", "q"], **both),
        helper.make_node("MatMul", ["q", "p"], ["y"]),
    ]
    condition = [numpy_helper.from_array(np.array(True), "c")]
    graph = helper.make_graph(outer, "main", [value("x", 2, 3)], [value("y", 2, 2)], condition)
    path = tmp_path / "model.onnx"
    onnx.save(helper.make_model(graph, ir_version=8), path)
    sizes = [tensor.sizes for tensor in glowmcu.inspect(path).model.operators[0].outputs]
    assert sizes == [None, None]


def test_a_branch_of_tflite_is_counted_where_it_is(tmp_path: Path) -> None:
    model = ModelBuilder()
    x = model.input("x", SHAPE, "int8", SCALE, 0)
    data = np.ones(SHAPE, np.int8)
    condition, y = model.constant("condition", np.array([True])), whole(model, "y")

    def long(b: ModelBuilder, inputs: list[int]) -> list[int]:
        last = inputs[0]
        for step in range(5):
            last = added(b, f"step{step}", last, data)
        return [last]

    add_branches(model, condition, [x], [y], [long, lambda b, i: [added(b, "else", i[0], data)]])
    model.output(y)
    path = tmp_path / "model.tflite"
    path.write_bytes(model.finish())
    found = glowmcu.inspect(path)
    assert found.problems == ()
    assert len(found.macs) == len(found.model.operators) == 1
