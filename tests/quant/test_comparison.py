"""Layer by layer against float: the layer that was spoiled is found, and exact layers are exact."""

from __future__ import annotations

import math

import numpy as np
import pytest

from glowmcu.errors import GlowmcuError
from glowmcu.ir.graph import Graph
from glowmcu.ir.types import ElementType, Quantization, TensorType
from glowmcu.ops.comparison import Select
from glowmcu.ops.convolution import Conv2D
from glowmcu.ops.elementwise import Add
from glowmcu.ops.normalization import Softmax
from glowmcu.ops.pooling import MaxPool2D
from glowmcu.ops.quantization import Dequantize
from glowmcu.ops.scan import ArgMax
from glowmcu.ops.transcendental import Log
from glowmcu.quant.comparison import Comparison, Meter, compare_graphs
from glowmcu.quant.comparison import sqnr_db as comparison_db
from glowmcu.quant.options import Interface, QuantizationOptions
from glowmcu.quant.own_errors import own_errors
from glowmcu.quant.profiling import profile_graph
from glowmcu.quant.quantizer import quantize
from glowmcu.quant.samples import samples_of
from glowmcu.quant.side_by_side import SideBySide, real_values, rerun, run_tensors
from tests.ir.graphs import GraphBuilder, int8
from tests.quant.networks import RELU, convolutions, draw, perceptron, random_samples, real, sqnr_db

LAYERS = ("first", "second", "third", "fourth")


def chain(bad: str = "") -> Graph:
    """Four 1x1 layers. One channel of layer `bad` reaches 1000 times as far as the others, and the
    next layer scales it down again: in float nothing is the matter.
    """
    graph = GraphBuilder()
    x = graph.input(real(1, 6, 6, 8), "image")
    down = np.ones(8, np.float32)
    for index, name in enumerate(LAYERS):
        w = draw(index, 8, 1, 1, 8, scale=0.4) * down
        b = draw(index + 20, 8, scale=0.1)
        down = np.ones(8, np.float32)
        if name == bad:
            w[3] *= 1000
            b[3] *= 1000
            down[3] = 1e-3
        x = graph.add(Conv2D(clamp=RELU), x, graph.constant(w), graph.constant(b), name=name)
    return graph.finish(x)


def compared(graph: Graph, **options: object) -> Comparison:
    samples = random_samples(graph, 40)
    profile = profile_graph(graph, samples)
    result = quantize(graph, profile, QuantizationOptions(**options))  # type: ignore[arg-type]
    return compare_graphs(result.reference, result.graph, samples)


@pytest.mark.parametrize("bad", LAYERS[:3])
def test_the_layer_with_one_channel_a_thousand_times_wider_is_ranked_first(bad: str) -> None:
    found = compared(chain(bad))
    assert found.layers[0].node == bad
    assert found.layers[0].share > 0.9
    assert found.output_db < compared(chain()).output_db - 6


def test_errors_accumulate_along_the_layers_but_not_when_isolated() -> None:
    layers = {layer.node: layer for layer in compared(chain("first")).layers}
    assert layers["fourth"].accumulated.sqnr_db < layers["fourth"].isolated.sqnr_db - 6


def test_equalization_mends_what_one_wide_channel_spoiled() -> None:
    plain, levelled = (compared(chain("second"), equalization=on) for on in (False, True))
    assert levelled.output_db > plain.output_db + 6


def test_a_layer_kept_float_has_no_error_of_its_own() -> None:
    found = {layer.node: layer for layer in compared(chain("second"), keep_float=("third",)).layers}
    assert found["third"].element == "float32"
    assert found["third"].share == 0.0
    assert found["third"].alone_db == math.inf


def test_moving_and_choosing_elements_adds_no_error() -> None:
    graph = GraphBuilder()
    x = graph.input(real(1, 6, 6, 4), "image")
    w, b = graph.constant(draw(1, 4, 1, 1, 4)), graph.constant(draw(2, 4))
    x = graph.add(Conv2D(), x, w, b, name="conv")
    x = graph.add(MaxPool2D((2, 2), (2, 2)), x, name="pool")
    layers = {layer.node: layer for layer in compared(graph.finish(x)).layers}
    assert layers["pool"].alone_db == math.inf
    assert layers["pool"].isolated.sqnr_db < math.inf
    assert layers["conv"].alone_db < math.inf


def test_a_layers_own_error_is_against_float_on_the_very_same_operands() -> None:
    """Of two operands of different scales: what storing them loses is not the sum's doing."""
    graph = GraphBuilder()
    x, y = (graph.input(real(1, 64), name) for name in "xy")
    total = graph.add(Add(), x, y, name="sum")
    reference = graph.finish(total)
    data = {"x": draw(1, 40, 64), "y": draw(2, 40, 64, scale=9.0)}
    made = quantize(reference, profile_graph(reference, samples_of(reference, data))).graph
    lanes = SideBySide(reference, made)
    inputs = [data["x"][:1], data["y"][:1]]
    plain, stored = (
        run_tensors(reference, inputs),
        run_tensors(made, lanes.quantized_inputs(inputs)),
    )
    own = {origin.name: each for origin, _, *each in own_errors(lanes, plain, stored)}
    result = real_values(stored[made.outputs[0]], made.outputs[0].type)
    operands = [real_values(stored[value], value.type) for value in made.inputs]
    for name, value, kept in zip("xy", inputs, operands, strict=True):
        assert np.array_equal(own[name], [kept, kept])
        assert not np.array_equal(value, kept)
    got, spoiled = own["sum"]
    assert np.array_equal(got, result)
    wrong = result - (operands[0] + operands[1])
    assert 0 < np.abs(wrong).max() < 0.55 * made.outputs[0].type.scale
    np.testing.assert_allclose(spoiled, plain[total] + wrong, rtol=0, atol=1e-5)


@pytest.mark.parametrize("interface", list(Interface))
def test_the_outputs_sqnr_is_that_of_running_both_graphs(interface: Interface) -> None:
    graph = convolutions()
    samples = random_samples(graph, 37)
    profile = profile_graph(graph, samples)
    result = quantize(graph, profile, QuantizationOptions(interface=interface))
    found = compare_graphs(graph, result.graph, samples)
    assert found.sample_count == 37
    assert found.output_db == pytest.approx(sqnr_db(graph, result.graph, samples), abs=1e-3)
    assert found.outputs["third"].sqnr_db == pytest.approx(found.output_db)
    assert found.outputs["third"].cosine == pytest.approx(1.0, abs=1e-3)


@pytest.mark.parametrize("interface", list(Interface))
def test_storing_the_input_is_a_row_of_its_own(interface: Interface) -> None:
    rows = [row for row in compared(perceptron(), interface=interface).layers if not row.node]
    assert [(row.tensor, row.operator, row.element) for row in rows] == [
        ("features", "quantize", "int8")
    ]
    assert 25 < rows[0].alone_db < 60


def test_saturation_counts_values_that_the_type_cannot_reach() -> None:
    graph = perceptron()
    profile = profile_graph(graph, samples_of(graph, draw(0, 64, 24, scale=0.5)))
    int8 = quantize(graph, profile).graph
    loud = samples_of(graph, draw(0, 64, 24, scale=2.0))
    layers = {layer.tensor: layer for layer in compare_graphs(graph, int8, loud).layers}
    low, high = reach_of_the_input(int8)
    values = draw(0, 64, 24, scale=2.0)
    outside = float(np.mean((values < low) | (values > high)))
    assert layers["features"].isolated.saturated == pytest.approx(outside, abs=0.01)
    assert outside > 0.2


@pytest.mark.parametrize(
    ("value", "saturated"),
    [(62.0, False), (62.24, False), (62.26, True), (-65.5, False), (-65.74, False),
     (-65.76, True)],
    ids=["the greatest", "rounds to the greatest", "past the greatest", "the least",
         "rounds to the least", "past the least"],
)  # fmt: skip
def test_what_rounds_to_the_last_step_is_not_saturated(value: float, saturated: bool) -> None:
    type_ = TensorType((1,), ElementType.I8, Quantization((0.5,), (3,)))
    meter = Meter()
    meter.add(np.array([value]), np.array([0.0]), type_)
    assert meter.finish().saturated == float(saturated)


def test_layers_without_any_error_have_no_share_of_it() -> None:
    graph = GraphBuilder()
    x = graph.input(real(1, 6, 6, 1), "image")
    finished = graph.finish(graph.add(MaxPool2D((2, 2), (2, 2)), x, name="pool"))
    # Both ends of -8 to 7.9375 are there, so that a step is 1/16: every value is stored exactly.
    data = np.random.default_rng(0).integers(-128, 128, (8, 6, 6, 1)) / 16
    data[:, 0, 0], data[:, 0, 1] = -8, 127 / 16
    samples = samples_of(finished, data)
    int8 = quantize(finished, profile_graph(finished, samples)).graph
    found = compare_graphs(finished, int8, samples)
    assert [layer.share for layer in found.layers] == [0.0, 0.0]
    assert found.output_db == math.inf


def test_of_several_outputs_each_counts_alike() -> None:
    graph = GraphBuilder()
    x = graph.input(real(1, 6, 6, 8), "image")
    w, b = draw(1, 4, 1, 1, 8), draw(2, 4)
    outputs = [
        graph.add(Conv2D(), x, graph.constant(w * scale), graph.constant(b * scale), name=name)
        for name, scale in (("quiet", np.float32(0.01)), ("loud", np.float32(50)))
    ]
    found = compared(graph.finish(*outputs))
    noises = [10 ** (-each.sqnr_db / 10) for each in found.outputs.values()]
    assert len(noises) == 2
    assert 10 ** (-found.output_db / 10) == pytest.approx(sum(noises) / 2, rel=1e-6)


def test_real_numbers_are_those_of_one_scale() -> None:
    stored = np.array([[-3, 4]], np.int8)
    one, each = Quantization((0.5,), (1,)), Quantization((0.5, 2.0), (0, 0), 1)
    read = [
        real_values(stored, TensorType((1, 2), ElementType.I8, how)) for how in (one, each, None)
    ]
    assert read[0].tolist() == [[-2.0, 1.5]]
    assert read[1] is read[2] is stored


def test_an_input_that_is_stored_already_is_no_row() -> None:
    graph = GraphBuilder()
    stored, x = graph.input(int8(1, 4, scale=0.25), "stored"), graph.input(real(1, 4), "x")
    real_values = graph.add(Dequantize(), stored, like=real(1, 4), name="back")
    built = graph.finish(graph.add(Add(), real_values, x, name="sum"))
    samples = samples_of(built, {"stored": np.arange(32, dtype=np.int8).reshape(8, 4),
                                 "x": draw(1, 8, 4)})  # fmt: skip
    made = quantize(built, profile_graph(built, samples), QuantizationOptions())
    names = [layer.tensor for layer in compare_graphs(made.reference, made.graph, samples).layers]
    assert "stored" not in names
    assert {"x", "sum"} <= set(names)


def test_outputs_that_are_no_real_numbers_have_no_noise() -> None:
    graph = GraphBuilder()
    x = graph.input(real(1, 6, 6, 8), "image")
    w, b = graph.constant(draw(1, 4, 1, 1, 8)), graph.constant(draw(2, 4))
    scores = graph.add(Conv2D(), x, w, b, name="scores")
    largest = graph.add(ArgMax(3), scores, like=TensorType((1,), ElementType.I32))
    found = compared(graph.finish(largest))
    assert found.outputs == {}
    assert found.output_db == math.inf
    assert {layer.share for layer in found.layers} == {0.0}


def test_what_was_changed_stays_and_what_reads_it_is_computed_again() -> None:
    graph = GraphBuilder()
    x = graph.input(real(1, 3), "x")
    twice = graph.add(Add(), x, x)
    fourfold = graph.add(Add(), twice, twice)
    left = graph.add(Add(), twice, x)
    finished = graph.finish(graph.add(Add(), fourfold, left), left)
    before = run_tensors(finished, [np.float32([[1, 2, 3]])])
    assert [y.tolist() for y in rerun(finished, before, {})] == [[[7, 14, 21]], [[3, 6, 9]]]
    changed = {twice: np.float32([[10, 10, 10]]), fourfold: np.float32([[0, 1, 0]])}
    assert [y.tolist() for y in rerun(finished, before, changed)] == [
        [[11, 13, 13]], [[11, 12, 13]],
    ]  # fmt: skip


def reach_of_the_input(int8: Graph) -> tuple[float, float]:
    type_ = int8.inputs[0].type
    low, high = ((limit - type_.zero_point) * type_.scale for limit in (-128, 127))
    return low, high


def test_graphs_that_do_not_belong_together_are_refused() -> None:
    graph = perceptron()
    profile = profile_graph(convolutions(), random_samples(convolutions(), 4))
    other = quantize(convolutions(), profile).graph
    with pytest.raises(GlowmcuError, match="does not come from this float graph") as caught:
        compare_graphs(graph, other, random_samples(graph, 4))
    assert caught.value.code == "GM316"


def test_a_difference_is_counted_over_all_that_was_added() -> None:
    """In whole numbers: signal 1 + 4 + 9 + 16, noise 1 + 1, products 2 + 4 + 9 + 12."""
    type_ = TensorType((2,), ElementType.I8, Quantization((1.0,), (0,)))
    meter = Meter()
    meter.add(np.array([1.0, 2.0]), np.array([2.0, 2.0]), type_)
    meter.add(np.array([3.0, 4.0]), np.array([3.0, 3.0]))
    found = meter.finish()
    assert found.sqnr_db == pytest.approx(10 * math.log10(30 / 2), rel=1e-12)
    assert found.max_error == 1.0
    assert found.cosine == pytest.approx(27 / math.sqrt(30 * (4 + 4 + 9 + 9)), rel=1e-12)
    assert found.saturated == 0.0
    meter.add(np.array([127.5, 127.6, -128.5, -128.6]), np.zeros(4), type_)
    assert meter.finish().saturated == 2 / 8
    assert Meter().finish().saturated == 0.0
    assert Meter().finish().max_error == 0.0
    assert Meter().finish().cosine == 1.0


@pytest.mark.parametrize("noise", [math.inf, math.nan])
def test_noise_that_is_no_number_is_the_worst_there_is(noise: float) -> None:
    assert comparison_db(1.0, noise) == -math.inf
    assert comparison_db(math.inf, noise) == -math.inf
    assert comparison_db(2.0, 0.0) == math.inf
    assert comparison_db(100.0, 1.0) == pytest.approx(20.0)


def test_infinities_of_a_stored_tensor_have_shares_that_are_numbers() -> None:
    """A logarithm of what int8 takes for 0 spoils the outputs without end."""
    graph = GraphBuilder()
    x = graph.add(MaxPool2D((1, 1)), graph.input(real(1, 2, 2, 3), "image"), name="pool")
    made = graph.finish(graph.add(Log(), x, name="log"))
    rows = np.abs(draw(3, 40, 2, 2, 3))
    rows[:, 0, 0] = 1e-5
    samples = samples_of(made, rows)
    result = quantize(made, profile_graph(made, samples), QuantizationOptions())
    found = compare_graphs(result.reference, result.graph, samples)
    assert found.layers[0].alone_db < -100
    shares = [layer.share for layer in found.layers]
    assert all(map(math.isfinite, shares))
    assert sum(shares) == pytest.approx(1.0)


@pytest.mark.parametrize("how", ["added", "chosen", "an input"])
def test_what_a_mask_forbids_is_saturated_without_an_error(how: str) -> None:
    """-1e30 stands for a weight of nothing after the softmax, and the least step does as well."""
    graph = GraphBuilder()
    scores = graph.input(real(1, 16), "scores")
    masks = np.random.default_rng(2).random((40, 16)) < 0.4
    never, zero = (graph.constant(np.full((1, 16), each, np.float32)) for each in (-1e30, 0.0))
    if how == "an input":
        mask, data = graph.input(real(1, 16), "mask"), np.where(masks, np.float32(-1e30), 0.0)
    else:
        mask, data = graph.input(TensorType((1, 16), ElementType.BOOL), "mask"), masks
    if how == "chosen":
        masked = graph.add(Select(), mask, never, scores, like=real(1, 16), name="masked")
    else:
        if how == "added":
            mask = graph.add(Select(), mask, never, zero, like=real(1, 16), name="fill")
        masked = graph.add(Add(), scores, mask, name="masked")
    built = graph.finish(graph.add(Softmax(), masked, name="weights"))
    samples = samples_of(built, {"scores": draw(1, 40, 16, scale=3.0), "mask": data})
    made = quantize(built, profile_graph(built, samples))
    found = compare_graphs(made.reference, made.graph, samples)
    assert found.output_db > 25
    for layer in found.layers:
        assert layer.alone_db >= found.output_db, layer
        assert layer.accumulated.sqnr_db > 20, layer
        assert layer.accumulated.saturated < 0.01, layer
