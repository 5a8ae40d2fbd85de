"""Cycles that a board counted beside the modelled ones, as a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.markup import escape
from rich.table import Table

from glowmcu.report.tables import count, plain_table

if TYPE_CHECKING:
    from glowmcu.api.board_counts import CountComparison


def counts_table(found: CountComparison) -> Table:
    """A row a layer, and the whole run."""
    table = plain_table(
        "", ("step", "r"), ("operator", "l"), ("modelled", "r"), ("counted", "r"),
        ("counted/modelled", "r"), ("layer", "l"), dispensable=["layer"],
    )  # fmt: skip
    for layer in found.layers:
        table.add_row(
            str(layer.index), layer.op, layer.modelled, count(layer.counted), _ratio(layer.ratio),
            escape(layer.name),
        )  # fmt: skip
    total = found.total
    table.add_row(
        "", "total", total.modelled, count(total.counted), _ratio(total.ratio), style="bold"
    )
    return table


def _ratio(ratio: float) -> str:
    """Nothing if the model holds."""
    return "within" if ratio == 1.0 else f"{ratio:.2f}"
