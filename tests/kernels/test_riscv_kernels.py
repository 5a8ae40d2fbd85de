"""Kernels for RISC-V, on a computer and on the instructions of cores with and without Zbb."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from glowmcu.compilation import Options
from glowmcu.cores import core
from glowmcu.kernels.common.split_weights import TAPS
from glowmcu.kernels.cost_table import cost_table
from glowmcu.kernels.riscv.pixel_pairs import pack_pairs
from glowmcu.pipeline import compile_model
from glowmcu.verify.riscv import RiscV
from tests.kernels.test_convolution_nodsp import DEPTHWISE_SHAPES, FORMS, SHAPES
from tests.kernels.test_matmul_nodsp import CASES, Case, fully_connected_model
from tests.ops.test_convolution import NUMBERS, SPATIAL, conv_model
from tests.ops.test_convolution import Case as ConvCase
from tests.support.forced_variant import check_forced, compile_forced, variants_of

CONV, DEPTHWISE = "conv_2d.pairs_riscv", "depthwise_conv_2d.rows_riscv"
DENSE = "fully_connected.eights_riscv"
CORES = ("rv32imc", "hazard3")
_ABSENT = RiscV("hazard3").missing()
pytestmark = [pytest.mark.riscv, pytest.mark.skipif(_ABSENT is not None, reason=str(_ABSENT))]

DIGITS = Path(__file__).parents[2] / "examples" / "digits" / "digits_int8.tflite"
#: Eights of outputs, a four behind them, and what is padded.
MORE_SHAPES = {
    "eight outputs": replace(SHAPES["thirteen taps, odd pixels"], depth_out=8),
    "nine outputs": replace(SHAPES["thirteen taps, odd pixels"], depth_out=9),
    "thirteen outputs": replace(SHAPES["thirteen taps, odd pixels"], depth_out=13),
    "two eights": replace(SHAPES["four taps, two outputs"], depth_out=16),
}


def _depthwise(case: ConvCase) -> ConvCase:
    return replace(case, depth_out=case.shape[3])


DEPTHWISE_CASES = {
    **{
        name: case
        for name, case in DEPTHWISE_SHAPES.items()
        if case.depth_out == case.shape[3] and case.shape[1] < 24
    },
    **{name: _depthwise(case) for name, case in FORMS.items()},
    "two rows of twelve": ConvCase((1, 6, 24, 5), 5, (2, 12), padding="SAME"),
    "dilated": ConvCase((1, 7, 9, 3), 3, (3, 3), dilations=(2, 2), padding="SAME"),
}
DENSE_CASES = {
    **CASES,
    "one more than a block": Case(1, 24, 17),
    "two blocks and seven outputs, three rows": Case(3, 6, 39),
    "no bias to speak of, literal": Case(1, 9, 10, out_zero_point=-3, bias=1),
}


@pytest.mark.parametrize("core_name", CORES)
@pytest.mark.parametrize("case", [*SHAPES, *FORMS, *MORE_SHAPES])
def test_pairs_of_pixels_equal_the_meaning(case: str, core_name: str) -> None:
    table = {**SHAPES, **FORMS, **MORE_SHAPES}
    check_forced(conv_model("CONV_2D", table[case]), CONV, core_name, count=2)


@pytest.mark.parametrize("case", SPATIAL)
def test_pairs_of_pixels_walk_every_window(case: str) -> None:
    check_forced(conv_model("CONV_2D", SPATIAL[case]), CONV, "hazard3")


@pytest.mark.parametrize("core_name", CORES)
@pytest.mark.parametrize("case", DEPTHWISE_CASES)
def test_unrolled_rows_equal_the_meaning(case: str, core_name: str) -> None:
    data = conv_model("DEPTHWISE_CONV_2D", DEPTHWISE_CASES[case])
    check_forced(data, DEPTHWISE, core_name, count=2)


@pytest.mark.parametrize("core_name", CORES)
@pytest.mark.parametrize("case", DENSE_CASES)
def test_eight_outputs_at_a_time_equal_the_meaning(case: str, core_name: str) -> None:
    check_forced(fully_connected_model(DENSE_CASES[case]), DENSE, core_name, count=2)


@pytest.mark.parametrize("kind", ["CONV_2D", "DEPTHWISE_CONV_2D"])
@pytest.mark.parametrize("case", [name for name in NUMBERS if name != "scale above 1"])
def test_all_scales_and_activations_equal_the_meaning(case: str, kind: str) -> None:
    if kind == "CONV_2D":
        check_forced(conv_model(kind, NUMBERS[case]), CONV, "hazard3")
    else:
        check_forced(conv_model(kind, _depthwise(NUMBERS[case])), DEPTHWISE, "hazard3")


@pytest.mark.parametrize("weight", [-64, 63, 64])
def test_a_group_at_its_bound_stays_within_its_half_word(weight: int) -> None:
    """Four magnitudes of 63 or 64, the largest without extras or the least with one: x all -128."""
    case = replace(SHAPES["eight taps, one pixel"], weights=weight, out_scale=30.0)
    data = conv_model("CONV_2D", case)
    for fill in (-128, 127):
        check_forced(data, CONV, "rv32imc", inputs=[[np.full(case.shape, fill, np.int8)]])


@pytest.mark.parametrize(
    ("variant", "data"),
    [
        (CONV, conv_model("CONV_2D", SHAPES["one tap"])),
        (DEPTHWISE, conv_model("DEPTHWISE_CONV_2D", DEPTHWISE_SHAPES["one tap, one channel"])),
        (DENSE, fully_connected_model(CASES["four elements, four outputs"])),
    ],
    ids=[CONV, DEPTHWISE, DENSE],
)
def test_other_cores_keep_their_kernels(variant: str, data: bytes) -> None:
    assert variants_of(compile_forced(data, variant, "hazard3")) == {variant}
    for name in ("cortex-m0plus", "cortex-m4", "generic"):
        assert variant not in variants_of(compile_forced(data, variant, name))


def test_what_they_do_not_compute_is_left_to_other_kernels() -> None:
    multiplied = conv_model("DEPTHWISE_CONV_2D", DEPTHWISE_SHAPES["multiplier 5"])
    assert DEPTHWISE not in variants_of(compile_forced(multiplied, DEPTHWISE, "hazard3"))
    too_large = conv_model("CONV_2D", NUMBERS["scale above 1"])
    assert CONV not in variants_of(compile_forced(too_large, CONV, "hazard3"))
    weights_off = fully_connected_model(replace(CASES["narrow"], weights_zero_point=3))
    assert DENSE not in variants_of(compile_forced(weights_off, DENSE, "hazard3"))


def test_all_riscv_kernels_have_prices_on_riscv() -> None:
    for variant in (CONV, DEPTHWISE, DENSE):
        for name in ("rv32imc", "rv32imac", "hazard3"):
            assert core(name).is_riscv
            assert cost_table().unit_costs(variant, name) is not None


@pytest.mark.parametrize("taps", [1, 4, 5, 9])
@pytest.mark.parametrize("outputs", [4, 5, 8, 13])
def test_packed_groups_stay_in_sixteen_bits_and_extras_make_up_for_them(
    taps: int, outputs: int
) -> None:
    weights = np.random.default_rng(taps).choice([-128, -100, 3, 127], (outputs, taps))
    packed = pack_pairs(weights.astype(np.int8))
    groups, fours = -(-taps // TAPS), -(-outputs // 4)
    eights = fours // 2 * 8
    whole = np.zeros((4 * fours, groups * TAPS), np.int64)
    parts = ((slice(0, eights), 8), (slice(eights, None), 4))
    read = 0
    for rows, count in parts:
        size = whole[rows].size
        some = packed.weights[read : read + size].reshape(-1, groups, count, TAPS)
        whole[rows] = some.transpose(0, 2, 1, 3).reshape(-1, groups * TAPS)
        read += size
    assert read == packed.weights.size
    assert np.abs(whole).reshape(-1, groups, TAPS).sum(axis=2).max() <= 255
    for extra in packed.extras.view(np.uint32):
        output, word = int(extra) >> 8 & 0xFFF, int(extra) >> 20
        whole[output, word] += (int(extra) & 0xFF ^ 0x80) - 0x80
    assert (whole[:outputs, :taps] == weights).all()
    assert not whole[outputs:].any()
    assert not whole[:, taps:].any()


@pytest.mark.parametrize("core_name", ["rv32imc", "rv32imac", "hazard3"])
def test_kernels_for_riscv_are_chosen_there(core_name: str) -> None:
    compilation = compile_model(DIGITS.read_bytes(), DIGITS.name, Options("digits", core=core_name))
    chosen = {item.kernel_name for item in compilation.selections.values()}
    assert {CONV, DEPTHWISE} & chosen
    assert not any(name.endswith("_nodsp") for name in chosen)
