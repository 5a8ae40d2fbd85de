"""Random layers through every kernel variant, on the core's emulator, against the Python meaning.

    python -m benchmarks.sweep [--family F] [--core C] [--variant V] [--layers N] [--record]
    python -m benchmarks.sweep --stale [--core C] [--jobs N]
    python -m benchmarks.sweep --same-as FOLDER

Layers are drawn until each variant has its share, and go a hundred a bundle: whole and, where
they can, in random ranges of rows. The same bundle runs on this computer, where the portable
branches compute it.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path

import numpy as np

from benchmarks.random_layers import ALL_FAMILIES, random_model
from benchmarks.sweep_draws import accepted, variants
from benchmarks.sweep_image import Image, build_image, code_digest
from benchmarks.sweep_objects import same_code
from benchmarks.sweep_page import Entry, forget, record, stored
from glowmcu.cores import core
from glowmcu.emit_c.write_bundle import write_bundle
from glowmcu.errors import GlowmcuError
from glowmcu.goals import Goal
from glowmcu.ir.interpreter import run_graph
from glowmcu.ir.types import TensorType
from glowmcu.kernels.kernel import Target
from glowmcu.verify.host import Host
from glowmcu.verify.measurement import Array, Executor
from glowmcu.verify.modelled import modelled_core

_BUNDLE = 100
_LEAST_EACH = 100
#: So many layers of a variant tell whether its code is still what was swept.
FIRST = 4
CORES = ("cortex-m4", "cortex-m0plus", "cortex-m3", "cortex-m7", "cortex-m33", "cortex-m55")
#: Swept when asked for by name, with the kernels of their own.
MORE_CORES = ("hazard3",)
_GOALS = (Goal.BALANCED, Goal.SPEED, Goal.SIZE, Goal.RAM)
#: Undefined behaviour ends the process.
_SANITIZED = ("-O1", "-fsanitize=undefined", "-fsanitize-undefined-trap-on-error")


@dataclass
class Swept:
    """What a variant computed: layers, how many of them by rows as well, how many with results
    that reach into operands; and what differed, in words. `first` are its first layers.
    """

    layers: int = 0
    by_rows: int = 0
    overlapping: int = 0
    first: tuple[int, ...] = ()
    wrong: list[str] = field(default_factory=list)


def sweep(
    family: str, core_name: str, layers: int, seed: int = 0, only: str = "", least: int = 0
) -> Iterator[tuple[str, Swept]]:
    """About `layers` random layers of the family, the same share for every variant of the core.

    Each has at least `least`, if so many can be found. `only` is a variant that has all layers.
    """
    target = Target(core(core_name))
    names = [only] if only else variants(family, target, seed)
    share = max(-(-layers // max(len(names), 1)), least)
    for name in names:
        numbers = list(islice(accepted(family, target, name, seed), share))
        yield name, sweep_layers(family, core_name, name, seed, numbers)


def sweep_layers(
    family: str, core_name: str, variant: str, seed: int, numbers: Sequence[int]
) -> Swept:
    """These layers of the seed, which the variant accepts."""
    found = Swept(first=tuple(numbers[:FIRST]))
    bundle = _Bundle(family, core_name, variant, seed)
    for start in range(0, len(numbers), _BUNDLE):
        bundle.check(numbers[start : start + _BUNDLE], found)
    return found


@dataclass(frozen=True)
class _Bundle:
    """Layers of a family that a variant computes on a core."""

    family: str
    core: str
    variant: str
    seed: int

    def check(self, numbers: Sequence[int], found: Swept) -> None:
        """Build, run and compare the layers; where that fails altogether, in halves."""
        random = np.random.default_rng([self.seed, *numbers])
        goal = _GOALS[(self.seed + numbers[0]) % len(_GOALS)]
        data = random_model(self.family, self.seed, numbers)
        try:
            image = build_image(data, self.core, self.variant, goal, random)
            wrong = list(self._wrong(image, numbers, random))
        except GlowmcuError as cause:
            if len(numbers) == 1:
                found.wrong.append(f"{self.variant}, layer {numbers[0]}: {cause}")
                return
            half = len(numbers) // 2
            self.check(numbers[:half], found)
            self.check(numbers[half:], found)
            return
        found.layers += image.variants[self.variant]
        found.by_rows += len(image.by_rows)
        found.overlapping += image.overlapping
        found.wrong += wrong

    def _wrong(
        self, image: Image, numbers: Sequence[int], random: np.random.Generator
    ) -> Iterator[str]:
        sets = _inputs(image, random)
        wanted = [run_graph(image.imported, arrays) for arrays in sets]
        with tempfile.TemporaryDirectory() as work:
            folder = Path(work) / "bundle"
            write_bundle(image.files, folder, "m")
            for executor in _executors(self.core):
                for want, measured in zip(wanted, executor.run(folder, sets), strict=True):
                    layers = [*range(len(want)), *image.by_rows]
                    for place, layer in enumerate(layers):
                        got = np.asarray(measured.outputs[place])
                        if got.tobytes() != np.asarray(want[layer]).tobytes():
                            how = "whole" if place < len(want) else "by rows"
                            yield (
                                f"{self.variant}, layer {numbers[layer]}, {how}, "
                                f"differs on {executor.name}"
                            )


def _executors(core_name: str) -> tuple[Executor, ...]:
    return Host(_SANITIZED), modelled_core(core_name, count=False)


def _inputs(image: Image, random: np.random.Generator) -> list[list[Array]]:
    """A random set, all lowest, all highest, all at the zero point."""
    types = [value.type for value in image.imported.inputs]
    limits = [type_.element.limits for type_ in types]
    return [
        [
            random.integers(low, high + 1, type_.shape).astype(type_.element.numpy)
            for type_, (low, high) in zip(types, limits, strict=True)
        ],
        [_filled(type_, low) for type_, (low, _) in zip(types, limits, strict=True)],
        [_filled(type_, high) for type_, (_, high) in zip(types, limits, strict=True)],
        [_filled(type_, type_.zero_point) for type_ in types],
    ]


def _filled(type_: TensorType, value: int) -> Array:
    return np.full(type_.shape, value, type_.element.numpy)


def stale(entries: Sequence[Entry]) -> list[Entry]:
    """Those whose kernels became other C since they were swept."""
    return [
        entry
        for entry in entries
        if entry.code
        != code_digest(entry.family, entry.core, entry.variant, entry.seed, entry.first)
    ]


def _sweep_stale(cores: Sequence[str], jobs: int) -> bool:
    """Sweep and record again what is stale, with as many layers; whether anything was wrong."""
    failed = False
    changed = stale([entry for entry in stored() if entry.core in cores])
    with ProcessPoolExecutor(jobs) as pool:
        swept = [pool.submit(_sweep_again, entry) for entry in changed]
        for entry, result in zip(changed, swept, strict=True):
            found = result.result()
            _tell(entry.core, entry.family, entry.variant, entry.seed, found)
            failed |= bool(found.wrong)
            if found.layers:
                record(_entry(entry.core, entry.family, entry.variant, entry.seed, found))
            else:
                forget(entry)
    return failed


def _sweep_again(entry: Entry) -> Swept:
    numbers = accepted(entry.family, Target(core(entry.core)), entry.variant, entry.seed)
    chosen = list(islice(numbers, entry.layers))
    return sweep_layers(entry.family, entry.core, entry.variant, entry.seed, chosen)


def _sign_same(other: Path) -> None:
    """Record anew what is stale by its text but the machine code of `other`, which was swept."""
    changed = stale(stored())
    same = same_code(changed, other)
    for entry in same:
        digest = code_digest(entry.family, entry.core, entry.variant, entry.seed, entry.first)
        record(replace(entry, code=digest))
    print(f"{len(same)} of {len(changed)} stale variants are the machine code of {other}")


def _tell(core_name: str, family: str, variant: str, seed: int, found: Swept) -> None:
    print(
        f"{core_name} {family} {variant}: {found.layers} layers, {found.by_rows} by rows too, "
        f"{found.overlapping} overlapping, {len(found.wrong)} wrong",
        flush=True,
    )
    for text in found.wrong[:10]:
        print(f"  {text} (seed {seed})", flush=True)


def _entry(core_name: str, family: str, variant: str, seed: int, found: Swept) -> Entry:
    code = code_digest(family, core_name, variant, seed, found.first)
    return Entry(
        core_name, family, variant, found.layers, found.by_rows, found.overlapping,
        len(found.wrong), seed, found.first, code,
    )  # fmt: skip


def main() -> None:
    """Sweep and say how many layers of which variant were equal."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.sweep")
    parser.add_argument("--family", choices=sorted(ALL_FAMILIES), action="append")
    parser.add_argument("--core", action="append")
    parser.add_argument("--variant", default="", help="only this one, with all layers")
    parser.add_argument("--layers", type=int, default=2000)
    parser.add_argument("--least", type=int, default=_LEAST_EACH, help="layers of each variant")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--record", action="store_true", help="write sweep.json and sweep.md")
    parser.add_argument("--stale", action="store_true", help="what changed, and record it")
    parser.add_argument("--same-as", type=Path, help="the checkout that was swept")
    parser.add_argument("--jobs", type=int, default=1, help="processes for --stale")
    given = parser.parse_args()
    if given.same_as:
        _sign_same(given.same_as)
        raise SystemExit(0)
    if given.stale:
        raise SystemExit(1 if _sweep_stale(given.core or (*CORES, *MORE_CORES), given.jobs) else 0)
    failed = False
    for core_name in given.core or CORES:
        for family in given.family or ALL_FAMILIES:
            results = sweep(family, core_name, given.layers, given.seed, given.variant, given.least)
            for variant, found in results:
                _tell(core_name, family, variant, given.seed, found)
                failed |= bool(found.wrong)
                if given.record:
                    record(_entry(core_name, family, variant, given.seed, found))
    raise SystemExit(1 if failed else 0)


if __name__ == "__main__":
    main()
