"""Bundles whose inputs outlive a run: what the C keeps, what it says, and who finds out."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

from glowmcu.compilation import Options
from glowmcu.errors import GlowmcuError
from glowmcu.goals import Goal
from glowmcu.input_options import InputOptions
from glowmcu.ir.interpreter import run_graph
from glowmcu.manifest import read_manifest
from glowmcu.pipeline import compile_model
from glowmcu.verify.cortex_m.executor import CortexM
from glowmcu.verify.host import Host
from glowmcu.verify.verification import random_inputs
from tests.bundle.models import model_bytes
from tests.bundle.test_use import selftest_result
from tests.support.check_model import expect_equal, write_bundle

INPUTS = {
    "digits": ("pixels",),
    "two_in_two_out": ("left", "right"),
    "kws": ("input_1",),
    "ad": ("input_1",),
}


def bundle_keeping(
    name: str, kept: tuple[str, ...], folder: Path, goal: Goal = Goal.BALANCED
) -> Path:
    options = Options(name, core="cortex-m4", goal=goal, inputs=InputOptions(kept=kept))
    return write_bundle(compile_model(model_bytes(name), f"{name}.tflite", options), folder / name)


@pytest.mark.parametrize(
    ("name", "goal"),
    [
        ("digits", Goal.RAM),
        ("two_in_two_out", Goal.BALANCED),
        ("ad", Goal.BALANCED),
        pytest.param("kws", Goal.RAM, marks=pytest.mark.slow),
    ],
)
def test_kept_inputs_survive_and_outputs_are_what_they_were(
    name: str, goal: Goal, tmp_path: Path
) -> None:
    bundle = bundle_keeping(name, INPUTS[name], tmp_path, goal)
    manifest = read_manifest(bundle)
    assert all(entry.kept for entry in manifest.inputs)
    sets = random_inputs(manifest, 1, 7)
    graph = compile_model(model_bytes(name), f"{name}.tflite", Options(name)).imported
    for executor in (Host(), CortexM("cortex-m4", count=False)):
        for arrays, got in zip(sets, executor.run(bundle, sets), strict=True):
            for index, want in enumerate(run_graph(graph, arrays)):
                expect_equal(got.outputs[index], want, f"output {index} on {executor.name}")
    assert selftest_result(name, bundle, tmp_path) == 0


def test_the_header_says_which_inputs_survive(tmp_path: Path) -> None:
    bundle = bundle_keeping("two_in_two_out", ("right",), tmp_path)
    header = (bundle / "two_in_two_out.h").read_text()
    assert "#define TWO_IN_TWO_OUT_INPUT_RIGHT_KEPT 1" in header
    assert "INPUT_LEFT_KEPT" not in header
    assert "of the inputs only input_right survive the run" in header
    assert "keep_input=right" in header


@pytest.mark.parametrize("executor", [Host(), CortexM("cortex-m4", count=False)])
def test_an_input_that_is_kept_by_word_only_is_found_out(
    executor: Host | CortexM, tmp_path: Path
) -> None:
    """The same bundle without the plan that keeps the input."""
    bundle = bundle_keeping("two_in_two_out", (), tmp_path)
    manifest = json.loads((bundle / "manifest.json").read_text())
    overwritten = manifest["inputs"][0]
    assert overwritten["offset"] == manifest["outputs"][1]["offset"]
    overwritten["kept"] = True
    (bundle / "manifest.json").write_text(json.dumps(manifest))
    inputs = random_inputs(read_manifest(bundle), 1, 7)
    with pytest.raises(GlowmcuError, match="changed the input 'left'"):
        executor.run(bundle, inputs)


def test_the_self_test_finds_a_kept_input_changed(tmp_path: Path) -> None:
    """Its second run takes the input as the first left it."""
    bundle = bundle_keeping("digits", ("pixels",), tmp_path)
    source = bundle / "digits.c"
    spoil = "\n    *digits_input(arena) ^= 0x55;\n    int8_t *const a ="
    text, count = re.subn(r"\n    int8_t \*const a =", spoil, source.read_text())
    assert count == 1
    source.write_text(text.replace("^= 0x55", "= (int8_t)(*digits_input(arena) ^ 0x55)"))
    assert selftest_result("digits", bundle, tmp_path) != 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (InputOptions(kept=("lefft",)), "no input is named 'lefft'"),
        (
            InputOptions(kept=("left",), bind={"left": np.zeros((1, 6), np.int8)}),
            "both bound and kept",
        ),
    ],
)
def test_an_input_that_cannot_be_kept_is_refused(options: InputOptions, message: str) -> None:
    with pytest.raises(GlowmcuError, match=message) as found:
        compile_model(model_bytes("two_in_two_out"), "m.tflite", Options("m", inputs=options))
    assert found.value.problems[0].code == "GM107"
