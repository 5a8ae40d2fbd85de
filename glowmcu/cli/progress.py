"""The progress bars of profiling and planning, on stderr and only for people."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from glowmcu.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from glowmcu.api import PlanningProgress, Progress


@dataclass(frozen=True)
class Observers:
    """Who is told how far a compilation has come; None if nobody watches."""

    profiling: Callable[[Progress], None] | None = None
    planning: Callable[[PlanningProgress], None] | None = None


@contextmanager
def progress_bars(quiet: bool) -> Iterator[Observers]:
    """Observers that draw what is done, time gone and what is known of the rest.

    A bar shows as soon as there is something to say; planning comes when profiling is over.
    """
    if quiet or not sys.stderr.isatty():
        yield Observers()
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bar

    from glowmcu.report.tables import count

    columns = (
        TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(),
        TextColumn("{task.fields[note]}"),
    )  # fmt: skip
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        task_id = bar.add_task("", total=None, visible=False, note="")

        def show(what: str, done: int, total: int | None, note: str) -> None:
            task = bar.tasks[task_id]
            task.total, task.finished_time = total, None
            bar.update(task_id, visible=True, description=what, completed=done, note=note)

        def profiling(progress: Progress) -> None:
            left = progress.remaining_s
            note = "" if left is None else f"{left:.0f} s left"
            show(progress.activity, progress.done, progress.total, note)

        def planning(progress: PlanningProgress) -> None:
            least = progress.arena_bytes
            note = "" if least is None else f"arena {count(least)} B so far"
            show(progress.stage.value, progress.done, progress.total, note)

        yield Observers(profiling, planning)
