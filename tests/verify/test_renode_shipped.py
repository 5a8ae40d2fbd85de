"""`--emit renode`: a bundle's own firmware and robot test, built by make, run in QEMU, played.

Where `renode-test` is on PATH the robot file runs for real; see test_renode.py.
"""

from __future__ import annotations

import dataclasses
import re
import shutil
import struct
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import glowmcu
from glowmcu.board import find_board
from glowmcu.errors import ExitCode, GlowmcuError
from glowmcu.ir.operation import Array
from glowmcu.manifest import Manifest, TensorEntry, read_manifest
from glowmcu.verify.firmware.console import fnv1a
from glowmcu.verify.qemu import Qemu
from glowmcu.verify.renode import Renode
from glowmcu.verify.renode.helium import WRONG_INSTRUCTIONS
from glowmcu.verify.renode.intel_hex import intel_hex
from glowmcu.verify.renode.shipped import expected_lines
from tests.bundle.models import model_bytes
from tests.conftest import REPO
from tests.verify.repl import parse_repl
from tests.verify.robot_player import play
from tests.verify.test_renode import serial_output
from tests.verify.tiny_bundle import write_tiny_bundle

MISSING = Renode().missing()
NO_QEMU = Qemu().missing()
PSRAM = 0x21000000  # of QEMU's mps2-an386, where the inputs go that Renode has elsewhere
#: Every way in which inputs reach a bundle and outputs are compared.
KINDS: dict[str, tuple[str, dict[str, Sequence[str]]]] = {
    "one input": ("digits", {}),
    "two inputs, two outputs": ("two_in_two_out", {}),
    "float borders": ("float_borders", {}),
    "float": ("digits.onnx", {}),
    "streamed": ("digits", {"stream_inputs": ["pixels"]}),
    "outside": ("two_in_two_out", {"outside_inputs": ["right"]}),
}
needs_gcc = pytest.mark.skipif(
    shutil.which("arm-none-eabi-gcc") is None, reason="no arm-none-eabi-gcc"
)


def compiled(name: str, folder: Path, board: str, **options: Any) -> Path:
    """The bundle's folder `renode/`."""
    model = REPO / "examples" / "digits" / name
    if not model.suffix:
        model = folder / f"{name}.tflite"
        model.write_bytes(model_bytes(name))
    made = glowmcu.compile(model, board=board, output=folder / "out", emit="renode", **options)
    return made.path / "renode"


def make(kit: Path, *arguments: str) -> Path:
    """The firmware as a user builds it, without a warning."""
    strict = "CFLAGS=-std=c99 -O2 -ffunction-sections -fdata-sections -Wall -Wextra -Werror"
    done = subprocess.run(
        ["make", "-C", str(kit), strict, *arguments], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    [elf] = kit.glob("*.elf")
    return elf


def binary_of(hex_file: Path, folder: Path) -> bytes:
    """By the GNU tools, which know nothing of ours."""
    made = folder / "inputs.bin"
    objcopy = ["arm-none-eabi-objcopy", "-I", "ihex", "-O", "binary", str(hex_file), str(made)]
    subprocess.run(objcopy, check=True)
    return made.read_bytes()


@pytest.mark.arm
@pytest.mark.qemu
@pytest.mark.skipif(NO_QEMU is not None, reason=str(NO_QEMU))
@pytest.mark.parametrize("kind", KINDS)
def test_the_firmware_says_what_the_robot_file_waits_for(kind: str, tmp_path: Path) -> None:
    """QEMU's mps2-an386 has the serial line of Renode's; only the inputs lie elsewhere."""
    pytest.importorskip("robot")
    name, options = KINDS[kind]
    kit = compiled(name, tmp_path, "mps2-an386", **options)
    elf = make(kit, f"DEFINES=-DUART_BASE=0x40004000u -DPORT_INPUTS=0x{PSRAM:X}u")
    binary_of(kit / "inputs.hex", tmp_path)
    loader = f"loader,file={tmp_path / 'inputs.bin'},addr=0x{PSRAM:X},force-raw=on"
    text = serial_output(["-machine", "mps2-an386", "-kernel", str(elf), "-device", loader],
                         tmp_path / "serial.txt")  # fmt: skip
    [robot] = kit.glob("*.robot")
    assert play(robot, text, kit) == 0, (kit / "robot.txt").read_text()
    counted = (kit / "instructions.txt").read_text().splitlines()
    assert [line.rpartition(" ")[0] for line in counted] == [
        "empty 1", "loop", "inference 0", "inference 1",
    ]  # fmt: skip
    rushed = kit / "rushed.robot"
    rushed.write_text(robot.read_text().replace("${line}    pauseEmulation=true", "${line}"))
    assert play(rushed, text, kit) != 0, "the end overtakes a test that does not pause"
    are_exact = all(output.exact for output in read_manifest(kit.parent).outputs)
    assert are_exact == (kind != "float")
    last = re.findall(r"^glowmcu (?:output|wrong bytes) .*$", text, re.M)[-2:]
    for line in last:
        digit = "1" if line.endswith("0") else "0"
        wrong = text.replace(line, line[:-1] + digit)
        is_checked = are_exact or line.startswith("glowmcu wrong bytes")
        assert (play(robot, wrong, kit) != 0) == is_checked, line


@pytest.mark.arm
@needs_gcc
@pytest.mark.parametrize(
    "board", ["nrf52", "generic", "rp2040", "stm32f746-discovery", "nucleo-l552ze-q", "ek-ra8m1"]
)
def test_the_firmware_builds_for_the_board_and_its_files_name_each_other(
    board: str, tmp_path: Path
) -> None:
    pytest.importorskip("robot")
    kit = compiled("digits", tmp_path, board)
    assert make(kit).name == "digits.elf"
    script = (kit / "digits.resc").read_text(encoding="utf-8")
    assert set(re.findall(r"\$ORIGIN/(\S+)", script)) == {"digits.repl", "digits.elf", "inputs.hex"}
    assert all((kit / file).is_file() for file in re.findall(r"\$ORIGIN/(\S+)", script))
    assert play(kit / "digits.robot", "", tmp_path, dry=True) == 0, (
        tmp_path / "robot.txt"
    ).read_text()


@pytest.mark.arm
@needs_gcc
def test_a_bundle_that_is_copied_to_tightly_coupled_memory_brings_its_loader(
    tmp_path: Path,
) -> None:
    place = {"weights": "dtcm", "code": "itcm"}
    kit = compiled("digits", tmp_path, "stm32f746-discovery", place=place)
    assert "digits_load.c" in (kit / "Makefile").read_text(encoding="utf-8")
    make(kit)
    platform = parse_repl((kit / "digits.repl").read_text(encoding="utf-8"))
    assert platform.memories["itcm"].ranges == [(0, 0x4000)]


def test_inputs_and_outputs_are_those_of_the_self_test(tmp_path: Path) -> None:
    kit = compiled("digits", tmp_path, "nrf52")
    golden = (kit.parent / "selftest" / "golden.json").read_text(encoding="utf-8")
    robot = (kit / "digits.robot").read_text(encoding="utf-8")
    outputs = re.findall(r"glowmcu output (\w+)", robot)
    assert len(outputs) == 2
    assert all(f'"{output}"' in golden for output in outputs)
    assert struct.unpack_from("<I", binary_of(kit / "inputs.hex", tmp_path))[0] == 2


def test_a_firmware_that_is_too_large_for_its_board_does_not_link(tmp_path: Path) -> None:
    kit = compiled("digits", tmp_path, "microbit")
    script = kit / "link.ld"
    text = script.read_text(encoding="utf-8")
    assert "LENGTH = 16384 /*" in text
    script.write_text(text.replace("LENGTH = 16384", "LENGTH = 4096"), encoding="utf-8")
    done = subprocess.run(["make", "-C", str(kit)], capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "overflowed" in done.stderr


def test_a_board_s_title_stays_in_its_comments(tmp_path: Path) -> None:
    text = find_board("nrf52").file.read_text(encoding="utf-8")
    title = "Bad */ #error x\\n${X} \\u00e4 \\\\"
    mine = tmp_path / "mine.toml"
    mine.write_text(
        text.replace('"nrf52"', '"mine"').replace("Nordic nRF52840 DK", title), encoding="utf-8"
    )
    assert find_board(str(mine)).title == "Bad */ #error x\n${X} \u00e4 \\"
    kit = compiled("digits", tmp_path, str(mine))
    assert all(path.read_text(encoding="utf-8").isascii() for path in kit.iterdir())
    make(kit)
    assert play(kit / "digits.robot", "", tmp_path, dry=True) == 0


def test_a_board_that_renode_lacks_is_refused_and_nothing_is_written(tmp_path: Path) -> None:
    with pytest.raises(GlowmcuError) as caught:
        compiled("digits", tmp_path, "esp32c3")
    assert caught.value.code == "GM661"
    assert caught.value.exit_code is ExitCode.USAGE
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("size", [0, 1, 31, 32, 33, 70_000])
def test_intel_hex_is_read_by_the_gnu_tools(size: int, tmp_path: Path) -> None:
    data = np.random.default_rng(size).integers(0, 256, size, np.uint8).tobytes()
    text = intel_hex(0x9800FFE0, data)
    assert text.endswith(":00000001FF\n")
    for line in text.splitlines():
        assert sum(bytes.fromhex(line[1:])) & 0xFF == 0
    if data:
        path = tmp_path / "x.hex"
        path.write_text(text, encoding="utf-8")
        assert binary_of(path, tmp_path) == data


def entry(data: Array, exact: bool) -> TensorEntry:
    return TensorEntry("y", "", data.shape, str(data.dtype), None, None, 0, data.nbytes, exact)


def manifest_of(outputs: Sequence[TensorEntry], folder: Path) -> Manifest:
    return dataclasses.replace(read_manifest(write_tiny_bundle(folder)), outputs=tuple(outputs))


def test_lines_are_of_32_bytes_and_a_large_output_has_its_checksum_alone(tmp_path: Path) -> None:
    small = np.arange(33, dtype=np.uint8)
    large = np.arange(2000, dtype=np.int32)
    manifest = manifest_of([entry(small, True), entry(large, True)], tmp_path)
    [lines] = expected_lines(manifest, [[small, large]])
    assert lines == (
        f"glowmcu output {bytes(range(32)).hex()}",
        "glowmcu output 20",
        f"glowmcu checksum {fnv1a(small.tobytes()):08x}",
        f"glowmcu checksum {fnv1a(small.tobytes() + large.tobytes()):08x}",
    )


def test_nothing_is_expected_that_a_float_output_makes_unknown(tmp_path: Path) -> None:
    exact = np.arange(2, dtype=np.int8)
    rough = np.ones(1, np.float32)
    entries = [entry(exact, True), entry(rough, False), entry(exact, True)]
    manifest = manifest_of(entries, tmp_path)
    first, second = expected_lines(manifest, [[exact, rough, exact]] * 2)
    output = "glowmcu output 0001"
    assert first == (output, f"glowmcu checksum {fnv1a(exact.tobytes()):08x}", output)
    assert second == (output, output)


def run_test(kit: Path) -> subprocess.CompletedProcess[str]:
    """As a user starts it; the robot file's own limit ends what hangs, a minute more this call."""
    [robot] = kit.glob("*.robot")
    limit = re.search(r"^Test Timeout +(\d+) seconds$", robot.read_text("utf-8"), re.M)
    assert limit is not None
    return subprocess.run(
        ["make", "-C", str(kit), "test"],
        capture_output=True, text=True, check=False, timeout=int(limit[1]) + 60,
    )  # fmt: skip


@pytest.mark.renode
@pytest.mark.skipif(MISSING is not None, reason=f"NOT RUN IN RENODE: {MISSING}")
@pytest.mark.parametrize("board", ["nrf52", "stm32f4-discovery", "generic", "ek-ra8m1"])
def test_the_users_own_step_passes_in_renode(board: str, tmp_path: Path) -> None:
    kit = compiled("digits", tmp_path, board)
    done = run_test(kit)
    if fails_by_helium(done):
        pytest.xfail("this Renode computes depthwise layers on Helium wrong (docs/renode.md)")
    assert done.returncode == 0, done.stdout + done.stderr


def fails_by_helium(done: subprocess.CompletedProcess[str]) -> bool:
    """Whether the firmware came to its end with wrong outputs, and the test says what Renode does.

    Only tests for boards with Helium say it; a fault, or a line of an error, is none of this.
    """
    ended = re.search(r"^.*glowmcu exit 0$", done.stdout, re.M) is not None
    return done.returncode != 0 and ended and WRONG_INSTRUCTIONS in done.stdout


@pytest.mark.parametrize(
    ("code", "last", "hint", "is_known"),
    [
        (2, "glowmcu exit 0", WRONG_INSTRUCTIONS, True),
        (0, "glowmcu exit 0", WRONG_INSTRUCTIONS, False),
        (2, "glowmcu exit 0", "", False),
        (2, "glowmcu fault: exception 6", WRONG_INSTRUCTIONS, False),
    ],
)
def test_only_wrong_outputs_on_helium_are_an_expected_failure(
    code: int, last: str, hint: str, is_known: bool
) -> None:
    printed = f"Wrong outputs: {hint}.\n      ║ {last}\n"
    assert fails_by_helium(subprocess.CompletedProcess([], code, printed, "")) == is_known


@pytest.mark.renode
@pytest.mark.skipif(MISSING is not None, reason=f"NOT RUN IN RENODE: {MISSING}")
def test_a_wrong_output_fails_the_users_own_step_in_renode(tmp_path: Path) -> None:
    kit = compiled("digits", tmp_path, "nrf52")
    robot = kit / "digits.robot"
    text = robot.read_text(encoding="utf-8")
    found = re.search(r"glowmcu output (\w+)", text)
    assert found is not None
    robot.write_text(text.replace(found[1], found[1][:-2] + "7f"), encoding="utf-8")
    done = run_test(kit)
    assert done.returncode != 0
    assert "glowmcu exit" in done.stdout + done.stderr
