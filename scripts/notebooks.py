"""Runs the notebooks of docs/notebooks in a fresh folder and keeps what they show.

    python -m scripts.notebooks            run all and store their outputs
    python -m scripts.notebooks NAME …     these

They use what ships with the package and name no folder, no version and no time, so that what is
stored is the same everywhere but for the last digits of numbers and the bytes of pictures.
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

REPO = Path(__file__).resolve().parents[1]
FOLDER = REPO / "docs" / "notebooks"
SECONDS_A_CELL = 300
_NUMBER = re.compile(r"\d+(?:[ \u202f]\d{3})*(?:\.\d+)?(?:e-?\d+)?")
#: How far two runs may lie apart: BLAS sums in another order on another processor.
RELATIVE, ABSOLUTE = 0.02, 0.21


def names() -> list[str]:
    return sorted(path.stem for path in FOLDER.glob("*.ipynb"))


def read(name: str) -> Any:
    return nbformat.read(FOLDER / f"{name}.ipynb", as_version=4)


def execute(name: str) -> Any:
    """The notebook with the outputs that it has today."""
    notebook = read(name)
    notebook.metadata = nbformat.from_dict(
        {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
    )
    environment = {
        **os.environ,
        "COLUMNS": "110",
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
        "PYTHONPATH": str(REPO),
    }
    with tempfile.TemporaryDirectory() as folder:
        client = NotebookClient(
            notebook, timeout=SECONDS_A_CELL, kernel_name="python3", record_timing=False,
            coalesce_streams=True,
            resources={"metadata": {"path": folder}},
        )  # fmt: skip
        client.execute(env=environment)
    for index, cell in enumerate(notebook.cells):
        cell["id"] = f"cell-{index}"
        cell["metadata"] = {}
        for output in cell.get("outputs", ()):
            if "text" in output:
                output["text"] = _plain(output["text"])
    # The interpreter's version is no part of what is shown.
    notebook.metadata.pop("language_info", None)
    return notebook


def _plain(text: str) -> str:
    """Without the colours of a terminal, and blanks at the ends of lines."""
    return re.sub(r"\x1b\[[\d;]*m| +$", "", text, flags=re.MULTILINE)


def shown(notebook: Any) -> Iterator[tuple[str, str]]:
    """What each output shows: its type and its text, of a picture that it is one."""
    for cell in notebook.cells:
        for output in cell.get("outputs", ()):
            data = output.get("data", {})
            if "image/png" in data:
                yield "image/png", ""
            else:
                yield output.output_type, output.get("text") or data.get("text/plain", "")


def differences(stored: Any, run: Any) -> list[str]:
    """Where two runs of a notebook show other things; numbers may differ a little."""
    before, after = list(shown(stored)), list(shown(run))
    if len(before) != len(after):
        return [f"{len(before)} outputs are stored, {len(after)} came"]
    found = []
    for (kind, text), (other_kind, other) in zip(before, after, strict=True):
        words = [" ".join(_NUMBER.sub("#", one).split()) for one in (text, other)]
        numbers = [[float(re.sub(r"[ \u202f]", "", n)) for n in _NUMBER.findall(one)]
                   for one in (text, other)]  # fmt: skip
        if kind != other_kind or words[0] != words[1] or len(numbers[0]) != len(numbers[1]):
            found.append(f"stored:\n{text}\ncame:\n{other}")
            continue
        for a, b in zip(*numbers, strict=True):
            if abs(a - b) > ABSOLUTE + RELATIVE * max(abs(a), abs(b)):
                found.append(f"{a} is stored, {b} came, in:\n{other}")
    return found


def main(wanted: list[str]) -> int:
    for name in wanted or names():
        nbformat.write(execute(name), FOLDER / f"{name}.ipynb")
        print(f"wrote docs/notebooks/{name}.ipynb")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
