"""Gemm and MatMul of ONNX equal onnxruntime, with operands that are known or computed."""

from __future__ import annotations

import numpy as np
import pytest

from glowmcu.compilation import Compilation, Options
from glowmcu.errors import GlowmcuError
from glowmcu.pipeline import compile_model
from tests.support.check_model import check_model
from tests.support.onnx_models import onnx_model, run_onnxruntime

ADDENDS = {
    "nothing": None,
    "a number": (),
    "one of one": (1,),
    "a row": (4,),
    "a row of rank 2": (1, 4),
    "a column": (2, 1),
    "a matrix": (2, 4),
}
KNOWN = {"all known": "bc", "B known": "b", "C known": "c", "all computed": ""}


def operators(compilation: Compilation) -> list[str]:
    return [run.node.op.name for run in compilation.plan.program.runs]


def operand(name: str, shape: tuple[int, ...], known: bool) -> object:
    if not known:
        return name, "float32", shape
    return np.random.default_rng(len(shape)).normal(size=shape).astype(np.float32)


@pytest.mark.parametrize("known", KNOWN.values(), ids=KNOWN)
@pytest.mark.parametrize("shape", ADDENDS.values(), ids=ADDENDS)
def test_gemm(shape: tuple[int, ...] | None, known: str) -> None:
    operands = [("a", "float32", (2, 3)), operand("b", (3, 4), "b" in known)]
    if shape is not None:
        operands.append(operand("c", shape, "c" in known))
    check_model(onnx_model("Gemm", operands), oracle=run_onnxruntime, count=1)


@pytest.mark.parametrize("known", KNOWN.values(), ids=KNOWN)
@pytest.mark.parametrize("transposed", [(0, 1), (1, 0), (1, 1)])
def test_gemm_of_transposed_and_scaled_operands(transposed: tuple[int, int], known: str) -> None:
    a = ("a", "float32", (3, 2) if transposed[0] else (2, 3))
    b = operand("b", (4, 3) if transposed[1] else (3, 4), "b" in known)
    attributes = {"transA": transposed[0], "transB": transposed[1], "alpha": 0.75, "beta": -1.5}
    operands = [a, b, operand("c", (4,), "c" in known)]
    check_model(onnx_model("Gemm", operands, attributes), oracle=run_onnxruntime, count=1)


SHAPES = {
    "matrices": ((3, 4), (4, 5)),
    "vectors": ((4,), (4,)),
    "row times matrix": ((4,), (4, 5)),
    "matrix times column": ((3, 4), (4,)),
    "batch times matrix": ((2, 3, 4), (4, 5)),
    "batches": ((2, 3, 4), (2, 4, 5)),
    "batches broadcast both ways": ((2, 1, 3, 4), (1, 3, 4, 2)),
    "row times batch": ((4,), (2, 4, 5)),
    "batch times column": ((2, 3, 4), (4,)),
    "a long sum": ((2, 257), (257, 3)),
}


@pytest.mark.parametrize("known", [False, True], ids=["computed", "known"])
@pytest.mark.parametrize(("left", "right"), SHAPES.values(), ids=SHAPES)
def test_matmul(left: tuple[int, ...], right: tuple[int, ...], known: bool) -> None:
    operands = [("a", "float32", left), operand("b", right, known)]
    check_model(onnx_model("MatMul", operands), oracle=run_onnxruntime, count=1)


def test_a_known_matrix_makes_a_dense_layer() -> None:
    for kind in ("MatMul", "Gemm"):
        operands = [("a", "float32", (2, 3)), operand("b", (3, 4), True)]
        compilation = compile_model(onnx_model(kind, operands), "m.onnx", Options("m"))
        assert operators(compilation) == ["fully_connected"]


@pytest.mark.parametrize(
    ("kind", "left", "right", "text"),
    [
        ("MatMul", (2, 3), (4, 5), "3 columns meet 4 rows"),
        ("MatMul", (), (4, 5), "expected tensors"),
        ("Gemm", (2, 3, 4), (4, 5), "expected two matrices"),
        ("Gemm", (2, 3), (4, 5), "3 columns meet 4 rows"),
    ],
)
def test_what_does_not_fit_is_refused(
    kind: str, left: tuple[int, ...], right: tuple[int, ...], text: str
) -> None:
    onnx = pytest.importorskip("onnx", reason="pip install onnx")
    helper = onnx.helper
    inputs = [
        helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, shape)
        for name, shape in (("a", left), ("b", right))
    ]
    node = helper.make_node(kind, ["a", "b"], ["y"])
    graph = helper.make_graph([node], "main", inputs, [onnx.ValueInfoProto(name="y")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)])
    with pytest.raises(GlowmcuError, match=text) as caught:
        compile_model(model.SerializeToString(), "m.onnx", Options("m"))
    assert caught.value.problems[0].code == "GM106"
