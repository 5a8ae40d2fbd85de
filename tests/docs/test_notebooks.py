"""The notebooks of the documentation show what running them shows."""

from __future__ import annotations

import copy
from typing import Any

import pytest

nbformat = pytest.importorskip("nbformat")
pytest.importorskip("nbclient")
pytest.importorskip("ipykernel")

from scripts.notebooks import differences, execute, names, read  # noqa: E402

#: What notebooks take besides the package and its tests' packages.
NEEDS = {"train_for_two_bits": ("torch", "brevitas", "onnxoptimizer")}


def made(*texts: str) -> Any:
    cell = nbformat.v4.new_code_cell("")
    cell.outputs = [nbformat.v4.new_output("stream", text=text) for text in texts]
    return nbformat.v4.new_notebook(cells=[cell])


@pytest.mark.slow
@pytest.mark.parametrize("name", names())
def test_a_notebook_shows_what_is_stored_in_it(name: str) -> None:
    for package in ("matplotlib", *NEEDS.get(name, ())):
        pytest.importorskip(package, reason=f"pip install {package}")
    stored = read(name)
    assert not differences(stored, execute(name))


@pytest.mark.parametrize("name", names())
def test_a_stored_notebook_was_run_from_its_beginning_and_names_no_place(name: str) -> None:
    stored = read(name)
    code = [cell for cell in stored.cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in code] == list(range(1, len(code) + 1))
    assert not [o for cell in code for o in cell.outputs if o.output_type == "error"]
    text = nbformat.writes(copy.deepcopy(stored))
    assert not [word for word in ("/tmp", "/home", "/root", "\\u001b", "timestamp") if word in text]


def test_notebooks_differ_where_words_or_numbers_do() -> None:
    stored = made("arena 1 216 B, 98.33 %\n")
    assert not differences(stored, made("arena 1 217 B,  98.4 %\n"))
    assert differences(stored, made("arena 1 416 B, 98.33 %\n"))
    assert differences(stored, made("weights 1 216 B, 98.33 %\n"))
    assert differences(stored, made("arena 1 216 B, 98.33 %\n", "more"))
    assert differences(stored, made("arena 1 216 B\n"))
