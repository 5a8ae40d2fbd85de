"""Which operators of a model file can be compiled: read from the registries, never by hand."""

from __future__ import annotations

import inspect

from rich.table import Table

from glowmcu.frontend.onnx.importer import load_importers as onnx_importers
from glowmcu.frontend.tflite.importer import load_importers as tflite_importers
from glowmcu.report.tables import plain_table


def operator_rows() -> list[dict[str, str]]:
    """One row an operator and format: family, and the importer's own words on what it takes."""
    tflite = {("", name): function for name, function in tflite_importers().items()}
    rows = []
    for format_name, importers in (("tflite", tflite), ("onnx", onnx_importers())):
        for (domain, name), function in importers.items():
            row = {"format": format_name, "domain": domain, "operator": name}
            row["family"] = function.__module__.rpartition(".")[2]
            row["notes"] = " ".join((inspect.getdoc(function) or "").split())
            rows.append(row)
    return rows


def operator_table(rows: list[dict[str, str]]) -> Table:
    """The rows for the terminal."""
    table = plain_table(
        f"{len(rows)} operators",
        ("format", "n"), ("operator", "l"), ("family", "l"), ("notes", "t"),
        dispensable=["family"],
    )  # fmt: skip
    for row in rows:
        domain = "" if row["domain"] in ("", "ai.onnx") else f"{row['domain']}."
        table.add_row(row["format"], domain + row["operator"], row["family"], row["notes"])
    return table
