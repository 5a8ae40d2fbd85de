"""What is read of a .tflite file is bounded by its size; what is wrong is said in a few words."""

from __future__ import annotations

import struct
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import tflite

from glowmcu.errors import GlowmcuError
from glowmcu.frontend.tflite.container import (
    OperatorRecord,
    _is_made_dense,
    damaged_file,
    described,
    read_container,
)
from glowmcu.frontend.tflite.writer import ModelBuilder
from glowmcu.pipeline import reference_graph
from tests.frontend.tflite_damage import t


def custom_model(code: str) -> bytes:
    """One custom operator; without a code it is one that the file does not name."""
    model = ModelBuilder()
    x, y = model.input("x", (1, 4), "float32"), model.tensor("y", (1, 4), "float32")
    if code:
        model.custom_op(code, [x], [y])
    else:
        model.op("CUSTOM", [x], [y], version=1)
    model.output(y)
    return model.finish()


@pytest.mark.parametrize(
    ("code", "name"),
    [("MyOwn", "CUSTOM MyOwn"), ("", "CUSTOM"), ("x" * 81, "CUSTOM " + "x" * 80)],
    ids=["named", "without a name", "a name too long"],
)
def test_a_custom_operator_has_its_code_for_a_name(code: str, name: str) -> None:
    (operator,) = read_container(custom_model(code), "m.tflite").operators
    assert operator.name == name


@pytest.mark.parametrize(
    ("left_out", "kind"),
    [("BuiltinCode", "TANH"), ("DeprecatedBuiltinCode", "TANH"), ("", "SIGN"), ("", "ADD")],
    ids=["an old file", "a new one", "a code that old files do not have", "the first code"],
)
def test_a_code_is_read_from_where_the_converter_of_its_time_wrote_it(
    left_out: str, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if left_out:
        monkeypatch.setattr(tflite, f"OperatorCodeAdd{left_out}", lambda builder, code: None)
    model = ModelBuilder()
    x, y = model.input("x", (1, 4), "float32"), model.tensor("y", (1, 4), "float32")
    model.op(kind, [x, x] if kind == "ADD" else [x], [y])
    model.output(y)
    (operator,) = read_container(model.finish(), "m.tflite").operators
    assert operator.name == kind


def test_an_operator_with_too_few_operands_is_refused() -> None:
    model = ModelBuilder()
    x, y = model.input("x", (1, 4), "float32"), model.tensor("y", (1, 4), "float32")
    model.op("ADD", [x], [y])
    model.output(y)
    with pytest.raises(GlowmcuError, match="ADD lacks operand 1") as caught:
        reference_graph(model.finish(), "m.tflite")
    assert caught.value.code == "GM105"


@pytest.mark.parametrize("dtype", ["complex64", "float16"])
def test_a_type_without_kernels_is_refused_with_those_that_have_some(dtype: str) -> None:
    model = ModelBuilder()
    x, y = model.input("x", (1, 4), dtype), model.tensor("y", (1, 4), dtype)
    model.op("RESHAPE", [x], [y])
    model.output(y)
    with pytest.raises(GlowmcuError) as caught:
        reference_graph(model.finish(), "m.tflite")
    assert caught.value.code == "GM105"
    said = caught.value.problems[0].message
    assert said.startswith(f"tensor 'x' is {dtype.upper()}; supported: INT8, ")


@pytest.mark.parametrize("axis", [-1, 0, 2])
def test_scales_along_an_axis_that_does_not_have_as_many_are_refused(axis: int) -> None:
    model = ModelBuilder()
    x = model.input("x", (1, 4), "int8", 0.5)
    w = model.constant("w", np.ones((3, 4), np.int8), [0.1, 0.2, 0.3, 0.4], [0] * 4, axis)
    y = model.tensor("y", (1, 3), "int8", 0.5)
    model.op("FULLY_CONNECTED", [x, w, None], [y])
    model.output(y)
    with pytest.raises(GlowmcuError) as caught:
        reference_graph(model.finish(), "m.tflite")
    assert caught.value.code == "GM105"
    expected = f"tensor 'w' has 4 scales along axis {axis} of (3, 4)"
    assert caught.value.problems[0].message == expected


@pytest.mark.parametrize(
    ("cause", "what"),
    [
        (ValueError("a reason"), "a reason"),
        (ValueError("x" * 201), "x" * 200),
        (ValueError(), "ValueError"),
        (IndexError("a reason"), "it has 10 bytes, and a part of it lies beyond them"),
        (struct.error("a reason"), "it has 10 bytes, and a part of it lies beyond them"),
    ],
    ids=["said", "said at length", "not said", "an index", "a field"],
)
def test_damage_is_told_in_a_few_words(cause: Exception, what: str) -> None:
    with pytest.raises(GlowmcuError) as caught, damaged_file("m.tflite", 10):
        raise cause
    assert (caught.value.code, caught.value.problems[0].where) == ("GM101", "m.tflite")
    assert caught.value.problems[0].message == f"the file is damaged: {what}"


def constants(*sizes: int) -> bytes:
    """A model that joins constants of so many elements."""
    model = ModelBuilder()
    parts = [model.input("x", (1,), "int8", 1.0)]
    for number, size in enumerate(sizes):
        parts.append(model.constant(f"c{number}", np.full(size, number, np.int8), 1.0))
    y = model.tensor("y", (1 + sum(sizes),), "int8", 1.0)
    model.op("CONCATENATION", parts, [y], {"axis": 0})
    model.output(y)
    return model.finish()


def graph_of(data: bytes) -> Any:
    return tflite.Model.GetRootAs(data, 0).Subgraphs(0)


def with_number(data: bytes, place: int, number: int) -> bytes:
    return data[:place] + struct.pack("<I", number) + data[place + 4 :]


def claiming(data: bytes, count: int) -> bytes:
    """The list of the graph's inputs says that it has so many."""
    table = graph_of(data)._tab
    return with_number(data, table.Vector(table.Offset(6)) - 4, count)


@pytest.mark.parametrize("items", [1, 4])
def test_a_list_longer_than_the_file_is_not_read(items: int) -> None:
    data = constants(100, 100)
    count = items * len(data) // 4 + 1
    with pytest.raises(GlowmcuError) as caught:
        read_container(claiming(data, count), "m.tflite")
    expected = f"a vector claims {count} items in a file of {len(data)} bytes"
    assert expected in caught.value.problems[0].message


def sharing(data: bytes) -> bytes:
    """All constants have the data of the first."""
    tensors = [graph_of(data).Tensors(index) for index in range(graph_of(data).TensorsLength())]
    stored = [tensor for tensor in tensors if tensor.Buffer()]
    for tensor in stored:
        table = tensor._tab
        data = with_number(data, table.Pos + table.Offset(8), stored[0].Buffer())
    return data


def test_constants_may_share_their_data_but_not_without_end() -> None:
    few = read_container(sharing(constants(400, 1, 1)), "m.tflite")
    assert [bytes(tensor.data or b"") for tensor in few.tensors[1:4]] == [bytes(400)] * 3
    with pytest.raises(GlowmcuError, match="its parts overlap"):
        read_container(sharing(constants(40_000, *[1] * 30)), "m.tflite")


def test_damage_is_told_by_what_it_raised_if_that_says_nothing() -> None:
    told = [described(cause) for cause in (ValueError("x" * 201), ValueError(), MemoryError())]
    assert told == ["x" * 200, "ValueError", "MemoryError"]


_NO_COPY: dict[str, dict[str, Any]] = {
    "another operator": {"name": "ABS"}, "no operand": {"inputs": ()},
    "an operand that is left out": {"inputs": (-1,)}, "two operands": {"inputs": (0, 0)},
    "two results": {"outputs": (1, 1)}, "a computed operand": {"data": None},
    "another type": {"type_name": "INT32"}, "another shape": {"shape": (6,)},
}  # fmt: skip


@pytest.mark.parametrize("change", _NO_COPY.values(), ids=_NO_COPY)
def test_what_is_no_copy_of_a_constant_stays_an_operator(change: dict[str, Any]) -> None:
    op = OperatorRecord(0, "DENSIFY", (0,), (1,), None)
    stored, result = (
        replace(t((2, 3), "FLOAT32"), data=memoryview(bytes(24))),
        replace(t((2, 3), "FLOAT32"), index=1),
    )
    assert _is_made_dense(op, [stored, result])
    op = replace(op, **{key: item for key, item in change.items() if hasattr(op, key)})
    made = {key: item for key, item in change.items() if key in ("type_name", "shape")}
    tensors = [replace(stored, data=change.get("data", stored.data)), replace(result, **made)]
    assert not _is_made_dense(op, tensors)
    assert tensors[1].data is None
