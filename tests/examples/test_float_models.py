"""The float models of the examples, compiled as they are: the same numbers as ONNX Runtime's."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

import glowmcu
from glowmcu.bundle import Bundle
from glowmcu.ir.operation import Array
from glowmcu.verify.executors import executor

onnxruntime = pytest.importorskip("onnxruntime")

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
MODELS = ("digits/digits.onnx", "gestures/model.onnx", "vowels/model.onnx")
SAMPLES = 50


@dataclass(frozen=True)
class Example:
    """A model compiled for nrf52, samples, and what ONNX Runtime makes of them."""

    bundle: Bundle
    samples: Array
    wanted: Array


@pytest.fixture(scope="module", params=MODELS)
def example(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Example:
    file = EXAMPLES / request.param
    output = tmp_path_factory.mktemp("bundles") / file.parent.name
    bundle = glowmcu.compile(file, board="nrf52", output=output, name=file.parent.name)
    with np.load(file.parent / "calibration.npz") as stored:
        samples = stored["inputs"][:SAMPLES]
    session = onnxruntime.InferenceSession(file.read_bytes(), providers=["CPUExecutionProvider"])
    name = session.get_inputs()[0].name
    wanted = np.stack([session.run(None, {name: sample[np.newaxis]})[0] for sample in samples])
    return Example(bundle, samples, wanted)


def expect_near(got: Array, wanted: Array) -> None:
    assert got.dtype == wanted.dtype == np.float32
    assert got.shape == wanted.shape
    assert np.abs(got - wanted).max() <= 1e-5 * np.abs(wanted).max()


def test_the_generated_c_gives_what_onnx_runtime_gives(example: Example) -> None:
    sets = [[sample[np.newaxis]] for sample in example.samples]
    for found, wanted in zip(example.bundle.measure_all(sets, "host"), example.wanted, strict=True):
        expect_near(found.outputs[0], wanted)


@pytest.mark.arm
@pytest.mark.parametrize("on", ["cortex-m", "qemu"])
def test_so_does_the_floating_point_unit_of_a_microcontroller(example: Example, on: str) -> None:
    lacking = executor(on, example.bundle.board).missing()
    if lacking is not None:
        pytest.skip(f"needs {lacking}")
    (found,) = example.bundle.measure_all([[example.samples[0][np.newaxis]]], on)
    expect_near(found.outputs[0], example.wanted[0])


def test_the_bundle_passes_its_own_golden_vectors(example: Example) -> None:
    report = glowmcu.api.verify_bundle(example.bundle, ["host"], 3, 0, None)
    assert report.passed, report.checks
    assert not example.bundle.manifest.outputs[0].exact
