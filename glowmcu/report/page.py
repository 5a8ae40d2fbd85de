"""The report: one HTML file that needs no network, from the facts in a bundle's folder.

What is shown is computed here, how it looks is in `templates/report/`. It reads without scripts;
with them a click on a layer opens its row.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

from glowmcu.bundle import Bundle
from glowmcu.cores import GENERIC
from glowmcu.errors import error
from glowmcu.facts.document import FILE_NAME, Facts, read_facts
from glowmcu.facts.flash_parts import flash_parts, layer_parts
from glowmcu.notebook import writable
from glowmcu.report.arena_view import arena_view
from glowmcu.report.devices import device_section
from glowmcu.report.graph_view import graph_view
from glowmcu.report.layer_views import layer_views
from glowmcu.report.page_templates import environment, number
from glowmcu.report.quality import quality_texts
from glowmcu.report.sections import Section, sections
from glowmcu.report.short_names import layer_names
from glowmcu.report.tables import region_sentences, simplification_sentences
from glowmcu.report.tuning_page import tuning_view
from glowmcu.simplified import SimplifiedLayer

#: Of facts that the page has a place for.
_SECTIONS = ("bench", "comparison", "compile", "graphs", "tune", "verify")
_CODE = re.compile(r"^```c\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def report_page(bundle: Bundle) -> str:
    """The page of the bundle in its folder, with what commands have kept there. Raises GM671 if
    somebody changed that.
    """
    facts = read_facts(bundle.path)
    devices = device_section(bundle.manifest)
    more = [*([devices] if devices is not None else []), *sections(bundle, facts)]
    try:
        return writable(_page(bundle, facts, more))
    except (jinja2.UndefinedError, LookupError, TypeError, ValueError, AttributeError) as cause:
        raise error(
            "GM671",
            f"the facts of {bundle.path} are not what a command wrote: {cause}",
            str(bundle.path / FILE_NAME),
            "take that file away and compile the model again, then verify and bench it",
        ) from cause


def _page(bundle: Bundle, facts: Facts, more: Sequence[Section]) -> str:
    if bundle.known_code is None:
        bundle = replace(bundle, known_code=facts.get("code"))
    graphs = facts.get("graphs", {})
    layers = layer_views(bundle, facts)
    return (
        environment()
        .get_template("page.html.j2")
        .render(
            bundle=bundle,
            manifest=bundle.manifest,
            facts={**dict.fromkeys(_SECTIONS), **facts},
            gauges=_gauges(bundle, facts),
            layers=layers,
            graphs=[
                (title, graph_view(graphs[key]["nodes"]), graphs[key]["node_count"])
                for key, title in (("compiled", "as compiled"), ("model", "as in the model"))
                if key in graphs
            ],
            flash=flash_parts(bundle.manifest, bundle.report.code_bytes),
            flash_layers=[
                (layer, name, part)
                for layer, name in zip(bundle.manifest.layers, _names(bundle), strict=True)
                for part in layer_parts(layer)
            ],
            arena=arena_view(bundle.manifest),
            code=_usage(bundle.path),
            quality=quality_texts(bundle.manifest.quality),
            regions=region_sentences(bundle),
            simplified=_simplified(bundle),
            simplified_layers=_simplified_layers(bundle),
            curve=_curve(facts),
            tuning=tuning_view(facts["tune"]) if "tune" in facts else None,
            sections=more,
        )
    )


def _gauges(bundle: Bundle, facts: Facts) -> list[dict[str, Any]]:
    """How full flash and RAM get, and how long a run takes."""
    report, board = bundle.report, bundle.board
    flash = sum(r.size_bytes for r in board.memory if r.kind == "flash")
    ram = sum(r.size_bytes for r in board.memory if r.kind != "flash")
    code = report.code_bytes
    used = report.weights_bytes + (code or 0)
    stack = max(bundle.manifest.costs.stack_bytes.values(), default=None)
    code_text = f"code {number(code)} B" if code is not None else "code not measured"
    stack_text = f"stack {number(stack)} B" if stack is not None else "stack not known"
    return [
        {
            "name": "flash", "value": f"{number(used)} B", "part": _part(used, flash),
            "of": f"of {number(flash / 1024)} KiB" if flash else "",
            "detail": f"constants {number(report.weights_bytes)} B, {code_text}",
        },
        {
            "name": "RAM", "value": f"{number(report.arena_bytes + (stack or 0))} B",
            "part": _part(report.arena_bytes + (stack or 0), ram),
            "of": f"of {number(ram / 1024)} KiB" if ram else "",
            "detail": f"arena {number(report.arena_bytes)} B, {stack_text}",
        },
        _time_gauge(bundle, facts),
    ]  # fmt: skip


def _part(used: int, room: int) -> float | None:
    return None if not room else 100 * used / room


def _time_gauge(bundle: Bundle, facts: Facts) -> dict[str, Any]:
    """Full where a limit of `bench` is reached, or where a pipeline has no time left."""
    bench = facts.get("bench")
    if bench is not None:
        cycles, core, waits = bench["cycles"], bench["core"], bench["wait_states"]
        flash = f"flash with {waits} wait states" if waits else "zero wait states"
        detail = f"measured on the modelled {core}, {flash}"
    else:
        cycles = bundle.manifest.costs.cycles_estimate
        detail = "estimated without wait states"
    clock = None if bundle.board.core == GENERIC else bundle.board.clock_hz
    low = high = cycles
    on_board = (bench or {}).get("board_cycles")
    if on_board is not None:
        low, high = on_board["low"], on_board["high"]
        detail += f"; {_between(number(low), number(high))} on the board, with its memories"
    took = ""
    if clock and low and high:
        times = (number(1e3 * cycles / clock, 2) for cycles in (low, high))
        took = f"{_between(*times)} ms at {clock // 10**6} MHz"
    part, against = _time_part(bench or {}, cycles, clock)
    return {
        "name": "time", "part": part, "of": took, "value": f"{number(cycles)} cycles",
        "detail": f"{detail}; {against}" if against else detail,
    }  # fmt: skip


def _between(low: str, high: str) -> str:
    return low if low == high else f"{low} to {high}"


def _time_part(bench: Facts, cycles: int | None, clock: int | None) -> tuple[float | None, str]:
    """Per cent of what there is, and what that is; None if nothing limits it."""
    limit = bench.get("limits", {}).get("cycles")
    if limit is not None and cycles is not None:
        return 100 * cycles / limit, f"limit {number(limit)} cycles"
    per_second = bench.get("runs", {}).get("cycles_per_second")
    if per_second and clock:
        return 100 * per_second / clock, (
            f"in real time {number(per_second)} cycles a second of {number(clock)}"
        )
    return None, ""


def _usage(folder: Path) -> str:
    """The C that the bundle's README shows; empty if somebody took that away."""
    try:
        found = _CODE.search((folder / "README.md").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return ""
    return found.group(1) if found else ""


def _names(bundle: Bundle) -> Sequence[str]:
    return layer_names([layer.name for layer in bundle.manifest.layers])


def _simplified(bundle: Bundle) -> list[str]:
    entry = bundle.manifest.simplification
    return [] if entry is None else simplification_sentences(entry)


def _simplified_layers(bundle: Bundle) -> list[tuple[SimplifiedLayer, str]]:
    entry = bundle.manifest.simplification
    layers = () if entry is None else entry.layers
    names = layer_names([layer.name for layer in layers])
    return list(zip(layers, names, strict=True))


def _curve(facts: Facts) -> Markup | None:
    """Other plans as a picture, if they were asked for and can be drawn."""
    from glowmcu.goals import PlanPoint
    from glowmcu.report.curve import curve_svg
    from glowmcu.report.plots import can_plot

    points = facts.get("compile", {}).get("pareto", [])
    if not points or not can_plot():
        return None
    svg = curve_svg([PlanPoint(**point) for point in points])
    return Markup(svg[svg.index("<svg") :])
