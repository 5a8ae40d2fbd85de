"""Operators of TensorFlow Lite Micro that few models have, on cores and for every goal."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from benchmarks.compilers import DARING, SANITIZED, available, failure
from glowmcu.compilation import Compilation, Options
from glowmcu.goals import Goal
from glowmcu.ir.exactness import exact_outputs
from glowmcu.ir.interpreter import Session
from glowmcu.pipeline import compile_model
from glowmcu.verify.cortex_m.executor import CortexM
from glowmcu.verify.host import Host
from glowmcu.verify.measurement import Measurement
from glowmcu.verify.qemu import Qemu
from tests.ops import (
    test_add_n,
    test_circular_buffer,
    test_gather,
    test_pooling,
    test_sequences,
    test_tiling,
    test_update_slice,
)
from tests.support.check_model import Array, expect_close, random_inputs, write_bundle
from tests.support.detection_models import DetectionCase, detection_model

MODELS = {
    "a cache by DYNAMIC_UPDATE_SLICE": test_update_slice.cache_model(),
    "ADD_N": test_add_n.many_layers(7, 3),
    "BROADCAST_ARGS": test_tiling.shapes_model(2, 3, 3),
    "CIRCULAR_BUFFER with strides": test_circular_buffer.streaming_model((2, 1, 3)),
    "fast detection": detection_model(DetectionCase(boxes=20, per_box=2)),
    "regular detection": detection_model(DetectionCase(boxes=20, regular=True)),
    "DYNAMIC_UPDATE_SLICE": test_update_slice.update_model((4, 5), (2, 3), None, "int16", "int64"),
    "EMBEDDING_LOOKUP": test_gather.lookup_model(
        np.arange(-20, 22, dtype=np.int8).reshape(14, 3), (5,), scale=0.3
    ),
    "L2_POOL_2D": test_pooling.pool_model(
        "L2_POOL_2D", test_pooling.CASES["odd size, same padding"], dtype="float32"
    ),
    "REVERSE_SEQUENCE": test_sequences.reverse_model((5, 3, 2), 0, 1, None, "int16"),
}
CORES = ("cortex-m0plus", "cortex-m3", "cortex-m4")


def expect_meaning(
    compilation: Compilation, sets: Sequence[Sequence[Array]], measured: Sequence[Measurement]
) -> None:
    """The runs, one stream, gave what the imported graph says."""
    session, exact = Session(compilation.imported), exact_outputs(compilation.imported)
    for arrays, got in zip(sets, measured, strict=True):
        for index, want in enumerate(session.run(list(arrays))):
            expect_close(got.outputs[index], want, f"output {index}", exact[index])


@pytest.mark.arm
@pytest.mark.parametrize("core", CORES)
@pytest.mark.parametrize("name", MODELS)
def test_cores_compute_the_meaning(name: str, core: str, tmp_path: Path) -> None:
    compilation = compile_model(MODELS[name], "m.tflite", Options("m", core=core))
    sets = random_inputs(compilation, 9)
    measured = CortexM(core, count=False).run(write_bundle(compilation, tmp_path), sets)
    expect_meaning(compilation, sets, measured)
    stated = compilation.manifest.costs.stack_bytes["m_run"]
    assert max(got.stack_bytes or 0 for got in measured) <= stated


@pytest.mark.qemu
@pytest.mark.parametrize("name", MODELS)
def test_a_core_with_helium_computes_the_meaning(name: str, tmp_path: Path) -> None:
    compilation = compile_model(MODELS[name], "m.tflite", Options("m", core="cortex-m55"))
    sets = random_inputs(compilation, 3)
    bundle = write_bundle(compilation, tmp_path)
    expect_meaning(compilation, sets, Qemu(machine="mps3-an547").run(bundle, sets))


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
def test_self_tests_pass_under_sanitizers_and_daring_optimizers(name: str, tmp_path: Path) -> None:
    bundle = write_bundle(compile_model(MODELS[name], "m.tflite", Options("m")), tmp_path / "m")
    builds = [*available(SANITIZED), *available(DARING)]
    assert [said for build in builds if (said := failure(bundle, build, tmp_path))] == []


@pytest.mark.parametrize("goal", list(Goal))
@pytest.mark.parametrize("name", MODELS)
def test_every_goal_gives_the_meaning(name: str, goal: Goal, tmp_path: Path) -> None:
    compilation = compile_model(MODELS[name], "m.tflite", Options("m", goal=goal))
    sets = random_inputs(compilation, 9)
    expect_meaning(compilation, sets, Host().run(write_bundle(compilation, tmp_path), sets))
