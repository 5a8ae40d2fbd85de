"""Too much flash: of the options that could help those are named that were tried and do."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import cast

import numpy as np
import pytest

from glowmcu.api.flash_advice import flash_advice, int8_advice
from glowmcu.compilation import Compilation, Options
from glowmcu.errors import error
from glowmcu.frontend.tflite.writer import ModelBuilder
from glowmcu.goals import Goal
from glowmcu.pipeline import compile_model
from glowmcu.quant.options import QuantizationOptions
from glowmcu.quant.request import QuantizationRequest
from glowmcu.quant.sample_source import SampleSource

#: Bytes by goal and bits of weights.
SIZES = {
    (Goal.SIZE, 8): 900, (Goal.FLASH, 8): 700,
    (Goal.BALANCED, 4): 600, (Goal.SIZE, 4): 500, (Goal.FLASH, 4): 400,
}  # fmt: skip
LEAST = "the least that was found"
INT8, SAMPLES = Options("m"), cast(SampleSource, object())
QUANTIZED = Options("m", quantization=QuantizationRequest(samples=SAMPLES))


def advised(options: Options, most: int) -> str:
    tried: list[Options] = []

    def attempt(given: Options) -> int:
        tried.append(given)
        request = given.quantization
        bits = 4 if request is not None and request.options.four_bit_weights else 8
        return SIZES[given.goal, bits]

    (text,) = flash_advice(attempt, options, 1000, most)
    # What is tried is what the command would do.
    for given in tried:
        if given.quantization is not None and given.quantization.options.four_bit_weights:
            assert given.quantization.options.adaptive_rounding
    return text


@pytest.mark.parametrize(
    ("options", "most", "text"),
    [
        (INT8, 999, "--optimize size takes 900 B"),
        (INT8, 899, "--optimize flash takes 700 B"),
        (INT8, 699, f"{LEAST}, with --optimize flash, takes 700 B"),
        (INT8, 299, "no option of compile makes a bundle that much smaller: the model has to be"),
        (QUANTIZED, 899, "--optimize flash takes 700 B"),
        (QUANTIZED, 699, "--weights 4 takes 600 B"),
        (QUANTIZED, 599, "--weights 4 --optimize size takes 500 B"),
        (QUANTIZED, 499, "--weights 4 --optimize flash takes 400 B"),
        (QUANTIZED, 399, f"{LEAST}, with --weights 4 --optimize flash, takes 400 B"),
        (replace(INT8, goal=Goal.SIZE), 899, "--optimize flash takes 700 B"),
        (replace(INT8, goal=Goal.FLASH), 899, "no option of compile makes it smaller"),
        (replace(QUANTIZED, goal=Goal.FLASH), 599, "--weights 4 takes 400 B"),
    ],
)  # fmt: skip
def test_the_first_option_that_is_enough_is_named(options: Options, most: int, text: str) -> None:
    assert advised(options, most) == text


def test_four_bits_are_not_advised_to_who_has_them() -> None:
    chosen = QuantizationOptions(four_bit_weights=("all",), adaptive_rounding=True)
    options = Options("m", quantization=QuantizationRequest(chosen, samples=SAMPLES))
    assert advised(options, 450) == "--optimize flash takes 400 B"


def test_what_cannot_be_compiled_or_lacks_ram_is_not_advised() -> None:
    def attempt(given: Options) -> int | None:
        if given.goal is Goal.SIZE:
            raise error("GM403", "no room", "m")
        return None

    assert flash_advice(attempt, INT8, 1000, 900) == ("no option of compile makes it smaller",)


def test_constants_that_no_coding_brings_below_the_flash_are_not_coded() -> None:
    def attempt(given: Options) -> int:
        assert given.quantization is not None, "the constants are as they were"
        return 900

    graph = dense("int8").graph
    (text,) = flash_advice(attempt, INT8, 3000, 1000, graph)
    assert text.startswith("its constants alone take ")
    assert 1000 < int(re.sub("[^0-9]", "", text)) < 4000
    asked = QUANTIZED, 3000, 1000, graph
    assert flash_advice(attempt, *asked) == ("--weights 4 takes 900 B",)


def dense(dtype: str) -> Compilation:
    """4,000 weights."""
    model = ModelBuilder()
    scales = (None, None) if dtype == "float32" else (0.1, 0.02)
    x = model.input("x", (1, 100), dtype, scales[0])
    numbers = np.cbrt(np.linspace(-100, 100, 4000)).reshape(40, 100).astype(dtype)
    y = model.tensor("y", (1, 40), dtype, scales[0])
    model.op("FULLY_CONNECTED", [x, model.constant("w", numbers, scales[1]), None], [y])
    model.output(y)
    return compile_model(model.finish(), "m.tflite", Options("m"))


def test_a_float_model_is_told_what_fewer_bits_come_to() -> None:
    found = dense("float32")
    taken = found.manifest.weights_bytes + 1000
    assert int8_advice(found, taken, 6000)[0].startswith("int8 weights would take about 5 ")
    (four,) = int8_advice(found, taken, 4000)
    assert four.startswith("weights of four bits would take about 3 ")
    assert four.endswith(": --samples DATA --weights 4")
    assert int8_advice(found, taken, 2000) == ()
    assert int8_advice(dense("int8"), taken, 6000) == ()
