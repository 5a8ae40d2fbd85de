"""Random layers through every kernel variant, on the core's emulator, against the Python meaning.

    python -m benchmarks.sweep [--family F] [--core C] [--layers N] [--seed S] [--record]

Layers go in batches, one model each; each batch prefers one variant wherever that accepts a layer.
"""

from __future__ import annotations

import argparse
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.random_layers import FAMILIES, AddLayer
from benchmarks.sweep_page import record
from glowmcu.cores import core
from glowmcu.frontend.tflite.writer import ModelBuilder
from glowmcu.ir.interpreter import run_graph
from glowmcu.kernels.choices import KernelChoices
from glowmcu.kernels.kernel import load_kernels
from glowmcu.ops.convolution import Conv2D, DepthwiseConv2D
from glowmcu.ops.elementwise import Add, Mul, Sub
from glowmcu.ops.matmul import FullyConnected
from glowmcu.ops.pooling import AveragePool2D, MaxPool2D
from glowmcu.pipeline import Compilation, Options, compile_model
from glowmcu.verify.cortex_m.executor import CortexM
from glowmcu.verify.qemu import Qemu
from tests.support.check_model import random_inputs, write_bundle

_OPERATORS = {
    "conv_2d": (Conv2D,),
    "depthwise_conv_2d": (DepthwiseConv2D,),
    "fully_connected": (FullyConnected,),
    "pool_2d": (AveragePool2D, MaxPool2D),
    "elementwise": (Add, Sub, Mul),
}
_BATCH = 40
_CORES = ("cortex-m4", "cortex-m0plus", "cortex-m3")
#: A random input set, all lowest, all highest, all at the zero point.
_RANDOM_SETS = 1


@dataclass
class Sweep:
    """Layers computed by variant, and what differed: (variant, batch seed, output)."""

    layers: Counter[str] = field(default_factory=Counter)
    wrong: list[tuple[str, int, int]] = field(default_factory=list)


def batch_model(add: AddLayer, seed: int, layers: int) -> bytes:
    """A model of independent random layers, the same for the same seed."""
    random = np.random.default_rng(seed)
    model = ModelBuilder()
    for index in range(layers):
        add(random, model, f"_{index}")
    return model.finish()


def variants(family: str, core_name: str) -> Iterator[str]:
    """Int8 variants of the family, by name; those of another instruction set fall out unused."""
    names = {
        kernel.name
        for operation in _OPERATORS[family]
        for kernel in load_kernels().get(operation, ())
        if not kernel.name.endswith(("_f32", "_s16", "_u8"))
    }
    helium = core(core_name).has_mve
    yield from sorted(name for name in names if helium or not name.endswith("_mve"))


def sweep(family: str, core_name: str, layers: int, seed: int = 0) -> Sweep:
    """At least `layers` random layers of the family on the core."""
    found = Sweep()
    names = list(variants(family, core_name))
    batch = 0
    while sum(found.layers.values()) < layers:
        name = names[batch % len(names)]
        batch += 1
        data = batch_model(FAMILIES[family], seed + batch, min(_BATCH, layers))
        choices = KernelChoices(everywhere=name)
        options = Options("m", core=core_name, kernels=choices, simplify=False)
        compilation = compile_model(data, "m.tflite", options)
        used = Counter(selection.kernel_name for selection in compilation.selections.values())
        if name not in used:
            names.remove(name)  # no layer of this core takes it
            continue
        _compare(compilation, core_name, name, seed + batch, found)
        found.layers.update(used)
    return found


def _compare(compilation: Compilation, core_name: str, name: str, seed: int, found: Sweep) -> None:
    sets = random_inputs(compilation, _RANDOM_SETS, seed)
    executor = Qemu() if core(core_name).has_mve else CortexM(core_name)
    with tempfile.TemporaryDirectory() as work:
        measured = executor.run(write_bundle(compilation, Path(work)), sets)
    for arrays, result in zip(sets, measured, strict=True):
        for index, want in enumerate(run_graph(compilation.imported, arrays)):
            if np.asarray(result.outputs[index]).tobytes() != want.tobytes():
                found.wrong.append((name, seed, index))


def _entry(found: Sweep, seed: int) -> dict[str, Any]:
    return {
        "layers": sum(found.layers.values()),
        "seed": seed,
        "variants": dict(sorted(found.layers.items())),
        "wrong": len(found.wrong),
    }


def main() -> None:
    """Sweep and say how many layers of which variant were equal."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.sweep")
    parser.add_argument("--family", choices=sorted(FAMILIES), action="append")
    parser.add_argument("--core", action="append")
    parser.add_argument("--layers", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--record", action="store_true", help="write sweep.json and sweep.md")
    given = parser.parse_args()
    failed = False
    for core_name in given.core or _CORES:
        for family in given.family or FAMILIES:
            found = sweep(family, core_name, given.layers, given.seed)
            total = sum(found.layers.values())
            parts = ", ".join(f"{name} {count}" for name, count in sorted(found.layers.items()))
            print(
                f"{core_name} {family}: {total} layers, {len(found.wrong)} wrong ({parts})",
                flush=True,
            )
            for name, seed, index in found.wrong[:10]:
                print(f"  {name}: batch seed {seed}, output {index}")
            failed |= bool(found.wrong)
            if given.record:
                record(core_name, family, _entry(found, given.seed))
    raise SystemExit(1 if failed else 0)


if __name__ == "__main__":
    main()
