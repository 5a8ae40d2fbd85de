"""Connected element-wise operators run as one loop, with the same numbers."""

from __future__ import annotations

import numpy as np
import pytest

from glowmcu.frontend.tflite.writer import ModelBuilder
from glowmcu.ir.operation import Constant
from glowmcu.ir.types import ElementType, Quantization, TensorType
from glowmcu.kernels.common.element_code import load_element_codes
from glowmcu.ops.broadcasting import ElementwiseOperation
from glowmcu.ops.registry import load_operations
from glowmcu.ops.stack import Member, Stack
from tests.support.check_model import check_model
from tests.support.oracle import run_tflm


class Model:
    """A model under construction; every tensor gets its own scale and zero point."""

    def __init__(self, shape=(1, 3, 5, 8)) -> None:
        self.builder = ModelBuilder()
        self.shape = shape
        self.count = 0

    def quantization(self):
        self.count += 1
        return 0.02 + 0.0037 * self.count, (self.count * 37) % 90 - 45

    def input(self, shape=None):
        quantization = self.quantization()
        return self.builder.input(f"t{self.count}", shape or self.shape, "int8", *quantization)

    def constant(self, shape):
        quantization = self.quantization()
        values = np.random.default_rng(self.count).integers(-128, 128, shape).astype(np.int8)
        return self.builder.constant(f"t{self.count}", values, *quantization)

    def op(self, kind, *operands, dtype="int8", shape=None, quantization=None):
        made = self.quantization()
        name = f"t{self.count}"
        given = () if dtype == "bool" else quantization or made
        y = self.builder.tensor(name, shape or self.shape, dtype, *given)
        fused = {"fused_activation_function": 0} if kind in ("ADD", "SUB", "MUL") else None
        self.builder.op(kind, list(operands), [y], fused)
        return y

    def check(self, *outputs):
        for output in outputs:
            self.builder.output(output)
        return check_model(self.builder.finish(), oracle=run_tflm)


def names(compilation) -> list[str]:
    return [node.op.name for node in compilation.graph.nodes if not isinstance(node.op, Constant)]


def member_names(compilation) -> list[str]:
    (stack,) = (node.op for node in compilation.graph.nodes if isinstance(node.op, Stack))
    return [member.op.name for member in stack.members]


def test_a_chain_of_additions_is_one_loop() -> None:
    model = Model()
    a, b, c = model.input(), model.input(), model.input()
    compilation = model.check(model.op("SUB", model.op("ADD", a, b), c))
    assert names(compilation) == ["stack"]
    assert member_names(compilation) == ["add", "sub"]


def test_functions_before_and_after_join() -> None:
    model = Model()
    a, b = model.input(), model.input()
    left = model.op("LOGISTIC", a, quantization=(1 / 256, -128))
    right = model.op("LEAKY_RELU", b)
    compilation = model.check(model.op("TANH", model.op("MUL", left, right)))
    assert names(compilation) == ["stack"]
    assert sorted(member_names(compilation)) == ["lookup", "lookup", "lookup", "mul"]


def test_channel_constants_and_scalars_inside_a_stack_broadcast() -> None:
    model = Model()
    x, y = model.input(), model.input()
    scaled = model.op("MUL", x, model.constant((8,)))
    shifted = model.op("ADD", scaled, model.constant((1, 3, 1, 1)))
    compilation = model.check(model.op("MAXIMUM", shifted, y))
    assert names(compilation) == ["stack"]


def test_a_diamond_of_two_tensors_is_one_loop() -> None:
    model = Model()
    a, b = model.input(), model.input()
    total = model.op("ADD", a, b)
    left, right = model.op("MUL", total, a), model.op("SUB", total, b)
    compilation = model.check(model.op("MINIMUM", left, right))
    assert names(compilation) == ["stack"]
    assert sorted(member_names(compilation)) == ["add", "minimum", "mul", "sub"]


def test_a_sum_times_its_own_sigmoid_is_an_addition_and_a_table() -> None:
    model = Model()
    total = model.op("ADD", model.input(), model.input())
    gate = model.op("LOGISTIC", total, quantization=(1 / 256, -128))
    compilation = model.check(model.op("MUL", total, gate))
    assert member_names(compilation) == ["add", "lookup"]


def test_x_times_its_own_sigmoid_is_one_table() -> None:
    model = Model()
    x = model.input()
    gate = model.op("LOGISTIC", x, quantization=(1 / 256, -128))
    assert names(model.check(model.op("MUL", x, gate))) == ["lookup"]


def test_a_spelled_out_hard_swish_is_one_table_and_joins_what_follows() -> None:
    model = Model()
    x, other = model.input(), model.input()
    moved = model.op("ADD", x, model.constant((1,)))
    gate = model.op("MUL", model.op("RELU6", moved), model.constant((1,)))
    compilation = model.check(model.op("ADD", model.op("MUL", x, gate), other))
    assert names(compilation) == ["stack"]
    assert member_names(compilation) == ["lookup", "add"]


def test_comparisons_logic_and_select_join() -> None:
    model = Model()
    a, b = model.input(), model.input()
    larger = model.op("GREATER", a, b, dtype="bool")
    not_small = model.op("LESS", model.op("ADD", a, b), a, dtype="bool")
    both = model.op("LOGICAL_AND", larger, not_small, dtype="bool")
    same = (0.03, 1)
    compilation = model.check(
        model.op(
            "SELECT_V2",
            both,
            model.op("MUL", a, b, quantization=same),
            model.op("SUB", a, b, quantization=same),
            quantization=same,
        )
    )
    assert names(compilation) == ["stack"]
    assert len(member_names(compilation)) == 7


def test_a_result_that_others_read_is_stored() -> None:
    model = Model()
    total = model.op("ADD", model.input(), model.input())
    compilation = model.check(total, model.op("SUB", total, model.input()))
    assert names(compilation) == ["add", "sub"]


def test_a_smaller_result_is_computed_once_not_for_every_element() -> None:
    model = Model()
    small = model.op(
        "ADD", model.input((1, 1, 1, 8)), model.input((1, 1, 1, 8)), shape=(1, 1, 1, 8)
    )
    compilation = model.check(model.op("MUL", model.input(), small))
    assert names(compilation) == ["add", "mul"]


def test_an_operator_does_not_wait_for_a_tensor_that_is_computed_much_later() -> None:
    model = Model((1, 8))
    a, b = model.input(), model.input()
    early = model.op("ADD", a, b)
    weights = model.constant((8, 8))
    late = model.op("FULLY_CONNECTED", model.input(), weights)
    compilation = model.check(model.op("SUB", early, late))
    assert sorted(names(compilation)) == ["add", "fully_connected", "sub"]


def test_a_stack_overwrites_an_operand_and_needs_no_other_memory() -> None:
    model = Model((1, 16, 16, 8))
    a, b = model.input(), model.input()
    compilation = model.check(model.op("SUB", model.op("ADD", a, b), a))
    assert names(compilation) == ["stack"]
    assert compilation.plan.arena_bytes == 2 * 16 * 16 * 8


def test_float_and_int16_borders_join() -> None:
    model = Model((1, 40))
    a, b = model.input(), model.input()
    real = model.op("DEQUANTIZE", model.op("ADD", a, b), dtype="float32", quantization=(None,))
    assert names(model.check(real)) == ["stack"]


@pytest.mark.parametrize("count", [6, 7, 40])
def test_long_sums_are_split_where_a_loop_gets_too_large(count) -> None:
    model = Model((1, 9))
    total = model.input()
    for _ in range(count):
        total = model.op("ADD", total, model.input())
    compilation = model.check(total)
    assert set(names(compilation)) <= {"stack", "add"}
    assert all(len(node.inputs) <= 6 for node in compilation.graph.nodes)


def test_every_operator_that_may_be_stacked_has_code_for_one_element() -> None:
    stackable = {
        operation
        for operation in load_operations().values()
        if issubclass(operation, ElementwiseOperation) and operation.stackable
    }
    assert stackable <= set(load_element_codes())


def test_a_stack_that_reads_ahead_is_refused() -> None:
    from glowmcu.ir.operation import OperationError
    from glowmcu.ops.elementwise import Add

    type_ = TensorType((3,), ElementType.I8, Quantization((0.1,), (0,)))
    stack = Stack((Member(Add(), (0, 2), type_), Member(Add(), (0, 1), type_)))
    with pytest.raises(OperationError, match="add reads what comes after it in the stack"):
        stack.infer([type_, type_])
