"""Branches and loops that data decide: C == meaning == others, in each other, on all cores."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import glowmcu
from glowmcu.frontend.tflite.writer import ModelBuilder
from glowmcu.goals import Goal
from glowmcu.ir.graph import Graph, VerificationError
from glowmcu.ir.interpreter import Session
from glowmcu.ir.operation import Array
from glowmcu.ir.text import parse_graph, parse_program, print_graph, print_program
from glowmcu.lowering.passes import lower
from glowmcu.memplan.execute import execute_program
from glowmcu.ops.control_flow import If, Loop
from glowmcu.ops.registry import load_operations
from glowmcu.pipeline import Options, compile_model, reference_graph
from glowmcu.verify.executors import executor
from tests.support.check_model import check_model
from tests.support.control_flow_models import (
    SCALE,
    SHAPE,
    RandomModel,
    add_branches,
    add_loop,
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

DATA = np.array([[1, -2, 3, 4, -50, 6]], np.int8)
GOALS = tuple(Goal)


def given(names: Sequence[str], seed: int, count: int = 4) -> list[list[Array]]:
    """Inputs of `RandomModel` by name."""
    random = np.random.default_rng(seed)
    sets = []
    for _ in range(count):
        values = {
            "x": random.integers(-128, 128, SHAPE).astype(np.int8),
            "count": random.integers(-2, 9, 1).astype(np.int32),
            "flag": random.integers(0, 2, 1).astype(bool),
        }
        sets.append([values[name] for name in names])
    return sets


def asked(data: bytes, names: Sequence[str]) -> Callable[[Sequence[Array]], list[Array]]:
    """TFLM, for inputs in our order: an input that nobody reads is still one of the file's."""
    oracle = open_tflm(data)

    def run(arrays: Sequence[Array]) -> list[Array]:
        values = dict(zip(names, arrays, strict=True))
        return oracle([values[name] for name in ("x", "count", "flag")])

    return run


@pytest.mark.parametrize("seed", range(24))
def test_random_branches_and_loops_are_those_of_tflm(seed: int) -> None:
    data = RandomModel(seed).data()
    names = [value.name for value in reference_graph(data, "m.tflite").arguments]
    oracle = asked(data, names)
    options = Options("m", core="cortex-m4", goal=GOALS[seed % len(GOALS)], simplify=seed % 2 == 0)
    check_model(data, given(names, seed), lambda _, arrays: oracle(arrays), options)


@pytest.mark.parametrize("seed", range(40))
def test_variables_are_assigned_inside_of_branches_and_loops(seed: int) -> None:
    data = RandomModel(seed, with_variables=True).data()
    graph = reference_graph(data, "m.tflite")
    names = [value.name for value in graph.arguments]
    oracle, sessions = asked(data, names), (Session(graph), Session(lower(graph)))
    for arrays in given(names, seed, 8):
        want = oracle(arrays)
        for session in sessions:
            assert all(map(np.array_equal, session.run(arrays), want))


@pytest.mark.parametrize("seed", [94, 0, 3])
def test_a_stream_in_c_goes_through_branches_and_loops(seed: int, tmp_path: Path) -> None:
    data = RandomModel(seed, with_variables=True).data()
    file = tmp_path / "m.tflite"
    file.write_bytes(data)
    graph = reference_graph(data, file.name)
    names = [value.name for value in graph.arguments]
    ours, bundle = Session(graph), glowmcu.compile(file, output=tmp_path / "m")
    session = bundle.session(on="host")
    for arrays in given(names, seed, 8):
        assert all(map(np.array_equal, session.run(arrays), ours.run(arrays)))


@pytest.mark.arm
@pytest.mark.parametrize("board", ["nrf52", "rp2040"])
@pytest.mark.parametrize("seed", [1, 5, 9])
def test_cores_go_the_same_ways(board: str, seed: int, tmp_path: Path) -> None:
    data = RandomModel(seed).data()
    file = tmp_path / "m.tflite"
    file.write_bytes(data)
    graph = reference_graph(data, file.name)
    bundle = glowmcu.compile(file, board=board, output=tmp_path / "m")
    sets = given([value.name for value in graph.arguments], seed, 3)
    found = executor("cortex-m", bundle.board, count=False).run(bundle.path, sets)
    for arrays, result in zip(sets, found, strict=True):
        assert all(map(np.array_equal, result.outputs, Session(graph).run(arrays)))


@pytest.mark.parametrize("seed", range(6))
def test_plans_hold_in_one_byte_array_and_texts_parse_back(seed: int) -> None:
    done = compile_model(RandomModel(seed).data(), "m.tflite", Options("m"))
    operations = load_operations()
    for graph in (done.imported, done.graph):
        text = print_graph(graph)
        assert print_graph(parse_graph(text, operations)) == text
    text = print_program(done.plan.program)
    assert print_program(parse_program(text, operations)) == text
    for arrays in given([value.name for value in done.graph.arguments], seed):
        held = execute_program(done.plan.program, done.graph, arrays, done.plan.arena_bytes)
        assert all(map(np.array_equal, held, Session(done.imported).run(arrays)))


# --- forms ---------------------------------------------------------------------------------


def loop_of(graph: Graph) -> Loop:
    (node,) = (node for node in graph.nodes if isinstance(node.op, Loop))
    assert isinstance(node.op, Loop)
    return node.op


def test_a_long_loop_with_a_known_count_computes_no_condition() -> None:
    data = counted_loop(100, lambda b, i: [added(b, "sum", i[0], DATA)])
    done = check_model(data)
    op = loop_of(done.imported)
    assert (op.trips, op.is_conditional) == (100, False)
    assert done.estimated_cycles > 100 * 30


def test_a_loop_that_data_end_is_estimated_by_the_trip() -> None:
    data = until_five()
    done = check_model(data, inputs=[[np.array([n], np.int32), DATA] for n in (-3, 0, 4, 5, 9)])
    op = loop_of(done.imported)
    assert (op.trips, op.is_conditional) == (None, True)
    assert done.estimated_cycles < 2000


def until_five() -> bytes:
    model = ModelBuilder()
    count = model.input("count", (1,), "int32")
    x = model.input("x", SHAPE, "int8", SCALE, 0)
    last, y = model.tensor("last", (1,), "int32"), whole(model, "y")
    five = np.array([5], np.int32)
    add_loop(
        model, [count, x], [last, y], lambda b, i: [compared(b, "LESS", i[0], five)],
        lambda b, i: [counted_up(b, i[0]), added(b, "sum", i[1], DATA)],
    )  # fmt: skip
    model.output(y)
    model.output(last)
    return model.finish()


def test_what_a_loop_carries_may_change_places() -> None:
    model = ModelBuilder()
    count = model.input("count", (1,), "int32")
    x, z = (model.input(name, SHAPE, "int8", SCALE, 0) for name in "xz")
    last, a, b = model.tensor("last", (1,), "int32"), whole(model, "a"), whole(model, "b")
    add_loop(
        model, [count, x, z], [last, a, b],
        lambda b, i: [compared(b, "LESS", i[0], np.array([5], np.int32))],
        lambda b, i: [counted_up(b, i[0]), i[2], i[1]],
    )  # fmt: skip
    model.output(a)
    model.output(b)
    data = model.finish()
    oracle = open_tflm(data)
    sets = [[np.array([n], np.int32), DATA, -DATA] for n in (1, 2, 7)]
    check_model(data, sets, lambda _, arrays: oracle(arrays))


def test_branches_share_the_bytes_of_one_scratch() -> None:
    def branches(both: bool) -> int:
        model = ModelBuilder()
        flag = model.input("flag", (1,), "bool")
        x, y = model.input("x", SHAPE, "int8", SCALE, 0), whole(model, "y")

        def long(b: ModelBuilder, i: list[Any]) -> list[Any]:
            wide = b.tensor("wide", (1, 600), "int8", SCALE, 0)
            w = b.constant("w", np.ones((600, 6), np.int8), 0.1, 0)
            back = b.constant("back", np.ones((6, 600), np.int8), 0.1, 0)
            result = whole(b, "r")
            b.op("FULLY_CONNECTED", [i[0], w], [wide], {})
            b.op("FULLY_CONNECTED", [wide, back], [result], {})
            return [result]

        short = lambda b, i: [added(b, "sum", i[0], DATA)]  # noqa: E731
        add_branches(model, flag, [x], [y], [long, long if both else short])
        model.output(y)
        return compile_model(model.finish(), "m.tflite", Options("m")).plan.arena_bytes

    assert branches(True) == branches(False)


def test_a_loop_that_does_not_end_is_refused() -> None:
    model = ModelBuilder()
    x, y = model.input("x", SHAPE, "int8", SCALE, 0), whole(model, "y")
    always = lambda b, i: [b.constant("yes", np.array([True]))]  # noqa: E731
    add_loop(model, [x], [y], always, lambda b, i: [added(b, "sum", i[0], DATA)])
    model.output(y)
    with pytest.raises(glowmcu.GlowmcuError) as caught:
        compile_model(model.finish(), "m.tflite", Options("m"))
    assert caught.value.problems[0].code == "GM143"


def test_branches_of_different_shapes_are_refused() -> None:
    branches = {
        "then_branch": helper.make_graph(
            [helper.make_node("Identity", ["x"], ["t"])], "t", [], [value("t", None)]
        ),
        "else_branch": helper.make_graph(
            [helper.make_node("Concat", ["x", "x"], ["e"], axis=0)], "e", [], [value("e", None)]
        ),
    }
    node = helper.make_node("If", ["flag"], ["y"], "choose", **branches)
    with pytest.raises(glowmcu.GlowmcuError) as caught:
        reference_graph(onnx_model([node], ["y"]), "m.onnx")
    (problem,) = caught.value.problems
    assert problem.code == "GM141"
    assert all(word in problem.message for word in ("'choose'", "2x3", "4x3"))


@pytest.mark.parametrize("broken", ["trips", "carried", "condition", "inputs"])
def test_a_loop_that_does_not_fit_its_body_is_our_bug(broken: str) -> None:
    graph = reference_graph(until_five(), "m.tflite")
    (index,) = (i for i, node in enumerate(graph.nodes) if isinstance(node.op, Loop))
    node = graph.nodes[index]
    op = loop_of(graph)
    changed = {
        "trips": Loop(op.body, op.carried, 0, 0, True),
        "carried": Loop(op.body, op.carried + 1, 0, None, True),
        "condition": Loop(op.body, op.carried, 0, None, False),
        "inputs": Loop(op.body, op.carried, 1, 4, True),
    }[broken]
    nodes = list(graph.nodes)
    nodes[index] = type(node)(changed, node.inputs, node.outputs, node.name)
    with pytest.raises(VerificationError):
        graph.replace(nodes).verify()


# --- ONNX ----------------------------------------------------------------------------------


def value(name: str, shape: Sequence[int] | None = (2, 3), element: int = TensorProto.FLOAT) -> Any:
    return helper.make_tensor_value_info(name, element, shape)


def onnx_model(nodes: Sequence[Any], outputs: Sequence[str], **data: Array) -> bytes:
    """Inputs: x float32[2, 3], flag bool, count int64."""
    inputs = [
        value("x"), value("flag", (), TensorProto.BOOL), value("count", (), TensorProto.INT64)
    ]  # fmt: skip
    constants = [numpy_helper.from_array(array, name) for name, array in data.items()]
    named = [value(name, None) for name in outputs]
    graph = helper.make_graph(nodes, "main", inputs, named, constants)
    opsets = [helper.make_opsetid("", 18)]
    made = helper.make_model(graph, opset_imports=opsets, ir_version=8)
    return bytes(made.SerializeToString())


def expect_same(data: bytes) -> Graph:
    x = np.arange(6, dtype=np.float32).reshape(2, 3) - 2
    sets = [
        [x, np.array(flag), np.array(count, np.int64)]
        for flag, count in ((True, 0), (False, 3), (True, 5))
    ]
    return check_model(data, sets, run_onnxruntime).imported


def test_an_onnx_branch_reads_what_is_around_it() -> None:
    scaled = [
        helper.make_node("Mul", ["twice", "x"], ["inner"]),
        helper.make_node("Add", ["inner", "w"], ["t"]),
    ]
    nodes = [
        helper.make_node("Add", ["x", "x"], ["twice"]),
        helper.make_node(
            "If", ["flag"], ["y"],
            then_branch=helper.make_graph(scaled, "t", [], [value("t")]),
            else_branch=helper.make_graph(
                [helper.make_node("Neg", ["x"], ["e"])], "e", [], [value("e")]
            ),
        ),
        helper.make_node("Mul", ["y", "twice"], ["z"]),
    ]  # fmt: skip
    graph = expect_same(onnx_model(nodes, ["z"], w=np.float32([1, 2, 3])))
    assert any(isinstance(node.op, If) for node in graph.nodes)


def body_graph(nodes: Sequence[Any], collects: bool = False) -> Any:
    outputs = [value("go_on", None, TensorProto.BOOL), value("sum", None)]
    return helper.make_graph(
        nodes, "body",
        [value("i", (), TensorProto.INT64), value("go", (), TensorProto.BOOL), value("carried")],
        [*outputs, *([value("row", None)] if collects else [])],
    )  # fmt: skip


@pytest.mark.parametrize("counted", [True, False], ids=["count of an input", "no count"])
@pytest.mark.parametrize("reads_trip", [True, False])
def test_an_onnx_loop_that_data_end(counted: bool, reads_trip: bool) -> None:
    nodes = [
        helper.make_node("Add", ["carried", "x"], ["plain"]),
        helper.make_node("Cast", ["i" if reads_trip else "one"], ["number"], to=TensorProto.FLOAT),
        helper.make_node("Add", ["plain", "number"], ["sum"]),
        helper.make_node("ReduceMax", ["sum"], ["most"], keepdims=0),
        helper.make_node("Less", ["most", "limit"], ["go_on"]),
    ]
    node = helper.make_node(
        "Loop", ["count" if counted else "", "flag", "x"], ["y"], body=body_graph(nodes)
    )
    after = helper.make_node("Neg", ["y"], ["z"])
    constants = {"one": np.array(1, np.int64), "limit": np.float32(40)}
    op = loop_of(expect_same(onnx_model([node, after], ["z"], **constants)))
    assert op.is_conditional
    assert op.carried == 1 + (counted or reads_trip)


def test_a_long_onnx_loop_collects_rows() -> None:
    nodes = [
        helper.make_node("Identity", ["go"], ["go_on"]),
        helper.make_node("Add", ["carried", "x"], ["sum"]),
        helper.make_node("ReduceSum", ["sum"], ["row"], keepdims=0),
    ]
    body = body_graph(nodes, collects=True)
    node = helper.make_node("Loop", ["n", "", "x"], ["y", "rows"], body=body)
    data = onnx_model([node], ["y", "rows"], n=np.array(100, np.int64))
    op = loop_of(expect_same(data))
    assert (op.trips, op.is_conditional, op.collected) == (100, False, 1)


def test_rows_of_trips_that_data_count_are_refused() -> None:
    nodes = [
        helper.make_node("Identity", ["go"], ["go_on"]),
        helper.make_node("Add", ["carried", "x"], ["sum"]),
        helper.make_node("Neg", ["sum"], ["row"]),
    ]
    body = body_graph(nodes, collects=True)
    node = helper.make_node("Loop", ["count", "", "x"], ["y", "rows"], "many", body=body)
    with pytest.raises(glowmcu.GlowmcuError) as caught:
        reference_graph(onnx_model([node], ["y", "rows"]), "m.onnx")
    (problem,) = caught.value.problems
    assert problem.code == "GM141"
    assert "'many'" in problem.message


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("backward", [0, 1])
@pytest.mark.parametrize("length", [90, 91])
def test_a_long_scan_is_a_loop(axis: int, backward: int, length: int) -> None:
    """Rows of three floats or of a byte each: where words cannot be read, rows are copied."""
    body = helper.make_graph(
        [
            helper.make_node("Add", ["sum", "slice"], ["next"]),
            helper.make_node("Mul", ["next", "slice"], ["row"]),
        ],
        "body", [value("sum", (3,)), value("slice", (3,))],
        [value("next", (3,)), value("row", (3,))],
    )  # fmt: skip
    shape = (length, 3) if axis == 0 else (3, length)
    nodes = [
        helper.make_node("Tile", ["x", "many"], ["tiled"]),
        helper.make_node("Slice", ["tiled", "zero", "end"], ["long"]),
        helper.make_node(
            "Scan", ["start", "long"], ["last", "rows"], body=body, num_scan_inputs=1,
            scan_input_axes=[axis], scan_input_directions=[backward],
            scan_output_axes=[1 - axis], scan_output_directions=[1 - backward],
        ),
    ]  # fmt: skip
    data = onnx_model(
        nodes, ["last", "rows"], start=np.zeros(3, np.float32),
        many=np.array([50, 50], np.int64), zero=np.zeros(2, np.int64),
        end=np.array(shape, np.int64),
    )  # fmt: skip
    assert loop_of(expect_same(data)).trips == length
