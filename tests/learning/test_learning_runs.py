"""Runs of bundles that learn where nothing is to be learnt: by the command and by a session."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import glowmcu
from glowmcu.cli import main
from tests.learning.test_learning_bundles import DIGITS, compiled


@pytest.fixture
def digits(tmp_path: Path) -> glowmcu.Bundle:
    np.save(tmp_path / "x.npy", np.zeros((1, 8, 8, 1), np.int8))
    np.save(tmp_path / "label.npy", np.full(1, 7, np.int32))
    return compiled(tmp_path, DIGITS, train="last=1")


@pytest.mark.parametrize("label", [False, True], ids=["infers", "learns"])
def test_the_command_shows_the_loss_where_something_is_learnt(
    digits: glowmcu.Bundle, label: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    inputs = ["x.npy", "label.npy"][: 1 + label]
    arguments = [text for name in inputs for text in ("--input", str(tmp_path / name))]
    assert main(["run", str(digits.path), *arguments]) == 0
    assert ("loss  float32[1]" in capsys.readouterr().out) == label
    assert main(["run", str(digits.path), *arguments, "--json"]) == 0
    names = [output["name"] for output in json.loads(capsys.readouterr().out)["outputs"]]
    assert names == ["scores", "loss"][: 1 + label]


def test_real_outputs_of_a_run_that_only_infers(digits: glowmcu.Bundle) -> None:
    session = digits.session()
    (scores,) = session.run([np.zeros((1, 8, 8, 1), np.float32)], real=True)
    assert abs(scores.sum() - 1) < 0.05
    assert session.train([np.zeros((1, 8, 8, 1), np.float32)], 7, real=True) > 0
    (again,) = digits.run([np.zeros((1, 8, 8, 1), np.float32)], real=True)
    assert np.array_equal(again, scores)
