"""`--stream-input` from the command line to running the bundle."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tests.cli.conftest import Run

STREAM = ("--board", "nrf52", "--optimize", "ram", "--stream-input", "pixels", "-o", "out")


def test_a_streamed_bundle_is_reported_with_its_rows_and_passes(glowmcu_cli: Run) -> None:
    ended = glowmcu_cli("compile", "digits.tflite", *STREAM, "--json")
    assert ended.exit_code == 0, ended.err
    body = json.loads(ended.out)
    rows = {"function": "digits_push_rows", "count": 8, "read": 8, "bytes": 8}
    assert body["inputs"][0]["rows"] == rows
    assert body["inputs"][0]["offset"] is None
    assert body["outputs"][0]["rows"] is None
    assert body["options"]["stream_input"] == "pixels"
    passes = [row["name"] for row in body["memory_passes"]]
    assert passes.index("stream_rows") < passes.index("push_input") < passes.index("offsets")


def test_what_streaming_saves_is_said_and_shown(glowmcu_cli: Run) -> None:
    options = ("--board", "nrf52", "--stream-input", "image", "-o", "out", "--explain")
    ended = glowmcu_cli("compile", "large.tflite", *options, "--report", "report.html")
    assert ended.exit_code == 0, ended.err
    assert (
        "image comes in 96 rows of 384 B (large_push_rows): the arena never holds all 36 864 B"
        in (ended.out)
    )
    assert "push_input" in ended.out
    assert "image/rows" in ended.out, "the arena map has the ring"
    assert "push_input" in Path("report.html").read_text()
    assert "saves no memory here" not in ended.out


def test_streaming_that_saves_nothing_is_told_where_the_arena_is_fullest(glowmcu_cli: Run) -> None:
    ended = glowmcu_cli("compile", "digits.tflite", *STREAM, "--json")
    whole = glowmcu_cli("compile", "digits.tflite", *STREAM[:4], "-o", "whole", "--json")
    body, (note,) = json.loads(ended.out), json.loads(ended.out)["notes"]
    assert body["arena_bytes"] >= json.loads(whole.out)["arena_bytes"]
    assert note.startswith("--stream-input saves no memory here")
    assert "when the arena is fullest: step 4 conv_2d with " in note
    assert json.loads(whole.out)["notes"] == []


def test_an_input_larger_than_the_board_fits_when_it_is_streamed(glowmcu_cli: Run) -> None:
    whole = glowmcu_cli("compile", "large.tflite", "--board", "microbit", "-o", "out")
    assert whole.exit_code == 4
    options = ("--board", "microbit", "--stream-input", "image", "-o", "out", "--json")
    ended = glowmcu_cli("compile", "large.tflite", *options)
    assert ended.exit_code == 0, ended.err
    assert json.loads(ended.out)["arena_bytes"] < 16 * 1024 - 1024
    verified = glowmcu_cli("verify", "out", "--on", "host")
    assert verified.exit_code == 0, verified.out + verified.err


@pytest.mark.arm
def test_a_streamed_bundle_runs_is_verified_and_benched(glowmcu_cli: Run) -> None:
    assert glowmcu_cli("compile", "digits.tflite", *STREAM).exit_code == 0
    verified = glowmcu_cli("verify", "out", "--on", "host,cortex-m", "--model", "digits.tflite")
    assert verified.exit_code == 0, verified.out + verified.err
    run = glowmcu_cli("run", "out", "--input", "pixels.npy", "--output", "got", "--json")
    assert run.exit_code == 0, run.err
    (output,) = json.loads(run.out)["outputs"]
    assert glowmcu_cli("compile", "digits.tflite", "-o", "whole").exit_code == 0
    again = glowmcu_cli("run", "whole", "--input", "pixels.npy", "--json")
    assert json.loads(again.out)["outputs"][0]["sha256"] == output["sha256"]
    assert np.load(output["file"]).shape == (1, 10)
    bench = glowmcu_cli("bench", "out", "--json")
    assert bench.exit_code == 0, bench.err
    measured = json.loads(bench.out)
    assert sum(layer["cycles"] for layer in measured["layers"]) > 0.9 * measured["cycles"]
