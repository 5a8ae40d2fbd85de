"""`python -m benchmarks.flash_table`: what `--optimize flash` saves, as `glowmcu compile` says.

Exchanges the two tables of docs/flash.md: MLPerf Tiny's int8 models, and its float models with
weights of four bits. The latter are quantized by random samples, since bytes of flash are asked for
here, and hardly depend on the ranges of activations.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
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
GOALS = ("size", "flash")
COLUMNS = {
    "constants": "weights_bytes", "with code": "flash_bytes", "arena": "arena_bytes",
    "million cycles": "cycles",
}  # fmt: skip
_SAMPLES = 8


def main() -> None:
    """Compile all, and write the page."""
    text = PAGE.read_text(encoding="utf-8")
    for lines in (list(_int8_rows()), list(_four_bit_rows())):
        head = lines[0]
        assert text.count(head) == 1, head
        before, _, rest = text.partition(head)
        _, _, after = rest.partition("\n\n")
        text = before + "\n".join(lines) + "\n\n" + after
    write_text_file(PAGE, text)


def _int8_rows() -> Iterator[str]:
    yield from _head("model, core")
    for board, core in BOARDS.items():
        for name, what in MODELS.items():
            yield _row(f"{what}, {core}", SHARED / f"{name}_int8.tflite", board)


def _four_bit_rows() -> Iterator[str]:
    yield from _head("`--weights 4`, Cortex-M4")
    with tempfile.TemporaryDirectory() as folder:
        for name, what in MODELS.items():
            model, samples = SHARED / f"{name}_float.tflite", Path(folder) / f"{name}.npy"
            shape = read_model(model.read_bytes(), model.name).inputs[0].type.shape
            draw = np.random.default_rng(0).uniform(0, 1, (_SAMPLES, *shape[1:]))
            np.save(samples, draw.astype(np.float32))
            yield _row(what, model, "nrf52", "--weights", "4", "--samples", str(samples))


def _head(first: str) -> Iterator[str]:
    cells = [f"{column}, `{goal}` | `{other}`" for column in COLUMNS for goal, other in [GOALS]]
    yield f"| {first} | " + " | ".join(cells) + " |"
    yield "|---" * (1 + len(GOALS) * len(COLUMNS)) + "|"


def _row(what: str, model: Path, board: str, *options: str) -> str:
    found = [_compiled(model, board, goal, options) for goal in GOALS]
    cells = [
        f"{one[key] / 1e6:.3g}" if key == "cycles" else f"{one[key]:,}"
        for key in COLUMNS.values()
        for one in found
    ]
    return f"| {what} | " + " | ".join(cells) + " |"


def _compiled(model: Path, board: str, goal: str, options: Sequence[str]) -> dict[str, Any]:
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
