"""The C of streamed models: same bits everywhere, nothing beside the arena, no dead byte read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, event, given, settings

from glowmcu.compilation import Compilation, Options
from glowmcu.goals import Goal
from glowmcu.ir.graph import Graph, Node, Value
from glowmcu.ir.interpreter import run_graph
from glowmcu.ir.program import Cascade, Program
from glowmcu.kernels.selection.select import Selection
from glowmcu.memory_fit import fitter
from glowmcu.memplan.build_program import build_program
from glowmcu.memplan.planner import Plan
from glowmcu.pipeline import compile_model
from glowmcu.verify.cortex_m.executor import CortexM
from tests.memplan.streamed import cascades, spatial_models, streamed
from tests.memplan.streaming_models import MODELS, separable
from tests.support import dead_bytes
from tests.support.check_model import check_model, expect_equal, random_inputs, write_bundle
from tests.support.generic_runner import GenericRunner, RunnerFailed

OPTIONS = Options("m", goal=Goal.RAM, core="cortex-m4", simplify=False)


def compiled(model: bytes, folder: Path, goal: Goal = Goal.RAM) -> tuple[Compilation, Path]:
    """Checked on the host between canaries (`Host`) with strict flags, and written."""
    compilation = check_model(model, options=replace(OPTIONS, goal=goal))
    return compilation, write_bundle(compilation, folder / "bundle")


def assert_runs(compilation: Compilation, bundle: Path, runner: GenericRunner) -> None:
    """Like the graph, one process an inference."""
    for arrays in random_inputs(compilation, 2):
        (got,) = runner.run(bundle, [arrays])
        for index, want in enumerate(run_graph(compilation.graph, arrays)):
            expect_equal(got[index], want, f"output {index} with dead bytes destroyed")


def hook(compilation: Compilation) -> str:
    return dead_bytes.hook_text(compilation.plan.program, compilation.manifest.arena_bytes)


def stream_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cascades wherever they can be, also where the planner knows better."""

    def plan(program: Program, *_: object) -> Plan:
        placed = streamed(program)
        return Plan(placed.program, placed.arena_bytes, 0)

    def build(
        graph: Graph,
        selections: Mapping[Node, Selection],
        with_rows: bool,
        streamed_input: str | None,
        external: frozenset[Value],
    ) -> Program:
        return build_program(graph, selections, True, streamed_input, external)

    monkeypatch.setattr(fitter, "plan_memory", plan)
    monkeypatch.setattr(fitter, "build_program", build)


@pytest.mark.parametrize("name", MODELS)
def test_a_streamed_model_reads_no_dead_byte_and_gives_the_same_bits(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stream_everything(monkeypatch)
    compilation, bundle = compiled(MODELS[name](), tmp_path, Goal.BALANCED)
    assert any(isinstance(step, Cascade) for step in compilation.plan.program.steps)
    sets = random_inputs(compilation, 1)
    for arrays, got in zip(sets, CortexM("cortex-m4", count=False).run(bundle, sets), strict=True):
        for index, want in enumerate(run_graph(compilation.graph, arrays)):
            expect_equal(got.outputs[index], want, f"output {index} on a modelled core")
    text = hook(compilation)
    assert_runs(compilation, bundle, dead_bytes.build(bundle, text, tmp_path, undefined=False))
    if dead_bytes.missing_memory_sanitizer():
        pytest.skip(dead_bytes.missing_memory_sanitizer())
    assert_runs(compilation, bundle, dead_bytes.build(bundle, text, tmp_path, undefined=True))


@pytest.mark.parametrize("name", ["kws", "vww", "ic", "ad", "sww"])
@pytest.mark.parametrize("goal", [Goal.BALANCED, Goal.RAM], ids=lambda goal: goal.value)
def test_a_real_model_reads_no_dead_byte(
    name: str, goal: Goal, shared_dir: Path, tmp_path: Path
) -> None:
    data = (shared_dir / "models" / f"{name}_int8.tflite").read_bytes()
    compilation = compile_model(data, name, replace(OPTIONS, goal=goal))
    bundle = write_bundle(compilation, tmp_path / "bundle")
    text = hook(compilation)
    assert_runs(compilation, bundle, dead_bytes.build(bundle, text, tmp_path, undefined=False))
    if dead_bytes.missing_memory_sanitizer():
        pytest.skip(dead_bytes.missing_memory_sanitizer())
    assert_runs(compilation, bundle, dead_bytes.build(bundle, text, tmp_path, undefined=True))


@pytest.mark.parametrize("undefined", [False, True])
def test_one_byte_that_is_alive_but_destroyed_is_noticed(undefined: bool, tmp_path: Path) -> None:
    if undefined and dead_bytes.missing_memory_sanitizer():
        pytest.skip(dead_bytes.missing_memory_sanitizer())
    compilation, bundle = compiled(separable(), tmp_path)
    program, arena = compilation.plan.program, compilation.manifest.arena_bytes
    (x,) = program.inputs
    middle = program.offset(x) + x.size_bytes // 2
    text = dead_bytes.hook_text(program, arena, [(0, (middle, middle + 1))])
    runner = dead_bytes.build(bundle, text, tmp_path, undefined)
    with pytest.raises(RunnerFailed if undefined else AssertionError):
        assert_runs(compilation, bundle, runner)


@settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(model=spatial_models())
def test_cascades_that_nobody_needs_are_right_in_c(
    model: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    stream_everything(monkeypatch)
    compilation = check_model(
        model, options=Options("m", core="cortex-m4", simplify=False), count=1
    )
    event(f"{len(cascades(compilation.plan.program))} cascades")
