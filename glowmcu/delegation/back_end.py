"""What a back end is: it says which nodes an accelerator computes, and what a region costs there.

The words are those of TVM's "bring your own codegen", ONNX Runtime's execution providers and
ExecuTorch: a back end accepts nodes, a partition groups them, and a region is delegated.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Protocol, runtime_checkable

from glowmcu.ir.graph import Graph, Node
from glowmcu.ir.operation import Array
from glowmcu.lazy_dataclass import dataclass
from glowmcu.ops.delegate import Delegate


@dataclass(frozen=True)
class RegionCost:
    """Estimated cycles of the core's clock: on the accelerator, and for its operands and results to
    come and go.
    """

    compute: float
    transfer: float

    @property
    def cycles(self) -> float:
        """All of it."""
        return self.compute + self.transfer


@dataclass(frozen=True)
class Lowered:
    """A region as one operator, and constants that are its last operands. Its weights have to be in
    the board's memory `weights_memory`, if that is not empty.
    """

    op: Delegate
    constants: tuple[Array, ...] = ()
    weights_memory: str = ""


@dataclass(frozen=True)
class Refused:
    """Nodes of a region that the accelerator's own compiler left, and why."""

    reasons: Mapping[Node, str] = field(default_factory=dict)


@runtime_checkable
class BackEnd(Protocol):
    """An accelerator. `name` is for people, `estimated_by` says whose figures its cycles are."""

    @property
    def name(self) -> str: ...
    @property
    def estimated_by(self) -> str: ...

    def refusal(self, node: Node, graph: Graph) -> str:
        """Why it does not compute the node, in a clause; empty if it does."""
        ...

    def lowered(self, region: Graph) -> Lowered | Refused:
        """The region as an operator whose meaning it is. Raises GlowmcuError."""
        ...

    def cost(self, region: Graph, op: Delegate) -> RegionCost:
        """What a run of it costs, as `lowered` made it."""
        ...


def border_bytes(region: Graph) -> int:
    """Bytes of operands and results."""
    values: Sequence = (*region.inputs, *region.outputs)  # type: ignore[type-arg]
    return sum(value.type.size_bytes for value in values)
