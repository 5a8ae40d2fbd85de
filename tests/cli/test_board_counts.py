"""`bench --compare`: what a board counted beside the model, and files that are no counts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import glowmcu
from glowmcu.errors import GlowmcuError
from glowmcu.verify.modelled import sureness_of
from tests.cli.conftest import Run
from tests.cli.test_commands import object_of

pytestmark = pytest.mark.arm
REFUSED: dict[str, tuple[Any, str]] = {
    "no JSON": ("{", "it is no JSON"),
    "a list": ([], "must be an object"),
    "another model": ({"model_sha256": "00ff", "cycles": 1}, "another model: 00ff"),
    "no total": ({"layers": []}, "cycles must be a count, got None"),
    "layers that are none": ({"cycles": 1, "layers": [3]}, "layers must be a list of objects"),
    "a step too many": ({"cycles": 1, "layers": [{"index": 99, "cycles": 1}]}, "no step 99"),
    "a negative count": ({"cycles": 1, "layers": [{"index": 0, "cycles": -1}]}, "got -1"),
}


@pytest.fixture
def modelled(bundle: str) -> glowmcu.Benchmark:
    return glowmcu.bench(bundle)


def counts_of(found: glowmcu.Benchmark, factor: float, slow: int | None = None) -> dict[str, Any]:
    """As of a board that takes `factor` times the model's cycles, layer `slow` twice that."""
    body = found.json()
    layers = [
        {**row, "cycles": round(factor * row["cycles"] * (2 if row["index"] == slow else 1))}
        for row in body["layers"]  # type: ignore[attr-defined]
    ]
    return {
        **body,
        "on": "serial:/dev/ttyACM0",
        "cycles": round(factor * (found.measured.cycles or 0)),
        "layers": layers,
    }


def test_counts_within_the_model_are_said_to_be(
    modelled: glowmcu.Benchmark, glowmcu_cli: Run, bundle: str, tmp_path: Path
) -> None:
    file = tmp_path / "counts.json"
    file.write_text(json.dumps(counts_of(modelled, 1.01)))
    shown = glowmcu_cli("bench", bundle, "--compare", str(file)).out
    assert "every layer takes what the model says that silicon may" in shown
    found = modelled.compare(file)
    sure, total = sureness_of(modelled.core), found.total
    assert total.low == pytest.approx(sure.low * (modelled.measured.cycles or 0))
    assert modelled.board_cycles is not None
    assert total.high == pytest.approx(sure.high * modelled.board_cycles.high)
    assert found.is_inside
    assert len(found.layers) == len(modelled.measured.layers)


def test_a_layer_and_a_run_outside_of_it_are_named_with_their_factor(
    modelled: glowmcu.Benchmark, glowmcu_cli: Run, bundle: str, tmp_path: Path
) -> None:
    file = tmp_path / "counts.json"
    file.write_text(json.dumps(counts_of(modelled, 1.01, slow=0)))
    layer = modelled.compare(file).layers[0]
    assert layer.ratio == pytest.approx(layer.counted / layer.high)
    assert layer.ratio > 1
    assert "1 of " in modelled.compare(file).verdict
    file.write_text(json.dumps(counts_of(modelled, 0.5)))
    body = object_of(glowmcu_cli("bench", bundle, "--compare", str(file), "--json"))
    counted = body["counted"]
    assert 0.4 < counted["ratio"] < 0.6
    assert "please tell us" in glowmcu_cli("bench", bundle, "--compare", str(file)).out


@pytest.mark.parametrize("what", REFUSED)
def test_what_is_no_count_of_this_bundle_is_refused(
    what: str, modelled: glowmcu.Benchmark, tmp_path: Path
) -> None:
    content, said = REFUSED[what]
    if isinstance(content, dict):
        content = {"model_sha256": modelled.manifest.model_sha256, **content}
    file = tmp_path / "counts.json"
    file.write_text(content if isinstance(content, str) else json.dumps(content))
    with pytest.raises(GlowmcuError, match=said) as found:
        modelled.compare(file)
    assert [problem.code for problem in found.value.problems] == ["GM725"]


def test_a_file_that_is_not_there_is_named(modelled: glowmcu.Benchmark, tmp_path: Path) -> None:
    with pytest.raises(GlowmcuError, match="No such file"):
        modelled.compare(tmp_path / "none.json")
