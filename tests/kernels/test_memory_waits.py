"""What selection takes a board's memories to add to a kernel, and what it makes of that."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import glowmcu
from glowmcu.board import CacheGeometry, MemoryTiming, SlowMemory, find_board
from glowmcu.cores import core
from glowmcu.goals import Budgets, Goal
from glowmcu.ir.graph import Node
from glowmcu.kernels.cost_table import UnitCosts
from glowmcu.kernels.kernel import Cost, Kernel, Target
from glowmcu.kernels.memory_table import Misses, Traffic, UnitMisses, memory_table
from glowmcu.kernels.memory_waits import (
    MemorySystem,
    MemoryWaits,
    lost_part,
    mean,
    memory_waits,
)
from glowmcu.kernels.selection.board_cycles import with_waits
from glowmcu.kernels.selection.search import cheapest_set
from glowmcu.lowering.passes import lower
from glowmcu.memory_fit import FittedPlan, fit_on_board, quickest_on_board
from glowmcu.pipeline import reference_graph
from glowmcu.verify.cortex_m.executor import CortexM
from glowmcu.verify.memory_system.cache import CacheLines
from glowmcu.verify.verification import seeded_inputs
from tests.kernels.test_selection import Named, node

_ABSENT = CortexM("cortex-m4").missing()
DIGITS = Path(__file__).parents[2] / "examples" / "digits" / "digits_int8.tflite"
FLASH = SlowMemory("flash", 5, 16)
COUNTS = {
    Traffic.READS: 4000.0,
    Traffic.CODE_2K: 30.0,
    Traffic.JUMPS_256: 500.0,
    Traffic.JUMPS_1K: 20.0,
}
MISSES = Misses(COUNTS, 16000.0)


def waits(timing: MemoryTiming, constant_bytes: int = 8000) -> float:
    """Of code and constants in the timing's memory."""
    (memory,) = timing.memories
    return MemorySystem(timing, memory, memory).waits(MISSES, constant_bytes)


def lru(size_bytes: int, ways: int, line_bytes: int = 16) -> CacheGeometry:
    return CacheGeometry(size_bytes, line_bytes, ways)


@pytest.mark.parametrize(
    ("timing", "expected"),
    [
        pytest.param(
            MemoryTiming((FLASH,), lru(2048, 2)), 4000 * 5 + 30 * 5, id="every read of data waits"
        ),
        pytest.param(
            MemoryTiming((FLASH,), lru(8192, 2), lru(256, 16)), 1000 * 5, id="lines of data wait"
        ),
        pytest.param(
            MemoryTiming((FLASH,), lru(8192, 2), lru(16384, 4)),
            8000 / 16 * 5,
            id="constants that fit are read once",
        ),
        pytest.param(
            MemoryTiming((replace(FLASH, prefetch_lines=1),), lru(1024, 64), lru(16384, 4)),
            (8000 / 16 + 20) * 5,
            id="of code jumps wait where the next line is read ahead",
        ),
        pytest.param(
            MemoryTiming(
                (SlowMemory("flash", 5, 8, prefetch_lines=1),), lru(256, 32, 8), lru(16384, 4)
            ),
            8000 / 16 * (5 + 6) + 500 * 2 * 5,
            id="twice as many lines of half the width",
        ),
        pytest.param(
            MemoryTiming((SlowMemory("flash", 28, 8, clock_divider=2),), cache=lru(16384, 2, 8)),
            8000 / 8 * 56,
            id="one cache for both, cycles of a slower clock",
        ),
    ],
)
def test_waits_follow_from_misses_and_geometry(timing: MemoryTiming, expected: float) -> None:
    assert waits(timing) == pytest.approx(expected)


@pytest.mark.parametrize("ways", [1, 2, 4, 64])
@pytest.mark.parametrize("size_bytes", [512, 1024, 1040, 1280, 1536, 2000, 4096])
def test_the_lost_part_is_what_a_cache_misses_of_a_loop_over_memory(
    ways: int, size_bytes: int
) -> None:
    geometry = lru(1024, ways)
    count = size_bytes // 16
    cache, passes = CacheLines(geometry), 5
    cache.use(np.arange(count))
    missed = len(cache.use(np.tile(np.arange(count), passes)))
    assert lost_part(geometry, size_bytes) == pytest.approx(missed / (passes * count), abs=1e-9)


def test_nothing_waits_where_nobody_says_so_or_all_is_placed_in_quick_memory() -> None:
    assert memory_waits(find_board("generic")) is None
    assert memory_waits(find_board("nrf52"), quick_code=True, quick_constants=True) is None
    code_alone = memory_waits(find_board("nrf52"), quick_constants=True)
    both = memory_waits(find_board("nrf52"))
    assert code_alone is not None
    assert both is not None
    for code, all_of_it in zip(
        code_alone.cycles(MISSES, 8000), both.cycles(MISSES, 8000), strict=True
    ):
        assert 0 < code < all_of_it


def test_code_that_a_cache_keeps_waits_once_and_is_weighed_by_its_bytes() -> None:
    known = memory_waits(find_board("rp2350"))
    assert known is not None
    assert known.code_byte == (28 * 2 / 8, 28 * 3 / 8)
    behind_2k = memory_waits(find_board("nrf52"))
    assert behind_2k is not None
    assert behind_2k.code_byte == (0, 0)
    long, short = Named("long"), Named("short")
    layer = node()
    table: dict[Node, dict[Kernel, Cost]] = {
        layer: {long: Cost(100_000.0, 2000), short: Cost(104_000.0, 400)}
    }
    assert cheapest_set(table, Goal.SPEED) == {layer: long}
    assert cheapest_set(table, Goal.SPEED, None, mean(known.code_byte)) == {layer: short}


def test_work_that_no_unit_is_known_of_has_no_misses() -> None:
    unit = UnitCosts({"pair": 2.0}, 0)
    units = UnitMisses(dict.fromkeys(Traffic, unit), 1.5)
    assert units.of({"pair": 100.0, "turn": 1.0}) is None
    assert units.of({"pair": 100.0}) == Misses(dict.fromkeys(Traffic, 200.0), 300.0)


def test_each_timing_of_a_board_has_its_waits() -> None:
    systems = tuple(
        MemorySystem(MemoryTiming((memory,), lru(8192, 2)), None, memory)
        for memory in (FLASH, replace(FLASH, wait_states=3))
    )
    assert MemoryWaits(systems).cycles(MISSES, 8000) == (4000 * 5, 4000 * 3)


def test_a_kernel_that_waits_loses_to_a_slower_one_that_does_not() -> None:
    quick, patient = Named("quick"), Named("patient")
    layer = node()
    table: dict[Node, dict[Kernel, Cost]] = {
        layer: {
            quick: Cost(1000.0, 0, waits=(400.0, 600.0)),
            patient: Cost(1200.0, 0, waits=(0.0, 200.0)),
        }
    }
    assert cheapest_set(table, Goal.BALANCED) == {layer: quick}
    assert cheapest_set(with_waits(table), Goal.BALANCED) == {layer: patient}


def test_waits_that_nobody_knows_are_no_reason_to_choose_a_kernel() -> None:
    known, unknown = Named("known"), Named("unknown")
    layer = node()
    table: dict[Node, dict[Kernel, Cost]] = {
        layer: {known: Cost(1000.0, 0, waits=(500.0,)), unknown: Cost(1100.0, 0)}
    }
    assert cheapest_set(with_waits(table), Goal.BALANCED) == {layer: known}
    alone: dict[Node, dict[Kernel, Cost]] = {layer: {unknown: Cost(1100.0, 0)}}
    assert with_waits(alone) == alone


def test_every_kernel_of_the_table_names_all_that_is_counted() -> None:
    table = memory_table()
    assert table.unit_misses("conv_2d.pointwise_dsp", "cortex-m33") is not None
    for variant, rows in table.variants.items():
        for core_name, row in rows.items():
            assert set(row.units) == set(Traffic), (variant, core_name)
            names = [set(units.coefficients) for units in row.units.values()]
            assert 1 <= row.read_bytes <= 4
            assert all(found == names[0] for found in names), (variant, core_name)


def on_board(model: Path, board: str, goal: Goal = Goal.BALANCED) -> list[FittedPlan]:
    """Plans of the model for the board's core and memories."""
    known = find_board(board)
    graph = lower(reference_graph(model.read_bytes(), model.name))
    return fit_on_board(graph, Target(core(known.core), goal, memory_waits(known)), Budgets())


def test_another_plan_is_taken_if_it_wins_on_the_board_within_the_arena() -> None:
    usual, *_ = on_board(DIGITS, "nucleo-l4r5zi")
    (first, *_) = usual.selections

    def waiting(*cycles: float) -> FittedPlan:
        chosen = usual.selections[first]
        assert chosen.cost.waits is not None
        waits = tuple(map(sum, zip(chosen.cost.waits, cycles, strict=True)))
        cost = replace(chosen.cost, waits=waits)
        return replace(usual, selections={**usual.selections, first: replace(chosen, cost=cost)})

    part = mean(usual.board_cycles) / 50
    quicker, alike, either = waiting(-part, -part), waiting(-part / 4, 0), waiting(1, -3 * part)
    assert quickest_on_board([usual, alike], Goal.BALANCED) is usual
    assert quickest_on_board([usual, either], Goal.BALANCED) is usual
    assert quickest_on_board([usual, alike, quicker], Goal.BALANCED) is quicker
    larger = replace(quicker, plan=replace(usual.plan, arena_bytes=2 * usual.arena_bytes))
    assert quickest_on_board([usual, larger], Goal.BALANCED) is usual
    assert quickest_on_board([usual, larger], Goal.SPEED) is larger


@pytest.mark.arm
@pytest.mark.skipif(_ABSENT is not None, reason=str(_ABSENT))
@pytest.mark.parametrize("board", ["nrf52", "nucleo-l4r5zi", "rp2040", "rp2350"])
def test_estimated_waits_are_about_those_of_a_replay(board: str, tmp_path: Path) -> None:
    bundle = glowmcu.compile(DIGITS, board=board, output=tmp_path / "b", name="digits")
    found = bundle.measure(seeded_inputs(bundle.manifest, 1), board_memory=True)
    assert found.board_cycles is not None
    assert found.cycles is not None
    usual, *_ = on_board(DIGITS, board)
    estimated = mean(usual.board_cycles) - usual.cycles
    known = found.board_cycles
    assert 0.6 * (known.low - found.cycles) <= estimated <= 1.6 * (known.high - found.cycles)
