"""What `glowmcu profile` shows: the range of every tensor."""

from __future__ import annotations

import math
from pathlib import Path

from rich.markup import escape
from rich.table import Table

from glowmcu.quant.profile import Profile, TensorProfile
from glowmcu.report.tables import plain_table


def profile_table(profile: Profile) -> Table:
    """One line a tensor. Few of int8's 256 steps in a standard deviation mean that rare large
    values cost the common ones their precision; a quiet channel has few steps beside a loud one.
    """
    table = plain_table(
        "", ("tensor", "l"), ("shape", "l"), ("low", "r"), ("high", "r"), ("mean", "r"),
        ("deviation", "r"), ("steps a deviation", "r"), ("quietest channel", "r"),
    )  # fmt: skip
    for name, tensor in profile.tensors.items():
        table.add_row(
            escape(name[:48]), "x".join(map(str, tensor.shape)), f"{tensor.low:.5g}",
            f"{tensor.high:.5g}", f"{tensor.mean:.5g}", f"{_deviation(tensor):.5g}",
            f"{_steps(tensor):.0f}", _quietest(tensor),
        )  # fmt: skip
    return table


def _deviation(tensor: TensorProfile) -> float:
    return math.sqrt(tensor.variance)


def _steps(tensor: TensorProfile) -> float:
    span = max(tensor.high, 0.0) - min(tensor.low, 0.0)
    return 255 * _deviation(tensor) / span if span else 0.0


def _quietest(tensor: TensorProfile) -> str:
    """Largest magnitude of the channel where it is least, as a share of where it is greatest."""
    if tensor.channels is None:
        return "-"
    reach = [
        max(abs(float(low)), abs(float(high)))
        for low, high in zip(tensor.channels.low, tensor.channels.high, strict=True)
    ]
    loudest = max(reach)
    return f"{100 * min(reach) / loudest:.0f} %" if loudest else "-"


def profile_json(profile: Profile, file: Path) -> dict[str, object]:
    """The same as data; histograms are in the file."""
    return {
        "file": str(file),
        "model_sha256": profile.model_sha256,
        "samples": profile.sample_count,
        "tensors": [
            {
                "name": name,
                "shape": list(tensor.shape),
                "low": tensor.low,
                "high": tensor.high,
                "mean": tensor.mean,
                "deviation": _deviation(tensor),
            }
            for name, tensor in profile.tensors.items()
        ],
    }
