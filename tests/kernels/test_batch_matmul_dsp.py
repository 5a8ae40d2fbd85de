"""batch_matmul.dsp: both layouts of both operands, odd sizes, batches, the ends of zero points."""

from __future__ import annotations

import pytest

from glowmcu.compilation import Options
from glowmcu.goals import Goal
from glowmcu.pipeline import compile_model
from tests.ops.test_matmul import PRODUCTS, Product, product_model
from tests.support.forced_layers import ForcedLayers
from tests.support.forced_variant import check_forced, variants_of

NAME = "batch_matmul.dsp"
_SIZES = [(1, 1), (2, 3), (3, 4), (4, 5), (5, 7), (6, 8), (7, 9), (8, 6), (13, 11)]
_LAYOUTS = [(False, False), (False, True), (True, False), (True, True)]


def _sized(rows: int, depth: int, columns: int, adj_x: bool, adj_y: bool) -> Product:
    x = (depth, rows) if adj_x else (rows, depth)
    y = (columns, depth) if adj_y else (depth, columns)
    return Product(x, y, adj_x, adj_y, out_scale=1.5)


#: Their scales shift to the left.
LEFT = ("scale above 1",)
CASES = {
    **{name: case for name, case in PRODUCTS.items() if name not in LEFT},
    **{
        f"{depth} deep, {columns} columns, {adj_x} {adj_y}": _sized(3, depth, columns, adj_x, adj_y)
        for depth, columns in (
            (1, 1),
            (2, 3),
            (3, 4),
            (4, 5),
            (5, 7),
            (6, 8),
            (7, 9),
            (8, 6),
            (13, 11),
        )
        for adj_x, adj_y in _LAYOUTS
    },
    "queries by keys": Product((2, 17, 16), (2, 17, 16), adj_y=True, out_scale=1.5),
    "weights by values": Product((2, 17, 17), (2, 17, 16), x_zero_point=-128, out_scale=1.5),
    "the largest sums": Product(
        (2, 300), (300, 5), x_zero_point=-128, y_zero_point=127, out_scale=40.0
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
def test_attention_takes_it_where_it_may_widen(core: str, name: str) -> None:
    options = Options("m", core=core, goal=Goal.SPEED)
    compilation = compile_model(product_model(CASES[name]), "m.tflite", options)
    assert variants_of(compilation) == {NAME}


@pytest.mark.parametrize("name", LEFT)
def test_what_is_shifted_to_the_left_is_left_to_the_portable_kernel(name: str) -> None:
    options = Options("m", core="cortex-m4")
    compilation = compile_model(product_model(PRODUCTS[name]), "m.tflite", options)
    assert variants_of(compilation) == {"batch_matmul.portable"}


def test_cores_without_the_instructions_take_the_portable_one() -> None:
    options = Options("m", core="cortex-m0plus")
    compilation = compile_model(product_model(CASES["queries by keys"]), "m.tflite", options)
    assert variants_of(compilation) == {"batch_matmul.portable"}
