"""Options beside each other: a bundle that equals its reference, or a refusal that names them.

Triples are drawn so that every option comes up twice, each time beside others. Options that say how
a network is computed leave the outputs what they are without any.
"""

from __future__ import annotations

import random
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import glowmcu
from glowmcu.cli import main
from glowmcu.errors import ExitCode
from tests.bundle.models import digits
from tests.cli.conftest import Run
from tests.conftest import REPO

#: The outputs of a run stay the same.
_HOW = (
    "--optimize speed", "--optimize size", "--optimize ram", "--optimize flash",
    "--arena-budget 1300", "--weights pointer", "--cores 2 --board rp2040",
    "--stream-input pixels", "--outside-input pixels", "--keep-input pixels", "--steps",
    "--instrument --dump-tensors", "--no-simplify", "--board esp32c3", "--board mps3-an547",
    "--place auto --board nucleo-h743zi", "--place code=ram --board nrf52", "--emit rust,serial",
)  # fmt: skip
#: What is computed, or where inputs come from, is another.
_WHAT = (
    "--io uint8", "--rounding single", "--slide pixels=2", "--camera pixels=grey:16x12",
    "--train last=1", "--train prototypes=3,last=1", "--train bias --train-numbers fixed",
    "--train normal",
)  # fmt: skip
_ROWS = 2 * (len(_HOW) + len(_WHAT)) // 3


def _rows() -> list[tuple[str, ...]]:
    """Triples of options of which none is given twice."""
    generator, rows = random.Random(20), list[tuple[str, ...]]()
    while len(rows) < _ROWS:
        options = [*_HOW, *_WHAT]
        generator.shuffle(options)
        for row in zip(options[::3], options[1::3], options[2::3], strict=False):
            flags = [word for option in row for word in option.split() if word.startswith("--")]
            if len(set(flags)) == len(flags):
                rows.append(row)
    return rows[:_ROWS]


def test_an_input_that_is_streamed_does_not_slide(glowmcu_cli: Run, work: Path) -> None:
    """The layer that keeps the window was said to be in the way, not the option that adds it."""
    (work / "net.tflite").write_bytes(digits())
    ended = glowmcu_cli("compile", "net.tflite", "--stream-input", "pixels", "--slide", "pixels=2")
    assert ended.exit_code == ExitCode.USAGE
    assert "GM410" in ended.err
    assert "leave out --slide or --stream-input" in ended.err


def _seven() -> np.ndarray:
    return np.load(REPO / "examples" / "digits" / "seven.npy")


@cache
def _plain_scores() -> bytes:
    return glowmcu.compile(digits(), name="digits").run([_seven()])[0].tobytes()


@pytest.mark.parametrize("row", _rows(), ids=" ".join)
def test_options_beside_each_other_compute_what_they_should_or_are_refused_by_name(
    row: tuple[str, ...],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GLOWMCU_ARM_GCC", "none")  # nothing is measured here
    Path("digits.tflite").write_bytes(digits())
    code = main(["compile", "digits.tflite", "-o", "out", *" ".join(row).split()])
    said = capsys.readouterr().err
    if code != 0:
        assert code in (ExitCode.USAGE, ExitCode.UNSUPPORTED, ExitCode.DOES_NOT_FIT), said
        assert "hint: " in said
        named = [option for option in row if option.split()[0] in said]
        assert len(named) >= 2 or code == ExitCode.DOES_NOT_FIT, said
        assert not Path("out").exists()
        return
    assert main(["verify", "out"]) == 0, capsys.readouterr()
    if set(row) <= set(_HOW):
        assert glowmcu.load("out").run([_seven()])[0].tobytes() == _plain_scores()
