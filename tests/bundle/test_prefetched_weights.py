"""Weights that a DMA copies while the layer before runs: same bytes whenever they come in."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import glowmcu
from benchmarks.differential_executors import PORTS, port_flags
from benchmarks.random_networks import random_network
from glowmcu.board import PlacementRequest, find_board
from glowmcu.cli import main
from glowmcu.compilation import Compilation, Options
from glowmcu.errors import ExitCode
from glowmcu.interface_options import InterfaceOptions
from glowmcu.ir.graph import VerificationError
from glowmcu.ir.operation import Array
from glowmcu.ir.program import Life
from glowmcu.ir.program_machine import ProgramMachine
from glowmcu.ir.text import parse_program, print_program
from glowmcu.ir.verify_program import verify_program
from glowmcu.memory_fit import staging
from glowmcu.memplan.execute import execute_program
from glowmcu.ops.registry import load_operations
from glowmcu.pipeline import compile_model
from glowmcu.verify.host import Host
from glowmcu.verify.modelled import modelled_core
from glowmcu.verify.verification import seeded_inputs
from tests.bundle.test_compilers import CPP, STRICT
from tests.support.forced_variant import SANITIZED

DIGITS = Path(__file__).resolve().parents[2] / "examples" / "digits" / "digits_int8.tflite"
#: Random networks in which something comes in early on the board.
SEEDS = ((142, "nrf52"), (165, "nrf52"), (133, "rp2040"))


@pytest.fixture
def all_staged(monkeypatch: pytest.MonkeyPatch) -> None:
    """Weights are copied though it saves little, in any arena."""
    monkeypatch.setattr(staging, "_LEAST_GAIN", -1e9)
    monkeypatch.setattr(staging, "_GROWTH_AHEAD", 1e6)


def outputs(host: Host, bundle: Path, inputs: Sequence[Mapping[str, Array]]) -> list[list[bytes]]:
    return [[x.tobytes() for x in run.outputs] for run in host.run(bundle, inputs)]


@pytest.mark.usefixtures("all_staged")
@pytest.mark.parametrize(("seed", "board"), SEEDS)
def test_random_networks_compute_the_same_whenever_weights_come_in(
    seed: int, board: str, tmp_path: Path
) -> None:
    model = tmp_path / "m.tflite"
    model.write_bytes(random_network(seed))
    bundle = glowmcu.compile(model, board=board, output=tmp_path / "b", name="m", prefetch=True)
    plain = glowmcu.compile(model, board="generic", output=tmp_path / "p", name="m")
    text = (bundle.path / "m.c").read_text()
    assert text.count("glowmcu_prefetch(") == text.count("GLOWMCU_PREFETCHED(") > 0
    inputs = [seeded_inputs(bundle.manifest, number) for number in range(3)]
    wanted = outputs(Host(), plain.path, inputs)
    assert outputs(Host(SANITIZED), bundle.path, inputs) == wanted
    for kind in PORTS:
        assert outputs(Host(port_flags(kind, tmp_path)), bundle.path, inputs) == wanted, kind


@pytest.mark.arm
@pytest.mark.usefixtures("all_staged")
def test_a_core_computes_what_the_host_does(tmp_path: Path) -> None:
    model = tmp_path / "m.tflite"
    model.write_bytes(random_network(133))
    bundle = glowmcu.compile(model, board="rp2040", output=tmp_path / "b", name="m", prefetch=True)
    inputs = [seeded_inputs(bundle.manifest, number) for number in range(2)]
    found = modelled_core("cortex-m0plus", count=False).run(bundle.path, inputs)
    assert [[x.tobytes() for x in run.outputs] for run in found] == outputs(
        Host(), bundle.path, inputs
    )


def prefetching() -> Compilation:
    """Of a random network, with copies that begin early."""
    options = Options(
        "m", "nrf52", "cortex-m4", placement=PlacementRequest(find_board("nrf52")),
        interface=InterfaceOptions(prefetch=True),
    )  # fmt: skip
    return compile_model(random_network(165), "m.tflite", options)


@pytest.mark.usefixtures("all_staged")
def test_a_copy_has_its_place_from_the_step_before_on() -> None:
    found = prefetching()
    program, arena_bytes = found.plan.program, found.plan.arena_bytes
    assert program.prefetched
    again = parse_program(print_program(program), load_operations())
    assert again.prefetched.keys() == program.prefetched.keys()
    for step, coming in program.prefetched.items():
        assert program.lives[coming] == Life(step, step + 1)
    zeros = [np.zeros(item.type.shape, item.type.element.numpy) for item in program.inputs]
    execute_program(program, found.graph, zeros, arena_bytes)
    step, coming = next(iter(program.prefetched.items()))
    victim = program.root(program.steps[step].outputs[0])[0]
    wrong = program.with_offsets({**program.offsets, coming: program.offsets[victim]})
    with pytest.raises(VerificationError, match="share bytes while both live"):
        verify_program(wrong, arena_bytes)
    with pytest.raises(VerificationError, match="not or no longer there"):
        ProgramMachine(wrong, dict(wrong.offsets), arena_bytes).run()
    with pytest.raises(AssertionError, match="was written after it came in"):
        execute_program(wrong, found.graph, zeros, arena_bytes)


@pytest.mark.arm
def test_weights_that_are_read_once_are_worth_it_within_a_budget(
    tmp_path: Path, shared_dir: Path
) -> None:
    file = shared_dir / "models" / "ad_int8.tflite"
    given: dict[str, Any] = {"board": "nucleo-l4r5zi", "name": "ad", "prefetch": True}
    none = glowmcu.compile(file, output=tmp_path / "none", **given)
    assert "no weights are prefetched" in " ".join(none.notes)
    assert none.manifest.options["prefetch"] == "yes"
    some = glowmcu.compile(file, output=tmp_path / "some", arena_budget=40_000, **given)
    assert none.manifest.arena_bytes < some.manifest.arena_bytes <= 40_000
    text = (some.path / "ad.c").read_text()
    assert text.count("glowmcu_prefetch(") >= 4
    # One at a time: a layer waits for its own before the next begins.
    calls = re.findall(r"glowmcu_prefetch\(|GLOWMCU_PREFETCHED\(", text)
    assert calls == ["glowmcu_prefetch(", "GLOWMCU_PREFETCHED("] * (len(calls) // 2)
    inputs = [seeded_inputs(some.manifest, number) for number in range(2)]
    wanted = outputs(Host(), none.path, inputs)
    for kind in PORTS:
        assert outputs(Host(port_flags(kind, tmp_path)), some.path, inputs) == wanted, kind


@pytest.mark.arm
def test_weights_in_an_external_flash_are_fetched_once(tmp_path: Path, shared_dir: Path) -> None:
    file = shared_dir / "models" / "kws_int8.tflite"
    text = find_board("nrf52").file.read_text().replace('name = "nrf52"', 'name = "external"', 1)
    qspi = (
        '[[memory]]\nname = "qspi"\nkind = "flash"\norigin = 0x12000000\nsize_bytes = 8388608\n\n'
    )
    waits = '[[timing.memory]]\nregion = "qspi"\nwait_states = 40\nwidth_bytes = 4\n\n'
    text = text.replace("[[timing]]", f"{qspi}[[timing]]", 1)
    board = tmp_path / "external.toml"
    board.write_text(text.replace("[[timing.memory]]", f"{waits}[[timing.memory]]"))
    found = []
    for prefetch in (False, True):
        bundle = glowmcu.compile(
            file, board=str(board), output=tmp_path / str(prefetch), name="kws",
            place={"weights": "qspi"}, prefetch=prefetch,
        )  # fmt: skip
        measured = bundle.measure(seeded_inputs(bundle.manifest, 1), board_memory=True)
        assert measured.board_cycles is not None
        found.append(measured.board_cycles.high)
    # The core copies here.
    assert found[1] < 0.25 * found[0]


def test_where_flash_is_quick_or_weights_are_in_ram_a_note_says_that_nothing_comes_early(
    tmp_path: Path,
) -> None:
    for board, place in (("mps2-an386", {}), ("nrf52", {"weights": "ram"})):
        bundle = glowmcu.compile(
            DIGITS, board=board, output=tmp_path / board, prefetch=True, place=place
        )
        assert "no weights are prefetched" in " ".join(bundle.notes)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--cores", "2", "--board", "rp2040"], "--cores 2"),
        (["--steps"], "--steps"),
        (["--accelerator", "ethos-u55-128"], "--accelerator"),
        (["--flash-budget", "100K", "--optimize", "ram"], "--flash-budget, --optimize ram"),
    ],
)
def test_what_does_not_go_with_it_is_said(
    options: list[str], told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = ["compile", str(DIGITS), "--board", "nrf52", "--prefetch", *options]
    assert main([*given, "-o", str(tmp_path / "b")]) == ExitCode.USAGE
    assert f"--prefetch does not go with {told}" in capsys.readouterr().err
    assert not (tmp_path / "b").exists()


@pytest.mark.usefixtures("all_staged")
@pytest.mark.parametrize(
    "options",
    [
        {"weights": "pointer"},
        {"instrument": True},
        {"place": {"code": "flash", "code:1": "ram"}},
        {"train": "last=1"},
    ],
    ids=lambda item: next(iter(item)),
)
def test_it_goes_with_other_options(options: dict[str, Any], tmp_path: Path) -> None:
    bundle = glowmcu.compile(
        DIGITS, board="nrf52", output=tmp_path / "b", name="m", prefetch=True, **options
    )
    assert "glowmcu_prefetch(" in (bundle.path / "m.c").read_text()
    assert glowmcu.verify(bundle, on=["host"]).passed


@pytest.mark.usefixtures("all_staged")
@pytest.mark.parametrize("language", ["c", "c++"])
def test_the_c_has_no_warning_and_needs_both_hooks(language: str, tmp_path: Path) -> None:
    model = tmp_path / "m.tflite"
    model.write_bytes(random_network(165))
    bundle = glowmcu.compile(model, board="nrf52", output=tmp_path / "b", name="m", prefetch=True)
    flags = CPP if language == "c++" else (*STRICT, "-Wc++-compat", "-Wcast-align")
    command = ["g++" if language == "c++" else "gcc", *flags, "-fsyntax-only"]
    source = str(bundle.path / "m.c")
    done = subprocess.run([*command, source], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    one = "-DGLOWMCU_STAGE_BEGIN(to,from,size)=0"
    done = subprocess.run([*command, one, source], capture_output=True, text=True, check=False)
    assert "define both GLOWMCU_STAGE_BEGIN and GLOWMCU_STAGE_END" in done.stderr
