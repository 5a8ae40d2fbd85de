"""Waits of memories and caches, counted by hand on traces of a few accesses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from glowmcu.board import CacheGeometry, MemoryTiming, SlowMemory
from glowmcu.verify.memory_system import MemoryLayout, Replayer, Span, Trace
from glowmcu.verify.memory_system import trace as trace_module
from glowmcu.verify.memory_system.cache import CacheLines
from glowmcu.verify.memory_system.touches import BLOCK, WRITE
from tests.verify.slow_replayer import SlowReplayer

FLASH, OTHER_FLASH, RAM = 0x08000000, 0x10000000, 0x20000000
LAYOUT = MemoryLayout(
    (
        Span(FLASH, FLASH + 0x1000000, "flash"),
        Span(OTHER_FLASH, OTHER_FLASH + 0x1000000, "external"),
        Span(RAM, RAM + 0x100000, "ram"),
    )
)
#: The ART of an STM32F4 without its prefetch: 64 lines of 128 bits for code, 8 for data.
ART_CODE, ART_DATA = CacheGeometry(1024, 16, 64), CacheGeometry(128, 16, 8)
WAITS = 5


def flash(**others: Any) -> SlowMemory:
    return SlowMemory("flash", **{"wait_states": WAITS, "width_bytes": 16, **others})


class Machine:
    """A board's memories, asked for the waits of one access after the other."""

    def __init__(self, timing: MemoryTiming) -> None:
        self._blocks: dict[int, tuple[int, int]] = {}
        self._replayer = Replayer(timing, LAYOUT, lambda address: self._blocks[address])

    def fetch(self, address: int, size_bytes: int, cycles: int) -> int:
        assert self._blocks.setdefault(address, (size_bytes, cycles)) == (size_bytes, cycles)
        return self._waits(address << 8 | BLOCK)

    def read(self, address: int, size_bytes: int) -> int:
        return self._waits(address << 8 | size_bytes)

    def write(self, address: int, size_bytes: int) -> int:
        return self._waits(address << 8 | WRITE | size_bytes)

    def _waits(self, event: int) -> int:
        return int(self._replayer.replay(np.array([event], np.uint64))[0])


def replayer(memory: SlowMemory | None = None, **caches: CacheGeometry) -> Machine:
    return Machine(MemoryTiming((memory or flash(),), **caches))


def fetches(machine: Machine, blocks: Sequence[tuple[int, int]], cycles: int = 0) -> list[int]:
    """Waits of blocks, each an offset in flash and bytes."""
    return [machine.fetch(FLASH + offset, size, cycles) for offset, size in blocks]


def reads(machine: Machine, offsets: Sequence[int], base: int = FLASH) -> list[int]:
    return [machine.read(base + offset, 4) for offset in offsets]


def test_code_that_a_cache_holds_waits_once() -> None:
    art = replayer(instruction_cache=ART_CODE)
    loop = [(0, 64 * 16)]
    assert fetches(art, loop * 3) == [64 * WAITS, 0, 0]


def test_a_loop_of_one_line_more_than_the_cache_always_waits() -> None:
    art = replayer(instruction_cache=ART_CODE)
    blocks = [(16 * line, 16) for line in range(65)]
    assert fetches(art, blocks * 3) == [WAITS] * 65 * 3, "the least recently used is the next"


def test_a_block_waits_for_each_line_that_it_touches() -> None:
    art = replayer(instruction_cache=ART_CODE)
    assert fetches(art, [(14, 4), (0, 14), (18, 14), (30, 4)]) == [2 * WAITS, 0, 0, WAITS]
    assert fetches(art, [(64, 0)]) == [0], "the address that a run returns to"


@pytest.mark.parametrize(
    ("cycles_a_line", "waits_a_line"), [(1, 5), (2, 4), (4, 2), (6, 0), (20, 0)]
)
def test_prefetch_hides_what_the_core_spends_with_a_line(
    cycles_a_line: int, waits_a_line: int
) -> None:
    # Line n + 1 is read from when n has come: 1 + 5 cycles, less those that n takes.
    machine = replayer(flash(prefetch_lines=1))
    blocks = [(16 * line, 16) for line in range(10)]
    assert fetches(machine, blocks, cycles_a_line) == [WAITS, *[waits_a_line] * 9]
    machine = replayer(flash(prefetch_lines=1))
    assert fetches(machine, [(0, 160)], 10 * cycles_a_line) == [WAITS + 9 * waits_a_line]


def test_a_jump_loses_the_prefetch_and_goes_on_from_there() -> None:
    machine = replayer(flash(prefetch_lines=1), instruction_cache=ART_CODE)
    assert fetches(machine, [(0, 16), (64, 16), (80, 16)], 6) == [WAITS, WAITS, 0]


def test_data_goes_before_a_prefetch() -> None:
    machine = replayer(flash(prefetch_lines=1))
    assert machine.fetch(FLASH, 16, 4) == WAITS
    assert machine.read(FLASH + 0x1000, 4) == WAITS
    assert machine.fetch(FLASH + 16, 16, 4) == 2, "as without the read, which took its time twice"


def test_without_a_cache_the_unit_that_was_read_last_is_there() -> None:
    machine = replayer()
    assert fetches(machine, [(0, 8), (8, 8), (16, 8), (0, 8)]) == [WAITS, 0, WAITS, WAITS]


def test_data_without_a_cache_waits_for_each_word() -> None:
    machine = replayer(flash(wait_states=2, width_bytes=4))
    assert reads(machine, [0, 0, 4]) == [2, 2, 2]
    assert machine.read(FLASH + 2, 4) == 4, "in two words"
    assert machine.read(FLASH + 8, 8) == 4


@pytest.mark.parametrize(("lines", "again"), [(1, 0), (7, 0), (8, 0), (9, WAITS)])
def test_eight_lines_of_data_are_kept(lines: int, again: int) -> None:
    art = replayer(data_cache=ART_DATA)
    offsets = [16 * line for line in range(lines)]
    assert reads(art, offsets) == [WAITS] * lines
    assert reads(art, offsets) == [again] * lines


def test_weights_read_in_order_wait_once_a_line() -> None:
    art = replayer(data_cache=ART_DATA)
    assert reads(art, range(0, 64, 4)) == [WAITS, 0, 0, 0] * 4


def test_code_and_data_have_caches_of_their_own() -> None:
    art = replayer(instruction_cache=ART_CODE, data_cache=ART_DATA)
    assert art.fetch(FLASH, 16, 4) == WAITS
    assert art.read(FLASH + 4, 4) == WAITS, "a literal beside the code"
    assert art.fetch(FLASH, 16, 4) == 0


def test_in_a_common_cache_data_displaces_code() -> None:
    # Two ways of 16 bytes in one set.
    both = replayer(cache=CacheGeometry(32, 16, 2))
    assert both.fetch(FLASH, 16, 4) == WAITS
    assert both.read(FLASH + 4, 4) == 0, "the line of code has it"
    assert reads(both, [16, 32]) == [WAITS, WAITS]
    assert both.fetch(FLASH, 16, 4) == WAITS


def test_lines_of_one_set_displace_each_other() -> None:
    # 2 sets of 2 ways: lines 0, 2 and 4 are of set 0.
    machine = replayer(data_cache=CacheGeometry(64, 16, 2))
    assert reads(machine, [0, 32, 0, 64, 0, 32]) == [WAITS, WAITS, 0, WAITS, 0, WAITS]
    assert reads(machine, [16]) == [WAITS], "set 1 is empty"


def test_the_first_that_came_goes_first_in_a_fifo() -> None:
    machine = replayer(data_cache=CacheGeometry(32, 16, 2, "fifo"))
    assert reads(machine, [0, 16, 0, 32, 0]) == [WAITS, WAITS, 0, WAITS, WAITS]


def test_random_replacement_keeps_what_fits_and_is_the_same_in_every_run() -> None:
    geometry = CacheGeometry(128, 16, 8, "random")
    offsets = [16 * line for line in range(12)] * 20
    first, second = (reads(replayer(data_cache=geometry), offsets) for _ in range(2))
    assert first == second
    assert 12 < first.count(WAITS) < len(offsets), "neither all nor none, as least recently used"
    fits = replayer(data_cache=geometry)
    assert sum(reads(fits, offsets[:8] * 20)) == 8 * WAITS


def test_a_line_takes_several_units_of_the_memory() -> None:
    # 32 bytes from a flash of 8: 5 waits, then three times 1 + 5.
    machine = replayer(flash(width_bytes=8), data_cache=CacheGeometry(1024, 32, 2))
    assert reads(machine, [0, 4, 28, 32]) == [5 + 3 * 6, 0, 0, 5 + 3 * 6]
    burst = replayer(flash(width_bytes=8, burst_cycles=1), data_cache=CacheGeometry(1024, 32, 2))
    assert reads(burst, [0]) == [5 + 3]


def test_execution_in_place_waits_in_clocks_of_the_external_memory() -> None:
    # 12 clocks of address and 2 for each byte, at half the core's: a line of 8 takes 28 x 2.
    quad = SlowMemory("flash", wait_states=28, width_bytes=8, clock_divider=2)
    machine = replayer(quad, cache=CacheGeometry(16384, 8, 2))
    assert reads(machine, [0, 4, 8]) == [56, 0, 56]


def test_other_memories_do_not_wait() -> None:
    machine = replayer(instruction_cache=ART_CODE)
    assert reads(machine, [0, 4, 64], RAM) == [0, 0, 0]
    assert machine.fetch(RAM, 64, 4) == 0, "code in RAM"
    assert machine.read(0x40000000, 4) == 0, "in no region"


def test_each_memory_has_its_own_wait_states() -> None:
    machine = Machine(MemoryTiming((flash(), SlowMemory("external", 20, 4))))
    assert reads(machine, [0]) + reads(machine, [0], OTHER_FLASH) == [WAITS, 20]
    assert machine.fetch(OTHER_FLASH, 8, 2) == 40
    assert machine.fetch(FLASH, 8, 2) == WAITS


def test_what_was_written_is_in_the_cache() -> None:
    ram = SlowMemory("ram", wait_states=3, width_bytes=8)
    machine = replayer(ram, data_cache=CacheGeometry(64, 32, 2))
    assert machine.write(RAM + 4, 4) == 0
    assert reads(machine, [0, 28, 32], RAM) == [0, 0, 3 + 3 * 4]
    uncached = replayer(ram)
    assert uncached.write(RAM, 4) == 0
    assert reads(uncached, [0], RAM) == [3]


def test_waits_count_for_the_step_and_the_block_that_wait() -> None:
    one, two = FLASH, FLASH + 16
    timings = [MemoryTiming((flash(wait_states=waits),)) for waits in (5, 1)]
    trace = Trace(timings, LAYOUT, lambda _address: (16, 4))
    trace.begin_block(one)
    trace.begin_step(0)
    trace.read(FLASH + 0x100, 4)
    trace.begin_block(two)
    trace.write(RAM, 4)
    trace.begin_step(1)
    trace.read(FLASH + 0x100, 4)
    trace.read(FLASH + 0x100, 4)
    slow, quick = trace.finish()
    assert slow.by_step == {None: {one: 5}, 0: {one: 5, two: 5}, 1: {two: 10}}
    assert quick.by_step == {None: {one: 1}, 0: {one: 1, two: 1}, 1: {two: 2}}
    assert (slow.total, slow.of_step(1), slow.of_step(7), slow.of_block(two)) == (25, 10, 0, 15)


def test_a_long_trace_is_replayed_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    def waits() -> dict[int | None, dict[int, int]]:
        timing = MemoryTiming((flash(prefetch_lines=1),), ART_CODE)
        trace = Trace([timing], LAYOUT, lambda _address: (40, 10))
        for number in range(100):
            trace.begin_block(FLASH + 64 * (number % 30))
            trace.begin_step(number // 10)
            trace.read(FLASH + 4 * number, 4)
        return trace.finish()[0].by_step

    whole = waits()
    monkeypatch.setattr(trace_module, "_PIECE", 7)
    assert waits() == whole


GEOMETRIES = st.builds(
    lambda sets, line, ways, replacement: CacheGeometry(
        sets * line * ways, line, ways, replacement
    ),
    st.sampled_from([1, 2, 8]),
    st.sampled_from([4, 8, 32]),
    st.integers(1, 5),
    st.sampled_from(["lru", "fifo"]),
)
MEMORIES = st.builds(
    SlowMemory,
    st.sampled_from(["flash", "external", "ram"]),
    st.integers(0, 9),
    st.sampled_from([1, 4, 16]),
    st.integers(0, 3),
    st.integers(1, 3),
    st.integers(0, 1),
)
TIMINGS = st.builds(
    lambda memories, split, common: MemoryTiming(
        tuple(memories), *(split if common is None else (None, None)), common
    ),
    st.lists(MEMORIES, max_size=3, unique_by=lambda memory: memory.region),
    st.tuples(st.none() | GEOMETRIES, st.none() | GEOMETRIES),
    st.none() | GEOMETRIES,
)
ADDRESSES = st.builds(
    int.__add__, st.sampled_from([FLASH, OTHER_FLASH, RAM, 0x40000000]), st.integers(0, 300)
)
ACCESSES = st.lists(
    st.tuples(st.sampled_from(["fetch", "fetch", "read", "write"]), ADDRESSES, st.integers(1, 9)),
    max_size=60,
)


@given(TIMINGS, ACCESSES, st.integers(1, 60))
def test_arrays_come_to_what_one_access_after_the_other_does(
    timing: MemoryTiming, accesses: list[tuple[str, int, int]], piece: int
) -> None:
    def cost(address: int) -> tuple[int, int]:
        return 2 + address % 90, address % 31

    slow, events, wanted = SlowReplayer(timing, LAYOUT), [], []
    for what, address, size in accesses:
        if what == "fetch":
            events.append(address << 8 | BLOCK)
            wanted.append(slow.fetch(address, *cost(address)))
        else:
            writes = what == "write"
            events.append(address << 8 | size | (WRITE if writes else 0))
            wanted.append(slow.access(address, size, writes))
    found: list[int] = []
    quick = Replayer(timing, LAYOUT, cost)
    for start in range(0, len(events), piece):
        part = np.array(events[start : start + piece], np.uint64)
        found += quick.replay(part).tolist()
    assert found == wanted


LINES = st.lists(st.integers(0, 40), max_size=100)


@given(LINES, st.integers(1, 20))
def test_a_larger_cache_that_drops_the_least_recently_used_never_waits_more(
    lines: list[int], ways: int
) -> None:
    missing = [
        len(CacheLines(CacheGeometry(16 * n, 16, n)).use(np.array(lines, np.int64)))
        for n in (ways, ways + 1)
    ]
    assert missing[1] <= missing[0]
