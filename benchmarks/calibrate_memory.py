"""`python -m benchmarks.calibrate_memory`: what kernels fetch and read, to memory_table.json.

Every variant that names its work runs all samples that it accepts on the modelled core; the run is
replayed through memories that wait one cycle a line, each behind another cache. What is missed is
fitted to the amounts of work as cycles are by `benchmarks.calibrate`. `--core`, `--variant` and
`--missing` renew a part and keep the rest.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np
from rich.progress import Progress

from benchmarks import calibrate
from benchmarks.calibration_layers import KINDS
from benchmarks.least_squares import fit_unit_costs
from glowmcu.board import Board, CacheGeometry, MemoryTiming, SlowMemory, find_board
from glowmcu.compilation import Compilation
from glowmcu.cores import core
from glowmcu.kernels.kernel import Target
from glowmcu.kernels.memory_table import LINE_BYTES, TABLE_FILE, Traffic, memory_table
from glowmcu.verify.modelled import modelled_core
from glowmcu.verify.verification import seeded_inputs

#: Others run the same loops: see `memory_table._TRAFFIC_AS`.
CORES = ("cortex-m0plus", "cortex-m4")
#: A cache that nothing leaves again.
_ENDLESS = 1 << 20
#: Wait states behind a prefetch: as many as straight code takes for a line, about.
_PREFETCHED_WAITS = 5
#: Samples of each kind that run, evenly spaced: a replay takes several times as long as a run.
_MOST_SAMPLES = 24
#: Larger ones only do the same more often.
_MOST_CYCLES = 250_000.0
#: Samples of each kind that tell how wide reads are.
_FEW_SAMPLES = 3
#: Layers that miss less than this count less.
_FEW = 200.0


@dataclass(frozen=True)
class Sample:
    """One layer: what the variant says of its work, and what each replay missed."""

    work: Mapping[str, float]
    misses: Mapping[Traffic, float]
    data_lines: float


def _cache(size_bytes: int) -> CacheGeometry:
    return CacheGeometry(size_bytes, LINE_BYTES, size_bytes // LINE_BYTES)


def _timing(code: int, data: int, waits: int = 1, prefetch: int = 0) -> MemoryTiming:
    """A flash that waits for each line that caches of these sizes miss; 0: there is none."""
    width = LINE_BYTES if data else 4
    burst = 0 if data else 1
    flash = SlowMemory("flash", waits, width, burst, 1, prefetch)
    return MemoryTiming((flash,), _cache(code), _cache(data) if data else None)


def replays() -> dict[Traffic, tuple[MemoryTiming, float]]:
    """By what it counts the memories of a replay, and the cycles that one miss waits there."""
    found = {}
    for traffic in Traffic:
        size = traffic.cache_bytes
        if traffic.is_data:
            found[traffic] = _timing(_ENDLESS, size), 1.0
        elif traffic.is_prefetched:
            found[traffic] = (
                _timing(size, _ENDLESS, _PREFETCHED_WAITS, 1), float(_PREFETCHED_WAITS)
            )  # fmt: skip
        else:
            found[traffic] = _timing(size, _ENDLESS), 1.0
    return found


def _line_buffers() -> MemoryTiming:
    """A flash whose reads of data wait where they come to a line that is none of the last four:
    weights, parameters and literals are read by turns.
    """
    return _timing(_ENDLESS, 4 * LINE_BYTES)


def measure(variant: str, core_name: str, most_samples: int = _MOST_SAMPLES) -> list[Sample]:
    """Run samples that `variant` accepts on the core, of each kind at most so many."""
    found: list[Sample] = []
    for kind in KINDS:
        if not calibrate.may_compute(variant, kind):
            continue
        some = _samples_of(variant, core_name, kind, most_samples)
        if some:
            made = calibrate.compiled(variant, core_name, kind, some)
            found.extend(_samples(made, variant, core_name))
    return found


def _samples_of(variant: str, core_name: str, kind: str, most: int) -> list[int]:
    """Numbers of samples of all sizes but the largest."""
    accepted = set(calibrate.accepted(variant, core_name, kind))
    target = Target(core(core_name))
    cycles = {
        int(site.node.outputs[0].name.removeprefix("y_")): each.calibrated_cost(site, target).cycles
        for site, each in calibrate.candidates(kind)
        if each.name == variant and site.node.outputs[0].name in {f"y_{n}" for n in accepted}
    }
    small = sorted(accepted, key=lambda number: (cycles[number] > _MOST_CYCLES, cycles[number]))
    count = max(sum(found <= _MOST_CYCLES for found in cycles.values()), most // 2)
    return sorted(small[:count][:: -(-min(count, len(small)) // most) or 1])


def _samples(compilation: Compilation, variant: str, core_name: str) -> Iterator[Sample]:
    with calibrate.bundle(compilation) as folder:
        inputs = seeded_inputs(compilation.manifest, 1)
        board = _board(core_name)
        (measured,) = modelled_core(core_name, memory_of=board).measure(folder, [inputs])
    names = {node.name: item for node, item in compilation.selections.items()}
    for index, layer in enumerate(measured.measurement.layers):
        item = names[layer.name]
        if item.kernel_name == variant:
            missed = {
                traffic: waits.of_step(index) / cycles
                for (traffic, (_, cycles)), waits in zip(
                    replays().items(), measured.waits[:-1], strict=True
                )
            }
            yield Sample(item.work, missed, measured.waits[-1].of_step(index))


def _board(core_name: str) -> Board:
    """One with the memories of all replays."""
    timings = (*(timing for timing, _ in replays().values()), _line_buffers())
    return replace(find_board("nrf52"), core=core_name, timing=timings)


def table_row(found: list[Sample]) -> dict[str, Any]:
    """The row of the table: misses a unit of work, and the largest misfit, by traffic."""
    names = sorted({name for sample in found for name in sample.work})
    amounts = np.array([[s.work.get(name, 0.0) for name in names] for s in found])
    misses, error = {}, {}
    for traffic in Traffic:
        missed = np.array([sample.misses[traffic] for sample in found])
        weights = 1.0 / np.maximum(missed, _FEW)
        fitted = fit_unit_costs(amounts, missed, weights)
        misses[traffic.value] = {
            name: _short(unit) for name, unit in zip(names, fitted, strict=True)
        }
        misfit = np.abs(amounts @ fitted - missed) * weights
        error[traffic.value] = _short(float(misfit.max()))
    return {
        "error": error, "layers": len(found), "misses": misses, "read_bytes": read_bytes(found)
    }  # fmt: skip


def read_bytes(found: list[Sample]) -> float:
    """Bytes from one read of constants to the next: of a word or less."""
    reads = sum(sample.misses[Traffic.READS] for sample in found)
    lines = sum(sample.data_lines for sample in found)
    return _short(min(max(LINE_BYTES * lines / max(reads, 1.0), 1.0), 4.0))


def _short(value: float) -> float:
    """Three digits: more would be noise."""
    return float(f"{value:.3g}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--core", action="append", choices=CORES, help="repeatable")
    parser.add_argument("--variant", action="append", help="repeatable; a prefix such as conv_2d.")
    parser.add_argument("--missing", action="store_true", help="only what has no row yet")
    parser.add_argument(
        "--widths", action="store_true", help="of the rows that exist the width of reads alone"
    )
    options = parser.parse_args()
    known = calibrate.calibrated_variants()
    wanted = tuple(options.variant or ("",))
    jobs = list(product([name for name in known if name.startswith(wanted)], options.core or CORES))
    if options.missing:
        jobs = [job for job in jobs if memory_table().unit_misses(*job) is None]
    if options.widths:
        for variant, core_name, row in _stored_rows(jobs):
            width = read_bytes(measure(variant, core_name, _FEW_SAMPLES))
            print(f"{variant:34} {core_name:14} {width} bytes a read", flush=True)
            calibrate.store(TABLE_FILE, variant, core_name, {**row, "read_bytes": width}, known)
        return
    with Progress(disable=not sys.stderr.isatty()) as progress:
        task = progress.add_task("calibrating", total=len(jobs))
        for variant, core_name in jobs:
            progress.update(task, advance=1, description=f"{variant} on {core_name}")
            found = measure(variant, core_name)
            if len(found) > len({name for sample in found for name in sample.work}):
                row = table_row(found)
                print(f"{variant:34} {core_name:14} {row['layers']:3} layers", flush=True)
                calibrate.store(TABLE_FILE, variant, core_name, row, known)


def _stored_rows(jobs: list[tuple[str, str]]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Those of the table that are among the jobs."""
    stored = json.loads(TABLE_FILE.read_text(encoding="utf-8"))["variants"]
    for variant, core_name in jobs:
        if core_name in stored.get(variant, {}):
            yield variant, core_name, stored[variant][core_name]


if __name__ == "__main__":
    main()
