"""The models on every core, by every goal, against TensorFlow Lite Micro.

    python -m benchmarks.equality [--core C] [--goal G] [--model M]

Each is compiled for a board with the core; the outputs of the host's build and of the emulator are
compared with the oracle in every byte. Results go to equality.json, and so to equality.md.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

import glowmcu
from benchmarks.kernel_sources import kernel_sources_digest, list_sources
from benchmarks.models import MODELS, TARGETS, Model, Target
from glowmcu.goals import Goal
from glowmcu.verify.measurement import Array
from glowmcu.verify.modelled import modelled_core
from glowmcu.verify.verification import random_inputs
from tests.support.oracle import Session, open_tflm

RECORD = Path(__file__).resolve().parent / "equality.json"
PAGE = RECORD.with_suffix(".md")
_RANDOM = 3
_HEAD = """# Equality on every core

Written by `python -m benchmarks.equality` from `equality.json`; do not edit. Every output byte of
the generated C against TensorFlow Lite Micro's interpreter: on this computer and on the emulated
core (Unicorn; the M55 in QEMU), for three random inputs, only -128, only 127 and only the zero
point. A cell is inputs that differ, of inputs compared on both.

"""


@dataclass(frozen=True)
class Equality:
    """Inputs compared, on the host and on the core, and how many of them differed on either."""

    model: str
    core: str
    goal: str
    inputs: int
    different: int
    kernels: str


def compare(model: Model, target: Target, goal: str) -> Equality:
    """Compile for the target's board and compare all outputs with the oracle's."""
    with tempfile.TemporaryDirectory() as work:
        bundle = glowmcu.compile(
            model.path, board=target.board, output=Path(work) / "b", name=model.name, optimize=goal
        )
        inputs, different = count_different(bundle, open_tflm(model.path.read_bytes()), target)
    return Equality(model.name, target.core, goal, inputs, different, kernel_sources_digest())


def count_different(bundle: glowmcu.Bundle, oracle: Session, target: Target) -> tuple[int, int]:
    """Inputs compared, on the host and on the core, and how many of them differed on either."""
    inputs = _inputs(bundle)
    wanted = [[output.tobytes() for output in oracle(arrays)] for arrays in inputs]
    core = modelled_core(target.core, count=False)
    runs = [bundle.measure_all(inputs, on="host"), core.run(bundle.path, inputs)]
    different = sum(
        any([output.tobytes() for output in run[number].outputs] != want for run in runs)
        for number, want in enumerate(wanted)
    )
    return len(inputs), different


def _inputs(bundle: glowmcu.Bundle) -> list[list[Array]]:
    entries = bundle.manifest.inputs
    found = [list(arrays) for arrays in random_inputs(bundle.manifest, _RANDOM, 5)]
    for fill in (-128, 127, None):
        found.append(
            [np.full(e.shape, e.zero_point if fill is None else fill, e.dtype) for e in entries]
        )
    return found


def stored() -> list[Equality]:
    """What is recorded."""
    if not RECORD.is_file():
        return []
    return [Equality(**row) for row in json.loads(RECORD.read_text(encoding="utf-8"))]


def record(fresh: Equality) -> None:
    """Put one result in the place of the one before and write the page again."""
    found = {(row.model, row.core, row.goal): row for row in (*stored(), fresh)}
    rows = sorted(found.values(), key=_order)
    lines = ",\n".join(f" {json.dumps(asdict(row))}" for row in rows)
    RECORD.write_text(f"[\n{lines}\n]\n", encoding="utf-8")
    PAGE.write_text(page(rows), encoding="utf-8")


def _order(row: Equality) -> tuple[int, int, int]:
    return (
        [model.name for model in MODELS].index(row.model),
        [target.core for target in TARGETS].index(row.core),
        [goal.value for goal in Goal].index(row.goal),
    )


def page(rows: Sequence[Equality]) -> str:
    """The whole file."""
    cores = [target.core for target in TARGETS]
    lines = [
        f"| model | --optimize | {' | '.join(cores)} |",
        f"|---|---|{'---:|' * len(cores)}",
    ]
    cells = {(row.model, row.goal, row.core): f"{row.different} of {row.inputs}" for row in rows}
    for model, goal in dict.fromkeys((row.model, row.goal) for row in rows):
        line = [cells.get((model, goal, core), "") for core in cores]
        lines.append(f"| {model} | {goal} | {' | '.join(line)} |")
    return _HEAD + "\n".join(lines) + "\n"


def main() -> None:
    """Exit code 1 when anything differs from the oracle."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.equality")
    parser.add_argument("--core", action="append")
    parser.add_argument("--goal", action="append", choices=[goal.value for goal in Goal])
    parser.add_argument("--model", action="append")
    given = parser.parse_args()
    list_sources()
    failed = False
    for goal in given.goal or [goal.value for goal in Goal]:
        for target in TARGETS:
            for model in MODELS:
                wanted = not given.core or target.core in given.core
                if wanted and (not given.model or model.name in given.model):
                    found = compare(model, target, goal)
                    print(f"{model.name} {target.core} {goal}: {found.different} of {found.inputs}"
                          " differ", flush=True)  # fmt: skip
                    failed |= bool(found.different)
                    record(found)
    raise SystemExit(1 if failed else 0)


if __name__ == "__main__":
    main()
