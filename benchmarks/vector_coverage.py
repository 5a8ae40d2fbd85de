"""How many flipped bits of constants do the self test's vectors alone see, without its check?

    python -m benchmarks.vector_coverage [--model M] [--flips 400]

Bits are drawn from all constants of a bundle for a Cortex-M4; each is flipped before a run on the
modelled core, with the inputs of each vector in turn. A bit is seen where the outputs differ, the
processor faults or the run does not end. The same bits for the vectors of the rule before: two of
four patterns, those whose outputs had most different bytes. Results go to vectors.json and
vectors.md.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from benchmarks.fault_cases import Case
from benchmarks.fault_machine import Flip
from benchmarks.fault_run import FaultyBundle
from benchmarks.kernel_sources import kernel_sources_digest, list_sources
from benchmarks.ledger import read_ledger, write_ledger
from glowmcu.ir.graph import Graph
from glowmcu.ir.interpreter import run_graph
from glowmcu.pipeline import reference_graph
from glowmcu.report.tables import count
from glowmcu.test_vectors import pattern_tensor, vector_seed
from glowmcu.verify.measurement import Array
from glowmcu.verify.verification import golden_vectors

RECORD = Path(__file__).resolve().parent / "vectors.json"
PAGE = RECORD.with_suffix(".md")
MODELS = ("digits", "kws", "vww", "ic", "ad", "sww")
CORE = "cortex-m4"
_SEED = 11

_HEAD = """# What the self test's vectors see of constants

Written by `python -m benchmarks.vector_coverage` from `vectors.json`; do not edit. `NAME_check`,
which the self test calls first, notices every flipped bit of a constant ([faults.md](faults.md)).
This page is about the vectors alone: bits drawn from all constants of a bundle for a Cortex-M4,
flipped one at a time, and whether any vector's outputs show it. What vectors are for is another
thing: that compiler and processor compute what was said. Before: two of four patterns, chosen by
how many different bytes their outputs have. Now: up to four of up to twelve, chosen by how many
constants an estimate says they show (`glowmcu/ir/vector_search.py`).

"""


@dataclass(frozen=True)
class Row:
    """A model: of `flips` bits so many were seen, by so many vectors, before and now."""

    model: str
    flips: int
    vectors_before: int
    seen_before: int
    vectors: int
    seen: int
    kernels: str


def vectors_before(graph: Graph) -> list[list[Array]]:
    """The inputs of the rule that was."""
    rated = []
    for bits in (0, 2, 4, 6):
        seed = vector_seed(1 + 1000003 * bits, bits, 0)
        inputs = [
            pattern_tensor(value.type.shape, str(value.type.element.numpy), seed + number)
            for number, value in enumerate(graph.inputs)
        ]
        different = sum(
            len(np.unique(output.view(np.uint8))) for output in run_graph(graph, inputs)
        )
        rated.append((different, inputs))
    return [inputs for _, inputs in sorted(rated, key=lambda item: -item[0])[:2]]


def drawn_flips(bundle: FaultyBundle, flips: int) -> list[Flip]:
    """Bits of all constants alike, at the first instruction."""
    weights, parameters = (8 * bundle.machine.bytes_of(kind) for kind in ("weights", "parameters"))
    draws = np.random.default_rng(_SEED).integers(weights + parameters, size=flips)
    return [
        Flip("weights", 0, int(draw)) if draw < weights else Flip("parameters", 0, int(draw))
        for draw in draws
    ]


def seen_by(bundle: FaultyBundle, flips: Sequence[Flip], vectors: Sequence[Sequence[Array]]) -> int:
    """How many of `flips` any of `vectors` shows."""
    hidden = list(flips)
    for inputs in vectors:
        bundle.give(inputs)
        hidden = [flip for flip in hidden if bundle.run(flip, checks=False).result == "same"]
    return len(flips) - len(hidden)


def measure(model: str, flips: int) -> Row:
    """Compile, and flip."""
    case = Case(model, CORE)
    file, data = case.file()
    with tempfile.TemporaryDirectory() as work:
        built = case.compile(Path(work))
        bundle = FaultyBundle(CORE, built.path)
        now = [vector.inputs for vector in golden_vectors(built.path, built.manifest)]
    before = vectors_before(reference_graph(data, file))
    drawn = drawn_flips(bundle, flips)
    seen = [seen_by(bundle, drawn, vectors) for vectors in (before, now)]
    return Row(model, flips, len(before), seen[0], len(now), seen[1], kernel_sources_digest())


def stored() -> dict[str, Row]:
    """What is recorded, by model."""
    return {row["model"]: Row(**row) for row in read_ledger(RECORD, {"rows": []})["rows"]}


def record(fresh: Row) -> None:
    """Put one result in the place of the one before and write the page again."""
    found = {**stored(), fresh.model: fresh}
    rows = [found[model] for model in MODELS if model in found]
    write_ledger(RECORD, {"rows": [asdict(row) for row in rows]}, page(rows))


def page(rows: Sequence[Row]) -> str:
    """The record for a reader."""
    lines = ["| model | bits flipped | seen before | vectors | seen now | vectors |",
             "|---|--:|--:|--:|--:|--:|"]  # fmt: skip
    lines += [
        f"| {row.model} | {count(row.flips)} | {row.seen_before / row.flips:.0%} "
        f"| {row.vectors_before} | {row.seen / row.flips:.0%} | {row.vectors} |"
        for row in rows
    ]
    return _HEAD + "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.vector_coverage")
    parser.add_argument("--model", action="append", choices=MODELS)
    parser.add_argument("--flips", type=int, default=400)
    given = parser.parse_args()
    list_sources()
    for model in given.model or MODELS:
        row = measure(model, given.flips)
        print(row, flush=True)
        record(row)


if __name__ == "__main__":
    main()
