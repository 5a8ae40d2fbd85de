"""Bundles for a Cortex-M7 with caches and a Cortex-M4: any timing and any caches give the bytes."""

from __future__ import annotations

from pathlib import Path

import pytest

import glowmcu
from benchmarks.random_networks import random_network
from benchmarks.small_networks import MODELS
from glowmcu.memory_fit import divisible
from glowmcu.verify.host import Host
from glowmcu.verify.host_cores import HostCores
from glowmcu.verify.verification import seeded_inputs
from tests.support.incoherent_caches import IncoherentCaches

#: Random networks in which layers are shared, however small they are.
SEEDS = (115, 116, 141, 143, 153, 161)
SMALL = ("residual digits", "separable digits", "pictures, strides")
DIGITS = Path(__file__).resolve().parents[2] / "examples/digits/digits_int8.tflite"
PORT = Path(__file__).resolve().parents[2] / "firmware_examples/two_cores/ports/stm32h745.h"


def compiled(model: bytes | Path, folder: Path, board: str = "stm32h745") -> glowmcu.Bundle:
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
