"""Scores of classes that are written pair by pair are gathered and summed at once."""

from __future__ import annotations

import numpy as np
import pytest

from glowmcu.frontend.onnx.reader import read_onnx
from tests.support.check_model import check_model
from tests.support.onnx_models import Nodes, run_onnxruntime

onnx = pytest.importorskip("onnx", reason="pip install onnx")
helper = onnx.helper
ML = "ai.onnx.ml"


class Model(Nodes):
    """Nodes on the table `x` (2, 4), column by column."""

    def column(self, table: str, place: int) -> str:
        return self.add("ArrayFeatureExtractor", table, self.number(place, "int64"), domain=ML)

    def data(self, *parts: str) -> bytes:
        self.nodes.append(helper.make_node("Concat", parts, ["y"], axis=1))
        real = onnx.TensorProto.FLOAT
        x = helper.make_tensor_value_info("x", real, [2, 4])
        y = helper.make_tensor_value_info("y", real, [2, len(parts)])
        graph = helper.make_graph(self.nodes, "g", [x], [y], self.constants)
        opsets = [helper.make_opsetid("", 17), helper.make_opsetid(ML, 1)]
        model = helper.make_model(graph, opset_imports=opsets, ir_version=8)
        data: bytes = model.SerializeToString()
        return data


def kinds(data: bytes) -> list[str]:
    names = [node.op.name for node in read_onnx(data, "m.onnx").nodes]
    return [name for name in names if name != "constant"]


def scores(model: Model, table: str = "x", count: int = 3) -> bytes:
    """Of each class: the columns after it, less those before."""
    parts = []
    for k in range(count):
        columns = [model.column(table, j) for j in range(4) if j != k]
        signed = [model.add("Neg", name) if i < k else name for i, name in enumerate(columns)]
        parts.append(model.add("Sum", *signed))
    return model.data(*parts)


def test_signed_sums_are_gathered_and_summed() -> None:
    data = scores(Model())
    assert kinds(data) == ["gather", "mul", "reshape", "sum"]
    check_model(data, oracle=run_onnxruntime)


def test_a_missing_number_stays_where_it_is_read() -> None:
    x = np.array([[1, 2, np.nan, 4], [np.inf, 1, 2, 3]], np.float32)
    done = check_model(scores(Model()), [[x]], run_onnxruntime)
    assert done.manifest.outputs[0].shape == (2, 3)


@pytest.mark.parametrize("table_is", ["votes", "real numbers", "chosen by votes", "an input"])
def test_numbers_are_added_last_where_that_is_exact(table_is: str) -> None:
    model = Model()
    is_flags, table = table_is == "votes", "x"
    if table_is == "real numbers":
        table = model.add("Neg", "x")
    elif table_is != "an input":
        table = model.add("Less", "x", model.number(0.0))
        numbers = model.number(0.1), model.number(0.7)
        table = model.add("Cast", table, to=1) if is_flags else model.add("Where", table, *numbers)
    one = model.number(1.0)
    parts = []
    for k in range(3):
        left = model.add("Add", model.add("Neg", model.column(table, k)), one)
        parts.append(model.add("Sub", left, model.column(table, 3)))
    data = model.data(*parts)
    assert ("concatenation" in kinds(data)) is not is_flags
    check_model(data, oracle=run_onnxruntime)


def test_other_sums_stay() -> None:
    model = Model()
    other = model.add("Abs", "x")
    parts = [model.add("Add", model.column("x", k), model.column(other, k)) for k in range(3)]
    assert "concatenation" in kinds(model.data(*parts))
    model = Model()
    parts = [model.add("Add", model.column("x", k), model.column("x", 3)) for k in range(2)]
    long = model.add("Sum", model.column("x", 0), model.column("x", 1), model.column("x", 2))
    assert "concatenation" in kinds(model.data(*parts, long))


@pytest.mark.parametrize(("terms", "parts", "is_joined"), [
    (128, 32, True), (129, 32, False), (201, 3, True), (202, 3, False),
])  # fmt: skip
def test_a_sum_of_very_many_terms_stays(terms: int, parts: int, is_joined: bool) -> None:
    """4096 in all are followed, and 200 steps from a result."""
    model = Model()
    total = column = model.column("x", 0)
    for _ in range(terms - 1):
        total = model.add("Add", total, column)
    assert (kinds(model.data(*[total] * parts))[-1] == "sum") is is_joined
