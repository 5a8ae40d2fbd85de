"""What int8 makes of models that take NaN for a missing value."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import glowmcu
from tests.support.onnx_models import Nodes, finished, run_onnxruntime

FEATURES = 6
RANDOM = np.random.default_rng(0)
MEANS = np.linspace(1, 4, FEATURES, dtype=np.float32)
ROWS = (MEANS + RANDOM.normal(size=(160, FEATURES))).astype(np.float32)
LACKING = np.where(RANDOM.random(ROWS.shape) < 0.2, np.float32(np.nan), ROWS)


def imputing(scaled: bool) -> bytes:
    """Means in the place of what is missing, then a layer; `scaled`: behind a scaler."""
    onnx = pytest.importorskip("onnx", reason="pip install onnx")
    nodes, x = Nodes(), "x"
    if scaled:
        x = nodes.add("Sub", x, nodes.number(MEANS))
    means = nodes.number(np.zeros_like(MEANS) if scaled else MEANS)
    known = nodes.add("Where", nodes.add("IsNaN", x), means, x)
    weights = np.random.default_rng(1).normal(size=(FEATURES, 3)).astype(np.float32)
    y = nodes.add("MatMul", known, nodes.number(weights))
    border = [
        onnx.helper.make_tensor_value_info(name, 1, shape)
        for name, shape in (("x", (1, FEATURES)), (y, (1, 3)))
    ]
    return finished(onnx, nodes.nodes, border[:1], border[1:], nodes.constants)


def compiled(folder: Path, samples: np.ndarray, scaled: bool, io: str) -> glowmcu.Bundle:
    model = imputing(scaled)
    return glowmcu.compile(model, samples=samples, name="m", output=folder / io, io=io)


@pytest.mark.parametrize("scaled", [False, True])
def test_float_inputs_keep_what_is_missing(tmp_path: Path, scaled: bool) -> None:
    bundle = compiled(tmp_path, LACKING, scaled, "float")
    assert not any("missing value, and a quantized input" in note for note in bundle.notes)
    for row in LACKING[:8]:
        (got,) = bundle.run([row[np.newaxis]], real=True)
        (wanted,) = run_onnxruntime(imputing(scaled), [row[np.newaxis]])
        np.testing.assert_allclose(got, wanted, atol=0.2)


@pytest.mark.parametrize("scaled", [False, True])
def test_quantized_inputs_lose_it_and_are_said_to(tmp_path: Path, scaled: bool) -> None:
    bundle = compiled(tmp_path, LACKING, scaled, "int8")
    assert any("NaN at input 'x'" in note and "io='float' keeps" in note for note in bundle.notes)
    (entry,) = bundle.manifest.quality
    assert entry.shortfalls, "the figures are of what NaN becomes"


def test_samples_without_any_are_told_of_it_too(tmp_path: Path) -> None:
    bundle = compiled(tmp_path, ROWS, False, "int8")
    assert any("NaN at input 'x'" in note for note in bundle.notes)
    (entry,) = bundle.manifest.quality
    assert not entry.shortfalls


def test_ranges_are_of_what_is_known() -> None:
    profile = glowmcu.profile(imputing(False), LACKING)
    tensor = profile.tensors["x"]
    assert (tensor.low, tensor.high) == (np.nanmin(LACKING), np.nanmax(LACKING))


def test_infinity_stays_refused(tmp_path: Path) -> None:
    rows = LACKING.copy()
    rows[3, 2] = np.inf
    with pytest.raises(glowmcu.GlowmcuError, match="inf at") as caught:
        compiled(tmp_path, rows, False, "float")
    assert caught.value.code == "GM305"
