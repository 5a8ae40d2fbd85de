"""Branches and loops that are known at compile time: written out, with the numbers of others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from glowmcu.errors import ExitCode, GlowmcuError
from glowmcu.frontend.tflite.writer import ModelBuilder
from glowmcu.input_options import InputOptions
from glowmcu.ir.interpreter import Session
from glowmcu.pipeline import reference_graph
from tests.support.control_flow_models import (
    SCALE,
    SHAPE,
    add_branches,
    add_loop,
    add_part,
    added,
    compared,
    counted_loop,
    counted_up,
    whole,
)
from tests.support.onnx_models import run_onnxruntime
from tests.support.oracle import open_tflm

onnx = pytest.importorskip("onnx")
from onnx import TensorProto, helper, numpy_helper  # noqa: E402

RAMP = np.array([[-128, -3, 0, 5, 100, 127]], np.int8)
DATA = np.array([[1, -2, 3, 4, -50, 6]], np.int8)


def problem_of(data: bytes, name: str = "m.tflite") -> Any:
    with pytest.raises(GlowmcuError) as caught:
        reference_graph(data, name)
    return caught.value.problems[0]


@pytest.mark.parametrize("trips", [0, 1, 2, 5, 12])
def test_a_short_loop_with_a_known_count_is_written_out(trips: int) -> None:
    data = counted_loop(trips, lambda b, i: [added(b, "sum", i[0], DATA)])
    graph = reference_graph(data, "m.tflite")
    assert sum(node.op.name == "add" for node in graph.nodes) == trips
    (output,) = graph.outputs
    assert output.name == "y"
    assert np.array_equal(Session(graph).run([RAMP])[0], open_tflm(data)([RAMP])[0])


@pytest.mark.parametrize("is_then", [True, False])
def test_the_branch_of_a_known_condition_is_all_that_is_left(is_then: bool) -> None:
    model = ModelBuilder()
    x = model.input("x", SHAPE, "int8", SCALE, 0)
    condition, y = model.constant("condition", np.array([is_then])), whole(model, "y")
    add_branches(
        model, condition, [x], [y],
        [lambda b, i: [added(b, "then", i[0], DATA)], lambda b, i: [added(b, "else", i[0], -DATA)]],
    )  # fmt: skip
    model.output(y)
    data = model.finish()
    graph = reference_graph(data, "m.tflite")
    assert [node.op.name for node in graph.nodes].count("add") == 1
    assert np.array_equal(Session(graph).run([RAMP])[0], open_tflm(data)([RAMP])[0])


def test_a_loop_in_a_loop_is_written_out() -> None:
    model = ModelBuilder()
    x = model.input("x", SHAPE, "int8", SCALE, 0)
    zero = model.constant("zero", np.array([0], np.int32))
    last, y = model.tensor("last", (1,), "int32"), whole(model, "y")

    def outer(b: ModelBuilder, i: list[Any]) -> list[Any]:
        inner_last, result = b.tensor("il", (1,), "int32"), whole(b, "r")
        b.op("WHILE", [b.constant("z", np.array([0], np.int32)), i[1]], [inner_last, result],
             inner_options)  # fmt: skip
        return [counted_up(b, i[0]), result]

    count = np.array([2], np.int32)
    cond = add_part(model, "ic", [zero, x], lambda b, i: [compared(b, "LESS", i[0], count)])
    body = add_part(
        model, "ib", [zero, x], lambda b, i: [counted_up(b, i[0]), added(b, "s", i[1], DATA)]
    )
    inner_options = {"cond_subgraph_index": cond, "body_subgraph_index": body}
    add_loop(
        model, [zero, x], [last, y],
        lambda b, i: [compared(b, "LESS", i[0], np.array([3], np.int32))], outer,
    )  # fmt: skip
    model.output(y)
    data = model.finish()
    graph = reference_graph(data, "m.tflite")
    assert [node.op.name for node in graph.nodes].count("add") == 6
    assert np.array_equal(Session(graph).run([RAMP])[0], open_tflm(data)([RAMP])[0])


def test_a_loop_whose_shape_grows_is_refused_with_both_shapes() -> None:
    model = ModelBuilder()
    x = model.input("x", SHAPE, "int8", SCALE, 0)
    first = model.constant("first", np.array([0], np.int32))
    last, y = model.tensor("last", (1,), "int32"), whole(model, "y", (1, 12))

    def body(b: ModelBuilder, i: list[Any]) -> list[Any]:
        joined = whole(b, "joined", (1, 12))
        b.op("CONCATENATION", [i[1], i[1]], [joined], {"axis": 1})
        return [counted_up(b, i[0]), joined]

    limit = np.array([3], np.int32)
    add_loop(model, [first, x], [last, y], lambda b, i: [compared(b, "LESS", i[0], limit)], body)
    model.output(y)
    problem = problem_of(model.finish())
    assert problem.code == "GM140"
    assert all(word in problem.message for word in ("'x'", "1x6", "1x12", "WHILE 'last'"))
    assert "final size" in problem.hint


def test_a_subgraph_that_calls_itself_is_refused() -> None:
    model = ModelBuilder()
    x = model.input("x", SHAPE, "int8", SCALE, 0)
    condition, y = model.constant("condition", np.array([True])), whole(model, "y")

    def again(b: ModelBuilder, i: list[Any]) -> list[Any]:
        inner = b.constant("c", np.array([True]))
        result = whole(b, "r")
        b.op("IF", [inner, *i], [result], {"then_subgraph_index": 1, "else_subgraph_index": 1})
        return [result]

    add_branches(model, condition, [x], [y], [again, again])
    model.output(y)
    assert problem_of(model.finish()).code == "GM142"


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"then_subgraph_index": 9, "else_subgraph_index": 1}, "GM101"),
        ({"then_subgraph_index": 0, "else_subgraph_index": 1}, "GM101"),
        ({"then_subgraph_index": -1, "else_subgraph_index": 1}, "GM101"),
        (None, "GM101"),
    ],
)  # fmt: skip
def test_a_branch_that_is_not_there_is_a_damaged_file(
    options: dict[str, int] | None, code: str
) -> None:
    model = ModelBuilder()
    x = model.input("x", SHAPE, "int8", SCALE, 0)
    condition, y = model.constant("condition", np.array([True])), whole(model, "y")
    inner, _ = model.subgraph("one")
    inner.output(inner.input("x", SHAPE, "int8", SCALE, 0))
    model.op("IF", [condition, x], [y], options)
    model.output(y)
    assert problem_of(model.finish()).code == code


def test_a_subgraph_takes_what_it_declares() -> None:
    model = ModelBuilder()
    x = model.input("x", SHAPE, "int8", SCALE, 0)
    condition, y = model.constant("condition", np.array([True])), whole(model, "y")
    inner, _ = model.subgraph("one")
    inner.output(inner.input("x", SHAPE, "int8", 2 * SCALE, 0))
    model.op("IF", [condition, x], [y], {"then_subgraph_index": 1, "else_subgraph_index": 1})
    model.output(y)
    problem = problem_of(model.finish())
    assert problem.code == "GM106"
    assert "input 0 of its subgraph" in problem.message


def test_what_a_subgraph_cannot_do_is_named() -> None:
    model = ModelBuilder()
    x = model.input("x", SHAPE, "int8", SCALE, 0)
    condition, y = model.constant("condition", np.array([True])), whole(model, "y")

    def odd(b: ModelBuilder, i: list[Any]) -> list[Any]:
        result = whole(b, "odd")
        b.op("RANK", [*i], [result])
        return [result]

    add_branches(model, condition, [x], [y], [odd, odd])
    model.output(y)
    problem = problem_of(model.finish())
    assert "in a subgraph of IF, operator 0 RANK" in problem.message


# --- ONNX ----------------------------------------------------------------------------------


def value(name: str, shape: Sequence[int] | None = (2, 3), element: int = TensorProto.FLOAT) -> Any:
    return helper.make_tensor_value_info(name, element, shape)


def model_of(nodes: Sequence[Any], outputs: Sequence[Any], constants: Sequence[Any] = ()) -> bytes:
    graph = helper.make_graph(nodes, "main", [value("x")], outputs, constants)
    opsets = [helper.make_opsetid("", 18)]
    data: bytes = helper.make_model(graph, opset_imports=opsets, ir_version=8).SerializeToString()
    return data


def expect_same(data: bytes) -> None:
    x = np.arange(6, dtype=np.float32).reshape(2, 3) - 2
    ours = Session(reference_graph(data, "m.onnx")).run([x])
    for mine, theirs in zip(ours, run_onnxruntime(data, [x]), strict=True):
        assert mine.shape == theirs.shape
        assert np.allclose(mine, theirs, 1e-6, 1e-6)


def loop_body(*more: Any, results: Sequence[Any] = ()) -> Any:
    """Adds x, which is outside, to what is carried; collects twice that."""
    nodes = [
        helper.make_node("Identity", ["go"], ["go_on"]),
        helper.make_node("Add", ["carried", "x"], ["sum"]),
        helper.make_node("Mul", ["sum", "two"], ["twice"]),
        *more,
    ]
    return helper.make_graph(
        nodes, "body",
        [value("i", (), TensorProto.INT64), value("go", (), TensorProto.BOOL), value("carried")],
        [value("go_on", (), TensorProto.BOOL), value("sum"), value("twice"), *results],
        [numpy_helper.from_array(np.float32(2), "two")],
    )  # fmt: skip


def loop(trips: int | None, body: Any, more: Sequence[str] = ()) -> bytes:
    """What it collects is joined with x, so that it may be nothing."""
    constants = [
        numpy_helper.from_array(np.array(trips or 0, np.int64), "n"),
        numpy_helper.from_array(np.array(True), "yes"),
        numpy_helper.from_array(np.array([0], np.int64), "axes"),
    ]
    head = ["n" if trips is not None else "", "yes"]
    nodes = [
        helper.make_node("Loop", [*head, "x"], ["y", "rows", *more], "loop", body=body),
        helper.make_node("Unsqueeze", ["x", "axes"], ["row"]),
        helper.make_node("Concat", ["rows", "row"], ["all"], axis=0),
    ]
    outputs = [value("y"), value("all", None), *(value(name, None) for name in more)]
    return model_of(nodes, outputs, constants)


@pytest.mark.parametrize("trips", [0, 1, 4])
def test_an_onnx_loop_carries_and_collects(trips: int) -> None:
    expect_same(loop(trips, loop_body()))


def test_an_onnx_loop_ends_by_a_condition_that_is_known() -> None:
    more = [
        helper.make_node("Constant", [], ["limit"], value_int=2),
        helper.make_node("Less", ["i", "limit"], ["known"]),
    ]
    body = loop_body(*more)
    body.output[0].name = "known"
    expect_same(loop(None, body))
    expect_same(loop(100, body))


def test_an_onnx_loop_whose_shape_grows_is_refused() -> None:
    body = loop_body(helper.make_node("Concat", ["sum", "sum"], ["longer"], axis=0))
    body.output[1].CopyFrom(value("longer", None))
    problem = problem_of(loop(3, body), "m.onnx")
    assert problem.code == "GM140"
    assert all(word in problem.message for word in ("2x3", "4x3", "'loop'"))


def test_what_an_onnx_loop_collects_keeps_its_shape() -> None:
    more = [
        helper.make_node("Constant", [], ["zero"], value_ints=[0]),
        helper.make_node("Unsqueeze", ["i", "zero"], ["count"]),
        helper.make_node("ConstantOfShape", ["count"], ["growing"]),
    ]
    body = loop_body(*more, results=[value("growing", None)])
    assert problem_of(loop(3, body, ["many"]), "m.onnx").code == "GM140"


@pytest.mark.parametrize("is_then", [True, False])
def test_an_onnx_branch_of_a_known_condition_is_all_that_is_left(is_then: bool) -> None:
    graphs = {
        f"{name}_branch": helper.make_graph(
            [helper.make_node(kind, ["x", "x"], [name])], name, [], [value(name, None)]
        )
        for name, kind in (("then", "Add"), ("else", "Mul"))
    }
    node = helper.make_node("If", ["c"], ["y"], **graphs)
    data = model_of([node], [value("y")], [numpy_helper.from_array(np.array(is_then), "c")])
    assert len(reference_graph(data, "m.onnx").nodes) <= 2
    expect_same(data)


def test_a_branch_that_is_refused_may_be_one_that_is_never_taken() -> None:
    """A model for two sample rates, of which only one fits the given input."""
    graphs = {
        f"{name}_branch": helper.make_graph(
            [helper.make_node(kind, ["x"], [name])], name, [], [value(name, None)]
        )
        for name, kind in (("then", "Relu"), ("else", "Det"))
    }
    nodes = [
        helper.make_node("Equal", ["rate", "usual"], ["c"]),
        helper.make_node("If", ["c"], ["y"], **graphs),
    ]
    inputs = [value("x"), value("rate", (), TensorProto.INT64)]
    usual = [numpy_helper.from_array(np.array(16000, np.int64), "usual")]
    model = helper.make_model(helper.make_graph(nodes, "main", inputs, [value("y")], usual))
    data = model.SerializeToString()
    assert "only one graph is needed: --bind rate=value.npy" in problem_of(data, "m.onnx").hint
    bound = InputOptions(bind={"rate": np.array(16000, np.int64)})
    graph = reference_graph(data, "m.onnx", inputs=bound)
    assert "if" not in {node.op.name for node in graph.nodes}


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("backward", [0, 1])
@pytest.mark.parametrize("out_backward", [0, 1])
def test_a_scan_goes_along_any_axis_either_way(axis: int, backward: int, out_backward: int) -> None:
    length = 3 if axis == 0 else 2
    body = helper.make_graph(
        [
            helper.make_node("Add", ["sum", "slice"], ["next"]),
            helper.make_node("Neg", ["next"], ["row"]),
        ],
        "body", [value("sum", (length,)), value("slice", (length,))],
        [value("next", (length,)), value("row", (length,))],
    )  # fmt: skip
    node = helper.make_node(
        "Scan", ["start", "x"], ["last", "rows"], body=body, num_scan_inputs=1,
        scan_input_axes=[axis], scan_input_directions=[backward],
        scan_output_axes=[axis], scan_output_directions=[out_backward],
    )  # fmt: skip
    start = numpy_helper.from_array(np.zeros(length, np.float32), "start")
    expect_same(model_of([node], [value("last", None), value("rows", None)], [start]))


def test_a_long_scan_may_go_over_the_numbers_of_a_vector() -> None:
    """Slices of no axes became vectors of one element where the loop was evaluated."""
    body = helper.make_graph(
        [helper.make_node("Add", ["sum", "slice"], ["next"]),
         helper.make_node("Neg", ["next"], ["row"])],
        "body", [value("sum", ()), value("slice", ())], [value("next", ()), value("row", ())],
    )  # fmt: skip
    node = helper.make_node("Scan", ["start", "v"], ["last", "rows"], body=body, num_scan_inputs=1)
    start = numpy_helper.from_array(np.zeros((), np.float32), "start")
    numbers = numpy_helper.from_array(np.arange(100, dtype=np.float32), "numbers")
    nodes = [
        helper.make_node("ReduceSum", ["x"], ["total"], keepdims=0),
        helper.make_node("Add", ["numbers", "total"], ["v"]), node,
    ]  # fmt: skip
    data = model_of(nodes, [value("last", None), value("rows", None)], [start, numbers])
    assert "loop" in {node.op.name for node in reference_graph(data, "m.onnx").nodes}
    expect_same(data)


@pytest.mark.parametrize("count", [0, -1, 3])
def test_a_scan_over_nothing_is_refused(count: int) -> None:
    body = helper.make_graph([helper.make_node("Neg", ["s"], ["r"])], "body", [value("s")],
                             [value("r")])  # fmt: skip
    node = helper.make_node("Scan", ["x"], ["y"], body=body, num_scan_inputs=count)
    assert problem_of(model_of([node], [value("y", None)]), "m.onnx").code == "GM105"


def test_a_loop_without_a_body_is_damaged() -> None:
    node = helper.make_node("Loop", ["", "", "x"], ["y"])
    with pytest.raises(GlowmcuError) as caught:
        reference_graph(model_of([node], [value("y")]), "m.onnx")
    assert caught.value.exit_code in (ExitCode.UNSUPPORTED, ExitCode.USAGE)
    assert caught.value.problems[0].code == "GM101"


def test_a_loop_of_more_trips_than_anybody_runs_is_refused() -> None:
    problem = problem_of(loop(1 << 40, loop_body()), "m.onnx")
    assert problem.code == "GM142"
    assert str(1 << 40) in problem.message
