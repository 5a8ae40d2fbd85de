"""zoo.md from zoo.json: no figure in it is typed by hand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from glowmcu.quality import LOW_SQNR_DB
from glowmcu.report.tables import count


@dataclass(frozen=True)
class Row:
    """`nodes` are those of the ONNX file, `layers` those that were compiled, `float_layers` those
    of them that compute in float. `cycles` are estimated. `warned` is what the compiler warned of.
    """

    name: str
    nodes: int
    refusal: str
    kernels: str
    layers: int = 0
    float_layers: list[str] = field(default_factory=list)
    sqnr_db: float | None = None
    warned: list[str] = field(default_factory=list)
    arena_bytes: int = 0
    constants_bytes: int = 0
    cycles: int | None = None
    macs: int = 0


_HEAD = """# Architectures on microcontrollers

Written by `python -m benchmarks.zoo --record` from `zoo.json`; do not edit. Small networks of the
architectures that people put on microcontrollers (`benchmarks/zoo_networks`: PyTorch, random
seeded weights, batch norms with statistics of seeded data), exported by `torch.onnx`, quantized
to int8 with seeded samples and compiled for a Cortex-M4 at `--optimize balanced`. *SQNR* is of
int8 outputs against float on samples held back from calibration; cycles are estimated. As nothing
was trained, it tells how a network of this form is quantized, not how well one that was trained is.

{measured} of {all} networks were measured: {refused} refused, {floats} with layers in float,
{low} below {low_db:g} dB.

"""


def page(rows: Sequence[Row], networks: int) -> str:
    """The whole file."""
    refused = [row for row in rows if row.refusal]
    low = [row for row in rows if row.sqnr_db is not None and row.sqnr_db < LOW_SQNR_DB]
    text = _HEAD.format(
        measured=len(rows), all=networks, refused=len(refused), low=len(low), low_db=LOW_SQNR_DB,
        floats=sum(bool(row.float_layers) for row in rows),
    )  # fmt: skip
    head = ["network", "ONNX nodes", "layers", "in float", "SQNR dB", "arena B", "constants B",
            "M cycles", "M MACs"]  # fmt: skip
    rule = ["---", *["---:"] * (len(head) - 1)]
    cells = [_cells(row) for row in rows if not row.refusal]
    text += "".join(f"| {' | '.join(line)} |\n" for line in (head, rule, *cells))
    for title, lines in (
        ("Refused", [f"{row.name}: {' '.join(row.refusal.split())}" for row in refused]),
        (f"Below {LOW_SQNR_DB:g} dB", [f"{row.name}: {_warning(row)}" for row in low]),
    ):
        if lines:
            text += f"\n## {title}\n\n" + "".join(f"- {line}\n" for line in lines)
    return text


def _warning(row: Row) -> str:
    return f"{row.sqnr_db} dB; " + ("; ".join(row.warned) or "the compiler does not warn")


def _cells(row: Row) -> list[str]:
    return [
        row.name, count(row.nodes), count(row.layers), count(len(row.float_layers)),
        "-" if row.sqnr_db is None else f"{row.sqnr_db:.1f}", count(row.arena_bytes),
        count(row.constants_bytes), "-" if row.cycles is None else f"{row.cycles / 1e6:.3f}",
        f"{row.macs / 1e6:.3f}",
    ]  # fmt: skip
