"""The progress bar of profiling, on stderr and only for people."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bar

from glowmcu.api import Progress


@contextmanager
def profiling_bar(quiet: bool) -> Iterator[Callable[[Progress], None] | None]:
    """An observer that draws samples done, time gone and time left; None where nobody watches."""
    if quiet or not sys.stderr.isatty():
        yield None
        return
    columns = (
        TextColumn("profiling"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(),
        TextColumn("{task.fields[left]}"),
    )  # fmt: skip
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("profiling", total=None, left="")

        def observe(progress: Progress) -> None:
            left = progress.remaining_s
            text = "" if left is None else f"{left:.0f} s left"
            bar.update(task, completed=progress.done, total=progress.total, left=text)

        yield observe
