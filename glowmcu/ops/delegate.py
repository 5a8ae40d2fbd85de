"""`delegate` and `ethos_u`: a region of a graph that a device beside the core computes.

The region is an attribute, as the branches of an `if` are: what it means stands there alone, so
that the interpreter, the verifier and the planner see one node with operands and results.
"""

from __future__ import annotations

from collections.abc import Sequence

from glowmcu.ir.body import Body
from glowmcu.ir.graph import Graph, VerificationError
from glowmcu.ir.interpreter import run_graph
from glowmcu.ir.operation import Array, Operation, OperationError, Rounding, Signature
from glowmcu.ir.types import ElementType, TensorType
from glowmcu.lazy_dataclass import dataclass
from glowmcu.ops.registry import operation


@operation("delegate")
@dataclass(frozen=True)
class Delegate(Operation):
    """`body` on `device`, each of its layers through a C function `PREFIX_OPERATOR`.

    The body's inputs are the first operands. `cycles` are estimated, in cycles of the core.
    Tensors that the device touches lie at multiples of `align` bytes, weights at multiples of
    `weights_align`.
    """

    body: Body
    device: str
    prefix: str
    cycles: int = 0
    align: int = 1
    weights_align: int = 1

    def inner_graphs(self) -> tuple[Graph, ...]:
        return (self.body.graph,)

    def infer(self, inputs: Sequence[TensorType]) -> tuple[tuple[int, ...], ...]:
        count = len(self.body.inputs)
        if tuple(inputs[:count]) != self.body.inputs:
            raise OperationError(f"a region takes {list(self.body.inputs)}, got {list(inputs)}")
        self.expect_constants(inputs[count:])
        return tuple(type_.shape for type_ in self.body.types)

    def expect_constants(self, types: Sequence[TensorType]) -> None:
        """Raises OperationError unless these are the operands behind those of the body."""
        if types:
            raise OperationError(f"a region has {len(types)} operands too many")

    def verify(self, signature: Signature) -> None:
        try:
            self.body.graph.verify()
        except VerificationError as cause:
            raise OperationError(f"in a region: {cause}") from cause
        if signature.outputs != self.body.types:
            raise OperationError(f"a region gives {self.body.types}, not {signature.outputs}")

    def evaluate(
        self, inputs: Sequence[Array], signature: Signature, rounding: Rounding
    ) -> tuple[Array, ...]:
        graph = self.body.graph.replace(rounding=rounding)
        return tuple(run_graph(graph, list(inputs[: len(self.body.inputs)])))

    def macs(self, signature: Signature) -> int:
        return self.body.graph.macs


@operation("ethos_u")
@dataclass(frozen=True)
class EthosU(Delegate):
    """A region that Arm's Vela has compiled for an Ethos-U: one call for all of it.

    The last two operands are what Vela made, uint8: commands, and what is only read. The device
    works in `scratch_bytes` of memory, where its inputs are expected at `input_offsets` and its
    outputs are found at `output_offsets`.
    Source: the custom operator `ethos-u` of TensorFlow Lite Micro, micro/kernels/ethos_u.
    """

    scratch_bytes: int = 0
    input_offsets: tuple[int, ...] = ()
    output_offsets: tuple[int, ...] = ()

    def expect_constants(self, types: Sequence[TensorType]) -> None:
        if [type_.element for type_ in types] != [ElementType.UI8, ElementType.UI8]:
            raise OperationError("commands and what they read are two operands of uint8")

    def verify(self, signature: Signature) -> None:
        super().verify(signature)
        places = [
            *zip(self.input_offsets, self.body.inputs, strict=True),
            *zip(self.output_offsets, self.body.types, strict=True),
        ]
        for offset, type_ in places:
            if not 0 <= offset <= self.scratch_bytes - type_.size_bytes:
                raise OperationError(f"{type_} at {offset} is not in {self.scratch_bytes} bytes")
