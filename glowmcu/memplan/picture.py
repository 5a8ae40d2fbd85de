"""The arena over time as text: rows are address ranges, columns are steps.

A buffer is drawn by a letter, from the step that makes it to the last that needs it; `.` is free. A
row of several buffers shows the one with most of its bytes.
"""

from __future__ import annotations

from glowmcu.ir.program import Buffer, Life, Program
from glowmcu.memplan.planner import Plan

_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
_ROWS = 16


def arena_map_text(plan: Plan, width: int = 80) -> str:
    """At most 16 rows, highest address first, no line longer than `width`, then who each letter is.

    Steps are merged into columns where there are more than fit: a column shows its fullest step.
    """
    program = plan.program
    row_bytes = max(4, -(-plan.arena_bytes // (4 * _ROWS)) * 4)
    rows = -(-plan.arena_bytes // row_bytes)
    margin = len(f"{plan.arena_bytes:,}") + 2
    columns = _columns(program, max(1, width - margin))
    letters = {buffer: _LETTERS[i % len(_LETTERS)] for i, buffer in enumerate(program.lives)}
    lines = [f"{plan.arena_bytes:,} B arena, {len(program.steps)} steps, {row_bytes:,} B a row"]
    for row in reversed(range(rows)):
        low, high = row * row_bytes, min((row + 1) * row_bytes, plan.arena_bytes)
        cells = "".join(_cell(program, letters, low, high, step) for step in columns)
        lines.append(f"{low:>{margin - 1},} {cells}".rstrip())
    lines += [
        _legend(program, buffer, life, letters[buffer], width)
        for buffer, life in program.lives.items()
    ]
    return "\n".join(lines) + "\n"


def _columns(program: Program, room: int) -> list[int]:
    """The step that each column shows, from -1 to the number of runs."""
    steps = range(-1, len(program.steps) + 1)
    group = -(-len(steps) // room)
    alive = dict.fromkeys(steps, 0)
    for buffer, life in program.lives.items():
        for step in range(life.first, life.last + 1):
            alive[step] += buffer.size_bytes
    groups = [steps[start : start + group] for start in range(0, len(steps), group)]
    return [max(members, key=lambda step: alive[step]) for members in groups]


def _cell(program: Program, letters: dict[Buffer, str], low: int, high: int, step: int) -> str:
    best, shown = 0, "."
    for buffer, life in program.lives.items():
        start = program.offsets[buffer]
        covered = min(high, start + buffer.size_bytes) - max(low, start)
        if life.first <= step <= life.last and covered > best:
            best, shown = covered, letters[buffer]
    return shown


def _legend(program: Program, buffer: Buffer, life: Life, letter: str, width: int) -> str:
    start = program.offsets[buffer]
    place = f"{start:,}..{start + buffer.size_bytes:,}"
    line = f"  {letter}  {place:<17} steps {life.first}..{life.last}  {buffer.name}"
    return line if len(line) <= width else f"{line[: width - 1]}…"
