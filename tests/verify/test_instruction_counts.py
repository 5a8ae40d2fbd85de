"""The modelled cores execute as many instructions as QEMU's, whole firmwares under -icount.

QEMU's count comes from the board's timer and is right to within a few instructions.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import glowmcu
from benchmarks.calibration_layers import model
from glowmcu.verify.cortex_m import CortexM
from glowmcu.verify.qemu import Qemu
from glowmcu.verify.verification import seeded_inputs

_ABSENT = Qemu().missing() or CortexM("cortex-m4").missing()
pytestmark = [pytest.mark.qemu, pytest.mark.skipif(_ABSENT is not None, reason=str(_ABSENT))]

DIGITS = Path(__file__).resolve().parents[2] / "examples" / "digits" / "digits_int8.tflite"
#: Core of the board, by the board.
BOARDS = {
    "microbit": "cortex-m0",
    "mps2-an385": "cortex-m3",
    "mps2-an386": "cortex-m4",
    "mps2-an500": "cortex-m7",
    "mps2-an505": "cortex-m33",
}
#: Entry and exit of the run are measured a little differently.
TOLERANCE = 40


def models(folder: Path) -> list[Path]:
    """A whole small network, and layers of kinds that it does not have."""
    files = [Path(shutil.copy(DIGITS, folder / "digits.tflite"))]
    for name, kind, samples in (
        ("depthwise", "DEPTHWISE_CONV_2D", [8, 14]),
        ("dense", "FULLY_CONNECTED", [8, 9]),
        ("sum", "ADD", [2, 3]),
    ):
        files.append(folder / f"{name}.tflite")
        files[-1].write_bytes(model(kind, samples))
    return files


@pytest.mark.parametrize("board", BOARDS)
def test_the_model_executes_what_qemu_executes(board: str, tmp_path: Path) -> None:
    for file in models(tmp_path):
        bundle = glowmcu.compile(file, board=board, output=tmp_path / file.stem, name="m")
        inputs = [seeded_inputs(bundle.manifest, 1)]
        (modelled,) = CortexM(BOARDS[board]).run(bundle.path, inputs)
        (counted,) = Qemu().run(bundle.path, inputs)
        assert modelled.instructions is not None
        assert counted.instructions is not None
        assert modelled.instructions > 50 * TOLERANCE, "too little to tell anything"
        assert abs(modelled.instructions - counted.instructions) <= TOLERANCE, file.stem
        assert modelled.outputs[0].tobytes() == counted.outputs[0].tobytes()
