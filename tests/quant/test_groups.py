"""Tensors that share parameters, and graphs that share a run: who goes together with whom."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from glowmcu.ir.graph import Graph, Node, State, Value
from glowmcu.ir.quantization_rule import QuantizationRule, ResultRange, StateRule
from glowmcu.ir.types import ElementType, Quantization
from glowmcu.ops.activation import Relu
from glowmcu.ops.elementwise import Add
from glowmcu.ops.matmul import FullyConnected
from glowmcu.ops.shape import Reshape
from glowmcu.quant.options import QuantizationOptions
from glowmcu.quant.parameters import (
    _fixed_parameters,
    _group,
    _group_wide_states,
    _Groups,
    _holds,
    _join_if_free,
    _join_state,
    _Ranges,
    _unify,
    wide_states,
)
from glowmcu.quant.parameters import samples_of as samples_of_node
from glowmcu.quant.profiling import BATCH_SIZE, profile_graph
from glowmcu.quant.quantizer import quantize_graph
from glowmcu.quant.ranges import Calibration, Method
from glowmcu.quant.samples import samples_of
from glowmcu.quant.side_by_side import SideBySide
from tests.ir.graphs import GraphBuilder
from tests.quant.networks import RELU, draw, real

SHARE, SIGNED = Quantization((1 / 256,), (-128,)), Quantization((1 / 128,), (0,))


def grouped(**fixed: Quantization | None) -> tuple[_Groups, dict[str, Value]]:
    """Values by name, each in a group of its own."""
    groups, values = _Groups(_fixed_parameters), {}
    for name, quantization in fixed.items():
        values[name] = Value(real(1), name)
        groups.root(values[name])
        if quantization is not None:
            groups.fixed[values[name]] = quantization
    return groups, values


def told(groups: _Groups) -> list[str]:
    return sorted("".join(v.name for v in members) for members in groups.members().values())


@pytest.mark.parametrize(
    ("result", "operand", "together", "fixed"),
    [
        (None, None, True, None), (SHARE, None, True, SHARE), (None, SIGNED, True, SIGNED),
        (SHARE, SHARE, True, SHARE), (SHARE, SIGNED, False, SHARE),
    ],
)  # fmt: skip
def test_a_state_joins_its_result_unless_both_are_fixed_differently(
    result: Quantization | None,
    operand: Quantization | None,
    together: bool,
    fixed: Quantization | None,
) -> None:
    groups, values = grouped(r=result, o=operand)
    _join_if_free(groups, values["r"], values["o"])
    assert told(groups) == (["ro"] if together else ["o", "r"])
    assert groups.fixed_of(values["r"]) == fixed
    _join_if_free(groups, values["r"], None)
    assert groups.fixed_of(values["o"]) == (fixed if together else operand)


@pytest.mark.parametrize(
    ("known", "fixed", "initial", "wanted"),
    [
        ("", {}, 0.5, []),
        ("s", {}, 0.5, ["sv"]), ("v", {}, 0.5, ["sv"]), ("sv", {}, 0.5, ["sv"]),
        ("v", {"v": SIGNED}, 0.5, ["sv"]), ("sv", {"s": SIGNED}, 0.5, ["sv"]),
        ("sv", {"s": SIGNED, "v": SIGNED}, 0.5, ["sv"]),
        ("sv", {"s": SIGNED, "v": SHARE}, 0.5, ["s", "v"]),
        ("v", {"v": SIGNED}, 1.5, ["s", "v"]), ("v", {"v": SHARE}, -0.5, ["s", "v"]),
        ("v", {}, 1.5, ["sv"]),
    ],
)  # fmt: skip
def test_a_state_is_stored_as_what_it_becomes_unless_that_is_fixed_and_too_narrow(
    known: str, fixed: dict[str, Quantization], initial: float, wanted: list[str]
) -> None:
    groups, values = grouped(**{name: fixed.get(name) for name in known})
    s, v = (values.get(name) or Value(real(1), name) for name in "sv")
    _join_state(groups, State(s, np.array([initial], np.float32)), v, ElementType.I8)
    assert ["".join(sorted(group)) for group in told(groups)] == wanted
    for value in (s, v) if wanted == ["sv"] else ():
        assert groups.fixed_of(value) == next(iter(fixed.values()), None)


@pytest.mark.parametrize(
    ("a", "b", "with_result", "wanted"),
    [
        (None, None, True, ["abr"]), (SHARE, SHARE, True, ["abr"]),
        (SHARE, None, True, ["a", "br"]),
        (SHARE, SIGNED, True, ["a", "b", "r"]), (None, None, False, ["ab", "r"]),
        (None, SHARE, False, ["a", "b", "r"]), (SHARE, SHARE, False, ["ab", "r"]),
    ],
)  # fmt: skip
def test_operands_are_unified_but_those_that_are_fixed_to_something_else(
    a: Quantization | None, b: Quantization | None, with_result: bool, wanted: list[str]
) -> None:
    groups, values = grouped(a=a, b=b, r=None)
    results = [values["r"]] if with_result else []
    _unify(groups, [values["a"], values["b"]], results)
    assert sorted("".join(sorted(each)) for each in told(groups)) == wanted


ALONE = ["a", "b", "r", "s"]
#: Rules of a node that makes `r` and `s` of `a` and `b`: who goes together, what is int16 anyway.
RULES: dict[str, tuple[QuantizationRule, list[str], str]] = {
    "a range each": (QuantizationRule((0, 1)), ALONE, ""),
    "one operand": (QuantizationRule((1,)), ["b", "r", "s"], ""),
    "the same range": (QuantizationRule((0, 1), result=ResultRange.SAME), ["ars", "b"], ""),
    "one range for all": (QuantizationRule((0, 1), unified=True), ["abrs"], ""),
    "samples": (QuantizationRule((0, 1), samples=(1,)), ["a", "r", "s"], ""),
    "a state": (QuantizationRule((0, 1), states=(StateRule(1, 1),)), ["a", "brs"], ""),
    "a state of the first operand": (
        QuantizationRule((0, 1), states=(StateRule(0, 1),)), ["ars", "b"], "",
    ),
    "a state that begins anew": (
        QuantizationRule((0, 1), states=(StateRule(None, 1),)), ["a", "b", "rs"], "",
    ),
    "a wide state": (
        QuantizationRule((0, 1), states=(StateRule(1, 1, wide=True),)), ["a", "bs", "r"], "",
    ),
    "a wide state that begins anew": (
        QuantizationRule((0, 1), states=(StateRule(None, 1, wide=True),)), ALONE, "",
    ),
    "a wide power of two": (
        QuantizationRule((0, 1), states=(StateRule(1, 1, True, True),)), ["a", "bs", "r"], "s",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("rule", "wanted", "powers"), RULES.values(), ids=RULES)
def test_a_rule_says_which_tensors_of_a_node_go_together(
    rule: QuantizationRule, wanted: list[str], powers: str
) -> None:
    values = {name: Value(real(1), name) for name in "abrs"}
    node = Node(Add(), (values["a"], values["b"]), (values["r"], values["s"]), "n")
    groups = _Groups(_fixed_parameters)
    _group(groups, node, rule)
    found = _group_wide_states(groups, node, rule)
    assert sorted("".join(sorted(each)) for each in told(groups)) == wanted
    assert {value.name for value in found} == set(powers)
    assert wide_states(node, rule) == {values["s"] for state in rule.states if state.wide}
    assert samples_of_node(node, rule) == {values["b"] for _ in rule.samples}


def test_groups_of_groups_have_one_root_and_what_is_fixed_of_either() -> None:
    groups, values = grouped(a=None, b=None, c=SHARE, d=None)
    groups.join(values["a"], values["b"])
    groups.join(values["d"], values["c"])
    assert groups.fixed_of(values["d"]) == SHARE
    groups.join(values["b"], values["c"])
    groups.join(values["d"], values["a"])
    assert told(groups) == ["abcd"]
    assert {groups.fixed_of(value) for value in values.values()} == {SHARE}
    assert {groups.root(value) for value in values.values()} == {values["a"]}
    assert list(groups.fixed) == [values["a"]]


@pytest.mark.parametrize(
    ("fixed", "numbers", "holds"),
    [
        (SIGNED, [-1.0, 1.0], True), (SIGNED, [1.001], False), (SIGNED, [-1.0078125], True),
        (SIGNED, [-1.008], False), (SIGNED, [], True), (SIGNED, [0.5, 1.5, -0.5], False),
        (SHARE, [0.0, 1.0], True), (SHARE, [1.001], False), (SHARE, [-0.00390625], True),
        (SHARE, [-0.004], False),
    ],
)  # fmt: skip
def test_what_is_stored_may_be_a_step_beyond_its_type(
    fixed: Quantization, numbers: list[float], holds: bool
) -> None:
    assert _holds(fixed, ElementType.I8, np.array(numbers, np.float32)) == holds


def test_ranges_are_measured_but_those_of_constants_and_of_nothing() -> None:
    graph = GraphBuilder()
    x = graph.input(real(2, 2), "x")
    inner, outer = (graph.add(Relu(RELU), x, name=name) for name in ("inner", "outer"))
    nothing = graph.add(Relu(RELU), graph.input(real(0, 2), "none"), name="nothing")
    numbers = graph.constant(np.array([-3.0, 7.0], np.float32), name="numbers")
    finished = graph.finish(outer, nothing, graph.add(Relu(RELU), inner, name="end"))
    profiles = profile_graph(
        finished,
        samples_of(
            finished,
            {
                "x": np.array([[[0, 0], [0, 0]]] * 500 + [[[1, 1], [1, 9]]], np.float32),
                "none": np.zeros((501, 0, 2), np.float32),
            },
        ),
    )
    ranges = _Ranges(finished, profiles, Calibration(Method.PERCENTILE, percentile=99.0))
    assert ranges.of(nothing) == (0.0, 0.0)
    assert ranges.of(numbers) == (-3.0, 7.0)
    # What an application reads is not cut off.
    assert ranges.of(outer) == (0.0, 9.0)
    assert 0.0 < ranges.of(inner)[1] < 9.0


def reshaped(*shape: int) -> Graph:
    graph = GraphBuilder()
    x = graph.input(real(1, 2, 3), "x")
    return graph.finish(graph.add(Reshape(shape), x, name="y"))


@pytest.mark.parametrize(
    ("first", "second", "counts"),
    [((1, 6), (1, 6), [5]), ((1, 6), (6,), [1] * 5), ((6,), (1, 6), [1] * 5)],
)
def test_graphs_run_in_batches_where_both_can(
    first: tuple[int, ...], second: tuple[int, ...], counts: list[int]
) -> None:
    both = SideBySide(reshaped(*first), reshaped(*second))
    samples = samples_of(both.reference, draw(1, 5, 2, 3))
    assert [count for _, _, count in both.runs(samples)] == counts
    assert [count for _, _, count in both.runs(samples.first(1))] == [1]
    assert [count for _, _, count in both.runs(samples.first(0))] == []


def test_a_batch_is_as_long_as_runs_are() -> None:
    both = SideBySide(reshaped(1, 6), reshaped(1, 6))
    samples = samples_of(both.reference, draw(1, BATCH_SIZE + 3, 2, 3))
    runs = list(both.runs(samples))
    assert [count for _, _, count in runs] == [BATCH_SIZE, 3]
    assert np.array_equal(
        np.concatenate([inputs[0] for _, inputs, _ in runs]),
        np.concatenate([sample[0] for sample in samples]),
    )
    assert runs[0][0].reference.inputs[0].type.shape == (BATCH_SIZE, 2, 3)


@pytest.mark.parametrize("reach", [(9.0, 1.0), (1.0, 9.0)], ids=["state", "what it becomes"])
def test_an_int8_state_spans_what_either_end_of_a_run_does(reach: tuple[float, float]) -> None:
    """A layer reads it, so that it is none of those that need 16 bits."""
    graph = GraphBuilder()
    x, old = graph.input(real(1, 3), "x"), graph.input(real(1, 3), "old")
    w, b = graph.constant(np.eye(3, dtype=np.float32)), graph.constant(np.zeros(3, np.float32))
    y = graph.add(Add(), graph.add(FullyConnected(), old, w, b, name="layer"), x, name="y")
    ends = graph.finish(y, graph.add(FullyConnected(), x, w, b, name="new"))
    looped = replace(ends, states=(State(old, np.zeros((1, 3), np.float32)),))
    rows = np.array([[1, -1, 0]] * 4, np.float32)
    samples = samples_of(ends, {"x": reach[1] * rows, "old": reach[0] * rows})
    made = quantize_graph(looped, profile_graph(ends, samples))
    (state,) = made.states
    assert state.value.type == made.outputs[-1].type
    assert state.value.type.element is ElementType.I8
    assert state.value.type.scale == pytest.approx(18 / 255, rel=0.01)


@pytest.mark.parametrize("kept", ["add", ""])
def test_a_state_is_stored_as_those_compute_with_it(kept: str) -> None:
    graph = GraphBuilder()
    x, old = graph.input(real(1, 3), "x"), graph.input(real(1, 3), "old")
    total = graph.add(Add(), x, old, name="total")
    data = np.array([[0.5, -0.25, 1.0]], np.float32)
    ends = graph.finish(graph.add(Relu(RELU), total, name="y"), total)
    looped = replace(ends, states=(State(old, data),))
    samples = samples_of(ends, {"x": draw(1, 9, 3), "old": draw(2, 9, 3)})
    names = (kept, "relu") if kept else ()
    options = QuantizationOptions(keep_float=names)
    made = quantize_graph(looped, profile_graph(ends, samples), options)
    (state,) = made.states
    assert made.inputs[-1] is state.value
    assert state.value.type == made.outputs[-1].type
    if kept:
        assert state.value.type == real(1, 3)
        assert np.array_equal(state.initial, data)
    else:
        assert state.value.type.element is ElementType.I16
        np.testing.assert_allclose(state.initial * state.value.type.scale, data, atol=1e-3)
