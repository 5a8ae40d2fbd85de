"""The committed figures are today's: one model is measured again, the pages are made again."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.__main__ import compiler_version
from benchmarks.measure import measure
from benchmarks.models import MODELS, TARGETS
from benchmarks.results_page import page

RESULTS = Path(__file__).resolve().parents[1] / "benchmarks"


def test_the_page_is_made_of_the_figures() -> None:
    results = json.loads((RESULTS / "results.json").read_text(encoding="utf-8"))
    assert (RESULTS / "results.md").read_text(encoding="utf-8") == page(results)


@pytest.mark.arm
@pytest.mark.parametrize("core", ["cortex-m4", "cortex-m0plus"])
def test_the_digits_model_costs_what_the_results_say(core: str, tmp_path: Path) -> None:
    results = json.loads((RESULTS / "results.json").read_text(encoding="utf-8"))
    if results["compiler"] != compiler_version():
        pytest.skip(f"the figures are of {results['compiler']}, here is {compiler_version()}")
    digits = next(model for model in MODELS if model.name == "digits")
    target = next(target for target in TARGETS if target.core == core)
    wanted = next(
        row for row in results["rows"] if row["model"] == "digits" and row["core"] == core
    )
    assert measure(digits, target, tmp_path).to_json() == wanted
