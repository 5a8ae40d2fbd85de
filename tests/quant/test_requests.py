"""A request for quantization: what of it is measured, what is taken as it was, and what is said."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from glowmcu.errors import GlowmcuError
from glowmcu.quality import Demands, Origin
from glowmcu.quant.automatic import Needs
from glowmcu.quant.choices import choice_text
from glowmcu.quant.options import QuantizationOptions
from glowmcu.quant.profile import Profile
from glowmcu.quant.profiling import Progress, profile_graph
from glowmcu.quant.request import QuantizationRequest, profile_sha256, quantize_as_requested
from glowmcu.quant.sample_source import SampleSource
from glowmcu.quant.samples import samples_of
from glowmcu.quant.search_space import SearchSpace
from glowmcu.quant.settling import settle
from tests.quant.networks import draw, perceptron

GRAPH = perceptron((24, 8, 4))
DATA = draw(0, 40, 24)
SOURCE = SampleSource(DATA)


def profile(sha256: str = "") -> Profile:
    return profile_graph(GRAPH, samples_of(GRAPH, DATA), sha256)


def test_a_profile_needs_no_samples_and_samples_need_no_profile() -> None:
    seen: list[Progress] = []
    by_profile = quantize_as_requested(GRAPH, QuantizationRequest(profile=profile()), "")
    asked = QuantizationRequest(samples=SOURCE, observer=seen.append)
    by_samples = quantize_as_requested(GRAPH, asked, "")
    assert profile_sha256(by_profile.profile) == profile_sha256(by_samples.profile)
    assert [progress.done for progress in seen] == [32, 40]
    assert by_profile.text == by_samples.text
    assert by_samples.text["profile"] == f"samples:{profile_sha256(profile())[:12]}"
    assert by_samples.text["samples"] == "40"
    made = [each.quantized.graph for each in (by_profile, by_samples)]
    assert [value.type for value in made[0].inputs] == [value.type for value in made[1].inputs]


def test_a_profile_that_is_given_is_not_measured_again() -> None:
    known = replace(profile(), sample_count=7)
    options = QuantizationOptions(adaptive_rounding=True)
    asked = QuantizationRequest(options, known, "mine.json", SOURCE)
    made = quantize_as_requested(GRAPH, asked, "")
    assert made.profile is known
    assert made.text["profile"] == f"mine.json:{profile_sha256(known)[:12]}"
    assert made.text["samples"] == "7"
    assert made.text["adaround"] == "yes"
    with pytest.raises(GlowmcuError, match="adaptive rounding looks at samples"):
        quantize_as_requested(GRAPH, replace(asked, samples=None), "")


def test_the_profile_of_another_model_or_size_is_refused() -> None:
    with pytest.raises(GlowmcuError) as caught:
        quantize_as_requested(GRAPH, QuantizationRequest(profile=profile("a" * 64)), "b" * 64)
    assert caught.value.code == "GM301"
    other = perceptron((20, 8, 4))
    with pytest.raises(GlowmcuError) as caught:
        quantize_as_requested(other, QuantizationRequest(profile=profile()), "")
    assert caught.value.code == "GM302"
    resized = quantize_as_requested(
        other, QuantizationRequest(profile=profile(), of_another_size=True), ""
    )
    assert resized.profile.tensors["features"].shape == (1, 20)


@pytest.mark.parametrize("is_own", [True, False])
def test_a_request_with_samples_is_judged(is_own: bool) -> None:
    known = None if is_own else replace(profile(), sample_count=99)
    asked = QuantizationRequest(profile=known, samples=SOURCE)
    settled = settle(GRAPH, asked, SOURCE, "")
    assert settled.judge.origin is (Origin.HELD_BACK if is_own else Origin.GIVEN)
    assert settled.request.profile is not None
    assert settled.request.profile.sample_count == (40 if is_own else 99)
    entry = settled.judge.entry(settled.request.options, Demands())
    assert entry.origin == settled.judge.origin.value
    made = quantize_as_requested(GRAPH, replace(settled.request, quality=(entry,)), "")
    assert made.quality == (entry,)
    assert np.isfinite(entry.figures.sqnr_db or np.nan)


def test_bits_of_weights_are_chosen_where_that_is_asked_for() -> None:
    needs = Needs(Demands(-100.0, 0.0), lambda _: 0.0)
    plain = settle(GRAPH, QuantizationRequest(), SOURCE, "", needs)
    assert plain.bits == ()
    assert plain.request.options.four_bit_weights == ()
    mixed = settle(GRAPH, QuantizationRequest(mixed_weights=True), SOURCE, "", needs)
    assert {each.bits for each in mixed.bits} == {4}
    names = tuple(each.node for each in mixed.bits)
    assert mixed.request.options.four_bit_weights == names != ()


@pytest.mark.parametrize(
    ("count", "is_own", "is_open", "is_searched"),
    [(40, True, True, True), (40, True, False, False), (40, False, True, False),
     (15, True, True, False)],
    ids=["its own", "nothing is open", "a profile is given", "too few samples"],
)  # fmt: skip
def test_options_are_searched_where_they_are_open_and_samples_can_tell(
    count: int, is_own: bool, is_open: bool, is_searched: bool
) -> None:
    asked = QuantizationRequest(
        profile=None if is_own else profile(), search=SearchSpace() if is_open else None
    )
    settled = settle(GRAPH, asked, SampleSource(DATA[:count]), "")
    assert bool(settled.tried) == is_searched
    chosen = [one.choice for one in settled.tried if one.is_chosen] or ["defaults"]
    assert [choice_text(settled.request.options)] == chosen
