"""`python -m benchmarks.stack_bounds`: stated bounds of the stack against linked programs.

The models of MLPerf Tiny at every goal and random bundles, on every core that was measured: what
each entry point takes, by its machine code, is at most what the bundle says. Tests do a part.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.models import MODELS
from benchmarks.random_bundles import random_bundle
from benchmarks.stack_frames import entry_functions, walked
from glowmcu.compilation import Compilation, Options
from glowmcu.cores import core
from glowmcu.goals import Goal
from glowmcu.kernels.selection.stack_table import measured_cores
from glowmcu.pipeline import compile_model

#: A bound may exceed what is walked by this factor and these bytes: on RISC-V frames are multiples
#: of 16, so that a sum of frames exceeds the largest by more.
SLACK, SLACK_BYTES, SLACK_RISCV = 2, 64, 96
_FIRST_SEED = 1000
#: Entry points of which a bound may not exceed what is walked by more.
_TIGHT = ("run", "infer", "push", "steps", "check")


def outside_bounds(
    compilation: Compilation, core_name: str, folder: Path, slack: float = SLACK
) -> list[str]:
    """Entry points that take more than the bundle says, or far less."""
    found, costs = walked(compilation, core_name, folder), compilation.manifest.costs
    wrong = []
    more = SLACK_RISCV if core(core_name).is_riscv else SLACK_BYTES
    for entry, function in entry_functions(compilation).items():
        depth, bound = found.depth(function), costs.stack_bytes[function]
        loose = bound > slack * depth + more and entry in _TIGHT
        if depth > bound or loose:
            wrong.append(f"{function}: walked {depth}, said {bound}")
    return wrong


def random_outside(core_name: str, count: int, folder: Path) -> tuple[int, list[str]]:
    """How many of `count` random bundles state a bound, and which of those are below the truth."""
    stated, wrong = 0, []
    for seed in range(_FIRST_SEED, _FIRST_SEED + count):
        made = random_bundle(seed, core_name, steps=seed % 4 == 0)
        if made.compilation.manifest.costs.stack_bytes:
            stated += 1
            place = folder / f"{core_name}_{seed}"
            found = outside_bounds(made.compilation, core_name, place, slack=float("inf"))
            wrong += [f"{made.text}: {text}" for text in found]
    return stated, wrong


def model_outside(path: Path, core_name: str, goal: Goal, folder: Path) -> list[str]:
    """Entry points of one model, as `outside_bounds` names them."""
    options = Options(path.stem, core=core_name, goal=goal)
    compilation = compile_model(path.read_bytes(), path.name, options)
    return outside_bounds(compilation, core_name, folder / f"{path.stem}_{core_name}_{goal.value}")


def _everything(cores: list[str], bundles: int, folder: Path) -> Iterator[tuple[str, list[str]]]:
    for core_name in cores:
        for goal in Goal:
            for path in (model.path for model in MODELS):
                wrong = model_outside(path, core_name, goal, folder)
                yield f"{core_name}, {goal.value}, {path.stem}", wrong
        stated, wrong = random_outside(core_name, bundles, folder)
        yield f"{core_name}, {stated} of {bundles} random bundles", wrong


def main() -> None:
    """A line each; exit code 1 where a bound does not hold."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.stack_bounds")
    parser.add_argument("--core", action="append", choices=measured_cores())
    parser.add_argument("--bundles", type=int, default=24, help="random ones a core")
    given = parser.parse_args()
    failed = False
    with tempfile.TemporaryDirectory() as work:
        cores = given.core or list(measured_cores())
        for what, wrong in _everything(cores, given.bundles, Path(work)):
            print(what, "; ".join(wrong) or "holds", flush=True)
            failed |= bool(wrong)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
