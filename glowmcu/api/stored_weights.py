"""How weights of four bits are stored: what the constant arrays of the chosen kernels take."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from glowmcu.goals import Goal
from glowmcu.ir.graph import Graph, Node
from glowmcu.ir.kernel_code import KernelCode
from glowmcu.ir.layer_weights import are_nibbles
from glowmcu.kernels.selection.select import Selection
from glowmcu.number_text import count
from glowmcu.quant.linear_layers import is_linear

#: In the names of kernels that read two weights from a byte.
_NIBBLES = ".nibbles_"
#: Arrays of a layer without any weights in them.
_OTHERS = ("bias", "no_bias", "multipliers", "shifts", "scales", "offsets")


def four_bit_weights_stored(graph: Graph, selections: Mapping[Node, Selection]) -> tuple[int, int]:
    """How many layers with constant weights of -8..7 store a whole byte for each, and how many such
    layers there are. A layer whose kernel has no array of weights is in neither.
    """
    wide = layers = 0
    for node, selection in selections.items():
        weights = _four_bit_weights(graph, node)
        stored = _weights_bytes(selection.code)
        if weights and stored is not None:
            layers += 1
            # One that reads two from a byte may still take as many, of few channels that it pads.
            wide += stored >= weights and _NIBBLES not in selection.kernel_name
    return wide, layers


def stored_weights_note(
    graph: Graph, selections: Mapping[Node, Selection], core: str, goal: Goal
) -> str | None:
    """A sentence for the user; None if every layer stores two to a byte."""
    wide, layers = four_bit_weights_stored(graph, selections)
    if not wide:
        return None
    told = (
        f"weights of four bits: {count(wide)} of {count(layers)} layers with a byte for each, as "
        f"their kernels on {core} do not read two from a byte"
    )
    if goal is Goal.FLASH:
        return told
    return (
        f"{told}; --optimize flash keeps them shorter where it can, and decodes a layer at a time"
    )


def _four_bit_weights(graph: Graph, node: Node) -> int:
    """How many the layer has; 0 if it has none of four bits."""
    if not is_linear(node):
        return 0
    data = graph.constant_data(node.inputs[1])
    if data is None or data.dtype != np.int8 or not are_nibbles(data):
        return 0
    return int(data.size)


def _weights_bytes(code: KernelCode) -> int | None:
    """Bytes of the largest array with weights, which may hold biases, too; None without one."""
    if code.parameters is None:
        return None
    arrays = [array for array in code.parameters.constants if array.name not in _OTHERS]
    return max((array.data.nbytes for array in arrays), default=None)
