"""A .tflite file as plain records, and what is said of bytes that are none."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import tflite

from glowmcu.custom_c import CustomFile
from glowmcu.errors import GlowmcuError
from glowmcu.frontend.read_model import read_model
from glowmcu.frontend.tflite import container
from glowmcu.frontend.tflite.container import OperatorRecord, read_container
from glowmcu.frontend.tflite.writer import ModelBuilder
from glowmcu.input_options import InputOptions
from glowmcu.ir.interpreter import run_graph
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
    [
        ((-1, 4), (0,)),
        ((-1, -1), (0, 1)),
        ((1, 4), ()),
        ((-1,), ()),
        ((-1, 4, 4), ()),
        ((), ()),
        ((0, 4), ()),
    ],
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


def test_a_function_of_a_constant_is_not_that_constant() -> None:
    """As it is of DENSIFY, whose operand is dense already."""
    model = ModelBuilder()
    x, known = model.input("x", (2,), "float32"), model.constant("k", np.float32([-1, 2]))
    positive, y = model.tensor("positive", (2,), "float32"), model.tensor("y", (2,), "float32")
    model.op("ABS", [known], [positive])
    model.op("ADD", [x, positive], [y])
    model.output(y)
    graph = reference_graph(model.finish(), "m.tflite")
    (got,) = run_graph(graph, [np.float32([10, 20])])
    assert got.tolist() == [11.0, 22.0]


@pytest.mark.parametrize(("options", "code", "words"), [
    (InputOptions(custom={"ABS": CustomFile("abs.c", "")}), "GM764",
     "no operator of the model is called 'ABS'"),
    (InputOptions(symbols={"N": 2}), "GM113", "no input has a symbolic size 'N'"),
    (InputOptions(shapes={"z": (2,)}), "GM107", "no input is named 'z'"),
])  # fmt: skip
def test_options_for_what_is_not_in_the_file_are_refused(
    options: InputOptions, code: str, words: str
) -> None:
    model = ModelBuilder()
    x, y = model.input("x", (2,), "float32"), model.tensor("y", (2,), "float32")
    model.op("ABS", [x], [y])
    model.output(y)
    with pytest.raises(GlowmcuError, match=words) as caught:
        read_model(model.finish(), "m.tflite", options)
    assert caught.value.code == code


def test_a_custom_operator_of_the_user_is_used_in_place_of_the_own_importer() -> None:
    model = ModelBuilder()
    x, y = model.input("x", (2,), "float32"), model.tensor("y", (2,), "float32")
    model.custom_op("TFLite_Detection_PostProcess", [x], [y])
    model.output(y)
    double = 'def double(x: "float32[N]") -> "y: float32[N]":\n    y[i] = 2 * x[i]\n'
    options = InputOptions(custom={"TFLite_Detection_PostProcess": CustomFile("double.py", double)})
    graph = read_model(model.finish(), "m.tflite", options)
    assert run_graph(graph, [np.float32([1, 2])])[0].tolist() == [2.0, 4.0]


@pytest.mark.parametrize("is_known", [False, True])
def test_the_real_numbers_of_weights_are_known_at_once(is_known: bool) -> None:
    model = ModelBuilder()
    stored = (
        model.constant("w", np.int8([2, -4]), 0.5)
        if is_known
        else model.input("w", (2,), "int8", 0.5)
    )
    x, w, y = (
        model.input("x", (2,), "float32"),
        model.tensor("real", (2,), "float32"),
        model.tensor("y", (2,), "float32"),
    )
    model.op("DEQUANTIZE", [stored], [w])
    model.op("ADD", [x, w], [y])
    model.output(y)
    graph = reference_graph(model.finish(), "m.tflite")
    value = graph.producers[graph.outputs[0]].inputs[1]
    data = graph.constant_data(value)
    assert (data is not None) == is_known
    if data is not None:
        assert data.tolist() == [1.0, -2.0]
    else:
        assert [each.name for each in graph.producers[value].inputs] == ["w"]


@pytest.mark.parametrize("scales", [0.25, [0.25, 0.5]])
def test_zero_points_that_are_left_out_are_zero(scales: Any) -> None:
    count = np.size(scales)
    found = read_container(small(scale=scales, points=[]), "m.tflite").tensors[1]
    assert found.zero_points == (0,) * count


@pytest.mark.parametrize("is_there", [False, True], ids=["no list", "an empty list"])
def test_what_has_no_scales_is_not_quantized(is_there: bool) -> None:
    """Exporters write tables of quantization in which nothing stands, or ranges alone."""
    data = bytearray(small())
    parameters = tflite.Model.GetRootAs(data, 0).Subgraphs(0).Tensors(1).Quantization()
    assert parameters.ScaleLength() == 1
    table = parameters._tab
    if is_there:
        length = table.Vector(table.Offset(8)) - 4
        data[length : length + 4] = bytes(4)
    else:
        fields = table.Pos - int.from_bytes(data[table.Pos : table.Pos + 4], "little", signed=True)
        data[fields + 8 : fields + 10] = bytes(2)
    record = read_container(bytes(data), "m.tflite").tensors[1]
    assert (record.scales, record.zero_points, record.quantized_axis) == ((), (), 0)


def test_everything_that_is_read_is_paid_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Items and their bytes: parts of a file that lie in each other cost what they pretend."""
    paid: list[tuple[int, int]] = []
    spend = container._Reader.spend

    def noted(self: Any, count: int, item_bytes: int = 4) -> int:
        paid.append((count, item_bytes))
        return spend(self, count, item_bytes)

    monkeypatch.setattr(container._Reader, "spend", noted)
    model = ModelBuilder()
    x = model.input("image", (1, 4), "int8", 0.5, shape_signature=(-1, 4))
    w = model.constant("weights", np.ones((3, 4), np.int8), [0.1, 0.2, 0.3], [0] * 3)
    y = model.tensor("y", (1, 4), "float32")
    model.custom_op("MyOwn", [x, w, x], [y], b"options")
    model.output(y)
    read_container(model.finish({"main": 0}), "m.tflite")
    codes, graphs, tensors = [(1, 4)], [(1, 4)], [(3, 4)]
    image = [(2, 4), (2, 4), (1, 4), (1, 8), (5, 1)]  # shape, signature, scale, zero point, name
    weights = [(2, 4), (3, 4), (3, 8), (7, 1), (12, 1)]  # the last are its data
    result = [(2, 4), (1, 1)]
    operators = [(1, 4), (3, 4), (1, 4), (7, 1)]
    ends, signatures = [(1, 4), (1, 4)], [(1, 4), (4, 1)]
    parts = (codes, graphs, tensors, image, weights, result, operators, ends, signatures)
    assert paid == [each for part in parts for each in part]


def test_what_costs_more_than_the_file_can_hold_is_damaged() -> None:
    reader = container._Reader(b"x" * 100)
    assert reader.spend(25) == 25
    with pytest.raises(ValueError, match="a vector claims 26 items in a file of 100 bytes"):
        reader.spend(26)
    assert reader.spend(100, 1) == 100
    with pytest.raises(ValueError, match="a vector claims 101 items"):
        reader.spend(101, 1)
    reader.budget = 4 * 25 + 16
    reader.spend(25)
    assert reader.budget == 0
    for rest in (0, 15):
        reader.budget = rest
        with pytest.raises(ValueError, match="its parts overlap or are more than the file can"):
            reader.spend(0)


@pytest.mark.parametrize(
    ("place", "index", "words"),
    [
        *((place, index, "") for place in ("input", "output", "operand", "result")
          for index in (0, 2)),
        ("operand", -1, ""),
        *((place, index, f"tensor {index} of 3 is named as input or output")
          for place in ("input", "output") for index in (-1, 3)),
        *(("operand", index, f"operator 0 ADD refers to tensor {index}") for index in (-2, 3)),
        ("result", 3, "operator 0 ADD refers to tensor 3"),
        ("result", -1, "operator 0 ADD lacks an output"),
    ],
)  # fmt: skip
def test_tensors_are_referred_to_by_numbers_that_there_are(
    place: str, index: int, words: str
) -> None:
    model = ModelBuilder()
    x, w = model.input("x", (1,), "int8", 0.5), model.input("w", (1,), "int8", 0.5)
    y = model.tensor("y", (1,), "int8", 0.5)
    asked = replace(y, index=index)
    model.op("ADD", [x, asked if place == "operand" else w], [y])
    if place == "result":
        model._operators[0] = replace(model._operators[0], outputs=(index,))
    model.output(asked if place == "output" else y)
    if place == "input":
        model._inputs.append(index)
    if words:
        with pytest.raises(GlowmcuError) as caught:
            read_container(model.finish(), "m.tflite")
        assert caught.value.problems[0].message == f"the file is damaged: {words}"
        return
    found = read_container(model.finish(), "m.tflite")
    (op,) = found.operators
    assert index in {"input": found.inputs, "output": found.outputs, "operand": op.inputs,
                     "result": op.outputs}[place]  # fmt: skip


@pytest.mark.parametrize("rank", [8, 9])
def test_tensors_have_at_most_eight_axes(rank: int) -> None:
    model = ModelBuilder()
    model.output(model.input("x", (1,) * rank, "int8", 0.5))
    if rank == 8:
        assert read_container(model.finish(), "m").tensors[0].shape == (1,) * 8
        return
    with pytest.raises(GlowmcuError, match="tensor 0 has rank 9; at most 8 make sense"):
        read_container(model.finish(), "m")


@pytest.mark.parametrize("length", [0, 1, 4096, 4097])
def test_names_are_of_a_length_that_makes_sense(length: int) -> None:
    model = ModelBuilder()
    model.output(model.input("n" * length, (1,), "int8", 0.5))
    if length == 4097:
        with pytest.raises(GlowmcuError, match="a tensor name of 4097 bytes"):
            read_container(model.finish(), "m")
        return
    name = read_container(model.finish(), "m").tensors[0].name
    assert name == ("n" * length or "tensor_0")


def test_a_constant_is_no_output() -> None:
    model = ModelBuilder()
    x, w = model.input("x", (1,), "int8", 0.5), model.constant("w", np.int8([1]), 0.5)
    y = model.tensor("y", (1,), "int8", 0.5)
    model.op("ADD", [x, w], [y])
    model.output(y)
    model.output(w)
    with pytest.raises(GlowmcuError, match="a constant is a model output") as caught:
        reference_graph(model.finish(), "m.tflite")
    assert [problem.where for problem in caught.value.problems] == ["m.tflite, output 'w'"]


@pytest.mark.parametrize(("index", "is_there"), [(0, True), (1, True), (2, False)])
def test_buffers_are_referred_to_by_numbers_that_there_are(index: int, is_there: bool) -> None:
    """The first is nobody's data."""
    model = ModelBuilder()
    x, w = model.input("x", (1,), "int8", 0.5), model.constant("w", np.int8([7]), 0.5)
    model.op("ADD", [x, w], [x])
    model.output(x)
    data = bytearray(model.finish())
    table = tflite.Model.GetRootAs(data, 0).Subgraphs(0).Tensors(1)._tab
    place = table.Pos + table.Offset(8)
    assert data[place] == 1
    data[place] = index
    if not is_there:
        with pytest.raises(GlowmcuError, match="buffer 2 of 2 is referred to"):
            read_container(bytes(data), "m")
        return
    found = read_container(bytes(data), "m").tensors[1].data
    assert (found is None) == (index == 0)


@pytest.mark.parametrize("part", ["input", "output"])
def test_a_model_without_inputs_or_outputs_computes_nothing(part: str) -> None:
    model = ModelBuilder()
    x, w = model.input("x", (1,), "int8", 0.5), model.constant("w", np.int8([7]), 0.5)
    y = model.tensor("y", (1,), "int8", 0.5)
    model.op("ADD", [w if part == "input" else x, w], [y])
    if part == "input":
        model._inputs.clear()
        model.output(y)
    with pytest.raises(GlowmcuError) as caught:
        reference_graph(model.finish(), "m.tflite")
    assert caught.value.code in ("GM101", "GM105")
    if part == "output":
        assert "the model has no inputs or no outputs" in str(caught.value)


def test_a_file_without_subgraphs_is_damaged() -> None:
    model = ModelBuilder()
    model.output(model.input("x", (1,), "int8", 0.5))
    data = bytearray(model.finish())
    table = tflite.Model.GetRootAs(data, 0)._tab
    place = table.Vector(table.Offset(8)) - 4
    assert data[place] == 1
    data[place] = 0
    with pytest.raises(GlowmcuError, match="the file is damaged: it has no subgraph"):
        read_container(bytes(data), "m")


def test_what_lies_behind_a_refused_operator_is_not_reported_for_that() -> None:
    model = ModelBuilder()
    x = model.input("x", (1,), "int8", 0.5)
    a, b, c = (model.tensor(name, (1,), "int8", 0.5) for name in "abc")
    model.custom_op("Odd", [x], [a])
    model.op("ADD", [a, x], [b])
    model.custom_op("Odder", [b], [c])
    model.output(c)
    with pytest.raises(GlowmcuError) as caught:
        reference_graph(model.finish(), "m.tflite")
    assert [problem.where for problem in caught.value.problems] == [
        'm.tflite, node 0 "a"', 'm.tflite, node 2 "c"',
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("cause", "said"),
    [
        (ValueError("too short"), "too short"), (ValueError(), "ValueError"),
        (ValueError("x" * 300), "x" * 200),
        (IndexError("x" * 300), "it has 77 bytes, and a part of it lies beyond them"),
    ],
)  # fmt: skip
def test_a_damaged_file_is_told_by_what_a_decoder_says_or_by_its_kind(
    cause: Exception, said: str
) -> None:
    with pytest.raises(GlowmcuError) as caught, container.damaged_file("m.tflite", 77):
        raise cause
    (problem,) = caught.value.problems
    assert problem.code == "GM101"
    assert problem.message.endswith(said)
    assert "x" * 201 not in problem.message


def test_all_outputs_that_are_no_result_of_a_run_are_named() -> None:
    model = ModelBuilder()
    x, y = model.input("x", (2,), "float32"), model.tensor("y", (2,), "float32")
    known = model.constant("known", np.float32([1, 2]))
    missing = [model.tensor(name, (2,), "float32") for name in ("nobody", "makes")]
    model.op("ABS", [x], [y])
    for output in (missing[0], known, y, missing[1]):
        model.output(output)
    with pytest.raises(GlowmcuError) as caught:
        read_model(model.finish(), "m.tflite")
    assert [(item.code, item.message, item.where) for item in caught.value.problems] == [
        ("GM105", "tensor 'nobody' is read before it is computed", "m.tflite, output 'nobody'"),
        ("GM105", "a constant is a model output", "m.tflite, output 'known'"),
        ("GM105", "tensor 'makes' is read before it is computed", "m.tflite, output 'makes'"),
    ]
