"""What a bundle's flash is made of, as a table: by layer, then in all."""

from __future__ import annotations

from collections.abc import Sequence

from rich.markup import escape
from rich.table import Table

from glowmcu.bundle import Bundle
from glowmcu.facts.flash_parts import FlashPart, flash_parts, layer_parts
from glowmcu.report.tables import count, plain_table

_HEADINGS = ("step", "what", "coding", "flash B", "decoded B", "layer")


def flash_table(bundle: Bundle) -> Table:
    """A row a layer and kind of its constants, then sums by kind, code and all."""
    columns = zip(_HEADINGS, ("r", "l", "l", "r", "r", "l"), strict=True)
    table = plain_table("flash: constants by layer, and all", *columns, dispensable=["layer"])
    for layer in bundle.manifest.layers:
        for part in layer_parts(layer):
            table.add_row(str(layer.index), *_cells(part), escape(layer.name))
    for part in (parts := flash_parts(bundle.manifest, bundle.report.code_bytes)):
        table.add_row("all", *_cells(part), "")
    table.add_row("all", "", "", *_sums(parts), "")
    return table


def _cells(part: FlashPart) -> tuple[str, str, str, str]:
    return part.what, part.coding, count(part.bytes), count(part.unpacked_bytes)


def _sums(parts: Sequence[FlashPart]) -> tuple[str, str]:
    return count(sum(part.bytes for part in parts)), count(sum(p.unpacked_bytes for p in parts))
