"""Quantization options as JSON: what `tune` writes is what `compile --profile` reads."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from glowmcu.errors import GlowmcuError
from glowmcu.quant.options import (
    Interface,
    QuantizationOptions,
    options_of,
    options_record,
)
from glowmcu.quant.profile_file import read_profile, write_profile
from glowmcu.quant.profiling import profile_graph
from glowmcu.quant.quantizer import quantize
from glowmcu.quant.ranges import Calibration, Method
from glowmcu.quant.schemas import Schema
from tests.quant.networks import convolutions, random_samples, sqnr_db

CHOSEN = QuantizationOptions(
    Calibration(Method.PERCENTILE, Schema.SYMMETRIC_WITH_UINT8, 99.5),
    Interface.FLOAT,
    keep_float=("softmax", "first"),
    int16=("second",),
    four_bit_weights=("third", "all"),
    per_channel=False,
    bias_correction=False,
    adaptive_rounding=True,
    equalization=True,
)


@pytest.mark.parametrize("options", [QuantizationOptions(), CHOSEN], ids=["defaults", "all else"])
def test_options_come_back_from_json(options: QuantizationOptions) -> None:
    assert options_of(json.loads(json.dumps(options_record(options)))) == options


def test_options_travel_with_the_profile(tmp_path: Path) -> None:
    graph = convolutions()
    profile = profile_graph(graph, random_samples(graph, 4))
    write_profile(replace(profile, options=CHOSEN), tmp_path / "tuned.json")
    write_profile(profile, tmp_path / "plain.json")
    assert read_profile(tmp_path / "tuned.json").options == CHOSEN
    assert read_profile(tmp_path / "plain.json").options is None
    assert list(read_profile(tmp_path / "tuned.json").tensors) == list(profile.tensors)


@pytest.mark.parametrize(
    ("record", "text"),
    [
        ([], "quantization options must be an object, got []"),
        ({"schemas": "x"}, "unknown quantization option 'schemas'"),
        ({"method": "max"}, "method must be one of minmax, percentile, mse, entropy, got 'max'"),
        ({"percentile": 40}, "percentile must be a number above 50, at most 100, got 40"),
        ({"percentile": True}, "percentile must be a number above 50, at most 100, got True"),
        ({"keep_float": "softmax"}, "keep_float must be a list of names, got 'softmax'"),
        ({"int16": ["all", 1]}, "int16 must be a list of names, got ['all', 1]"),
        ({"four_bit_weights": 4}, "four_bit_weights must be a list of names, got 4"),
        ({"equalization": 1}, "equalization must be true or false, got 1"),
    ],
)
def test_wrong_options_are_refused_in_words(record: object, text: str) -> None:
    with pytest.raises(GlowmcuError) as caught:
        options_of(record, "model.profile.json")
    assert str(caught.value).startswith(f"error[GM315]: {text}\n  --> model.profile.json")


def test_an_equalized_quantization_names_the_graph_that_it_stands_for() -> None:
    graph = convolutions()
    samples = random_samples(graph, 16)
    result = quantize(graph, profile_graph(graph, samples), QuantizationOptions(equalization=True))
    first, scaled = (
        next(node for node in g.nodes if node.name == "first") for g in (graph, result.reference)
    )
    before, after = (
        g.constant_data(node.inputs[1]) for g, node in ((graph, first), (result.reference, scaled))
    )
    assert before is not None
    assert after is not None
    assert (before != after).any()
    assert sqnr_db(graph, result.graph, samples) > 30
