"""The models that `benchmarks.quantization` measures, with samples to profile and to judge on."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from glowmcu.frontend.tflite.writer import ModelBuilder
from glowmcu.frontend.tflite.writer_tables import TensorRef
from glowmcu.ir.graph import Graph
from glowmcu.pipeline import float_graph
from glowmcu.quant.profile import Profile
from glowmcu.quant.profiling import profile_graph
from glowmcu.quant.samples import Samples, samples_of

Array = npt.NDArray[Any]
REPO = Path(__file__).resolve().parents[1]
OWN_MODELS = (
    "digits/digits.onnx",
    "digits/digits_float.tflite",
    "gestures/model.onnx",
    "gestures/model_float.tflite",
    "vowels/model.onnx",
    "vowels/model_float.tflite",
)
#: Name, what its inputs range over, samples to profile, samples to judge on.
MLPERF_MODELS: tuple[tuple[str, tuple[float, float], int, int], ...] = (
    ("ad", (-60.0, 0.0), 200, 50),
    ("kws", (-80.0, 80.0), 200, 50),
    ("ic", (0.0, 255.0), 100, 20),
    ("vww", (0.0, 1.0), 60, 10),
)


@dataclass(frozen=True, eq=False)
class Case:
    """A float model as it is quantized. `labels` is None where nothing is known of the inputs."""

    name: str
    graph: Graph
    calibration: Samples
    profile: Profile
    inputs: Array
    labels: Array | None


def own_model(name: str) -> Case:
    """One of the examples: calibrated on samples of its training split, judged on held-out data."""
    path = REPO / "examples" / name
    graph = float_graph(path.read_bytes(), path.name)
    shape = graph.inputs[0].type.shape[1:]
    with np.load(path.parent / "calibration.npz") as stored:
        samples = samples_of(graph, _in_layout(stored["inputs"], shape))
    with np.load(path.parent / "test_samples.npz") as stored:
        inputs, labels = stored["inputs"], stored["labels"]
    if inputs.dtype == np.int8:  # those of the int8 model: pixels of 0 to 1, scale 1/255
        inputs = np.moveaxis((inputs.astype(np.float32) + 128) / 255, -1, 1)
    profile = profile_graph(graph, samples)
    return Case(name, graph, samples, profile, _in_layout(inputs, shape), labels)


def _in_layout(batch: Array, shape: tuple[int, ...]) -> Array:
    """Samples are stored for the ONNX model; its TFLite twin has channels last."""
    if batch.shape[1:] != shape:
        batch = np.moveaxis(batch, 1, -1)
    return np.ascontiguousarray(batch, np.float32)


def mlperf_model(name: str, span: tuple[float, float], calibrated: int, judged: int) -> Case | None:
    """A float model of MLPerf Tiny on random walks; None where the file is not there."""
    path = REPO.parent / "shared" / "models" / f"{name}_float.tflite"
    if not path.is_file():
        return None
    graph = float_graph(path.read_bytes(), path.name)
    shape = graph.inputs[0].type.shape[1:]
    samples = samples_of(graph, random_walks(shape, span, calibrated, 0))
    profile = profile_graph(graph, samples)
    return Case(name, graph, samples, profile, random_walks(shape, span, judged, 1), None)


def random_walks(shape: tuple[int, ...], span: tuple[float, float], count: int, seed: int) -> Array:
    """Neighbours are alike, as in spectra and images; each sample spans all of `span`."""
    walk = np.random.default_rng(seed).normal(0, 1, (count, *shape))
    for axis in range(1, min(len(shape), 2) + 1):
        walk = np.cumsum(walk, axis=axis)
    axes = tuple(range(1, walk.ndim))
    walk -= walk.min(axes, keepdims=True)
    walk /= walk.max(axes, keepdims=True)
    return (span[0] + (span[1] - span[0]) * walk).astype(np.float32)


def large_model() -> bytes:
    """A float .tflite of a quarter million parameters and ten million MACs, weights at random."""
    rng = np.random.default_rng(7)
    model = ModelBuilder()
    x = model.input("image", (1, 32, 32, 3), "float32")
    for index, (depth, stride) in enumerate(((16, 1), (32, 2), (64, 1), (96, 2))):
        x = _convolution(model, rng, x, f"conv_{index}", depth, stride)
    pooled = model.tensor("pooled", (1, 2, 2, 96), "float32")
    window = {"filter_height": 4, "filter_width": 4, "stride_h": 4, "stride_w": 4}
    model.op("AVERAGE_POOL_2D", [x], [pooled], {"padding": "VALID", **window})
    flat = model.tensor("flat", (1, 384), "float32")
    shape = model.constant("flat/shape", np.array([1, 384], np.int32))
    model.op("RESHAPE", [pooled, shape], [flat])
    hidden = _dense(model, rng, flat, "dense_0", 432, "RELU")
    model.output(_dense(model, rng, hidden, "dense_1", 10, "NONE"))
    return model.finish()


def _weights(rng: np.random.Generator, *shape: int) -> Array:
    """Such that signals neither grow nor fade."""
    fan_in = int(np.prod(shape[1:]))
    return rng.normal(0, (2 / fan_in) ** 0.5, shape).astype(np.float32)


def _convolution(
    model: ModelBuilder, rng: np.random.Generator, x: TensorRef, name: str, depth: int, stride: int
) -> TensorRef:
    _, height, width, depth_in = x.shape
    w = model.constant(f"{name}/weights", _weights(rng, depth, 3, 3, depth_in))
    b = model.constant(f"{name}/bias", np.zeros(depth, np.float32))
    y = model.tensor(name, (1, height // stride, width // stride, depth), "float32")
    options: dict[str, int | str] = {"padding": "SAME", "stride_h": stride, "stride_w": stride}
    model.op("CONV_2D", [x, w, b], [y], {**options, "fused_activation_function": "RELU"})
    return y


def _dense(
    model: ModelBuilder, rng: np.random.Generator, x: TensorRef, name: str, depth: int, act: str
) -> TensorRef:
    w = model.constant(f"{name}/weights", _weights(rng, depth, x.shape[1]))
    b = model.constant(f"{name}/bias", np.zeros(depth, np.float32))
    y = model.tensor(name, (1, depth), "float32")
    model.op("FULLY_CONNECTED", [x, w, b], [y], {"fused_activation_function": act})
    return y
