"""The MLPerf Tiny models on emulated processors: the same bytes as on this computer."""

from __future__ import annotations

from pathlib import Path

import pytest

import glowmcu
from glowmcu.verify.cortex_m.executor import CortexM
from glowmcu.verify.measurement import Executor, Measurement
from glowmcu.verify.qemu import Qemu
from glowmcu.verify.verification import random_inputs

MODELS = ("kws", "vww", "ic", "ad", "sww")
GOALS = ("balanced", "ram")
INPUTS = 5


def expect_the_hosts_bytes(
    executor: Executor, model: Path, board: str, folder: Path
) -> list[Measurement]:
    bundle = glowmcu.compile(model, board=board, output=folder / "bundle", name="model")
    inputs = random_inputs(bundle.manifest, INPUTS, seed=11)
    wanted = bundle.measure_all(inputs, on="host")
    found = executor.run(bundle.path, inputs)
    for number, (got, want) in enumerate(zip(found, wanted, strict=True)):
        assert got.outputs[0].tobytes() == want.outputs[0].tobytes(), f"input {number}"
    return found


#: Bytes of stack beside the arena that a run may take on a Cortex-M4; transformed tiles of a 3x3
#: convolution, which ic has, lie on it.
MOST_STACK = 300
MOST_STACK_OF = {"ic": 960}
#: Names of inputs with rows.
STREAMED = {
    "kws": "input_1",
    "vww": "input_1_int8",
    "ic": "input_1_int8",
    "sww": "serving_default_input_1:0",
}


def expect_little_stack(name: str, found: Measurement) -> None:
    assert found.stack_bytes is not None
    assert 0 < found.stack_bytes <= MOST_STACK_OF.get(name, MOST_STACK)


@pytest.mark.slow
@pytest.mark.arm
@pytest.mark.parametrize("name", MODELS)
def test_a_modelled_cortex_m4_computes_the_hosts_bytes_and_takes_little_stack(
    name: str, shared_dir: Path, tmp_path: Path
) -> None:
    model = shared_dir / "models" / f"{name}_int8.tflite"
    executor = CortexM("cortex-m4", count=False)
    for found in expect_the_hosts_bytes(executor, model, "nrf52", tmp_path):
        expect_little_stack(name, found)


#: Models with an input that is pushed, and for another goal.
_PUSHED = [(name, (pushed,), goal) for name, pushed in STREAMED.items() for goal in GOALS]
RUNS = [*((name, (), "ram") for name in MODELS), *_PUSHED]


@pytest.mark.slow
@pytest.mark.arm
@pytest.mark.parametrize(
    ("name", "pushed", "goal"),
    RUNS,
    ids=lambda item: item if isinstance(item, str) else "".join(item),
)
def test_a_run_takes_little_stack_beside_the_arena(
    name: str, pushed: tuple[str, ...], goal: str, shared_dir: Path, tmp_path: Path
) -> None:
    bundle = glowmcu.compile(
        shared_dir / "models" / f"{name}_int8.tflite",
        board="mps2-an386", output=tmp_path / "bundle", name="model", optimize=goal,
        stream_inputs=pushed,
    )  # fmt: skip
    inputs = random_inputs(bundle.manifest, 1, seed=11)
    (found,) = CortexM("cortex-m4", count=False).run(bundle.path, inputs)
    expect_little_stack(name, found)


@pytest.mark.slow
@pytest.mark.arm
@pytest.mark.parametrize("core", ["cortex-m0plus", "cortex-m3", "cortex-m7", "cortex-m33"])
def test_every_modelled_core_computes_the_hosts_bytes(
    core: str, shared_dir: Path, tmp_path: Path
) -> None:
    model = shared_dir / "models" / "kws_int8.tflite"
    expect_the_hosts_bytes(CortexM(core, count=False), model, "nrf52", tmp_path)


@pytest.mark.slow
@pytest.mark.qemu
@pytest.mark.parametrize("board", ["mps2-an386", "mps3-an547"])
@pytest.mark.parametrize("name", MODELS)
def test_a_whole_board_in_qemu_computes_the_hosts_bytes(
    name: str, board: str, shared_dir: Path, tmp_path: Path
) -> None:
    model = shared_dir / "models" / f"{name}_int8.tflite"
    expect_the_hosts_bytes(Qemu(), model, board, tmp_path)


@pytest.mark.slow
@pytest.mark.qemu
@pytest.mark.parametrize("board", ["mps2-an385", "mps2-an500", "mps2-an505"])
def test_every_qemu_board_computes_the_hosts_bytes(
    board: str, shared_dir: Path, tmp_path: Path
) -> None:
    model = shared_dir / "models" / "kws_int8.tflite"
    expect_the_hosts_bytes(Qemu(), model, board, tmp_path)
