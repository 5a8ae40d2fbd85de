"""The words of quantization: each comes back from a bundle's text, and wrong ones are refused."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from glowmcu.errors import GlowmcuError
from glowmcu.quant.choices import Quantization, choice_text, options_of_text, options_text
from glowmcu.quant.options import Interface, QuantizationOptions
from glowmcu.quant.ranges import Calibration, Method
from glowmcu.quant.schemas import Schema

DEFAULT = QuantizationOptions()
SYMMETRIC = Calibration(schema=Schema.SYMMETRIC)
#: What is chosen, the options that it makes, what a bundle says beside the words that it always
#: says, and what a person is told.
CHOICES: dict[str, tuple[dict[str, Any], dict[str, Any], dict[str, str], str]] = {
    "nothing": ({}, {}, {}, "defaults"),
    "schema": (
        {"schema": "symmetric"}, {"calibration": SYMMETRIC}, {"schema": "symmetric"}, "symmetric",
    ),
    "method": (
        {"calibration": "mse"}, {"calibration": Calibration(Method.MSE)}, {"calibration": "mse"},
        "mse",
    ),
    "percentile": (
        {"calibration": "percentile:99.5"},
        {"calibration": Calibration(Method.PERCENTILE, percentile=99.5)},
        {"calibration": "percentile:99.5"}, "percentile:99.5",
    ),
    "a percentile as a pair": (
        {"calibration": ("percentile", 51)},
        {"calibration": Calibration(Method.PERCENTILE, percentile=51.0)},
        {"calibration": "percentile:51"}, "percentile:51",
    ),
    "the greatest percentile": (
        {"calibration": "percentile:100"},
        {"calibration": Calibration(Method.PERCENTILE, percentile=100.0)},
        {"calibration": "percentile:100"}, "percentile:100",
    ),
    "float outside": ({"io": "float"}, {"interface": Interface.FLOAT}, {"io": "float"}, "defaults"),
    "some stay float": (
        {"keep_float": ["softmax", "fc"]}, {"keep_float": ("softmax", "fc")},
        {"keep_float": "softmax,fc"}, "float:softmax float:fc",
    ),
    "some are wider": (
        {"int16": ["add", "mul"]}, {"int16": ("add", "mul")}, {"int16": "add,mul"},
        "int16:add int16:mul",
    ),
    "one scale": (
        {"per_tensor_weights": True}, {"per_channel": False}, {"per_tensor_weights": "yes"},
        "per-tensor-weights",
    ),
    "biases as they are": (
        {"bias_correction": False}, {"bias_correction": False}, {"bias_correction": "no"},
        "no-bias-correction",
    ),
    "equalized": ({"equalize": True}, {"equalization": True}, {"equalize": "yes"}, "equalize"),
    "rounded to suit": (
        {"adaround": True}, {"adaptive_rounding": True}, {"adaround": "yes"}, "adaround",
    ),
    "four bits": (
        {"weights": 4}, {"four_bit_weights": ("all",)}, {"four_bit_weights": "all"},
        "weights:4:all",
    ),
    "four bits, as a word": (
        {"weights": "4"}, {"four_bit_weights": ("all",)}, {"four_bit_weights": "all"},
        "weights:4:all",
    ),
    "four bits for some": (
        {"weights": ["fc", "last"]}, {"four_bit_weights": ("fc", "last")},
        {"four_bit_weights": "fc,last"}, "weights:4:fc weights:4:last",
    ),
    "much at once": (
        {"schema": "symmetric", "equalize": True, "adaround": True, "int16": ["add"]},
        {"calibration": SYMMETRIC, "equalization": True, "adaptive_rounding": True,
         "int16": ("add",)},
        {"schema": "symmetric", "equalize": "yes", "adaround": "yes", "int16": "add"},
        "symmetric equalize adaround int16:add",
    ),
}  # fmt: skip
ALWAYS = {"schema": "asymmetric", "calibration": "minmax", "io": "int8"}


@pytest.mark.parametrize("name", CHOICES)
def test_a_choice_is_what_its_words_say_and_comes_back_from_a_bundle(name: str) -> None:
    given, made, said, told = CHOICES[name]
    options = Quantization(**given).over(DEFAULT)
    assert options == replace(DEFAULT, **made)
    text = options_text(options)
    assert text == ALWAYS | said
    assert options_of_text(text) == options
    assert options_of_text({"goal": "ram", **text}) == options, "other keys may stand among them"
    assert choice_text(options) == told


@pytest.mark.parametrize("name", CHOICES)
def test_what_is_chosen_again_goes_over_what_a_profile_decided(name: str) -> None:
    given, made, _, _ = CHOICES[name]
    tuned = QuantizationOptions(
        calibration=Calibration(Method.PERCENTILE, percentile=99.0), interface=Interface.FLOAT,
        keep_float=("tanh",), int16=("sub",), per_channel=False, bias_correction=False,
        equalization=True, adaptive_rounding=True,
    )  # fmt: skip
    got = Quantization(**given).over(tuned)
    for key in set(vars(tuned)) - {"calibration"}:
        assert getattr(got, key) == made.get(key, getattr(tuned, key)), key
    calibration = made.get("calibration", DEFAULT.calibration)
    assert got.calibration.schema is calibration.schema
    if "calibration" in given:
        assert got.calibration.method is calibration.method
    else:
        assert got.calibration == replace(tuned.calibration, schema=calibration.schema)


def test_switches_can_be_put_back() -> None:
    names = ("per_tensor_weights", "bias_correction", "equalize", "adaround")
    for value in (False, True):
        chosen = Quantization(**dict.fromkeys(names, value)).over(DEFAULT)
        text = options_text(chosen)
        assert {key: text.get(key, "no" if key != "bias_correction" else "yes") for key in names} \
            == dict.fromkeys(names, "yes" if value else "no")  # fmt: skip


def test_only_what_says_nothing_is_the_default() -> None:
    assert Quantization().is_default
    for given, _, _, _ in CHOICES.values():
        assert Quantization(**given).is_default == (not given)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"schema": "odd"}, ["schema must be one of", "symmetric", "got 'odd'"]),
        *(
            ({"weights": word}, ["weights must be one of 4, 8, mixed or a list", repr(str(word))])
            for word in (3, 16, "", "int4", "4,8", "all")
        ),
        ({"io": "int4"}, ["io must be one of int8, float; got 'int4'"]),
        *(
            ({"calibration": word}, ["calibration must be one of", "entropy", "percentile:P", word])
            for word in ("", "most", "percentile:", "percentile:50", "percentile:100.1", "mse:99",
                         "percentile:-99", "percentile:9e1", "percentile:99.9.9", " mse")
        ),
        ({"calibration": ("percentile", 49.5)}, ["percentile:49.5"]),
        ({"calibration": ("minmax", 99.5)}, ["minmax:99.5"]),
    ],
    ids=str,
)  # fmt: skip
def test_a_word_that_is_none_is_refused_with_those_that_are(
    given: dict[str, Any], words: list[str]
) -> None:
    with pytest.raises(GlowmcuError) as caught:
        Quantization(**given).over(DEFAULT)
    assert caught.value.code == "GM322"
    assert all(word in str(caught.value) for word in words)
