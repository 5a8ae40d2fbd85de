"""Weights of four bits, two to a byte in flash whatever kernel reads them: where it pays, and the
same bytes.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import glowmcu
from glowmcu.verify.verification import seeded_inputs

EXAMPLE = Path(glowmcu.__file__).parents[1] / "examples" / "digits"
UNPACKED = "GLOWMCU_STAGED_NIBBLES("
BOARDS = {"rp2040": "cortex-m", "esp32c3": "riscv"}


def digits(output: Path, bits: int, board: str = "rp2040", **options: Any) -> glowmcu.Bundle:
    with np.load(EXAMPLE / "calibration.npz") as stored:
        samples = {name: stored[name][:40] for name in stored.files}
    quantization = glowmcu.Quantization(weights=bits, search="plain")
    return glowmcu.compile(
        EXAMPLE / "digits.onnx", board=board, output=output / f"{board}{bits}", name="m",
        samples=samples, quantization=quantization, **options,
    )  # fmt: skip


def source(bundle: glowmcu.Bundle) -> str:
    return (bundle.path / "m.c").read_text(encoding="utf-8")


@pytest.mark.arm
@pytest.mark.riscv
@pytest.mark.parametrize("board", BOARDS)
def test_a_bundle_for_size_stores_fewer_bytes_and_computes_the_same(
    board: str, tmp_path: Path
) -> None:
    plain = digits(tmp_path, 8, board, optimize="size")
    packed = digits(tmp_path, 4, board, optimize="size")
    assert UNPACKED not in source(plain)
    assert UNPACKED in source(packed)
    saved = plain.report.weights_bytes - packed.report.weights_bytes
    assert saved > packed.report.arena_bytes - plain.report.arena_bytes
    assert saved > 0.15 * plain.report.weights_bytes
    report = glowmcu.verify(packed, on=["host", BOARDS[board]])
    assert report.passed


@pytest.mark.arm
def test_the_stack_that_is_stated_holds(tmp_path: Path) -> None:
    bundle = digits(tmp_path, 4, optimize="size")
    measured = bundle.measure(seeded_inputs(bundle.manifest, 1), core="cortex-m0plus")
    assert measured.stack_bytes is not None
    assert measured.stack_bytes <= bundle.manifest.costs.stack_bytes["m_run"]


@pytest.mark.parametrize("goal", ["ram", "speed"])
def test_goals_that_flash_is_nothing_to_do_without(goal: str, tmp_path: Path) -> None:
    assert UNPACKED not in source(digits(tmp_path, 4, optimize=goal))


def test_an_arena_budget_is_kept(tmp_path: Path) -> None:
    whole = digits(tmp_path, 8, optimize="size").report.arena_bytes
    bundle = digits(tmp_path, 4, optimize="size", arena_budget=whole)
    assert bundle.report.arena_bytes <= whole


@pytest.mark.parametrize("options", [{"weights": "pointer"}, {"steps": True}, {"cores": 2}],
                         ids=["pointer", "steps", "two cores"])  # fmt: skip
def test_modes_that_keep_a_byte_each_compute_as_before(
    options: dict[str, Any], tmp_path: Path
) -> None:
    bundle = digits(tmp_path, 4, optimize="size", **options)
    assert UNPACKED not in source(bundle)
    assert glowmcu.verify(bundle, on=["host"]).passed


def test_streamed_rows_keep_theirs(tmp_path: Path) -> None:
    bundle = digits(tmp_path, 4, optimize="size", stream_inputs=("pixels",))
    assert glowmcu.verify(bundle, on=["host"]).passed


@pytest.mark.arm
def test_a_large_network_takes_no_arena_and_few_cycles_for_it(
    shared_dir: Path, tmp_path: Path
) -> None:
    """Visual wake words: its arena has room beside what is alive while a layer runs."""
    samples = np.random.default_rng(0).random((6, 96, 96, 3)).astype(np.float32)
    made = [
        glowmcu.compile(
            shared_dir / "models" / "vww_float.tflite", board="nrf5340", name="m", samples=samples,
            output=tmp_path / f"{bits}",
            quantization=glowmcu.Quantization(weights=bits, search="plain", adaround=False),
        )
        for bits in (8, 4)
    ]  # fmt: skip
    plain, packed = made
    assert packed.report.weights_bytes <= 0.73 * plain.report.weights_bytes
    assert packed.report.arena_bytes <= plain.report.arena_bytes
    cycles = [glowmcu.bench(bundle).measured.cycles for bundle in made]
    assert None not in cycles
    # Layers without room for a copy read two weights from a byte.
    assert cycles[1] <= 1.03 * cycles[0]  # type: ignore[operator]
    assert glowmcu.verify(packed, on=["host"]).passed
