"""`python -m benchmarks.stack_table`: measure stacks, write the stack tables
(glowmcu/kernels/selection/stack_tables).

Layers of every variant are compiled into programs of their own, alone and a few together, whole and
by rows; the machine code is walked (`stack_walk.py`) and the greatest of each function is kept.
Then the same of what calls them, in random bundles. `--core` renews one and keeps the rest;
`--variant` adds kernels that are new, and measures again those that alone use what has changed.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import product
from pathlib import Path
from typing import Any

from benchmarks.__main__ import compiler_version
from benchmarks.calibrate import may_compute
from benchmarks.calibration_layers import KINDS
from benchmarks.kernel_sources import (
    changed_since,
    kernel_sources_digest,
    list_sources,
    variants_of,
)
from benchmarks.random_bundles import random_bundle
from benchmarks.random_layers import random_model
from benchmarks.stack_coverage import acceptable
from benchmarks.stack_frames import frames, nothing_taken, walked
from benchmarks.stack_models import other_models, scans, several, singles
from benchmarks.stack_steps import StepStack, Which, step_stacks
from benchmarks.sweep_image import Model, imported_graph, parts_of
from benchmarks.sweep_page import stored
from glowmcu.compilation import Compilation, Options
from glowmcu.cores import core
from glowmcu.errors import GlowmcuError
from glowmcu.goals import Goal
from glowmcu.input_options import InputOptions
from glowmcu.interface_options import InterfaceOptions
from glowmcu.ir.operation import Rounding
from glowmcu.kernels.kernel import load_kernels
from glowmcu.kernels.selection.stack_table import (
    MEASURED_FILE,
    optimization,
    read_table,
    table_file,
)
from glowmcu.lowering.passes import lower
from glowmcu.pipeline import compile_model
from glowmcu.stack_use import CoreStacks, FrameStacks, KernelStack, KernelUse, greatest
from glowmcu.verify import toolchain

CORES = (
    "cortex-m0plus", "cortex-m3", "cortex-m4", "cortex-m7", "cortex-m33", "cortex-m55",
    "hazard3", "rv32imac",
)  # fmt: skip
#: Cores whose kernels the sweep draws layers for under another name.
_SWEPT_AS = {"rv32imac": "hazard3"}
Kernels = dict[str, dict[str, KernelUse]]
GOALS = (Goal.BALANCED, Goal.SIZE)
#: So many layers of a variant are compiled alone, and some more until each of its functions was.
_LEAST_ALONE, _MOST_ALONE = 2, 6
_ALONE = (Which.WHOLE, Which.ROWS)
_BUNDLES = 16
_DIGITS = Path(__file__).parents[1] / "examples" / "digits" / "digits_int8.tflite"
#: Variants of types that no sample of a calibration has.
_NEVER_CALIBRATED = ("_s16", "_u8")


@dataclass(frozen=True)
class Job:
    """A model for a core, with the variant wherever that accepts a layer; where it has none, with
    whatever is chosen.
    """

    core: str
    variant: str
    model: Model
    rounding: Rounding = Rounding.DOUBLE
    which: tuple[Which, ...] = (Which.ALL,)


def jobs(core_name: str, goal: Goal, chosen: Sequence[str]) -> Iterator[Job]:
    """Programs of several layers; with single rounding at the usual optimization only. Where
    variants are `chosen`, theirs and those of which nobody knows before what they need.
    """
    for entry in stored():
        if not _draws_for(entry.core, core_name) or (chosen and entry.variant not in chosen):
            continue
        together = random_model(entry.family, entry.seed, entry.first)
        yield Job(core_name, entry.variant, together)
        if goal is not Goal.SIZE:
            yield Job(core_name, entry.variant, together, Rounding.SINGLE)
    for kind in KINDS:
        names = [name for name in _unswept() if may_compute(name, kind)]
        names = [name for name in names if not chosen or name in chosen]
        yield from (Job(core_name, name, several(kind)) for name in names)
    for model in other_models():
        if not chosen or _has_operations_of(chosen, model):
            yield Job(core_name, "", model)
    for data in scans():
        yield Job(core_name, "arg_extreme.portable", data)


def _draws_for(swept: str, core_name: str) -> bool:
    return swept == _SWEPT_AS.get(core_name, core_name)


def _has_operations_of(chosen: Sequence[str], model: Model) -> bool:
    """Whether a chosen variant may compute any node of the model."""
    graph = lower(imported_graph(model))
    kernels = (k for node in graph.nodes for k in load_kernels().get(type(node.op), ()))
    return not {k.name for k in kernels}.isdisjoint(chosen)


@cache
def _unswept() -> tuple[str, ...]:
    """Variants that no sweep has, but calibration may."""
    swept = {entry.variant for entry in stored()}
    names = {k.name for found in load_kernels().values() for k in found} - swept
    return tuple(sorted(name for name in names if not name.endswith(_NEVER_CALIBRATED)))


def steps(job: Job, goal: Goal) -> list[StepStack]:
    """What the job's steps take; nothing of a model that has no kernels on the core."""
    try:
        parts = parts_of(job.model, job.core, job.variant, goal, job.rounding)
    except GlowmcuError:
        return []
    found: list[StepStack] = []
    for which in job.which:
        with tempfile.TemporaryDirectory(prefix="glowmcu-stack-") as folder:
            found += step_stacks(parts, job.core, goal, Path(folder), which)
    return found


def layers_alone(core_name: str) -> Iterator[tuple[str, Callable[[], Model]]]:
    """Variants, and what makes a model of a layer for each: of every variant several."""
    for entry in stored():
        if _draws_for(entry.core, core_name):
            for number in entry.first:
                yield entry.variant, partial(random_model, entry.family, entry.seed, [number])
    for kind in KINDS:
        for name in _unswept():
            if may_compute(name, kind):
                yield from ((name, make) for make in singles(kind))


def kernels(core_name: str, goal: Goal, chosen: Sequence[str] = ()) -> Kernels:
    """The greatest of every function, or of those of the `chosen` variants."""
    found: Kernels = {}
    for job in jobs(core_name, goal, chosen):
        _add(found, steps(job, goal))
    done: Counter[str] = Counter()
    for variant, make in layers_alone(core_name):
        if chosen and variant not in chosen:
            continue
        uses = found.get(variant, {}).values()
        wanted = _MOST_ALONE if any(use.once is None for use in uses) else _LEAST_ALONE
        if done[variant] < wanted:
            done[variant] += 1
            _add(found, steps(Job(core_name, variant, make(), which=_ALONE), goal))
    for variant, model in acceptable(core_name).items():
        if variant not in found and (not chosen or variant in chosen):
            _add(found, steps(Job(core_name, variant, model), goal))
    return {name: kinds for name, kinds in found.items() if not chosen or name in chosen}


def _add(found: Kernels, stacks: Iterable[StepStack]) -> None:
    for item in stacks:
        kinds = found.setdefault(item.kernel.variant, {})
        use = kinds.get(item.kernel.kind, KernelUse())
        if item.kernel.is_called_once:
            use = replace(use, once=greatest(item.stack, *filter(None, [use.once])))
        else:
            use = replace(use, often=greatest(item.stack, *filter(None, [use.often])))
        kinds[item.kernel.kind] = use


def caller_frames(
    core_name: str, goal: Goal, known: Mapping[str, Mapping[str, KernelUse]]
) -> dict[str, int]:
    """The greatest of every caller in bundles at the goal's optimization."""
    most = nothing_taken()
    table = CoreStacks("", FrameStacks(**most), known)
    for compilation in _bundles(core_name, goal):
        with tempfile.TemporaryDirectory(prefix="glowmcu-stack-") as folder:
            found = walked(compilation, core_name, Path(folder))
            taken = frames(compilation, found, table)
        most = {name: max(size, taken[name]) for name, size in most.items()}
    return most


def _bundles(core_name: str, goal: Goal) -> Iterator[Compilation]:
    """A network whose input is streamed, the same in steps, and random ones."""
    for inputs, in_steps in ((InputOptions(streamed=("pixels",)), False), (InputOptions(), True)):
        interface = InterfaceOptions(steps=in_steps)
        options = Options("net", core=core_name, goal=goal, inputs=inputs, interface=interface)
        yield compile_model(_DIGITS.read_bytes(), "digits.tflite", options)
    for seed in range(_BUNDLES):
        compilation = random_bundle(seed, core_name, steps=seed % 3 == 0).compilation
        if optimization(Goal(compilation.manifest.options["optimize"])) == optimization(goal):
            yield compilation


def _sizes(stack: KernelStack | None) -> list[int] | None:
    return None if stack is None else [stack.called_bytes, stack.inlined_bytes]


def row(core_name: str, goal: Goal, chosen: Sequence[str] = ()) -> dict[str, Any]:
    """What the table says of a core at an optimization; of `chosen` variants those alone."""
    known = kernels(core_name, goal, chosen)
    sizes = {
        variant: {
            kind: [_sizes(use.once), _sizes(use.often)] for kind, use in sorted(kinds.items())
        }
        for variant, kinds in sorted(known.items())
    }
    if chosen:
        return {"kernels": sizes}
    return {"frames": caller_frames(core_name, goal, known), "kernels": sizes}


def _store_chosen(core_name: str, rows: Mapping[str, Any]) -> None:
    """Some variants anew; what is known of the others stays, and is as old as it is."""
    table = read_table(table_file(core_name))
    for name, found in rows.items():
        table[name]["kernels"] |= found["kernels"]
    _write(table_file(core_name), table)
    _write(MEASURED_FILE, {**read_table(MEASURED_FILE), "sources": kernel_sources_digest()})


def _write(path: Path, table: Mapping[str, Any]) -> None:
    path.write_text(json.dumps(table, indent=1, sort_keys=True) + "\n", encoding="utf-8")


def _expect_others_of_today(chosen: Sequence[str], cores: Sequence[str]) -> None:
    """What changed since the table was written concerns the `chosen` variants alone."""
    table = read_table(MEASURED_FILE)
    changed = changed_since(table["sources"])
    same = table["compiler"] == compiler_version() and changed is not None
    assert same, "the others are of another compiler or of unknown kernels: measure all of them"
    others = variants_of(changed or ()) - set(chosen)
    assert not others, f"{sorted(changed or ())} changed: measure {sorted(others)}, too"
    assert not changed or set(cores) == set(CORES), "of what changed all cores must be measured"


def _store(core_name: str, rows: Mapping[str, Any]) -> None:
    """What no bundle had at one optimization is as at the other."""
    for one, other in (("-O2", "-Os"), ("-Os", "-O2")):
        for name, size in rows[one]["frames"].items():
            rows[one]["frames"][name] = size or rows[other]["frames"][name]
    compilers = read_table(MEASURED_FILE)["compilers"]
    if core(core_name).is_riscv:
        compilers[core_name] = toolchain.compiler_version(core(core_name).flags)
    measured = {"compiler": compiler_version(), "sources": kernel_sources_digest()}
    _write(MEASURED_FILE, {**measured, "compilers": compilers})
    _write(table_file(core_name), rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--core", action="append", choices=CORES, help="repeatable")
    parser.add_argument("--jobs", type=int, default=2, help="processes at a time")
    parser.add_argument("--variant", action="append", default=[], help="repeatable")
    options = parser.parse_args()
    list_sources()
    cores = options.core or list(CORES)
    store = _store_chosen if options.variant else _store
    if options.variant:
        _expect_others_of_today(options.variant, cores)
    with ProcessPoolExecutor(options.jobs) as pool:
        work = partial(row, chosen=options.variant)
        found = pool.map(work, *zip(*product(cores, GOALS), strict=True))
        for core_name in cores:
            store(core_name, {optimization(goal): next(found) for goal in GOALS})
            print(core_name, flush=True)


if __name__ == "__main__":
    main()
