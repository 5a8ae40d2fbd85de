"""Bounds of the stack where layers are inside of branches, loops and stages, and that every kernel
was measured.
"""

from __future__ import annotations

from pathlib import Path

import pytest

import glowmcu
from benchmarks.layer_graphs import GRAPH_KINDS, graph, sample_count
from benchmarks.stack_bounds import outside_bounds
from benchmarks.stack_coverage import acceptable
from benchmarks.stack_table import CORES, GOALS
from glowmcu.api.pipeline_files import read_pipeline
from glowmcu.compilation import Compilation, Options, Prepared
from glowmcu.emit_c.build_views import layers
from glowmcu.emit_c.stack_bound import KernelFunction, functions, kernel_stack, stack_bounds
from glowmcu.goals import Goal
from glowmcu.input_options import InputOptions
from glowmcu.interface_options import InterfaceOptions, Weights
from glowmcu.ir.dump import IrDump
from glowmcu.kernels.kernel import load_kernels
from glowmcu.kernels.selection.stack_table import core_stacks, measured_cores
from glowmcu.lowering.passes import lower
from glowmcu.multirate.compilation import compile_pipeline
from glowmcu.pipeline import compile_model, compile_prepared
from glowmcu.stack_use import CoreStacks, FrameStacks, KernelStack, KernelUse
from glowmcu.training import training_of
from glowmcu.verify.verification import seeded_inputs
from tests.bundle.models import digits
from tests.support.check_model import write_bundle
from tests.support.control_flow_models import RandomModel
from tests.support.pipelines import random_pipeline

_GOALS = tuple(Goal)
#: Variants that need no record, and why.
_UNMEASURED: dict[str, str] = {
    "custom_c.user": "C of the user's, which nobody knows",
    "defined.portable": "C of a definition of the user's",
    "delegate.hooks": "a region's frame is bounded in tests/delegation",
    "ethos_u.vela": "a region's frame is bounded in tests/delegation",
}


def branches_and_loops(seed: int, core_name: str) -> Compilation:
    """In each other, up to two deep."""
    interface = InterfaceOptions(steps=seed % 3 == 1)
    options = Options("m", core=core_name, goal=_GOALS[seed % 4], interface=interface)
    return compile_model(RandomModel(seed).data(), "m.tflite", options)


@pytest.mark.arm
@pytest.mark.parametrize("core_name", measured_cores())
def test_the_bound_holds_around_branches_and_loops(core_name: str, tmp_path: Path) -> None:
    wrong = []
    for seed in range(6):
        compilation = branches_and_loops(seed, core_name)
        wrong += outside_bounds(compilation, core_name, tmp_path / f"{seed}", float("inf"))
    assert wrong == []


@pytest.mark.arm
@pytest.mark.parametrize("core_name", ["cortex-m0plus", "cortex-m4"])
def test_painted_stack_of_branches_and_loops_is_within_the_bound(
    core_name: str, tmp_path: Path
) -> None:
    for seed in (0, 5):
        compilation = branches_and_loops(seed, core_name)
        bundle = glowmcu.load(write_bundle(compilation, tmp_path / f"{seed}"))
        measured = bundle.measure(seeded_inputs(bundle.manifest, 1), core=core_name)
        assert measured.stack_bytes is not None
        assert 0 < measured.stack_bytes <= compilation.manifest.costs.stack_bytes["m_run"]


@pytest.mark.arm
@pytest.mark.parametrize("core_name", ["cortex-m0plus", "cortex-m4", "cortex-m55"])
def test_the_bound_holds_for_pipelines(core_name: str, tmp_path: Path) -> None:
    wrong = []
    for seed in range(6):
        folder = tmp_path / f"{seed}"
        folder.mkdir()
        options = Options("pipe", core=core_name, goal=_GOALS[seed % 4])
        compilation = compile_pipeline(read_pipeline(random_pipeline(seed).write(folder)), options)
        wrong += outside_bounds(compilation, core_name, folder / "bundle", float("inf"))
    assert wrong == []


@pytest.mark.arm
@pytest.mark.riscv
@pytest.mark.parametrize("core_name", measured_cores())
def test_the_bound_holds_for_what_learns(core_name: str, tmp_path: Path) -> None:
    inputs = InputOptions(training=training_of("last=1"))
    compilation = compile_model(digits(), "m.tflite", Options("m", core=core_name, inputs=inputs))
    assert compilation.manifest.costs.stack_bytes.keys() >= {
        "m_reset", "m_learn", "m_train", "m_parameters_save", "m_parameters_load",
    }  # fmt: skip
    assert outside_bounds(compilation, core_name, tmp_path / "m", float("inf")) == []


@pytest.mark.arm
@pytest.mark.riscv
@pytest.mark.parametrize("core_name", measured_cores())
def test_the_bound_holds_for_what_takes_other_weights(core_name: str, tmp_path: Path) -> None:
    interface = InterfaceOptions(weights=Weights.POINTER)
    options = Options("m", core=core_name, interface=interface)
    compilation = compile_model(digits(), "m.tflite", options)
    assert "m_set_weights" in compilation.manifest.costs.stack_bytes
    assert outside_bounds(compilation, core_name, tmp_path / "m", float("inf")) == []


@pytest.mark.arm
@pytest.mark.parametrize("core_name", ["cortex-m0plus", "cortex-m4"])
@pytest.mark.parametrize("kind", GRAPH_KINDS)
def test_the_bound_holds_for_layers_of_which_no_file_tells(
    kind: str, core_name: str, tmp_path: Path
) -> None:
    for number in (1, sample_count(kind) - 1):
        imported = graph(kind, [number])
        made = Prepared("m", "", imported, lower(imported), IrDump(None))
        compilation = compile_prepared(made, Options("m", core=core_name, goal=_GOALS[number % 4]))
        folder = tmp_path / f"{number}"
        assert outside_bounds(compilation, core_name, folder, float("inf")) == []


def test_a_loop_takes_its_own_frame_and_the_deepest_layer_inside() -> None:
    known = CoreStacks(
        "gcc", FrameStacks(0, 0, 0, 0, 0, 0, 0, 0, library=20),
        {
            "loop": {"l": KernelUse(KernelStack(8, 40))},
            "shallow": {"s": KernelUse(None, KernelStack(12, 24))},
            "deep": {"d": KernelUse(None, KernelStack(100, 0))},
        },
    )  # fmt: skip
    shallow, deep = KernelFunction("shallow", "s"), KernelFunction("deep", "d", naked_bytes=36)
    loop = KernelFunction("loop", "l", True, inside=(shallow,))
    assert kernel_stack(loop, known) == KernelStack(8 + 24 + 20, 40 + 24)
    both = KernelFunction("loop", "l", True, inside=(deep, shallow))
    assert kernel_stack(both, known) == KernelStack(8 + 24 + 136, 40 + 24)
    outer = KernelFunction("loop", "l", True, inside=(both,))
    assert kernel_stack(outer, known) == KernelStack(8 + 64 + 168, 40 + 64)
    unknown = KernelFunction("loop", "l", True, inside=(KernelFunction("plug-in", "p"),))
    assert kernel_stack(unknown, known) is None


def test_a_layer_inside_that_nobody_measured_is_named() -> None:
    compilation = branches_and_loops(0, "cortex-m4")
    known = core_stacks("cortex-m4", Goal.BALANCED)
    assert known is not None
    program, chosen = compilation.plan.program, compilation.selections
    body = layers(program, chosen, "m")
    inside = [item for found in functions(program, chosen, body, False) for item in found.inside]
    names = {item.variant for item in inside} - {run.kernel for run in program.runs}
    assert names
    kernels = {name: uses for name, uses in known.kernels.items() if name not in names}
    without = CoreStacks(known.compiler, known.frames, kernels)
    bounds = stack_bounds(program, chosen, body, without, ("run", "check"))
    assert bounds.entries == {}
    assert all(name in bounds.why for name in names)


@pytest.mark.parametrize("core_name", CORES)
def test_every_kernel_that_a_selection_can_return_was_measured(core_name: str) -> None:
    """After a kernel is added: a sample in `benchmarks`, `python -m benchmarks.stack_table`."""
    for goal in GOALS:
        known = core_stacks(core_name, goal)
        assert known is not None
        missing = acceptable(core_name).keys() - known.kernels.keys() - _UNMEASURED.keys()
        assert not missing, sorted(missing)


def test_samples_have_a_layer_for_every_kernel() -> None:
    everyone = {kernel.name for found in load_kernels().values() for kernel in found}
    sampled = set().union(*(acceptable(core_name) for core_name in (*CORES, "hazard3")))
    assert everyone - sampled - _UNMEASURED.keys() == set()
    assert _UNMEASURED.keys() <= everyone
