"""`stack`: several element-wise operators as one node; what is between them is never stored.

Glow's operator stacking: a straight-line program on one element, meaning what its members mean.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from glowmcu.ir.operation import Array, Operation, OperationError, Rounding, RowWindow, Signature
from glowmcu.ir.types import Shape, TensorType
from glowmcu.ir.value_range import ValueRange
from glowmcu.lazy_dataclass import dataclass
from glowmcu.ops.broadcasting import broadcast_shape, overwritable_operands, row_windows
from glowmcu.ops.registry import operation


@dataclass(frozen=True)
class Member:
    """An operator of a stack.

    Operand numbers below the stack's own operand count are those; the next ones are the members'
    results in order. `type` is the result's.
    """

    op: Operation
    operands: tuple[int, ...]
    type: TensorType


@operation("stack")
@dataclass(frozen=True)
class Stack(Operation):
    """The last member's result is the stack's. Every member has the stack's result shape."""

    elementwise: ClassVar[bool] = True
    members: tuple[Member, ...] = ()

    def infer(self, inputs: Sequence[TensorType]) -> tuple[Shape, ...]:
        shape = broadcast_shape([type_.shape for type_ in inputs])
        for member, signature in zip(self.members, self.signatures(inputs), strict=True):
            (inferred,) = member.op.infer(signature.inputs)
            if inferred != shape or member.type.shape != shape:
                raise OperationError(f"{member.op.name} gives {inferred} in a stack of {shape}")
        return (shape,)

    def signatures(self, inputs: Sequence[TensorType]) -> tuple[Signature, ...]:
        """The members' own signatures."""
        types = list(inputs)
        signatures: list[Signature] = []
        for member in self.members:
            if not all(operand < len(types) for operand in member.operands):
                raise OperationError(f"{member.op.name} reads what comes after it in the stack")
            operands = tuple(types[operand] for operand in member.operands)
            signatures.append(Signature(operands, (member.type,)))
            types.append(member.type)
        return tuple(signatures)

    def verify(self, signature: Signature) -> None:
        if not self.members or self.members[-1].type != signature.output:
            raise OperationError(f"the last member must give {signature.output}")
        for member, inner in zip(self.members, self.signatures(signature.inputs), strict=True):
            if not member.op.elementwise:
                raise OperationError(f"{member.op.name} is not element-wise")
            member.op.verify(inner)

    def evaluate(
        self, inputs: Sequence[Array], signature: Signature, rounding: Rounding
    ) -> tuple[Array, ...]:
        values = list(inputs)
        for member, inner in zip(self.members, self.signatures(signature.inputs), strict=True):
            operands = [values[operand] for operand in member.operands]
            values.extend(member.op.evaluate(operands, inner, rounding))
        return (values[-1],)

    def output_ranges(
        self,
        inputs: Sequence[ValueRange | None],
        constants: Sequence[Array | None],
        signature: Signature,
        rounding: Rounding,
    ) -> tuple[ValueRange | None, ...]:
        ranges, data = list(inputs), list(constants)
        for member, inner in zip(self.members, self.signatures(signature.inputs), strict=True):
            operands = [ranges[operand] for operand in member.operands]
            known = [data[operand] for operand in member.operands]
            ranges.extend(member.op.output_ranges(operands, known, inner, rounding))
            data.append(None)
        return (ranges[-1],)

    def macs(self, signature: Signature) -> int:
        inner = self.signatures(signature.inputs)
        return sum(m.op.macs(s) for m, s in zip(self.members, inner, strict=True))

    def in_place(self, signature: Signature) -> tuple[int, ...]:
        return overwritable_operands(signature)

    def updates(self, signature: Signature) -> Mapping[int, int]:
        """What the last member updates, if that is an operand. Element i of it, which is of the
        result's shape, is read for the last time before element i is written.
        """
        last = self.members[-1]
        inner = self.signatures(signature.inputs)[-1]
        return {
            result: last.operands[operand]
            for result, operand in last.op.updates(inner).items()
            if last.operands[operand] < len(signature.inputs)
        }

    def input_rows(
        self, signature: Signature, first: int, end: int
    ) -> tuple[RowWindow | None, ...]:
        return row_windows(signature, first, end)
