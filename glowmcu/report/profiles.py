"""What `glowmcu profile` shows: the range of every tensor."""

from __future__ import annotations

from pathlib import Path

from rich.markup import escape
from rich.table import Table

from glowmcu.quant.profile import Profile, TensorProfile
from glowmcu.report.tables import plain_table


def profile_table(profile: Profile) -> Table:
    """One line a tensor. `its steps`: how many of int8's 256 lie within a standard deviation; few
    mean that rare large values cost the common ones their precision. `quietest`: the reach of the
    quietest channel as a share of the loudest one's; if it is small, `--equalize` may help.
    """
    headings = ("low", "high", "mean", "deviation", "its steps", "quietest", "shape", "tensor")
    table = plain_table("", *((heading, "r") for heading in headings[:6]), ("shape", "r"),
                        ("tensor", "l"), dispensable=["mean", "deviation", "shape"])  # fmt: skip
    for name, tensor in profile.tensors.items():
        table.add_row(*_row(name, tensor))
    return table


def _row(name: str, tensor: TensorProfile) -> tuple[str, ...]:
    numbers = (tensor.low, tensor.high, tensor.mean, tensor.deviation)
    quietest = tensor.quietest_share
    return (
        *(f"{value:.4g}" for value in numbers), f"{tensor.int8_steps:.0f}",
        "-" if quietest is None else f"{100 * quietest:.0f} %",
        "x".join(map(str, tensor.shape)), escape(name),
    )  # fmt: skip


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
                "deviation": tensor.deviation,
            }
            for name, tensor in profile.tensors.items()
        ],
    }
