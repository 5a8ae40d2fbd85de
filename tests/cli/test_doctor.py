"""`glowmcu doctor`: what is installed, and what to install."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from glowmcu import installation
from tests.cli.conftest import Run


def uses(glowmcu_cli: Run, *arguments: str) -> dict[str, dict[str, object]]:
    return {use["name"]: use for use in json.loads(glowmcu_cli("doctor", *arguments, "--json").out)}


@pytest.fixture
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A computer without tools."""
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    for name in ("CC", "GLOWMCU_GCC", "GLOWMCU_RISCV_GCC", "RENODE_ROOT"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.usefixtures("bare")
def test_each_missing_tool_is_named_with_what_to_type(glowmcu_cli: Run) -> None:
    found = uses(glowmcu_cli)
    assert installation.HOST_COMPILER.advice in str(
        found["run on this computer (--on host)"]["missing"]
    )
    modelled = found["cycles on the modelled core (--on cortex-m)"]
    assert installation.ARM_COMPILER.advice in str(modelled["missing"])
    qemu = found["run in QEMU, Arm (--on qemu)"]
    assert installation.QEMU_ARM.advice in str(qemu["missing"])
    riscv = found["run in QEMU, RISC-V (--on qemu)"]
    assert installation.QEMU_RISCV.advice in str(riscv["missing"])
    assert not any(found[name]["works"] for name in found if "--on" in name)
    shown = glowmcu_cli("doctor").out
    assert installation.ARM_COMPILER.advice in shown.replace("\n", " ").replace("  ", " ")


@pytest.mark.usefixtures("bare")
def test_a_command_that_lacks_something_ends_with_2_and_doctor_alone_with_0(
    glowmcu_cli: Run,
) -> None:
    assert glowmcu_cli("doctor").exit_code == 0
    assert glowmcu_cli("doctor", "verify").exit_code == 2
    assert set(uses(glowmcu_cli, "bench")) == {"cycles on the modelled core (--on cortex-m)"}
    assert glowmcu_cli("doctor", "nothing").exit_code == 2


@pytest.mark.arm
def test_what_is_there_is_shown_with_its_version(glowmcu_cli: Run) -> None:
    if shutil.which("arm-none-eabi-gcc") is None:
        pytest.skip("arm-none-eabi-gcc is not on PATH")
    modelled = uses(glowmcu_cli)["cycles on the modelled core (--on cortex-m)"]
    assert modelled["works"]
    assert "arm-none-eabi-gcc" in str(modelled["found"])
    assert glowmcu_cli("doctor", "bench").exit_code == 0


def test_an_extra_that_is_missing_is_named(
    glowmcu_cli: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    pictures = uses(glowmcu_cli)["pictures of plans"]
    assert pictures["missing"] == installation.extra("plots")
    assert not pictures["works"]
