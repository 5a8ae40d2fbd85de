"""fully_connected without DSP instructions, on a computer and on the instructions of both cores."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from glowmcu.frontend.tflite.writer import ModelBuilder
from glowmcu.kernels.common.split_weights import TAPS
from glowmcu.kernels.nodsp.pixel_pairs import GROUP_WORDS, pack_output_pairs
from tests.support.forced_layers import ForcedLayers
from tests.support.forced_variant import compile_forced, variants_of

NAME = "fully_connected.pairs_nodsp"
CORES = ("cortex-m0plus", "cortex-m3")


@dataclass(frozen=True)
class Case:
    """`rows` of `depth` elements to `outputs`; all weights the same where `weights` is given."""

    rows: int
    depth: int
    outputs: int
    weights: int | None = None
    weights_zero_point: int = 0
    zero_point: int = -7
    out_scale: float = 0.9
    out_zero_point: int = 9
    activation: str = "NONE"
    bias: int = 3000


CASES = {
    "one element, one output": Case(1, 1, 1),
    "three elements, three outputs": Case(1, 3, 3),
    "four elements, four outputs": Case(1, 4, 4),
    "five elements, five outputs": Case(1, 5, 5),
    "eight elements, eleven outputs": Case(1, 8, 11),
    "thirteen elements, three rows": Case(3, 13, 6),
    "a long row": Case(1, 211, 9, out_scale=4.0),
    "narrow": Case(2, 24, 7, out_zero_point=-128, out_scale=2.0),
    "narrow, relu6": Case(2, 24, 7, activation="RELU6", out_scale=0.04),
    "zero points at both ends": Case(1, 24, 7, zero_point=127, out_zero_point=127),
    "weights all -128": Case(2, 12, 5, weights=-128, out_scale=40.0),
    "weights all 127, large bias": Case(2, 12, 5, weights=127, out_scale=900.0, bias=2**27),
}


def fully_connected_model(case: Case) -> bytes:
    generator = np.random.default_rng(5)
    shape = (case.outputs, case.depth)
    values = generator.integers(-128, 128, shape)
    if case.weights is not None:
        values = np.full(shape, case.weights)
    bias = generator.integers(-case.bias, case.bias, case.outputs).astype(np.int32)
    model = ModelBuilder()
    operands = [
        model.input("x", (case.rows, case.depth), "int8", 0.1, case.zero_point),
        model.constant("w", values.astype(np.int8), 0.02, case.weights_zero_point),
        model.constant("bias", bias, 0.002),
    ]
    shape_out = (case.rows, case.outputs)
    y = model.tensor("y", shape_out, "int8", case.out_scale, case.out_zero_point)
    options: dict[str, int | str] = {"fused_activation_function": case.activation}
    model.op("FULLY_CONNECTED", operands, [y], options)
    model.output(y)
    return model.finish()


LAYERS = {core: ForcedLayers(NAME, CASES, fully_connected_model, core, count=2) for core in CORES}


@pytest.mark.parametrize("core", CORES)
@pytest.mark.parametrize("case", CASES)
def test_pairs_of_outputs_equal_the_meaning_on_both_instruction_sets(case: str, core: str) -> None:
    LAYERS[core].check(case)


def test_weights_with_a_zero_point_stay_with_the_portable_kernel() -> None:
    data = fully_connected_model(Case(1, 9, 5, weights_zero_point=3))
    assert variants_of(compile_forced(data, NAME, "generic")) == {"fully_connected.portable"}


@pytest.mark.parametrize("outputs", [1, 4, 7])
def test_packed_words_and_extras_make_up_the_weights(outputs: int) -> None:
    weights = np.random.default_rng(outputs).choice([-128, -90, 5, 127], (outputs, 9))
    packed = pack_output_pairs(weights.astype(np.int8))
    fours, groups, taps = packed.stream.shape
    assert taps == TAPS
    kept = packed.stream.astype("<i4").view(np.uint8).reshape(fours, groups, TAPS, 4)
    whole = kept.transpose(0, 3, 1, 2).reshape(4 * fours, groups, TAPS).astype(np.int64) - 128
    assert np.abs(whole).sum(axis=2).max() <= 255
    for extra in packed.extras.view(np.uint32):
        group, word = divmod(int(extra) >> 20, GROUP_WORDS)
        whole[int(extra) >> 8 & 0xFFF, group, word - 1] += (int(extra) & 0xFF ^ 0x80) - 0x80
    assert (whole.reshape(4 * fours, -1)[:outputs, :9] == weights).all()
