"""Which operators of a model file can be compiled: read from the registries, never by hand."""

from __future__ import annotations

import inspect

from rich.table import Table

from glowmcu.frontend.tflite.importer import load_importers
from glowmcu.report.tables import plain_table


def operator_rows() -> list[dict[str, str]]:
    """One row a TFLite operator: name, family, and the importer's own words on what it takes."""
    rows = []
    for name, function in load_importers().items():
        module = function.__module__.rpartition(".")[2]
        text = " ".join((inspect.getdoc(function) or "").split())
        rows.append({"format": "tflite", "operator": name, "family": module, "notes": text})
    return rows


def operator_table(rows: list[dict[str, str]]) -> Table:
    """The rows for the terminal."""
    table = plain_table(
        f"{len(rows)} operators", ("operator", "l"), ("family", "l"), ("notes", "l")
    )
    table.columns[2].no_wrap = False
    for row in rows:
        table.add_row(row["operator"], row["family"], row["notes"])
    return table
