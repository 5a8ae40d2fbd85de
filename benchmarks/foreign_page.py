"""foreign.md from foreign.json: no figure of ours in it is typed by hand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from glowmcu.memory_fit import RAM_SLOWDOWN
from glowmcu.report.tables import count

MCUNET, CHAIN = "MCUNet vww", "MCUNet vww as a chain"


@dataclass(frozen=True)
class Row:
    """Sizes in bytes. `extra_macs`, in the halos of strips, are among `macs`. `inputs` were
    compared with the oracle on this computer and on the core; `different` differed on either.
    """

    model: str
    goal: str
    input: str
    macs: int
    extra_macs: int
    arena_bytes: int
    arena_lower_bound_bytes: int
    arena_optimal: bool
    cycles: int
    stack_bytes: int
    code_bytes: int
    tflm_tensors_bytes: int
    tflm_total_bytes: int
    inputs: int
    different: int
    kernels: str


@dataclass(frozen=True)
class Published:
    """A plan of msf-CNN: bytes by its analysis, what its result files call `peak_mem_usage`, and
    how many times the network's multiply-accumulates it makes.

    Source: arXiv 2505.11483 and the result files of github.com/TinyPART/msf-CNN,
    `MCUNetv2-vww-5fps-r80`.
    """

    analysed_bytes: int
    peak_bytes: int
    factor: float


MSF_CNN = (
    Published(32_792, 45_283, 1.0385), Published(26_128, 26_240, 1.1131),
    Published(17_760, 20_568, 1.2956), Published(13_376, 17_904, 1.3453),
    Published(12_000, 15_368, 1.9567),
)  # fmt: skip
TINY_ENGINE_BYTES = 93_992

_HEAD = """# Networks that nobody tuned for

Written by `python -m benchmarks.foreign` from `foreign.json`; do not edit. Networks with random
int8 weights (`benchmarks/foreign_models.py`: realistic sizes; `tests/memplan/foreign_models.py`:
small ones of more kinds), compiled for a Cortex-M4 at `--optimize balanced` and `ram`, which takes
the smallest arena within {slowdown} times the cycles of a plan without any such aim. The arena is
everything: inputs, outputs, scratch; *reached* is an arena as large as its lower bound, which is of
the plan's order and rows. Cycles are of the modelled core (zero wait states).

TensorFlow Lite Micro's figures are its interpreter's own (`RecordingMicroAllocator`), for the same
file with reference kernels on a 64-bit computer: *tensors* are those alive together and scratch,
*all* has the interpreter's structures as well, whose pointers are larger there than on a
microcontroller. *Differ* are inputs with any output byte unlike TensorFlow Lite Micro's, of those
compared on this computer and on the core: three random ones, only -128, only 127 and only the zero
point.

"""
_MCUNET_HEAD = """
## MCUNet's network for visual wake words

`mcunet-5fps_vww`, 80x80, built from its published layers with random weights
(`benchmarks/mcunet.py`); TinyEngine's buffers for it are {tiny_engine} B. The input, 19 200 B, is
in the arena, *pushed* row by row or *outside* (`--outside-input`: strips then compute some columns
twice). The *chain* has neither residual sums nor what follows the last block: so msf-CNN's analysis
has the network, with as many multiply-accumulates.

"""
_MSF_HEAD = """
msf-CNN (arXiv 2505.11483), its input not counted, nor operands of residual sums: bytes by its
analysis, `peak_mem_usage` in its result files, and multiply-accumulates beyond the network's. The
last columns are the smallest arena here with no more of these, input not in the arena.

"""


def page(compiler: str, rows: Sequence[Row]) -> str:
    """The whole file."""
    foreign = [row for row in rows if row.model not in (MCUNET, CHAIN)]
    mcunet = [row for row in rows if row.model in (MCUNET, CHAIN)]
    head = ["network", "--optimize", "arena B", "lower bound B", "TFLM tensors B", "TFLM all B",
            "M cycles", "cycles/MAC", "stack B", "code B", "differ"]  # fmt: skip
    text = _HEAD.format(slowdown=RAM_SLOWDOWN) + f"Compiler: {compiler}.\n\n"
    text += _table(head, [_foreign(row) for row in foreign], 2)
    if mcunet:
        head = ["network", "--optimize", "input", "arena B", "lower bound B", "TFLM tensors B",
                "M cycles", "M MACs", "MACs again", "stack B", "code B", "differ"]  # fmt: skip
        text += _MCUNET_HEAD.format(tiny_engine=count(TINY_ENGINE_BYTES))
        text += _table(head, [_mcunet(row) for row in mcunet], 3)
        text += _MSF_HEAD + _curve(mcunet)
    return text


def _foreign(row: Row) -> list[str]:
    return [
        row.model, row.goal, count(row.arena_bytes), _bound(row), count(row.tflm_tensors_bytes),
        count(row.tflm_total_bytes), f"{row.cycles / 1e6:.3f}", f"{row.cycles / row.macs:.2f}",
        count(row.stack_bytes), count(row.code_bytes), f"{row.different} of {row.inputs}",
    ]  # fmt: skip


def _mcunet(row: Row) -> list[str]:
    return [
        row.model, row.goal, row.input, count(row.arena_bytes), _bound(row),
        count(row.tflm_tensors_bytes), f"{row.cycles / 1e6:.3f}", f"{row.macs / 1e6:.3f}",
        _again(row), count(row.stack_bytes), count(row.code_bytes),
        f"{row.different} of {row.inputs}",
    ]  # fmt: skip


def _bound(row: Row) -> str:
    return count(row.arena_lower_bound_bytes) + (" (reached)" if row.arena_optimal else "")


def _again(row: Row) -> str:
    return f"+{100 * _overhead(row):.1f} %" if row.extra_macs else "0"


def _overhead(row: Row) -> float:
    return row.extra_macs / (row.macs - row.extra_macs)


def _curve(rows: Sequence[Row]) -> str:
    """A line a plan of msf-CNN."""
    head = ["MACs again", "msf-CNN B", "its peak_mem_usage B", f"{MCUNET}, B", f"{CHAIN}, B"]
    lines = []
    for plan in MSF_CNN:
        line = [f"+{100 * (plan.factor - 1):.0f} %", count(plan.analysed_bytes)]
        line.append(count(plan.peak_bytes))
        for model in (MCUNET, CHAIN):
            line.append(count(smallest(rows, model, plan.factor - 1)))
        lines.append(line)
    return _table(head, lines, 0)


def smallest(rows: Sequence[Row], model: str, overhead: float) -> int | None:
    """The smallest arena that the input is no part of, at no more such overhead."""
    found = [
        row.arena_bytes
        for row in rows
        if row.model == model and row.input != "arena" and _overhead(row) <= overhead
    ]
    return min(found, default=None)


def _table(head: Sequence[str], rows: Sequence[Sequence[str]], texts: int) -> str:
    rule = ["---" if column < texts else "---:" for column in range(len(head))]
    return "".join(f"| {' | '.join(line)} |\n" for line in (head, rule, *rows))
