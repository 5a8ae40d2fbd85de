"""The arena over time as text: rows are addresses, columns are steps.

A buffer is drawn from the step that makes it to the last that needs it. The rings, single rows and
scratch of a cascade live while its steps run.
"""

from __future__ import annotations

from collections.abc import Sequence

from glowmcu.manifest import BufferEntry, Manifest
from glowmcu.report.tables import count

_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
_ROWS = 16


def arena_map_text(manifest: Manifest, width: int = 80) -> str:
    """At most 16 rows, highest address first, no line longer than `width`, then who each letter is.

    A row of several buffers shows the one with most of its bytes, `.` is free. Steps are merged
    into columns where there are more than fit: a column shows its fullest step.
    """
    buffers, arena_bytes = by_life(manifest), used_bytes(manifest)
    steps = len(manifest.layers)
    row_bytes = max(4, -(-arena_bytes // (4 * _ROWS)) * 4)
    margin = len(count(arena_bytes)) + 2
    columns = _columns(buffers, steps, max(1, width - margin))
    letters = {index: _LETTERS[index % len(_LETTERS)] for index in range(len(buffers))}
    lines = [f"{count(arena_bytes)} B arena, {steps} steps, {count(row_bytes)} B a row"]
    for row in reversed(range(-(-arena_bytes // row_bytes))):
        low, high = row * row_bytes, min((row + 1) * row_bytes, arena_bytes)
        cells = "".join(_cell(buffers, letters, low, high, step) for step in columns)
        lines.append(f"{count(low):>{margin - 1}} {cells}".rstrip())
    lines += [_legend(item, letters[index], width) for index, item in enumerate(buffers)]
    return "\n".join(lines) + "\n"


def by_life(manifest: Manifest) -> list[BufferEntry]:
    """Buffers in the order in which they are made."""
    return sorted(manifest.buffers, key=lambda item: (item.first_step, item.last_step))


def used_bytes(manifest: Manifest) -> int:
    """Where the uppermost buffer ends."""
    return max((item.offset + item.bytes for item in manifest.buffers), default=0)


def _columns(buffers: Sequence[BufferEntry], steps: int, room: int) -> list[int]:
    """The step that each column shows, from -1 to the number of steps."""
    every = range(-1, steps + 1)
    group = -(-len(every) // room)
    alive = dict.fromkeys(every, 0)
    for item in buffers:
        for step in range(item.first_step, item.last_step + 1):
            alive[step] += item.bytes
    groups = [every[start : start + group] for start in range(0, len(every), group)]
    return [max(members, key=lambda step: alive[step]) for members in groups]


def _cell(
    buffers: Sequence[BufferEntry], letters: dict[int, str], low: int, high: int, step: int
) -> str:
    best, shown = 0, "."
    for index, item in enumerate(buffers):
        covered = min(high, item.offset + item.bytes) - max(low, item.offset)
        if item.first_step <= step <= item.last_step and covered > best:
            best, shown = covered, letters[index]
    return shown


def _legend(item: BufferEntry, letter: str, width: int) -> str:
    line = f"  {letter}  {_place(item)}"
    return line if len(line) <= width else f"{line[: width - 1]}…"


def _place(item: BufferEntry) -> str:
    place = f"{count(item.offset)}..{count(item.offset + item.bytes)}"
    return f"{place:<17} steps {item.first_step}..{item.last_step}  {item.name}"
