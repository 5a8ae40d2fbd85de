"""Normalizations of rows between pairs: tensors inside of them get int16 that no file speaks of.

LayerNormalization and InstanceNormalization are a normalization, a product and a sum here, with no
pair in between. A normalized row of n numbers has none beyond sqrt(n), and the constants say how
much larger it gets, so that nothing has to be measured.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from glowmcu.frontend.onnx.pair_forms import Form, around_zero
from glowmcu.frontend.onnx.weights_of_pairs import PairConstants
from glowmcu.ir.graph import Graph, Node, Value
from glowmcu.ir.operation import Array
from glowmcu.lazy_dataclass import dataclass
from glowmcu.ops.elementwise import Add, Mul, Sub
from glowmcu.ops.moments import MeanVarianceNormalization
from glowmcu.ops.shape import Reshape
from glowmcu.ops.transpose import Transpose
from glowmcu.ops.wide import INT16_MAX

#: In steps of the result that the file wants, by whether it has 16 bits.
_WIDEST_STEP = {False: 0.25, True: 2.0}


@dataclass(frozen=True)
class Chains:
    """The nodes of all chains, and the forms of tensors between two of them."""

    nodes: frozenset[Node]
    forms: Mapping[Value, Form]


def find_chains(
    graph: Graph, wanted: Mapping[Value, Form | None], constants: PairConstants
) -> Chains:
    """`wanted`: the form in which all readers of a real tensor take it, if they agree on one."""
    reach: dict[Value, float] = {}
    for node in graph.nodes:
        most = _reach(node, reach, constants)
        if most is not None and most > 0:
            reach[node.output] = most
    forms: dict[Value, Form] = {}
    nodes: set[Node] = set()
    for node in reversed(graph.nodes):
        value = node.outputs[0]
        if value not in reach or value in graph.outputs:
            continue
        step, form = reach[value] / INT16_MAX, wanted.get(value)
        if form is not None:
            is_fine = step <= _WIDEST_STEP[form.is_wide] * form.quantization.scales[0]
        else:
            readers = graph.users.get(value, [])
            is_fine = bool(readers) and all(reader in nodes for reader in readers)
        if is_fine:
            nodes.add(node)
            forms[value] = around_zero(step)
    between = {value: form for value, form in forms.items() if wanted.get(value) is None}
    return Chains(frozenset(nodes), between)


def _reach(node: Node, reach: Mapping[Value, float], constants: PairConstants) -> float | None:
    """The greatest magnitude of the result; None if `node` is no part of a chain."""
    if isinstance(node.op, MeanVarianceNormalization):
        return math.sqrt(node.output.type.shape[-1])
    known = [value for value in node.inputs if value in reach]
    if len(known) != 1:
        return None
    if isinstance(node.op, Reshape | Transpose):
        return reach[known[0]]
    if not isinstance(node.op, Add | Sub | Mul):
        return None
    (other,) = (value for value in node.inputs if value not in reach)
    data: Array | None = constants.real(other)
    if data is None or not data.size:
        return None
    largest = float(np.abs(data).max())
    return reach[known[0]] * largest if isinstance(node.op, Mul) else reach[known[0]] + largest
