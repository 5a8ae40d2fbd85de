"""Plans of real models, and models whose memory is out of the ordinary, down to the C."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from glowmcu.compilation import Compilation, Options
from glowmcu.frontend.tflite.writer import ModelBuilder
from glowmcu.goals import Goal
from glowmcu.ir.interpreter import run_graph
from glowmcu.memplan.execute import execute_program
from glowmcu.pipeline import compile_model
from tests.support.check_model import check_model, random_inputs

MODELS = Path(__file__).resolve().parents[3] / "shared" / "models"
#: Most bytes of the arena on a Cortex-M4, scratch included, by goal.
ARENAS = {
    Goal.RAM: {"kws": 5_300, "vww": 28_500, "ic": 14_900, "ad": 800, "sww": 3_600},
    Goal.BALANCED: {"kws": 10_800, "vww": 41_000, "ic": 38_200, "ad": 2_100, "sww": 5_000},
}
#: Of `ram`, by the kernels' own estimates, against `balanced`.
MOST_SLOWDOWN = {"kws": 1.3, "vww": 1.3, "ic": 1.4, "ad": 1.1, "sww": 1.3}


def compiled(name: str, goal: Goal) -> Compilation:
    path = MODELS / f"{name}_int8.tflite"
    return compile_model(path.read_bytes(), path.name, Options("m", core="cortex-m4", goal=goal))


@pytest.mark.parametrize("name", MOST_SLOWDOWN)
def test_a_real_model_keeps_to_its_arena_and_runs_in_it(name: str) -> None:
    cycles = {}
    for goal, most in ARENAS.items():
        compilation = compiled(name, goal)
        plan, graph = compilation.plan, compilation.graph
        assert compilation.manifest.arena_bytes <= most[name]
        assert plan.order_proved
        cycles[goal] = compilation.estimated_cycles
        (arrays, *_) = random_inputs(compilation, 1)
        got = execute_program(plan.program, graph, arrays, plan.arena_bytes)
        for index, want in enumerate(run_graph(graph, arrays)):
            np.testing.assert_array_equal(got[index], want)
    assert cycles[Goal.RAM] <= MOST_SLOWDOWN[name] * cycles[Goal.BALANCED]


def test_outputs_that_are_inputs_constants_or_given_twice_are_right_in_c() -> None:
    model = ModelBuilder()
    x = model.input("x", (1, 6), "int8", 0.5, -3)
    fixed = model.constant("fixed", np.arange(6, dtype=np.int8).reshape(1, 6), 0.5, -3)
    y = model.tensor("y", (1, 6), "int8", 0.5, -3)
    model.op("MAXIMUM", [x, fixed], [y])
    column = model.tensor("column", (6, 1), "int8", 0.5, -3)
    model.op("RESHAPE", [fixed], [column], {"new_shape": [6, 1]})
    for tensor in (x, y, y, column):
        model.output(tensor)
    check_model(model.finish())


def test_parts_of_a_concatenation_are_written_in_place_in_c() -> None:
    model = ModelBuilder()
    x = model.input("x", (8, 3), "int8", 0.5, -3)
    rows = [model.tensor(f"rows{i}", (4, 3), "int8", 0.5, -3) for i in range(2)]
    tiled = [model.tensor(f"tiled{i}", (4, 6), "int8", 0.5, -3) for i in range(2)]
    axis = model.constant("axis", np.array(0, np.int32))
    counts = model.constant("counts", np.array([1, 2], np.int32))
    model.op("SPLIT", [axis, x], rows, {"num_splits": 2})
    for before, after in zip(rows, tiled, strict=True):
        model.op("TILE", [before, counts], [after])
    joined = model.tensor("joined", (8, 6), "int8", 0.5, -3)
    model.op("CONCATENATION", tiled, [joined], {"axis": 0})
    model.output(joined)
    plan = check_model(model.finish()).plan
    assert [run.node.op.name for run in plan.program.runs] == ["tile", "tile"]
    assert plan.arena_bytes == 24 + 48


def test_a_function_of_each_half_overwrites_the_half_in_c() -> None:
    model = ModelBuilder()
    x = model.input("x", (8, 3), "int8", 0.5, -3)
    halves = [model.tensor(f"half{i}", (4, 3), "int8", 0.5, -3) for i in range(2)]
    axis = model.constant("axis", np.array(0, np.int32))
    model.op("SPLIT", [axis, x], halves, {"num_splits": 2})
    for index, half in enumerate(halves):
        out = model.tensor(f"out{index}", (4, 3), "int8", 1 / 256, -128)
        model.op("LOGISTIC", [half], [out])
        model.output(out)
    assert check_model(model.finish()).plan.arena_bytes == 24
