"""Outputs without memory of their own: constants, inputs, a value given twice."""

from __future__ import annotations

import numpy as np

from glowmcu.ir.graph import Graph, Node, Value
from glowmcu.ir.interpreter import run_graph
from glowmcu.ir.operation import constant
from glowmcu.ir.types import ElementType, TensorType
from glowmcu.lowering import materialize_outputs
from glowmcu.memplan.planner import plan_memory
from glowmcu.ops.copy import Copy
from glowmcu.ops.shape import Reshape
from tests.memplan.small_programs import Builder

TYPE = TensorType((4,), ElementType.I8)


def constant_node(name: str) -> Node:
    data = np.arange(4, dtype=np.int8)
    return Node(constant(data), (), (Value(TYPE, name),), name)


def copies(graph: Graph) -> int:
    return sum(isinstance(node.op, Copy) for node in graph.nodes)


def test_an_input_a_constant_and_a_value_given_twice_are_copied_once_each() -> None:
    builder = Builder()
    x = builder.input(4)
    y = builder.mix(4, x)
    fixed = constant_node("fixed")
    graph = builder.graph(y)
    graph = Graph("g", graph.inputs, (*graph.nodes, fixed), (x, y, y, fixed.output))
    lowered = materialize_outputs.run(graph)
    lowered.verify()
    assert copies(lowered) == 3
    assert len(set(lowered.outputs)) == 4
    assert not set(lowered.outputs) & set(lowered.inputs)
    array = np.array([3, -4, 5, 100], np.int8)
    for got, want in zip(run_graph(lowered, [array]), run_graph(graph, [array]), strict=True):
        np.testing.assert_array_equal(got, want)


def test_a_reshaped_constant_is_copied_and_a_reshaped_input_is_not() -> None:
    fixed, x = constant_node("fixed"), Value(TYPE, "x")
    square = TYPE.with_shape((2, 2))
    nodes = [
        Node(Reshape((2, 2)), (value,), (Value(square, f"{value.name}/2d"),), "reshape")
        for value in (fixed.output, x)
    ]
    graph = Graph("g", (x,), (fixed, *nodes), tuple(node.output for node in nodes))
    lowered = materialize_outputs.run(graph)
    lowered.verify()
    assert copies(lowered) == 1
    assert isinstance(lowered.producers[lowered.outputs[0]].op, Copy)
    assert lowered.outputs[1] is graph.outputs[1]


def test_outputs_with_memory_of_their_own_stay_and_a_second_run_changes_nothing() -> None:
    builder = Builder()
    x = builder.input(4)
    graph = builder.graph(builder.mix(4, x))
    assert materialize_outputs.run(graph) is graph
    once = materialize_outputs.run(Graph("g", graph.inputs, graph.nodes, (x,)))
    assert materialize_outputs.run(once) is once


def test_the_copy_has_bytes_that_the_plan_keeps_apart_from_its_operand() -> None:
    builder = Builder()
    x = builder.input(4)
    y = builder.mix(4, x)
    lowered = materialize_outputs.run(builder.graph(y, y))
    for node in lowered.nodes:
        builder.scratch.setdefault(node, 0)
        builder.align.setdefault(node, 1)
    plan = plan_memory(builder.program(lowered))
    first, second = (plan.program.offset(buffer) for buffer in plan.program.outputs)
    assert abs(first - second) >= 4
