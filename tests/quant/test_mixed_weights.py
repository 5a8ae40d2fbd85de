"""Layers get weights of four bits where the samples bear it, or as a budget needs them."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import glowmcu
from glowmcu.errors import GlowmcuError
from glowmcu.ir.graph import Graph
from glowmcu.manifest import read_manifest
from glowmcu.ops.matmul import FullyConnected
from glowmcu.quality import Demands, quality_of, quality_record
from glowmcu.quality_text import quality_sentences
from glowmcu.quant.automatic import Needs
from glowmcu.quant.judgement import Judge, judge_of
from glowmcu.quant.mixed_weights import (
    MixedWeights,
    _harm,
    _Layer,
    _most,
    _name,
    _Search,
    choose_four_bits,
)
from glowmcu.quant.options import QuantizationOptions
from glowmcu.quant.profiling import profile_graph
from glowmcu.quant.samples import samples_of
from glowmcu.report.tables import summary_lines
from tests.conftest import REPO
from tests.ir.graphs import GraphBuilder
from tests.quant.networks import RELU, draw, real

PLAIN = QuantizationOptions(adaptive_rounding=True)
DIGITS = REPO / "examples" / "digits"
NAMES = ("broad", "rough", "last")


def uneven() -> Graph:
    """Weights of `broad` are on a grid of fifteen steps; those of `rough` are few and are not."""
    graph = GraphBuilder()
    x = graph.input(real(1, 24), "x")
    grid = np.random.default_rng(0).integers(-7, 8, (64, 24)).astype(np.float32)
    grid[:, 0] = 7
    x = graph.add(
        *(FullyConnected(RELU), x, graph.constant(grid / 20, name="w0")),
        graph.constant(draw(2, 64), name="b0"), name="broad",
    )  # fmt: skip
    for seed, (name, depth, before, clamp) in enumerate(
        (("rough", 8, 64, RELU), ("last", 4, 8, None))
    ):
        w = graph.constant(draw(seed, depth, before, scale=0.2), name=f"w_{name}")
        op = FullyConnected() if clamp is None else FullyConnected(clamp)
        x = graph.add(op, x, w, graph.constant(draw(9, depth), name=f"b_{name}"), name=name)
    return graph.finish(x)


@pytest.fixture(scope="module")
def judge() -> Judge:
    graph = uneven()
    # Of even spread: whichever samples calibrate, others are within their range.
    rows = np.random.default_rng(5).uniform(-1, 1, (192, 24)).astype(np.float32)
    samples = samples_of(graph, rows)
    return judge_of(graph, samples, profile_graph(graph, samples), is_own=True)


def packed_bytes(graph: Graph) -> int:
    """Of weights, two to a byte where they are -8..7."""
    size = 0
    for node in graph.nodes:
        data = graph.constant_data(node.inputs[1]) if len(node.inputs) == 3 else None
        if data is not None:
            size += data.size // 2 if np.abs(data.astype(int)).max() <= 7 else data.size
    return size


def mixed(judge: Judge, db: float, budget: int | None = None) -> MixedWeights:
    needs = Needs(Demands(db, 0.0), lambda _: 0.0, packed_bytes, budget)
    return choose_four_bits(judge, PLAIN, needs)


def test_every_layer_has_four_bits_where_all_bear_it(judge: Judge) -> None:
    found = mixed(judge, db=5.0)
    assert found.options == replace(PLAIN, four_bit_weights=NAMES)
    assert [(layer.node, layer.bits) for layer in found.layers] == [(name, 4) for name in NAMES]
    assert [layer.weights for layer in found.layers] == [64 * 24, 8 * 64, 4 * 8]
    assert found.layers[0].op == "fully_connected"
    search = _Search(judge, PLAIN, Needs(Demands(5.0, 0.0), lambda _: 0.0))
    exact = [search.loss([_Layer(each.node, each.op, each.weights)]) for each in found.layers]
    assert [layer.loss for layer in found.layers] == [round(loss or 0.0, 3) for loss in exact]
    assert any(round(loss or 0.0, 3) != round(loss or 0.0, 2) for loss in exact)


def test_what_bears_four_bits_has_them_and_the_rest_keeps_eight(judge: Judge) -> None:
    found = mixed(judge, db=36.0)
    assert found.options.four_bit_weights == ("broad",)
    bits = {layer.node: layer for layer in found.layers}
    assert [bits[name].bits for name in NAMES] == [4, 8, 8]
    assert bits["broad"].loss < 1.3 < bits["rough"].loss
    made = judge.quantized(found.options).graph
    assert not judge.figures(made).shortfalls(Demands(30.0, 0.0))


def test_no_layer_has_four_bits_where_none_bears_it(judge: Judge) -> None:
    assert mixed(judge, db=150.0).options.four_bit_weights == ()


@pytest.mark.parametrize(
    ("budget", "names"),
    [(2080, ()), (2079, ("broad",)), (2080 - 768, ("broad",)), (2080 - 769, ("broad", "rough")),
     (1040, NAMES)],
    ids=["no need", "a byte too much", "the first is enough", "one byte more", "all"],
)  # fmt: skip
def test_a_budget_takes_as_few_layers_as_it_needs_the_least_harmful_first(
    budget: int, names: tuple[str, ...], judge: Judge
) -> None:
    assert mixed(judge, db=150.0, budget=budget).options.four_bit_weights == names


def test_a_budget_that_cannot_be_met_names_the_nearest(judge: Judge) -> None:
    with pytest.raises(GlowmcuError) as caught:
        mixed(judge, db=20.0, budget=1039)
    assert caught.value.code == "GM352"
    assert "with 3 of 3 layers it is 1 040 B" in str(caught.value).replace("\u202f", " ")
    assert "give flash_budget=1040 or more" in str(caught.value)


def test_layers_that_cannot_have_four_bits_are_not_borne(judge: Judge) -> None:
    search = _Search(judge, PLAIN, Needs(Demands(-1000.0, 0.0), lambda _: 0.0))
    assert search.bears([_Layer("rough", "fully_connected", 512)])
    nobody = [_Layer("nobody", "fully_connected", 512)]
    assert not search.bears(nobody)
    assert search.loss(nobody) is None


def test_few_samples_are_judged_as_a_whole(judge: Judge) -> None:
    graph = judge.graph
    samples = samples_of(graph, np.random.default_rng(5).uniform(-1, 1, (4, 24)).astype("f4"))
    few = judge_of(graph, samples, profile_graph(graph, samples), is_own=True)
    needs = Needs(Demands(20.0, 0.0), lambda _: 0.0)
    assert [part.judge for part in _Search(few, PLAIN, needs)._parts] == [few]
    assert len(_Search(judge, PLAIN, needs)._parts) == 3
    assert _Search(few, PLAIN, needs).loss([_Layer("rough", "fully_connected", 512)]) is not None


@pytest.mark.parametrize(
    ("loss", "weights", "harm"), [(1.0, 7, 0.0), (3.0, 4, 2.0), (0.5, 3, -0.25), (1.5, 1, 1.25)]
)
def test_the_harm_of_four_bits_is_noise_a_weight(loss: float, weights: int, harm: float) -> None:
    assert _harm(loss, weights) == harm


@pytest.mark.parametrize("count", range(9))
def test_the_most_that_is_enough_is_found_by_halves(count: int) -> None:
    for most in range(count + 1):
        asked: list[int] = []

        def is_enough(many: int) -> bool:
            asked.append(many)  # noqa: B023
            return many <= most  # noqa: B023

        assert _most(count, is_enough) == most
        assert len(asked) <= 1 + count.bit_length()
    assert _most(count, lambda many: False) == 0


@pytest.mark.parametrize(
    ("node", "value", "name"),
    [("a", "b", "a"), ("", "b", "b"), ("a,1", "b", "b"), ("a,1", "b,2", ""), ("", "", "")],
)
def test_a_layer_is_called_by_a_name_without_a_comma(node: str, value: str, name: str) -> None:
    graph = GraphBuilder()
    x, w, b = graph.input(real(1, 2)), graph.constant(draw(1, 2, 2)), graph.constant(draw(2, 2))
    graph.add(FullyConnected(), x, w, b, name="layer")
    layer = graph.nodes[-1]
    outputs = (replace(layer.output, name=value),)
    assert _name(replace(layer, name=node, outputs=outputs)) == name


def test_a_bundle_says_which_layers_have_four_bits(tmp_path: Path) -> None:
    chosen = glowmcu.Quantization(weights="mixed", search="plain")
    given = {"samples": DIGITS / "calibration.npz", "quantization": chosen}
    bundle = glowmcu.compile(DIGITS / "digits.onnx", output=tmp_path / "mixed", **given)
    (entry,) = bundle.manifest.quality
    names = ",".join(layer.node for layer in entry.bits if layer.bits == 4)
    assert names
    assert bundle.manifest.options["four_bit_weights"] == names
    assert bundle.manifest.options["adaround"] == "yes"
    assert read_manifest(bundle.path).quality == (entry,)
    text = "\n".join(quality_sentences(entry))
    assert f"weights of four bits: {names.replace(',', ', ')}" in text
    assert "Weights of four bits" in glowmcu.report(bundle).html
    lines = "\n".join(summary_lines(bundle))
    assert lines.count(names.split(",")[0]) == 1, lines
    assert "four_bit_weights" not in lines


@pytest.mark.parametrize(
    ("db", "said"),
    [
        (5.0, "weights of four bits: broad, rough, last, 100 % of the weights"),
        (36.0, "weights of four bits: broad, 73.8 % of the weights; eight for rough "),
        (150.0, "weights of four bits: no layer bears them"),
    ],
    ids=["all", "some", "none"],
)
def test_the_choice_is_told_in_a_sentence(db: float, said: str, judge: Judge) -> None:
    found = mixed(judge, db)
    entry = replace(judge.entry(PLAIN, Demands()), bits=found.layers)
    assert any(line.startswith(said) for line in quality_sentences(entry))
    assert quality_of(json.loads(json.dumps(quality_record([entry])))) == (entry,)
