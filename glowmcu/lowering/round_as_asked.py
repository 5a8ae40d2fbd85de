"""Whose rounding a graph has; of LiteRT's reference kernels it depends on the operator.

Their fully connected layers round once, and RELU6 is rescaled where its scale changes; all else
they compute in int8 as TensorFlow Lite Micro does. Bodies of branches and loops are graphs, too.
"""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

from glowmcu.errors import GlowmcuError, Problem, error
from glowmcu.ir.body import Body
from glowmcu.ir.graph import FIXED_ROUNDING, Graph, Node
from glowmcu.ir.operation import Operation, OperationError, Rounding
from glowmcu.ops.activation import Clip, Relu, quantize_bound
from glowmcu.ops.matmul import FullyConnected


def run(graph: Graph, rounding: Rounding, file_name: str) -> Graph:
    """The graph with `rounding`. Raises GM227 with every layer that cannot round so, GM157 where
    the file says another one.
    """
    fixed = graph.metadata.get(FIXED_ROUNDING, rounding.value)
    if fixed != rounding.value:
        raise error(
            "GM157", f"the file rounds as {fixed} does, and {rounding.value} was asked for",
            file_name, f"compile it with --rounding {fixed}",
        )  # fmt: skip
    if rounding is not Rounding.LITERT:
        return graph.replace(rounding=rounding)
    nodes: list[Node] = []
    problems: list[Problem] = []
    for index, node in enumerate(graph.nodes):
        op = _rescaled(node) or _rounded(node.op)
        nodes.append(node if op is node.op else replace(node, op=op))
        if isinstance(op, FullyConnected) and not node.output.type.element.is_float:
            try:
                op.requantization(node.signature)
            except OperationError as cause:
                where = f'{file_name}, node {index} "{node.name}"'
                hint = "compile with --rounding double or single"
                problems.append(Problem("GM227", f"{op.name}: {cause}", where, hint))
    if problems:
        raise GlowmcuError(problems)
    return graph.replace(nodes, rounding=rounding)


def _rescaled(node: Node) -> Relu | None:
    """A RELU6 at which the scale changes: Micro's kernel clamps, LiteRT's rescales."""
    if not isinstance(node.op, Clip):
        return None
    x, out = node.inputs[0].type, node.output.type
    if x.quantization == out.quantization:
        return None
    highest = min(quantize_bound(6.0, out), out.element.limits[1])
    return Relu((out.zero_point, highest), single_precision=True)


def _rounded(op: Operation) -> Operation:
    if isinstance(op, FullyConnected):
        return replace(op, rounds_once=True)
    bodies: dict[str, Any] = {
        field.name: _rounded_body(held)
        for field in fields(op)
        if isinstance(held := getattr(op, field.name), Body)
    }
    return replace(op, **bodies) if bodies else op


def _rounded_body(body: Body) -> Body:
    return replace(body, steps=tuple(replace(step, op=_rounded(step.op)) for step in body.steps))
