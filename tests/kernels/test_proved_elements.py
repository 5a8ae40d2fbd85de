"""elementwise.baked with proved elements: alone and in stacks, on every kind of core."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from glowmcu.compilation import Options
from glowmcu.frontend.tflite.writer import ModelBuilder
from glowmcu.ir.operation import Rounding, Signature
from glowmcu.ir.types import ElementType
from glowmcu.kernels.common.element_code import element_code_of
from glowmcu.kernels.requantization.proved_elements import (
    best_code,
    folds_product,
    is_int8,
    proved_code,
)
from glowmcu.kernels.requantization.two_piece_form import two_piece_form
from glowmcu.ops.elementwise import Add, Maximum, Mul, Sub
from glowmcu.pipeline import compile_model
from tests.kernels.test_linear_sum import SCALES, Numbers, all_pairs_model, signature_of
from tests.ops.test_elementwise import ALL_PAIRS, NONE, RELU
from tests.support.forced_layers import ForcedLayers
from tests.support.forced_variant import check_forced

NAME = "elementwise.baked"
CASES: dict[str, Numbers] = {
    "add": ("ADD", (0.0613729, 0.0837187, 0.0926431), (-128, 4, -128), RELU),
    "sub": ("SUB", SCALES, (3, -7, 5), NONE),
    "mul": ("MUL", (0.031, 0.047, 0.3), (-128, 127, 0), NONE),
    "powers of two that tie": ("ADD", (0.5, 0.0625, 0.5), (0, 0, 0), NONE),
    "difference that ties": ("SUB", (0.5, 0.25, 0.6), (3, -7, 5), NONE),
    "add that ties, literal": ("ADD", (0.061, 0.083, 0.092), (-128, 4, -128), RELU),
    "mul by more than one, literal": ("MUL", (3.1, 7.3, 11.9), (-128, 127, 0), NONE),
}


CORES = ("cortex-m0plus", "cortex-m3", "cortex-m4")
PAIR_LAYERS = {
    core: ForcedLayers(NAME, CASES, all_pairs_model, core, inputs=ALL_PAIRS) for core in CORES
}


@pytest.mark.parametrize("core", CORES)
@pytest.mark.parametrize("name", CASES)
def test_every_pair(name: str, core: str) -> None:
    PAIR_LAYERS[core].check(name)


@pytest.mark.parametrize("scales", [(0.5, 0.0625, 0.5), (0.03125, 0.5, 0.5), (0.125, 0.25, 1.0)])
def test_power_of_two_scales_always_have_a_form(scales: tuple[float, ...]) -> None:
    for op in (Add(), Sub()):
        for points in ((0, 0, 0), (3, -4, 5), (-128, 0, -128)):
            assert proved_code(op, signature_of(scales, points), Rounding.DOUBLE) is not None


def test_a_two_piece_line_is_exact_and_stays_inside_int32() -> None:
    found = 0
    for points in ((0, 0, 0), (-20, 17, 4), (60, -80, 30)):
        for op in (Add(), Sub()):
            signature = signature_of((0.5, 0.03125, 0.5), points)
            form = two_piece_form(op, signature, Rounding.DOUBLE)
            assert form is not None
            a, b = np.arange(-128, 128).reshape(-1, 1), np.arange(-128, 128)
            total = form.c + a * form.p + b * form.q
            two_piece = total + form.addend - np.where(total < 0, form.bend, 0)
            assert max(np.abs(total).max(), np.abs(two_piece).max()) < 2**31
            (want,) = op.evaluate((a, b), signature, Rounding.DOUBLE)
            assert np.array_equal(np.clip(two_piece >> 22, -128, 127), want)
            found += form.bend > 0
    assert found == 6


def test_only_numbers_of_int8_with_scales_are_proved() -> None:
    signature = signature_of(SCALES, (0, 0, 0))
    assert is_int8(signature)
    for place in range(3):
        for changed in ({"element": ElementType.I16}, {"quantization": None}):
            types = [*signature.inputs, signature.output]
            types[place] = replace(types[place], **changed)
            assert not is_int8(Signature(tuple(types[:2]), (types[2],)))


#: Scales of a product, and whether both its roundings fold: shifts to the right by 1 to 22.
PRODUCTS = {
    (0.5, 0.5, 0.5): False, (0.5, 0.5, 1.0): True, (0.5, 0.75, 1.0): True, (1.0, 1.0, 0.5): False,
    (2.0**-11, 2.0**-12, 1.0): True, (2.0**-12, 2.0**-12, 1.0): False,
    (0.75 * 2.0**-11, 2.0**-11, 1.0): True, (0.75 * 2.0**-11, 2.0**-12, 1.0): False,
}  # fmt: skip


@pytest.mark.parametrize("scales", PRODUCTS, ids=str)
def test_roundings_fold_where_the_sum_of_both_is_one_of_32_bits(
    scales: tuple[float, ...],
) -> None:
    signature = signature_of(scales, (3, -4, 5))
    right = -Mul().scale(signature).shift
    assert folds_product(Mul(), signature, Rounding.DOUBLE) == (1 <= right <= 22)
    assert (1 <= right <= 22) == PRODUCTS[scales]
    assert not folds_product(Mul(), signature, Rounding.SINGLE)
    assert not folds_product(Mul((-127, 127)), signature, Rounding.DOUBLE)
    assert not folds_product(Mul((-128, 126)), signature, Rounding.DOUBLE)
    wide = replace(signature.inputs[0], element=ElementType.I16)
    assert not folds_product(
        Mul(), Signature((wide, signature.inputs[1]), signature.outputs), Rounding.DOUBLE
    )


def test_elements_without_a_proof_have_their_literal_code() -> None:
    signature = signature_of(SCALES, (0, 0, 0))
    wide = Signature(
        tuple(replace(type_, element=ElementType.I16) for type_ in signature.inputs),
        (replace(signature.output, element=ElementType.I16),),
    )
    beyond = signature_of((1.0, 1.0, 0.5), (0, 0, 0))
    for op, how in ((Add(), wide), (Mul(), wide), (Mul(), beyond), (Maximum(), signature)):
        assert proved_code(op, how, Rounding.DOUBLE) is None
        literal = element_code_of(op, how)
        found = best_code(op, how, Rounding.DOUBLE)
        assert (found and found.expression) == (literal and literal.expression)
    proved = best_code(Add(), signature, Rounding.DOUBLE)
    assert proved is not None
    assert proved.expression.startswith("glowmcu_line_one(")
    assert element_code_of(Mul(), beyond) is not None


def stacked_model() -> bytes:
    """(a + b) * a - b."""
    builder = ModelBuilder()
    a = builder.input("a", (1, 3, 37), "int8", SCALES[0], 3)
    b = builder.input("b", (37,), "int8", SCALES[1], -7)
    total = builder.tensor("total", (1, 3, 37), "int8", SCALES[2], 5)
    product = builder.tensor("product", (1, 3, 37), "int8", 0.0713331, -60)
    out = builder.tensor("out", (1, 3, 37), "int8", 0.0813779, 11)
    builder.op("ADD", [a, b], [total], {"fused_activation_function": NONE})
    builder.op("MUL", [total, a], [product], {"fused_activation_function": NONE})
    builder.op("SUB", [product, b], [out], {"fused_activation_function": NONE})
    builder.output(out)
    return builder.finish()


@pytest.mark.parametrize("core", ["cortex-m0plus", "cortex-m4"])
def test_a_stack_of_sums_and_products(core: str) -> None:
    check_forced(stacked_model(), NAME, core)


def test_a_proved_element_has_no_literal_requantization() -> None:
    files = compile_model(stacked_model(), "m.tflite", Options("m", core="cortex-m4")).files
    assert "glowmcu_line.h" in files
    assert "glowmcu_folded_product.h" in files
    assert "glowmcu_requantize.h" not in files
