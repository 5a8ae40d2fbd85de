"""ONNX operators that move elements equal onnxruntime: every way to say what goes where."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from glowmcu.compilation import Options
from glowmcu.errors import GlowmcuError
from glowmcu.ir.interpreter import Session
from glowmcu.pipeline import compile_model, reference_graph
from tests.support.check_model import check_model
from tests.support.onnx_models import finished, onnx_model, run_onnxruntime


def ints(*values: int) -> np.ndarray:
    return np.array(values, np.int64)


def x(*shape: int, dtype: str = "float32") -> tuple[str, str, tuple[int, ...]]:
    return ("x", dtype, shape)


# operator, operands, attributes, results, opset
CASES: dict[str, tuple[Any, ...]] = {
    "concat along a negative axis": (
        "Concat", [x(2, 3), ("z", "float32", (2, 4))], {"axis": -1}, 1, 18),
    "slice by attributes": ("Slice", [x(4, 5)], {"starts": [1], "ends": [-1], "axes": [1]}, 1, 9),
    "slice backwards to the very beginning": (
        "Slice", [x(4, 5), ints(-1), ints(-(2**63)), ints(1), ints(-2)], {}, 1, 18),
    "slice beyond the end": ("Slice", [x(4, 5), ints(1, 2), ints(99, 2**63 - 1)], {}, 1, 18),
    "slice with default axes and steps": ("Slice", [x(4, 5), ints(0, 3), ints(2, 4)], {}, 1, 18),
    "split into equal parts": ("Split", [x(6, 4)], {"axis": 0}, 3, 13),
    "split by attribute": ("Split", [x(6, 4)], {"split": [1, 3], "axis": -1}, 2, 11),
    "split by operand": ("Split", [x(7, 2), ints(2, 5)], {}, 2, 18),
    "split unevenly": ("Split", [x(7, 2)], {"num_outputs": 3}, 3, 18),
    "pad by attributes": ("Pad", [x(2, 3)], {"pads": [0, 1, 2, 0], "value": 1.5}, 1, 10),
    "pad by operands": ("Pad", [x(2, 3), ints(1, 0, 0, 2), np.float32(-2)], {}, 1, 18),
    "pad some axes": ("Pad", [x(2, 3, 4), ints(1, 2), None, ints(-1)], {}, 1, 18),
    "pad and crop at once": ("Pad", [x(4, 5), ints(-1, 2, 1, -2)], {}, 1, 18),
    "pad with the edge": ("Pad", [x(2, 3), ints(1, 0, 3, 4)], {"mode": "edge"}, 1, 18),
    "pad by reflection": ("Pad", [x(3, 4), ints(2, 1, 1, 3)], {"mode": "reflect"}, 1, 18),
    "pad round and round": ("Pad", [x(3, 4), ints(2, 1, 1, 3)], {"mode": "wrap"}, 1, 19),
    "pad integers": ("Pad", [x(2, 3, dtype="int32"), ints(1, 0, 0, 2), np.int32(7)], {}, 1, 18),
    "expand both": ("Expand", [x(3, 1), ints(2, 1, 4)], {}, 1, 18),
    "expand to less than there is": ("Expand", [x(3, 4), ints(1)], {}, 1, 18),
    "tile": ("Tile", [x(2, 3), ints(2, 3)], {}, 1, 18),
    "transpose by default": ("Transpose", [x(2, 3, 4)], {}, 1, 18),
    "space to depth": ("SpaceToDepth", [x(2, 3, 4, 6)], {"blocksize": 2}, 1, 18),
    "depth to space, depth first": ("DepthToSpace", [x(1, 12, 2, 3)], {"blocksize": 2}, 1, 18),
    "depth to space, columns first": (
        "DepthToSpace", [x(1, 12, 2, 3)], {"blocksize": 2, "mode": "CRD"}, 1, 18),
    "reverse sequences": (
        "ReverseSequence", [x(4, 3, 2), ints(1, 4, 3)], {"time_axis": 0, "batch_axis": 1}, 1, 18),
    "reverse sequences, batch first": (
        "ReverseSequence", [x(3, 4), ints(1, 4, 3)], {"time_axis": 1, "batch_axis": 0}, 1, 18),
    "gather a scalar": ("Gather", [x(4, 3), np.array(-1, np.int64)], {}, 1, 18),
    "gather a table": ("Gather", [x(4, 3), np.array([[0, -1], [2, 1]])], {"axis": 1}, 1, 18),
    "gather elements": (
        "GatherElements", [x(3, 4), np.array([[0, -1, 2], [3, 3, -4]])], {"axis": 1}, 1, 18),
    "gather by coordinates": ("GatherND", [x(3, 4, 2), np.array([[0, -1], [2, 1]])], {}, 1, 18),
    "gather by coordinates in batches": (
        "GatherND", [x(2, 3, 4), np.array([[[1], [-1]], [[0], [2]]])], {"batch_dims": 1}, 1, 18),
    "compress along an axis": (
        "Compress", [x(3, 4), np.array([True, False, True])], {"axis": 1}, 1, 18),
    "compress all": ("Compress", [x(2, 3), np.array([False, True, True, False, True])], {}, 1, 18),
    "upper triangle": ("Trilu", [x(2, 4, 3), np.array(-1, np.int64)], {}, 1, 18),
    "lower triangle": ("Trilu", [x(4, 5)], {"upper": 0}, 1, 18),
    "scatter elements": (
        "ScatterElements", [x(3, 4), np.array([[1, 0], [-1, 2]]), ("z", "float32", (2, 2))],
        {"axis": 0}, 1, 18),
    "scatter with the old name": (
        "Scatter", [x(3, 4), np.array([[1, 0]]), ("z", "float32", (1, 2))], {"axis": 1}, 1, 10),
    "scatter slices": (
        "ScatterND", [x(4, 3), np.array([[1], [-1]]), ("z", "float32", (2, 3))], {}, 1, 18),
    "shape in part": ("Shape", [x(2, 3, 4)], {"start": 1, "end": -1}, 1, 18),
    "size": ("Size", [x(2, 3, 4)], {}, 1, 18),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_moving_operators_equal_onnxruntime(case) -> None:
    kind, operands, attributes, outputs, opset = case
    operands = [np.asarray(o) if isinstance(o, np.generic) else o for o in operands]
    data = onnx_model(kind, operands, attributes, outputs, opset)
    check_model(data, oracle=run_onnxruntime, count=2)


@pytest.mark.parametrize("kind", ["Gather", "GatherElements", "GatherND"])
def test_computed_indices_may_count_from_the_end(kind: str) -> None:
    shapes = {"Gather": (2, 2), "GatherElements": (3, 2), "GatherND": (2, 2)}
    data = onnx_model(kind, [x(3, 4), ("i", "int64", shapes[kind])])
    values = np.random.default_rng(2).normal(size=(3, 4)).astype(np.float32)
    indices = np.random.default_rng(3).integers(-3, 3, shapes[kind])
    check_model(data, [[values, indices]], run_onnxruntime)


def test_computed_indices_outside_stay_inside_the_tensor() -> None:
    data = onnx_model("Gather", [x(3, 2), ("i", "int64", (4,))])
    values = np.arange(6, dtype=np.float32).reshape(3, 2)
    indices = ints(-(2**31), -4, 3, 2**31 - 1)
    check_model(data, [[values, indices]], lambda *_: [values[[0, 0, 2, 2]]])


@pytest.mark.parametrize("reduction", ["none", "add", "mul", "max", "min"])
@pytest.mark.parametrize("kind", ["ScatterElements", "ScatterND"])
@pytest.mark.parametrize("dtype", ["float32", "int32"])
def test_computed_places_of_updates(kind: str, reduction: str, dtype: str) -> None:
    shape = (2, 3) if kind == "ScatterElements" else (2, 1)
    operands = [x(4, 3, dtype=dtype), ("i", "int64", shape), ("z", dtype, (2, 3))]
    data = onnx_model(kind, operands, {"reduction": reduction})
    generator = np.random.default_rng(7)
    values = generator.integers(-9, 9, (4, 3)).astype(dtype)
    updates = generator.integers(-9, 9, (2, 3)).astype(dtype)
    indices = np.array([[-1, 0, 2], [1, -3, 3]]) if kind == "ScatterElements" else ints(-2, 1)
    check_model(data, [[values, indices.reshape(shape), updates]], run_onnxruntime)


def test_updates_of_one_place_come_in_order() -> None:
    data = onnx_model("ScatterND", [x(3), ("i", "int64", (4, 1)), ("z", "float32", (4,))])
    values, updates = np.zeros(3, np.float32), np.array([1, 2, 3, 4], np.float32)
    indices = ints(1, 1, 0, 1).reshape(4, 1)
    check_model(data, [[values, indices, updates]], lambda *_: [np.array([3, 4, 0], np.float32)])


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("dtype", ["int64", "int32", "float32"])
def test_one_hot(axis: int, dtype: str) -> None:
    """onnxruntime has it for few types; numpy says what it means."""
    values = np.array([2, 5], np.float32)
    operands = [("i", dtype, (2, 3)), np.array(4, np.int64), values]
    indices = np.array([[0, -1, 9], [3, -5, 1]]).astype(dtype)
    places = np.arange(4).reshape([4 if a == axis % 3 else 1 for a in range(3)])
    wrapped = np.where(indices < 0, indices + 4, indices)
    want = np.where(np.expand_dims(wrapped, axis) == places, values[1], values[0])
    data = onnx_model("OneHot", operands, {"axis": axis})
    check_model(data, [[indices]], lambda *_: [want.astype(np.float32)])


CASTS = [("float32", "int64"), ("float32", "uint8"), ("int64", "float32"), ("bool", "float32"),
         ("int32", "bool"), ("uint8", "int32"), ("int64", "int32")]  # fmt: skip


@pytest.mark.parametrize(("source", "target"), CASTS)
def test_casts(source: str, target: str) -> None:
    onnx = pytest.importorskip("onnx")
    to = onnx.helper.np_dtype_to_tensor_dtype(np.dtype(target))
    values = np.array([0, 1, 5, 100, 0, 7] if source != "bool" else [0, 1, 1, 0, 0, 1])
    inputs = [[values.astype(source)]]
    check_model(onnx_model("Cast", [x(6, dtype=source)], {"to": to}), inputs, run_onnxruntime)
    like = onnx_model("CastLike", [x(6, dtype=source), np.zeros(1, target)])
    check_model(like, inputs, run_onnxruntime)


@pytest.mark.parametrize(("element", "apart"), [(10, 2e-3), (11, 1e-6)], ids=["half", "double"])
@pytest.mark.parametrize("borders", ["float32", "too"])
def test_other_floats_are_computed_as_float32(element: int, apart: float, borders: str) -> None:
    onnx = pytest.importorskip("onnx", reason="pip install onnx")
    make, outer = onnx.helper.make_node, 1 if borders == "float32" else element
    nodes = [
        make("Cast", ["x"], ["other"], to=element),
        make("Softmax", ["other"], ["parts"]),
        make("Mul", ["parts", "two"], ["twice"]),
        make("Cast", ["twice"], ["y"], to=outer),
    ]
    border = [onnx.helper.make_tensor_value_info(name, outer, (2, 5)) for name in "xy"]
    two = np.array([2], onnx.helper.tensor_dtype_to_np_dtype(element))
    data = finished(onnx, nodes, border[:1], border[1:], [onnx.numpy_helper.from_array(two, "two")])
    values = np.random.default_rng(4).normal(size=(2, 5))
    stored = onnx.helper.tensor_dtype_to_np_dtype(outer)
    (theirs,) = run_onnxruntime(data, [values.astype(stored)])
    (ours,) = Session(reference_graph(data, "m.onnx")).run([values.astype(np.float32)])
    assert ours.dtype == np.float32
    assert np.allclose(ours, theirs, apart, apart)
    check_model(data)


REFUSED = {
    "an index outside": (
        onnx_model("Gather", [x(3, 2), ints(3)]), r"Gather: index 3 is outside \[3\]"),
    "a shape made by data": (onnx_model("NonZero", [x(3)]), "NonZero needs its operand known"),
    "parts that do not fit": (onnx_model("Split", [x(5), ints(2, 2)], {}, 2), "do not make up"),
    "an axis outside": (onnx_model("Concat", [x(3, 2)], {"axis": 2}), "axis 2 is outside rank 2"),
    "a step of zero": (onnx_model("Slice", [x(3), ints(0), ints(1), ints(0), ints(0)]), "steps of"),
    "shapes that do not broadcast": (onnx_model("Expand", [x(3), ints(2)]), "Expand: .*broadcast"),
    "complex numbers": (onnx_model("Cast", [x(3)], {"to": 14}), "Cast to COMPLEX64 is not"),
}  # fmt: skip


@pytest.mark.parametrize(("data", "message"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_done_is_refused(data: bytes, message: str) -> None:
    with pytest.raises(GlowmcuError, match=message):
        compile_model(data, "m.onnx", Options("m"))
