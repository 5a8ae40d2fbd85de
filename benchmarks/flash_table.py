"""`python -m benchmarks.flash_table`: what `--optimize flash` saves, as `glowmcu compile` says.

`--table` renews one, and keeps the others.

Exchanges the tables of docs/flash.md: MLPerf Tiny's int8 models, and its float models with weights
of four bits, with less flash and beside those of eight bits. Float models are quantized by random
samples, since bytes of flash are asked for here, and hardly depend on the ranges of activations.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.models import REPO, SHARED
from glowmcu.file_writing import write_text_file
from glowmcu.frontend.read_model import read_model

PAGE = REPO / "docs" / "flash.md"
MODELS = {
    "kws": "keyword spotting", "vww": "visual wake words", "ic": "image classification",
    "ad": "anomaly detection",
}  # fmt: skip
BOARDS = {"nrf52": "Cortex-M4", "rp2040": "Cortex-M0+"}
#: Of the tables of `balanced`.
BALANCED = {
    "nrf52": "Cortex-M4", "rp2040": "Cortex-M0+", "mps2-an385": "Cortex-M3",
    "rp2350-riscv": "RISC-V", "mps3-an547": "Cortex-M55",
}  # fmt: skip
GOALS = ("size", "flash")
#: Columns of these tables, with their options.
BITS = {"int8": (), "`--weights 4`": ("--weights", "4")}
COLUMNS = {
    "constants": "weights_bytes", "with code": "flash_bytes", "arena": "arena_bytes",
    "million cycles": "cycles",
}  # fmt: skip
_SAMPLES = 8


def main() -> None:
    """Compile all, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--table", action="append", choices=sorted(_tables()), help="repeatable")
    chosen = parser.parse_args().table or list(_tables())
    with tempfile.TemporaryDirectory() as folder:
        samples = _samples(Path(folder))
        made = [list(_tables()[name](samples)) for name in chosen]
    text = PAGE.read_text(encoding="utf-8")
    for lines in made:
        head = lines[0]
        assert text.count(head) == 1, head
        before, _, rest = text.partition(head)
        _, _, after = rest.partition("\n\n")
        text = before + "\n".join(lines) + "\n\n" + after
    write_text_file(PAGE, text)


_Table = Callable[[Mapping[str, Path]], Iterator[str]]


def _tables() -> dict[str, _Table]:
    """What makes each table's lines of samples, by its name."""
    balanced = {
        f"balanced, {core}": partial(_balanced_rows, board) for board, core in BALANCED.items()
    }
    return {"int8": _int8_rows, "four bits": _four_bit_rows, **balanced}


def _samples(folder: Path) -> dict[str, Path]:
    """Random inputs of each model."""
    found = {}
    for name in MODELS:
        model = _model(name, "float")
        shape = read_model(model.read_bytes(), model.name).inputs[0].type.shape
        draw = np.random.default_rng(0).uniform(0, 1, (_SAMPLES, *shape[1:]))
        found[name] = folder / f"{name}.npy"
        np.save(found[name], draw.astype(np.float32))
    return found


def _model(name: str, kind: str) -> Path:
    return SHARED / f"{name}_{kind}.tflite"


def _int8_rows(_: Mapping[str, Path]) -> Iterator[str]:
    yield from _head("model, core", [f"`{goal}`" for goal in GOALS])
    for board, core in BOARDS.items():
        for name, what in MODELS.items():
            found = [_compiled(_model(name, "int8"), board, goal) for goal in GOALS]
            yield _row(f"{what}, {core}", found)


def _four_bit_rows(samples: Mapping[str, Path]) -> Iterator[str]:
    yield from _head("`--weights 4`, Cortex-M4", [f"`{goal}`" for goal in GOALS])
    for name, what in MODELS.items():
        options = ("--samples", str(samples[name]), "--weights", "4")
        model = _model(name, "float")
        yield _row(what, [_compiled(model, "nrf52", goal, options) for goal in GOALS])


def _balanced_rows(board: str, samples: Mapping[str, Path]) -> Iterator[str]:
    yield from _head(f"`balanced`, {BALANCED[board]}", BITS)
    for name, what in MODELS.items():
        given = ("--samples", str(samples[name]))
        model = _model(name, "float")
        found = [_compiled(model, board, "balanced", (*given, *more)) for more in BITS.values()]
        yield _row(what, found)


def _head(first: str, pair: Iterable[str]) -> Iterator[str]:
    cells = [f"{column}, {' | '.join(pair)}" for column in COLUMNS]
    yield f"| {first} | " + " | ".join(cells) + " |"
    yield "|---" * (1 + 2 * len(COLUMNS)) + "|"


def _row(what: str, found: Sequence[Mapping[str, Any]]) -> str:
    cells = [
        f"{one[key] / 1e6:.3g}" if key == "cycles" else f"{one[key]:,}"
        for key in COLUMNS.values()
        for one in found
    ]
    return f"| {what} | " + " | ".join(cells) + " |"


def _compiled(model: Path, board: str, goal: str, options: Sequence[str] = ()) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        command = [
            sys.executable, "-m", "glowmcu", "compile", str(model), "--board", board,
            "--optimize", goal, *options, "-o", str(Path(folder) / "bundle"), "--json",
        ]  # fmt: skip
        out = subprocess.run(command, check=True, capture_output=True, text=True, cwd=REPO).stdout
    said = json.loads(out)
    print(f"{model.stem} {board} {goal}: {said['weights_bytes']} B", file=sys.stderr)
    return {
        **said,
        "flash_bytes": said["weights_bytes"] + said["code_bytes"],
        "cycles": said["costs"]["cycles_estimate"],
    }


if __name__ == "__main__":
    main()
