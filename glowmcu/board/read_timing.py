"""`[[timing]]` of a board's file -> MemoryTiming: wait states and caches."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from glowmcu.board.checks import Checks
from glowmcu.board.memory_timing import CacheGeometry, MemoryTiming, SlowMemory

_MOST_TIMINGS = 8
_CACHES = ("instruction_cache", "data_cache", "cache")
_KEYS: dict[str, type] = {"note": str, "memory": list, **dict.fromkeys(_CACHES, dict)}
#: The least and the most of each number; sizes are powers of two besides.
_MEMORY_LIMITS = {
    "wait_states": (0, 1000),
    "width_bytes": (1, 256),
    "burst_cycles": (0, 1000),
    "clock_divider": (1, 64),
    "prefetch_lines": (0, 1),
}
_CACHE_LIMITS = {"size_bytes": (4, 1 << 20), "line_bytes": (4, 256), "ways": (1, 4096)}


def read_timing(checks: Checks, rows: object, regions: Collection[str]) -> tuple[MemoryTiming, ...]:
    """The timings of a file that names these regions; problems go to `checks`."""
    if not isinstance(rows, list):
        return ()  # its type was found wrong already
    if len(rows) > _MOST_TIMINGS:
        checks.add("GM704", f"timing has {len(rows)} tables; {_MOST_TIMINGS} are the most")
        return ()
    found = []
    for number, row in enumerate(rows):
        where = f"timing[{number}]"
        if isinstance(row, dict):
            found.append(_timing(checks, row, f"{where}.", regions))
        else:
            checks.add("GM704", f"{where} is {row!r}; it must be a [[timing]] table")
    return tuple(found)


def _timing(
    checks: Checks, table: dict[str, Any], where: str, regions: Collection[str]
) -> MemoryTiming:
    checks.keys(table, _KEYS, ("memory",), where)
    memories = _memories(checks, table.get("memory", []), f"{where}memory", regions)
    caches: dict[str, CacheGeometry] = {}
    for key in _CACHES:
        if isinstance(table.get(key), dict):
            before = len(checks.problems)
            caches[key] = checks.table(table[key], f"{where}{key}.", CacheGeometry)
            if len(checks.problems) == before:
                _check_cache(checks, caches[key], f"{where}{key}.")
    if "cache" in caches and len(caches) > 1:
        hint = "cache is one for instructions and data: leave the others out"
        checks.add("GM704", f"{where}cache stands beside another cache", hint)
    return MemoryTiming(memories, note=checks.text(table, "note"), **caches)


def _memories(
    checks: Checks, rows: object, where: str, regions: Collection[str]
) -> tuple[SlowMemory, ...]:
    found: list[SlowMemory] = []
    for number, row in enumerate(rows if isinstance(rows, list) else []):
        before, key = len(checks.problems), f"{where}[{number}]"
        if not isinstance(row, dict):
            checks.add("GM704", f"{key} is {row!r}; it must be a [[timing.memory]] table")
            continue
        memory = checks.table(row, f"{key}.", SlowMemory)
        if len(checks.problems) == before:
            _check_memory(checks, memory, f"{key}.", regions)
            if memory.region in [other.region for other in found]:
                checks.add("GM704", f"{key}.region is {memory.region!r} a second time")
        found.append(memory)
    return tuple(found)


def _check_memory(checks: Checks, memory: SlowMemory, where: str, regions: Collection[str]) -> None:
    if memory.region not in regions:
        known = f"regions: {', '.join(regions) or 'none'}"
        checks.add("GM704", f"{where}region is {memory.region!r}, no memory region", known)
    for key, (least, most) in _MEMORY_LIMITS.items():
        _check_number(checks, where + key, getattr(memory, key), least, most)
    _check_power(checks, f"{where}width_bytes", memory.width_bytes)


def _check_cache(checks: Checks, cache: CacheGeometry, where: str) -> None:
    before = len(checks.problems)
    for key, (least, most) in _CACHE_LIMITS.items():
        _check_number(checks, where + key, getattr(cache, key), least, most)
    _check_power(checks, f"{where}line_bytes", cache.line_bytes)
    if len(checks.problems) > before:
        return
    way_bytes, rest = divmod(cache.size_bytes, cache.ways)
    sets, more = divmod(way_bytes, cache.line_bytes)
    if rest or more or sets < 1 or sets & (sets - 1):
        message = (
            f"{where}size_bytes is {cache.size_bytes}: {cache.ways} ways of lines of "
            f"{cache.line_bytes} bytes do not come to it in 1, 2, 4, 8 … sets"
        )
        checks.add("GM704", message, "size = sets x ways x line; where any fits, ways = lines")


def _check_number(checks: Checks, key: str, value: int, least: int, most: int) -> None:
    if not least <= value <= most:
        checks.add("GM704", f"{key} is {value}; it must be {least} to {most}")


def _check_power(checks: Checks, key: str, value: int) -> None:
    if value > 0 and value & (value - 1):
        checks.add("GM704", f"{key} is {value}; it must be a power of two")
