"""A table that fits the terminal: names give way and texts wrap, numbers never do either.

rich shrinks all columns alike. Here a column says what it holds: `r` a number, `n` a word that is
typed again and stays whole, `l` a name, `t` a text. Where names would be left with too little,
columns that were called dispensable go first.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Sequence
from typing import Literal

from rich.console import Console, ConsoleOptions, RenderResult
from rich.measure import Measurement
from rich.table import Column, Table
from rich.text import Text

from glowmcu.report.short_names import short_names
from glowmcu.report.unbroken import held, released

_GAP = 2
#: Names and texts of fewer characters say nothing; a column goes before.
_LEAST = {"l": 16, "t": 40}
_FOLDING = Console(file=io.StringIO())


class FittingTable(Table):
    """Columns of `kinds`; `dispensable` are headings, the least wanted first."""

    kinds: tuple[str, ...] = ()
    dispensable: tuple[str, ...] = ()

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        return Measurement(0, options.max_width)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        shown = [
            _Shown(column, kind) for column, kind in zip(self.columns, self.kinds, strict=True)
        ]
        shown = _without(shown, self.dispensable, options.max_width)
        widths = _widths(shown, options.max_width)
        title = self.title
        if isinstance(title, str) and len(title) > _total(widths):
            # Of a narrow table: it has all the room there is.
            yield console.render_str(title, style="table.title")
            title = None
        table = Table(
            title=title, title_justify="left", header_style="bold", box=None, pad_edge=False
        )
        for column, width in zip(shown, widths, strict=True):
            column.fit(width)
            table.add_column(
                column.heading_in(width), justify=column.justify, no_wrap=True, width=width,
            )  # fmt: skip
        for index, row in enumerate(self.rows):
            table.add_row(*(column.cells[index] for column in shown), style=row.style)
        # Where even numbers have no room, the terminal breaks the line: nothing is lost.
        yield from console.render(table, options.update(width=max(_total(widths), 1)))


class _Shown:
    """A column as it is shown: its cells as text."""

    def __init__(self, column: Column, kind: str) -> None:
        self.heading, self.kind, self.justify = str(column.header), kind, column.justify
        self.cells = [
            Text.from_markup(cell) if isinstance(cell, str) else Text(str(cell))
            for cell in column.cells
        ]

    @property
    def natural(self) -> int:
        """What all of it takes."""
        lines = (line for cell in self.cells for line in cell.plain.split("\n"))
        return max((len(line) for line in (self.heading, *lines)), default=0)

    @property
    def least(self) -> int:
        """What it must have: a number all of itself, its heading maybe on two lines."""
        if self.kind in "rn":
            words = _heading_words(self.heading)
            return max((len(text) for text in (*words, *(c.plain for c in self.cells))), default=0)
        return min(self.natural, max(_LEAST[self.kind], len(self.heading)))

    def fit(self, width: int) -> None:
        """Make names short enough, and fold texts."""
        if self.kind == "t":
            self.cells = [_folded(cell, width) for cell in self.cells]
        if self.kind != "l":
            return
        texts = short_names([cell.plain for cell in self.cells], width)
        self.cells = [
            cell if cell.plain == text else Text(text, style=cell.style)
            for cell, text in zip(self.cells, texts, strict=True)
        ]

    def heading_in(self, width: int) -> str:
        """On two lines where one is too long."""
        return self.heading if len(self.heading) <= width else "\n".join(self._folded(width))

    def _folded(self, width: int) -> Iterator[str]:
        line = ""
        for word in _heading_words(self.heading):
            joined = f"{line}{'' if not line or word.startswith('/') else ' '}{word}"
            if line and len(joined) > width:
                yield line
                joined = word
            line = joined
        yield line


def _folded(text: Text, width: int) -> Text:
    lines = held(text).wrap(_FOLDING, width)
    for line in lines:
        line.rstrip()
    return released(Text("\n").join(lines))


def _heading_words(heading: str) -> list[str]:
    return re.findall(r"/?[^\s/]+", heading)


def _total(widths: Sequence[int]) -> int:
    return sum(widths) + _GAP * max(len(widths) - 1, 0)


def _without(shown: list[_Shown], dispensable: Sequence[str], width: int) -> list[_Shown]:
    """Without the columns that have to go."""
    for heading in dispensable:
        if _total([column.least for column in shown]) <= width:
            break
        shown = [column for column in shown if column.heading != heading]
    return shown


def _widths(shown: Sequence[_Shown], width: int) -> list[int]:
    """Headings of numbers fold first, then the widest of the others gives way, a character each."""
    natural, least = [c.natural for c in shown], [c.least for c in shown]
    widths = list(natural)
    for index in sorted(range(len(shown)), key=lambda i: least[i] - natural[i]):
        if shown[index].kind in "rn" and _total(widths) > width:
            widths[index] = least[index]
    floor = [size if c.kind in "rn" else min(size, 3) for c, size in zip(shown, least, strict=True)]
    for low in (least, floor):
        while _total(widths) > width:
            room = [size - small for size, small in zip(widths, low, strict=True)]
            able = [index for index, left in enumerate(room) if left > 0]
            if not able:
                break
            widest = max(able, key=lambda index: widths[index])
            widths[widest] -= 1
    return widths


def plain_table(
    title: str, *columns: tuple[str, str], dispensable: Sequence[str] = ()
) -> FittingTable:
    """A table with `(heading, kind)` columns, of the kinds of `FittingTable`; the
    `dispensable` go first if there is no room.
    """
    table = FittingTable(title=title)
    table.kinds, table.dispensable = tuple(kind for _, kind in columns), tuple(dispensable)
    for heading, kind in columns:
        justify: Literal["left", "right"] = "right" if kind == "r" else "left"
        table.add_column(heading, justify=justify)
    return table
