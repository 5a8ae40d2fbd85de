"""Pictures as SVG, by matplotlib (the extra `plots`); the same bytes for the same data."""

from __future__ import annotations

import importlib.util
import io
from collections.abc import Sequence
from typing import Any

from glowmcu import installation
from glowmcu.api.tuning import TuningResult
from glowmcu.errors import error
from glowmcu.quant.comparison import Comparison
from glowmcu.report.short_names import short_names
from glowmcu.tuning.trial import Trial

_MOST_BARS = 30
#: Characters of a layer's name beside its bar.
_NAME = 36
#: Decibels that stand for "no error at all" in a bar.
_TOP_DB = 100.0
GREY, BLUE, RED = "#9aa5b1", "#2563eb", "#dc2626"


def can_plot() -> bool:
    """Whether matplotlib is installed."""
    return importlib.util.find_spec("matplotlib") is not None


def pareto_svg(result: TuningResult) -> str:
    """Quality against cycles, arena and flash: every trial, the front, the best and plain int8.

    Raises GM717 without matplotlib.
    """
    figure = figure_of(12.0, 4.0)
    aspects = ("cycles", "arena_bytes", "flash_bytes")
    titles = ("cycles", "arena (bytes)", "flash (bytes)")
    axes = figure.subplots(1, 3, sharey=True)
    for axis, aspect, title in zip(axes, aspects, titles, strict=True):
        _scatter(axis, result.trials, aspect, GREY, 14, "trials", "o")
        _scatter(axis, result.front, aspect, BLUE, 26, "beaten by none", "o")
        _scatter(axis, [result.plain], aspect, "black", 60, "plain int8", "x")
        _scatter(axis, [result.best], aspect, RED, 110, "best", "*")
        axis.set_xlabel(title)
        axis.locator_params(axis="x", nbins=4)
        limit = getattr(result.budget, aspect)
        if limit is not None:
            axis.axvline(limit, color=RED, linewidth=0.8, linestyle="--")
    axes[0].set_ylabel("accuracy (%)" if result.labelled else "SQNR of the output (dB)")
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), fontsize=8)
    what = "accuracy" if result.labelled else "precision"
    figure.suptitle(f"Quantizations that were tried: {what} against cost; dashed: the budget")
    return svg_of(figure)


def _scatter(
    axis: Any,  # noqa: ANN401 - matplotlib is optional
    trials: Sequence[Trial], aspect: str, color: str, size: int, label: str, marker: str,
) -> None:  # fmt: skip
    points = [
        (getattr(t.cost, aspect), t.sqnr_db if t.accuracy is None else 100 * t.accuracy)
        for t in trials
        if t.cost is not None
    ]
    if points:
        x, y = zip(*points, strict=True)
        axis.scatter(x, y, s=size, c=color, marker=marker, label=label)


def comparison_svg(comparison: Comparison) -> str:
    """A bar a layer, the worst on top: its share of the output's error, and SQNR both ways.

    Raises GM717 without matplotlib.
    """
    layers = list(reversed(comparison.layers[:_MOST_BARS]))
    figure = figure_of(11.0, 1.2 + 0.3 * len(layers))
    left, right = figure.subplots(1, 2, sharey=True)
    places = range(len(layers))
    tensors = short_names([layer.tensor for layer in layers], _NAME)
    names = [f"{tensor}  ({layer.operator})" for tensor, layer in zip(tensors, layers, strict=True)]
    left.barh(places, [100 * layer.share for layer in layers], color=RED)
    left.set_yticks(list(places), names, fontsize=8)
    left.set_xlabel("share of the output's error (%)")
    for side, shift, color in (("isolated", 0.2, BLUE), ("accumulated", -0.2, GREY)):
        values = [min(max(getattr(layer, side).sqnr_db, 0.0), _TOP_DB) for layer in layers]
        right.barh([place + shift for place in places], values, 0.4, color=color, label=side)
    right.set_xlabel("SQNR of the layer (dB)")
    right.legend(loc="best", fontsize=8)
    shown = f" (the worst {len(layers)})" if len(layers) < len(comparison.layers) else ""
    figure.suptitle(f"Layers{shown} compared with float on {comparison.sample_count} samples")
    return svg_of(figure)


def figure_of(width: float, height: float) -> Any:  # noqa: ANN401 - matplotlib is optional
    """An empty figure, in inches. Raises GM717 without matplotlib."""
    if not can_plot():
        raise error(
            "GM717",
            "pictures need matplotlib, which is not installed",
            hint=installation.extra("plots"),
        )
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def svg_of(figure: Any) -> str:  # noqa: ANN401 - matplotlib is optional
    """The figure as text."""
    import matplotlib

    text = io.StringIO()
    with matplotlib.rc_context({"svg.hashsalt": "glowmcu", "svg.fonttype": "none"}):
        figure.savefig(text, format="svg", metadata={"Date": None, "Creator": None})
    return text.getvalue()
