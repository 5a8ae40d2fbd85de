"""Sequences of ONNX are resolved at compile time; constants made from nothing are constants."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from glowmcu.compilation import Options
from glowmcu.errors import GlowmcuError
from glowmcu.ir.interpreter import run_graph
from glowmcu.pipeline import compile_model
from tests.support.check_model import check_model
from tests.support.onnx_models import finished, run_onnxruntime

Step = tuple[str, list[str], str, dict[str, Any]]


def sequence_model(steps: Sequence[Step], inputs: int = 3, **constants: int | list[int]) -> bytes:
    """Steps (operator, operands, result, attributes) on inputs x0, … of 2x3; the last is y."""
    onnx = pytest.importorskip("onnx")
    helper = onnx.helper
    values = [helper.make_tensor_value_info(f"x{i}", 1, (2, 3)) for i in range(inputs)]
    nodes = [helper.make_node(kind, names, [out], **options) for kind, names, out, options in steps]
    data = [
        onnx.numpy_helper.from_array(np.array(number, np.int64), name)
        for name, number in constants.items()
    ]
    return finished(onnx, nodes, values, [onnx.ValueInfoProto(name="y")], data)


def test_tensors_are_inserted_erased_and_taken() -> None:
    steps: list[Step] = [
        ("SequenceEmpty", [], "a", {}),
        ("SequenceInsert", ["a", "x0"], "b", {}),
        ("SequenceInsert", ["b", "x1"], "c", {}),
        ("SequenceInsert", ["c", "x2", "front"], "d", {}),
        ("SequenceErase", ["d", "last"], "e", {}),
        ("SequenceAt", ["e", "last"], "z", {}),
        ("Identity", ["z"], "y", {}),
    ]
    check_model(sequence_model(steps, front=0, last=-1), oracle=run_onnxruntime)


def test_parts_are_joined_again() -> None:
    for options in ({"axis": 0}, {"axis": 1}, {"axis": -1, "new_axis": 1}):
        steps: list[Step] = [
            ("SplitToSequence", ["x0", "two"], "a", {"axis": 0}),
            ("ConcatFromSequence", ["a"], "y", options),
        ]
        check_model(sequence_model(steps, inputs=1, two=1), oracle=run_onnxruntime)
    steps = [
        ("SplitToSequence", ["x0", "sizes"], "a", {"axis": 1}),
        ("ConcatFromSequence", ["a"], "y", {"axis": 1}),
    ]
    check_model(sequence_model(steps, inputs=1, sizes=[1, 2]), oracle=run_onnxruntime)


def test_parts_of_one_may_lose_their_axis() -> None:
    steps: list[Step] = [
        ("SplitToSequence", ["x0"], "a", {"axis": 1, "keepdims": 0}),
        ("SequenceAt", ["a", "at"], "z", {}),
        ("Concat", ["z", "z"], "y", {"axis": 0}),
    ]
    check_model(sequence_model(steps, inputs=1, at=2), oracle=run_onnxruntime)


def test_a_sequence_that_leaves_the_model_is_an_output_for_each_tensor() -> None:
    steps: list[Step] = [("SequenceConstruct", ["x0", "x1"], "y", {})]
    graph = compile_model(sequence_model(steps, inputs=2), "m.onnx", Options("m")).imported
    arrays = [np.full(value.type.shape, at, np.float32) for at, value in enumerate(graph.inputs)]
    got = run_graph(graph, arrays)
    assert [array.tobytes() for array in got] == [array.tobytes() for array in arrays]


def test_a_position_outside_is_refused() -> None:
    steps: list[Step] = [
        ("SequenceConstruct", ["x0", "x1"], "a", {}),
        ("SequenceAt", ["a", "at"], "y", {}),
    ]
    with pytest.raises(GlowmcuError, match="position 2 in a sequence of 2"):
        compile_model(sequence_model(steps, at=2), "m.onnx", Options("m"))


def test_constants_made_from_nothing_join_what_is_computed() -> None:
    steps: list[Step] = [
        ("ConstantOfShape", ["shape"], "zeros", {}),
        ("Range", ["zero", "nine", "three"], "range", {}),
        ("Cast", ["range"], "real", {"to": 1}),
        ("Concat", ["x0", "zeros"], "joined", {"axis": 0}),
        ("EyeLike", ["joined"], "eye", {"k": 1}),
        ("Expand", ["real", "shape"], "rows", {}),
        ("Concat", ["joined", "eye", "rows"], "y", {"axis": 0}),
    ]
    model = sequence_model(steps, inputs=1, shape=[2, 3], zero=0, nine=9, three=3)
    check_model(model, oracle=run_onnxruntime)
