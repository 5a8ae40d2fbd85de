"""batch_matmul.dsp: both layouts of the second operand, odd sizes, batches, extreme zero points."""

from __future__ import annotations

import pytest

from glowmcu.compilation import Options
from glowmcu.goals import Goal
from glowmcu.ir.operation import Rounding
from glowmcu.pipeline import compile_model
from tests.ops.test_matmul import PRODUCTS, Product, product_model
from tests.support.forced_layers import ForcedLayers
from tests.support.forced_variant import check_forced, variants_of

NAME = "batch_matmul.dsp"
_SIZES = [(4, 4), (4, 5), (5, 7), (6, 8), (7, 9), (8, 6), (13, 11)]


def _sized(depth: int, columns: int, adj_y: bool) -> Product:
    y = (columns, depth) if adj_y else (depth, columns)
    return Product((3, depth), y, adj_y=adj_y, out_scale=1.5)


def _deep(depth: int) -> Product:
    """Sums of 255^2 * depth."""
    return Product((1, depth), (depth, 4), x_zero_point=-128, y_zero_point=127, out_scale=1000.0)


#: Left to the portable kernel: fewer than four columns or elements, a first operand that is
#: transposed, scales that shift to the left, sums too large for twice their value.
LEFT = {
    "three columns": Product((5, 8), (8, 3), out_scale=1.5),
    "three elements": Product((5, 3), (3, 8), out_scale=1.5),
    "rows that are columns": Product((8, 5), (8, 6), adj_x=True, out_scale=1.5),
    "a scale above 1": PRODUCTS["scale above 1"],
    "sums of 2^30": _deep(16513),
}
CASES = {
    **{
        f"{depth} deep, {columns} columns, {'along' if adj_y else 'across'}": _sized(
            depth, columns, adj_y
        )
        for depth, columns in _SIZES
        for adj_y in (False, True)
    },
    "queries by keys": Product((2, 17, 16), (2, 17, 16), adj_y=True, out_scale=1.5),
    "weights by values": Product((2, 17, 17), (2, 17, 16), x_zero_point=-128, out_scale=1.5),
    "a second zero point of 0": Product((2, 9, 8), (2, 8, 5), y_zero_point=0, out_scale=1.5),
    "broadcast": Product((2, 3, 5, 8), (3, 8, 6), out_scale=1.5),
    "the largest sums": Product(
        (2, 300), (300, 5), x_zero_point=-128, y_zero_point=127, out_scale=40.0
    ),
    "the largest sums, along": Product(
        (2, 301), (5, 301), adj_y=True, x_zero_point=127, y_zero_point=-128, out_scale=40.0
    ),
}
LAYERS = ForcedLayers(NAME, CASES, product_model, count=2)


@pytest.mark.arm
@pytest.mark.parametrize("name", CASES)
def test_every_product_is_computed_as_it_is_meant(name: str) -> None:
    LAYERS.check(name)


@pytest.mark.arm
@pytest.mark.parametrize("core", ["cortex-m7", "cortex-m33", "cortex-m55"])
def test_other_cores_with_the_instructions_compute_the_same(core: str) -> None:
    check_forced(product_model(CASES["weights by values"]), NAME, core)


@pytest.mark.parametrize("core", ["cortex-m4", "cortex-m7", "cortex-m33", "cortex-m55"])
@pytest.mark.parametrize("name", ["queries by keys", "weights by values"])
def test_attention_takes_it(core: str, name: str) -> None:
    options = Options("m", core=core)
    compilation = compile_model(product_model(CASES[name]), "m.tflite", options)
    assert variants_of(compilation) == {NAME}


def test_sums_below_2_to_the_30_are_taken() -> None:
    options = Options("m", core="cortex-m4", goal=Goal.SPEED)
    compilation = compile_model(product_model(_deep(16512)), "m.tflite", options)
    assert variants_of(compilation) == {NAME}


@pytest.mark.parametrize("name", LEFT)
def test_what_it_does_not_take_is_left_to_the_portable_kernel(name: str) -> None:
    options = Options("m", core="cortex-m4", goal=Goal.SPEED)
    compilation = compile_model(product_model(LEFT[name]), "m.tflite", options)
    assert variants_of(compilation) == {"batch_matmul.portable"}


def test_what_rounds_once_is_left_to_the_portable_kernel() -> None:
    options = Options("m", core="cortex-m4", goal=Goal.SPEED, rounding=Rounding.SINGLE)
    compilation = compile_model(product_model(CASES["queries by keys"]), "m.tflite", options)
    assert variants_of(compilation) == {"batch_matmul.portable"}


def test_cores_without_the_instructions_take_the_portable_one() -> None:
    options = Options("m", core="cortex-m0plus")
    compilation = compile_model(product_model(CASES["queries by keys"]), "m.tflite", options)
    assert variants_of(compilation) == {"batch_matmul.portable"}
