"""Which nodes compute with int16 activations, and the parameters of what they read and make.

int16 is symmetric, and so fine that nothing needs to be cut off: scale = max|x| / 32767. Weights
stay int8; biases are int64, whose kernels take any layer.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from glowmcu.errors import ExitCode, error
from glowmcu.ir.graph import Graph, Node, Value
from glowmcu.ir.quantization_rule import QuantizationRule, ResultRange
from glowmcu.ir.types import Quantization
from glowmcu.ops.elementwise import Add, Mul, Sub
from glowmcu.ops.moments import MeanVarianceNormalization
from glowmcu.ops.real_functions import Square
from glowmcu.ops.reduction import Mean
from glowmcu.ops.wide import INT16_MAX
from glowmcu.quant.int8_partition import Rules, border_nodes, nodes_named
from glowmcu.quant.schemas import Schema, power_of_two_above, usable_scale

#: In the place of a name: every node that can.
ALL = "all"


def choose_wide_nodes(
    graph: Graph, rules: Rules, names: Iterable[str], refused: Mapping[Node, str]
) -> set[Node]:
    """The nodes of `rules` that become int16: those named, those that accumulate in a state, those
    that make samples, and what only moves elements between them. Raises GM312 for an unknown name,
    GM313 for a node that was named and is in `refused`.
    """
    named = nodes_named(graph, (name for name in names if name != ALL), "--int16")
    for node in graph.nodes:
        if node in named and (node in refused or node not in rules):
            reason = refused.get(node, "it stays float")
            raise error(
                "GM313",
                f"{node.op.name} {node.name!r} cannot have int16 activations: {reason}",
                hint=f"leave it to int8, or keep it float: --keep-float {node.name}",
                exit_code=ExitCode.UNSUPPORTED,
            )
    if ALL in names:
        return {node for node in rules if node not in refused}
    wide = named | {
        node
        for node in (
            *_accumulating(graph),
            *_in_front_of_samples(graph, rules),
            *_around_normalizations(graph),
        )
        if node in rules and node not in refused
    }
    leaving = {node for node, rule in rules.items() if _leaves_wide_results(node, rule)}
    return wide | _between(graph, rules, wide | leaving, refused)


def with_products(graph: Graph, squares: Collection[Node]) -> Graph:
    """Squares, which have no int16, as products, which have."""
    nodes = (
        replace(node, op=Mul(), inputs=node.inputs * 2) if node in squares else node
        for node in graph.nodes
    )
    return replace(graph, nodes=tuple(nodes))


def names_of_products(names: Sequence[str], squares: Iterable[Node]) -> tuple[str, ...]:
    """`names` of what is to be int16, where the squares are no longer called by their operator."""
    others = tuple(name for name in names if name.lower() != Square.name)
    return others if len(others) == len(names) else (*others, *(node.name for node in squares))


def _leaves_wide_results(node: Node, rule: QuantizationRule) -> bool:
    """Whether all results are int16 whatever the node is."""
    wide = {state.result for state in rule.states if state.wide}
    return len(wide) == len(node.outputs)


def _around_normalizations(graph: Graph) -> set[Node]:
    """Normalizations of rows, and the sums, products and means that they are joined to.

    Blocks of a transformer add to one tensor again and again: that is rounded each time, and a row
    has few elements that are large. Layers with weights read and make int8.
    """
    found = {node for node in graph.nodes if isinstance(node.op, MeanVarianceNormalization)}
    if not found:
        return found
    joined = {node for node in graph.nodes if isinstance(node.op, Add | Sub | Mul | Mean)}
    for region, around in border_nodes(graph, joined.__contains__):
        if not found.isdisjoint(around):
            joined.difference_update(region)
            found.update(region)
    return found


def _in_front_of_samples(graph: Graph, rules: Rules) -> set[Node]:
    """What makes samples: int8 would leave little of them."""
    found, needed = set[Node](), set[Value]()
    for node in reversed(graph.nodes):
        if not needed.isdisjoint(node.outputs):
            found.add(node)
            needed.update(node.inputs)
        if node in rules:
            needed.update(node.inputs[position] for position in rules[node].samples)
    return found


def _accumulating(graph: Graph) -> set[Node]:
    """What makes the new value of a state from the old one element by element.

    Such a state is rounded again in every run: the cell of an LSTM, the hidden state of a GRU, a
    running sum. One that goes through weights forgets its rounding there.
    """
    found: set[Node] = set()
    for state, value in zip(graph.states, graph.assigned, strict=True):
        reached, behind = {state.value}, list[Node]()
        for node in graph.nodes:
            if _keeps_elements(node) and not reached.isdisjoint(node.inputs):
                reached.update(node.outputs)
                behind.append(node)
        needed = {value}
        for node in reversed(behind):
            if not needed.isdisjoint(node.outputs):
                needed.update(node.inputs)
                found.add(node)
    return {node for node in found if node.op.elementwise}


def _keeps_elements(node: Node) -> bool:
    return node.op.elementwise or bool(node.op.aliases(node.signature))


def _between(
    graph: Graph, rules: Rules, wide: Collection[Node], refused: Collection[Node]
) -> set[Node]:
    """Regions of nodes that only move elements, where all around them is int16."""

    def is_neutral(node: Node) -> bool:
        moves = node in rules and rules[node].result is ResultRange.SAME
        return moves and node not in wide and node not in refused

    found: set[Node] = set()
    for region, around in border_nodes(graph, is_neutral):
        if around and all(node in wide for node in around):
            found.update(region)
    return found


def choose_wide_parameters(low: float, high: float, schema: Schema) -> Quantization:
    """int16 scale for real numbers from `low` to `high`; the zero point is 0."""
    scale = usable_scale(max(-low, high) / INT16_MAX)
    if schema is Schema.SYMMETRIC_WITH_POWER2_SCALE:
        scale = power_of_two_above(scale)
    return Quantization((scale,), (0,))


#: Samples whose range is above this are whole numbers as a converter gives them.
_WHOLE_SAMPLES = 2.0**8


def choose_sample_parameters(low: float, high: float) -> Quantization:
    """Of samples that the application writes: raw ones, be they in [-1, 1) or whole numbers; in
    between, the least power of two that holds them.
    """
    most = max(-low, high)
    unit = 2.0**-15
    if most > 1.0:
        unit = power_of_two_above(usable_scale(most / INT16_MAX))
    if most > _WHOLE_SAMPLES:
        unit = max(unit, 1.0)
    return Quantization((unit,), (0,))
