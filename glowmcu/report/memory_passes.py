"""What each pass of memory planning saved: a table, and the same as HTML."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape as html_escape

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


def memory_passes_html(passes: Sequence[MemoryPass]) -> str:
    """A section of the report; nothing for a bundle from disk."""
    if not passes:
        return ""
    head = "".join(f"<th>{text}</th>" for text in _HEADINGS)
    rows = "".join(
        "<tr>" + "".join(f"<td>{html_escape(text)}</td>" for text in _cells(item)) + "</tr>\n"
        for item in passes
    )
    return (
        "<h2>Memory passes</h2>\n<p>Bytes alive at the fullest step; the last pass places all "
        f"buffers.</p>\n<table>\n<tr>{head}</tr>\n{rows}</table>\n"
    )


def _cells(item: MemoryPass) -> tuple[str, str, str, str, str]:
    before, after = item.before_bytes, item.after_bytes
    return item.name, count(before), count(after), count(before - after), item.note
