"""The API of a bundle whose run may be done in parts: what templates say of it."""

from __future__ import annotations

from collections.abc import Sequence

from glowmcu.emit_c.cascade_text import PROGRESS
from glowmcu.emit_c.streamed_input_view import arena_mark
from glowmcu.emit_c.views import BufferView, StepView
from glowmcu.ir.run_progress import RunProgress
from glowmcu.lazy_dataclass import dataclass


@dataclass(frozen=True)
class UnitsView:
    """A layer as the unit `first` of a run in steps, or a cascade whose turns are `first` to `end`;
    `part_call` calls those from `done` to `next`.
    """

    first: int
    end: int
    step: StepView
    part_call: str


@dataclass(frozen=True)
class RunStepsView:
    """A run that may be done in parts: progress begins with `mark` and ends `count` above it."""

    mark: str
    count: int
    units: tuple[UnitsView, ...]

    @property
    def has_parts(self) -> bool:
        """Whether a step of it is several units."""
        return any(unit.part_call for unit in self.units)


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
