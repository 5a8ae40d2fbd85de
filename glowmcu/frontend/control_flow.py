"""Branches and loops of every format: what is written out at compile time, and what is refused.

A loop whose number of trips is known is written out where that is short: its body's operators once
a trip, with what is constant folded. Nothing in a loop may change its shape from trip to trip,
since every tensor has one place in the arena.
"""

from __future__ import annotations

from collections.abc import Sequence

from glowmcu.frontend.unsupported import Unsupported
from glowmcu.ir.graph import Value

#: Subgraphs inside each other.
MAX_DEPTH = 8
#: Trips and nodes of a loop that is written out.
MAX_TRIPS = 1024
MAX_NODES = 4096
SAME_SHAPE_HINT = (
    "give the value its final size before the loop and write into it, or export the model with the "
    "loop unrolled"
)


def not_known(what: str) -> Unsupported:
    """GM102 for a branch or loop that is decided while the model runs."""
    return Unsupported(
        "GM102",
        f"{what} depends on data",
        "where it is always the same: --bind NAME=FILE.npy for the input that decides; else export "
        "the branch that is used, or a fixed number of steps",
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
    """Raise Unsupported GM140 where a value that a loop carries is of another type after a trip."""
    for old, new in zip(before, after, strict=True):
        if old.type != new.type:
            raise Unsupported(
                "GM140",
                f"{what}: {_named(old)} is {old.type} before trip {trip} and {new.type} after it; "
                "a value keeps its shape, type and scale in a loop",
                SAME_SHAPE_HINT,
            )


def _named(value: Value) -> str:
    return repr(value.name[:120])
