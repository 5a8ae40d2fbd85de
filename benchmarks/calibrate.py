"""`python -m benchmarks.calibrate`: measure sample layers, write glowmcu/kernels/cost_table.json.

Every variant that names its work runs all samples that it accepts on the modelled core; prices are
the non-negative least squares of cycles over amounts. A Cortex-M55 has no cycle model: there QEMU's
instruction counts stand for cycles. `--core` and `--variant` renew a part and keep the rest.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rich.progress import Progress

from benchmarks.__main__ import compiler_version
from benchmarks.calibration_layers import KINDS, model, models
from benchmarks.least_squares import fit_prices
from glowmcu.cores import core
from glowmcu.emit_c.write_bundle import write_bundle
from glowmcu.kernels.choices import KernelChoices
from glowmcu.kernels.cost_table import TABLE_FILE
from glowmcu.kernels.kernel import load_kernels
from glowmcu.pipeline import Compilation, Options, compile_model
from glowmcu.verify import toolchain
from glowmcu.verify.cortex_m import CortexM
from glowmcu.verify.qemu import Qemu
from glowmcu.verify.verification import seeded_inputs

CORES = (
    "cortex-m0plus", "cortex-m3", "cortex-m4", "cortex-m7", "cortex-m33", "cortex-m55",
)  # fmt: skip
#: Layers below this many cycles count less: nobody chooses a kernel for them.
_SMALL_CYCLES = 2000.0


@dataclass(frozen=True)
class Sample:
    """A layer that one variant computed: what it says of itself, what it cost, its function."""

    work: Mapping[str, float]
    cycles: float
    function: str


@dataclass(frozen=True)
class Measured:
    """Samples of one variant on one core, and the bytes of code of each program they ran in."""

    samples: list[Sample]
    code_bytes: list[float]


def measure(variant: str, core_name: str) -> Measured:
    """Run all samples that `variant` accepts on the core."""
    found = Measured([], [])
    for kind in KINDS:
        if not _may_compute(variant, kind):
            continue
        emulated = core(core_name).unicorn_model is None
        for data in models(kind) if emulated else [model(kind)]:
            choices = KernelChoices(everywhere=variant)
            options = Options("m", core=core_name, kernels=choices)
            compilation = compile_model(data, "sample.tflite", options)
            if any(item.kernel_name == variant for item in compilation.selections.values()):
                _run(compilation, variant, core_name, found)
    return found


def _may_compute(variant: str, kind: str) -> bool:
    """Whether a node of the model's kind has `variant` among its candidates on some core."""
    wanted = {op for op, found in load_kernels().items() for k in found if k.name == variant}
    graph = compile_model(models(kind)[0], "sample.tflite", Options("m")).graph
    return any(type(node.op) in wanted for node in graph.nodes)


def _run(compilation: Compilation, variant: str, core_name: str, found: Measured) -> None:
    with tempfile.TemporaryDirectory(prefix="glowmcu-calibrate-") as work:
        folder = Path(work) / "bundle"
        write_bundle(compilation.files, folder)
        inputs = seeded_inputs(compilation.manifest, 1)
        if core(core_name).unicorn_model is None:
            (measured,) = Qemu(machine="mps3-an547").run(folder, [inputs])
            costs = [float(measured.instructions or 0)]
        else:
            (measured,) = CortexM(core_name).run(folder, [inputs])
            costs = [float(layer.cycles or 0) for layer in measured.layers]
        sizes = toolchain.code_size(
            [folder / name for name in compilation.manifest.sources],
            [folder], core(core_name).flags, "m_run",
        )  # fmt: skip
    chosen = {node.name: item for node, item in compilation.selections.items()}
    functions = set()
    for layer, cycles in zip(compilation.manifest.layers, costs, strict=True):
        item = chosen[layer.name]
        if item.kernel_name == variant:
            found.samples.append(Sample(item.work, cycles, item.code.function))
            functions.add(item.code.function)
    if all(item.kernel_name == variant for item in compilation.selections.values()):
        code = sizes.text_bytes - dict(sizes.functions).get("m_run", 0)
        found.code_bytes.append(code / len(functions))


def prices(found: Measured) -> dict[str, Any]:
    """The row of the table."""
    names = sorted({name for sample in found.samples for name in sample.work})
    amounts = np.array([[s.work.get(name, 0.0) for name in names] for s in found.samples])
    cycles = np.array([sample.cycles for sample in found.samples])
    weights = 1.0 / np.maximum(cycles, _SMALL_CYCLES)
    fitted = fit_prices(amounts * weights[:, np.newaxis], cycles * weights)
    misfit = np.abs(amounts @ fitted - cycles) * weights
    code = float(np.median(found.code_bytes)) if found.code_bytes else 0.0
    return {
        "code_bytes": round(code),
        "cycles": {name: _short(price) for name, price in zip(names, fitted, strict=True)},
        "error": _short(float(misfit.max())),
        "layers": len(found.samples),
    }


def _short(value: float) -> float:
    """Four digits: more would be noise."""
    return float(f"{value:.4g}")


def calibrated_variants() -> list[str]:
    """Variants that name their work."""
    from glowmcu.kernels.kernel import Kernel

    everyone = {k.name: k for found in load_kernels().values() for k in found}
    return sorted(name for name, k in everyone.items() if type(k).work is not Kernel.work)


def calibrate(variants: list[str], cores: list[str]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Rows (variant, core, prices) for all that can run."""
    with Progress(disable=not sys.stderr.isatty()) as progress:
        task = progress.add_task("calibrating", total=len(variants) * len(cores))
        for variant in variants:
            for core_name in cores:
                progress.update(task, advance=1, description=f"{variant} on {core_name}")
                found = measure(variant, core_name)
                if found.samples:
                    yield variant, core_name, prices(found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--core", action="append", choices=CORES, help="repeatable")
    parser.add_argument("--variant", action="append", help="repeatable; a prefix such as conv_2d.")
    options = parser.parse_args()
    known = calibrated_variants()
    wanted = tuple(options.variant or ("",))
    chosen = [name for name in known if name.startswith(wanted)]
    table = json.loads(TABLE_FILE.read_text(encoding="utf-8"))
    stored = {name: row for name, row in table["variants"].items() if name in known}
    for variant, core_name, row in calibrate(chosen, list(options.core or CORES)):
        stored.setdefault(variant, {})[core_name] = row
        print(f"{variant:34} {core_name:14} {row['layers']:3} layers  {row['code_bytes']:5} B  "
              f"misfit {100 * row['error']:5.1f} %  {row['cycles']}", flush=True)  # fmt: skip
        content = {"compiler": compiler_version(), "variants": stored}
        text = json.dumps(content, indent=1, sort_keys=True)
        TABLE_FILE.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
