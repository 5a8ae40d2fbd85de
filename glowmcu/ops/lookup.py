"""`lookup`: any function of one 8-bit element, as the table of its 256 results."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from glowmcu.ir.operation import Array, OperationError, Rounding, Signature
from glowmcu.ir.types import ElementType
from glowmcu.lazy_dataclass import dataclass
from glowmcu.ops.broadcasting import ElementwiseOperation
from glowmcu.ops.registry import operation

#: What a table is indexed by.
INDEX_TYPES = (ElementType.I8, ElementType.UI8)


@operation("lookup")
@dataclass(frozen=True, eq=False)
class Lookup(ElementwiseOperation):
    """`table[byte]` is the result where the operand's byte, taken as unsigned, is `byte`."""

    table: Array

    def __post_init__(self) -> None:
        self.table.flags.writeable = False

    def verify(self, signature: Signature) -> None:
        if signature.inputs[0].element not in INDEX_TYPES:
            raise OperationError(f"a table is indexed by i8 or ui8, got {signature.inputs[0]}")
        expected = signature.output.element.numpy
        if self.table.shape != (256,) or self.table.dtype != expected:
            got = f"{self.table.shape} {self.table.dtype}"
            raise OperationError(f"the table must have 256 entries of {expected}, got {got}")

    def evaluate(
        self, inputs: Sequence[Array], signature: Signature, rounding: Rounding
    ) -> tuple[Array, ...]:
        return (self.table[inputs[0].view(np.uint8)],)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Lookup)
            and self.table.dtype == other.table.dtype
            and self.table.tobytes() == other.table.tobytes()
        )

    def __hash__(self) -> int:
        return hash((self.table.dtype.str, self.table.tobytes()))


def all_values(element: ElementType) -> Array:
    """Every stored value of an 8-bit type, in the order of a table's entries."""
    assert element in INDEX_TYPES
    return np.arange(256, dtype=np.uint8).view(element.numpy)
