"""conv_2d.straight_dsp: every way to widen a depth, all forms, C and assembly."""

from __future__ import annotations

from dataclasses import replace

import pytest

from glowmcu.ir.kernel_code import KernelCode
from tests.kernels.test_pointwise_dsp import NUMBERS, layer
from tests.ops.test_convolution import Case, conv_model
from tests.support.forced_layers import ForcedLayers
from tests.support.forced_variant import compile_forced, variants_of

NAME = "conv_2d.straight_dsp"
CASES = {
    **{f"{depth} inputs": layer((1, 1, 5, depth), 9) for depth in (1, 2, 3, 4, 6, 7, 8, 9, 15)},
    **{f"{depth} inputs": layer((1, 1, 2, depth), 4) for depth in (16, 23, 24, 25, 29, 32, 44)},
    **{f"{depth} inputs": layer((1, 3, 3, depth), 6) for depth in (62, 63, 64, 65, 127, 128)},
    "one pixel": layer((1, 1, 1, 12), 5),
    "stride 2, two batches": layer((2, 5, 6, 11), 6, (2, 2)),
    "wide, floor": NUMBERS["weights all -128, output zero point -128"],
    "wide, two-sided": NUMBERS["weights all -128"],
    "wide, most inputs": replace(layer((1, 1, 3, 128), 5), weights=-128, out_scale=20.0),
    "floor": NUMBERS["output zero point -128"],
    "relu6": NUMBERS["relu6"],
}


def conv(case: Case) -> bytes:
    return conv_model("CONV_2D", case)


LAYERS = ForcedLayers(NAME, CASES, conv, count=2)


@pytest.mark.arm
@pytest.mark.parametrize("name", CASES)
def test_every_layer_is_computed_as_it_is_meant(name: str) -> None:
    LAYERS.check(name)


def test_deeper_layers_are_left_to_loops() -> None:
    data = conv_model("CONV_2D", layer((1, 1, 2, 129), 4))
    assert NAME not in variants_of(compile_forced(data, NAME, "cortex-m4"))


def code_of(case: Case, variant: str = NAME) -> KernelCode:
    selections = compile_forced(conv_model("CONV_2D", case), variant, "cortex-m4").selections
    (selection,) = selections.values()
    return selection.code


def test_each_depth_has_a_function_and_shares_it() -> None:
    cases = (layer((1, 1, 4, 8), 4), layer((1, 3, 3, 8), 9), layer((1, 1, 4, 9), 4))
    first, same_depth, other = (code_of(case).function for case in cases)
    assert first == same_depth != other


def test_it_reads_the_constants_of_the_kernel_with_a_loop() -> None:
    case = CASES["29 inputs"]
    straight, looped = (code_of(case, name) for name in (NAME, "conv_2d.pointwise_dsp"))
    assert straight.function != looped.function
    assert straight.constants[0].data.tobytes() == looped.constants[0].data.tobytes()
