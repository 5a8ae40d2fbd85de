"""The modelled Cortex-M55: what QEMU executes, with cycles and layers."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import glowmcu
from glowmcu.cores import core
from glowmcu.errors import GlowmcuError
from glowmcu.verify.helium import HeliumCore
from glowmcu.verify.helium.costs import CORTEX_M55, least, most
from glowmcu.verify.qemu import Qemu
from glowmcu.verify.verification import seeded_inputs
from tests.verify.test_instruction_counts import TOLERANCE, models

_ABSENT = Qemu(machine="mps3-an547").missing()
pytestmark = [pytest.mark.qemu, pytest.mark.skipif(_ABSENT is not None, reason=str(_ABSENT))]

MODEL = HeliumCore(core("cortex-m55"), machine="mps3-an547")


def compiled(file: Path, board: str = "mps3-an547") -> glowmcu.Bundle:
    return glowmcu.compile(file, board=board, output=file.parent / file.stem, name="m")


def test_it_counts_what_qemus_timer_counts(tmp_path: Path) -> None:
    for file in models(tmp_path):
        bundle = compiled(file)
        inputs = [seeded_inputs(bundle.manifest, seed) for seed in (1, 2)]
        modelled = MODEL.run(bundle.path, inputs)
        counted = Qemu().run(bundle.path, inputs)
        for ours, theirs in zip(modelled, counted, strict=True):
            assert ours.instructions is not None
            assert theirs.instructions is not None
            assert abs(ours.instructions - theirs.instructions) <= TOLERANCE, file.stem
            assert ours.outputs[0].tobytes() == theirs.outputs[0].tobytes()
            assert ours.stack_bytes == theirs.stack_bytes


def test_layers_and_blocks_add_up_to_the_total(tmp_path: Path) -> None:
    bundle = compiled(models(tmp_path)[0])
    (found,) = MODEL.measure(bundle.path, [seeded_inputs(bundle.manifest, 1)])
    account = found.account
    assert account is not None
    parts = [account.outside, *account.steps.values()]
    blocks = [block.cost for block in account.blocks]
    for costs in (parts, blocks):
        assert sum(cost.cycles for cost in costs) == account.total.cycles
        assert sum(cost.instructions for cost in costs) == account.total.instructions
    assert len(found.measurement.layers) == len(bundle.manifest.layers)
    assert all(layer.cycles for layer in found.measurement.layers)
    # In order and one at a time, but for a loop's end.
    assert 0.9 < account.total.cycles / account.total.instructions < 3


def test_what_is_assumed_moves_the_total_by_a_few_percent(tmp_path: Path) -> None:
    bundle = compiled(models(tmp_path)[0])
    inputs = [seeded_inputs(bundle.manifest, 1)]
    cheap, given, dear = (
        replace(MODEL, costs=costs).run(bundle.path, inputs)[0].cycles or 0
        for costs in (least(CORTEX_M55), None, most(CORTEX_M55))
    )
    assert 0.92 * given < cheap < given < dear < 1.08 * given


def test_bench_shows_cycles_of_a_board_with_helium(tmp_path: Path) -> None:
    bundle = compiled(models(tmp_path)[0], "ek-ra8m1")
    found = glowmcu.bench(bundle, hot=2)
    plain = glowmcu.bench(bundle)
    assert plain.core == "cortex-m85"
    assert plain.measured.layers == found.measured.layers
    assert plain.measured.cycles == found.measured.cycles
    assert plain.measured.cycles is not None
    assert plain.milliseconds is not None
    hottest = found.hot[0]
    assert hottest.cycles > found.hot[1].cycles
    lines = [line for block in found.hot for line in block.code if line.file]
    assert lines, "no line of C is known"
    assert all((bundle.path / line.file).is_file() for line in lines if line.file[:4] != "arm_")


def test_a_streamed_input_is_measured_as_one_piece(tmp_path: Path) -> None:
    file = models(tmp_path)[0]
    bundle = glowmcu.compile(
        file,
        board="mps3-an547",
        output=tmp_path / "streamed",
        optimize="ram",
        stream_inputs=["pixels"],
    )
    inputs = seeded_inputs(bundle.manifest, 3)
    (modelled,) = MODEL.run(bundle.path, [inputs])
    (host,) = bundle.measure_all([inputs], on="host")
    assert np.array_equal(modelled.outputs[0], host.outputs[0])
    assert modelled.layers[0].cycles


def test_wait_states_are_refused_where_none_are_modelled(tmp_path: Path) -> None:
    bundle = compiled(models(tmp_path)[0])
    with pytest.raises(GlowmcuError, match="knows no wait states, got 2") as caught:
        glowmcu.bench(bundle, wait_states=2)
    assert caught.value.code == "GM650"


def test_without_counting_the_same_bytes_come_faster(tmp_path: Path) -> None:
    bundle = compiled(models(tmp_path)[0])
    inputs = [seeded_inputs(bundle.manifest, 1)]
    plain = HeliumCore(core("cortex-m55"), machine="mps3-an547", count=False)
    (fast,), (full,) = plain.run(bundle.path, inputs), MODEL.run(bundle.path, inputs)
    assert fast.outputs[0].tobytes() == full.outputs[0].tobytes()
    assert fast.layers == ()
