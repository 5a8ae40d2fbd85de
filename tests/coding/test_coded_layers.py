"""Layers that read decoded weights compute the same, on this computer and on modelled cores.

The plan's kernels are exchanged here, whatever a goal would choose.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchmarks.random_networks import random_network
from glowmcu import pipeline
from glowmcu.compilation import Compilation, Options
from glowmcu.fit_as_asked import _Asked
from glowmcu.ir.interpreter import run_graph
from glowmcu.ir.kernel_code import Coding
from glowmcu.memory_fit import FittedPlan
from glowmcu.memory_fit.coded_weights import coded
from glowmcu.memplan.build_program import build_program
from glowmcu.memplan.planner import plan_memory
from glowmcu.verify.host import Host
from glowmcu.verify.modelled import modelled_core
from tests.support.check_model import expect_equal, random_inputs, write_bundle
from tests.support.forced_variant import SANITIZED

CODINGS = (Coding.NIBBLES, Coding.ENTROPY)
SEEDS = (114, 133, 142, 165, 169)
CORES = ("cortex-m4", "cortex-m0plus", "generic")


def with_coding(fit: FittedPlan, coding: Coding) -> FittedPlan:
    """Every layer of whole tensors whose array becomes smaller."""
    selections = dict(fit.selections)
    for node, chosen in fit.selections.items():
        code = coded(chosen.code, coding) if node not in fit.cascaded else None
        if code is not None:
            selections[node] = replace(chosen, code=code)
    plan = plan_memory(build_program(fit.graph, selections), fit.stream_to)
    return replace(fit, selections=selections, plan=plan)


def compiled(seed: int, core: str, coding: Coding, monkeypatch: pytest.MonkeyPatch) -> Compilation:
    monkeypatch.setattr(_Asked, "_staged", lambda _, fit: with_coding(fit, coding))
    return pipeline.compile_model(
        random_network(seed), "m.tflite", Options("m", core=core, simplify=False)
    )


@pytest.mark.parametrize("coding", CODINGS, ids=lambda coding: coding.value)
@pytest.mark.parametrize("core", CORES)
def test_random_networks_compute_the_same(
    core: str, coding: Coding, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    layers = 0
    for seed in SEEDS:
        compilation = compiled(seed, core, coding, monkeypatch)
        staged = [item.code.staged for item in compilation.selections.values()]
        layers += sum(item is not None for item in staged)
        bundle = write_bundle(compilation, tmp_path / str(seed))
        inputs = random_inputs(compilation, 2)
        on_host = Host(SANITIZED).run(bundle, inputs)
        for arrays, host in zip(inputs, on_host, strict=True):
            for made, want in zip(
                host.outputs, run_graph(compilation.imported, arrays), strict=True
            ):
                expect_equal(np.asarray(made), want, f"network {seed}")
    assert layers or coding is Coding.NIBBLES


@pytest.mark.arm
@pytest.mark.parametrize("core", CORES[:2])
def test_a_core_decodes_what_the_host_does(
    core: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compilation = compiled(165, core, Coding.ENTROPY, monkeypatch)
    bundle = write_bundle(compilation, tmp_path / "b")
    assert "GLOWMCU_STAGED_ENTROPY(" in (bundle / "m.c").read_text()
    inputs = random_inputs(compilation, 2)
    on_core = modelled_core(core, count=False).run(bundle, inputs)
    for arrays, found in zip(inputs, on_core, strict=True):
        (want, *_) = run_graph(compilation.imported, arrays)
        expect_equal(np.asarray(found.outputs[0]), want, core)
