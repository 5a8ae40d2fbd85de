"""Weights copied from slow flash before a layer: counted passes, same bytes, arena and hooks."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest

import glowmcu
from benchmarks.random_networks import random_network
from glowmcu.board import Board, PlacementRequest, constant_waits, find_board, read_board
from glowmcu.board.placing_auto import STACK_RESERVE_BYTES
from glowmcu.compilation import Compilation, Options
from glowmcu.ir.interpreter import run_graph
from glowmcu.kernels.selection.choices import KernelChoices
from glowmcu.memory_fit import staging
from glowmcu.pipeline import compile_model
from glowmcu.verify.host import Host
from glowmcu.verify.modelled import modelled_core
from glowmcu.verify.verification import seeded_inputs
from tests.bundle.test_compilers import CPP, STRICT
from tests.kernels.test_few_inputs_dsp import floor
from tests.ops.test_convolution import Case, conv_model
from tests.support.check_model import expect_equal, random_inputs, write_bundle
from tests.support.forced_variant import SANITIZED, variants_of
from tests.support.one_unit import write_unit

ARM = pytest.mark.arm
#: Random networks in which something is copied on the board, and the board.
SEEDS = ((142, "nrf52"), (165, "nrf52"), (169, "nrf52"), (114, "rp2040"), (133, "rp2040"))
#: A convolution for each kernel that counts its passes: rows and columns are even and odd.
PASSES = {
    "conv_2d.pointwise_dsp": Case((1, 7, 9, 32), 32, (1, 1), out_scale=0.5),
    "conv_2d.nibbles_dsp": Case((1, 7, 9, 32), 32, (1, 1), out_scale=0.5, weights_type="int4"),
    "conv_2d.nibbles_windows_dsp": Case(
        (1, 7, 9, 16), 16, (3, 3), padding="SAME", out_scale=0.5, weights_type="int4"
    ),
    "conv_2d.nibbles_compact_dsp": Case(
        (1, 7, 9, 16), 16, (3, 3), padding="SAME", out_scale=0.5, weights_type="int4"
    ),
    "conv_2d.compact_dsp": Case((1, 7, 9, 16), 16, (3, 3), padding="SAME", out_scale=0.5),
    "conv_2d.compact_proved_dsp": Case((1, 7, 9, 16), 16, (3, 3), padding="SAME", out_scale=0.5),
    "conv_2d.chunks_dsp": Case((1, 7, 9, 16), 16, (3, 3), padding="SAME", out_scale=0.5),
    "conv_2d.rows_dsp": Case((1, 7, 9, 16), 16, (3, 3), padding="SAME", out_scale=0.5),
    "conv_2d.winograd_dsp": Case((1, 8, 12, 16), 16, (3, 3), padding="SAME", out_scale=0.5),
    "conv_2d.few_inputs_dsp": floor(Case((1, 8, 9, 8), 16, (1, 1))),
    "conv_2d.pairs_nodsp": Case((1, 7, 9, 16), 16, (3, 3), padding="SAME", out_scale=0.5),
    "conv_2d.nibbles_nodsp": Case(
        (1, 7, 9, 48), 16, (3, 3), padding="SAME", out_scale=0.5, weights_type="int4"
    ),
}


@pytest.fixture
def all_staged(monkeypatch: pytest.MonkeyPatch) -> None:
    """Weights are copied though it saves little, in any arena."""
    monkeypatch.setattr(staging, "_LEAST_GAIN", -1e9)
    monkeypatch.setattr(staging, "_GROWTH", dict.fromkeys(staging._GROWTH, 1e6))


@pytest.fixture
def never_staged(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if flash were quick."""
    monkeypatch.setattr(staging, "_LEAST_GAIN", float("inf"))


def board_of(kernel: str, folder: Path) -> Board:
    """An nRF52, or what a core without DSP would be there."""
    board = find_board("nrf52")
    if not kernel.endswith("_nodsp"):
        return board
    file = folder / "slow_m0.toml"
    text = board.file.read_text().replace('name = "nrf52"', 'name = "slow_m0"')
    file.write_text(text.replace("cortex-m4", "cortex-m0plus"))
    return read_board(file)


def forced(kernel: str, board: Board) -> Compilation:
    """The convolution of PASSES, computed by that kernel."""
    options = Options(
        "m", core=board.core, board=board.name, placement=PlacementRequest(board),
        kernels=KernelChoices(forced_variant=kernel), simplify=False,
    )  # fmt: skip
    compilation = compile_model(conv_model("CONV_2D", PASSES[kernel]), "m.tflite", options)
    assert variants_of(compilation) == {kernel}
    return compilation


@ARM
@pytest.mark.usefixtures("never_staged")
@pytest.mark.parametrize("kernel", PASSES)
def test_a_kernel_reads_its_weights_as_often_as_it_says(kernel: str, tmp_path: Path) -> None:
    board = board_of(kernel, tmp_path)
    compilation = forced(kernel, board)
    (chosen,) = compilation.selections.values()
    bundle = write_bundle(compilation, tmp_path / "b")
    inputs = random_inputs(compilation, 1)[:1]
    (found,) = modelled_core(board.core, memory_of=board).run(bundle, inputs)
    assert found.board_cycles is not None
    assert found.cycles is not None
    waits = found.board_cycles.low - found.cycles
    assert chosen.code.parameters is not None
    size = max(array.data.nbytes for array in chosen.code.parameters.constants)
    known = constant_waits(board)
    assert known is not None
    # Without a cache each byte of a word that is read by bytes waits.
    loads = size if kernel == "conv_2d.pairs_nodsp" else size / 4
    said = chosen.code.weight_passes * loads * known[0]
    assert known[1] == 0
    assert 0.85 <= waits / said <= 1.25, f"{waits} cycles, {said} by passes"


@pytest.mark.usefixtures("all_staged")
@pytest.mark.parametrize(("seed", "board"), SEEDS)
def test_random_networks_compute_the_same_from_copies(
    seed: int, board: str, tmp_path: Path
) -> None:
    model = tmp_path / "m.tflite"
    model.write_bytes(random_network(seed))
    staged = glowmcu.compile(model, board=board, output=tmp_path / "b", name="m")
    plain = glowmcu.compile(
        model, board=board, output=tmp_path / "p", name="m", place={"weights": "ram"}
    )
    assert "GLOWMCU_STAGED(" in (staged.path / "m.c").read_text()
    assert "GLOWMCU_STAGED(" not in (plain.path / "m.c").read_text()
    inputs = [seeded_inputs(staged.manifest, number) for number in range(3)]
    wanted = Host().run(plain.path, inputs)
    for a, b in zip(wanted, Host().run(staged.path, inputs), strict=True):
        assert [x.tobytes() for x in a.outputs] == [x.tobytes() for x in b.outputs]


@ARM
def test_a_copy_takes_fewer_cycles_and_arena_within_what_the_goal_allows(
    tmp_path: Path, shared_dir: Path
) -> None:
    file = shared_dir / "models" / "vww_int8.tflite"
    quick = glowmcu.compile(file, board="mps2-an386", output=tmp_path / "quick", name="m")
    bundle = glowmcu.compile(file, board="nrf52", output=tmp_path / "b", name="m")
    assert bundle.manifest.arena_bytes <= 1.03 * quick.manifest.arena_bytes
    found = bundle.measure(seeded_inputs(bundle.manifest, 1), board_memory=True)
    assert found.board_cycles is not None
    assert found.cycles is not None
    assert found.board_cycles.high < 1.06 * found.cycles, "1.30 from flash"
    assert found.stack_bytes <= bundle.manifest.costs.stack_bytes["m_run"]
    smallest = glowmcu.compile(file, board="nrf52", output=tmp_path / "r", name="m", optimize="ram")
    least = glowmcu.compile(
        file, board="mps2-an386", output=tmp_path / "l", name="m", optimize="ram"
    )
    assert smallest.manifest.arena_bytes == least.manifest.arena_bytes


def test_an_arena_budget_counts_more_than_a_copy(tmp_path: Path, shared_dir: Path) -> None:
    file = shared_dir / "models" / "kws_int8.tflite"
    free = glowmcu.compile(file, board="nrf52", output=tmp_path / "b", name="m", optimize="speed")
    assert free.manifest.arena_bytes > 12_000
    tight = glowmcu.compile(
        file, board="nrf52", output=tmp_path / "t", name="m", optimize="speed", arena_budget=10_000
    )
    assert tight.manifest.arena_bytes <= 10_000
    assert "GLOWMCU_STAGED(" not in (tight.path / "m.c").read_text()


def test_no_copy_takes_the_arena_beyond_the_ram_of_the_board(
    tmp_path: Path, shared_dir: Path
) -> None:
    file = shared_dir / "models" / "kws_int8.tflite"
    small = tmp_path / "small.toml"
    text = find_board("nrf52").file.read_text()
    small.write_text(text.replace("262144", "12288").replace('"nrf52"', '"small"', 1))
    bundle = glowmcu.compile(
        file, board=str(small), output=tmp_path / "b", name="m", optimize="speed"
    )
    room = 12_288 - STACK_RESERVE_BYTES
    assert bundle.manifest.arena_bytes <= room, "14,272 B where RAM is plenty"
    assert "needs an arena" not in " ".join(bundle.notes)


@pytest.mark.usefixtures("all_staged")
def test_a_port_may_copy_in_its_own_way(tmp_path: Path) -> None:
    model = tmp_path / "m.tflite"
    model.write_bytes(conv_model("CONV_2D", PASSES["conv_2d.pointwise_dsp"]))
    bundle = glowmcu.compile(model, board="nrf52", output=tmp_path / "b", name="m")
    port = tmp_path / "port.h"
    port.write_text(
        "#include <stdint.h>\n#include <string.h>\nextern int copies;\n"
        "#define GLOWMCU_STAGE(to, from, size) (void)(++copies, memcpy(to, from, size))\n"
    )
    main = tmp_path / "main.c"
    main.write_text(
        '#include "m.h"\nint copies;\nstatic M_ARENA(arena);\n'
        "int main(void) { return m_run(arena) || m_run(arena) || copies != 2; }\n"
    )
    sources = [str(path) for path in bundle.path.glob("*.c")]
    program = str(tmp_path / "program")
    command = ["gcc", "-std=c99", "-include", str(port), f"-I{bundle.path}", str(main), *sources]
    subprocess.run([*command, "-o", program], check=True)
    assert subprocess.run([program], check=False).returncode == 0


@pytest.mark.usefixtures("all_staged")
@pytest.mark.parametrize("language", ["c", "c++"])
def test_the_c_has_no_warning_and_is_c_plus_plus_too(language: str, tmp_path: Path) -> None:
    model = tmp_path / "m.tflite"
    model.write_bytes(random_network(165))
    bundle = glowmcu.compile(model, board="nrf52", output=tmp_path / "b", name="m")
    assert "GLOWMCU_STAGED(" in (bundle.path / "m.c").read_text()
    flags = CPP if language == "c++" else (*STRICT, "-Wc++-compat", "-Wcast-align")
    command = ["g++" if language == "c++" else "gcc", *flags, "-fsyntax-only"]
    done = subprocess.run(
        [*command, str(bundle.path / "m.c")], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_boards_whose_flash_or_cache_is_quick_copy_nothing() -> None:
    assert constant_waits(find_board("nrf52")) == (2.0, 0)
    assert constant_waits(find_board("nucleo-l4r5zi")) == (1.25, 256)
    assert constant_waits(find_board("rp2040")) == (28.0, 8192)
    for name in ("mps2-an386", "microbit", "nucleo-h743zi", "generic"):
        assert constant_waits(find_board(name)) is None, name


@ARM
@pytest.mark.usefixtures("all_staged")
def test_the_core_computes_from_copies_what_the_host_does(tmp_path: Path) -> None:
    for number, kernel in enumerate(PASSES):
        folder = tmp_path / str(number)
        folder.mkdir()
        board = board_of(kernel, folder)
        compilation = forced(kernel, board)
        bundle = write_bundle(compilation, folder / "b")
        assert "GLOWMCU_STAGED(" in (bundle / "m.c").read_text()
        inputs = random_inputs(compilation, 2)
        on_core = modelled_core(board.core, count=False).run(bundle, inputs)
        on_host = Host(SANITIZED).run(write_unit(compilation, folder / "unit"), inputs)
        for arrays, host, modelled in zip(inputs, on_host, on_core, strict=True):
            (want,) = run_graph(compilation.imported, arrays)
            expect_equal(np.asarray(host.outputs[0]), want, f"{kernel} on a computer")
            expect_equal(np.asarray(modelled.outputs[0]), want, f"{kernel} on {board.core}")
