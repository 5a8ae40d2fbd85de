"""Float TFLite models that store their weights smaller: int8 (dynamic range) or float16."""

from __future__ import annotations

import numpy as np
import pytest

from glowmcu.compilation import Compilation, Options
from glowmcu.errors import GlowmcuError
from glowmcu.frontend.tflite.importer import real_values
from glowmcu.frontend.tflite.writer import ModelBuilder
from glowmcu.goals import Goal
from glowmcu.ir.types import ElementType, Quantization, TensorType
from glowmcu.kernels.float.int8_weights import int8_weights
from glowmcu.pipeline import compile_model, reference_graph
from tests.support.check_model import check_model
from tests.support.oracle import run_litert_reference

WEIGHTS = np.arange(-6, 6, dtype=np.int8).reshape(3, 4) * 9
SCALES = np.array([0.01, 0.02, 0.5], np.float32)


def test_dequantized_weights_are_constants_of_float32() -> None:
    model = ModelBuilder()
    x = model.input("x", (2, 4), "float32")
    stored = model.constant("stored", WEIGHTS, 0.25, 0)
    weights = model.tensor("weights", (3, 4), "float32")
    model.op("DEQUANTIZE", [stored], [weights])
    y = model.tensor("y", (2, 3), "float32")
    model.op("FULLY_CONNECTED", [x, weights, None], [y])
    model.output(y)
    compilation = check_model(model.finish(), oracle=run_litert_reference)
    assert [run.node.op.name for run in compilation.plan.program.runs] == ["fully_connected"]


@pytest.mark.parametrize("scale", [0.25, SCALES], ids=["per tensor", "per channel"])
def test_a_float_layer_with_int8_weights_uses_their_real_values(scale: float) -> None:
    """TFLite quantizes the activations on the fly instead: it is farther from the float model."""
    model = ModelBuilder()
    x = model.input("x", (2, 4), "float32")
    stored = model.constant("stored", WEIGHTS, scale, 0)
    y = model.tensor("y", (2, 3), "float32")
    model.op("FULLY_CONNECTED", [x, stored, None], [y])
    model.output(y)

    def real_product(data: bytes, inputs: list[np.ndarray]) -> list[np.ndarray]:
        real = WEIGHTS.astype(np.float32) * np.reshape(scale, (-1, 1)).astype(np.float32)
        return [inputs[0] @ real.T]

    check_model(model.finish(), oracle=real_product, atol=1e-6)


def test_numbers_that_a_cast_reads_are_no_weights() -> None:
    """CAST takes the stored integers as they are."""
    model = ModelBuilder()
    x = model.input("x", (3, 4), "float32")
    stored = model.constant("stored", WEIGHTS, 0.25, 3)
    cast, y = (model.tensor(name, (3, 4), "float32") for name in ("cast", "y"))
    model.op("CAST", [stored], [cast])
    model.op("ADD", [x, cast], [y])
    model.output(y)
    check_model(model.finish(), oracle=lambda _, inputs: [inputs[0] + WEIGHTS])


def test_float_numbers_are_not_compared_with_int8_ones() -> None:
    model = ModelBuilder()
    x = model.input("x", (3, 4), "float32")
    stored = model.constant("stored", WEIGHTS, 0.25, 0)
    y = model.tensor("y", (3, 4), "bool")
    model.op("GREATER", [x, stored], [y])
    model.output(y)
    with pytest.raises(GlowmcuError, match="expected one element type for both") as caught:
        reference_graph(model.finish(), "m.tflite")
    assert caught.value.code == "GM106"


def test_float16_weights_become_float32() -> None:
    model = ModelBuilder()
    x = model.input("x", (2, 4), "float32")
    half = (WEIGHTS / 7).astype(np.float16)
    stored = model.constant("stored", half)
    weights = model.tensor("weights", (3, 4), "float32")
    model.op("DEQUANTIZE", [stored], [weights])
    y = model.tensor("y", (2, 3), "float32")
    model.op("FULLY_CONNECTED", [x, weights, None], [y])
    model.output(y)
    check_model(model.finish(), oracle=run_litert_reference)


def test_real_values_follow_scales_along_any_axis() -> None:
    type_ = TensorType((2, 2), ElementType.I8, Quantization((0.5, 2.0), (1, -1), 1))
    got = real_values(np.array([[1, 1], [3, -2]], np.int8), type_)
    assert got.tolist() == [[0.0, 4.0], [1.0, -2.0]]
    assert got.dtype == np.float32


@pytest.mark.parametrize("goal", list(Goal))
@pytest.mark.parametrize("core", ["cortex-m0plus", "cortex-m4", "generic"])
def test_int8_weights_stay_int8_in_flash_but_for_speed(core: str, goal: Goal) -> None:
    data = small_weights_model()
    compilation = compile_model(data, "m.tflite", Options("m", core=core, goal=goal))
    stored = constant_bytes(compilation)
    float_bytes, int8_bytes = 4 * 40 * 64, 40 * 64
    if goal is Goal.SPEED and core == "cortex-m4":
        assert stored >= float_bytes
    elif goal is not Goal.SPEED:
        assert int8_bytes <= stored <= 1.3 * int8_bytes


def test_weights_of_any_other_kind_are_not_taken_for_int8() -> None:
    generator = np.random.default_rng(5)
    codes = generator.integers(-127, 128, (6, 50)).astype(np.float32)
    codes[2] = 0
    codes[3] = np.round(codes[3] / 9)  # a channel of small codes, as a scale a tensor makes them
    weights = codes * SCALES.repeat(2)[:, np.newaxis]
    found = int8_weights(weights)
    assert found is not None
    np.testing.assert_allclose(found[0] * found[1][:, np.newaxis], weights, rtol=1e-6)
    weights[4, 49] *= np.float32(1.0001)
    assert int8_weights(weights) is None
    weights[4, 49] = np.nan
    assert int8_weights(weights) is None
    assert int8_weights(generator.normal(size=(6, 50)).astype(np.float32)) is None


@pytest.mark.parametrize("extremes", [[-128], [-128, 127], [-128, -127, 126], [127, -127], [126]])
def test_a_channel_may_reach_the_least_int8_and_never_more_than_the_largest(
    extremes: list[int],
) -> None:
    """PyTorch's symmetric scale is the range over 255, so that the largest negative is -128."""
    generator = np.random.default_rng(8)
    codes = generator.integers(-125, 126, (3, 40)).astype(np.float32)
    codes[:, : len(extremes)] = extremes
    codes[0, 20:22] = 3, 5
    scales = np.array([0.0071, 0.2, 3.3], np.float32)
    for given in (scales, np.full(3, 0.01, np.float32)):
        found = int8_weights(codes * given[:, np.newaxis])
        assert found is not None
        np.testing.assert_array_equal(found[0], codes)
        np.testing.assert_allclose(found[1], given, rtol=1e-6)
        above = int8_weights(-codes * given[:, np.newaxis])
        assert (above is None) == (-128 in extremes)


def small_weights_model() -> bytes:
    generator, model = np.random.default_rng(3), ModelBuilder()
    x, y = model.input("x", (1, 64), "float32"), model.tensor("y", (1, 40), "float32")
    codes = generator.integers(-127, 128, (40, 64)).astype(np.int8)
    weights = model.constant("w", codes, 0.01, 0)
    bias = model.constant("b", generator.normal(size=40).astype(np.float32))
    model.op("FULLY_CONNECTED", [x, weights, bias], [y])
    model.output(y)
    return model.finish()


def constant_bytes(compilation: Compilation) -> int:
    codes = [selection.code for selection in compilation.selections.values()]
    return sum(item.data.nbytes for code in codes for item in code.parameters.constants)
