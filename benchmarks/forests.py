"""`python -m benchmarks.forests`: digits by forests, in C by GlowMCU and by others, on two cores.

The same forests, the same compiler and flags, the same modelled core and the same samples; writes
forests.json and forests.md. Needs emlearn, m2cgen, micromlgen, scikit-learn and skl2onnx.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import tempfile
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.forest_engines import ENGINES, Source
from benchmarks.forests_page import PAGE, RECORD, Forest, Record, Row, page
from benchmarks.kernel_sources import kernel_sources_digest, list_sources
from glowmcu.cores import Core, core
from glowmcu.verify import toolchain
from glowmcu.verify.cortex_m.attribution import Accountant
from glowmcu.verify.cortex_m.costs import Flash, cost_table
from glowmcu.verify.cortex_m.counting import EdgeCounter
from glowmcu.verify.cortex_m.elf import Program, read_program
from glowmcu.verify.cortex_m.machine import CODE_BASE, DATA_BASE, Machine
from glowmcu.verify.cortex_m.places import PlaceLearner

Array = npt.NDArray[Any]
CORES, TREES, LEVELS = ("cortex-m0plus", "cortex-m4"), (10, 30, 100), ("-O2", "-Os")
#: Test samples of which every engine's cycles are the mean.
SAMPLES = 50
_SECONDS = 60.0
_SCRIPT = f"""SECTIONS
{{
  . = {CODE_BASE:#x};
  .text : {{ *(.text .text.*) }}
  .rodata : {{ *(.rodata .rodata.*) }}
  /DISCARD/ : {{ *(.ARM.exidx .ARM.exidx.* .ARM.extab .ARM.extab.*) }}
  . = {DATA_BASE:#x};
  .data : {{ *(.data .data.*) }}
  .bss : {{ *(.bss .bss.* COMMON) }}
}}
ENTRY(entry)
"""


def data() -> tuple[Array, Array, Array, Array]:
    """Pixels and digits to learn from, and to test with."""
    from sklearn.datasets import load_digits
    from sklearn.model_selection import train_test_split

    pixels, digits = load_digits(return_X_y=True)
    parts: tuple[Array, ...] = train_test_split(pixels.astype(np.float32), digits, random_state=0)
    return parts[0], parts[2], parts[1], parts[3]


def trained(trees: int) -> Any:
    """The forest, always the same."""
    from sklearn.ensemble import RandomForestClassifier

    pixels, digits, _, _ = data()
    return RandomForestClassifier(trees, random_state=0).fit(pixels, digits)


def built(source: Source, target: Core, level: str, folder: Path) -> Program:
    """The linked program. Raises GM611, GM612."""
    script, elf = folder / "bench.ld", folder / f"bench{level}.elf"
    script.write_text(_SCRIPT.replace("entry", source.entry), encoding="utf-8")
    include = [flag for path in source.include for flag in ("-I", str(path))]
    flags = [
        *target.flags, level, "-ffunction-sections", "-fdata-sections", "-w", *source.flags,
        "-nostartfiles", "-Wl,--gc-sections", "-T", str(script), *include,
    ]  # fmt: skip
    files = [str(path) for path in source.files]
    toolchain.run_gcc([*flags, *files, "-lm", "-o", str(elf)], files)
    return read_program(elf)


def measured(source: Source, target: Core, program: Program, samples: Array) -> tuple[Any, ...]:
    """Classes, mean instructions and cycles, deepest stack."""
    machine = Machine(program, target, max(source.arena_bytes, 16))
    flash = Flash()
    accountant = Accountant(program, cost_table(target.name), machine.read_code, flash)
    counter = EdgeCounter(machine, flash, PlaceLearner(machine, accountant.decode))
    classes, instructions, cycles, stack = [], 0, 0, 0
    for sample in samples:
        machine.reset()
        stored = np.ascontiguousarray(sample.astype(source.dtype)).tobytes()
        if source.arena_bytes:
            machine.write_arena(source.arena_offset, stored)
            address = machine.arena_address
        else:
            address = machine.show(stored)
        counts = counter.begin()
        answer = machine.call(source.entry, [address], _SECONDS)
        counter.end()
        if source.arena_bytes:
            answer = int.from_bytes(machine.read_arena(source.label_offset, 8), "little")
        total = accountant.settle(counts).total
        classes.append(answer)
        instructions, cycles = instructions + total.instructions, cycles + total.cycles
        stack = max(stack, machine.stack_used_bytes())
    return classes, instructions / len(samples), cycles / len(samples), stack


def rows(trees: Sequence[int], cores: Sequence[str], engines: Sequence[str]) -> Iterator[Row]:
    """One for each forest, core, engine and level of optimization."""
    _, _, pixels, _ = data()
    samples = pixels[:SAMPLES]
    for count in trees:
        forest = trained(count)
        expected = forest.predict(samples).tolist()
        able = [item for item in ENGINES if item.name in engines and count <= item.most_trees]
        for core_name in cores:
            for engine in able:
                for level in LEVELS:
                    with tempfile.TemporaryDirectory() as work:
                        folder, target = Path(work), core(core_name)
                        source = engine.make(forest, folder, core_name)
                        program = built(source, target, level, folder)
                        found, instructions, cycles, stack = measured(
                            source, target, program, samples
                        )
                    fixed = sum(part.size_bytes for part in program.segments if part.writable)
                    yield Row(
                        count, core_name, engine.name, level,
                        sum(len(part.data) for part in program.segments),
                        source.arena_bytes + fixed, stack, round(instructions), round(cycles),
                        sum(a == b for a, b in zip(found, expected, strict=True)),
                    )  # fmt: skip


def main() -> None:
    """Measure, write the record and the page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.forests")
    parser.add_argument("--trees", type=int, action="append", choices=TREES)
    parser.add_argument("--core", action="append", choices=CORES)
    parser.add_argument("--engine", action="append", choices=[item.name for item in ENGINES])
    parser.add_argument("--page", action="store_true", help="only write the page again")
    given = parser.parse_args()
    if not given.page:
        warnings.simplefilter("ignore")
        found = []
        engines = given.engine or [item.name for item in ENGINES]
        for row in rows(given.trees or TREES, given.core or CORES, engines):
            found.append(row)
            print(row, flush=True)
        if given.trees or given.core or given.engine:
            return
        _, _, pixels, digits = data()
        forests = [_forest(count, pixels, digits) for count in TREES]
        record = Record(
            tuple(found),
            tuple(forests),
            _versions(),
            toolchain.compiler_version(),
            SAMPLES,
            kernel_sources_digest(),
        )
        list_sources()
        RECORD.write_text(json.dumps(asdict(record), indent=1) + "\n", encoding="utf-8")
    PAGE.write_text(page(), encoding="utf-8")


def _forest(trees: int, pixels: Array, digits: Array) -> Forest:
    forest = trained(trees)
    nodes = sum(tree.tree_.node_count for tree in forest.estimators_)
    return Forest(trees, nodes, round(float(forest.score(pixels, digits)), 4))


def _versions() -> dict[str, str]:
    names = sorted({name for engine in ENGINES for name in engine.packages} | {"scikit-learn"})
    return {name: importlib.metadata.version(name) for name in names}


if __name__ == "__main__":
    main()
