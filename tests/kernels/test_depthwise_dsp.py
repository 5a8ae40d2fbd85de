"""depthwise_conv_2d.lines_dsp, .strip_dsp, .taps_dsp: edges of their loops, all epilogues."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from glowmcu.compilation import Compilation, Options
from glowmcu.cores import core
from glowmcu.goals import Goal
from glowmcu.ir.interpreter import run_graph
from glowmcu.kernels.dsp.depthwise import strip as strip_variant
from glowmcu.kernels.kernel import Target, load_kernels, site_of
from glowmcu.kernels.requantization.forms import FormKind
from glowmcu.kernels.selection.choices import KernelChoices
from glowmcu.ops.convolution import DepthwiseConv2D
from glowmcu.pipeline import compile_model
from glowmcu.verify.cortex_m.executor import CortexM
from glowmcu.verify.host import Host
from tests.ops.test_convolution import Case, conv_model
from tests.support.check_model import expect_equal, random_inputs, write_bundle
from tests.support.forced_layers import ForcedLayers
from tests.support.forced_variant import check_forced, compile_forced

LINES, TAPS = "depthwise_conv_2d.lines_dsp", "depthwise_conv_2d.taps_dsp"
STEP = "depthwise_conv_2d.lines_step_dsp"
STRIP = "depthwise_conv_2d.strip_dsp"
ALL = {LINES, STRIP, TAPS}


def square(size: int, channels: int = 4, stride: int = 1) -> Case:
    shape = (1, size, size, channels)
    return Case(shape, channels, (3, 3), (stride, stride), padding="SAME", out_scale=2.0)


LINE_CASES = {
    **{f"{size}x{size}": square(size) for size in (1, 2, 3, 4, 7, 8, 9, 16, 17)},
    **{f"{size}x{size}, stride 2": square(size, 4, 2) for size in (1, 2, 3, 7, 8, 9, 16, 17)},
    **{f"{channels} channels": square(5, channels) for channels in (5, 7, 8, 13)},
    "columns longer than rows": Case((1, 25, 5, 8), 8, (3, 3), padding="SAME", out_scale=2.0),
    "columns, stride 2": Case((1, 13, 5, 6), 6, (3, 3), (2, 2), padding="SAME", out_scale=2.0),
    "one row": Case((1, 1, 19, 4), 4, (3, 3), padding="SAME", out_scale=2.0),
    "one column": Case((1, 19, 1, 4), 4, (3, 3), padding="SAME", out_scale=2.0),
    "no padding": Case((1, 9, 11, 4), 4, (3, 3), out_scale=2.0),
    "no padding, stride 2, even": Case((1, 8, 10, 4), 4, (3, 3), (2, 2), out_scale=2.0),
    "strides 1 and 2": Case((1, 9, 12, 4), 4, (3, 3), (1, 2), padding="SAME", out_scale=2.0),
    "strides 3 and 1": Case((1, 20, 9, 4), 4, (3, 3), (3, 1), padding="SAME", out_scale=2.0),
    "strides 7 and 2": Case((1, 20, 9, 4), 4, (3, 3), (7, 2), padding="SAME", out_scale=2.0),
    "batch of two": Case((2, 5, 6, 5), 5, (3, 3), padding="SAME", out_scale=2.0),
}
STRIP_CASES = {
    **{
        f"{taps} taps, {outputs} outputs": Case(
            (1, taps + outputs - 1, 1, 4), 4, (taps, 1), out_scale=2.0
        )
        for taps, numbers in {
            2: (1, 2, 3, 4, 5, 11),
            3: (1, 2, 3, 4, 5, 11),
            4: (1, 3, 4, 5, 6, 7, 17),
            5: (1, 3, 4, 5, 6, 7, 17),
            6: (1, 2, 3, 4, 5, 6, 7, 17),
            7: (1, 2, 3, 4, 5, 6, 7, 17),
            64: (3, 7),
        }.items()
        for outputs in numbers
    },
    "1x3, same padding": Case((1, 1, 9, 5), 5, (1, 3), padding="SAME", out_scale=2.0),
    "1x4, same padding, thirteen rows": Case(
        (1, 13, 10, 7), 7, (1, 4), padding="SAME", out_scale=2.0
    ),
    "9x1, same padding, five columns": Case((1, 4, 5, 8), 8, (9, 1), padding="SAME", out_scale=2.0),
    "5x1, columns two apart": Case((1, 9, 7, 4), 4, (5, 1), (1, 2), out_scale=2.0),
    "1x3, rows three apart, same padding": Case(
        (1, 9, 7, 6), 6, (1, 3), (3, 1), padding="SAME", out_scale=2.0
    ),
    "3x1, positions too far apart to read": Case((1, 9, 150, 5), 5, (3, 1), out_scale=2.0),
    "3x1, positions too far apart to write": Case((1, 9, 250, 5), 5, (3, 1), out_scale=2.0),
    "6x1, positions too far apart to write": Case((1, 9, 250, 5), 5, (6, 1), out_scale=2.0),
    "1x3, batch of two": Case((2, 2, 6, 4), 4, (1, 3), out_scale=2.0),
    "1x3, same padding, batch of two": Case((2, 2, 6, 5), 5, (1, 3), padding="SAME", out_scale=2.0),
}
TAP_CASES = {
    "3x1": Case((1, 9, 1, 8), 8, (3, 1), out_scale=2.0),
    "1x4, same padding": Case((1, 1, 9, 5), 5, (1, 4), padding="SAME", out_scale=2.0),
    "15x1, one output": Case((1, 15, 1, 7), 7, (15, 1), out_scale=2.0),
    "5x5": Case((1, 6, 7, 4), 4, (5, 5), padding="SAME", out_scale=2.0),
    "3x2, dilations 2 and 3": Case(
        (1, 9, 9, 4), 4, (3, 2), dilations=(2, 3), padding="SAME", out_scale=2.0
    ),
    "strides 3 and 2": Case((1, 10, 9, 6), 6, (4, 3), (3, 2), padding="SAME", out_scale=2.0),
    "one pixel": Case((1, 1, 1, 4), 4, (1, 1), out_scale=2.0),
    "one channel": Case((1, 4, 5, 1), 1, (3, 3), padding="SAME", out_scale=2.0),
    "three channels": Case((1, 4, 5, 3), 3, (3, 3), padding="SAME", out_scale=2.0),
    "two channels to sixteen": Case((1, 6, 5, 2), 16, (4, 3), padding="SAME", out_scale=2.0),
    "three channels to six": Case((1, 4, 5, 3), 6, (3, 3), out_scale=2.0),
    "five channels to fifteen": Case((1, 4, 5, 5), 15, (2, 2), padding="SAME", out_scale=2.0),
    "batch of two": Case((2, 4, 5, 5), 5, (2, 2), padding="SAME", out_scale=2.0),
}
BASE = Case((1, 6, 7, 6), 6, (3, 3), padding="SAME", out_scale=2.0)
NUMBER_CASES = {
    "floor": replace(BASE, out_zero_point=-128),
    "floor, narrow clamp": replace(BASE, out_zero_point=-128, activation="RELU6", out_scale=0.06),
    "literal": replace(BASE, out_zero_point=5),
    "literal, narrow clamp": replace(BASE, activation="RELU"),
    "literal, stride 2": replace(BASE, strides=(2, 2)),
    "input zero point 127": replace(BASE, zero_point=127),
    "input zero point -128": replace(BASE, zero_point=-128),
    "weights all -128": replace(BASE, weights=-128, out_scale=9.0),
    "weights all 127": replace(BASE, weights=127, out_scale=9.0),
    "weights all 0": replace(BASE, weights=0),
    "outputs that saturate": replace(BASE, out_scale=0.01),
    "outputs that vanish": replace(BASE, out_scale=500.0),
    "large biases": replace(BASE, scale=1e-5, out_scale=1e-4),
}


def depthwise(case: Case) -> bytes:
    return conv_model("DEPTHWISE_CONV_2D", case)


def strip(case: Case, taps: int = 5) -> Case:
    return replace(case, kernel=(1, taps), strides=(case.strides[0], 1))


SHAPE_LAYERS = {
    LINES: ForcedLayers(LINES, LINE_CASES, depthwise),
    STEP: ForcedLayers(STEP, LINE_CASES, depthwise),
    STRIP: ForcedLayers(STRIP, STRIP_CASES, depthwise),
    TAPS: ForcedLayers(TAPS, TAP_CASES, depthwise),
}
#: By how weights are kept: in registers, with one of them in memory, all in memory.
STRIP_NUMBERS = {
    f"{STRIP}, {taps} taps": {name: strip(case, taps) for name, case in NUMBER_CASES.items()}
    for taps in (4, 5, 6, 7)
}
NUMBER_LAYERS = {
    **{name: ForcedLayers(name, NUMBER_CASES, depthwise) for name in (LINES, STEP, TAPS)},
    **{name: ForcedLayers(STRIP, cases, depthwise) for name, cases in STRIP_NUMBERS.items()},
}


@pytest.mark.arm
@pytest.mark.parametrize("variant", [LINES, STEP])
@pytest.mark.parametrize("name", LINE_CASES)
def test_lines_compute_what_the_layer_means(name: str, variant: str) -> None:
    SHAPE_LAYERS[variant].check(name)


@pytest.mark.parametrize(("shape", "taken"), [((1, 49, 3, 170), True), ((1, 49, 3, 171), False)])
def test_steps_too_long_for_an_offset_are_not_built_in(
    shape: tuple[int, int, int, int], taken: bool
) -> None:
    case = Case(shape, shape[3], (3, 3), padding="SAME", out_scale=2.0)
    assert (STEP in accepted(case, "cortex-m4")) is taken


@pytest.mark.arm
@pytest.mark.parametrize("name", STRIP_CASES)
def test_strips_compute_what_the_layer_means(name: str) -> None:
    SHAPE_LAYERS[STRIP].check(name)


@pytest.mark.parametrize(
    ("case", "taken"),
    [
        (Case((1, 70, 1, 4), 4, (64, 1)), True),
        (Case((1, 70, 1, 4), 4, (65, 1)), False),
        (Case((1, 3, 819, 5), 5, (3, 1)), True),
        (Case((1, 3, 820, 5), 5, (3, 1)), False),
    ],
    ids=["64 taps", "65 taps", "4095 bytes", "4100 bytes"],
)
def test_strips_that_are_too_long_are_left_to_taps(case: Case, taken: bool) -> None:
    assert (STRIP in accepted(replace(case, out_scale=2.0), "cortex-m4")) is taken


@pytest.mark.arm
@pytest.mark.parametrize("taps", [4, 5, 7])
@pytest.mark.parametrize("name", ["literal", "literal, narrow clamp", "weights all 0"])
def test_strips_for_which_no_line_is_proved_are_exact(
    name: str, taps: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(strip_variant, "KINDS", (FormKind.LITERAL,))
    check_forced(depthwise(strip(NUMBER_CASES[name], taps)), STRIP)


@pytest.mark.arm
@pytest.mark.parametrize("name", TAP_CASES)
def test_taps_compute_what_the_layer_means(name: str) -> None:
    SHAPE_LAYERS[TAPS].check(name)


@pytest.mark.arm
@pytest.mark.parametrize("variant", [LINES, STEP, TAPS])
@pytest.mark.parametrize("name", NUMBER_CASES)
def test_all_numbers_come_out_exactly(name: str, variant: str) -> None:
    NUMBER_LAYERS[variant].check(name)


@pytest.mark.arm
@pytest.mark.parametrize("taps", STRIP_NUMBERS)
@pytest.mark.parametrize("name", NUMBER_CASES)
def test_all_numbers_come_out_of_strips_exactly(name: str, taps: str) -> None:
    NUMBER_LAYERS[taps].check(name)


#: Of functions, the facts about requantization that their cases must reach.
EPILOGUES = {
    f"{form}{clamped}"
    for form in ("floor requantization, preshift 8, shift 11", "literal requantization")
    for clamped in ("", ", clamped")
}


def epilogue(function: str) -> str:
    """What a function is known by of its requantization."""
    facts = function.split(", ")
    first = next(at for at, fact in enumerate(facts) if fact.endswith(" requantization"))
    return ", ".join(facts[first:]).rpartition(": ")[2]


def functions(variant: str) -> set[str]:
    found = set()
    for case in NUMBER_CASES.values():
        done = compile_forced(conv_model("DEPTHWISE_CONV_2D", case), variant, "cortex-m4")
        found |= {selection.code.function for selection in done.selections.values()}
    return found


@pytest.mark.parametrize("variant", [LINES, TAPS])
def test_the_cases_reach_every_epilogue(variant: str) -> None:
    names = {epilogue(name) for name in functions(variant)}
    assert names >= EPILOGUES, names


def accepted(case: Case, core_name: str) -> set[str]:
    data = conv_model("DEPTHWISE_CONV_2D", case)
    graph = compile_model(data, "m.tflite", Options("m", simplify=False)).graph
    (node,) = (node for node in graph.nodes if isinstance(node.op, DepthwiseConv2D))
    site, target = site_of(graph, node), Target(core(core_name))
    return {k.name for k in load_kernels()[DepthwiseConv2D] if k.accepts(site, target)}


def test_cores_without_the_instructions_are_not_served() -> None:
    for case in (BASE, strip(BASE)):
        assert not accepted(case, "cortex-m3") & ALL
    assert accepted(BASE, "cortex-m33") >= {LINES, TAPS}
    assert accepted(strip(BASE), "cortex-m33") >= {STRIP, TAPS}


@pytest.mark.parametrize(
    "case",
    [
        replace(BASE, kernel=(3, 2)),
        replace(BASE, dilations=(1, 2)),
        replace(BASE, depth_out=12),
        Case((1, 6, 7, 3), 3, (3, 3)),
        replace(BASE, strides=(3, 3)),
    ],
    ids=["3x2", "dilation", "multiplier 2", "three channels", "stride 3"],
)
def test_lines_leave_other_windows_to_taps(case: Case) -> None:
    assert accepted(case, "cortex-m4") & ALL == {TAPS}


def test_scales_near_one_have_no_form_for_these_loops() -> None:
    case = replace(BASE, scale=0.1, weights_scale=0.02, out_scale=0.003)
    assert not accepted(case, "cortex-m4") & ALL


PARTS = {
    "rows of 41": Case((1, 4, 41, 5), 5, (3, 3), padding="SAME", out_scale=2.0),
    "columns of 27, stride 2": Case(
        (1, 27, 3, 4), 4, (3, 3), (2, 2), padding="SAME", out_scale=2.0
    ),
    "no padding": Case((1, 30, 3, 4), 4, (3, 3), out_scale=2.0),
}


@pytest.mark.arm
@pytest.mark.parametrize("case", PARTS.values(), ids=PARTS)
def test_lines_in_parts_give_the_same_from_less_scratch(case: Case, tmp_path: Path) -> None:
    def compiled(goal: Goal) -> Compilation:
        choices = KernelChoices(forced_variant=LINES)
        options = Options("m", core="cortex-m4", goal=goal, kernels=choices, simplify=False)
        return compile_model(conv_model("DEPTHWISE_CONV_2D", case), "m.tflite", options)

    done = compiled(Goal.RAM)
    (small,) = (selection.scratch_bytes for selection in done.selections.values())
    (large,) = (selection.scratch_bytes for selection in compiled(Goal.SPEED).selections.values())
    assert small < large
    inputs = random_inputs(done, 2)
    folder = write_bundle(done, tmp_path)
    for executor in (Host(("-O1",)), CortexM("cortex-m4", count=False)):
        for arrays, result in zip(inputs, executor.run(folder, inputs), strict=True):
            expect_equal(np.asarray(result.outputs[0]), run_graph(done.imported, arrays)[0], "C")
