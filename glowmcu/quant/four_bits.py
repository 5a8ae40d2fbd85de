"""Which layers have weights of four bits: -7..7, stored two to a byte.

They are those of matrix products with constant weights (conv_2d, depthwise_conv_2d,
fully_connected): each weight counts once a result, and the samples show what its rounding does.
Weights that a loop multiplies by in every step stay int8.
"""

from __future__ import annotations

from collections.abc import Iterable

from glowmcu.errors import ExitCode, error
from glowmcu.ir.graph import Graph, Node
from glowmcu.quant.int8_partition import Rules, nodes_named
from glowmcu.quant.linear_layers import is_linear
from glowmcu.quant.wide import ALL


def four_bit_candidates(graph: Graph, rules: Rules) -> list[Node]:
    """Nodes of `rules` whose weights may have four bits, in the graph's order."""
    return [
        node for node in graph.nodes if node in rules and rules[node].weights and is_linear(node)
    ]


def choose_four_bit_nodes(graph: Graph, rules: Rules, names: Iterable[str]) -> set[Node]:
    """Those of the candidates that `names` name: operators, nodes, or `all`.

    Raises GM312 for an unknown name, GM350 for a node that was named and is no candidate.
    """
    wanted = tuple(names)
    candidates = four_bit_candidates(graph, rules)
    if ALL in wanted:
        return set(candidates)
    named = nodes_named(graph, wanted, "--weights")
    for node in graph.nodes:
        if node in named and node in rules and node not in candidates:
            raise error(
                "GM350",
                f"{node.op.name} {node.name!r} cannot have weights of four bits",
                hint="name layers of conv_2d, depthwise_conv_2d and fully_connected",
                exit_code=ExitCode.UNSUPPORTED,
            )
    return named & set(candidates)
