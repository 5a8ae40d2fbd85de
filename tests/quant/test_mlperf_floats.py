"""The MLPerf models, quantized from their float twins: close to float, and TFLM runs the export."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from glowmcu.frontend.tflite.exporter import export_tflite
from glowmcu.frontend.tflite.reader import read_tflite
from glowmcu.ir.graph import Graph
from glowmcu.ir.interpreter import run_graph
from glowmcu.lowering.float_passes import prepare_for_quantization
from glowmcu.quant.profiling import profile_graph
from glowmcu.quant.quantizer import quantize
from glowmcu.quant.samples import Samples, samples_of
from tests.ir.graphs import random_arrays
from tests.quant.networks import sqnr_db
from tests.support.oracle import run_tflm

#: Least signal to noise of the logits (of ad: the reconstruction) in dB, and samples to profile.
EXPECTED = {"ad": (33.0, 200), "kws": (28.0, 100), "ic": (27.0, 48), "vww": (22.0, 32)}


def smooth_samples(graph: Graph, count: int, seed: int) -> Samples:
    """Random walks in the range that the model was trained on: neighbours are alike, as in data."""
    shape = graph.inputs[0].type.shape[1:]
    low, high = {(640,): (-60.0, 0.0), (49, 10, 1): (-80.0, 80.0), (32, 32, 3): (0.0, 255.0)}.get(
        shape, (0.0, 1.0)
    )
    walk = np.random.default_rng(seed).normal(0, 1, (count, *shape))
    for axis in range(1, min(len(shape), 2) + 1):
        walk = np.cumsum(walk, axis=axis)
    axes = tuple(range(1, walk.ndim))
    walk -= walk.min(axes, keepdims=True)
    walk /= walk.max(axes, keepdims=True)
    return samples_of(graph, (low + (high - low) * walk).astype(np.float32))


def without_softmax(graph: Graph) -> Graph:
    last = [node for node in graph.nodes if node.op.name == "fully_connected"][-1]
    return graph.replace(outputs=[last.output])


@pytest.mark.parametrize("name", list(EXPECTED))
def test_a_model_in_int8_is_close_to_float_and_tflm_runs_it(shared_dir: Path, name: str) -> None:
    least, count = EXPECTED[name]
    path = shared_dir / "models" / f"{name}_float.tflite"
    graph = prepare_for_quantization(read_tflite(path.read_bytes(), path.name))
    profile = profile_graph(graph, smooth_samples(graph, count, 0))
    result = quantize(graph, profile)
    assert not result.float_nodes
    held_out = smooth_samples(graph, 8, 1)
    assert sqnr_db(without_softmax(graph), without_softmax(result.graph), held_out) > least
    data = export_tflite(result.graph)
    for seed in range(2):
        inputs = random_arrays(result.graph.inputs, seed)
        assert np.array_equal(run_tflm(data, inputs)[0], run_graph(result.graph, inputs)[0])
