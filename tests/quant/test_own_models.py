"""The project's own networks keep their held-out accuracy in int8, calibrated on training data."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from benchmarks import four_bits
from glowmcu.frontend.tflite.exporter import export_tflite
from glowmcu.frontend.tflite.reader import read_tflite
from glowmcu.ir.graph import Graph
from glowmcu.ir.interpreter import run_graph
from glowmcu.lowering.float_passes import prepare_for_quantization
from glowmcu.quant.batching import batched
from glowmcu.quant.options import QuantizationOptions
from glowmcu.quant.profile import Profile
from glowmcu.quant.profiling import profile_graph
from glowmcu.quant.quantizer import quantize, quantize_graph
from glowmcu.quant.ranges import Calibration, Method
from glowmcu.quant.real_outputs import real_outputs, stored_samples
from glowmcu.quant.samples import Samples, samples_of
from glowmcu.quant.schemas import Schema, quantize_array
from tests.conftest import REPO
from tests.support.oracle import open_tflm

#: Half a point, and one sample more: the sets are small.
LARGEST_LOSS = 0.005
Array = npt.NDArray[Any]
MODELS = {
    "digits": "digits/digits_float.tflite",
    "gestures": "gestures/model_float.tflite",
    "vowels": "vowels/model_float.tflite",
}


@dataclass(frozen=True)
class Model:
    graph: Graph
    calibration: Samples
    profile: Profile
    inputs: Array
    labels: Array

    def accuracy(self, graph: Graph) -> float:
        return float((run_all(graph, self.inputs).argmax(axis=1) == self.labels).mean())


@cache
def load(name: str) -> Model:
    path = REPO / "examples" / MODELS[name]
    graph = prepare_for_quantization(read_tflite(path.read_bytes(), path.name))
    shape = graph.inputs[0].type.shape[1:]
    with np.load(path.parent / "calibration.npz") as stored:
        calibration = samples_of(graph, channels_last(stored["inputs"], shape))
    with np.load(path.parent / "test_samples.npz") as stored:
        inputs, labels = stored["inputs"], stored["labels"]
    if inputs.dtype == np.int8:  # those of the int8 model: pixels of 0 to 1, scale 1/255
        inputs = (inputs.astype(np.float32) + 128) / 255
    profile = profile_graph(graph, calibration)
    return Model(graph, calibration, profile, channels_last(inputs, shape), labels)


def channels_last(batch: Array, shape: tuple[int, ...]) -> Array:
    """The samples as the TFLite model wants them; they are stored for its ONNX twin."""
    if batch.shape[1:] == shape:
        return batch
    return np.ascontiguousarray(np.moveaxis(batch, 1, -1), np.float32)


def run_all(graph: Graph, inputs: Array) -> Array:
    """Outputs for all inputs at once, stored or real."""
    many = batched(graph, len(inputs))
    assert many is not None
    quantization = graph.inputs[0].type.quantization
    stored = inputs if quantization is None else quantize_array(inputs, quantization)
    return run_graph(many[0], [stored])[0]


@pytest.mark.parametrize("schema", list(Schema))
@pytest.mark.parametrize("method", list(Method))
@pytest.mark.parametrize("name", list(MODELS))
def test_int8_is_within_half_a_point_of_float(name: str, method: Method, schema: Schema) -> None:
    model = load(name)
    options = QuantizationOptions(Calibration(method, schema))
    result = quantize(model.graph, model.profile, options)
    assert not result.float_nodes
    loss = model.accuracy(model.graph) - model.accuracy(result.graph)
    assert loss <= LARGEST_LOSS


@pytest.mark.parametrize("name", list(MODELS))
def test_adaptive_rounding_is_within_half_a_point_of_float(name: str) -> None:
    model = load(name)
    options = QuantizationOptions(adaptive_rounding=True)
    graph = quantize_graph(model.graph, model.profile, options, model.calibration)
    assert model.accuracy(model.graph) - model.accuracy(graph) <= LARGEST_LOSS


@pytest.mark.parametrize("name", four_bits.MODELS)
def test_weights_of_four_bits_keep_the_accuracy_that_was_asked_for(name: str) -> None:
    case = four_bits.example(name)
    wanted = four_bits.accuracy(
        real_outputs(case.graph, samples_of(case.graph, case.inputs))[0], case.labels
    )
    graphs = {
        label: quantize_graph(case.graph, case.profile, options, case.calibration)
        for label, options in (
            ("eight", four_bits.INT8),
            ("four", four_bits.INT4),
            ("mixed", four_bits.mixed_options(case)),
        )
    }
    accuracy = {
        label: four_bits.accuracy(
            real_outputs(graph, stored_samples(graph, samples_of(case.graph, case.inputs)))[0],
            case.labels,
        )
        for label, graph in graphs.items()
    }
    assert wanted - accuracy["four"] <= four_bits.MOST_LOST
    assert wanted - accuracy["mixed"] <= four_bits.MOST_LOST_MIXED
    sizes = {label: four_bits.constants_bytes(graph) for label, graph in graphs.items()}
    assert sizes["mixed"] <= four_bits.MOST_SHARE_MIXED * sizes["eight"]


@pytest.mark.parametrize("per_channel", [True, False], ids=["a scale a channel", "one scale"])
@pytest.mark.parametrize("name", list(MODELS))
def test_an_exported_model_of_four_bits_gives_the_same_bytes_in_tflm(
    name: str, per_channel: bool
) -> None:
    model = load(name)
    options = replace(four_bits.INT4, per_channel=per_channel)
    graph = quantize_graph(model.graph, model.profile, options, model.calibration)
    data = export_tflite(graph)
    assert len(data) < len(export_tflite(quantize_graph(model.graph, model.profile)))
    run = open_tflm(data)
    quantization = graph.inputs[0].type.quantization
    assert quantization is not None
    for row in quantize_array(model.inputs[:20], quantization):
        sample = [row[np.newaxis]]
        assert np.array_equal(run(sample)[0], run_graph(graph, sample)[0])


@pytest.mark.parametrize("name", list(MODELS))
def test_the_exported_model_gives_the_same_bytes_in_tflm(name: str) -> None:
    model = load(name)
    graph = quantize_graph(model.graph, model.profile)
    run = open_tflm(export_tflite(graph))
    quantization = graph.inputs[0].type.quantization
    assert quantization is not None
    for row in quantize_array(model.inputs[:20], quantization):
        sample = [row[np.newaxis]]
        assert np.array_equal(run(sample)[0], run_graph(graph, sample)[0])
