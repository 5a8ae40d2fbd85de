"""The curve of arena against cycles and flash: a table with bars, and a picture."""

from __future__ import annotations

from collections.abc import Sequence

from rich.table import Table

from glowmcu.goals import PlanPoint
from glowmcu.report.plots import BLUE, figure_of, svg_of
from glowmcu.report.tables import count, plain_table

_BAR = 24


def curve_table(curve: Sequence[PlanPoint]) -> Table:
    """A row a plan, the smallest arena first; bars show its cycles."""
    table = plain_table(
        "plans: estimates, for --arena-budget",
        ("arena B", "r"), ("cycles", "r"), ("", "r"), ("flash B", "r"), ("streamed", "r"),
        ("MACs", "r"), ("time", "n"), dispensable=["time"],
    )  # fmt: skip
    fastest = min(point.cycles for point in curve)
    slowest = max(point.cycles for point in curve)
    for point in curve:
        table.add_row(
            count(point.arena_bytes),
            count(round(point.cycles)),
            f"{point.cycles / max(fastest, 1.0):.2f}x",
            count(point.flash_bytes),
            f"{point.streamed_layers} layers" if point.streamed_layers else "-",
            _macs(point),
            "#" * max(1, round(_BAR * point.cycles / max(slowest, 1.0))),
        )
    return table


def _macs(point: PlanPoint) -> str:
    """With what is computed again."""
    if point.extra_macs <= 0:
        return count(point.macs)
    part = 100 * point.extra_macs / (point.macs - point.extra_macs)
    return f"{count(point.macs)} (+{part:.1f} %)"


def curve_svg(curve: Sequence[PlanPoint]) -> str:
    """Cycles and flash over the arena. Raises GM717 without matplotlib."""
    figure = figure_of(9.0, 4.0)
    axes = figure.subplots(1, 2)
    arenas = [point.arena_bytes for point in curve]
    cycles = [point.cycles / 1e6 for point in curve]
    flash = [point.flash_bytes / 1024 for point in curve]
    for axis, values, title in zip(axes, (cycles, flash), ("Mcycles", "flash (KiB)"), strict=True):
        axis.plot(arenas, values, color=BLUE, marker="o", drawstyle="steps-post")
        axis.set_xlabel("arena (bytes)")
        axis.set_ylabel(title)
        axis.set_ylim(0, 1.08 * max(*values, 1e-6))  # room for the marks at the top
        axis.locator_params(axis="x", nbins=6)
    figure.suptitle("Other plans: what a smaller arena costs (estimates)")
    return svg_of(figure)
