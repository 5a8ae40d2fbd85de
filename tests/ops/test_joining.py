"""Joined tensors equal TensorFlow Lite Micro; operands say where they stand in the result."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import glowmcu
from glowmcu.compilation import Options
from glowmcu.errors import GlowmcuError
from glowmcu.frontend.tflite.reader import read_tflite
from glowmcu.frontend.tflite.writer import ModelBuilder
from glowmcu.pipeline import compile_model
from tests.support.check_model import check_model
from tests.support.oracle import run_litert_reference, run_tflm
from tests.support.single_op import Tensor, single_op_model

JOINS = {
    "outermost axis": (((2, 3), (1, 3), (4, 3)), 0),
    "innermost axis": (((2, 3), (2, 1), (2, 17)), 1),
    "behind a batch of one": (((1, 2, 3), (1, 5, 3)), 1),
    "channels": (((1, 3, 2, 4), (1, 3, 2, 1)), -1),
    "one operand": (((2, 3),), 0),
    "ten operands": (((1, 2),) * 10, 1),
}


def join_model(shapes, axis, dtype="int8", options=None) -> bytes:
    out = list(shapes[0])
    out[axis] = sum(shape[axis] for shape in shapes)
    operands = [Tensor(shape, dtype) for shape in shapes]
    return single_op_model(
        "CONCATENATION", operands, [Tensor(tuple(out), dtype)], {"axis": axis, **(options or {})}
    )


@pytest.mark.parametrize(("shapes", "axis"), JOINS.values(), ids=JOINS)
def test_concatenation_equals_tflm(shapes, axis: int) -> None:
    check_model(join_model(shapes, axis), oracle=run_tflm, count=1)


@pytest.mark.parametrize("dtype", ["int16", "int32", "int64", "float32", "bool"])
def test_concatenation_moves_elements_of_any_size(dtype: str) -> None:
    check_model(join_model(((2, 3), (2, 2)), 1, dtype), oracle=run_tflm, count=1)


def test_a_tensor_can_be_joined_with_itself_and_with_a_constant() -> None:
    model = ModelBuilder()
    x = model.input("x", (2, 3), "int8", 0.5, -3)
    c = model.constant("c", np.arange(6, dtype=np.int8).reshape(2, 3), 0.5, -3)
    y = model.tensor("y", (8, 3), "int8", 0.5, -3)
    model.op("CONCATENATION", [x, c, x, c], [y], {"axis": 0})
    model.output(y)
    check_model(model.finish(), oracle=run_tflm)


def contained(data: bytes) -> dict[int, int]:
    node = next(n for n in read_tflite(data, "m").nodes if n.op.name == "concatenation")
    return dict(node.op.contained_operands(node.signature))


def test_a_part_without_elements_is_no_part(tmp_path: Path) -> None:
    """The C of two parts that lie in the result, and of nothing, has nothing to do: gcc told so."""
    b = ModelBuilder()
    x, z = (b.input(name, shape, "float32") for name, shape in (("x", (2, 3)), ("z", (1, 3))))
    relu = [
        b.tensor(f"relu{place}", shape, "float32") for place, shape in enumerate([(2, 3), (1, 3)])
    ]
    nothing = b.constant("nothing", np.zeros((0, 3), np.float32))
    y, out = b.tensor("y", (3, 3), "float32"), b.tensor("out", (3, 3), "float32")
    for source, target in zip((x, z), relu, strict=True):
        b.op("RELU", [source], [target])
    b.op("CONCATENATION", [relu[0], relu[1], nothing], [y], {"axis": 0})
    b.op("NEG", [y], [out])
    b.output(out)
    given = [np.linspace(-1, 1, 6, dtype=np.float32).reshape(2, 3), np.ones((1, 3), np.float32)]
    path = tmp_path / "m.tflite"
    path.write_bytes(b.finish())
    (found,) = glowmcu.compile(path, output=tmp_path / "out").run(given)
    assert np.array_equal(found, run_litert_reference(path.read_bytes(), given)[0])


def test_operands_of_an_outer_join_are_bytes_of_the_result() -> None:
    assert contained(join_model(((2, 3), (1, 3), (4, 3)), 0, "int32")) == {0: 0, 1: 24, 2: 36}
    assert contained(join_model(((1, 2, 3), (1, 5, 3)), 1)) == {0: 0, 1: 6}


def test_operands_of_an_inner_join_are_not() -> None:
    assert contained(join_model(((2, 3), (2, 1)), 1)) == {}


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_pack_equals_tflm(axis: int) -> None:
    out = [2, 3]
    out.insert(axis % 3, 3)
    data = single_op_model(
        "PACK", [Tensor((2, 3))] * 3, [Tensor(tuple(out))], {"axis": axis, "values_count": 3}
    )
    check_model(data, oracle=run_tflm, count=1)


def test_operands_of_another_scale_are_refused() -> None:
    operands = [Tensor((2, 3)), Tensor((2, 3), scale=0.25)]
    data = single_op_model("CONCATENATION", operands, [Tensor((4, 3))], {"axis": 0})
    with pytest.raises(GlowmcuError) as caught:
        compile_model(data, "m.tflite", Options("m"))
    assert "operand 1 is int8[2x3] scale 0.25 zp -3" in str(caught.value)
    assert "expected the same scale and zero point" in str(caught.value)


def test_a_fused_activation_is_refused() -> None:
    data = join_model(((2, 3), (1, 3)), 0, options={"fused_activation_function": "RELU"})
    with pytest.raises(GlowmcuError, match="a fused activation is not supported"):
        compile_model(data, "m.tflite", Options("m"))


def test_operands_that_differ_in_another_axis_are_refused() -> None:
    operands = [Tensor((2, 3)), Tensor((2, 4))]
    data = single_op_model("CONCATENATION", operands, [Tensor((4, 3))], {"axis": 0})
    with pytest.raises(GlowmcuError, match="differ in another axis than 0"):
        compile_model(data, "m.tflite", Options("m"))
