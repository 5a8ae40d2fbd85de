"""What a notebook shows of a result: a small table as HTML, and all of it as a pandas DataFrame.

A result says its records and which of them are shown how; numbers look as in the terminal's tables.
"""

from __future__ import annotations

import importlib
import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, Literal

from glowmcu import installation
from glowmcu.errors import error
from glowmcu.lazy_dataclass import dataclass
from glowmcu.number_text import count
from glowmcu.resources import resource_dir

if TYPE_CHECKING:
    import jinja2
    from pandas import DataFrame

Record = dict[str, Any]
#: More rows than a reader looks at in a cell.
_MOST_ROWS = 30
_MOST_CHARACTERS = 80


@dataclass(frozen=True)
class Column:
    """What is shown of a record: `key` under `heading`. Kinds: text; count, 12 345; number, with
    `digits` digits behind the point; percent, of a share; figures, `digits` of them.
    """

    heading: str
    key: str
    kind: Literal["text", "count", "number", "percent", "figures"] = "text"
    digits: int = 1

    @property
    def side(self) -> str:
        """Where its cells stand."""
        return "left" if self.kind == "text" else "right"

    def text(self, value: Any) -> str:  # noqa: ANN401 - a record's value
        """A cell."""
        if value is None:
            return "-"
        if self.kind == "text":
            words = str(value)
            fits = len(words) <= _MOST_CHARACTERS
            return words if fits else f"{words[: _MOST_CHARACTERS - 1]}…"
        if self.kind == "count":
            return count(round(value))
        if not math.isfinite(value):
            return "exact" if value > 0 else "-"
        if self.kind == "percent":
            return f"{100 * value:.{self.digits}f} %"
        return f"{value:.{self.digits}{'g' if self.kind == 'figures' else 'f'}}"


@dataclass(frozen=True)
class Card:
    """A title, facts by name, records as a table, and sentences below it."""

    title: str
    facts: tuple[tuple[str, str], ...]
    columns: tuple[Column, ...]
    records: Sequence[Record]
    notes: tuple[str, ...] = ()

    @property
    def rows(self) -> list[list[tuple[Column, str]]]:
        """Cells of the first records."""
        return [
            [(column, column.text(record.get(column.key))) for column in self.columns]
            for record in self.records[:_MOST_ROWS]
        ]

    @property
    def all_notes(self) -> tuple[str, ...]:
        """With one about rows that are left out."""
        left = len(self.records) - _MOST_ROWS
        more = (f"… and {left} more rows: .to_dataframe() has them all",) if left > 0 else ()
        return (*more, *self.notes)


class Shown(ABC):
    """A result that a notebook can show."""

    @abstractmethod
    def _card(self) -> Card: ...

    def _repr_html_(self) -> str:
        return html("card.html.j2", card=self._card())

    def to_dataframe(self) -> DataFrame:
        """A pandas DataFrame, a row for each record of the result; columns are named with units.

        Raises GM724 if pandas is not installed.
        """
        card = self._card()
        try:
            pandas: Any = importlib.import_module("pandas")
        except ImportError as cause:
            message = "to_dataframe() needs the pandas package"
            raise error("GM724", message, hint=installation.extra("notebook")) from cause
        columns = list(card.records[0]) if card.records else [c.key for c in card.columns]
        frame: DataFrame = pandas.DataFrame(list(card.records), columns=columns)
        return frame


def html(template: str, **view: object) -> str:
    """A template of `templates/notebook/` with these names. Whatever a model calls its tensors is
    escaped.
    """
    return writable(_environment().get_template(template).render(**view))


def writable(page: str) -> str:
    """Bytes of a path that are no text become escapes: no page can hold them."""
    return page.encode("utf-8", "backslashreplace").decode("utf-8")


@cache
def _environment() -> jinja2.Environment:
    import jinja2

    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(resource_dir("templates") / "notebook"),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        autoescape=True,
    )
