"""Einsum of ONNX equals onnxruntime: every way in which axes of two operands can meet."""

from __future__ import annotations

import numpy as np
import pytest

from glowmcu.compilation import Options
from glowmcu.errors import GlowmcuError
from glowmcu.pipeline import compile_model
from tests.support.check_model import check_model
from tests.support.onnx_models import onnx_model, run_onnxruntime

#: The equation and the operands' shapes.
CASES: dict[str, tuple[str, list[tuple[int, ...]]]] = {
    "a matrix product": ("ij,jk->ik", [(2, 3), (3, 4)]),
    "both are transposed, and the result": ("ji,kj->ki", [(3, 2), (4, 3)]),
    "the scores of attention": ("bqhd,bkhd->bhqk", [(1, 3, 2, 4), (1, 5, 2, 4)]),
    "the values of attention": ("bhqk,bkhd->bqhd", [(2, 2, 3, 5), (2, 5, 2, 4)]),
    "several axes are summed": ("abc,bcd->ad", [(2, 3, 4), (3, 4, 5)]),
    "an outer product": ("i,j->ij", [(3,), (4,)]),
    "a product of elements": ("ij,ij->ij", [(2, 3), (2, 3)]),
    "a dot product": ("i,i->", [(7,), (7,)]),
    "rows times a column": ("bij,bj->bi", [(2, 3, 4), (2, 4)]),
    "an axis of one alone is summed": ("ijk,jl->il", [(2, 3, 4), (3, 5)]),
    "a transposition": ("ijk->kij", [(2, 3, 4)]),
    "a sum": ("ijk->j", [(2, 3, 4)]),
    "what the result lacks": ("ij,jk", [(2, 3), (3, 4)]),
    "letters in their order": ("ba", [(2, 3)]),
    "an ellipsis": ("...ij,...jk->...ik", [(2, 2, 3), (2, 3, 4)]),
    "an ellipsis of one operand": ("...ij,jk->...ik", [(2, 2, 3), (3, 4)]),
    "an ellipsis that broadcasts": ("...ij,...jk->...ik", [(1, 2, 3), (5, 3, 4)]),
    "an ellipsis without an arrow": ("...ij,...jk", [(2, 2, 3), (2, 3, 4)]),
    "three operands": ("ij,jk,kl->il", [(2, 3), (3, 4), (4, 5)]),
    "blanks": (" i j , j k -> i k ", [(2, 3), (3, 4)]),
    "a diagonal": ("ii->i", [(3, 3)]),
    "diagonals of a batch, between other axes": ("ibi->bi", [(3, 2, 3)]),
    "a diagonal of three axes": ("iiki->ki", [(3, 3, 2, 3)]),
    "two diagonals": ("iijj->ji", [(3, 3, 2, 2)]),
    "a trace": ("bii", [(2, 3, 3)]),
    "a diagonal times a matrix": ("ii,ij->ij", [(3, 3), (3, 4)]),
    "capitals": ("iJ,Jk->ik", [(2, 3), (3, 4)]),
}


def model(equation: str, shapes: list[tuple[int, ...]], known: int | None = None) -> bytes:
    """`known` is the operand that is a constant."""
    draw = np.random.default_rng(7)
    operands = [
        draw.normal(size=shape).astype(np.float32)
        if place == known
        else (f"x{place}", "float32", shape)
        for place, shape in enumerate(shapes)
    ]
    return onnx_model("Einsum", operands, {"equation": equation})


@pytest.mark.parametrize("known", [None, 0, 1], ids=["computed", "first known", "second known"])
@pytest.mark.parametrize(("equation", "shapes"), CASES.values(), ids=CASES)
def test_einsum_equals_onnxruntime(
    equation: str, shapes: list[tuple[int, ...]], known: int | None
) -> None:
    if known is not None and len(shapes) < 2:
        known = None
    check_model(model(equation, shapes, known), oracle=run_onnxruntime, count=1)


def test_a_constant_matrix_makes_a_fully_connected_layer() -> None:
    data = model("bnd,df->bnf", [(1, 3, 4), (4, 5)], known=1)
    compilation = compile_model(data, "m.onnx", Options("m"))
    assert [run.node.op.name for run in compilation.plan.program.runs] == ["fully_connected"]


@pytest.mark.parametrize(
    ("equation", "shapes", "said"),
    [
        ("ii->i", [(3, 2)], "GM106: Einsum: axis i has 2 and 3 elements"),
        ("ij,jk->ii", [(2, 3), (3, 4)], "has an axis twice in its result"),
        ("ij->k", [(2, 3)], "GM106: Einsum: no operand has the axis k"),
        ("ij", [(2, 3, 4)], "GM106: Einsum: 'ij' of a tensor of rank 3"),
        ("ij,jk->ik", [(2, 3)], "GM106: Einsum: 'ij,jk->ik' for 1 operands"),
        ("i?,jk", [(2, 3), (3, 4)], "GM106: Einsum: 'i?,jk' for 2 operands"),
        ("......i", [(2, 3)], "GM106: Einsum: '......i' has a dot that is no ellipsis"),
        ("ij,jk->ik", [(2, 3), (4, 5)], "GM106: Einsum: an axis has 3 and 4 elements"),
        ("", [(2,)], "GM106"),
    ],
)
def test_what_cannot_be_is_refused(equation: str, shapes: list[tuple[int, ...]], said: str) -> None:
    onnx = pytest.importorskip("onnx")
    names = [f"x{place}" for place in range(len(shapes))]
    node = onnx.helper.make_node("Einsum", names, ["y"], equation=equation)
    inputs = [
        onnx.helper.make_tensor_value_info(name, 1, shape)
        for name, shape in zip(names, shapes, strict=True)
    ]
    output = onnx.ValueInfoProto(name="y")
    data = onnx.helper.make_model(onnx.helper.make_graph([node], "g", inputs, [output]))
    with pytest.raises(GlowmcuError) as caught:
        compile_model(data.SerializeToString(), "m.onnx", Options("m"))
    assert said in str(caught.value).replace("]: ", ": ")
