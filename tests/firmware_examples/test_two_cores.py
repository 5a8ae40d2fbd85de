"""The example for two cores: built and run in QEMU, where both cores truly run."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

import glowmcu
from glowmcu.verify.host import Host
from glowmcu.verify.host_cores import HostCores
from glowmcu.verify.verification import seeded_inputs
from tests.firmware_examples.test_examples import EXAMPLES, GLOWMCU, expected, run

NAME = "two_cores"


@pytest.mark.qemu
@pytest.mark.parametrize("cores", [1, 2])
def test_two_cores_share_the_runs_of_the_self_test(cores: int, tmp_path: Path) -> None:
    settings = [f"BUILD={tmp_path}", f"GLOWMCU={GLOWMCU}", f"CORES={cores}"]
    done = run(["make", "-s", "run", *settings], EXAMPLES / NAME)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    # QEMU writes what firmware says by semihosting to its standard error.
    assert (done.stdout + done.stderr).splitlines()[-1:] == expected(NAME)
    text = (tmp_path / "digits/digits.c").read_text(encoding="utf-8")
    assert text.count("GLOWMCU_CORES_BOTH(") >= 3


PORTS = EXAMPLES / NAME / "ports"
STUBS = Path(__file__).with_name("port_stubs")
DIGITS = EXAMPLES.parent / "examples/digits/digits_int8.tflite"


@pytest.mark.parametrize("port", ["pico_fifo", "freertos_smp", "zephyr_smp"])
def test_cores_meet_by_what_a_system_has_for_it(port: str, tmp_path: Path) -> None:
    bundle = glowmcu.compile(DIGITS, board="rp2040", output=tmp_path / "b", name="m", cores=2)
    assert "GLOWMCU_CORES_BOTH(" in (bundle.path / "m.c").read_text()
    options = (f"-I{STUBS}", "-include", str(PORTS / f"{port}.h"))
    inputs = [seeded_inputs(bundle.manifest, number) for number in range(40)]
    wanted = Host().run(bundle.path, inputs)
    found = HostCores(port=options).run(bundle.path, inputs)
    for a, b in zip(wanted, found, strict=True):
        assert a.outputs[0].tobytes() == b.outputs[0].tobytes()


@pytest.mark.arm
@pytest.mark.parametrize("core", ["cortex-m0plus", "cortex-m33"])
def test_a_core_that_waits_sleeps_until_an_event(core: str, tmp_path: Path) -> None:
    board = {"cortex-m0plus": "rp2040", "cortex-m33": "rp2350"}[core]
    bundle = glowmcu.compile(DIGITS, board=board, output=tmp_path / "b", name="m", cores=2)
    command = [
        "arm-none-eabi-gcc", "-std=c99", "-Wall", "-Wextra", "-Werror", "-O2", f"-mcpu={core}",
        "-mthumb", "-DGLOWMCU_CORES=2", "-include", str(PORTS / "pico_events.h"),
        f"-I{bundle.path}", "-S", "-o", str(tmp_path / "m.s"), str(bundle.path / "m.c"),
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    text = (tmp_path / "m.s").read_text()
    meet = text[text.index("glowmcu_cores_meet:") :]
    assert 0 < meet.index("dmb") < meet.index("sev") < meet.index("wfe")
