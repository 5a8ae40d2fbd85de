"""Bundles for two cores: the C in any order of the cores, in threads, on modelled cores."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import glowmcu
from benchmarks.random_networks import random_network
from benchmarks.small_networks import MODELS
from glowmcu.errors import GlowmcuError
from glowmcu.frontend.tflite.writer import ModelBuilder
from glowmcu.memory_fit import divisible
from glowmcu.verify.cortex_m.executor import CortexM
from glowmcu.verify.cortex_m.two_cores import TwoCores
from glowmcu.verify.host import Host
from glowmcu.verify.host_cores import HostCores
from glowmcu.verify.verification import seeded_inputs

#: Random networks in which layers are shared, however small they are.
SEEDS = (109, 116, 117, 121, 203, 209, 210, 216)
DIGITS = Path(__file__).resolve().parents[2] / "examples/digits/digits_int8.tflite"


def compiled(model: bytes | Path, folder: Path, board: str = "rp2350") -> glowmcu.Bundle:
    path = model
    if isinstance(model, bytes):
        path = folder / "m.tflite"
        folder.mkdir(parents=True, exist_ok=True)
        path.write_bytes(model)
    return glowmcu.compile(path, board=board, output=folder / "bundle", name="m", cores=2)


@pytest.fixture
def all_shared(monkeypatch: pytest.MonkeyPatch) -> None:
    """Layers are shared though it saves nothing."""
    monkeypatch.setattr(divisible, "LEAST_CYCLES", 0.0)
    monkeypatch.setattr(divisible, "CALL_CYCLES", 0.0)
    monkeypatch.setattr(divisible, "MEETING_CYCLES", 0.0)


@pytest.mark.usefixtures("all_shared")
@pytest.mark.parametrize("seed", SEEDS)
def test_random_networks_give_the_same_bytes_whichever_core_is_ahead(
    seed: int, tmp_path: Path
) -> None:
    board = ("rp2350", "rp2040")[seed % 2]
    model = tmp_path / "m.tflite"
    model.write_bytes(random_network(seed))
    one = glowmcu.compile(model, board=board, output=tmp_path / "one", name="m")
    two = compiled(model, tmp_path, board)
    assert "GLOWMCU_CORES_BOTH(" in (two.path / "m.c").read_text()
    inputs = [seeded_inputs(two.manifest, number) for number in range(3)]
    wanted = [found.outputs for found in Host().run(one.path, inputs)]
    for executor in (Host(), HostCores(), HostCores(second_first=True)):
        for outputs, found in zip(wanted, executor.run(two.path, inputs), strict=True):
            for a, b in zip(outputs, found.outputs, strict=True):
                assert a.tobytes() == b.tobytes(), executor.extra_flags


@pytest.mark.parametrize("name", ["residual digits", "separable digits"])
def test_threads_that_meet_again_and_again_lose_no_byte(name: str, tmp_path: Path) -> None:
    bundle = compiled(MODELS[name](), tmp_path)
    inputs = [seeded_inputs(bundle.manifest, number % 3) for number in range(60)]
    wanted = Host().run(bundle.path, inputs)
    found = HostCores().run(bundle.path, inputs)
    for a, b in zip(wanted, found, strict=True):
        assert a.outputs[0].tobytes() == b.outputs[0].tobytes()


@pytest.mark.arm
@pytest.mark.parametrize("board", ["rp2040", "rp2350"])
def test_two_modelled_cores_are_quicker_than_one(board: str, tmp_path: Path) -> None:
    bundle = compiled(MODELS["pictures, strides"](), tmp_path, board)
    core = bundle.board.core
    inputs = [seeded_inputs(bundle.manifest, 1)]
    (alone,) = CortexM(core).run(bundle.path, inputs)
    for second_first in (False, True):
        (found,) = TwoCores(core, second_first).measure(bundle.path, inputs)
        assert found.outputs[0].tobytes() == alone.outputs[0].tobytes()
        assert alone.cycles is not None
        assert found.cycles < alone.cycles / 1.6
        assert sum(step.elapsed for step in found.steps) == found.cycles
        assert all(step.elapsed >= max(step.first, 0) for step in found.steps)
        assert found.meetings >= 3
        stacks = bundle.manifest.costs.stack_bytes
        assert found.stack_bytes[0] <= stacks["m_run"]
        assert found.stack_bytes[1] <= stacks["m_help"]


@pytest.mark.arm
def test_a_bundle_for_one_core_has_nobody_to_meet(tmp_path: Path) -> None:
    bundle = glowmcu.compile(DIGITS, board="rp2040", output=tmp_path / "bundle")
    with pytest.raises(GlowmcuError, match="GM658"):
        TwoCores("cortex-m0plus").measure(bundle.path, [seeded_inputs(bundle.manifest, 1)])


def test_halves_of_dense_layers_are_all_that_is_stored_of_them(
    shared_dir: Path, tmp_path: Path
) -> None:
    model = shared_dir / "models/ad_int8.tflite"
    one, two = (
        glowmcu.compile(model, board="rp2350", output=tmp_path / f"{cores}", name="m", cores=cores)
        for cores in (1, 2)
    )
    assert (two.path / "m.c").read_text().count("GLOWMCU_CORES_BOTH(") == 10
    assert two.manifest.weights_bytes < 1.01 * one.manifest.weights_bytes


def test_both_functions_meet_equally_often(tmp_path: Path) -> None:
    bundle = compiled(DIGITS, tmp_path)
    text = (bundle.path / "m.c").read_text()
    meets = [len(re.findall(rf"GLOWMCU_CORES_MEET\(words, {core}u\)", text)) for core in (0, 1)]
    assert meets[0] == meets[1] > 0
    assert (bundle.manifest.cores, bundle.manifest.options["cores"]) == (2, "2")
    assert bundle.manifest.help_function == "m_help"


def test_a_network_without_a_layer_worth_sharing_meets_once(tmp_path: Path) -> None:
    bundle = compiled(random_network(100), tmp_path)
    assert (bundle.path / "m.c").read_text().count("GLOWMCU_CORES_MEET(") == 2
    inputs = [seeded_inputs(bundle.manifest, 1)]
    wanted, found = Host().run(bundle.path, inputs), HostCores().run(bundle.path, inputs)
    assert wanted[0].outputs[0].tobytes() == found[0].outputs[0].tobytes()


def test_a_network_without_layers_meets_once_too(tmp_path: Path) -> None:
    """Its C named words that it did not declare, where two cores were asked for alone."""
    model = ModelBuilder()
    x = model.input("x", (2, 3), "int8", 0.05, 1)
    y = model.tensor("y", (6,), "int8", 0.05, 1)
    model.op("RESHAPE", [x, model.constant("shape", np.array([6], np.int32))], [y])
    model.output(y)
    bundle = compiled(model.finish(), tmp_path)
    assert not bundle.manifest.layers
    inputs = [seeded_inputs(bundle.manifest, 1)]
    for executor in (Host(), HostCores(), HostCores(second_first=True)):
        (found,) = executor.run(bundle.path, inputs)
        assert found.outputs[0].tobytes() == inputs[0][0].tobytes()


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"board": "nrf52"}, "has one core"),
        ({"cores": 3}, "is 1 or 2, not 3"),
        ({"steps": True, "instrument": True}, "does not go with steps, instrument"),
        ({"stream_inputs": ["pixels"]}, "does not go with stream_inputs"),
        ({"outside_inputs": ["pixels"]}, "does not go with outside_inputs"),
    ],
    ids=lambda item: item if isinstance(item, str) else "",
)
def test_what_does_not_go_with_two_cores_is_said(
    options: dict[str, object], told: str, tmp_path: Path
) -> None:
    given = {"board": "rp2040", "cores": 2, "output": tmp_path / "bundle", **options}
    with pytest.raises(GlowmcuError, match="GM196") as caught:
        glowmcu.compile(DIGITS, **given)  # type: ignore[arg-type]
    assert told in str(caught.value)


def test_a_pipeline_does_not_go_with_two_cores(tmp_path: Path) -> None:
    pipeline = DIGITS.parents[1] / "wake_word/wake_word.toml"
    with pytest.raises(GlowmcuError, match="GM196") as caught:
        glowmcu.compile(pipeline, board="rp2350", output=tmp_path / "bundle", cores=2)
    assert "does not go with a pipeline" in str(caught.value)
