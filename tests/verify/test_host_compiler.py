"""The environment variable CC, as shells of firmware builders set it."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import numpy as np
import pytest

import glowmcu
from glowmcu.host_compiler import SharedLibrary, host_command, loaded, missing_compiler

MODEL = Path(__file__).resolve().parents[2] / "examples" / "digits" / "digits_int8.tflite"


def run() -> None:
    bundle = glowmcu.compile(MODEL, output="bundle", name="digits")
    entry = bundle.manifest.inputs[0]
    bundle.run([np.zeros(entry.shape, entry.dtype)])


@pytest.fixture(autouse=True)
def in_tmp_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_a_command_before_the_compiler_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", "env GLOWMCU_TEST=1 cc")
    assert host_command() == ["env", "GLOWMCU_TEST=1", "cc"]
    run()


def test_a_path_with_a_space_is_one_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiler = tmp_path / "my tools" / "cc"
    compiler.parent.mkdir()
    compiler.symlink_to(str(shutil.which("cc")))
    monkeypatch.setenv("CC", str(compiler))
    assert host_command() == [str(compiler)]
    run()


@pytest.mark.parametrize("name", ["no-such-cc", "no-such-cc -O2", "'cc"])
def test_a_program_that_is_not_there_is_named(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv("CC", name)
    assert name in str(missing_compiler())
    with pytest.raises(glowmcu.GlowmcuError, match="a program that can be run") as raised:
        run()
    assert raised.value.problems[0].code == "GM602"


@pytest.mark.riscv
def test_where_nothing_compiles_cc_is_asked_about(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", "riscv64-unknown-elf-gcc")
    with pytest.raises(glowmcu.GlowmcuError, match="GM603") as raised:
        run()
    hint = raised.value.problems[0].hint or ""
    assert hint.startswith("is CC, riscv64-unknown-elf-gcc, this computer's compiler? ")


def test_a_compiler_without_room_names_its_folder_of_temporary_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiler, small = tmp_path / "cc", tmp_path / "small"
    compiler.write_text("#!/bin/sh\necho error: cc.s: No space left on device >&2\nexit 1\n")
    compiler.chmod(0o755)
    small.mkdir()
    monkeypatch.setenv("CC", str(compiler))
    monkeypatch.setenv("TMPDIR", str(small))
    with pytest.raises(glowmcu.GlowmcuError, match="GM603") as raised:
        run()
    hint = raised.value.problems[0].hint
    assert hint.startswith("TMPDIR=DIR")
    assert f"{small} has " in hint
    assert "edited" not in hint


@pytest.mark.arm
@pytest.mark.parametrize("name", ["arm-none-eabi-gcc", "arm-none-eabi-gcc -mcpu=cortex-m4 -mthumb"])
def test_a_cross_compiler_is_no_compiler_for_this_computer(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv("CC", name)
    with pytest.raises(glowmcu.GlowmcuError, match="arm-none-eabi-gcc") as raised:
        run()
    assert raised.value.problems[0].code == "GM602"
    assert "CC=gcc" in (raised.value.problems[0].hint or "")


def test_a_folder_that_no_program_may_run_from_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Ffi:
        def dlopen(self, path: str) -> object:
            raise OSError(
                f"cannot load library '{path}': {path}: failed to map segment from shared object"
            )

        def sizeof(self, kind: str) -> int:
            return 8

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with pytest.raises(glowmcu.GlowmcuError, match="failed to map segment") as raised:
        loaded(Ffi(), SharedLibrary())
    assert f"{tmp_path} is none" in (raised.value.problems[0].hint or "")
    assert "TMPDIR" in (raised.value.problems[0].hint or "")
