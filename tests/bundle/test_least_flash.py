"""`--optimize flash`: constants in the fewest bytes, decoded while their layer runs, with the same
numbers; what it takes is said.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import glowmcu
from benchmarks.random_networks import random_network
from glowmcu import pipeline
from glowmcu.compilation import Compilation, Options
from glowmcu.cores import core
from glowmcu.errors import GlowmcuError
from glowmcu.facts.flash_parts import CODE, flash_parts, unpacked_bytes
from glowmcu.goals import Budgets, Goal
from glowmcu.interface_options import InterfaceOptions
from glowmcu.ir.interpreter import run_graph
from glowmcu.kernels.kernel import Target
from glowmcu.kernels.selection import select
from glowmcu.memory_fit import in_dense_parts, least_flash
from glowmcu.verify.host import Host
from glowmcu.verify.modelled import modelled_core
from glowmcu.verify.verification import seeded_inputs
from tests.cli.test_flash_advice import dense
from tests.support.check_model import expect_equal, random_inputs, write_bundle
from tests.support.forced_variant import SANITIZED

DIGITS = Path(glowmcu.__file__).parents[1] / "examples" / "digits"
SEEDS = (114, 133, 142, 165, 169)
CORES = ("cortex-m4", "cortex-m0plus", "generic")
#: Bytes of constants on a Cortex-M4 board with 256 KiB of RAM: what was measured.
CONSTANTS = {"kws": 27_497, "vww": 38_001, "ic": 77_124, "ad": 183_516}


def compiled(data: bytes, core_name: str, **options: Any) -> Compilation:
    return pipeline.compile_model(
        data, "m.tflite", Options("m", core=core_name, goal=Goal.FLASH, **options)
    )


def is_coded(compilation: Compilation) -> bool:
    return unpacked_bytes(compilation.manifest) > compilation.manifest.weights_bytes


@pytest.fixture
def every_byte_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Arena, calls and decoders for nothing: small networks would not be coded otherwise."""
    monkeypatch.setattr(select, "_DECODER_BYTES", {})
    monkeypatch.setattr(least_flash, "_CALL_BYTES", 0)
    monkeypatch.setattr(least_flash, "_ARENA_FOR_FLASH", 1e9)


@pytest.mark.usefixtures("every_byte_counts")
@pytest.mark.parametrize("core_name", CORES)
def test_random_networks_compute_the_same(core_name: str, tmp_path: Path) -> None:
    coded = 0
    for seed in SEEDS:
        compilation = compiled(random_network(seed), core_name)
        coded += is_coded(compilation)
        bundle = write_bundle(compilation, tmp_path / str(seed))
        inputs = random_inputs(compilation, 2)
        for arrays, found in zip(inputs, Host(SANITIZED).run(bundle, inputs), strict=True):
            wanted = run_graph(compilation.imported, arrays)
            for made, want in zip(found.outputs, wanted, strict=True):
                expect_equal(np.asarray(made), want, f"network {seed}")
    assert coded


def test_what_is_said_of_code_counts_what_decodes(monkeypatch: pytest.MonkeyPatch) -> None:
    compilation = compiled(dense(), "cortex-m4")
    assert is_coded(compilation)
    stated = compilation.manifest.costs.code_bytes_estimate
    assert stated is not None
    assert abs(stated - compilation.estimated_code_bytes) < 10
    monkeypatch.setattr(select, "_DECODER_BYTES", {})
    assert stated - compilation.estimated_code_bytes > 150


@pytest.mark.arm
@pytest.mark.parametrize("core_name", CORES[:2])
def test_a_dense_network_is_decoded_in_parts_on_a_core(
    core_name: str, shared_dir: Path, tmp_path: Path
) -> None:
    """Anomaly detection: its first layer alone has 80 KB of weights."""
    compilation = compiled((shared_dir / "models" / "ad_int8.tflite").read_bytes(), core_name)
    assert is_coded(compilation)
    assert compilation.manifest.arena_bytes < 20_000
    bundle = write_bundle(compilation, tmp_path / "b")
    assert "GLOWMCU_STAGED_ENTROPY(" in (bundle / "m.c").read_text()
    inputs = random_inputs(compilation, 1)
    found, *_ = modelled_core(core_name, count=True).run(bundle, inputs)
    expect_equal(
        np.asarray(found.outputs[0]), run_graph(compilation.imported, inputs[0])[0], core_name
    )
    stated = compilation.manifest.costs
    assert found.cycles is not None
    assert stated.cycles_estimate is not None
    assert 0.85 * found.cycles < stated.cycles_estimate < 1.15 * found.cycles
    assert found.stack_bytes is not None
    assert found.stack_bytes <= stated.stack_bytes["m_run"]


@pytest.mark.parametrize("name", CONSTANTS)
def test_constants_of_the_reference_models(name: str, shared_dir: Path, tmp_path: Path) -> None:
    """No more than was measured, and less than what is best for size."""
    file = shared_dir / "models" / f"{name}_int8.tflite"
    flash, size = (
        glowmcu.compile(file, board="nrf52", optimize=goal, name="m", output=tmp_path / goal)
        for goal in ("flash", "size")
    )
    assert flash.report.weights_bytes <= 1.02 * CONSTANTS[name]
    assert flash.report.weights_bytes < size.report.weights_bytes
    if flash.report.code_bytes is not None and size.report.code_bytes is not None:
        sizes = [item.report.weights_bytes + item.report.code_bytes for item in (flash, size)]
        assert sizes[0] <= 1.01 * sizes[1]
    assert glowmcu.verify(flash, on=["host"]).passed


def test_the_parts_of_flash_add_up(shared_dir: Path, tmp_path: Path) -> None:
    file = shared_dir / "models" / "ad_int8.tflite"
    bundle = glowmcu.compile(file, board="nrf52", optimize="flash", name="m", output=tmp_path / "b")
    manifest = bundle.manifest
    parts = flash_parts(manifest, 1000)
    assert (parts[-1].what, parts[-1].bytes) == (CODE, 1000)
    assert sum(part.bytes for part in parts[:-1]) == manifest.weights_bytes
    for layer in manifest.layers:
        assert sum(part.bytes for part in layer.constants) == layer.weights_bytes
    assert all(part.bytes < part.unpacked_bytes for part in parts if part.coding)
    assert unpacked_bytes(manifest) > 1.4 * manifest.weights_bytes
    assert any("times the cycles" in note for note in bundle.notes)


def digits(output: Path, goal: str, **options: Any) -> glowmcu.Bundle:
    with np.load(DIGITS / "calibration.npz") as stored:
        samples = {name: stored[name][:40] for name in stored.files}
    return glowmcu.compile(
        DIGITS / "digits.onnx", board="rp2040", output=output / goal, name="m", samples=samples,
        quantization=glowmcu.Quantization(weights=4, search="plain"), optimize=goal, **options,
    )  # fmt: skip


@pytest.mark.arm
def test_weights_of_four_bits_take_less_than_two_a_byte(tmp_path: Path) -> None:
    file = tmp_path / "m.tflite"
    file.write_bytes(dense(1.2, 7))
    flash, size = (
        glowmcu.compile(file, board="rp2040", output=tmp_path / goal, optimize=goal)
        for goal in ("flash", "size")
    )
    assert size.report.weights_bytes > 64 * 64 // 2
    assert flash.report.weights_bytes < 64 * 64 // 2
    assert flash.report.code_bytes is not None
    assert size.report.code_bytes is not None
    total = flash.report.weights_bytes + flash.report.code_bytes
    assert total <= size.report.weights_bytes + size.report.code_bytes
    assert glowmcu.verify(flash, on=["host", "cortex-m"]).passed
    measured = flash.measure(seeded_inputs(flash.manifest, 1), core="cortex-m0plus")
    assert measured.stack_bytes is not None
    assert measured.stack_bytes <= flash.manifest.costs.stack_bytes["m_run"]


@pytest.mark.parametrize("options", [{"weights": "pointer"}, {"steps": True}, {"cores": 2}],
                         ids=["pointer", "steps", "two cores"])  # fmt: skip
def test_modes_that_cannot_decode_say_so(options: dict[str, Any], tmp_path: Path) -> None:
    bundle = digits(tmp_path, "flash", **options)
    assert any("stored as for --optimize size" in note for note in bundle.notes)
    assert "GLOWMCU_STAGED_" not in (bundle.path / "m.c").read_text()
    assert glowmcu.verify(bundle, on=["host"]).passed


def test_a_streamed_input_computes_the_same(tmp_path: Path) -> None:
    bundle = digits(tmp_path, "flash", stream_inputs=("pixels",))
    assert any("hand on rows" in note for note in bundle.notes)
    assert glowmcu.verify(bundle, on=["host"]).passed


def test_an_arena_budget_is_kept_and_layers_without_room_are_named(shared_dir: Path) -> None:
    data = (shared_dir / "models" / "ad_int8.tflite").read_bytes()
    small = compiled(data, "cortex-m4", budgets=Budgets(arena_bytes=2048))
    assert small.manifest.arena_bytes <= 2048
    assert any("keeps its constants as they are" in note for note in small.notes)
    large = compiled(data, "cortex-m4", budgets=Budgets(arena_bytes=8192))
    assert large.manifest.arena_bytes <= 8192
    assert large.manifest.weights_bytes < small.manifest.weights_bytes


def test_a_flash_budget_counts_coded_constants(shared_dir: Path) -> None:
    """Less than what the constants take as they are, which selection alone would refuse."""
    data = (shared_dir / "models" / "ad_int8.tflite").read_bytes()
    budget = Budgets(flash_bytes=200_000)
    assert compiled(data, "cortex-m4", budgets=budget).manifest.weights_bytes < 200_000
    with pytest.raises(GlowmcuError) as caught:
        compiled(data, "cortex-m4", budgets=Budgets(flash_bytes=100_000))
    assert caught.value.problems[0].code == "GM402"


def test_a_flash_budget_is_kept_by_slower_kernels() -> None:
    """`size` kept this budget, and `flash` refused it for the time that its kernels would take."""
    data = (DIGITS / "digits_int8.tflite").read_bytes()
    budget = Budgets(flash_bytes=9_600)
    compilation = compiled(data, "generic", budgets=budget)
    assert compilation.manifest.weights_bytes + compilation.estimated_code_bytes <= 9_600
    with pytest.raises(GlowmcuError, match="GM402"):
        compiled(data, "generic", budgets=Budgets(flash_bytes=5_000))


def test_parts_of_dense_layers_compute_what_the_whole_does(shared_dir: Path) -> None:
    data = (shared_dir / "models" / "ad_int8.tflite").read_bytes()
    whole = compiled(data, "generic", interface=InterfaceOptions(steps=True)).graph
    parts = in_dense_parts(whole, 4096)
    parts.verify()
    assert len(parts.nodes) > len(whole.nodes)
    random = np.random.default_rng(7)
    x = random.integers(-128, 128, whole.inputs[0].type.shape, np.int8)
    expect_equal(run_graph(parts, [x])[0], run_graph(whole, [x])[0], "parts")
    assert in_dense_parts(whole, 1 << 20) is whole


def test_kernels_know_the_goal_as_that_of_size() -> None:
    assert Target(core("cortex-m4"), Goal.FLASH) == Target(core("cortex-m4"), Goal.SIZE)
