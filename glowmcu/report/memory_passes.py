"""What each pass of memory planning saved."""

from __future__ import annotations

from collections.abc import Sequence

from rich.markup import escape
from rich.table import Table

from glowmcu.bundle import MemoryPass
from glowmcu.report.tables import count, plain_table

_HEADINGS = ("pass", "before B", "after B", "saved B", "")


def memory_pass_table(passes: Sequence[MemoryPass]) -> Table:
    """A row a pass."""
    columns = zip(_HEADINGS, "lrrrt", strict=True)
    table = plain_table("memory: bytes alive at the fullest step", *columns)
    for item in passes:
        table.add_row(*map(escape, _cells(item)))
    return table


def _cells(item: MemoryPass) -> tuple[str, str, str, str, str]:
    before, after = item.before_bytes, item.after_bytes
    return item.name, count(before), count(after), count(before - after), item.note
