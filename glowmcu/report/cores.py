"""Who does what where two cores share a run, as a table."""

from __future__ import annotations

from rich.markup import escape
from rich.table import Table

from glowmcu.manifest import Manifest
from glowmcu.number_text import count
from glowmcu.report.tables import plain_table
from glowmcu.verify.cortex_m.two_cores import SharedRun
from glowmcu.verify.measurement import Measurement


def cores_table(manifest: Manifest, alone: Measurement, shared: SharedRun) -> Table:
    """Cycles of each layer by one core and by two, and what either core does of it."""
    table = plain_table(
        "", ("step", "r"), ("operator", "l"), ("one core", "r"), ("two cores", "r"),
        ("times", "r"), ("first", "r"), ("second", "r"), ("layer", "l"), dispensable=["layer"],
    )  # fmt: skip
    cycles = {cost.index: cost.cycles for cost in alone.layers}
    for step in shared.steps:
        layer, before = manifest.layers[step.index], cycles.get(step.index)
        times = before / step.elapsed if before and step.elapsed else None
        table.add_row(
            str(step.index), layer.op, count(before), count(step.elapsed),
            "-" if times is None else f"{times:.2f}", count(step.first), count(step.second),
            escape(layer.name),
        )  # fmt: skip
    return table
