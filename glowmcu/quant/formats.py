"""How the tensors of a float graph are stored in the graph of integers."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import field

from glowmcu.ir.graph import Node, Value
from glowmcu.ir.types import ElementType, Quantization, TensorType
from glowmcu.lazy_dataclass import dataclass
from glowmcu.quant.parameters import Parameters


@dataclass(frozen=True)
class Formats:
    """How tensors are stored: as int8 with the parameters of `narrow`, but where the nodes of
    `wide_nodes` read or make them as int16 with those of `wide`; as are the results `wide_states`
    and the model's inputs `raw`. Weights of `four_bit_nodes` are -7..7.
    """

    narrow: Parameters
    wide: Parameters = field(default_factory=dict)
    wide_nodes: Collection[Node] = ()
    wide_states: Collection[Value] = ()
    raw: Collection[Value] = ()
    four_bit_nodes: Collection[Node] = ()

    def type_of(self, value: Value, wide: bool) -> TensorType:
        """The type that stores `value`."""
        if wide:
            return TensorType(value.type.shape, ElementType.I16, self.wide[value])
        return stored_type(value, self.narrow[value])


def stored_type(value: Value, quantization: Quantization) -> TensorType:
    """int8 in the shape of `value`."""
    return TensorType(value.type.shape, ElementType.I8, quantization)
