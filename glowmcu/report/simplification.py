"""What proved simplification took out, and why: a table, and a part of the page."""

from __future__ import annotations

from html import escape as html_escape

from rich.markup import escape
from rich.table import Table

from glowmcu.manifest import Manifest, SimplificationEntry, SimplifiedLayer
from glowmcu.report.tables import count, plain_table, simplification_sentences

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


def simplification_html(manifest: Manifest) -> str:
    """A part of a page: what went, and why; empty where nothing did."""
    entry = manifest.simplification
    if entry is None:
        return ""
    said = "".join(f"<li>{html_escape(text)}</li>\n" for text in simplification_sentences(entry))
    headings = "".join(f"<th>{text}</th>" for text in ("", "operator", *_HEADINGS, "layer"))
    rows = "".join(_html_row(layer) for layer in entry.layers)
    table = f"<table>\n<tr>{headings}</tr>\n{rows}</table>\n" if rows else ""
    names = "".join(
        f"<p>{what}: {html_escape(', '.join(names))}</p>\n"
        for what, names in (
            ("Constants now", entry.constant_results),
            ("No more", entry.removed_nodes),
            ("Without their clamp, or with a wider one", entry.dropped_clamps),
        )
        if names
    )
    return (
        f"<h2>Simplified</h2>\n<ul>\n{said}</ul>\n"
        "<p>By interval analysis, for every input: a channel that can only hold one value is part "
        "of its readers' biases; one that only meets weights of 0 is not computed. "
        "<code>--no-simplify</code> keeps all.</p>\n" + table + names
    )


def _html_row(layer: SimplifiedLayer) -> str:
    texts = ("", layer.op, *_numbers(layer), layer.name)
    cells = "".join(f"<td>{html_escape(text)}</td>" for text in texts)
    return f"<tr>{cells}</tr>\n"
