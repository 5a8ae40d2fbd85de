"""What compile and inspect say of files whose weights are small in the file alone."""

from __future__ import annotations

import numpy as np
import pytest

from glowmcu.frontend.notes import notes_on_file
from glowmcu.frontend.tflite.writer import ModelBuilder


def dense(kind: str) -> bytes:
    """A float layer whose 32 weights the file stores as `kind` says."""
    model = ModelBuilder()
    x, y = model.input("x", (1, 8), "float32"), model.tensor("y", (1, 4), "float32")
    weights = np.arange(32).reshape(4, 8) - 16
    if kind == "float32":
        operand = model.constant("w", weights.astype(np.float32))
    elif kind == "int8":
        operand = model.constant("w", weights.astype(np.int8), 0.1)
    else:
        stored = (
            model.constant("w", weights.astype(np.float16))
            if kind == "float16"
            else model.constant("w", weights.astype(np.int8), 0.1)
        )
        operand = model.tensor("real", (4, 8), "float32")
        model.op("DEQUANTIZE", [stored], [operand])
    model.op("FULLY_CONNECTED", [x, operand], [y])
    model.output(y)
    return model.finish()


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("int8", "32 B of weights as int8"),
        ("int8 behind DEQUANTIZE", "32 B of weights as int8"),
        ("float16", "64 B of weights as float16"),
    ],
)
def test_small_weights_of_float_layers_are_told(kind: str, said: str) -> None:
    (note,) = notes_on_file(dense(kind), "m.tflite")
    assert said in note
    assert "128 B of float32" in note
    (note,) = notes_on_file(dense(kind), "m.tflite", quantizing=True)
    assert "rounded to" in note
    assert "--samples" not in note, "they were given"


def test_float_and_int8_models_have_no_such_note() -> None:
    assert notes_on_file(dense("float32"), "m.tflite") == ()
    model = ModelBuilder()
    x, y = model.input("x", (1, 8), "int8", 0.1), model.tensor("y", (1, 4), "int8", 0.1)
    weights = model.constant("w", np.ones((4, 8), np.int8), 0.1)
    model.op("FULLY_CONNECTED", [x, weights], [y])
    real = model.tensor("real", (1, 4), "float32")
    model.op("DEQUANTIZE", [y], [real])
    model.output(real)
    assert notes_on_file(model.finish(), "m.tflite") == ()


@pytest.mark.parametrize(
    ("where", "said"),
    [
        ("nowhere", ""),
        ("input", "; so is 'x'"),
        ("border", "; so are 'x', 'y'"),
        ("constant", ""),
        ("inside", ""),
    ],
)
def test_what_is_double_in_the_file_is_told(where: str, said: str) -> None:
    onnx = pytest.importorskip("onnx", reason="pip install onnx")
    helper, real, double = onnx.helper, onnx.TensorProto.FLOAT, onnx.TensorProto.DOUBLE
    first = double if where in ("input", "border") else real
    last = double if where == "border" else real
    steps = {"inside": [double, real], "constant": []}.get(where, [last])
    nodes, name = [], "x"
    for number, step in enumerate(steps):
        nodes.append(helper.make_node("Cast", [name], [f"v{number}"], to=step))
        name = f"v{number}"
    kind, operands = ("Add", [name, "c"]) if where == "constant" else ("Abs", [name])
    nodes.append(helper.make_node(kind, operands, ["y"]))
    constants = [onnx.numpy_helper.from_array(np.ones(2), "c")] * (where == "constant")
    value = helper.make_tensor_value_info
    graph = helper.make_graph(
        nodes, "g", [value("x", first, [2])], [value("y", last, [2])], constants
    )
    data = helper.make_model(graph).SerializeToString()
    wanted = () if where == "nowhere" else (
        f"the file computes in double, here all of it is float32{said}",
    )  # fmt: skip
    assert notes_on_file(data, "m.onnx") == wanted


@pytest.mark.parametrize(
    ("signatures", "said"),
    [
        ({}, ""),
        ({"only": 0}, ""),
        ({"prefill": 0, "decode.1": 1}, "this is 'prefill': 'decode.1' is left out"),
        ({"b": 1, "c": 1, "d": 1, "e": 1}, "the first subgraph: 'b', 'c', 'd' and 1 more are"),
    ],
)
def test_functions_that_are_not_compiled_are_told(signatures: dict[str, int], said: str) -> None:
    model = ModelBuilder()
    for part in (model, model.subgraph("other")[0]):
        x, y = part.input("x", (1, 4), "float32"), part.tensor("y", (1, 4), "float32")
        part.op("ABS", [x], [y])
        part.output(y)
    notes = notes_on_file(model.finish(signatures), "m.tflite")
    assert len(notes) == bool(said)
    assert not said or said in notes[0]
    assert not said or f"{len(signatures)} signatures" in notes[0]
