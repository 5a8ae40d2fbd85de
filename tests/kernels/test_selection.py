"""Kernel selection: a search over costs in which layers share functions."""

from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

from glowmcu.goals import Goal
from glowmcu.ir.graph import Node
from glowmcu.kernels.kernel import Cost, Kernel
from glowmcu.kernels.selection import cheapest_set
from glowmcu.ops.shape import Reshape


class Named(Kernel):
    """A variant that is only a name."""

    def __init__(self, word: str) -> None:
        self.word = word

    def __repr__(self) -> str:
        return self.word


SHARED, OWN = Named("shared"), Named("own")


def node() -> Node:
    return Node(Reshape(()), (), ())


def price(chosen: dict[Node, Kernel], table: dict[Node, dict[Kernel, Cost]], worth: float) -> float:
    """The bundle's price, written independently of the code under test."""
    functions = {kernel: table[n][kernel].code_bytes for n, kernel in chosen.items()}
    layers = sum(
        table[n][k].cycles + worth * (table[n][k].flash_bytes + table[n][k].layer_code_bytes)
        for n, k in chosen.items()
    )
    return layers + worth * sum(functions.values())


def test_one_layer_gets_a_function_of_its_own_and_many_share_one() -> None:
    costs = {SHARED: Cost(1000.0, 200), OWN: Cost(900.0, 0, layer_code_bytes=100)}
    single = node()
    assert cheapest_set({single: costs}, Goal.BALANCED) == {single: OWN}
    many = {node(): costs for _ in range(10)}
    assert set(cheapest_set(many, Goal.BALANCED).values()) == {SHARED}


def test_the_goal_decides_between_cycles_and_bytes() -> None:
    fast, small = Named("fast"), Named("small")
    table = {node(): {fast: Cost(1000.0, 2000), small: Cost(9000.0, 300)}}
    assert list(cheapest_set(table, Goal.SPEED).values()) == [fast]
    assert list(cheapest_set(table, Goal.SIZE).values()) == [small]


def test_ram_is_saved_before_cycles_when_ram_is_the_goal() -> None:
    lean, quick = Named("lean"), Named("quick")
    table = {node(): {lean: Cost(5000.0, 100), quick: Cost(10.0, 100, scratch_bytes=64)}}
    assert list(cheapest_set(table, Goal.RAM).values()) == [lean]
    assert list(cheapest_set(table, Goal.SPEED).values()) == [quick]


@given(
    st.lists(
        st.tuples(st.integers(1, 4000), st.integers(1, 4000), st.integers(0, 300)),
        min_size=1,
        max_size=6,
    ),
    st.integers(0, 500),
)
def test_two_variants_are_chosen_as_trying_every_combination_would(
    layers: list[tuple[int, int, int]], shared_bytes: int
) -> None:
    table: dict[Node, dict[Kernel, Cost]] = {
        node(): {
            SHARED: Cost(float(a), shared_bytes),
            OWN: Cost(float(b), 0, layer_code_bytes=own),
        }
        for a, b, own in layers
    }
    found = price(cheapest_set(table, Goal.BALANCED), table, 10.0)
    every = itertools.product((SHARED, OWN), repeat=len(table))
    best = min(price(dict(zip(table, kinds, strict=True)), table, 10.0) for kinds in every)
    # A local optimum may miss a mixture, never by more than the shared function itself.
    assert best <= found <= best + 10.0 * shared_bytes
