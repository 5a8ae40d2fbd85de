"""What proved simplification took out, and why."""

from __future__ import annotations

from rich.markup import escape
from rich.table import Table

from glowmcu.report.tables import count, plain_table
from glowmcu.simplified import SimplificationEntry, SimplifiedLayer

_HEADINGS = ("before", "after", "constant", "unread", "MACs less", "weights B less")


def simplification_table(entry: SimplificationEntry) -> Table:
    """A row a layer that has fewer channels, or less to do."""
    table = plain_table(
        "simplified: output channels", ("operator", "l"), *((text, "r") for text in _HEADINGS),
        ("layer", "l"), dispensable=["operator"],
    )  # fmt: skip
    for layer in entry.layers:
        table.add_row(layer.op, *_numbers(layer), escape(layer.name))
    return table


def _numbers(layer: SimplifiedLayer) -> tuple[str, ...]:
    numbers = (
        layer.channels_before, layer.channels_after, layer.constant_channels,
        layer.unread_channels, layer.macs_saved, layer.weights_bytes_saved,
    )  # fmt: skip
    return tuple(map(count, numbers))
