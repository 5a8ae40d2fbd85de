"""Profiles merge, come back from their files, and are refused where they do not belong."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from glowmcu.errors import GlowmcuError
from glowmcu.ir.interpreter import run_graph_tensors
from glowmcu.ops.activation import Relu
from glowmcu.ops.matmul import FullyConnected
from glowmcu.quant.profile import Profile, check_profile, merge, profiled_values, tensor_names
from glowmcu.quant.profile_file import parse_profile, profile_text, read_profile, write_profile
from glowmcu.quant.profiling import Progress, profile_graph
from glowmcu.quant.samples import Samples, samples_of
from tests.ir.graphs import GraphBuilder
from tests.quant.networks import convolutions, draw, perceptron, random_samples, real


def code_of(caught: pytest.ExceptionInfo[GlowmcuError]) -> str:
    return caught.value.code


@pytest.fixture(scope="module")
def profile() -> Profile:
    graph = convolutions()
    return profile_graph(graph, random_samples(graph, 20), "a" * 64)


def test_the_ranges_are_those_of_running_every_sample(profile: Profile) -> None:
    graph = convolutions()
    runs = [run_graph_tensors(graph, list(sample)) for sample in random_samples(graph, 20)]
    for name, tensor in profile.tensors.items():
        values = np.stack([run[name] for run in runs])
        assert tensor.low == pytest.approx(values.min(), rel=1e-5, abs=1e-6)
        assert tensor.high == pytest.approx(values.max(), rel=1e-5)
        assert tensor.mean == pytest.approx(values.mean(dtype=np.float64), rel=1e-4, abs=1e-6)
        assert tensor.variance == pytest.approx(values.var(dtype=np.float64), rel=1e-4)
        assert tensor.count == values.size
        assert tensor.histogram is not None
        assert tensor.histogram.total == values.size
        assert tensor.channels is not None
        np.testing.assert_allclose(tensor.channels.high, values.max((0, 1, 2, 3)), rtol=1e-5)
        np.testing.assert_allclose(tensor.channels.mean, values.mean((0, 1, 2, 3)), atol=1e-5)


def test_a_profile_of_halves_merged_is_the_profile_of_all() -> None:
    graph = perceptron()
    data = draw(3, 96, 24)
    # Whole batches: products of other sizes are summed in another order.
    parts = [profile_graph(graph, samples_of(graph, data[s])) for s in (np.s_[:64], np.s_[64:])]
    merged, whole = merge(*parts), profile_graph(graph, samples_of(graph, data))
    assert merged.sample_count == whole.sample_count == 96
    for name, tensor in whole.tensors.items():
        assert merged.tensors[name].histogram == tensor.histogram
        assert (merged.tensors[name].low, merged.tensors[name].high) == (tensor.low, tensor.high)
        assert merged.tensors[name].variance == pytest.approx(tensor.variance, rel=1e-9)
        channels, whole_channels = merged.tensors[name].channels, tensor.channels
        assert channels is not None
        assert whole_channels is not None
        assert np.array_equal(channels.low, whole_channels.low)
        assert np.array_equal(channels.high, whole_channels.high)
        np.testing.assert_allclose(channels.mean, whole_channels.mean, atol=1e-6)
    features = merged.tensors["features"].channels
    assert features is not None
    np.testing.assert_allclose(features.mean, data.mean(axis=0), atol=1e-6)
    assert np.abs(features.mean - data[:64].mean(axis=0)).max() > 0.01


def test_a_profile_comes_back_from_its_file(profile: Profile, tmp_path: Path) -> None:
    path = tmp_path / "model.profile.json"
    write_profile(profile, path)
    back = read_profile(path)
    assert profile_text(back) == profile_text(profile)
    assert back.tensors["first"].histogram == profile.tensors["first"].histogram
    assert back.tensors["first"].low == profile.tensors["first"].low


@pytest.mark.parametrize(
    "lacks", [("channels",), ("histogram",), ("channels", "histogram")], ids=str
)
def test_what_a_profile_lacks_its_file_lacks(profile: Profile, lacks: tuple[str, ...]) -> None:
    """Equalization leaves no histogram, and profiles of other sizes no channels."""
    tensors = {
        name: replace(tensor, **dict.fromkeys(lacks)) for name, tensor in profile.tensors.items()
    }
    text = profile_text(replace(profile, tensors=tensors))
    back = parse_profile(text)
    assert profile_text(back) == text
    for tensor in back.tensors.values():
        for optional in ("channels", "histogram"):
            assert (getattr(tensor, optional) is None) == (optional in lacks)


def test_a_profile_is_json_that_names_the_model_and_the_version(profile: Profile) -> None:
    record = json.loads(profile_text(profile))
    assert record["model_sha256"] == "a" * 64
    assert record["tool_version"] == profile.tool_version
    assert list(record["tensors"]) == ["image", "first", "second", "third"]


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: text[: len(text) // 2],
        lambda text: "[]",
        lambda text: text.replace("glowmcu-profile-1", "glowmcu-profile-9"),
        lambda text: text.replace('"low": ', '"low": NaN, "was": ', 1),
        lambda text: text.replace('"bins": [', '"bins": [-1,', 1),
        lambda text: text.replace('"channel_high": [', '"channel_high": [1.0,', 1),
        lambda text: re.sub(r'"channel_high": \[[^,]*', '"channel_high": [1e999', text, count=1),
        lambda text: text.replace('"count"', '"number"'),
        lambda text: re.sub(r'"low": [^,]*', '"low": 1e6', text, count=1),
        *(lambda text, key=key: re.sub(rf'"{key}": [^,\n]*', f'"{key}": Infinity', text, count=1)
          for key in ("low", "high", "mean", "variance")),
        lambda text: re.sub(r'"bins": \[[^]]*', '"bins": [', text, count=1),
        lambda text: re.sub(r'"bins": \[[^]]*', '"bins": [[1],[2]', text, count=1),
        lambda text: re.sub(r'"bins": \[[^]]*', f'"bins": [{"1," * 2048}1', text, count=1),
    ],
    ids=["cut off", "no table", "another format", "NaN", "negative count", "a channel too many",
         "a channel that is infinite", "a field missing", "low above high", "infinite low",
         "infinite high", "infinite mean", "infinite variance", "no bins", "rows of bins",
         "a bin too many"],
)  # fmt: skip
def test_a_damaged_profile_is_refused(profile: Profile, damage: object) -> None:
    assert callable(damage)
    with pytest.raises(GlowmcuError) as caught:
        parse_profile(damage(profile_text(profile)), "p.json")
    assert code_of(caught) == "GM303"
    assert "p.json" in str(caught.value)


def test_the_ends_of_what_a_profile_may_hold_are_read(profile: Profile) -> None:
    """A range of one number, as many bins as there may be, one of them empty."""
    text = profile_text(profile)
    text = re.sub(r'"low": [^,]*, "high": [^,\n]*', '"low": 0.5, "high": 0.5', text)
    text = re.sub(r'"bins": \[[^]]*', f'"bins": [{"1," * 2047}0', text)
    for tensor in parse_profile(text).tensors.values():
        assert (tensor.low, tensor.high) == (0.5, 0.5)
        assert tensor.histogram is not None
        assert tensor.histogram.counts.tolist() == [1] * 2047 + [0]


def test_a_missing_profile_is_refused(tmp_path: Path) -> None:
    with pytest.raises(GlowmcuError) as caught:
        read_profile(tmp_path / "none.json")
    assert code_of(caught) == "GM303"


def test_the_profile_of_another_model_is_refused(profile: Profile) -> None:
    check_profile(profile, convolutions(), "a" * 64)
    check_profile(profile, convolutions(), "")
    check_profile(replace(profile, model_sha256=""), convolutions(), "b" * 64)
    with pytest.raises(GlowmcuError) as caught:
        check_profile(profile, convolutions(), "b" * 64)
    assert code_of(caught) == "GM301"


def test_a_profile_without_the_graphs_tensors_is_refused(profile: Profile) -> None:
    with pytest.raises(GlowmcuError) as caught:
        check_profile(profile, perceptron(), "a" * 64)
    assert code_of(caught) == "GM302"


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"model_sha256": "b"}, "GM301"),
        ({"tool_version": "0"}, "GM302"),
        ({"tensors": {}}, "GM302"),
    ],
)
def test_profiles_that_do_not_belong_together_are_not_merged(
    profile: Profile, change: dict[str, object], code: str
) -> None:
    with pytest.raises(GlowmcuError) as caught:
        merge(profile, replace(profile, **change))  # type: ignore[arg-type]
    assert code_of(caught) == code


def test_samples_that_never_vary_are_refused() -> None:
    graph = perceptron()
    with pytest.raises(GlowmcuError) as caught:
        profile_graph(graph, samples_of(graph, np.full((5, 24), 0.5)))
    assert code_of(caught) == "GM310"


def test_a_tensor_that_overflows_is_named() -> None:
    graph = perceptron((24, 4))
    # All products of an output are positive: the sum overflows in whatever order.
    largest = np.sign(draw(0, 4, 24)[:2]) * np.float32(3e38)
    with pytest.raises(GlowmcuError) as caught:
        profile_graph(graph, samples_of(graph, largest))
    assert code_of(caught) == "GM311"
    assert caught.value.problems[0].where == 'fully_connected "dense0"'


def test_an_input_that_is_not_finite_is_named() -> None:
    graph = perceptron()
    sample = (np.full((1, 24), np.inf, np.float32),)
    with pytest.raises(GlowmcuError) as caught:
        profile_graph(graph, Samples(lambda: iter([sample])))
    assert code_of(caught) == "GM311"
    assert caught.value.problems[0].where == "input 'features'"


def test_a_graph_of_empty_tensors_has_nothing_to_measure() -> None:
    graph = GraphBuilder()
    x = graph.input(real(1, 0), "x")
    finished = graph.finish(graph.add(Relu(), x, name="y"))
    profile = profile_graph(finished, Samples(lambda: iter([(np.zeros((1, 0), np.float32),)])))
    assert profile.sample_count == 1
    assert profile.tensors == {}


def test_an_iterator_that_ends_at_once_is_refused() -> None:
    with pytest.raises(GlowmcuError) as caught:
        profile_graph(perceptron(), Samples(lambda: iter(())))
    assert code_of(caught) == "GM306"


def test_progress_tells_how_long_it_will_take() -> None:
    graph = perceptron()
    seconds = iter(range(100))
    seen: list[Progress] = []
    profile_graph(
        graph, random_samples(graph, 80), observer=seen.append, clock=lambda: float(next(seconds))
    )
    assert [progress.done for progress in seen] == [32, 64, 80]
    assert seen[0] == Progress(32, 80, 1.0, 1.5)
    assert seen[-1].remaining_s == 0.0


def test_values_of_one_name_are_told_apart() -> None:
    graph = GraphBuilder()
    x = graph.input(real(1, 4), "x")
    w, b = graph.constant(draw(0, 4, 4)), graph.constant(draw(1, 4))
    for _ in range(3):
        x = graph.add(FullyConnected(), x, w, b, name="same")
    finished = graph.finish(x)
    assert list(profiled_values(finished).values()) == ["x", "same", "same#2", "same#3"]
    assert len(set(tensor_names(finished).values())) == len(tensor_names(finished))
