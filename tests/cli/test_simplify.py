"""`--no-simplify`, and what is shown of a model that was simplified."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import glowmcu
from glowmcu.frontend.tflite.writer import ModelBuilder
from tests.cli.conftest import Run


def saturating_model() -> bytes:
    """Of four hidden units one always saturates, and the weights of another are 0."""
    model = ModelBuilder()
    x = model.input("x", (1, 4), "int8", 0.1, 3)
    hidden = model.tensor("hidden", (1, 4), "int8", 0.1, 3)
    y = model.tensor("y", (1, 2), "int8", 0.1, 3)
    w = model.constant("w", np.eye(4, dtype=np.int8) * 9, 0.1)
    bias = model.constant("bias", np.array([0, 10**7, 0, 0], np.int32), 0.01)
    v = model.constant("v", np.array([[5, 6, 0, 7], [4, -3, 0, 2]], np.int8), 0.1)
    model.op("FULLY_CONNECTED", [x, w, bias], [hidden])
    model.op("FULLY_CONNECTED", [hidden, v, None], [y])
    model.output(y)
    return model.finish()


@pytest.fixture
def saturating(work: Path) -> str:
    (work / "saturating.tflite").write_bytes(saturating_model())
    return "saturating.tflite"


def compiled(run: Run, *arguments: str) -> Any:
    ended = run("compile", *arguments, "-o", "out", "--json")
    assert ended.exit_code == 0, ended.err
    return json.loads(ended.out)


def test_json_tells_what_went_and_why(glowmcu_cli: Run, saturating: str) -> None:
    body = compiled(glowmcu_cli, saturating)
    told = body["simplification"]
    assert (told["macs_before"], told["macs_after"], body["macs"]) == (24, 12, 12)
    assert told["weights_bytes_before"] - told["weights_bytes_after"] == 12
    first, second = told["layers"]
    assert (first["channels_before"], first["channels_after"]) == (4, 2)
    assert (first["constant_channels"], first["unread_channels"]) == (1, 1)
    assert (second["channels_before"], second["channels_after"]) == (2, 2)
    assert "simplify" not in body["options"]


def test_no_simplify_keeps_all_and_stands_in_the_bundle(glowmcu_cli: Run, saturating: str) -> None:
    body = compiled(glowmcu_cli, saturating, "--no-simplify")
    assert (body["macs"], body["simplification"]) == (24, None)
    assert body["options"]["simplify"] == "no"
    assert "simplify=no" in Path("out/saturating.h").read_text()


def test_both_bundles_give_the_same_bytes(glowmcu_cli: Run, saturating: str) -> None:
    generator = np.random.default_rng(1)
    inputs = [[generator.integers(-128, 128, (1, 4)).astype(np.int8)] for _ in range(8)]
    outputs = []
    for simplify in (True, False):
        bundle = glowmcu.compile(saturating, output=f"out_{simplify}", simplify=simplify)
        assert bundle.report.macs == (12 if simplify else 24)
        outputs.append([result.outputs[0] for result in bundle.measure_all(inputs, on="host")])
    assert np.array_equal(*outputs)
    assert len({array.tobytes() for array in outputs[0]}) > 4


def test_a_summary_line_and_a_table_say_it_to_people(glowmcu_cli: Run, saturating: str) -> None:
    ended = glowmcu_cli("compile", saturating, "-o", "out", "--explain", "--report", "page.html")
    assert "1 channels never change, 1 are never read: 12 MACs and 12 B of weights" in ended.out
    assert "simplified" in ended.out
    page = Path("page.html").read_text()
    numbers = "".join(f'<td class="n">{number}</td>' for number in (4, 2, 1, 1))
    assert f"<td>fully_connected</td>{numbers}" in page


def test_nothing_is_said_where_nothing_went(glowmcu_cli: Run) -> None:
    ended = glowmcu_cli(
        "compile", "digits.tflite", "-o", "out", "--explain", "--report", "page.html"
    )
    for words in ("simplified", "never change", "never read"):
        assert words not in ended.out
    assert "Simplified" not in Path("page.html").read_text()


def test_what_was_told_is_read_back_from_the_bundle(glowmcu_cli: Run, saturating: str) -> None:
    bundle = glowmcu.compile(saturating, output="out")
    assert bundle.manifest.simplification is not None
    assert glowmcu.load("out").manifest == bundle.manifest


def test_verify_holds_a_simplified_bundle_to_the_model(glowmcu_cli: Run, saturating: str) -> None:
    compiled(glowmcu_cli, saturating)
    ended = glowmcu_cli("verify", "out", "--model", saturating, "--on", "host")
    assert ended.exit_code == 0, ended.err
