"""The committed figures are today's: one model is measured again, the pages are made again."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.__main__ import compiler_version
from benchmarks.measure import measure
from benchmarks.models import MODELS, MORE_TARGETS, TARGETS, Model, Target
from benchmarks.results_page import page
from glowmcu.compilation import Options
from glowmcu.pipeline import compile_model

RESULTS = Path(__file__).resolve().parents[1] / "benchmarks"


def test_the_page_is_made_of_the_figures() -> None:
    results = json.loads((RESULTS / "results.json").read_text(encoding="utf-8"))
    assert (RESULTS / "results.md").read_text(encoding="utf-8") == page(results)


@pytest.mark.arm
@pytest.mark.riscv
@pytest.mark.parametrize("target", [*TARGETS, *MORE_TARGETS], ids=lambda target: target.core)
def test_the_digits_model_costs_what_the_results_say(target: Target, tmp_path: Path) -> None:
    results = json.loads((RESULTS / "results.json").read_text(encoding="utf-8"))
    if results["compiler"] != compiler_version():
        pytest.skip(f"the figures are of {results['compiler']}, here is {compiler_version()}")
    digits = next(model for model in MODELS if model.name == "digits")
    wanted = next(
        row for row in results["rows"] if row["model"] == "digits" and row["core"] == target.core
    )
    assert measure(digits, target, tmp_path).to_json() == wanted


@pytest.mark.parametrize("target", [*TARGETS, *MORE_TARGETS], ids=lambda target: target.core)
def test_plans_of_all_models_are_those_of_the_results(target: Target, shared_dir: Path) -> None:
    """After a change: `python -m benchmarks`, or with `--core`."""
    results = json.loads((RESULTS / "results.json").read_text(encoding="utf-8"))
    wanted = {
        row["model"]: (row["arena_bytes"], row["weights_bytes"])
        for row in results["rows"]
        if row["core"] == target.core
    }
    found = {model.name: _planned(model, target) for model in MODELS}
    assert found == wanted


def _planned(model: Model, target: Target) -> tuple[int, int]:
    """Bytes of arena and constants."""
    options = Options(model.name, board=target.board, core=target.core)
    compilation = compile_model(model.path.read_bytes(), model.path.name, options)
    return compilation.manifest.arena_bytes, compilation.manifest.weights_bytes
