"""Samples choose how their model is quantized, where that gains more than chance does."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from glowmcu.ir.graph import Graph
from glowmcu.ir.operation import Array
from glowmcu.ir.types import ElementType, TensorType
from glowmcu.ops.matmul import FullyConnected
from glowmcu.ops.normalization import Softmax
from glowmcu.ops.scan import ArgMax
from glowmcu.ops.transcendental import Logistic
from glowmcu.quality import Demands, Figures
from glowmcu.quant.automatic import Choice, Needs, Trial, _Search, choose
from glowmcu.quant.judgement import Judge, judge_of, parted
from glowmcu.quant.options import QuantizationOptions
from glowmcu.quant.output_errors import OutputErrors
from glowmcu.quant.profiling import Progress, profile_graph
from glowmcu.quant.ranges import Calibration, Method
from glowmcu.quant.real_outputs import stored_samples
from glowmcu.quant.samples import Samples, samples_of
from glowmcu.quant.search_space import SearchSpace
from tests.ir.graphs import GraphBuilder
from tests.quant.networks import RELU, convolutions, draw, perceptron, random_samples, real

PLAIN = QuantizationOptions()
MSE = QuantizationOptions(Calibration(Method.MSE))
ENTROPY = QuantizationOptions(Calibration(Method.ENTROPY))


def judge_on(graph: Graph, samples: Samples) -> Judge:
    return judge_of(graph, samples, profile_graph(graph, samples), is_own=True)


def with_outliers(count: int, seed: int = 3) -> Array:
    """One of four thousand values is two hundred times as large as the others are."""
    rows = draw(seed, count, 24)
    large = np.random.default_rng(seed).random(rows.shape) < 1 / 4000
    return np.where(large, 200 * rows, rows).astype(np.float32)


def uneven_channels() -> Graph:
    """Two layers of which the second undoes what the first does to its channels' sizes."""
    graph = GraphBuilder()
    sizes = np.logspace(-2.5, 1, 16, dtype=np.float32)
    x = graph.input(real(1, 24), "x")
    w = graph.constant(draw(1, 16, 24, scale=0.2) * sizes[:, None], name="w0")
    x = graph.add(FullyConnected(RELU), x, w, graph.constant(draw(2, 16) * sizes), name="first")
    w = graph.constant(draw(3, 4, 16, scale=0.3) / sizes, name="w1")
    x = graph.add(FullyConnected(), x, w, graph.constant(draw(4, 4)), name="second")
    return graph.finish(x)


def found_on_others(judge: Judge, choice: Choice, rows: Array) -> tuple[float, float]:
    """SQNR of the defaults and of what was chosen, on samples that nobody has seen."""
    held = samples_of(judge.graph, rows)
    other = Judge(judge.graph, judge.profile, judge.calibration, held, judge.origin)
    first, second = (
        other.figures(other.quantized(options).graph).sqnr_db for options in (PLAIN, choice.options)
    )
    assert first is not None
    assert second is not None
    return first, second


def test_rare_large_values_are_given_up_and_unseen_samples_gain_by_it() -> None:
    graph = perceptron()
    judge = judge_on(graph, samples_of(graph, with_outliers(256)))
    choice = choose(judge, PLAIN, SearchSpace())
    assert choice.options.calibration.method is not Method.MINMAX
    before, after = found_on_others(judge, choice, draw(77, 200, 24))
    assert after > before + 6


def test_channels_of_different_sizes_are_equalized() -> None:
    graph = uneven_channels()
    judge = judge_on(graph, random_samples(graph, 128))
    choice = choose(judge, PLAIN, SearchSpace())
    assert choice.options.equalization
    before, after = found_on_others(judge, choice, draw(78, 200, 24))
    assert after > before + 3


def test_what_is_tried_is_told_the_best_first_and_one_is_chosen() -> None:
    graph = uneven_channels()
    choice = choose(judge_on(graph, random_samples(graph, 128)), PLAIN, SearchSpace())
    losses = [one.loss for one in choice.tried]
    assert losses == sorted(losses)
    assert [one.is_chosen for one in choice.tried].count(True) == 1
    (usual,) = (one for one in choice.tried if one.choice == "defaults")
    assert usual.loss == 1.0
    assert not usual.is_chosen
    assert len({one.choice for one in choice.tried}) == len(choice.tried)
    assert all(one.figures.decisions == 72 for one in choice.tried), "24 of each third"


def test_the_same_samples_choose_the_same() -> None:
    graph = convolutions()
    first, second = (
        choose(judge_on(graph, random_samples(graph, 40)), PLAIN, SearchSpace()) for _ in range(2)
    )
    assert (first.options, first.tried) == (second.options, second.tried)


def test_samples_that_were_held_back_to_judge_choose_nothing() -> None:
    graph = perceptron()
    rows = with_outliers(256)
    of_numbers = samples_of(graph, np.repeat(np.arange(256.0)[:, None], 24, 1))
    held = parted(of_numbers, range(256))[1]
    spoiled = rows.copy()
    spoiled[[int(sample[0][0, 0]) for sample in held]] *= 50
    first, second = (
        choose(judge_on(graph, samples_of(graph, data)), PLAIN, SearchSpace())
        for data in (rows, spoiled)
    )
    assert first.tried == second.tried


def test_what_is_planned_is_told_from_the_start() -> None:
    """Each candidate by one part of the samples, those that are near the best by all three."""
    graph = convolutions()
    told: list[Progress] = []
    choose(judge_on(graph, random_samples(graph, 40)), PLAIN, SearchSpace(), told.append)
    count = len(SearchSpace().ranges(PLAIN))
    assert count > 4
    assert told[0].total == count + 4 * 2
    assert told[-1].total == count + 4 * 2 + 2 + 2 * 2
    assert [each.done for each in told] == list(range(1, len(told) + 1))
    assert all(each.total is not None and each.done <= each.total for each in told)
    assert {each.activity for each in told} == {"choosing options"}


def test_what_is_open_is_tried_the_other_way_round() -> None:
    """Behind what is best so far; of layers each alone, then the worst together."""
    off = replace(PLAIN, bias_correction=False)
    for best, other in ((PLAIN, off), (off, PLAIN)):
        assert SearchSpace().weights(best) == [best, other]
        assert SearchSpace(bias_correction=False).weights(best) == [best]
    kept = replace(PLAIN, keep_float=("b",), int16=("z",))
    found = SearchSpace().precision(kept, ["a", "b", "c", "a", "d"])
    assert [one.int16 for one in found] == [
        ("z", "a"), ("z", "c"), ("z", "d"), ("z", "a", "c"), ("z", "a", "c", "d"),
    ]  # fmt: skip
    assert SearchSpace(int16=False).precision(kept, ["a"]) == []


def test_a_start_that_cannot_be_made_is_left_for_the_user_to_hear_of() -> None:
    graph = perceptron()
    judge = judge_on(graph, samples_of(graph, with_outliers(128)))
    start = replace(PLAIN, int16=("nobody",))
    choice = choose(judge, start, SearchSpace())
    assert (choice.options, choice.tried) == (start, ())


def test_what_the_user_has_chosen_stays() -> None:
    graph = uneven_channels()
    judge = judge_on(graph, samples_of(graph, with_outliers(128)))
    start = QuantizationOptions(MSE.calibration, bias_correction=False, int16=("second",))
    closed = SearchSpace(calibration=False, equalization=True, bias_correction=False)
    found = choose(judge, start, closed).options
    assert (found.calibration, found.bias_correction) == (start.calibration, False)
    assert found.int16 == ("second",)
    nothing = SearchSpace(calibration=False, equalization=False, bias_correction=False)
    assert choose(judge, start, nothing).options == start


@pytest.mark.parametrize("space", [SearchSpace(), SearchSpace(equalization=False)])
def test_the_first_of_all_candidates_is_the_start(space: SearchSpace) -> None:
    for start in (PLAIN, MSE):
        ranges = space.ranges(start)
        assert ranges[0] == start
        assert len(set(ranges)) == len(ranges)
        assert space.weights(start)[0] == start


def test_too_few_samples_choose_nothing() -> None:
    graph = perceptron()
    choice = choose(judge_on(graph, random_samples(graph, 15)), PLAIN, SearchSpace())
    assert choice == Choice(PLAIN) or (choice.options, choice.tried) == (PLAIN, ())


def test_samples_of_which_few_differ_choose_nothing() -> None:
    graph = perceptron()
    samples = samples_of(graph, np.repeat(draw(1, 15, 24), 4, 0))
    assert choose(judge_on(graph, samples), PLAIN, SearchSpace()).tried == ()


def test_somebody_who_watches_sees_how_far_it_has_come() -> None:
    graph, seen = perceptron(), list[Progress]()
    choose(judge_on(graph, random_samples(graph, 64)), PLAIN, SearchSpace(), seen.append)
    assert {progress.activity for progress in seen} == {"choosing options"}
    done = [progress.done for progress in seen]
    assert done == list(range(1, len(done) + 1))
    assert all(progress.done <= (progress.total or 0) for progress in seen)
    assert len(done) <= 30, "a small set is tried"


def ending_in(op: Softmax | Logistic | None) -> Graph:
    graph = GraphBuilder()
    x = graph.input(real(1, 4), "x")
    w = graph.constant(np.eye(4, dtype=np.float32), name="w")
    x = graph.add(FullyConnected(), x, w, graph.constant(np.zeros(4, np.float32)), name="scores")
    return graph.finish(x if op is None else graph.add(op, x, name="end"))


@pytest.mark.parametrize(
    ("op", "common", "wanted"),
    [(Softmax(), 5.0, 0.0), (Logistic(), 5.0, 5.0), (None, 5.0, 5.0)],
    ids=["softmax", "logistic", "none"],
)
def test_errors_are_those_of_scores_but_for_what_a_softmax_ignores(
    op: Softmax | Logistic | None, common: float, wanted: float
) -> None:
    graph, other = ending_in(op), ending_in(op)
    rows = draw(5, 6, 4)
    errors = OutputErrors(graph, samples_of(graph, rows))
    shifted = samples_of(other, rows + np.float32(common))
    outputs, found = errors.of(other, shifted)
    np.testing.assert_allclose(found, [[wanted] * 6], atol=1e-5)
    assert outputs[0].shape == (6, 1, 4)


def test_errors_of_scores_are_root_mean_squares_of_each_sample() -> None:
    graph = ending_in(Softmax())
    rows = np.zeros((2, 4), np.float32)
    errors = OutputErrors(graph, samples_of(graph, rows))
    moved = rows + np.array([[3, -3, 3, -3], [0, 0, 0, 4]], np.float32)
    _, found = errors.of(graph, samples_of(graph, moved))
    np.testing.assert_allclose(found, [[3.0, np.sqrt((1 + 1 + 1 + 9) / 4)]], rtol=1e-6)


def test_of_integers_the_error_is_the_share_that_differs() -> None:
    graph = GraphBuilder()
    x = graph.input(real(1, 3, 4), "x")
    largest = graph.add(ArgMax(2), x, like=TensorType((1,), ElementType.I32))
    finished = graph.finish(largest)
    rows = np.zeros((2, 3, 4), np.float32)
    rows[:, :, 0] = 1
    moved = rows.copy()
    moved[1, :2, 3] = 2
    outputs, found = OutputErrors(finished, samples_of(finished, rows)).of(
        finished, samples_of(finished, moved)
    )
    assert [output.tolist() for output in outputs] == [[[[0, 0, 0]], [[3, 3, 0]]]]
    np.testing.assert_allclose(found, [[0.0, 2 / 3]])


def test_quantized_graphs_are_compared_by_their_scores_too() -> None:
    graph = ending_in(Softmax())
    rows = draw(6, 40, 4, scale=8)
    judge = judge_on(graph, samples_of(graph, rows))
    made = judge.quantized(PLAIN).graph
    scores = made.producers[made.outputs[0]].inputs[0]
    assert made.outputs[0].type.element is ElementType.I8
    errors = OutputErrors(graph, judge.judged)

    _, found = errors.of(made, stored_samples(made, judge.judged))
    assert 0 < np.median(found) < scores.type.scale, "steps of scores, not of probabilities"


def needs(sqnr_db: float, cost: float = 1.0, least: float = 100.0) -> Needs:
    """Where each tensor of 16 bits costs a share of all cycles."""

    def cycles(graph: Graph) -> float:
        values = [value for node in graph.nodes for value in node.outputs]
        return least + cost * sum(value.type.element is ElementType.I16 for value in values)

    return Needs(Demands(sqnr_db, agreement=0.0), cycles)


ONLY_WIDTH = SearchSpace(calibration=False, equalization=False, bias_correction=False)


def test_layers_are_given_sixteen_bits_where_too_much_is_lost_without() -> None:
    graph = uneven_channels()
    judge = judge_on(graph, random_samples(graph, 128))
    before = judge.figures(judge.quantized(PLAIN).graph).sqnr_db
    assert before is not None
    choice = choose(judge, PLAIN, ONLY_WIDTH, needs=needs(before + 3))
    assert choice.options.int16 == ("first", "second")
    assert next(one for one in choice.tried if one.is_chosen).choice == "int16:first int16:second"
    plain, wide = found_on_others(judge, choice, draw(79, 200, 24))
    assert wide > plain + 3


@pytest.mark.parametrize(("least", "are_chosen"), [(30.0, True), (29.0, False)])
def test_a_tenth_more_cycles_is_what_sixteen_bits_may_take(least: float, are_chosen: bool) -> None:
    """They take three."""
    graph = uneven_channels()
    judge = judge_on(graph, random_samples(graph, 128))
    before = judge.figures(judge.quantized(PLAIN).graph).sqnr_db
    assert before is not None
    choice = choose(judge, PLAIN, ONLY_WIDTH, needs=needs(before + 3, 1.0, least))
    assert (choice.options.int16 == ("first", "second")) is are_chosen


@pytest.mark.parametrize(
    ("gain", "cost", "space"),
    [(-5, 1.0, ONLY_WIDTH), (60, 1.0, ONLY_WIDTH), (3, 11.0, ONLY_WIDTH),
     (3, 1.0, SearchSpace(False, False, False, False))],
    ids=["nothing is lacking", "nothing is enough", "too expensive", "not open"],
)  # fmt: skip
def test_otherwise_all_layers_keep_eight_bits(gain: float, cost: float, space: SearchSpace) -> None:
    graph = uneven_channels()
    judge = judge_on(graph, random_samples(graph, 128))
    before = judge.figures(judge.quantized(PLAIN).graph).sqnr_db
    assert before is not None
    assert choose(judge, PLAIN, space, needs=needs(before + gain, cost)).options == PLAIN


def test_ranges_that_are_enough_go_before_sixteen_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Even where what they gain could be chance: they cost nothing."""
    search, demands = _Search([], None), Demands(30.0)
    plain, better, best = (
        Trial(one, errors=[np.full((1, 4), loss)])
        for one, loss in ((PLAIN, 1.0), (ENTROPY, 0.9), (MSE, 0.8))
    )
    decibels = {PLAIN: 29.0, ENTROPY: 31.0, MSE: 32.0}
    monkeypatch.setattr(search, "_parts", [None])
    monkeypatch.setattr(search, "_trials", {one.options: one for one in (plain, better, best)})
    monkeypatch.setattr(
        search, "_figures", lambda trial: Figures(decibels[trial.options], None, 0, 0)
    )
    assert search.wider(plain, SearchSpace(), Needs(demands, lambda _: 1.0)) is best


def test_layers_are_widened_alone_and_together_the_worst_first() -> None:
    start = QuantizationOptions(keep_float=("b",), int16=("z",))
    found = SearchSpace().precision(start, ["a", "b", "c", "a"])
    assert [options.int16 for options in found] == [("z", "a"), ("z", "c"), ("z", "a", "c")]
    assert SearchSpace(int16=False).precision(start, ["a"]) == []


@pytest.mark.parametrize(
    ("made", "best"),
    [
        ([(PLAIN, 1), (MSE, 1)], PLAIN), ([(PLAIN, 1), (MSE, 3)], PLAIN),
        ([(PLAIN, 3), (MSE, 1)], PLAIN), ([(PLAIN, 3), (MSE, 3)], MSE), ([(MSE, 3)], None),
        ([(PLAIN, 3)], PLAIN), ([], None),
    ],
    ids=["neither by all", "the other alone", "the default alone", "both", "not the default",
         "not the other", "nothing"],
)  # fmt: skip
def test_a_default_that_only_some_parts_can_judge_is_not_compared(
    made: list[tuple[QuantizationOptions, int]],
    best: QuantizationOptions | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What `made` has can be made for as many of the three parts as it says."""
    search, errors = _Search([], None), {PLAIN: 1.0, MSE: 0.5}
    trials = {one: Trial(one, errors=[np.full((1, 4), errors[one])]) for one, _ in made}

    def judged(options: QuantizationOptions, count: int) -> Trial | None:
        return trials[options] if dict(made).get(options, 0) >= count else None

    monkeypatch.setattr(search, "_parts", [None] * 3)
    monkeypatch.setattr(search, "_judged", judged)
    found = search.best([PLAIN, MSE])
    assert (None if found is None else found.options) == best


@pytest.mark.parametrize(
    ("errors", "wins"),
    [
        ([0.9, 0.9, 0.8, 0.9], True), ([0.1, 1.8, 0.2, 1.6], False), ([1.0, 1.0, 1.0, 1.0], False),
        ([1.1, 1.0, 1.1, 1.1], False),
    ],
    ids=["always better", "better by chance", "the same", "worse"],
)  # fmt: skip
def test_the_default_stays_unless_the_gain_is_more_than_its_scatter(
    errors: list[float], wins: bool
) -> None:
    usual, other = (
        Trial(options, errors=[np.array([row])])
        for options, row in ((PLAIN, [1.0] * 4), (MSE, errors))
    )
    assert _Search([], None)._winner([usual, other]) is (other if wins else usual)
