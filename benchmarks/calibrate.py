"""`python -m benchmarks.calibrate`: measure sample layers, write glowmcu/kernels/cost_table.json.

Every variant that names its work runs all samples that it accepts on the modelled core; unit costs
are the non-negative least squares of cycles over amounts.
`--core`, `--variant` and `--missing` renew a part and keep the rest.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from rich.progress import Progress

from benchmarks.__main__ import compiler_version
from benchmarks.calibration_layers import KINDS, model
from benchmarks.calibration_layers_f32 import FLOAT_KINDS
from benchmarks.least_squares import fit_unit_costs
from benchmarks.sweep_image import imported_graph
from glowmcu.compilation import Compilation, Options, Prepared
from glowmcu.cores import core
from glowmcu.emit_c.write_bundle import write_bundle
from glowmcu.ir.dump import IrDump
from glowmcu.ir.graph import Graph
from glowmcu.ir.operation import Operation
from glowmcu.ir.value_ranges import value_ranges
from glowmcu.kernels.cost_table import TABLE_FILE, cost_table
from glowmcu.kernels.kernel import Kernel, Site, Target, load_kernels, site_of
from glowmcu.kernels.selection.choices import KernelChoices
from glowmcu.lowering.passes import lower
from glowmcu.pipeline import compile_model, compile_prepared
from glowmcu.verify import toolchain
from glowmcu.verify.modelled import modelled_core
from glowmcu.verify.verification import seeded_inputs

CORES = (
    "cortex-m0plus", "cortex-m3", "cortex-m4", "cortex-m7", "cortex-m33", "cortex-m55",
)  # fmt: skip
#: Calibrated when asked for by name, or where work has no unit costs; what has none of its own
#: costs as in `COSTS_AS`.
MORE_CORES = ("hazard3", "rv32imac")
#: Float layers must have unit costs where the cycles of an FPU are modelled; others when asked for.
FLOAT_CORES = ("cortex-m4", "cortex-m7", "cortex-m33")
#: Layers below this many cycles count less: nobody chooses a kernel for them.
_SMALL_CYCLES = 2000.0


@dataclass(frozen=True)
class Sample:
    """One layer, or a few together: what the variant says of its work, and what it cost."""

    work: Mapping[str, float]
    cycles: float


@dataclass(frozen=True)
class Measured:
    """Samples of one variant on one core, and bytes of code a function in each program."""

    samples: list[Sample]
    code_bytes: list[float]


def measure(variant: str, core_name: str) -> Measured:
    """Run all samples that `variant` accepts on the core."""
    found = Measured([], [])
    for kind in KINDS:
        if not may_compute(variant, kind):
            continue
        samples = accepted(variant, core_name, kind)
        if not samples:
            continue
        _run_modelled(compiled(variant, core_name, kind, samples), variant, core_name, found)
    return found


def compiled(variant: str, core_name: str, kind: str, samples: list[int]) -> Compilation:
    """A bundle of these samples of `kind`, by the variant alone."""
    options = Options("m", core=core_name, kernels=KernelChoices(forced_variant=variant))
    made = model(kind, samples)
    if isinstance(made, Graph):
        return compile_prepared(Prepared("sample", "", made, lower(made), IrDump(None)), options)
    return compile_model(made, "sample.tflite", options)


def may_compute(variant: str, kind: str) -> bool:
    """Whether the model's kind of node is one of the variant's, which says nothing of shapes."""
    wanted = {op for op, found in load_kernels().items() for k in found if k.name == variant}
    return not wanted.isdisjoint(_operations(kind))


@cache
def _operations(kind: str) -> frozenset[type[Operation]]:
    """Of the model's first sample, as kernels see it."""
    graph = lower(imported_graph(model(kind, [0])))
    return frozenset(type(node.op) for node in graph.nodes)


def accepted(variant: str, core_name: str, kind: str) -> list[int]:
    """Numbers of the samples that the variant computes alone."""
    names = [
        site.node.outputs[0].name
        for site, kernel in candidates(kind)
        if kernel.name == variant and _accepted_work(kernel, site, core_name)
    ]
    return sorted(int(name.removeprefix("y_")) for name in names if name.startswith("y_"))


@cache
def candidates(kind: str) -> list[tuple[Site, Kernel]]:
    """Every sample of `kind` with every variant of its operator."""
    graph = lower(imported_graph(model(kind)))
    ranges = value_ranges(graph)
    sites = [site_of(graph, node, ranges) for node in graph.nodes]
    return [(site, found) for site in sites for found in load_kernels().get(type(site.node.op), ())]


def _accepted_work(kernel: Kernel, site: Site, core_name: str) -> Mapping[str, float]:
    """Nothing where the core's variant does not accept the layer."""
    target = Target(core(core_name))
    return kernel.work(site, target) if kernel.accepts(site, target) else {}


def _run_modelled(compilation: Compilation, variant: str, core_name: str, found: Measured) -> None:
    """Cycles of every layer from the cycle model."""
    with bundle(compilation) as folder:
        inputs = seeded_inputs(compilation.manifest, 1)
        (measured,) = modelled_core(core_name).run(folder, [inputs])
        found.code_bytes.append(_function_bytes(folder, compilation, core_name))
    chosen = {node.name: item for node, item in compilation.selections.items()}
    for layer in measured.layers:
        item = chosen[layer.name]
        if item.kernel_name == variant:
            found.samples.append(Sample(item.work, float(layer.cycles or 0)))


@contextmanager
def bundle(compilation: Compilation) -> Iterator[Path]:
    """Its folder, as long as it is needed."""
    with tempfile.TemporaryDirectory(prefix="glowmcu-calibrate-") as work:
        folder = Path(work) / "bundle"
        write_bundle(compilation.files, folder, compilation.manifest.name)
        yield folder


def _function_bytes(folder: Path, compilation: Compilation, core_name: str) -> float:
    """Code but for the calls of the layers, by the number of functions that share it."""
    sources = [folder / name for name in compilation.manifest.sources]
    sizes = toolchain.code_size(sources, [folder], core(core_name).flags, "m_run")
    functions = {item.code.function for item in compilation.selections.values()}
    return (sizes.text_bytes - dict(sizes.functions).get("m_run", 0)) / len(functions)


def table_row(found: Measured) -> dict[str, Any]:
    """The row of the table."""
    names = sorted({name for sample in found.samples for name in sample.work})
    amounts = np.array([[s.work.get(name, 0.0) for name in names] for s in found.samples])
    cycles = np.array([sample.cycles for sample in found.samples])
    weights = 1.0 / np.maximum(cycles, _SMALL_CYCLES)
    fitted = fit_unit_costs(amounts, cycles, weights)
    misfit = np.abs(amounts @ fitted - cycles) * weights
    code = float(np.median(found.code_bytes))
    return {
        "code_bytes": round(code),
        "cycles": {name: _short(unit_cost) for name, unit_cost in zip(names, fitted, strict=True)},
        "error": _short(float(misfit.max())),
        "layers": len(found.samples),
    }


def _short(value: float) -> float:
    """Four digits: more would be noise."""
    return float(f"{value:.4g}")


def calibrated_variants() -> list[str]:
    """Variants that name their work."""
    everyone = {k.name: k for found in load_kernels().values() for k in found}
    return sorted(name for name, k in everyone.items() if type(k).work is not Kernel.work)


def calibrate(jobs: list[tuple[str, str]]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Rows (variant, core, row of the table) for all jobs (variant, core) that can run."""
    with Progress(disable=not sys.stderr.isatty()) as progress:
        task = progress.add_task("calibrating", total=len(jobs))
        for variant, core_name in jobs:
            progress.update(task, advance=1, description=f"{variant} on {core_name}")
            found = measure(variant, core_name)
            if len(found.samples) > len({name for s in found.samples for name in s.work}):
                yield variant, core_name, table_row(found)


def uncalibrated(kind: str) -> set[tuple[str, str]]:
    """Variants and cores that compute samples of `kind` but have no unit costs for their work, not
    even those of another core.
    """
    found = set()
    cores = FLOAT_CORES if kind in FLOAT_KINDS else (*CORES, *MORE_CORES)
    for (site, variant), core_name in product(candidates(kind), cores):
        work = _accepted_work(variant, site, core_name)
        known = cost_table().unit_costs(variant.name, core_name)
        if work and (known is None or not known.covers(work)):
            found.add((variant.name, core_name))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--core", action="append", choices=(*CORES, *MORE_CORES), help="repeatable")
    parser.add_argument("--variant", action="append", help="repeatable; a prefix such as conv_2d.")
    parser.add_argument("--missing", action="store_true", help="only what has no unit costs yet")
    options = parser.parse_args()
    known = calibrated_variants()
    wanted = tuple(options.variant or ("",))
    chosen = [name for name in known if name.startswith(wanted)]
    jobs = list(product(chosen, options.core or CORES))
    if options.missing:
        missing = set().union(*map(uncalibrated, KINDS))
        jobs = [job for job in jobs if job in missing]
    for variant, core_name, row in calibrate(jobs):
        print(f"{variant:34} {core_name:14} {row['layers']:3} layers  {row['code_bytes']:5} B  "
              f"misfit {100 * row['error']:5.1f} %  {row['cycles']}", flush=True)  # fmt: skip
        store(TABLE_FILE, variant, core_name, row, known)


def store(
    file: Path, variant: str, core_name: str, row: dict[str, Any], known: Sequence[str]
) -> None:
    """One row into a table of variants as it is now: others may be calibrating, too."""
    table = json.loads(file.read_text(encoding="utf-8"))
    stored = {name: rows for name, rows in table["variants"].items() if name in known}
    stored.setdefault(variant, {})[core_name] = row
    content = {"compiler": compiler_version(), "variants": stored}
    text = json.dumps(content, indent=1, sort_keys=True)
    file.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
