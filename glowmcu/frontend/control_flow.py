"""Branches and loops of every format: what is written out at compile time, and what is refused.

A loop whose number of trips is known is written out if that is short, or if its body needs
to know in which trip it is: its operators once a trip, with what is constant folded. Others are
nodes (`control_flow_nodes.py`). Nothing in a loop may change its shape from trip to trip,
since every tensor has one place in the arena.
"""

from __future__ import annotations

from collections.abc import Sequence

from glowmcu.frontend.unsupported import Unsupported
from glowmcu.ir.graph import Value
from glowmcu.ir.types import TensorType
from glowmcu.lazy_dataclass import dataclass

#: Subgraphs inside each other.
MAX_DEPTH = 8
#: Trips and nodes of a loop that is written out.
MAX_TRIPS = 1024
MAX_NODES = 4096
#: Up to this many nodes it is written out in any case; a longer one is a loop in C if it can be.
SHORT_NODES = 64
#: Operators that a loop may take to be written out, loops in it included, and those of a model.
MAX_OPERATORS = 8192
_MOST_OPERATORS = 400_000
SAME_SHAPE_HINT = (
    "give the value its final size before the loop and write into it, or export the model with the "
    "loop unrolled"
)


@dataclass
class Effort:
    """Operators of subgraphs that were imported so far, those taken back included: a small file may
    mean many.
    """

    operators: int = 0

    def spend(self, count: int) -> None:
        """Raises Unsupported GM142 if it is too much for a whole model."""
        self.operators += count
        if self.operators > _MOST_OPERATORS:
            raise Unsupported(
                "GM142",
                f"its subgraphs are more than {_MOST_OPERATORS} operators, written out",
                "do subgraphs refer to each other many times? export the model again",
            )


def expect_shallow(depth: int) -> None:
    """Raise Unsupported GM142 for subgraphs that are nested too deeply, or in themselves."""
    if depth > MAX_DEPTH:
        raise Unsupported(
            "GM142",
            f"subgraphs lie in each other more than {MAX_DEPTH} deep",
            "does a subgraph refer to itself? export the model again",
        )


def expect_same_types(
    what: str, before: Sequence[Value], after: Sequence[Value], trip: int
) -> None:
    """Raise Unsupported GM140 if a value that a loop carries is of another type after a trip."""
    for old, new in zip(before, after, strict=True):
        if old.type != new.type:
            raise Unsupported(
                "GM140",
                f"{what}: {_named(old)} is {old.type} before trip {trip} and {new.type} after it; "
                "a value keeps its shape, type and scale in a loop",
                SAME_SHAPE_HINT,
            )


def expect_same_branches(
    what: str, chosen: Sequence[TensorType], other: Sequence[TensorType]
) -> None:
    """Raise Unsupported GM141 if what an `if` gives would depend on data in its shape."""
    for position, (one, two) in enumerate(zip(chosen, other, strict=True)):
        if one != two:
            raise Unsupported(
                "GM141",
                f"{what}: result {position} is {one} in one branch and {two} in the other; "
                "its shape and type would depend on data",
                "let both branches give one shape, type and scale (pad the smaller one), or bind "
                "the condition: --bind NAME=FILE.npy",
            )


def _named(value: Value) -> str:
    return repr(value.name[:120])
