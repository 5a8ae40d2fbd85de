"""What is said of a quantization comes from samples that its calibration has not seen."""

from __future__ import annotations

from itertools import chain

import numpy as np
import pytest

from glowmcu.ops.activation import Relu
from glowmcu.ops.transcendental import Logistic
from glowmcu.quality import BEST_DB, Demands, Figures, Origin, percent
from glowmcu.quality_text import quality_sentences
from glowmcu.quant.judgement import Judge, _decibels, figures_of, judge_of, numbered, parted
from glowmcu.quant.options import QuantizationOptions
from glowmcu.quant.profiling import profile_graph
from glowmcu.quant.ranges import Calibration, Method
from glowmcu.quant.samples import Samples, samples_of
from tests.ir.graphs import GraphBuilder
from tests.quant.networks import RELU, draw, perceptron, random_samples, real

COARSE = QuantizationOptions(Calibration(Method.PERCENTILE, percentile=60))


def judge(count: int) -> Judge:
    graph = perceptron()
    samples = random_samples(graph, count)
    return judge_of(graph, samples, profile_graph(graph, samples), is_own=True)


def halves(rows: np.ndarray) -> tuple[Samples, Samples]:
    samples = samples_of(perceptron(), rows)
    return parted(samples, numbered(samples))


def numbers(samples: Samples) -> list[int]:
    return [int(sample[0][0, 0]) for sample in samples]


@pytest.mark.parametrize("count", [4, 5, 7, 40, 101])
def test_every_sample_is_in_one_part_and_each_quarter_holds_others(count: int) -> None:
    rows = np.repeat(np.arange(count, dtype=np.float32)[:, None], 24, 1)
    samples = samples_of(perceptron(), rows)
    parts = [parted(samples, numbered(samples), turn) for turn in range(4)]
    for rest, held in parts:
        assert sorted(numbers(rest) + numbers(held)) == list(range(count))
        assert (rest.count, held.count) == (len(numbers(rest)), len(numbers(held)))
    held_of_all = chain.from_iterable(numbers(held) for _, held in parts)
    assert sorted(held_of_all) == list(range(count))


def test_samples_that_are_sorted_by_turns_are_held_back_of_every_class() -> None:
    rows = np.repeat((np.arange(120, dtype=np.float32) % 4)[:, None], 24, 1)
    rows[:, 1] = np.arange(120)
    _, held = halves(rows)
    assert set(numbers(held)) == {0, 1, 2, 3}


def test_what_is_there_again_is_not_held_back_from_itself() -> None:
    rows = np.repeat((np.arange(120, dtype=np.float32) % 30)[:, None], 24, 1)
    rest, held = halves(rows)
    assert not set(numbers(held)) & set(numbers(rest))
    assert len(numbers(held)) == len(set(numbers(held))) == held.count
    assert rest.count == len(numbers(rest)) == 4 * (30 - len(numbers(held)))


@pytest.mark.parametrize(("distinct", "are"), [(1, "is"), (3, "are")])
def test_few_samples_that_differ_are_no_samples_held_back(distinct: int, are: str) -> None:
    graph = perceptron()
    samples = samples_of(graph, np.repeat(draw(0, distinct, 24), 40, 0))
    found = judge_of(graph, samples, profile_graph(graph, samples), is_own=True)
    assert (found.origin, found.judged.count) == (Origin.CALIBRATION, distinct)
    entry = found.entry(QuantizationOptions(), Demands())
    assert entry.notes[0].startswith(
        f"{40 * distinct} samples, of which {distinct} {are} distinct: "
    )
    assert "of the calibration itself: too few to hold any back" in quality_sentences(entry)[0]
    assert not judge(40).notes


def test_held_back_samples_are_not_in_the_profile() -> None:
    graph = perceptron()
    rows = draw(0, 40, 24)
    spoiled = rows.copy()
    _, held = halves(np.repeat(np.arange(40.0)[:, None], 24, 1))
    spoiled[numbers(held)] *= 100
    found = []
    for data in (rows, spoiled):
        samples = samples_of(graph, data)
        found.append(judge_of(graph, samples, profile_graph(graph, samples), is_own=True))
    assert found[0].profile == found[1].profile or _ranges(found[0]) == _ranges(found[1])
    entries = [one.entry(QuantizationOptions(), Demands()) for one in found]
    first, second = (entry.figures.sqnr_db or 0.0 for entry in entries)
    assert second < first - 10, "values outside the range are seen"


def _ranges(found: Judge) -> list[tuple[float, float]]:
    return [(tensor.low, tensor.high) for tensor in found.profile.tensors.values()]


def test_a_good_quantization_has_no_shortfall_and_a_coarse_one_has() -> None:
    found = judge(64)
    good = found.entry(QuantizationOptions(), Demands())
    bad = found.entry(COARSE, Demands())
    assert (good.origin, good.samples, good.shortfalls) == (Origin.HELD_BACK.value, 16, ())
    assert (good.figures.sqnr_db or 0) > 30
    assert bad.shortfalls, bad
    assert len(good.worst) == 3
    assert [layer.share for layer in good.worst] == sorted(
        (layer.share for layer in good.worst), reverse=True
    )


def given_back(outputs: list[np.ndarray]) -> Figures:
    """Of a classifier (two rows) and scores beside it, whose true results are 1 to 4."""
    graph = GraphBuilder()
    x = graph.input(real(1, 2), "x")
    ends = graph.add(Logistic(), x), graph.add(Relu(RELU), x)
    one = np.array([[[1, 2]], [[3, 4]], [[0, 1]]], np.float32)
    return figures_of(graph.finish(*ends), [one / 4 - np.float32(0.1), one], outputs)


def test_noise_is_the_mean_of_outputs_and_decisions_are_counted_over_all() -> None:
    one = np.array([[[1, 2]], [[3, 4]], [[0, 1]]], np.float32)
    shares = one / 4 - np.float32(0.1)
    exact = given_back([shares, one])
    assert (exact.decisions, exact.differing, exact.agreement) == (6, 0, 1.0)
    assert exact.sqnr_db == BEST_DB
    other = shares.copy()
    other[0, 0, 1] = 0.6  # it was 0.4
    wrong = given_back([other, 1.1 * one])
    assert (wrong.decisions, wrong.differing, wrong.agreement) == (6, 1, 0.8333)
    noises = [float(np.square(other - shares).sum() / np.square(shares).sum()), 0.01]
    assert wrong.sqnr_db == round(-10 * float(np.log10(sum(noises) / 2)), 1)


@pytest.mark.parametrize(
    ("noises", "decibels"),
    [
        ([], None), ([0.01], 20.0), ([0.01, 0.0], 23.0), ([0.0], BEST_DB), ([np.inf], -BEST_DB),
        ([np.nan, 0.1], -BEST_DB), ([1e30], -BEST_DB), ([1e-30], BEST_DB), ([1.0], 0.0),
    ],
)  # fmt: skip
def test_decibels_are_told_in_tenths_within_limits(
    noises: list[float], decibels: float | None
) -> None:
    assert _decibels(noises) == decibels


def test_too_few_samples_are_judged_on_themselves_and_it_is_said() -> None:
    assert judge(12).origin is Origin.CALIBRATION
    assert judge(16).origin is Origin.HELD_BACK


def test_samples_beside_a_profile_may_be_those_that_it_has_seen() -> None:
    graph = perceptron()
    samples = random_samples(graph, 30)
    found = judge_of(graph, samples, profile_graph(graph, samples), is_own=False)
    entry = found.entry(QuantizationOptions(), Demands())
    assert (entry.origin, entry.samples) == ("given", 30)


def test_samples_of_which_only_those_held_back_vary_are_judged_on_themselves() -> None:
    graph = perceptron()
    rows = np.ones((40, 24), np.float32)
    _, held = halves(np.repeat(np.arange(40.0)[:, None], 24, 1))
    rows[numbers(held)] = draw(1, 10, 24)
    samples = samples_of(graph, rows)
    found = judge_of(graph, samples, profile_graph(graph, samples), is_own=True)
    assert found.origin is Origin.CALIBRATION


@pytest.mark.parametrize(
    ("figures", "demands", "count"),
    [
        (Figures(24.9, None, 0, 0), Demands(), 1),
        (Figures(25.0, 0.98, 100, 2), Demands(), 0),
        (Figures(25.0, 0.97, 100, 3), Demands(), 1),
        (Figures(30.0, 0.9, 10, 1), Demands(), 0),
        (Figures(30.0, 0.9, 10, 1), Demands(agreement=98), 1),
        (Figures(30.0, 1.0, 10, 0), Demands(sqnr_db=31), 1),
        (Figures(None, None, 0, 0), Demands(), 0),
        (Figures(10.0, 0.5, 10, 5), Demands(5, 40), 0),
    ],
    ids=[
        "little signal", "at both limits", "too many others", "one of ten is chance",
        "chance is not asked for", "more is asked for", "nothing to compare", "less is asked for",
    ],
)  # fmt: skip
def test_what_is_too_low(figures: Figures, demands: Demands, count: int) -> None:
    assert len(figures.shortfalls(demands)) == count


def test_what_is_not_all_never_reads_as_all() -> None:
    assert [percent(share) for share in (1.0, 0.9999, 0.984, 0.98)] == [
        "100 %", "99.9 %", "98.4 %", "98 %",
    ]  # fmt: skip


def test_samples_beyond_those_of_calibration_are_to_blame_where_they_are() -> None:
    """More bits would not help, other samples would."""
    graph = perceptron()
    rows = draw(0, 40, 24)
    _, held = halves(np.repeat(np.arange(40.0)[:, None], 24, 1))
    rows[numbers(held)] *= 4
    samples = samples_of(graph, rows)
    found = judge_of(graph, samples, profile_graph(graph, samples), is_own=True)
    entry = found.entry(QuantizationOptions(), Demands())
    assert entry.shortfalls
    (note,) = entry.notes
    assert "holds on samples held back lies beyond the range of those that calibration saw" in note
    assert note.split(" of what ")[1].split(" holds ")[0] == entry.worst[0].tensor
    # Where a range was cut on purpose, and where nothing is low, nobody asks for other samples.
    assert found.entry(COARSE, Demands()).notes == ()
    assert judge(40).entry(COARSE, Demands()).notes == ()
    assert judge(40).entry(QuantizationOptions(), Demands(sqnr_db=99.0)).notes == ()
