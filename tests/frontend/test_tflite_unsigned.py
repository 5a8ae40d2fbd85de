"""uint8 of a .tflite file: which operators are those on int8, and which know it themselves."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from glowmcu.frontend.tflite.container import read_container
from glowmcu.frontend.tflite.importer import Import
from glowmcu.frontend.tflite.unsigned import knows_int8_alone
from glowmcu.frontend.tflite.writer import ModelBuilder
from glowmcu.input_options import InputOptions
from glowmcu.ir.operation import Operation
from glowmcu.ir.types import ElementType, Quantization, TensorType
from glowmcu.ops.activation import Relu
from glowmcu.ops.comparison import Equal
from glowmcu.ops.elementwise import Add
from glowmcu.ops.quantization import Dequantize, Quantize, Requantize
from glowmcu.ops.resize import ResizeBilinear
from glowmcu.ops.shape import Reshape
from glowmcu.ops.transpose import Transpose
from tests.frontend.test_tflite_import import importing, operator, refused, tensor

F32, I8, UI8 = ElementType.F32, ElementType.I8, ElementType.UI8


def test_uint8_is_computed_as_int8_and_comes_back() -> None:
    kind: dict[str, Any] = {"kind": "UINT8", "scale": 0.5}
    state = importing(
        tensor("x", 2, point=130, **kind), tensor("y", 2, point=120, **kind),
        tensor("w", 2, point=128, data=np.uint8([1, 255]), **kind), tensor("z", 2, **kind),
    )  # fmt: skip
    x, w = state.graph_input(0), state.tensor_value(2)
    (y,) = state.emit(operator([0, 2], [1]), Add((0, 200)), [x, w])
    (z,) = state.emit(operator([1, 2], [3]), Add(), [y, w])
    graph = state.builder.graph([x], [z])
    told = {
        node.output.name: (node.op.name, node.output.type.element, [v.name for v in node.inputs])
        for node in graph.nodes
        if node.inputs
    }
    assert told == {
        "x/int8": ("requantize", I8, ["x"]),
        "y/int8": ("add", I8, ["x/int8", "w"]),
        "y": ("requantize", UI8, ["y/int8"]),
        "z/int8": ("add", I8, ["y/int8", "w"]),
        "z": ("requantize", UI8, ["z/int8"]),
    }
    (add, *_) = [node for node in graph.nodes if node.op.name == "add"]
    assert isinstance(add.op, Add)
    assert add.op.clamp == (-128, 72)
    points = [value.type.zero_point for value in (*add.inputs, add.output)]
    assert points == [2, 0, -8]
    assert state.builder.known[add.inputs[1]].tolist() == [-127, 127]


UNSIGNED = TensorType((2, 2), UI8, Quantization((0.5,), (3,)))


@pytest.mark.parametrize(
    ("operation", "types", "alone"),
    [
        (Add(), [UNSIGNED], True), (Relu(), [UNSIGNED], True),
        (Add(), [TensorType((2,), F32), UNSIGNED], True), (Add(), [], False),
        (Add(), [TensorType((2,), UI8)], False),
        (Add(), [TensorType((2,), I8, UNSIGNED.quantization)], False),
        (Transpose((1, 0)), [UNSIGNED], False), (Reshape((4,)), [UNSIGNED], False),
        (Quantize(), [UNSIGNED], False), (Dequantize(), [UNSIGNED], False),
        (Requantize(), [UNSIGNED], False), (ResizeBilinear((2, 2)), [UNSIGNED], False),
    ],
)  # fmt: skip
def test_what_only_moves_or_converts_bytes_knows_uint8_itself(
    operation: Operation, types: list[TensorType], alone: bool
) -> None:
    assert knows_int8_alone(operation, types) == alone


def test_bytes_are_moved_as_they_are() -> None:
    kind: dict[str, Any] = {"kind": "UINT8", "scale": 0.5}
    state = importing(tensor("x", 1, 2, **kind), tensor("y", 2, 1, **kind))
    x = state.graph_input(0)
    (y,) = state.emit(operator(), Transpose((1, 0)), [x])
    (node,) = state.builder.graph([x], [y]).nodes
    assert (node.inputs, node.output) == ((x,), y)


def test_what_an_operator_on_uint8_finds_out_is_no_byte() -> None:
    state = importing(
        tensor("x", 2, kind="UINT8", scale=0.5, point=128), tensor("y", 2, kind="BOOL")
    )
    x = state.graph_input(0)
    (y,) = state.emit(operator(), Equal(), [x, x])
    assert (y.name, y.type.element) == ("y/int8", ElementType.BOOL)
    assert state.tensor_value(1) is y


def test_an_operator_on_uint8_has_no_int8_beside_it() -> None:
    """Its clamp would be in the stored units of one of both."""
    state = importing(
        tensor("x", 2, kind="UINT8", scale=0.5, point=128), tensor("y", 2, kind="INT8", scale=0.5)
    )
    x = state.graph_input(0)
    said = refused(state.emit, operator(), Relu((0.0, 6.0)), [x])
    assert said == "GM105 relu: int8[2] scale 0.5 zp 0 beside uint8; expected uint8 throughout"


@pytest.mark.parametrize(
    ("kind", "activation", "is_read", "depth", "is_ending"),
    [
        ("FULLY_CONNECTED", "NONE", False, 0, True), ("FULLY_CONNECTED", "NONE", False, 1, False),
        ("FULLY_CONNECTED", "NONE", False, 2, False), ("FULLY_CONNECTED", "RELU", False, 0, False),
        ("FULLY_CONNECTED", "NONE", True, 0, False), ("ADD", "NONE", False, 0, False),
    ],
)  # fmt: skip
def test_an_ending_is_a_product_that_only_the_application_reads(
    kind: str, activation: str, is_read: bool, depth: int, is_ending: bool
) -> None:
    model = ModelBuilder()
    x = model.input("x", (1, 4), "int8", 0.5)
    w = model.constant("w", np.ones((4, 4), np.int8), 0.5)
    y, z = (model.tensor(name, (1, 4), "int8", 0.5) for name in "yz")
    model.op(kind, [x, w], [y], {"fused_activation_function": activation})
    if is_read:
        model.op("ADD", [y, x], [z], {})
    model.output(y)
    record = read_container(model.finish(), "m.tflite")
    state = Import(record, InputOptions(), depth=depth)
    assert state._is_ending(record.operators[0], y.index) == is_ending
