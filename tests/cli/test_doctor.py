"""`glowmcu doctor`: what is installed, and what to install."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from glowmcu import installation
from glowmcu.verify.serial import line
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
    assert not any(
        found[name]["works"] for name in found if "--on" in name and "serial" not in name
    )
    shown = glowmcu_cli("doctor").out
    assert installation.ARM_COMPILER.advice in shown.replace("\n", " ").replace("  ", " ")


@pytest.mark.usefixtures("bare")
def test_a_command_that_lacks_something_ends_with_2_and_doctor_alone_with_0(
    glowmcu_cli: Run,
) -> None:
    assert glowmcu_cli("doctor").exit_code == 0
    assert glowmcu_cli("doctor", "verify").exit_code == 2
    assert set(uses(glowmcu_cli, "bench")) == {
        "a board (--on serial:PORT)", "cycles on the modelled core (--on cortex-m)",
    }  # fmt: skip
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


@pytest.mark.usefixtures("bare")
def test_flash_lacks_a_compiler_and_a_tool_until_they_are_there(
    glowmcu_cli: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = uses(glowmcu_cli, "flash")
    assert set(found) == {"build for a board", "write a board's flash"}
    assert installation.ARM_COMPILER.advice in str(found["build for a board"]["missing"])
    for name in ("probe-rs", "pyocd", "openocd", "picotool", "esptool"):
        assert f"{name} (" in str(found["write a board's flash"]["missing"])
    assert glowmcu_cli("doctor", "flash").exit_code == 2
    tools = tmp_path / "tools"
    tools.mkdir()
    says = {
        "arm-none-eabi-gcc": "echo gcc 13",
        "openocd": "echo Open On-Chip Debugger 0.12 >&2",
        "picotool": "echo ERROR; exit 1",
    }
    for name, script in says.items():
        (tools / name).write_text(f"#!/bin/sh\n{script}\n")
        (tools / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tools}:/bin")
    found = uses(glowmcu_cli, "flash")
    assert found["build for a board"]["found"] == ["gcc 13"]
    assert found["write a board's flash"]["found"] == ["Open On-Chip Debugger 0.12", "picotool"]
    assert glowmcu_cli("doctor", "flash").exit_code == 0


def test_ports_are_shown_and_their_library_is_named_where_it_is_missing(
    glowmcu_cli: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("serial")
    monkeypatch.setattr(line, "known_ports", lambda: ["/dev/ttyACM0", "/dev/ttyACM1"])
    for command in ("bench", "run", "verify"):
        board = uses(glowmcu_cli, command)["a board (--on serial:PORT)"]
        assert board["works"]
        assert [str(word)[:9] for word in board["found"]] == ["pyserial ", "/dev/ttyA", "/dev/ttyA"]
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    board = uses(glowmcu_cli, "run")["a board (--on serial:PORT)"]
    assert board["missing"] == f"pyserial is not installed: {installation.extra('serial')}"


@pytest.mark.parametrize("fails", [OSError("no bus"), AttributeError("no such function")])
def test_a_system_that_does_not_tell_its_ports_has_none(
    glowmcu_cli: Run, monkeypatch: pytest.MonkeyPatch, fails: Exception
) -> None:
    list_ports = pytest.importorskip("serial.tools.list_ports")

    def comports() -> list[object]:
        raise fails

    monkeypatch.setattr(list_ports, "comports", comports)
    assert line.known_ports() == []
    assert glowmcu_cli("doctor").exit_code == 0
