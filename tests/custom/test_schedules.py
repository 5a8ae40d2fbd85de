"""Loops of definitions: what decorators ask for, what is chosen without, and that bits stay."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from glowmcu.compilation import Options
from glowmcu.custom_c import read_custom
from glowmcu.emit_c.write_bundle import write_bundle
from glowmcu.frontend.tflite.writer import ModelBuilder
from glowmcu.index_notation import DefinitionError, read_definition
from glowmcu.index_notation.c_code import body
from glowmcu.index_notation.meaning import results
from glowmcu.index_notation.schedule import LoopPlan, loop_plan, pieces
from glowmcu.input_options import InputOptions
from glowmcu.pipeline import compile_model
from glowmcu.verify.modelled import modelled_core
from glowmcu.verify.verification import seeded_inputs
from tests.custom.test_definitions import computed_in_c, operands, planned

CONVOLUTION = """
def conv(x: "float32[B, T, C]", w: "float32[O, K, C]") -> "y: float32[B, T - K + 1, O]":
    for t in range(T - K + 1):
        y[b, t, o] += w[o, k, c] * x[b, t + k, c]
    y[b, t, o] = max(y[b, t, o], 0.0)
"""
SHAPES = (((2, 9, 3), "float32"), ((5, 3, 3), "float32"))
#: In the first no value of an element is added in another order than the definition's.
SAME_ORDER = {
    "as it stands": '@tile("y", o=1)',
    "by cost": "",
    "a tile with a rest": '@tile("y", o=4)',
    "a tile of two indices": '@tile("y", t=3, o=2)',
    "a tile of all": '@tile("y", b=2, t=7, o=4)',
    "turns of several": '@unroll("y", c=2)',
    "all of it": '@tile("y", o=2)\n@unroll("y", k=3, c=3)',
    "another order": '@reorder("y", "o", "t", "b")',
    "another order, tiled": '@reorder("y", "t", "o", "b")\n@tile("y", t=2)',
}
OTHER_ORDER = {"sums in another order": '@reorder("y", "o", "c", "k")\n@unroll("y", k=2)'}


def scheduled(decorators: str, text: str = CONVOLUTION) -> str:
    return f"\n{decorators}{text}"


def test_results_have_the_same_bits_in_every_order_of_loops(tmp_path: Path) -> None:
    plans = {name: planned(scheduled(given), SHAPES) for name, given in SAME_ORDER.items()}
    inputs = operands(plans["by cost"], 1)
    codes = {"\n".join(body(plan)) for plan in plans.values()}
    assert len(codes) == len(plans)
    (plain,) = computed_in_c(plans["as it stands"], inputs, tmp_path)
    assert np.allclose(plain, results(plans["as it stands"], inputs)[0], rtol=2e-5, atol=1e-6)
    for name, plan in plans.items():
        assert np.array_equal(computed_in_c(plan, inputs, tmp_path)[0], plain), name


@pytest.mark.parametrize("given", OTHER_ORDER.values(), ids=OTHER_ORDER)
def test_sums_in_another_order_are_close(given: str, tmp_path: Path) -> None:
    plan = planned(scheduled(given), SHAPES)
    inputs = operands(plan, 1)
    wanted = results(plan, inputs)[0]
    assert np.allclose(computed_in_c(plan, inputs, tmp_path)[0], wanted, rtol=2e-5, atol=1e-6)


def test_integers_and_extremes_have_the_same_bits_too(tmp_path: Path) -> None:
    text = """
def f(x: "int32[B, I]", w: "int32[O, I]") -> "y: int32[B, O], z: int32[B], p: int32[O]":
    y[b, o] += w[o, i] * x[b, i]
    z[b] = max(x[b, i] - w[0, i])
    p[o] *= w[o, i]
"""
    inputs = None
    for given in ("", '@tile("y", b=3, o=2)\n@unroll("z", i=4)\n@tile("p", o=3)'):
        plan = planned(scheduled(given, text), (((4, 7), "int32"), ((5, 7), "int32")))
        inputs = inputs or operands(plan, 2)
        pairs = zip(results(plan, inputs), computed_in_c(plan, inputs, tmp_path), strict=True)
        assert all(np.array_equal(wanted, got) for wanted, got in pairs)


def test_what_is_made_of_itself_in_a_loop_that_it_does_not_tell_apart_is_refused() -> None:
    text = """
def f(x: "int32[N]") -> "y: int32[N]":
    y[n] = x[n]
    for m in range(3):
        y[n] = y[n] + y[n]
"""
    with pytest.raises(DefinitionError, match="y is made of itself in a loop over m") as caught:
        planned(text, (((4,), "int32"),))
    assert caught.value.line == 5


@pytest.mark.parametrize(
    ("size", "lanes", "wanted"),
    [(8, 4, ((0, 8, 4),)), (9, 4, ((0, 8, 4), (8, 9, 1))), (3, 4, ((0, 3, 1),)),
     (5, 1, ((0, 5, 1),))],
)  # fmt: skip
def test_an_index_goes_all_the_way(
    size: int, lanes: int, wanted: tuple[tuple[int, int, int], ...]
) -> None:
    assert pieces(size, lanes) == wanted
    assert [i for begin, end, step in wanted for i in range(begin, end, step)][-1] < size


def test_what_is_read_once_for_several_is_chosen() -> None:
    """One sample has no other to share weights with; sums by calls gain nothing."""
    text = 'def f(x: "float32[B, I]", w: "float32[O, I]") -> "y: float32[B, O]":\n'
    text += "    y[b, o] += w[o, i] * x[b, i]\n"
    for shape, fast, wanted in (
        (1, True, LoopPlan(("b", "o"), ("i",), {"o": 8})),
        (16, True, LoopPlan(("o", "b"), ("i",), {"b": 8})),
        (16, False, LoopPlan(("b", "o"), ("i",))),
    ):
        plan = planned(text, (((shape, 9), "float32"), ((16, 9), "float32")))
        assert loop_plan(plan, plan.spaces[0], fast) == wanted
    plan = planned(text, (((16, 9), "float32"), ((1, 9), "float32")))
    assert loop_plan(plan, plan.spaces[0], True) == LoopPlan(("o", "b"), ("i",), {"b": 8})


WRONG = {
    "another word": ('@vectorize("y", o=4)', r'vectorize.*expected @tile\("y", o=4\)'),
    "no call": ("@tile", "'tile'; expected"),
    "no target": ("@tile(o=4)", "expected"),
    "no count": ('@tile("y", o="4")', "expected"),
    "no index": ('@tile("y")', "expected"),
    "an order with a count": ('@reorder("y", "o", b=2)', "expected"),
    "another target": ('@tile("z", o=4)', "a schedule of z, which no statement has as its target"),
    "a loop that is not there": ('@unroll("y", q=2)', "@unroll: y has no loop over q"),
    "a tile of a sum": ('@tile("y", c=2)', "c is no index of y; @unroll takes indices that are re"),
    "turns of the target": ('@unroll("y", o=2)', "y is not reduced over o; @tile takes"),
    "too many": ('@tile("y", o=9)', "@tile: o = 9; 1 to 8 are taken"),
    "none": ('@tile("y", o=0)', "@tile: o = 0; 1 to 8 are taken"),
    "a tensor": ('@unroll("y", x=2)', "@unroll: y has no loop over x"),
    "a size": ('@unroll("y", T=2)', "@unroll: y has no loop over T"),
    "a function": ('@unroll("y", max=2)', "@unroll: y has no loop over max"),
    "many at once": ('@tile("y", b=4, t=8, o=8)', "256 values of y at once; 64 are taken"),
    "many in a turn": ('@tile("y", t=8, o=4)\n@unroll("y", c=3)', "96 values of y at once"),
    "a sum outside": ('@reorder("y", "c", "o")', "loops that y is reduced over stay inside"),
    "an order without a loop": ('@reorder("y", "o", "q")', "@reorder: y has no loop over q"),
}


@pytest.mark.parametrize("case", WRONG.values(), ids=WRONG)
def test_a_schedule_that_cannot_be_is_refused(case: tuple[str, str]) -> None:
    given, said = case
    with pytest.raises(DefinitionError, match=said):
        read_definition(scheduled(given))


def cycles(decorators: str, folder: Path, core_name: str) -> tuple[int, float]:
    """What one layer takes on the modelled core, and the estimate for it."""
    builder = ModelBuilder()
    x = builder.input("x", (1, 18, 16), "float32")
    draw = np.random.default_rng(1).normal(size=(16, 3, 16)).astype(np.float32)
    w, y = builder.constant("w", draw), builder.tensor("y", (1, 16, 16), "float32")
    builder.custom_op("Conv", [x, w], [y])
    builder.output(y)
    (folder / "conv.py").write_text(scheduled(decorators))
    inputs = InputOptions(custom=read_custom({"Conv": folder / "conv.py"}))
    options = Options("m", core=core_name, inputs=inputs)
    compilation = compile_model(builder.finish(), "m.tflite", options)
    write_bundle(compilation.files, folder / "m", "m")
    (done,) = modelled_core(core_name).run(
        folder / "m", [seeded_inputs(compilation.manifest, 1)]
    )  # fmt: skip
    (chosen,) = compilation.selections.values()
    assert done.cycles is not None
    return done.cycles, chosen.cost.cycles


@pytest.mark.arm
@pytest.mark.parametrize(
    ("core_name", "most"), [("cortex-m4", 6.0), ("cortex-m0plus", 300.0)], ids=str
)
def test_loops_by_cost_take_no_more_cycles_than_others(
    core_name: str, most: float, tmp_path: Path
) -> None:
    found, estimated = cycles("", tmp_path, core_name)
    assert found < most * 16 * 16 * 16 * 3
    assert 0.7 * found < estimated < 1.4 * found
    for given in ('@tile("y", o=1)', '@tile("y", t=4)', '@tile("y", o=2)'):
        assert found <= 1.02 * cycles(given, tmp_path, core_name)[0], given
