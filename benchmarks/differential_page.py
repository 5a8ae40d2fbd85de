"""differential.json and differential.md: what random networks came to; nothing is typed by hand."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.differential_modes import WIDE_FROM
from benchmarks.differential_outcome import Outcome
from benchmarks.differential_ways import QUICK_FROM, THOROUGH
from glowmcu.report.tables import count

RECORD = Path(__file__).resolve().parent / "differential.json"
PAGE = RECORD.with_suffix(".md")

_HEAD = """# Random networks against TensorFlow Lite Micro

Written by `python -m benchmarks.differential` from `differential.json`; do not edit. Each seed is a
network of one to twelve random layers (operators, shapes, batches, scales, zero points, weights and
the wiring between them are drawn, with several inputs and outputs, shared weights and inputs that
are outputs) and a way to compile it: board, goal, modes. The bundle runs on this computer, and one
in eight on its board's emulated core as well. Outputs for two random inputs and two at the ends of
their range are compared in every byte. From seed 144 on one network in four has variables: fourteen
runs, each of which depends on those before.

Up to seed {last} gcc compiled every bundle, with all warnings as errors and one of five sets of
flags in equal parts, one of which stops at undefined behaviour. From there on it does so for one
seed in {share}, whose code the cross compiler measures, too; all others are compiled as on a
computer without cross compiler, with one vector in the self test instead of four, and run by the
Tiny C Compiler, which looks neither for warnings nor for undefined behaviour. From there on, too, a
network whose arena cannot be made smaller is compared with its other modes, not without any.

From seed {wide} on more than networks and more than half of the options are drawn. `--steps`: calls
of `NAME_run_steps` with random counts. `--cores 2`: in two threads, or in one that takes the second
core's turns first, and on two emulated cores; those of different kinds also behind caches that do
not show what the other one writes. `--prefetch`: with a DMA that copies at once and with one that
leaves garbage until the last moment. `--weights pointer`: the code of the network with its weights
in other places, given the right ones by `NAME_set_weights`. `--kernels`: any kernel that is
possible for each layer. `--train`: until something is learnt, in fixed point, a run is the
network's in every byte; then a step is the Python reference's. Windows that slide, states, bound
inputs and weights of four bits in the file are compared with TensorFlow Lite Micro; what is
quantized here with what it computes of the file that `glowmcu export` writes; pipelines with an
interpreter a stage; the rest with the Python reference, real numbers as `glowmcu verify` does, and
steps of learning in float32 within 0.1 % and a step of integers. Layers are shared and weights
copied in 70 % of the cases though it saves nothing. `benchmarks/differential_options.py` says why
an option is not drawn. RISC-V cores are emulated, too.
"""


@dataclass
class Ledger:
    """What is recorded so far: seeds below `next_seed`, without holes.

    `counts` has, by kind ("board", "goal", "mode", "operator", "executor", "compiler", "refused",
    "unmet"), how many bundles each name was part of. `failures` are sentences by seed, `mended`
    those of seeds whose outputs were right when they were run again.
    """

    next_seed: int = 0
    bundles: int = 0
    inputs: int = 0
    counts: dict[str, dict[str, int]] = field(default_factory=dict)
    failures: dict[str, str] = field(default_factory=dict)
    mended: dict[str, str] = field(default_factory=dict)

    @classmethod
    def stored(cls) -> Ledger:
        """What the record has; an empty ledger without one."""
        if not RECORD.is_file():
            return cls()
        return cls(**json.loads(RECORD.read_text(encoding="utf-8")))

    def add(self, outcome: Outcome) -> None:
        """The outcome of `next_seed`."""
        assert outcome.seed == self.next_seed, "the ledger has no holes"
        self.next_seed += 1
        if outcome.refused:
            self._count("refused", [outcome.refused])
            return
        self.bundles += 1
        self.inputs += outcome.inputs
        self._count("board", [outcome.board])
        self._count("goal", [outcome.goal])
        self._count("mode", outcome.modes or ["none"])
        self._count("operator", outcome.operators)
        self._count("executor", outcome.executors)
        self._count("compiler", [outcome.compiler] if outcome.compiler else [])
        self._count("oracle", [outcome.oracle] if outcome.oracle else [])
        self._count("unmet", outcome.unmet.split(", ") if outcome.unmet else [])
        if outcome.failure:
            self.failures[str(outcome.seed)] = outcome.failure

    def mend(self, outcome: Outcome) -> None:
        """A seed that failed was run again: what it says now, or that it is right."""
        before = self.failures.pop(str(outcome.seed))
        if outcome.failure:
            self.failures[str(outcome.seed)] = outcome.failure
        else:
            self.mended[str(outcome.seed)] = before

    def store(self) -> None:
        """Write record and page."""
        ordered = {kind: dict(sorted(names.items())) for kind, names in sorted(self.counts.items())}
        data = {
            "next_seed": self.next_seed, "bundles": self.bundles, "inputs": self.inputs,
            "counts": ordered, "failures": self.failures,
            "mended": self.mended,
        }  # fmt: skip
        RECORD.write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")
        PAGE.write_text(page(self), encoding="utf-8")

    def _count(self, kind: str, names: Iterable[str]) -> None:
        counts = Counter(self.counts.get(kind, {}))
        counts.update(names)
        self.counts[kind] = dict(counts)


def page(ledger: Ledger) -> str:
    """The record for a reader."""
    executors = ledger.counts.get("executor", {})
    on_cores = sum(times for name, times in executors.items() if not _is_host(name))
    lines = [
        _HEAD.format(last=count(QUICK_FROM - 1), share=THOROUGH, wide=count(WIDE_FROM)),
        f"**{count(ledger.bundles)} bundles compared, {count(len(ledger.failures))} "
        f"different or refused.** {count(ledger.inputs)} sets of inputs; "
        f"{count(on_cores)} bundles ran on an emulated core, too. "
        f"Seeds 0 to {count(ledger.next_seed - 1)}; {_left_out(ledger)}",
        "",
    ]
    for kind, title in (
        ("goal", "--optimize"), ("mode", "mode"), ("board", "board"), ("operator", "operator"),
        ("unmet", "request that could not be met; compiled without"),
        ("oracle", f"compared with, from seed {count(WIDE_FROM)} on"),
        ("executor", "ran on"),
        ("compiler", f"compiler on this computer, from seed {count(QUICK_FROM)} on"),
    ):  # fmt: skip
        counts = ledger.counts.get(kind, {})
        lines += _table(title, counts) if counts else []
    for seed, text in ledger.failures.items():
        lines += [f"Seed {seed}:", "", "```", text.strip(), "```", ""]
    if ledger.mended:
        lines += ["Found here, mended since, and right when run again:", ""]
        for seed, text in ledger.mended.items():
            # Of a traceback the line that names the error.
            lines.append(f"- seed {seed}: {text.strip().splitlines()[-1].strip()}")
        lines.append("")
    return "\n".join(lines)


def _is_host(executor: str) -> bool:
    """Whether it is this computer, in some way."""
    return executor.startswith("host")


def _left_out(ledger: Ledger) -> str:
    """What there was nothing to compare of."""
    refused = dict(ledger.counts.get("refused", {}))
    ours = {name: times for name, times in sorted(refused.items()) if name.startswith("GM")}
    theirs = sum(refused.values()) - sum(ours.values())
    said = f"{count(theirs)} networks are not taken by TensorFlow Lite Micro and were left out"
    if not ours:
        return f"{said}."
    named = ", ".join(f"{name} {count(times)}" for name, times in ours.items())
    return f"{said}, {count(sum(ours.values()))} were refused for what was asked of them ({named})."


def _table(title: str, counts: Mapping[str, int]) -> list[str]:
    rows = [f"| {name} | {count(times)} |" for name, times in sorted(counts.items())]
    return [f"| {title} | bundles |", "|---|---:|", *rows, ""]
