"""What `tune --kernels` found: table, lines and JSON."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

from rich.markup import escape
from rich.table import Table

from glowmcu.api.kernel_tuning import KernelTuningResult, MeasuredLayer
from glowmcu.report.json_report import Json
from glowmcu.report.tables import count, plain_table


def kernel_tuning_table(result: KernelTuningResult) -> Table:
    """A row a layer; what estimates would have chosen is named where it differs."""
    table = plain_table(
        "", ("step", "r"), ("operator", "l"), ("kernel", "l"), ("cycles", "r"), ("others", "l"),
        ("layer", "l"), dispensable=["operator", "others"],
    )  # fmt: skip
    for layer in result.layers:
        better = "" if layer.chosen == layer.estimated else f" (estimated: {layer.estimated})"
        table.add_row(
            str(layer.index), layer.op, f"{layer.chosen}{better}",
            count(round(layer.cycles[layer.chosen])), _others(layer), escape(layer.name),
        )  # fmt: skip
    return table


def _others(layer: MeasuredLayer) -> str:
    best = layer.cycles[layer.chosen]
    others = sorted((cycles, name) for name, cycles in layer.cycles.items() if name != layer.chosen)
    return ", ".join(f"{name.partition('.')[2]} {cycles / best:.2f}x" for cycles, name in others)


def kernel_tuning_lines(result: KernelTuningResult) -> Iterator[str]:
    gain = 100 * (1 - result.cycles_after / max(result.cycles_before, 1))
    where = " on the board" if result.on_board else ""
    yield (
        f"{result.core}: {count(round(result.cycles_after))} cycles in all layers{where}, "
        f"{count(round(result.cycles_before))} with the kernels that estimates choose"
        + (f" ({gain:.1f} % less)" if gain >= 0.05 else "")
    )
    yield (
        f"  measured {result.measured} kernels on layers now, {result.known} were in the cache, "
        f"{result.equal} are as another layer's"
    )
    if result.output is not None:
        yield f"  kernels  {result.output}"


def kernel_tuning_json(result: KernelTuningResult) -> Json:
    """Of `tune --kernels --json`."""
    body = dataclasses.asdict(result)
    return {**body, "output": None if result.output is None else str(result.output)}
