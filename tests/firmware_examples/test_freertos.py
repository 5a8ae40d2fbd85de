"""The FreeRTOS example: with the kernel where FREERTOS names one, without it everywhere.

Without, its sources compile against declarations of what they use of the kernel (freertos/), and
its tasks run on this computer, on a scheduler that knows no interrupts.
"""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

import numpy as np
import pytest

from glowmcu.board import find_board
from glowmcu.bundle import load
from glowmcu.cores import core
from glowmcu.verify.toolchain import compiler_version
from tests.firmware_examples.test_examples import EXAMPLES, GLOWMCU, expected, make, run

NAME = "freertos_task"
EXAMPLE, GESTURES, COMMON = (EXAMPLES / name for name in (NAME, "gestures_nrf52840", "common"))
STAND_IN = Path(__file__).parent / "freertos"
BOARDS = ["mps2-an386", "mps2-an385"]
WARNINGS = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-Wshadow", "-Wcast-qual", "-pedantic"]
STACK = re.compile(r"stack of (\w+): (\d+) B used, at most (\d+) B of (\d+)")
BEATS = re.compile(r"heartbeats during inference: (\d+)")


def compiled(board: str, folder: Path) -> Path:
    """Folder with the bundle and the recording that the example includes."""
    done = make(NAME, board, folder, f"{folder}/gestures/gestures.h")
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    done = make(NAME, board, folder, f"{folder}/recording.h")
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    return folder


def includes(build: Path) -> list[str]:
    """Where headers are: the example's, the bundle's, the kernel's declarations."""
    folders = (EXAMPLE, GESTURES, COMMON, build, build / "gestures", STAND_IN)
    return [f"-I{folder}" for folder in folders]


def told(lines: list[str]) -> tuple[list[str], list[tuple[str, int, int, int]], int]:
    """What every board says; name, used, allowed and size of each stack; beats during inference."""
    same, stacks, beats = [], [], -1
    for line in lines:
        if found := STACK.fullmatch(line):
            stacks.append((found[1], int(found[2]), int(found[3]), int(found[4])))
        elif found := BEATS.fullmatch(line):
            beats = int(found[1])
        else:
            same.append(line)
    return same, stacks, beats


# --- without the kernel --------------------------------------------------------------------------


@pytest.mark.arm
@pytest.mark.parametrize("board", BOARDS)
def test_sources_and_settings_compile_against_what_they_use_of_the_kernel(
    board: str, tmp_path: Path
) -> None:
    build = compiled(board, tmp_path / "build")
    flags = [*core(find_board(board).core).flags, *WARNINGS, *includes(build)]
    for source in sorted(EXAMPLE.glob("*.c")):
        command = ["arm-none-eabi-gcc", *flags, "-c", str(source), "-o", str(tmp_path / "out.o")]
        done = run(command, tmp_path)
        assert done.returncode == 0, done.stderr[-4000:]


@pytest.mark.arm
def test_the_handlers_of_the_port_replace_the_weak_ones_of_the_vector_table(tmp_path: Path) -> None:
    port = tmp_path / "port.c"
    handlers = ("vPortSVCHandler", "xPortPendSVHandler", "xPortSysTickHandler")
    definitions = "".join(f"void {name}(void);\nvoid {name}(void) {{}}\n" for name in handlers)
    port.write_text('#include "FreeRTOSConfig.h"\n' + definitions, encoding="utf-8")
    found = []
    for source in (port, COMMON / "startup.c"):
        flags = ["-mcpu=cortex-m3", "-mthumb", f"-I{EXAMPLE}", f"-I{COMMON}"]
        output = str(tmp_path / "out.o")
        done = run(["arm-none-eabi-gcc", *flags, "-c", str(source), "-o", output], tmp_path)
        assert done.returncode == 0, done.stderr
        names = run(["arm-none-eabi-nm", output], tmp_path).stdout
        found.append({line.split()[-1]: line.split()[-2] for line in names.splitlines()})
    port_names, table = found
    assert sorted(port_names.values()) == ["T"] * len(handlers)
    assert [table.get(name) for name in port_names] == ["W"] * len(handlers)


@pytest.fixture(scope="module")
def host_build(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled("mps2-an386", tmp_path_factory.mktemp("freertos"))


def run_on_host(build: Path, folder: Path, **settings: int) -> list[str]:
    """What the tasks print on this computer; `settings` are those of freertos/scheduler.c."""
    chosen = {"LOST_TICK": 0, "SLEEPY_UNTIL": 0, "UNUSED_WORDS": 64, **settings}
    sources = [
        *(EXAMPLE / name for name in ("main.c", "stacks.c")),
        *(GESTURES / name for name in ("sensor.c", "window.c")),
        *(build / "gestures" / name for name in ("gestures.c", "gestures_weights.c")),
        COMMON / "print.c", STAND_IN / "scheduler.c",
    ]  # fmt: skip
    defines = [f"-D{name}={value}u" for name, value in chosen.items()]
    command = ["gcc", "-std=gnu99", *WARNINGS[1:-1], *defines, *includes(build)]
    done = run([*command, *map(str, sources), "-o", str(folder / "tasks")], folder)
    assert done.returncode == 0, done.stderr[-4000:]
    done = run([str(folder / "tasks")], folder)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.splitlines()


def test_the_tasks_tell_the_gestures_that_the_example_without_tasks_tells(
    host_build: Path, tmp_path: Path
) -> None:
    same, stacks, _ = told(run_on_host(host_build, tmp_path))
    assert same == expected(NAME)
    assert [name for name, *_ in stacks] == ["heartbeat", "sample", "infer"]
    without_tasks = expected("gestures_nrf52840")
    assert [line.removesuffix(", 0 lost") for line in same[:5]] == without_tasks[:5]


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        pytest.param({"LOST_TICK": 1003}, " 2 late", id="a tick that nobody woke for"),
        pytest.param({"SLEEPY_UNTIL": 505}, " 4 lost", id="inference that falls behind"),
        pytest.param({"UNUSED_WORDS": 1}, "stack of infer: 1020 B used", id="a stack nearly full"),
    ],
)
def test_the_firmware_tells_what_is_wrong(
    settings: dict[str, int], says: str, host_build: Path, tmp_path: Path
) -> None:
    lines = run_on_host(host_build, tmp_path, **settings)
    assert lines[-1].startswith("fault: ")
    assert any(says in line for line in lines)


def test_a_build_without_the_kernel_says_what_is_missing(host_build: Path) -> None:
    done = make(NAME, "mps2-an386", host_build, "all", FREERTOS="nowhere")
    assert done.returncode != 0
    assert "no nowhere/mps2-an386/libfreertos.a: set FREERTOS as README.md says" in done.stderr


def stated() -> dict[str, list[int]]:
    """README's table of stacks: by task what Cortex-M4F and Cortex-M3 use, as BOARDS are."""
    text = (EXAMPLE / "README.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `?([\w ]+?)`? \|.*\| (\d+) B \| (\d+) B \|$", text, re.MULTILINE)
    return {name: [int(m4), int(m3)] for name, m4, m3 in rows}


def is_measured_compiler() -> bool:
    """Whether the compiler is the one that README names for its figures."""
    return re.search(r"\b12\.\d+\.\d+", compiler_version()) is not None


def test_readme_states_every_stack() -> None:
    assert list(stated()) == ["heartbeat", "sample", "infer", "the bundle in it"]


@pytest.mark.arm
@pytest.mark.parametrize("board", BOARDS)
def test_the_bundle_takes_the_stack_that_readme_states(board: str, tmp_path: Path) -> None:
    pytest.importorskip("unicorn")
    bundle = load(compiled(board, tmp_path / "build") / "gestures")
    (entry,) = bundle.manifest.inputs
    measured = bundle.measure([np.zeros(entry.shape, entry.dtype)])
    wanted = stated()["the bundle in it"][BOARDS.index(board)]
    if not is_measured_compiler():
        assert wanted - 64 <= measured.stack_bytes <= wanted + 64
    else:
        assert measured.stack_bytes == wanted


# --- with the kernel -----------------------------------------------------------------------------


def kernel(board: str) -> str:
    """The folder that FREERTOS names, if it has a kernel for the board."""
    folder = os.environ.get("FREERTOS")
    if folder is None:
        pytest.skip(f"needs FREERTOS, a folder with the kernel: see {NAME}/README.md")
    assert (Path(folder) / board / "libfreertos.a").is_file(), f"FREERTOS has no {board}"
    return folder


def check_run(output: str, board: str) -> None:
    """Tasks ran as they should, and stayed in their stacks, with the figures that README states."""
    start = output.index(expected(NAME)[0])
    same, stacks, beats = told(output[start:].splitlines())
    assert same[: len(expected(NAME))] == expected(NAME)
    assert len(stacks) == 3
    for name, used, allowed, size in stacks:
        assert 0 < used <= allowed, name
        assert allowed <= size * 3 // 4, name
        if is_measured_compiler():
            assert used == stated()[name][BOARDS.index(board)], name
    assert beats > 0  # heartbeats interrupted the bundle


@pytest.mark.qemu
@pytest.mark.parametrize("board", BOARDS)
def test_make_builds_and_runs_the_tasks(board: str, tmp_path: Path) -> None:
    done = make(NAME, board, tmp_path / "build", "run", FREERTOS=kernel(board))
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    check_run(done.stdout, board)


@pytest.mark.qemu
@pytest.mark.parametrize("board", BOARDS)
def test_cmake_builds_and_runs_the_tasks(board: str, tmp_path: Path) -> None:
    settings = [f"-DCMAKE_TOOLCHAIN_FILE={COMMON}/arm-none-eabi.cmake", f"-DBOARD={board}",
                f"-DFREERTOS={kernel(board)}", f"-DGLOWMCU={GLOWMCU}",
                f"-DPython3_EXECUTABLE={sys.executable}"]  # fmt: skip
    for command in (["-S", ".", "-B", str(tmp_path), *settings],
                    ["--build", str(tmp_path), "--target", "run"]):  # fmt: skip
        done = run(["cmake", *command], EXAMPLE)
        assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    check_run(done.stdout, board)
