"""What the converters of others write, compiled and compared: `converters.md`.

    python -m benchmarks.converter_models.keras_layers DIR
    python -m benchmarks.converter_models.torch_modules DIR
    python -m benchmarks.converters DIR [--only TEXT] [--record]

Every file is imported, lowered, planned and rendered. What it computes is compared, by the Python
meaning, with TensorFlow Lite Micro and with LiteRT's reference kernels on one drawn input; files
with states are imported and compiled alone. An interpreter may refuse a file, or not survive it:
each runs in a process of its own.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

import glowmcu
from glowmcu.errors import GlowmcuError
from glowmcu.frontend.read_model import read_model
from glowmcu.ir.graph import Graph
from glowmcu.ir.interpreter import run_graph
from tests.support.oracle import OracleFailure, run_litert_reference, run_tflm

RECORD = Path(__file__).with_suffix(".json")
PAGE = RECORD.with_suffix(".md")
#: Real numbers are alike that are this near, of the largest.
NEAR = 1e-5
#: A file in which nothing differs takes the seed; numbers of words and the like are below this.
_SEED, _PLACES = 5, 6
#: Larger networks are imported and compared; to plan them for a microcontroller takes minutes.
_UNPLANNED = "app_"


@dataclass(frozen=True)
class Row:
    """Of a file: why it is refused, if it is; how many elements its outputs have, and how many of
    them an oracle has otherwise, by the name of each that computes the file.
    """

    file: str
    refusal: str
    elements: int
    different: dict[str, int]


def judged(path: Path) -> Row:
    """Compile a file and compare what it means."""
    data = path.read_bytes()
    try:
        graph = read_model(data, path.name)
        if not path.name.startswith(_UNPLANNED):
            with tempfile.TemporaryDirectory() as work:
                glowmcu.compile(path, output=Path(work) / "bundle", name="m")
    except GlowmcuError as cause:
        return Row(path.name, str(cause).splitlines()[0], 0, {})
    if graph.states:
        return Row(path.name, "", 0, {})
    inputs = _drawn(graph)
    ours = run_graph(graph, inputs)
    oracles = {"tflm": run_tflm, "litert": run_litert_reference}
    found = {
        name: _differing(ours, theirs)
        for name, oracle in oracles.items()
        if not isinstance(theirs := oracle(data, inputs, isolated=True), OracleFailure)
    }
    return Row(path.name, "", sum(array.size for array in ours), found)


def _drawn(graph: Graph) -> list[Any]:
    random = np.random.default_rng(_SEED)
    found = []
    for value in graph.arguments:
        shape, dtype = value.type.shape, value.type.element.numpy
        if dtype.kind == "f":
            found.append(random.normal(size=shape).astype(dtype))
        elif value.type.quantization is None:
            found.append(random.integers(0, _PLACES, shape).astype(dtype))
        else:
            lowest, highest = value.type.element.limits
            found.append(random.integers(lowest, highest, shape, endpoint=True).astype(dtype))
    return found


def _differing(ours: Sequence[Any], theirs: Iterable[Any]) -> int:
    count = 0
    for own, other in zip(ours, theirs, strict=True):
        if own.shape != other.shape:
            count += own.size
        elif own.dtype.kind == "f":
            reach = np.abs(other).max(initial=0.0) * NEAR
            count += int((~np.isclose(own, other, rtol=0, atol=reach, equal_nan=True)).sum())
        else:
            count += int((own != other).sum())
    return count


def group(file: str) -> str:
    """Of a file's name: which converter wrote it, and how."""
    name, form = file.removesuffix(".tflite").split(".")
    if name.startswith("aq_"):
        return f"AI Edge Quantizer, {form}"
    return f"LiteRT Torch, {form}" if name.startswith("lt_") else f"Keras, {form}"


def stored() -> list[Row]:
    """What was judged."""
    if not RECORD.is_file():
        return []
    return [Row(**row) for row in json.loads(RECORD.read_text(encoding="utf-8"))]


_HEAD = """\
# What converters write

Written by `python -m benchmarks.converters` from `converters.json`; do not edit. Small networks,
one for each kind of layer, and a few whole ones, as TensorFlow's converter writes them from Keras,
LiteRT Torch from PyTorch, and AI Edge Quantizer from the latter. *Equal* are files in which every
element is: integers to the bit, real numbers within 1e-5 of the largest. An interpreter counts
where it computes the file. Of layers whose weights alone are integers TensorFlow Lite Micro reads
one scale for all channels, and LiteRT rounds activations to int8, which stay exact here.

| converter, form | files | compiled | equal to TFLM | equal to LiteRT's reference kernels |
|---|--:|--:|--:|--:|
"""


def page(rows: Sequence[Row]) -> str:
    """Markdown."""
    groups: dict[str, list[Row]] = {}
    for row in rows:
        groups.setdefault(group(row.file), []).append(row)
    lines = [
        f"| {name} | {len(of_it)} | {sum(not row.refusal for row in of_it)} | "
        f"{_equal(of_it, 'tflm')} | {_equal(of_it, 'litert')} |"
        for name, of_it in sorted(groups.items())
    ]
    refused = [f"* `{row.file}`: {row.refusal}" for row in rows if row.refusal]
    differing = [
        f"| `{row.file}` | {row.elements} | {row.different.get('tflm', '')} | "
        f"{row.different.get('litert', '')} |"
        for row in rows
        if any(row.different.values())
    ]
    return (
        _HEAD + "\n".join(lines) + "\n\n## Refused\n\n" + ("\n".join(refused) or "None.")
        + "\n\n## Elements that an interpreter has otherwise\n\n"
        "| file | elements | TFLM | LiteRT |\n|---|--:|--:|--:|\n" + "\n".join(differing) + "\n"
    )  # fmt: skip


def _equal(rows: Sequence[Row], oracle: str) -> str:
    counts = Counter(row.different[oracle] == 0 for row in rows if oracle in row.different)
    return f"{counts[True]} of {counts.total()}" if counts else ""


def main() -> None:
    """A line a file."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.converters")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", default="", metavar="TEXT", help="files with TEXT in the name")
    parser.add_argument("--record", action="store_true", help="write converters.json and its page")
    asked = parser.parse_args()
    found = {row.file: row for row in stored()}
    for path in sorted(asked.folder.glob("*.tflite")):
        if asked.only not in path.name:
            continue
        row = judged(path)
        print(f"{row.file}: {row.refusal or row.different or 'compiled'}", flush=True)
        found[row.file] = row
    if asked.record:
        rows = [found[name] for name in sorted(found)]
        lines = ",\n".join(f" {json.dumps(asdict(row))}" for row in rows)
        RECORD.write_text(f"[\n{lines}\n]\n", encoding="utf-8")
        PAGE.write_text(page(rows), encoding="utf-8")


if __name__ == "__main__":
    main()
