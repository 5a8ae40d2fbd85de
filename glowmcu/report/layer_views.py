"""The layers of a bundle for the page: what each costs, and why it has its kernel."""

from __future__ import annotations

from typing import Any

from glowmcu.bundle import Bundle
from glowmcu.facts.document import Facts
from glowmcu.report.short_names import layer_names
from glowmcu.report.tables import count


def layer_views(bundle: Bundle, facts: Facts) -> list[dict[str, Any]]:
    """One a step. Cycles are measured where `bench` was, else estimated by the kernels."""
    measured = {row["index"]: row for row in facts.get("bench", {}).get("layers", [])}
    choices = {row["index"]: row for row in facts.get("compile", {}).get("layers", [])}
    compared = facts.get("comparison", {}).get("layers", [])
    nodes = _nodes_by_step(facts)
    views = []
    layers = bundle.manifest.layers
    names = layer_names([layer.name for layer in layers])
    for layer, name in zip(layers, names, strict=True):
        choice, node = choices.get(layer.index, {}), nodes.get(layer.index, {})
        estimate = choice.get("estimate")
        cycles = measured.get(layer.index, {}).get("cycles") or (estimate or {}).get("cycles")
        views.append(
            {
                "layer": layer,
                "name": name,
                "cycles": cycles,
                "per_mac": cycles / layer.macs if cycles and layer.macs else None,
                "node": node,
                "estimate": None if estimate is None else {"kernel": layer.kernel, **estimate},
                "others": choice.get("alternatives", []),
                "why": why(layer.kernel, estimate, choice.get("alternatives", [])),
                "error": next((row for row in compared if row["node"] == layer.name), None),
            }
        )
    cycles = [float(view["cycles"] or 0) for view in views]
    weights = [float(layer.weights_bytes) for layer in layers]
    for view, spent, held in zip(views, cycles, weights, strict=True):
        view["share"] = 100 * spent / (sum(cycles) or 1)
        view["cycles_part"] = 100 * spent / (max(cycles) or 1)
        view["bytes_part"] = 100 * held / (max(weights) or 1)
    return views


def _nodes_by_step(facts: Facts) -> dict[int, dict[str, Any]]:
    nodes = facts.get("graphs", {}).get("compiled", {}).get("nodes") or []
    return {node["step"]: node for node in nodes if node.get("step") is not None}


def why(kernel: str, chosen: dict[str, Any] | None, others: list[dict[str, Any]]) -> str:
    """A sentence: why this kernel, and why not the fastest."""
    if chosen is None:
        return "Not kept: the bundle was made by an earlier version."
    if not others:
        return "It is the only kernel for such a layer on this core."
    fastest = min(others, key=lambda other: float(other["cycles"]))
    if chosen["cycles"] <= fastest["cycles"]:
        gain = fastest["cycles"] / max(chosen["cycles"], 1)
        if gain < 1.005:
            return f"No kernel is faster; {fastest['kernel']} takes as many cycles."
        return f"It is the fastest; {fastest['kernel']} takes {gain:.2f} times its cycles."
    slower = chosen["cycles"] / max(fastest["cycles"], 1)
    less = [
        f"{count(fastest[key] - chosen[key])} B less {what}"
        for key, what in (
            ("code_bytes", "code"), ("flash_bytes", "constants"), ("scratch_bytes", "scratch")
        )
        if fastest[key] > chosen[key]
    ]  # fmt: skip
    saving = f", and takes {' and '.join(less)}" if less else ", and fits the plan of the arena"
    return (
        f"{fastest['kernel']} is the fastest; {kernel} takes {slower:.2f} times its cycles{saving}."
    )
