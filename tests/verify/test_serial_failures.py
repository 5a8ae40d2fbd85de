"""The link to a real board: each way a run fails ends with its error, and nothing hangs."""

from __future__ import annotations

import dataclasses
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from glowmcu.errors import ExitCode, GlowmcuError
from glowmcu.manifest import read_manifest
from glowmcu.verify.serial import SerialBoard, SerialPlace, link
from glowmcu.verify.serial.frames import Decoder, Frame
from tests.conftest import REPO
from tests.verify.emulated_board import OnFrame, check, emulated, on_qemu, refused, wire_to
from tests.verify.tiny_bundle import random_inputs, write_tiny_bundle

pytest.importorskip("serial", reason="pyserial is not installed")
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="no pseudo-terminals")


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    return write_tiny_bundle(tmp_path / "bundle")


@on_qemu
def test_a_line_that_is_cut_in_the_middle_ends_the_run(
    marked: None, bundle: Path, tmp_path: Path
) -> None:
    cut = []
    meddle = OnFrame("D", 2, lost=False, then=lambda: cut.append(True))
    with emulated(
        bundle, tmp_path, meddle=lambda data, out: b"" if cut else meddle(data, out)
    ) as found:
        message = refused(found, bundle, "GM186", run_seconds=1.0)
        assert "the board stopped answering: nothing for 5 s" in message


@on_qemu
@pytest.mark.parametrize("kind", ["D", "t"], ids=["while inputs come", "while results go"])
def test_a_reset_in_the_middle_is_found_and_the_next_run_works(
    kind: str, marked: None, bundle: Path, tmp_path: Path
) -> None:
    meddle = OnFrame(kind, 2, lost=True)
    with emulated(bundle, tmp_path, meddle=meddle) as found:
        meddle.then = found.reset
        assert "reset in the middle" in refused(found, bundle, "GM184")
        check(found, bundle)


@on_qemu
def test_an_unplugged_port_ends_the_run(marked: None, bundle: Path, tmp_path: Path) -> None:
    meddle = OnFrame("D", 2, lost=True)
    with emulated(bundle, tmp_path, meddle=meddle) as found:
        meddle.then = found.wire.unplug
        message = refused(found, bundle, "GM185")
    assert f"{found.wire.port} is gone in the middle" in message


@on_qemu
def test_a_run_that_was_broken_off_does_not_stand_in_the_way_of_the_next(
    marked: None, bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Watched(Decoder):
        """Is interrupted as by Ctrl-C in the middle of the run."""

        def __init__(self, interrupted: list[object]) -> None:
            super().__init__()
            self._interrupted = interrupted

        def feed(self, data: bytes) -> list[Frame]:
            if self._interrupted:
                self._interrupted.clear()
                raise KeyboardInterrupt
            return super().feed(data)

    interrupted: list[object] = []
    meddle = OnFrame("D", 2, lost=True, then=lambda: interrupted.append(True))
    monkeypatch.setattr(link, "Decoder", lambda: Watched(interrupted))
    with emulated(bundle, tmp_path, meddle=meddle) as found:
        executor = found.run_on()
        with pytest.raises(KeyboardInterrupt):
            executor.run(bundle, random_inputs(2))
        assert meddle.count == 0
        check(found, bundle)


@on_qemu
def test_another_bundles_firmware_is_found_out(marked: None, bundle: Path, tmp_path: Path) -> None:
    other = write_tiny_bundle(tmp_path / "other")
    changed = dataclasses.replace(read_manifest(other), model_sha256="1" * 64)
    (other / "manifest.json").write_text(changed.to_json(), encoding="utf-8")
    with emulated(other, tmp_path) as found:
        message = refused(found, bundle, "GM183")
        assert read_manifest(bundle).identity.hex() in message
        assert changed.identity.hex() in message
        assert "glowmcu flash BUNDLE --board mps2-an386" in message


@on_qemu
@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ('__asm volatile("udf #0");', "fault: exception 3 pc=0"),
        ("base[40] = 0;", "the bundle wrote behind its arena"),
    ],
    ids=["fault", "guard"],
)
def test_a_failure_on_the_board_is_told_each_time(
    fault: str, message: str, marked: None, tmp_path: Path
) -> None:
    bundle = write_tiny_bundle(tmp_path / "bundle", fault=fault)
    with emulated(bundle, tmp_path) as found:
        for _ in range(2):
            assert message in refused(found, bundle, "GM642")
        with pytest.raises(GlowmcuError) as caught:
            found.run_on().run(bundle, random_inputs(1))
    assert caught.value.exit_code == ExitCode.MISMATCH


@on_qemu
def test_a_program_that_hangs_is_waited_for_no_longer_than_told(
    marked: None, tmp_path: Path
) -> None:
    bundle = write_tiny_bundle(tmp_path / "bundle", fault='for (;;) { __asm volatile("nop"); }')
    with emulated(bundle, tmp_path) as found:
        assert "nothing for 1 s" in refused(found, bundle, "GM186", run_seconds=1.0)


def test_a_silent_port_is_told_from_one_with_another_program(
    bundle: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(link, "_CONNECT_SECONDS", 1.0)
    for said, message in {b"": "nobody answers", b"ready> \r\n": "18 bytes came, but no"}.items():
        answers = [said, said]
        with (
            wire_to(lambda _, left=answers: left.pop() if left else b"") as wire,
            pytest.raises(GlowmcuError) as caught,
        ):
            SerialBoard(SerialPlace(wire.port, 115_200)).run(bundle, random_inputs(1))
        assert caught.value.code == "GM182"
        assert message in str(caught.value)


def test_another_version_of_the_firmware_is_found_out(bundle: Path) -> None:
    def answer(data: bytes) -> bytes:
        frames = Decoder().feed(data)
        return b"".join(Frame("h", f.number, bytes([9]) + bytes(9)).encoded() for f in frames)

    with wire_to(answer) as wire, pytest.raises(GlowmcuError) as caught:
        SerialBoard(SerialPlace(wire.port, 115_200)).run(bundle, random_inputs(1))
    assert caught.value.code == "GM183"
    assert "another version of GlowMCU" in str(caught.value)


def test_a_board_that_prints_without_an_end_is_not_listened_to_for_ever(bundle: Path) -> None:
    identity = read_manifest(bundle).identity

    def answer(data: bytes) -> bytes:
        kinds = {"H": ("h", bytes([1]) + identity + bytes([240])), "B": ("k", b"")}
        answers = b""
        for frame in Decoder().feed(data):
            kind, payload = kinds.get(frame.kind, ("t", b"again\n" * 30))
            answers += Frame(kind, frame.number, payload).encoded()
        return answers

    with wire_to(answer) as wire, pytest.raises(GlowmcuError) as caught:
        SerialBoard(SerialPlace(wire.port, 115_200)).run(bundle, random_inputs(1))
    assert caught.value.code == "GM186"
    assert "prints without an end" in str(caught.value)


def test_a_port_that_is_not_there_in_use_or_no_port_is_refused(
    bundle: Path, tmp_path: Path
) -> None:
    import serial

    def refusal(port: str) -> str:
        with pytest.raises(GlowmcuError) as caught:
            SerialBoard(SerialPlace(port, 115_200)).run(bundle, random_inputs(1))
        assert caught.value.code == "GM181"
        assert caught.value.exit_code == ExitCode.USAGE
        return str(caught.value)

    assert f"there is no port {tmp_path / 'nowhere'}" in refusal(str(tmp_path / "nowhere"))
    (tmp_path / "file").write_text("no port")
    assert f"{tmp_path / 'file'} is no serial port" in refusal(str(tmp_path / "file"))
    with wire_to(lambda _: b"") as wire, serial.Serial(wire.port, exclusive=True):
        assert f"{wire.port} is in use by another program" in refusal(wire.port)


@pytest.mark.arm
@pytest.mark.skipif(shutil.which("arm-none-eabi-gcc") is None, reason="no arm-none-eabi-gcc")
def test_the_command_line_ends_with_the_code_of_the_failure(bundle: Path, tmp_path: Path) -> None:
    def ended(*arguments: str) -> tuple[int, str]:
        done = subprocess.run(
            [sys.executable, "-m", "glowmcu", *arguments],
            cwd=REPO, capture_output=True, text=True, check=False,
        )  # fmt: skip
        return done.returncode, done.stderr

    nowhere = f"serial:{tmp_path / 'nowhere'}"
    for command in ("run", "bench"):
        np.save(tmp_path / "x.npy", np.zeros((1, 16), np.int8))
        given = ["--input", str(tmp_path / "x.npy")] if command == "run" else []
        code, text = ended(command, str(bundle), "--on", nowhere, *given)
        assert (code, "error[GM181]" in text) == (2, True), text
    code, text = ended("bench", str(bundle), "--on", nowhere, "--hot")
    assert (code, "--hot is of the modelled core" in text) == (2, True), text
    code, text = ended("bench", str(bundle), "--on", "host")
    assert (code, "expected cortex-m or riscv or serial:PORT[:BAUD]" in text) == (2, True), text
    code, text = ended("bench", str(bundle), "--on", "qemu")
    assert (code, "`glowmcu run --on qemu` says what was executed" in text) == (2, True), text


def test_without_pyserial_the_extra_is_named(bundle: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    board = SerialBoard(SerialPlace("/dev/ttyACM0", 115_200))
    assert board.missing() == 'pyserial is not installed: pip install "glowmcu[serial]"'
    with pytest.raises(GlowmcuError) as caught:
        board.run(bundle, random_inputs(1))
    assert caught.value.code == "GM180"


def test_no_inference_asks_no_board(bundle: Path) -> None:
    assert SerialBoard(SerialPlace("/nowhere", 9600)).run(bundle, []) == []
