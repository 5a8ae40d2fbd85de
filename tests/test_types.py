"""What a type checker says of programs that use the package: mypy reads its types (py.typed)."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

REPO = Path(__file__).resolve().parents[1]

RIGHT = """
from pathlib import Path

import numpy as np

import glowmcu
from glowmcu.option_words import Optimize


def best(goal: Optimize, data: bytes) -> int:
    bundle = glowmcu.compile(data, optimize=goal, emit=["make", "zephyr"], io="uint8")
    glowmcu.compile(Path("kws.onnx"), emit="make", input_layouts={"x": "nhwc"})
    outputs = bundle.run([np.zeros((1, 8)), [[0.5] * 8]], real=True)
    measured = bundle.measure(outputs, on=glowmcu.SerialPort("serial:/dev/ttyACM0"))
    passed: bool = glowmcu.verify(bundle, on=["host", "qemu"]).passed
    cycles = glowmcu.bench("build/kws", core="cortex-m7", wait_states="board").measured.cycles
    chosen = glowmcu.Quantization(schema="symmetric", calibration=("percentile", 99.5))
    made: glowmcu.Profile = glowmcu.profile("kws.onnx", {"x": np.zeros((4, 8))})
    glowmcu.tune("kws.onnx", "data", optimize="ram", rounding="single", io="float")
    page: str = glowmcu.report(bundle).html
    growth = glowmcu.diff(bundle, "build/old").quantities[0].growth
    told = glowmcu.inspect(b"").problems, glowmcu.compare(bundle, "data").plain.sqnr_db
    return len(told) + len(page) + (measured.cycles or 0) + (growth or 0) + (cycles or 0) + passed
"""

#: A line of a program, and what is wrong in it.
WRONG = {
    'glowmcu.compile("m.tflite", optimize="fast")': "optimize",
    'glowmcu.compile("m.tflite", rounding="up")': "rounding",
    'glowmcu.compile("m.tflite", weights="pointers")': "weights",
    'glowmcu.compile("m.tflite", io="int4")': "io",
    'glowmcu.compile("m.tflite", emit="zepyhr")': "emit",
    'glowmcu.compile("m.tflite", emit=["make", "zepyhr"])': "List item 1",
    'glowmcu.compile("m.tflite", input_layouts={"x": "hwc"})': "Dict entry 0",
    'glowmcu.compile("m.tflite", optimise="speed")': "optimise",
    "glowmcu.compile(3)": "Argument 1",
    'glowmcu.Quantization(schema="symetric")': "schema",
    'glowmcu.Quantization(calibration="min-max")': "calibration",
    'glowmcu.verify("b", on="gpu")': "on",
    'glowmcu.verify("b", on=["host", "gpu"])': "List item 1",
    'glowmcu.bench("b", core="cortex-m9")': "core",
    'glowmcu.bench("b", wait_states="bord")': "wait_states",
    'glowmcu.tune("m.onnx", "data", optimize="small")': "optimize",
    'glowmcu.load("b").measure([], on="cortexm")': "on",
    'glowmcu.load("b").session(on="hots")': "on",
    'glowmcu.load("b").run([object()])': "List item 0",
    'glowmcu.example("digit")': "digit",
    "glowmcu.verfy": "verfy",
    "glowmcu.load('b').reprot": "reprot",
}


@pytest.fixture(scope="module")
def checked(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, dict[str, str]]:
    """What mypy says of the right program, and of each line of the wrong one."""
    folder = tmp_path_factory.mktemp("types")
    (folder / "right.py").write_text(RIGHT)
    (folder / "wrong.py").write_text("\n".join(["import glowmcu", *WRONG]) + "\n")
    # The options and the cache are the project's: what it knows of the package is not found anew.
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--no-error-summary",
         folder / "right.py", folder / "wrong.py"],
        cwd=REPO, env={"MYPYPATH": str(REPO), "PATH": ""}, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert not done.stderr, done.stderr
    lines = list(WRONG)
    errors: dict[str, str] = {}
    for number, text in re.findall(
        r"^.*\bwrong\.py:(\d+): error: (.*)$", done.stdout, re.MULTILINE
    ):
        errors.setdefault(lines[int(number) - 2], text)
    right = "\n".join(line for line in done.stdout.splitlines() if "right.py:" in line)
    return right, errors


@pytest.mark.slow
def test_a_right_program_passes_strictly(checked: tuple[str, dict[str, str]]) -> None:
    assert checked[0] == ""


@pytest.mark.slow
@pytest.mark.parametrize("line", WRONG)
def test_a_wrong_word_is_found(checked: tuple[str, dict[str, str]], line: str) -> None:
    assert line in checked[1], "mypy finds nothing wrong"
    assert WRONG[line] in checked[1][line]
