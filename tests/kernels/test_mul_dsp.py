"""mul.dsp: every pair of operands, tails of every length, any broadcasting."""

from __future__ import annotations

import pytest

from tests.kernels.test_linear_sum import SHAPES
from tests.ops.test_elementwise import ALL_PAIRS, NONE, RELU, RELU6, pair_model
from tests.support.forced_layers import ForcedLayers
from tests.support.forced_variant import check_forced, compile_forced, variants_of

NAME = "mul.dsp"
#: scales of a, b, out; zero points; activation.
NUMBERS = {
    "plain": ((0.5, 0.25, 0.6), (3, -7, 5), NONE),
    "ties away from zero": ((0.5, 0.25, 0.5), (0, 0, 0), NONE),
    "zero points at both ends": ((0.031, 0.047, 0.3), (-128, 127, 0), NONE),
    "both at the lower end": ((0.021, 0.047, 0.7), (-128, -128, -128), RELU),
    "both at the upper end": ((0.021, 0.047, 0.7), (127, 127, 127), NONE),
    "nearly everything saturates": ((0.9, 0.8, 1.5), (3, 4, -1), NONE),
    "nothing is left": ((0.001, 0.002, 1.5), (3, 4, -1), NONE),
    "the smallest shift": ((0.9, 0.5, 0.91), (0, 0, 0), NONE),
    "the largest shift": ((0.0005, 0.0005, 1.01), (0, 0, 100), NONE),
}
REFUSED = {
    "factor above 1": ((3.1, 7.3, 11.9), (-128, 127, 0), NONE),
    "factor below 2^-31": ((1e-6, 1e-6, 100.0), (0, 0, 9), NONE),
    "a clamp inside int8": ((0.031, 0.047, 0.0252), (0, 0, -20), RELU6),
}
Numbers = tuple[tuple[float, ...], tuple[int, ...], int]


def all_pairs_model(case: Numbers) -> bytes:
    return pair_model("MUL", [(256, 1), (1, 256)], "int8", *case)


def product_model(shapes: tuple[tuple[int, ...], ...]) -> bytes:
    return pair_model("MUL", list(shapes))


PAIR_LAYERS = ForcedLayers(NAME, NUMBERS, all_pairs_model, inputs=ALL_PAIRS)
SHAPE_LAYERS = ForcedLayers(NAME, SHAPES, product_model)


@pytest.mark.parametrize("name", NUMBERS)
def test_every_pair(name: str) -> None:
    PAIR_LAYERS.check(name)


@pytest.mark.parametrize("case", REFUSED.values(), ids=REFUSED)
def test_what_the_form_cannot_say_stays_with_the_literal_kernel(case: Numbers) -> None:
    data = pair_model("MUL", [(1, 8), (1, 8)], "int8", *case)
    assert NAME not in variants_of(compile_forced(data, NAME, "cortex-m4"))


@pytest.mark.parametrize("name", SHAPES)
def test_every_shape(name: str) -> None:
    SHAPE_LAYERS.check(name)


@pytest.mark.parametrize("core", ["cortex-m7", "cortex-m33"])
def test_other_cores(core: str) -> None:
    check_forced(pair_model("MUL", [(1, 53), (1, 53)]), NAME, core)


def test_the_result_takes_the_place_of_an_operand() -> None:
    data = pair_model("MUL", [(1, 40), (1, 40)])
    assert compile_forced(data, NAME, "cortex-m4").manifest.arena_bytes == 2 * 40
    check_forced(data, NAME)
