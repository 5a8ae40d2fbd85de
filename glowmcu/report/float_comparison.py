"""What `glowmcu verify --against float` shows: layers by their harm, and what would help."""

from __future__ import annotations

import math

from rich.markup import escape
from rich.table import Table

from glowmcu.api.float_comparison import FloatComparison
from glowmcu.quant.comparison import Comparison, LayerError
from glowmcu.report.tables import count, plain_table
from glowmcu.tuning.remedies import Remedy
from glowmcu.tuning.trial import Trial

_MOST_ROWS = 40


def comparison_table(comparison: Comparison) -> Table:
    """Layers, the most harmful first."""
    table = plain_table(
        "whose fault is the output's error",
        ("share", "r"), ("alone dB", "r"), ("isolated dB", "r"), ("accumulated dB", "r"),
        ("max error", "r"), ("saturated", "r"), ("cosine", "r"), ("type", "l"), ("operator", "l"),
        ("tensor", "l"),
    )  # fmt: skip
    for layer in comparison.layers[:_MOST_ROWS]:
        table.add_row(*_cells(layer))
    return table


def _cells(layer: LayerError) -> tuple[str, ...]:
    there = layer.accumulated
    return (
        f"{100 * layer.share:.1f} %", _db(layer.alone_db), _db(layer.isolated.sqnr_db),
        _db(there.sqnr_db), f"{there.max_error:.4g}", f"{100 * there.saturated:.2f} %",
        f"{there.cosine:.5f}", layer.element, layer.operator, escape(layer.tensor[-48:]),
    )  # fmt: skip


def _db(value: float) -> str:
    return f"{value:.1f}" if math.isfinite(value) else "exact" if value > 0 else "no signal"


def comparison_lines(found: FloatComparison) -> list[str]:
    """Outputs, and what would help at what cost; plain text."""
    comparison = found.comparison
    lines = [f"{comparison.sample_count} samples against float"]
    for name, error in comparison.outputs.items():
        lines.append(
            f"  output   {name}: SQNR {_db(error.sqnr_db)} dB, max error {error.max_error:.4g}, "
            f"cosine {error.cosine:.5f}"
        )
    if found.float_accuracy is not None and found.plain.accuracy is not None:
        lines.append(
            f"  accuracy {100 * found.plain.accuracy:.2f} %, in float "
            f"{100 * found.float_accuracy:.2f} %"
        )
    lines += [remedy_line(remedy, found.plain) for remedy in found.remedies]
    if not found.remedies:
        lines.append("  advice   nothing tried gains half a decibel: `glowmcu tune` tries more")
    return lines


def remedy_line(remedy: Remedy, plain: Trial) -> str:
    """What a change gains over `plain`, and what it costs."""
    gain = remedy.trial.sqnr_db - plain.sqnr_db
    text = f"  advice   {remedy.arguments}: {gain:+.1f} dB"
    after, before = remedy.trial.cost, plain.cost
    if after is None or before is None:
        return text
    return (
        f"{text} for {_signed(after.cycles - before.cycles)} cycles, "
        f"{_signed(after.arena_bytes - before.arena_bytes)} B of arena, "
        f"{_signed(after.flash_bytes - before.flash_bytes)} B of flash (estimated)"
    )


def _signed(number: int) -> str:
    return ("+" if number >= 0 else "-") + count(abs(number))
