"""Which outputs have the same bits wherever they are computed."""

from __future__ import annotations

import numpy as np
import pytest

from glowmcu.frontend.tflite.writer import ModelBuilder
from glowmcu.ir.exactness import exact_outputs, rounded_outputs
from glowmcu.pipeline import reference_graph
from tests.support.onnx_models import Nodes, finished


def outputs(*kinds: str) -> tuple[bool, ...]:
    """Of a model with an output for each operator of one real number input."""
    model = ModelBuilder()
    x = model.input("x", (1, 4), "float32")
    shape = model.constant("shape", np.array([4, 1], np.int32))
    axes = model.constant("axes", np.array([1, 0], np.int32))
    for kind in kinds:
        result = {"RESHAPE": (4, 1), "TRANSPOSE": (4, 1)}.get(kind, (1, 4))
        is_stored = kind == "QUANTIZE"
        y = model.tensor(
            kind, result, "int8" if is_stored else "float32", 0.1 if is_stored else None
        )
        second = {"RESHAPE": [shape], "TRANSPOSE": [axes]}.get(kind, [])
        model.op(kind, [x, *second], [y])
        model.output(y)
    return exact_outputs(reference_graph(model.finish(), "m.tflite"))


def test_what_moves_or_is_rounded_once_is_exact() -> None:
    assert outputs("RESHAPE", "TRANSPOSE", "QUANTIZE") == (True, True, True)


def test_what_computes_with_real_numbers_is_not() -> None:
    assert outputs("TANH", "RESHAPE", "RELU") == (False, True, False)


def test_what_follows_it_is_not_either() -> None:
    model = ModelBuilder()
    x, real = model.input("x", (1, 4), "float32"), model.tensor("real", (1, 4), "float32")
    model.op("TANH", [x], [real])
    y = model.tensor("y", (1, 4), "int8", 0.1)
    model.op("QUANTIZE", [real], [y])
    model.output(y)
    assert exact_outputs(reference_graph(model.finish(), "m.tflite")) == (False,)


def test_places_behind_real_numbers_have_no_neighbours_and_their_roundings_do() -> None:
    """A class of two would else never be wrong; a pixel of an image is a step off now and then."""
    onnx = pytest.importorskip("onnx", reason="pip install onnx")
    part = Nodes()
    real = part.add("Softplus", "x")
    place = part.add("ArgMax", real, axis=1)
    pixel = part.add("Cast", real, to=onnx.TensorProto.UINT8)
    moved = part.add("Transpose", pixel)
    names = {
        "place": place,
        "flag": part.add("Cast", part.add("Less", "x", real), to=onnx.TensorProto.INT32),
        "pixel": pixel,
        "moved": moved,
        "class": part.add("Gather", part.number([3, 5, 7, 9], "int32"), place),
        "bright": part.add("ArgMax", moved, axis=0),
        "exact": part.add("Cast", "x", to=onnx.TensorProto.INT32),
    }
    helper = onnx.helper
    x = helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [1, 4])
    outputs = [helper.make_empty_tensor_value_info(name) for name in names.values()]
    data = finished(onnx, part.nodes, [x], outputs, part.constants)
    graph = reference_graph(data, "m.onnx")
    rounded = dict(zip(names, rounded_outputs(graph), strict=True))
    exact = dict(zip(names, exact_outputs(graph), strict=True))
    assert [name for name in names if rounded[name]] == ["pixel", "moved"]
    assert [name for name in names if exact[name]] == ["exact"]
