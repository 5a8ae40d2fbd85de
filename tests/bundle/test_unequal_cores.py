"""Bundles for a Cortex-M7 with caches and a Cortex-M4: any timing and any caches give the bytes."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

import glowmcu
from benchmarks.random_networks import random_network
from benchmarks.small_networks import MODELS
from glowmcu.errors import GlowmcuError
from glowmcu.memory_fit import divisible
from glowmcu.verify.cortex_m.two_cores import TwoCores
from glowmcu.verify.host import Host
from glowmcu.verify.host_cores import HostCores
from glowmcu.verify.verification import seeded_inputs
from tests.bundle.test_use import build
from tests.support.incoherent_caches import IncoherentCaches

#: Random networks in which layers are shared, however small they are.
SEEDS = (116, 143, 153)
SMALL = ("separable digits", "pictures, strides")
DIGITS = Path(__file__).resolve().parents[2] / "examples/digits/digits_int8.tflite"
BOARD = Path(__file__).resolve().parents[2] / "boards/stm32h745.toml"
PORT = Path(__file__).resolve().parents[2] / "firmware_examples/two_cores/ports/stm32h745.h"


def compiled(model: bytes | Path, folder: Path, board: str = "stm32h745") -> glowmcu.Bundle:
    path = model
    if isinstance(model, bytes):
        path = folder / "m.tflite"
        folder.mkdir(parents=True, exist_ok=True)
        path.write_bytes(model)
    return glowmcu.compile(path, board=str(board), output=folder / "bundle", name="m", cores=2)


@pytest.fixture
def all_shared(monkeypatch: pytest.MonkeyPatch) -> None:
    """Layers are shared though it saves nothing."""
    monkeypatch.setattr(divisible, "LEAST_CYCLES", 0.0)
    monkeypatch.setattr(divisible, "CALL_CYCLES", 0.0)
    monkeypatch.setattr(divisible, "MEETING_CYCLES", 0.0)
    monkeypatch.setattr("glowmcu.memory_fit.partner.LINE_CYCLES", 0.0)


def expect_alike(bundle: glowmcu.Bundle, executors: list[Host], runs: int = 2) -> None:
    inputs = [seeded_inputs(bundle.manifest, number) for number in range(runs)]
    wanted = Host().run(bundle.path, inputs)
    for executor in executors:
        for a, b in zip(wanted, executor.run(bundle.path, inputs), strict=True):
            for one, other in zip(a.outputs, b.outputs, strict=True):
                assert one.tobytes() == other.tobytes(), executor.extra_flags


@pytest.mark.usefixtures("all_shared")
@pytest.mark.parametrize("seed", SEEDS)
def test_random_networks_give_the_same_bytes_whatever_caches_do(seed: int, tmp_path: Path) -> None:
    bundle = compiled(random_network(seed), tmp_path)
    assert "GLOWMCU_CORES_BOTH(" in (bundle.path / "m.c").read_text()
    one = glowmcu.compile(tmp_path / "m.tflite", output=tmp_path / "one", name="m", cores=1)
    inputs = [seeded_inputs(bundle.manifest, 1)]
    for a, b in zip(Host().run(one.path, inputs), Host().run(bundle.path, inputs), strict=True):
        assert [out.tobytes() for out in a.outputs] == [out.tobytes() for out in b.outputs]
    caches = [IncoherentCaches(order, seed) for order in (0, 1, 2)]
    expect_alike(bundle, [HostCores(), HostCores(second_first=True), *caches])


@pytest.mark.parametrize("name", SMALL)
def test_caches_that_show_nothing_lose_no_byte(name: str, tmp_path: Path) -> None:
    bundle = compiled(MODELS[name](), tmp_path)
    assert "GLOWMCU_CORES_BOTH(" in (bundle.path / "m.c").read_text()
    expect_alike(bundle, [IncoherentCaches(order, 1000) for order in (0, 1, 2)], runs=12)


SHARED_ARENA = """#include "{}.h"
#include "{}.h"
static GLOWMCU_SHARED_ARENA(arena, LINES_ARENA_BYTES, ALONE_ARENA_BYTES);
GLOWMCU_STATIC_ASSERT(__alignof__(arena) == LINES_ARENA_ALIGN, as_the_lines_ask);
int main(void)
{{
    return sizeof(arena) == 0;
}}
"""


@pytest.mark.parametrize("line_bytes", [16, 32, 64])
@pytest.mark.parametrize("names", [("lines", "alone"), ("alone", "lines")])
def test_a_shared_arena_is_aligned_to_the_lines_of_either_bundle(
    line_bytes: int, names: tuple[str, str], tmp_path: Path
) -> None:
    text = BOARD.read_text()
    path, board = tmp_path / "m.tflite", tmp_path / "mine.toml"
    board.write_text(text.replace("cache_line_bytes = 32", f"cache_line_bytes = {line_bytes}"))
    path.write_bytes(MODELS["separable digits"]())
    bundles = [
        glowmcu.compile(path, board=str(board), output=tmp_path / name, name=name, cores=cores)
        for name, cores in (("lines", 2), ("alone", 1))
    ]
    assert bundles[0].manifest.arena_align == line_bytes
    done = build(tmp_path, SHARED_ARENA.format(*names), [bundle.path for bundle in bundles])
    assert done.returncode == 0, done.stderr


def differs(bundle: glowmcu.Bundle, caches: IncoherentCaches) -> bool:
    """Whether a byte is wrong, or one is lost, in twelve runs."""
    inputs = [seeded_inputs(bundle.manifest, number) for number in range(12)]
    wanted = Host().run(bundle.path, inputs)
    try:
        found = caches.run(bundle.path, inputs)
    except AssertionError:
        return True
    return any(
        a.outputs[0].tobytes() != b.outputs[0].tobytes() for a, b in zip(wanted, found, strict=True)
    )


@pytest.mark.parametrize("forgets", [0, 1])
def test_a_port_that_forgets_its_caches_is_found_out(forgets: int, tmp_path: Path) -> None:
    bundle = compiled(MODELS["separable digits"](), tmp_path)
    more = [f"-DCACHE_FORGETS={forgets}"]
    assert all(differs(bundle, IncoherentCaches(order, 5, more)) for order in (0, 1))


def test_an_arena_that_begins_within_a_line_is_found_out(tmp_path: Path) -> None:
    """What the caches of the tests are good for: neighbours in a line lose bytes there."""
    bundle = compiled(MODELS["separable digits"](), tmp_path)
    for order in (0, 1):
        assert differs(bundle, IncoherentCaches(order, 5, ["-DCACHE_SHIFT=16u"]))


@pytest.mark.arm
def test_both_modelled_cores_are_quicker_than_the_cortex_m7(tmp_path: Path) -> None:
    bundle = compiled(MODELS["pictures, strides"](), tmp_path)
    board, inputs = bundle.board, [seeded_inputs(bundle.manifest, 1)]
    alone = glowmcu.bench(bundle)
    assert alone.shared is not None
    assert alone.shared.second == board.second_core
    assert alone.json()["two_cores"]["second_core"] == "cortex-m4"  # type: ignore[index]
    turned = TwoCores(board.core, True, clock_hz=board.clock_hz, second=board.second_core)
    for found in (alone.shared, *turned.measure(bundle.path, inputs)):
        assert found.outputs[0].tobytes() == alone.measured.outputs[0].tobytes()
        assert alone.measured.cycles is not None
        # A core of half the clock that issues one instruction at a time adds a fifth at most.
        assert alone.measured.cycles / 1.3 < found.cycles < alone.measured.cycles / 1.08
        assert sum(step.elapsed for step in found.steps) == found.cycles
        shared = [step for step in found.steps if step.second > 1000]
        assert shared
        for step in shared:
            assert step.elapsed >= max(step.first, 2 * step.second)
        stacks = bundle.manifest.costs.stack_bytes
        assert found.stack_bytes[0] <= stacks["m_run"]
        assert found.stack_bytes[1] <= stacks["m_help"]


def built(bundle: glowmcu.Bundle, core: str, *options: str) -> tuple[str, str]:
    """The assembly that gcc makes for a core, and what it says."""
    fpu = {"cortex-m7": "fpv5-sp-d16", "cortex-m4": "fpv4-sp-d16"}[core]
    text = bundle.path / f"{core}.s"
    command = [
        "arm-none-eabi-gcc", "-std=c99", "-Wall", "-Wextra", "-Werror", "-O2", f"-mcpu={core}",
        "-mthumb", "-mfloat-abi=hard", f"-mfpu={fpu}", "-DGLOWMCU_CORES=2", *options,
        f"-I{bundle.path}", "-S", "-o", str(text), str(bundle.path / "m.c"),
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return text.read_text() if done.returncode == 0 else "", done.stderr


@pytest.mark.arm
def test_the_port_cleans_and_invalidates_on_the_core_that_has_caches(tmp_path: Path) -> None:
    bundle = compiled(DIGITS, tmp_path)
    port = "-include", str(PORT)
    quick, told = built(bundle, "cortex-m7", *port, "-DCORE_CM7")
    assert quick, told
    slow, told = built(bundle, "cortex-m4", *port, "-DCORE_CM4")
    assert slow, told
    uncached, told = built(bundle, "cortex-m7", *port, "-DSTM32H745_ARENA_IS_UNCACHED")
    assert uncached, told
    # The registers of Armv7-M, from 0xE000E000 on: DCIMVAC and DCCMVAC.
    for offset in ("#3932]", "#3944]"):
        assert quick.count(offset) > 3
        assert offset not in slow + uncached
    for options, why in (
        (("-include", str(PORT)), "say which core this image is for"),
        ((), "define GLOWMCU_CORES_CLEAN and GLOWMCU_CORES_INVALIDATE"),
    ):
        text, told = built(bundle, "cortex-m7", *options)
        assert not text
        assert why in told


def test_each_core_shows_the_other_what_it_has_written(tmp_path: Path) -> None:
    text = (compiled(DIGITS, tmp_path).path / "m.c").read_text()
    for function, core, first in (("m_run", 0, "CLEAN"), ("m_help", 1, "INVALIDATE")):
        body = re.search(rf"^int32_t {function}\(.*?^}}", text, re.DOTALL | re.MULTILINE)
        assert body is not None
        lines = body.group().splitlines()
        meets = [at for at, line in enumerate(lines) if f"CORES_MEET(words, {core}u)" in line]
        assert len(meets) > 1
        # At first nobody knows what the application has written; the line is beside the meeting.
        whole = lines.index(f"    GLOWMCU_CORES_{first}(a, M_ARENA_BYTES);")
        assert abs(whole - meets[0]) == 1
        for what in ("CLEAN", "INVALIDATE"):
            assert body.group().count(f"GLOWMCU_CORES_{what}(a + ") > 1
    assert "#define GLOWMCU_CORES_LINE_BYTES 32" in text


def test_an_arena_that_one_core_alone_reaches_is_refused(tmp_path: Path) -> None:
    with pytest.raises(GlowmcuError, match="GM196") as caught:
        glowmcu.compile(
            DIGITS, board="stm32h745", output=tmp_path, cores=2, place={"arena": "dtcm"}
        )
    assert "'dtcm' is of the cortex-m7 alone" in str(caught.value)


def test_one_core_of_the_board_has_a_bundle_like_any_other(tmp_path: Path) -> None:
    bundle = glowmcu.compile(DIGITS, board="stm32h745", output=tmp_path / "one", name="m")
    assert "GLOWMCU_CORES" not in (bundle.path / "m.c").read_text()
    assert bundle.manifest.arena_align == 16
