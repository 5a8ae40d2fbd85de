"""The firmware examples build from nothing, by make and by CMake, and say what they are to say.

In QEMU on every board that has a machine there; in Renode where `renode-test` is on PATH.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

REPO = Path(__file__).resolve().parents[2]
EXAMPLES = REPO / "firmware_examples"
GLOWMCU = f"{sys.executable} -m glowmcu"
# Each example on its own board, or the one that stands in for it in QEMU, and on some with less.
RUNS = [
    ("digits_stm32f4", "stm32f4-discovery"),
    ("digits_stm32f4", "mps2-an505"),
    ("digits_stm32f4", "mps2-an500"),
    ("digits_stm32f4", "mps3-an547"),
    ("gestures_nrf52840", "mps2-an386"),
    ("gestures_nrf52840", "microbit"),
    ("gestures_nrf52840", "stm32vldiscovery"),
    ("model_update", "mps2-an386"),
    ("model_update", "mps2-an385"),
    ("two_models", "microbit"),
    ("two_models", "stm32vldiscovery"),
    ("spoken_digits", "stm32f4-discovery"),
    ("spoken_digits", "microbit"),
    ("wake_word_nrf52840", "mps2-an386"),
    ("wake_word_nrf52840", "microbit"),
]
BY_CMAKE = [
    ("digits_stm32f4", "stm32f4-discovery"),
    ("gestures_nrf52840", "mps2-an386"),
    ("model_update", "mps2-an386"),
    ("two_models", "microbit"),
    ("spoken_digits", "stm32f4-discovery"),
    ("wake_word_nrf52840", "mps2-an386"),
]
IN_RENODE = [
    ("wake_word_nrf52840", "nrf52"),
    ("spoken_digits", "stm32f4-discovery"),
    ("digits_stm32f4", "stm32f4-discovery"),
    ("gestures_nrf52840", "nrf52"),
]


def run(command: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    """With this interpreter's glowmcu."""
    environment = {**os.environ, "PYTHONPATH": str(REPO)}
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=240,
        check=False,
    )  # fmt: skip


def make(
    example: str, board: str, build: Path, target: str, **variables: str
) -> subprocess.CompletedProcess[str]:
    """`make` of an example; its files go to `build`."""
    settings = [f"BOARD={board}", f"BUILD={build}", f"PYTHON={sys.executable}"]
    settings += [f"{name}={value}" for name, value in variables.items()]
    return run(["make", "-s", target, *settings, f"GLOWMCU={GLOWMCU}"], EXAMPLES / example)


def expected(example: str) -> list[str]:
    """What the firmware says."""
    return (EXAMPLES / example / "expected.txt").read_text(encoding="utf-8").splitlines()


@pytest.mark.qemu
@pytest.mark.parametrize(("example", "board"), RUNS)
def test_make_builds_and_runs_the_example(example: str, board: str, tmp_path: Path) -> None:
    done = make(example, board, tmp_path / "build", "run")
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    lines = expected(example)
    assert done.stdout.splitlines()[-len(lines) :] == lines


@pytest.mark.qemu
@pytest.mark.parametrize(("example", "board"), BY_CMAKE)
def test_cmake_builds_and_runs_the_example(example: str, board: str, tmp_path: Path) -> None:
    if shutil.which("cmake") is None:
        pytest.skip("needs cmake (Debian: apt-get install cmake)")
    toolchain = EXAMPLES / "common" / "arm-none-eabi.cmake"
    settings = [f"-DCMAKE_TOOLCHAIN_FILE={toolchain}", f"-DBOARD={board}", f"-DGLOWMCU={GLOWMCU}",
                f"-DPython3_EXECUTABLE={sys.executable}"]  # fmt: skip
    done = run(["cmake", "-S", ".", "-B", str(tmp_path), *settings], EXAMPLES / example)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    done = run(["cmake", "--build", str(tmp_path), "--target", "run"], EXAMPLES / example)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    assert "\n".join(expected(example)) in done.stdout


@pytest.mark.renode
@pytest.mark.parametrize(("example", "board"), IN_RENODE)
def test_renode_runs_the_example(example: str, board: str, tmp_path: Path) -> None:
    done = make(example, board, tmp_path / "build", "renode")
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]


def test_a_board_without_a_machine_says_what_to_do(tmp_path: Path) -> None:
    runner = EXAMPLES / "common" / "run_in_qemu.py"
    done = run([sys.executable, str(runner), "--machine", "", "firmware.elf"], tmp_path)
    assert done.returncode == 1
    assert done.stderr == "QEMU does not have this board: use `make renode`, or another BOARD\n"


@pytest.mark.arm
def test_an_update_for_other_code_is_refused(tmp_path: Path) -> None:
    for board in ("mps2-an385", "mps2-an386"):
        done = make("model_update", board, tmp_path / board, f"{tmp_path / board}/linked.elf")
        assert done.returncode == 0, done.stderr[-4000:]
    here, other = (str(tmp_path / board / "linked.elf") for board in ("mps2-an385", "mps2-an386"))
    script = str(EXAMPLES / "model_update" / "make_data.py")
    done = run([sys.executable, script, "image", here, other, "model.bin"], tmp_path)
    assert done.returncode == 1
    assert "flash the whole firmware" in done.stderr
    assert not (tmp_path / "model.bin").exists()
