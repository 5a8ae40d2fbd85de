"""All that a board's file says of core and memories, as lines for the terminal."""

from __future__ import annotations

from collections.abc import Iterator

from glowmcu.board import Board, CacheGeometry, MemoryTiming, Region, SecondCore, SlowMemory
from glowmcu.number_text import count

_KIB = 1024


def board_lines(board: Board) -> Iterator[str]:
    """Regions, then how they are timed."""
    clock = "" if board.clock_hz is None else f" at {board.clock_hz / 1e6:g} MHz"
    yield f"{board.name}: {board.title}, {board.mcu}, {board.core}{clock}"
    if board.second_core is not None:
        yield f"second core: {_second_core(board.second_core)}"
    for region in board.memory:
        yield f"  {_region(region)}"
    for number, timing in enumerate(board.timing):
        yield "timing" if len(board.timing) == 1 else f"timing {number + 1} of {len(board.timing)}"
        yield from (f"  {line}" for line in _timing(timing))
    if not board.timing:
        yield "timing of its memories: not described, `bench` shows the core alone"


def _second_core(second: SecondCore) -> str:
    text = f"{second.core} at {second.clock_hz / 1e6:g} MHz"
    if second.cache_line_bytes:
        text += f", caches with lines of {second.cache_line_bytes} B that the other does not see"
    return text


def _region(region: Region) -> str:
    size = f"{count(region.size_bytes // _KIB)} KiB"
    note = f" ({region.note})" if region.note else ""
    return f"{region.name:<8} {region.kind:<5} {size:>10} at {region.origin:#010x}{note}"


def _timing(timing: MemoryTiming) -> Iterator[str]:
    for memory in timing.memories:
        yield f"{memory.region:<8} {_memory(memory)}"
    caches = (
        ("code", timing.instruction_cache), ("data", timing.data_cache), ("both", timing.cache),
    )  # fmt: skip
    for what, cache in caches:
        if cache is not None:
            yield f"cache    {what}: {_cache(cache)}"
    if timing.note:
        yield f"source   {timing.note}"


def _memory(memory: SlowMemory) -> str:
    states = "state" if memory.wait_states == 1 else "states"
    text = f"{memory.wait_states} wait {states} for {memory.width_bytes} bytes"
    if memory.burst_cycles:
        cycles = "cycle" if memory.burst_cycles == 1 else "cycles"
        text += f", {memory.burst_cycles} {cycles} for each more of a line"
    if memory.clock_divider > 1:
        text += f", of a clock {memory.clock_divider} times slower than the core's"
    return text + (", the next line is prefetched" if memory.prefetch_lines else "")


def _cache(cache: CacheGeometry) -> str:
    lines = cache.size_bytes // cache.line_bytes
    if cache.ways == lines:
        ways = "fully associative"
    else:
        ways = "direct-mapped" if cache.ways == 1 else f"{cache.ways} ways"
    text = f"{count(cache.size_bytes)} B, {count(lines)} lines of {cache.line_bytes} B, {ways}"
    return text if cache.ways == 1 else f"{text}, {cache.replacement}"
