"""What the weights of a layer are: how wide, how many share a scale, whether two lie in a byte."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from glowmcu.ir.graph import Node
from glowmcu.ir.operation import Array
from glowmcu.lazy_dataclass import dataclass

#: What four bits hold.
LEAST_NIBBLE, MOST_NIBBLE = -8, 7


@dataclass(frozen=True)
class LayerWeights:
    """`bits` of a weight, 0 without any: 4 if int8 holds -8..7 alone. `group` of them share a
    scale, 0 where they have none; `packed`: two are a byte of flash.
    """

    bits: int = 0
    group: int = 0
    packed: bool = False


def are_nibbles(weights: Array) -> bool:
    """Whether every value is one of four bits; two of them fit a byte."""
    return bool(weights.min(initial=0) >= LEAST_NIBBLE and weights.max(initial=0) <= MOST_NIBBLE)


def layer_weights(node: Node, constants: Sequence[Array | None], packed: bool) -> LayerWeights:
    """Of constants by operand. Of several, as a recurrence has, the widest and the smallest group.
    `packed`: whether the kernel stores two of four bits in a byte.
    """
    rule = node.op.quantization_rule(node.signature)
    bits, groups = 0, list[int]()
    for position in rule.weights if rule is not None else ():
        data = constants[position] if position < len(constants) else None
        if data is None:
            continue
        is_narrow = data.dtype == np.int8 and are_nibbles(data)
        bits = max(bits, 4 if is_narrow else 8 * data.itemsize)
        quantization = node.inputs[position].type.quantization
        if quantization is not None:
            groups.append(data.size // len(quantization.scales))
    return LayerWeights(bits, min(groups, default=0), packed and bits == 4)
