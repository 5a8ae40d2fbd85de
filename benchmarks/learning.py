"""`python -m benchmarks.learning`: what learning costs over inference.

Models of MLPerf Tiny with layers that learn, against the same models without: the arena, and cycles
of a run on a modelled core, one that infers and one that learns. `--page` writes the page from what
is recorded.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

import glowmcu
from benchmarks.models import MODELS
from glowmcu.number_text import count
from glowmcu.verify.verification import seeded_inputs

RECORD = Path(__file__).with_suffix(".json")
PAGE = RECORD.with_suffix(".md")
#: Cores with room for all of them, by the boards that have them: with an FPU and without.
BOARDS = {"apollo3": "Cortex-M4", "rp2040": "Cortex-M0+"}
_LAST, _BLOCK, _BLOCKS = "last layer", "last block and layer", "last two blocks and layer"
#: Board, model, what learns in which numbers, and what that is. A block of kws is a depthwise and a
#: 1x1 convolution.
CASES = (
    ("apollo3", "kws", "last=1", "float32", _LAST),
    ("apollo3", "kws", "last=1", "fixed", _LAST),
    ("apollo3", "kws", "last=1,bias", "float32", "its biases"),
    ("apollo3", "kws", "prototypes=12", "float32", "prototypes"),
    ("apollo3", "kws", "last=3", "float32", _BLOCK),
    ("apollo3", "kws", "last=3", "fixed", _BLOCK),
    ("apollo3", "kws", "last=5", "float32", _BLOCKS),
    ("apollo3", "kws", "last=5", "fixed", _BLOCKS),
    ("apollo3", "kws", "last=3,channels=25%", "fixed", f"{_BLOCK}, a quarter of their channels"),
    ("apollo3", "kws", "last=5,channels=25%", "fixed", f"{_BLOCKS}, a quarter of their channels"),
    ("apollo3", "vww", "last=1", "float32", _LAST),
    ("apollo3", "vww", "last=1", "fixed", _LAST),
    ("apollo3", "ic", "last=1", "float32", _LAST),
    ("apollo3", "ic", "last=1", "fixed", _LAST),
    ("rp2040", "kws", "last=1", "float32", _LAST),
    ("rp2040", "kws", "last=1", "fixed", _LAST),
    ("rp2040", "kws", "last=3", "fixed", _BLOCK),
)
#: What was aimed at for the last layer of kws, times an inference.
MOST_ARENA, MOST_CYCLES = 1.35, 1.60
#: And for the arena of its last two blocks, where a quarter of their channels learn.
MOST_BLOCKS_ARENA = 3.0


@dataclass(frozen=True)
class Row:
    """A model with layers that learn, and without: bytes, and cycles of a run."""

    board: str
    model: str
    train: str
    numbers: str
    what: str
    parameter_bytes: int
    plain_arena_bytes: int
    arena_bytes: int
    plain_cycles: int
    inference_cycles: int
    learning_cycles: int

    @property
    def arena_times(self) -> float:
        """The arena over that of inference alone."""
        return self.arena_bytes / self.plain_arena_bytes

    @property
    def cycles_times(self) -> float:
        """A run that learns over an inference of the model that does not."""
        return self.learning_cycles / self.plain_cycles


def measured(board: str, model: str, train: str, numbers: str, what: str, folder: Path) -> Row:
    """Compiled and run once each way."""
    path = next(item.path for item in MODELS if item.name == model)
    options: dict[str, Any] = {"board": board, "name": model}
    plain = glowmcu.compile(path, output=folder / "plain", **options)
    if not train.startswith("prototypes"):
        options["train_numbers"] = numbers
    bundle = glowmcu.compile(path, output=folder / "learns", train=train, **options)
    training = bundle.manifest.training
    assert training is not None
    (x,) = seeded_inputs(plain.manifest, 1)
    cycles = [
        where.measure([x, *more]).cycles or 0
        for where, more in ((plain, []), (bundle, [_label(-1)]), (bundle, [_label(1)]))
    ]
    return Row(
        board, model, train, numbers, what, training.parameter_bytes, plain.report.arena_bytes,
        bundle.report.arena_bytes, *cycles,
    )  # fmt: skip


def _label(number: int) -> np.ndarray[Any, np.dtype[np.int32]]:
    return np.array([number], np.int32)


def recorded() -> list[Row]:
    """What was measured last."""
    return [Row(**row) for row in json.loads(RECORD.read_text(encoding="utf-8"))]


def page(rows: list[Row]) -> str:
    """The page."""
    lines = [
        "# What learning costs",
        "",
        "Models of MLPerf Tiny on modelled cores without wait states, written by "
        "`python -m benchmarks.learning`. *Learning* is a run with a label: an inference, the",
        "gradient and a step. What is in front of the first layer that learns is int8 as before.",
        "",
        "| core | model | what learns | numbers | parameters B | arena B | times | "
        "cycles, inference | with a label | times |",
        "| --- | --- | --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for row in rows:
        arena = f"{count(row.plain_arena_bytes)} → {count(row.arena_bytes)}"
        cycles = f"{count(row.plain_cycles)} → {count(row.inference_cycles)}"
        lines.append(
            f"| {BOARDS[row.board]} | {row.model} | {row.what} (`{row.train}`) | {row.numbers} | "
            f"{count(row.parameter_bytes)} | {arena} "
            f"| {row.arena_times:.2f} | {cycles} | {count(row.learning_cycles)} "
            f"| {row.cycles_times:.2f} |"
        )
    lines += [
        "",
        "Arrows are from the model that does not learn to the one that does. Convolutions that "
        "learn in float32 have images of 32 KB in kws; in fixed point images and, packed, their",
        "gradients are of 8 KB. There, none of the images of the inference but the last two are "
        "kept; the others are computed again. The parameters of both blocks and the layer are",
        "2.2 times the arena of an inference by themselves, and an image, which steps of weights "
        "read as a whole, is 0.8 times: where all of them learn, that is 3 times and more.",
        "What is left of the cycles is mostly products: 1.3 of an inference's 2.7 million go "
        "forward, twice as many back.",
    ]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Measure and record, or write the page again."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--page", action="store_true", help="only write the page")
    if not parser.parse_args().page:
        rows = []
        with tempfile.TemporaryDirectory() as folder:
            for number, case in enumerate(CASES):
                rows.append(measured(*case, Path(folder) / str(number)))
                print(rows[-1], flush=True)
        RECORD.write_text(json.dumps([asdict(row) for row in rows], indent=1) + "\n", "utf-8")
    PAGE.write_text(page(recorded()), encoding="utf-8")


if __name__ == "__main__":
    main()
