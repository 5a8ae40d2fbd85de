"""A .tflite file as plain records, and what is said of bytes that are none."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tflite

from glowmcu.errors import GlowmcuError
from glowmcu.frontend.tflite.container import OperatorRecord, read_container
from glowmcu.frontend.tflite.writer import ModelBuilder
from glowmcu.pipeline import reference_graph

RELU = 1


def small(**changes: Any) -> bytes:
    model = ModelBuilder()
    x = model.input("x", (1, 4), "int8", 0.5, shape_signature=changes.get("signature", ()))
    w = model.constant(
        "w", np.int8([1, 2, 3, 4]), changes.get("scale", 0.25), changes.get("points", 3)
    )
    y = model.tensor("y", (1, 4), "int8", 0.5)
    model.op("ADD", [x, w], [y], {"fused_activation_function": "RELU"})
    model.output(y)
    return model.finish()


def test_a_file_is_read_as_it_was_written() -> None:
    found = read_container(small(), "m.tflite")
    x, w, y = found.tensors
    assert (found.inputs, found.outputs, found.others) == ((0,), (2,), ())
    assert [item.name for item in found.tensors] == ["x", "w", "y"]
    assert (x.type_name, x.shape, x.scales, x.zero_points) == ("INT8", (1, 4), (0.5,), (0,))
    assert (x.data, x.variable_axes, x.is_variable, y.data) == (None, (), False, None)
    assert w.data is not None
    assert (bytes(w.data), w.scales, w.zero_points, w.quantized_axis) == (
        b"\1\2\3\4", (0.25,), (3,), 0,
    )  # fmt: skip
    (op,) = found.operators
    assert (op.index, op.name, op.inputs, op.outputs) == (0, "ADD", (0, 1), (2,))
    assert op.options(tflite.AddOptions).FusedActivationFunction() == RELU
    with pytest.raises(ValueError, match="FOO has no options"):
        OperatorRecord(5, "FOO", (0,), (1,), None).options(tflite.AddOptions)


@pytest.mark.parametrize(
    ("signature", "axes"),
    [((-1, 4), (0,)), ((-1, -1), (0, 1)), ((1, 4), ()), ((-1,), ()), ((-1, 4, 4), ()), ((), ())],
)
def test_open_axes_are_those_of_a_signature_of_the_same_rank(
    signature: tuple[int, ...], axes: tuple[int, ...]
) -> None:
    assert read_container(small(signature=signature), "m").tensors[0].variable_axes == axes


@pytest.mark.parametrize(
    ("data", "found"),
    [
        (b"", "the file is empty"), (b"\0", "got b''"), (b"\0\0\0\0TFL", "got b'TFL'"),
        (b"\0\0\0\0TFL4\0", "got b'TFL4'"),
    ],
)  # fmt: skip
def test_what_is_no_tflite_file_is_told_by_its_first_bytes(data: bytes, found: str) -> None:
    with pytest.raises(GlowmcuError) as caught:
        read_container(data, "m.tflite")
    assert caught.value.problems[0].message.endswith(f"TFL3 at byte 4, {found}")


def test_the_shortest_file_with_the_identifier_is_damaged() -> None:
    with pytest.raises(GlowmcuError, match="the file is damaged"):
        read_container(b"\0\0\0\0TFL3", "m.tflite")


def test_extra_operands_of_quantize_and_dequantize_are_not_theirs() -> None:
    for kind, first, last in (("QUANTIZE", "float32", "int8"), ("DEQUANTIZE", "int8", "float32")):
        model = ModelBuilder()

        def add(make: Callable[..., Any], name: str, dtype: str, scale: float = 0.5) -> Any:
            return make(name, (1, 4), dtype, scale if dtype == "int8" else None)

        x, y = add(model.input, "x", first), add(model.tensor, "y", last)
        other = add(model.input, "other", first, 0.25)
        model.op(kind, [x, other], [y])
        model.output(y)
        graph = reference_graph(model.finish(), "m.tflite")
        assert [value.name for value in graph.producers[graph.outputs[0]].inputs] == ["x"]
