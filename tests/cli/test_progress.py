"""Progress bars: drawn for people at a terminal, from steps that were counted."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from contextlib import redirect_stderr

import pytest

from glowmcu.api import PlanningProgress, Progress
from glowmcu.cli.progress import Observers, progress_bars
from glowmcu.compilation import Options
from glowmcu.goals import Goal
from glowmcu.pipeline import compile_model
from glowmcu.planning_progress import Stage
from tests.memplan.foreign_models import residual_chain


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def drawn(watched: Callable[[Observers], None]) -> str:
    """What a terminal shows of that, without escape codes."""
    with redirect_stderr(Terminal()) as terminal, progress_bars(quiet=False) as observers:
        watched(observers)
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", terminal.getvalue())


@pytest.fixture(autouse=True)
def _wide_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "100")


def test_a_terminal_shows_layers_then_plans_and_the_least_arena() -> None:
    def watched(observers: Observers) -> None:
        assert observers.planning is not None
        observers.planning(PlanningProgress(Stage.KERNELS, 17, 40))
        observers.planning(PlanningProgress(Stage.PLANS, 7, None, 12_976))

    assert re.search(r"plans .* 7/\? .*arena 12 976 B so far", drawn(watched))


def test_profiling_says_how_long_it_takes_yet() -> None:
    def watched(observers: Observers) -> None:
        assert observers.profiling is not None
        observers.profiling(Progress(3, 9, 1.0, 2.0))

    assert re.search(r"profiling .* 3/9 .*2 s left", drawn(watched))


@pytest.mark.parametrize(("stream", "quiet"), [(Terminal(), True), (io.StringIO(), False)])
def test_nobody_is_told_where_nobody_watches(stream: io.StringIO, quiet: bool) -> None:
    with redirect_stderr(stream), progress_bars(quiet) as observers:
        assert observers == Observers()
    assert stream.getvalue() == ""


def told(goal: Goal) -> list[PlanningProgress]:
    found: list[PlanningProgress] = []
    options = Options("m", core="cortex-m4", goal=goal, planning_observer=found.append)
    made = compile_model(residual_chain(3), "m.tflite", options)
    assert found[-1].stage is Stage.PLANS
    assert min(item.arena_bytes or 1 << 30 for item in found) <= made.plan.arena_bytes
    return found


def test_planning_counts_every_layer_and_every_plan() -> None:
    found = told(Goal.BALANCED)
    kernels = [item for item in found if item.stage is Stage.KERNELS]
    assert [item.done for item in kernels] == list(range(1, len(kernels) + 1))
    assert {item.total for item in kernels} == {len(kernels)}
    assert [(item.done, item.total) for item in found[len(kernels) :]] == [(0, None), (1, None)]


def test_plans_of_ram_are_counted_on_and_never_promised() -> None:
    plans = [item for item in told(Goal.RAM) if item.stage is Stage.PLANS]
    counts = [item.done for item in plans]
    assert counts == sorted(counts)
    assert counts[-1] > 2
    assert {item.total for item in plans} == {None}
    rows = [item for item in told(Goal.RAM) if item.stage is Stage.ROW_KERNELS]
    assert rows
    assert all(0 < item.done <= (item.total or 0) for item in rows)
