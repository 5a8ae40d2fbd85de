"""The API of a bundle whose run may be done in parts: what templates say of it."""

from __future__ import annotations

from collections.abc import Sequence

from glowmcu.emit_c.cascade_text import PROGRESS
from glowmcu.emit_c.streamed_input_view import arena_mark
from glowmcu.emit_c.views import BufferView, RunStepsView, StepView, UnitsView
from glowmcu.ir.run_progress import RunProgress


def progress_buffer(progress: RunProgress, steps: int) -> BufferView:
    """Its line of the arena map: alive all the time."""
    what = "how far a run in steps is"
    return BufferView(PROGRESS, progress.offset, progress.size_bytes, -1, steps, what)


def run_steps_view(steps: Sequence[StepView], name: str, model_sha256: str) -> RunStepsView:
    """All units in order."""
    units: list[UnitsView] = []
    first = 0
    for step in steps:
        if step.call:
            end = first + (step.turns or 1)
            counted = {word: _counted(word, first) for word in ("done", "next")}
            units.append(UnitsView(first, end, step, step.part_call.format(**counted)))
            first = end
    return RunStepsView(arena_mark(f"{name} in steps", model_sha256), first, tuple(units))


def _counted(word: str, first: int) -> str:
    return f"{word} - {first}" if first else word
