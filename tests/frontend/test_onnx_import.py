"""What importers read of an .onnx file and emit, one method at a time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from glowmcu.frontend.onnx.axes import integers, required_integers
from glowmcu.frontend.onnx.importer import Import
from glowmcu.input_options import InputOptions
from glowmcu.ir.graph import Value
from glowmcu.ir.types import ElementType, Quantization
from glowmcu.ops.activation import Relu
from glowmcu.ops.elementwise import Add
from glowmcu.ops.joining import Concatenation
from glowmcu.ops.movement import Movement
from glowmcu.ops.quantization import Quantize
from glowmcu.ops.transpose import Transpose
from tests.support.onnx_parts import Sizes, given, node, record, refused

onnx = pytest.importorskip("onnx", reason="pip install onnx")
F32, I8, I64 = ElementType.F32, ElementType.I8, ElementType.I64


def importing(**data: Any) -> tuple[Import, Value]:
    """A model with an input `x` of 2 by 3, and initializers."""
    known = given((2, 3))
    state = Import(record([known], **data), InputOptions())
    return state, state.graph_input(known)


# --- inputs ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sizes", "options", "shape"),
    [
        ((2, 3), {}, (2, 3)), ((), {}, ()), ((3, 0), {}, (3, 0)), ((0, 3), {}, (1, 3)),
        ((2, 3), {"shapes": {"x": (4,)}}, (4,)),
        (("N", 3), {"symbols": {"N": 5}}, (5, 3)), ((3, "N"), {"symbols": {"N": 5}}, (3, 5)),
        ((3, None), {"shapes": {"x": (3, 9)}}, (3, 9)), (None, {"shapes": {"x": (3, 9)}}, (3, 9)),
        ((None, 3), {}, (1, 3)), (("N", 3), {}, (1, 3)), ((-1, 3), {}, (1, 3)),
        ((3, None), {}, "3x?"), ((3, "N"), {}, "3xN"), ((3, -1), {}, "3x-1"), (None, {}, "unknown"),
        (("N", "M"), {"symbols": {"M": 5}}, (1, 5)),
    ],
    ids=str,
)  # fmt: skip
def test_an_input_has_the_sizes_of_the_file_and_of_the_user(
    sizes: Sizes | None, options: dict[str, Any], shape: tuple[int, ...] | str
) -> None:
    known = given(sizes)
    state = Import(record([known]), InputOptions(**options))
    if isinstance(shape, str):
        text = f"GM104 input 'x' has a dynamic shape, {shape}; expected every size fixed"
        assert refused(state.graph_input, known) == text
        return
    value = state.graph_input(known)
    assert (value.name, value.type.shape, value.type.element) == ("x", shape, F32)
    assert state.named_value("x") is value


def test_an_input_of_no_type_is_refused_by_its_name() -> None:
    known = given((2,), element=None)
    state = Import(record([known]), InputOptions(bind={"x": np.zeros(2)}))
    assert refused(state.graph_input, known) == "GM105 input 'x' is COMPLEX64"
    assert refused(state.bound_input, known) == "GM105 input 'x' is COMPLEX64"


@pytest.mark.parametrize(
    ("sizes", "data", "fits"),
    [
        ((2,), [1.0, 2.0], True), ((3,), [1.0, 2.0], False), (("N",), [1.0, 2.0], True),
        ((None,), [1.0, 2.0], True), (None, [1.0, 2.0], True), ((2, 1), [1.0, 2.0], False),
        (("M",), [1.0, 2.0], False),
    ],
    ids=str,
)  # fmt: skip
def test_what_is_bound_has_the_sizes_that_the_file_says(
    sizes: Sizes | None, data: list[float], fits: bool
) -> None:
    known = given(sizes)
    options = InputOptions(bind={"x": np.array(data, np.float32)}, symbols={"M": 5})
    state = Import(record([known]), options)
    if not fits:
        assert refused(state.bound_input, known).startswith("GM111 ")
        return
    state.bound_input(known)
    assert state.builder.known[state.named_value("x")].tolist() == data
    assert state.known(node(), 0)


# --- operands -------------------------------------------------------------------------------------


def test_operands_are_found_by_their_names() -> None:
    state, x = importing(w=np.float32([1, 2]))
    op = node(["x", "w", ""])
    assert state.value(op, 0) is x
    w = state.value(op, 1)
    assert state.value(op, 1) is w is state.named_value("w"), "a constant is there once"
    assert [state.has(op, position) for position in range(4)] == [True, True, False, False]
    assert [state.known(op, position) for position in range(4)] == [False, True, False, False]
    assert state.constant(op, 1, "its data").tolist() == [1, 2]
    assert refused(state.value, op, 2) == refused(state.value, op, 3).replace("3", "2")
    assert refused(state.value, op, 2) == "GM105 Foo lacks operand 2"
    assert refused(state.named_value, "z") == "GM105 tensor 'z' is read before it is computed"
    assert "its data" in refused(state.constant, op, 0, "its data")


def test_integers_are_an_operand_or_an_attribute_and_some_must_be_there() -> None:
    state, _ = importing(w=np.array([[1, 2]], np.int64), f=np.float32([1]))
    given = (0, "axes", "its axes")
    for read in (integers, required_integers):
        assert read(state, node(["w"]), *given) == (1, 2)
        assert read(state, node([], axes=[3, 4]), *given) == (3, 4)
        assert refused(read, state, node(["f"]), *given).startswith(
            "GM106 Foo: its axes must be integers, got float32"
        )
    assert integers(state, node([]), *given) is None
    assert refused(required_integers, state, node([]), *given) == "GM105 Foo lacks its axes"


@pytest.mark.parametrize(
    ("dtype", "element"),
    [("float64", F32), ("float16", F32), ("float32", F32), ("int64", I64), ("int8", I8)],
)
def test_constants_are_of_the_types_that_there_are(dtype: str, element: ElementType) -> None:
    state, _ = importing(w=np.array([1, 2], dtype))
    assert state.named_value("w").type.element is element
    state.bind_constant(node(), np.array([3], dtype))
    assert state.named_value("y").type.element is element
    assert state.builder.known[state.named_value("y")].tolist() == [3]


def test_a_graph_in_an_attribute_reads_what_is_around_it() -> None:
    outer, x = importing(w=np.float32([1, 2]), v=np.float32([3]))
    inner = Import(record(v=np.float32([4])), InputOptions(), outer)
    assert (outer.depth, inner.depth) == (0, 1)
    assert inner.bound("x") is x is inner.named_value("x")
    assert inner.bound("w") is None, "what nobody has read yet"
    assert inner.named_value("w") is outer.named_value("w")
    assert inner.builder is outer.builder
    assert inner.builder.known[inner.named_value("v")].tolist() == [4], "its own come first"
    assert inner.bound("nothing") is None
    assert refused(inner.named_value, "nothing").endswith("is read before it is computed")


def test_sequences_are_lists_of_tensors_that_have_no_value() -> None:
    state, x = importing()
    state.bind_sequence(node(outputs=["s"]), [x, x])
    assert state.sequence(node(["s"]), 0) == (x, x)
    inner = Import(record(), InputOptions(), state)
    assert inner.sequence(node(["s"]), 0) == (x, x)
    state.give("t", [x])
    state.give("u", x)
    assert state.sequence(node(["t"]), 0) == (x,)
    assert state.named_value("u") is x
    text = "GM105 Foo: {!r} is no sequence that is known at compile time"
    assert refused(state.sequence, node(["x"]), 0) == text.format("x")
    assert refused(state.sequence, node(["z"]), 0) == text.format("z")
    assert refused(state.sequence, node(["s"]), 1) == text.format("")
    assert refused(state.value, node(["s"]), 0).startswith("GM105 's' is a sequence")
    assert refused(inner.value, node(["s"]), 0).startswith("GM105 's' is a sequence")


# --- results --------------------------------------------------------------------------------------


def test_nodes_are_called_after_results_or_the_operator() -> None:
    state, x = importing()
    for op, name in (
        (node(), "y/relu"), (node(outputs=["", "z"]), "z/relu"),
        (node(outputs=[], name="here"), "here/relu"), (node(outputs=[]), "Foo/relu"),
    ):  # fmt: skip
        assert state.add(op, Relu((0.0, 6.0)), [x]).name == name
    assert state.add(node(), Relu((0.0, 6.0)), [x], name="own").name == "own"
    state.place = "loop/"
    assert state.add(node(), Relu((0.0, 6.0)), [x]).name == "loop/y/relu"


class Both(Movement):
    """Its operand twice."""

    def infer(self, inputs: Sequence[Any]) -> tuple[Any, ...]:
        return (inputs[0].shape,) * 2


def test_results_have_the_operators_names() -> None:
    state, x = importing()
    names = {("a", "b"): ["a", "b"], ("a", ""): ["a", "a/1"], ("", "b"): ["b/0", "b"],
             ("a",): ["a", "a/1"]}  # fmt: skip
    for outputs, wanted in names.items():
        op = node(outputs=outputs)
        made = state.add_all(op, Both(), [x])
        assert [value.name for value in made] == wanted
        if "b" in outputs:
            assert state.bound("b") is None, "it does not bind them"
            state.bind(op, made)
            assert state.bound("b") is made[1]
            del state._values["b"]
    assert state.bound("") is None


def test_results_have_the_type_of_the_first_operand_unless_another_is_given() -> None:
    state, x = importing(n=np.int64([1, 2]))
    n = state.named_value("n")
    assert state.add(node(), Relu((0.0, 6.0)), [x]).type == x.type
    half = Quantization((0.5,), (3,))
    stored = state.add(node(), Quantize(), [x], I8, half)
    assert (stored.type.element, stored.type.quantization) == (I8, half)
    moved = state.add(node(), Transpose((1, 0)), [stored])
    assert (moved.type.shape, moved.type.element) == ((3, 2), I8)
    assert state.add(node(), Transpose((0,)), [n]).type.element is I64
    first, second = state.emit(node(outputs=["a", "b"]), Both(), [x], elements=(F32, F32))
    assert state.named_value("b") is second is not first


def test_what_does_not_go_together_is_refused_under_the_operators_name() -> None:
    state, x = importing(w=np.float32([1, 2]))
    w = state.named_value("w")
    assert refused(state.add, node(), Add(), [x, w]).startswith("GM106 Foo: ")
    assert refused(state.emit, node(), Concatenation(5), [x]).startswith("GM106 Foo: ")


def test_channels_move_last_and_back() -> None:
    known = given((1, 2, 3, 4))
    state = Import(record([known]), InputOptions())
    x = state.graph_input(known)
    last = state.to_nhwc(node(), x)
    assert last.type.shape == (1, 3, 4, 2)
    state.from_nhwc(node(), last)
    assert state.named_value("y").type.shape == (1, 2, 3, 4)
