"""Functions of one 8-bit tensor become tables that mean the same, and chains of them one table."""

from __future__ import annotations

import numpy as np
import pytest

from glowmcu.frontend.tflite.reader import read_tflite
from glowmcu.frontend.tflite.writer import ModelBuilder
from glowmcu.ir.interpreter import run_graph
from glowmcu.ir.operation import Constant
from glowmcu.lowering import lower_to_tables
from tests.support.check_model import check_model
from tests.support.oracle import run_tflm

INT8 = np.arange(-128, 128, dtype=np.int8).reshape(1, 256)


class Model:
    """A model under construction whose tensors are int8[1x256]."""

    def __init__(self) -> None:
        self.builder = ModelBuilder()
        self.count = 0

    def input(self, scale=0.05, zero_point=3):
        self.count += 1
        return self.builder.input(f"t{self.count}", (1, 256), "int8", scale, zero_point)

    def scalar(self, value, scale=0.1, zero_point=0):
        self.count += 1
        data = np.array([value], np.int8)
        return self.builder.constant(f"t{self.count}", data, scale, zero_point)

    def op(self, kind, *operands, scale=0.05, zero_point=3, dtype="int8", shape=(1, 256)):
        self.count += 1
        quantization = (scale, zero_point) if dtype == "int8" else ()
        y = self.builder.tensor(f"t{self.count}", shape, dtype, *quantization)
        fused = {"fused_activation_function": 0} if kind in ("ADD", "SUB", "MUL") else None
        self.builder.op(kind, list(operands), [y], fused)
        return y

    def finish(self, *outputs) -> bytes:
        for output in outputs:
            self.builder.output(output)
        return self.builder.finish()


def names(graph) -> list[str]:
    return [node.op.name for node in graph.nodes if not isinstance(node.op, Constant)]


def test_a_chain_of_five_functions_is_one_table() -> None:
    model = Model()
    x = model.input()
    y = model.op("LOGISTIC", x, scale=1 / 256, zero_point=-128)
    y = model.op("RELU6", y, scale=1 / 256, zero_point=-128)
    y = model.op("MUL", y, model.scalar(77), scale=0.013, zero_point=-9)
    y = model.op("SUB", model.scalar(-5), y, scale=0.02, zero_point=1)
    y = model.op("QUANTIZE", y, scale=0.017, zero_point=4)
    compilation = check_model(model.finish(y), [[INT8]], oracle=run_tflm)
    assert names(compilation.graph) == ["lookup"]


@pytest.mark.parametrize("kind", ["ADD", "SUB", "MUL", "SQUARED_DIFFERENCE", "PRELU", "MINIMUM"])
@pytest.mark.parametrize("side", ["constant first", "constant second"])
def test_arithmetic_with_one_constant_is_a_table(kind, side) -> None:
    model = Model()
    operands = [model.input(), model.scalar(-33, 0.021, 9)]
    if side == "constant first":
        operands.reverse()
    shape = (1, 256)
    data = model.finish(model.op(kind, *operands, shape=shape))
    compilation = check_model(data, [[INT8]], oracle=run_tflm)
    assert names(compilation.graph) == ["lookup"]


def test_a_constant_of_many_equal_values_counts_as_one() -> None:
    model = Model()
    x = model.input()
    many = model.builder.constant("many", np.full((1, 256), 9, np.int8), 0.1, 2)
    compilation = check_model(model.finish(model.op("ADD", x, many)), [[INT8]], oracle=run_tflm)
    assert names(compilation.graph) == ["lookup"]


@pytest.mark.parametrize("kind", ["TANH", "LOGISTIC", "ADD", "RELU6"])
@pytest.mark.parametrize("value", [7, None])
def test_a_function_of_constants_that_is_an_output_is_a_table(kind, value) -> None:
    model = Model()
    x = model.input()
    data = INT8 if value is None else np.full((1, 256), value, np.int8)
    many = model.builder.constant("many", data, 0.1, 2)
    scale, zero_point = {"TANH": (1 / 128, 0), "LOGISTIC": (1 / 256, -128)}.get(kind, (0.1, 2))
    operands = (many, model.scalar(-3)) if kind == "ADD" else (many,)
    y = model.op(kind, *operands, scale=scale, zero_point=zero_point)
    check_model(model.finish(y, model.op("ABS", x)), [[INT8]], oracle=run_tflm)


def test_a_tensor_times_itself_is_a_table() -> None:
    model = Model()
    x = model.input()
    data = model.finish(model.op("MUL", x, x, scale=0.3))
    assert names(check_model(data, [[INT8]], oracle=run_tflm).graph) == ["lookup"]


def test_a_comparison_with_a_constant_is_a_table_of_bool() -> None:
    model = Model()
    data = model.finish(model.op("GREATER", model.input(), model.scalar(4), dtype="bool"))
    assert names(check_model(data, [[INT8]], oracle=run_tflm).graph) == ["lookup"]


def test_a_table_that_others_read_stays() -> None:
    model = Model()
    first = model.op("TANH", model.input(), scale=1 / 128, zero_point=0)
    data = model.finish(first, model.op("ABS", first))
    assert names(check_model(data, [[INT8]], oracle=run_tflm).graph) == ["lookup", "lookup"]


def test_a_constant_of_different_values_stays_arithmetic() -> None:
    model = Model()
    x = model.input()
    many = model.builder.constant("many", INT8, 0.1, 2)
    graph = lower_to_tables.run(read_tflite(model.finish(model.op("ADD", x, many)), "m"))
    assert names(graph) == ["add"]


def test_a_constant_that_widens_the_result_stays_arithmetic() -> None:
    model = Model()
    x = model.builder.input("x", (1, 1), "int8", 0.1)
    many = model.builder.constant("many", np.full((1, 256), 9, np.int8), 0.1, 2)
    graph = lower_to_tables.run(read_tflite(model.finish(model.op("ADD", x, many)), "m"))
    assert names(graph) == ["add"]


def test_tables_of_uint8_are_indexed_by_the_byte() -> None:
    builder = ModelBuilder()
    x = builder.input("x", (1, 256), "uint8", 0.1, 128)
    y = builder.tensor("y", (1, 256), "int8", 0.07, -3)
    builder.op("QUANTIZE", [x], [y])
    builder.output(y)
    values = np.arange(256, dtype=np.uint8).reshape(1, 256)
    compilation = check_model(builder.finish(), [[values]], oracle=run_tflm)
    assert names(compilation.graph) == ["lookup"]


def test_single_rounding_fills_other_tables() -> None:
    model = Model()
    data = model.finish(model.op("RELU", model.input(0.0713, 3), scale=0.0571, zero_point=-128))
    from glowmcu.ir.operation import Rounding

    graph = read_tflite(data, "m")
    tables = [
        lower_to_tables.run(graph.replace(rounding=rounding)).nodes[-1].op.table
        for rounding in Rounding
    ]
    for rounding, table in zip(Rounding, tables, strict=True):
        (want,) = run_graph(graph.replace(rounding=rounding), [INT8])
        np.testing.assert_array_equal(table[INT8.view(np.uint8)], want)
