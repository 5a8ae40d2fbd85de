"""Models that compute nothing: their outputs are their inputs, under other shapes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import glowmcu
from glowmcu.errors import ExitCode, GlowmcuError
from glowmcu.frontend.tflite.writer import ModelBuilder


def reshaping_model(folder: Path) -> Path:
    model = ModelBuilder()
    x = model.input("x", (1, 4, 4, 2), "int8", 0.1, 3)
    y = model.tensor("y", (1, 32), "int8", 0.1, 3)
    model.op("RESHAPE", [x, model.constant("shape", np.array([1, 32], np.int32))], [y])
    model.output(y)
    path = folder / "reshape.tflite"
    path.write_bytes(model.finish())
    return path


def test_an_arena_budget_below_inputs_and_outputs_is_refused_without_a_layer(
    tmp_path: Path,
) -> None:
    with pytest.raises(GlowmcuError) as caught:
        glowmcu.compile(reshaping_model(tmp_path), output=tmp_path / "out", arena_budget=8)
    assert caught.value.code == "GM403"
    assert caught.value.exit_code is ExitCode.DOES_NOT_FIT
    assert "inputs and outputs alone need that" in str(caught.value)
    assert not (tmp_path / "out").exists()


def test_a_model_that_computes_nothing_runs(tmp_path: Path) -> None:
    bundle = glowmcu.compile(reshaping_model(tmp_path), output=tmp_path / "out", arena_budget=64)
    x = np.arange(32, dtype=np.int8).reshape(1, 4, 4, 2)
    assert bundle.run([x])[0].tolist() == x.reshape(1, 32).tolist()
