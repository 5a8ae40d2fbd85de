"""What importers read of a .tflite file and emit, one method at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from glowmcu.errors import Problem
from glowmcu.frontend.graph_builder import GraphBuilder
from glowmcu.frontend.tflite.activation_range import fused_clamp
from glowmcu.frontend.tflite.axes import axes_operand, axis_operand, integer_list, positive_axis
from glowmcu.frontend.tflite.container import (
    ModelRecord,
    OperatorRecord,
    TensorRecord,
)
from glowmcu.frontend.tflite.importer import Import
from glowmcu.frontend.unsupported import Unsupported
from glowmcu.input_options import InputOptions
from glowmcu.ir.types import ElementType, Quantization, TensorType
from glowmcu.ops.activation import Relu, quantize_bound
from glowmcu.ops.elementwise import Add
from glowmcu.ops.movement import Movement
from glowmcu.ops.real import FLOAT_MAX
from glowmcu.ops.transpose import Transpose

F32, I8, UI8 = ElementType.F32, ElementType.I8, ElementType.UI8


def tensor(
    name: str, *shape: int, kind: str = "FLOAT32", data: Any = None, scale: float = 0.0,
    point: int = 0, open_axes: tuple[int, ...] = (), variable: bool = False,
) -> TensorRecord:  # fmt: skip
    """Its index is set where the model is made."""
    scales, points = ((scale,), (point,)) if scale else ((), ())
    stored = None if data is None else memoryview(np.asarray(data).tobytes()).cast("B")
    return TensorRecord(0, name, kind, shape, scales, points, 0, open_axes, stored, variable)


def operator(
    inputs: Sequence[int] = (0,), outputs: Sequence[int] = (1,), name: str = "FOO"
) -> OperatorRecord:
    return OperatorRecord(5, name, tuple(inputs), tuple(outputs), None)


def importing(*tensors: TensorRecord, inputs: Sequence[int] = (0,), **options: Any) -> Import:
    numbered = tuple(replace(item, index=index) for index, item in enumerate(tensors))
    return Import(ModelRecord(numbered, (), tuple(inputs), ()), InputOptions(**options))


def unsupported(call: Callable[..., object], *arguments: Any) -> Problem:
    with pytest.raises(Unsupported) as caught:
        call(*arguments)
    return caught.value.problem("")


def refused(call: Callable[..., object], *arguments: Any) -> str:
    problem = unsupported(call, *arguments)
    return f"{problem.code} {problem.message}"


# --- inputs ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("shape", "open_axes", "options", "found"),
    [
        ((2, 3), (), {}, (2, 3)), ((2, 3), (), {"shapes": {"x": (4, 3)}}, (4, 3)),
        ((1, 3), (0,), {}, (1, 3)), ((1,), (0,), {}, (1,)), ((1, 1), (1,), {}, "1x?"),
        ((1, 1), (1,), {"shapes": {"x": (1, 7)}}, (1, 7)), ((2,), (0,), {}, "?"),
        ((1, 1), (0, 1), {}, "?x?"),
    ],
    ids=str,
)  # fmt: skip
def test_an_input_has_the_sizes_of_the_file_and_of_the_user(
    shape: tuple[int, ...], open_axes: tuple[int, ...], options: Any, found: Any
) -> None:
    state = importing(tensor("x", *shape, open_axes=open_axes), **options)
    if isinstance(found, str):
        assert refused(state.graph_input, 0).startswith("GM104 ")
        return
    value = state.graph_input(0)
    assert (value.name, value.type) == ("x", TensorType(found, F32))
    assert state.tensor_value(0) is value


@pytest.mark.parametrize(
    ("shape", "open_axes", "fits"),
    [((2,), (), True), ((3,), (), False), ((1,), (0,), True), ((2, 1), (), False), ((), (), False)],
)
def test_what_is_bound_has_the_sizes_that_the_file_says(
    shape: tuple[int, ...], open_axes: tuple[int, ...], fits: bool
) -> None:
    data = np.array([1, 2], np.int8)
    record = tensor("x", *shape, kind="INT8", scale=0.5, point=3, open_axes=open_axes)
    state = importing(record, bind={"x": data})
    if not fits:
        assert refused(state.bound_input, 0).startswith("GM111 ")
        return
    state.bound_input(0)
    value = state.tensor_value(0)
    assert state.is_known(value)
    assert state.builder.known[value].tolist() == [1, 2]
    assert value.type == TensorType((2,), I8, Quantization((0.5,), (3,)))


# --- operands -------------------------------------------------------------------------------------


def operands() -> Import:
    """0: an input; 1: data; 2: nothing yet; 3: no elements; 4: named data."""
    state = importing(
        tensor("x", 2), tensor("w", 2, data=np.float32([3, 4])), tensor("z", 2), tensor("e", 0),
        tensor("i", 2, kind="INT32", data=np.int32([-1, 0])),
    )  # fmt: skip
    state.graph_input(0)
    return state


def test_operands_are_found_by_their_places() -> None:
    state = operands()
    op = operator([0, 1, -1])
    assert state.value(op, 0).name == "x"
    assert state.value(op, 1) is state.value(op, 1) is state.tensor_value(1)
    assert [state.has(op, position) for position in range(4)] == [True, True, False, False]
    assert [state.known(op, position) for position in range(4)] == [False, True, False, False]
    assert state.constant(op, 1, "its data").tolist() == [3, 4]
    assert state.known(operator([1]), 0)
    for position in (2, 3):
        assert refused(state.value, op, position) == f"GM105 FOO lacks operand {position}"
        assert "its data" in refused(state.constant, op, position, "its data")
    assert "its data" in refused(state.constant, op, 0, "its data")
    hint = "make it a constant in the model"
    assert hint in str(unsupported(state.constant, operator([2]), 0, "its data").hint)
    assert refused(state.value, operator([2]), 0) == (
        "GM105 tensor 'z' is read before it is computed"
    )


def test_data_is_known_before_it_is_read_and_empty_data_always() -> None:
    state = operands()
    assert state.known(operator([1]), 0)
    assert not state.known(operator([2]), 0)
    assert state.constant(operator([3]), 0, "its data").shape == (0,)
    assert state.value(operator([3]), 0).type.shape == (0,)


def test_a_result_that_is_known_is_a_constant_of_those_behind() -> None:
    state = operands()
    state.bind(operator([1], [2]), np.float32([7, 8]))
    assert state.known(operator([2]), 0)
    assert state.constant(operator([2]), 0, "its data").tolist() == [7, 8]
    assert refused(state.bind, operator([1], [2]), np.int32([7, 8])).startswith("GM106 foo: int32")


# --- results --------------------------------------------------------------------------------------


def test_results_are_of_the_type_that_the_file_declares() -> None:
    state = importing(
        tensor("x", 2, 3, kind="INT8", scale=0.5), tensor("y", 3, 2, kind="INT8", scale=0.5)
    )
    state.graph_input(0)
    (y,) = state.emit(operator(), Transpose((1, 0)), [state.tensor_value(0)])
    assert state.tensor_value(1) is y
    assert (y.name, y.type) == ("y", TensorType((3, 2), I8, Quantization((0.5,), (0,))))


@pytest.mark.parametrize(
    ("declared", "open_axes", "fits"),
    [((3, 2), (), True), ((3, 4), (), False), ((3, 4), (1,), True), ((), (), True),
     ((3,), (), False), ((3, 2, 1), (), False), ((4, 2), (1,), False)],
)  # fmt: skip
def test_shapes_are_compared_with_the_files(
    declared: tuple[int, ...], open_axes: tuple[int, ...], fits: bool
) -> None:
    for options, fits_here in (({}, fits), ({"shapes": {"x": (2, 2)}}, True)):
        state = importing(tensor("x", 2, 3), tensor("y", *declared, open_axes=open_axes), **options)
        x = state.graph_input(0)
        if fits_here:
            (y,) = state.emit(operator(), Transpose((1, 0)), [x])
            assert y.type.shape == x.type.shape[::-1]
            state.expect_declared(operator(), 0, y)
        else:
            said = refused(state.emit, operator(), Transpose((1, 0)), [x])
            assert said == f"GM106 foo: its result is (3, 2), the file declares {declared}"


def test_a_result_of_another_type_is_not_what_was_declared() -> None:
    state = importing(tensor("x", 2), tensor("y", 2, kind="INT32"))
    x = state.graph_input(0)
    assert refused(state.expect_declared, operator(), 0, x).startswith("GM106 FOO: result 0 is ")


def test_what_is_emitted_in_front_has_the_results_name_and_its_own() -> None:
    state = importing(tensor("x", 2), tensor("y", 2))
    x = state.graph_input(0)
    inner = state.emit_inner(operator(), Relu((0.0, 6.0)), [x], x.type)
    assert inner.name == "y/relu"
    assert refused(state.emit_inner, operator(), Add(), [x], x.type).startswith("GM106 foo: ")


# --- subgraphs ------------------------------------------------------------------------------------


def test_subgraphs_are_entered_to_a_depth_and_know_their_number() -> None:
    inner = ModelRecord((tensor("t", 2),), (), (0,), (0,))
    outer = importing(tensor("x", 2))
    outer.model = replace(outer.model, others=(inner,))
    state = outer
    for depth in range(1, 1 + DEEPEST):
        state = state.enter(1, f"p{depth}", GraphBuilder())
        assert state.depth == depth
        assert state.model.tensors[0].name.startswith(f"p{depth}/")
    said = refused(state.enter, 1, "p", GraphBuilder())
    assert said == f"GM142 subgraphs lie in each other more than {DEEPEST} deep"
    for number in (0, 2):
        with pytest.raises(ValueError, match=f"refers to subgraph {number} of 2"):
            outer.enter(number, "p", GraphBuilder())


DEEPEST = 8


@pytest.mark.parametrize(
    ("shape", "kind", "fits"), [((2,), "FLOAT32", True), ((3,), "FLOAT32", False),
                                ((2,), "INT32", False), ((), "FLOAT32", True)],
)  # fmt: skip
def test_inputs_of_subgraphs_are_what_they_declare(
    shape: tuple[int, ...], kind: str, fits: bool
) -> None:
    outer = importing(tensor("x", 2))
    x = outer.graph_input(0)
    inner = importing(tensor("t", *shape, kind=kind))
    if fits:
        inner.give(0, x)
        assert inner.tensor_value(0) is x
    else:
        assert refused(inner.give, 0, x).startswith("GM106 input 0 of its subgraph is ")


# --- axes and clamps ------------------------------------------------------------------------------


def test_axes_count_from_either_end() -> None:
    op = operator()
    assert [positive_axis(axis, 3, op) for axis in (-3, -1, 0, 2)] == [0, 2, 0, 2]
    for axis in (-4, 3):
        assert refused(positive_axis, axis, 3, op) == f"GM106 foo: axis {axis} is outside rank 3"


def test_axes_are_constants() -> None:
    state = operands()
    assert axes_operand(state, operator([4]), 0, 3) == (0, 2)
    assert integer_list(state, operator([4]), 0, "its places") == (-1, 0)
    assert refused(axis_operand, state, operator([4]), 0, 3) == (
        "GM106 foo: expected one axis, got 2"
    )
    assert refused(integer_list, state, operator([1]), 0, "its places") == (
        "GM106 foo: its places must be integers, got float32"
    )
    one = importing(tensor("a", 1, kind="INT32", data=np.int32([-1])))
    assert axis_operand(one, operator([0]), 0, 3) == 2


NONE, RELU, RELU6, ONE, TANH = 0, 1, 3, 2, 4


@pytest.mark.parametrize(
    ("activation", "scale", "point", "clamp"),
    [
        (NONE, 0.5, 3, None), (RELU, 0.5, -128, None), (RELU, 0.5, -127, (-127, 127)),
        (RELU, 0.5, 3, (3, 127)), (RELU6, 0.5, 3, (3, 15)), (RELU6, 0.5, -128, (-128, -116)),
        (RELU6, 6 / 255, -128, None), (RELU6, 0.01, -128, None), (ONE, 0.5, 3, (1, 5)),
        (ONE, 0.01, 0, (-100, 100)), (ONE, 0.001, 0, None), (RELU6, 4.0, 0, (0, 2)),
        (ONE, 2.0, 0, (-1, 1)), (RELU, 0.5, 200, (127, 127)),
    ],
)  # fmt: skip
def test_a_fused_activation_is_a_clamp_of_stored_numbers(
    activation: int, scale: float, point: int, clamp: tuple[int, int] | None
) -> None:
    type_ = TensorType((1,), I8, Quantization((scale,), (point,)))
    if point == 200:
        assert quantize_bound(0.0, type_) == 200
        return
    assert fused_clamp(activation, type_) == clamp


def test_a_fused_activation_is_a_clamp_of_real_numbers() -> None:
    real = TensorType((1,), F32)
    assert [fused_clamp(number, real) for number in (NONE, RELU, RELU6, ONE)] == [
        None, (0.0, FLOAT_MAX), (0.0, 6.0), (-1.0, 1.0),
    ]  # fmt: skip
    assert refused(fused_clamp, TANH, real).startswith("GM105 fused activation TANH is not")
    assert refused(fused_clamp, 99, real).startswith("GM105 fused activation 99 is not")
    whole = TensorType((1,), ElementType.I32)
    assert refused(fused_clamp, RELU, whole).startswith("GM105 a fused activation on ")
    assert fused_clamp(NONE, whole) is None


class Keeping(Movement):
    """Its operand, and what a state becomes."""

    def infer(self, inputs: Sequence[Any]) -> tuple[Any, ...]:
        return inputs[0].shape, inputs[1].shape


@pytest.mark.parametrize(("declared", "fits"), [((2,), True), ((3,), False)])
def test_an_operator_with_states_has_the_result_that_is_declared(
    declared: tuple[int, ...], fits: bool
) -> None:
    state = importing(tensor("x", 2), tensor("y", *declared), tensor("s", 5))
    x = state.graph_input(0)
    kept = state.graph_input(2)
    if not fits:
        said = refused(state.emit_with_states, operator(), Keeping(), [x, kept], [kept])
        assert said == "GM106 foo: its result is (2,), the file declares (3,)"
        return
    (after,) = state.emit_with_states(operator(), Keeping(), [x, kept], [kept])
    assert (after.name, after.type.shape) == ("s/next", (5,))
    assert state.tensor_value(1).name == "y"


def test_what_is_bound_in_another_size_changes_the_sizes_behind_it() -> None:
    for data, fits in ((np.zeros(1, np.float32), False), (np.zeros(7, np.float32), True)):
        state = importing(tensor("x", 1, open_axes=(0,)), tensor("y", 9), bind={"x": data})
        state.bound_input(0)
        call = state.emit, operator(), Relu((0.0, 6.0)), [state.tensor_value(0)]
        if fits:
            assert call[0](*call[1:])[0].type.shape == (7,)
        else:
            assert refused(*call) == "GM106 foo: its result is (1,), the file declares (9,)"


def test_a_constant_of_a_subgraph_is_there_once_in_each_graph_around() -> None:
    data = tensor("w", 2, data=np.array([3, 4], np.float32))
    innermost = ModelRecord((replace(data, index=0),), (), (), ())
    outer = importing(tensor("x", 2))
    outer.model = replace(outer.model, others=(innermost, innermost))
    middle = [outer.enter(1, place, outer.builder) for place in "ab"]
    assert middle[0].tensor_value(0) is middle[1].tensor_value(0)
    inner = [each.enter(2, "c", outer.builder) for each in middle]
    assert inner[0].tensor_value(0) is inner[1].tensor_value(0)
    assert inner[0].tensor_value(0) is not middle[0].tensor_value(0)
    apart = outer.enter(1, "d", GraphBuilder())
    assert apart.tensor_value(0) is not middle[0].tensor_value(0)


def test_results_have_one_scale() -> None:
    """The first; what has data too is neither a result nor an input."""
    plain = replace(
        tensor("y", 2, kind="INT8"), scales=(0.5, 0.25), zero_points=(0, 0), quantized_axis=0
    )
    data = replace(plain, data=memoryview(b"12"))
    state = importing(tensor("x", 2, kind="INT8", scale=0.5), plain, data)
    assert state.output_type(operator()).scale == 0.5
    said = refused(state.output_type, operator([0], [2]))
    assert said.startswith("GM106 foo: a result is ")
    assert said.endswith("; only constants are quantized per channel")
    assert importing(plain).graph_input(0).type.scale == 0.5
    assert refused(importing(data).graph_input, 0).endswith(
        ": an input has one scale and zero point"
    )
