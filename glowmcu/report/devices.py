"""Who computes which layer where an accelerator was asked for, and why."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rich.markup import escape
from rich.table import Table

from glowmcu.delegated import DelegationEntry, RegionEntry
from glowmcu.manifest import Manifest
from glowmcu.number_text import count
from glowmcu.report.fitting_table import plain_table
from glowmcu.report.sections import Section

if TYPE_CHECKING:
    from glowmcu.verify.measurement import Measurement

CORE = "core"


def device_table(manifest: Manifest) -> Table:
    """Steps of the bundle: the device of each, and the reason."""
    table = plain_table(
        "", ("step", "r"), ("operator", "l"), ("device", "l"), ("MACs", "r"), ("weights B", "r"),
        ("scratch B", "r"), ("why", "l"), ("layer", "l"),
        dispensable=["layer", "scratch B", "weights B"],
    )  # fmt: skip
    reasons = reasons_by_layer(manifest)
    for layer in manifest.layers:
        table.add_row(
            str(layer.index), operators(manifest, layer.index), escape(layer.device or CORE),
            count(layer.macs), count(layer.weights_bytes), count(layer.scratch_bytes),
            escape(reasons[layer.index]), escape(layer.name),
        )  # fmt: skip
    return table


def operators(manifest: Manifest, index: int) -> str:
    """The operator of a step, or how many layers a region has."""
    region = _region(manifest.delegation, index)
    layer = manifest.layers[index]
    if region is None:
        return layer.op
    return region.ops[0] if len(region.ops) == 1 else f"{len(region.ops)} layers"


def _region(entry: DelegationEntry | None, index: int) -> RegionEntry | None:
    regions = entry.regions if entry is not None else ()
    return next((region for region in regions if region.layer == index), None)


def reasons_by_layer(manifest: Manifest) -> dict[int, str]:
    """Why each step is where it is, in a clause."""
    entry = manifest.delegation
    assert entry is not None
    found = {item.layer: item.reason for item in entry.stays}
    return found | {region.layer: _gain(region) for region in entry.regions}


def _gain(region: RegionEntry) -> str:
    cycles = region.cycles + region.transfer_cycles
    return f"about {count(cycles)} cycles in place of {count(region.core_cycles)}"


def device_section(manifest: Manifest) -> Section | None:
    """The same for the page; None where no accelerator was asked for."""
    entry = manifest.delegation
    if entry is None:
        return None
    reasons = reasons_by_layer(manifest)
    rows = tuple(
        (layer.index, operators(manifest, layer.index), layer.device or CORE, layer.macs,
         reasons[layer.index])
        for layer in manifest.layers
    )  # fmt: skip
    said = (
        f"{entry.summary}.",
        f"With {entry.use_macro} defined {entry.device} computes these steps; without, the core "
        "does, to the same bytes.",
    )  # fmt: skip
    headings = ("step", "operator", "device", "MACs", "why")
    return Section("Devices", said if entry.regions else said[:1], headings, rows)


def device_lines(manifest: Manifest, measured: Measurement) -> Iterator[str]:
    """What is to be known of cycles that were measured without the accelerator."""
    entry = manifest.delegation
    if entry is None or not entry.regions:
        return
    steps = {cost.index: cost.cycles for cost in measured.layers}
    for region in entry.regions:
        cycles = region.cycles + region.transfer_cycles
        yield (
            f"step {region.layer} ran on the core, in place of {entry.device}: "
            f"{count(steps.get(region.layer))} cycles here, about {count(cycles)} there, estimated "
            f"by {entry.estimated_by}"
        )
