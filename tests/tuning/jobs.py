"""Small jobs to tune, and the examples' own models."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from glowmcu.cores import core
from glowmcu.ir.graph import Graph
from glowmcu.kernels.kernel import Target
from glowmcu.quant.profiling import profile_graph
from glowmcu.tuning.evaluation import Job
from tests.quant.networks import convolutions, random_samples

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
DIGITS = EXAMPLES / "digits" / "digits.onnx"
GESTURES = EXAMPLES / "gestures" / "model.onnx"


def small_job(graph: Graph | None = None) -> Job:
    graph = convolutions() if graph is None else graph
    samples = random_samples(graph, 24)
    target = Target(core("cortex-m4"))
    return Job(graph, profile_graph(graph, samples), tuple(samples), None, target)


def gesture_samples(folder: Path) -> Path:
    """160 of the held-out gestures with their labels, in one file."""
    with np.load(EXAMPLES / "gestures" / "test_samples.npz") as found:
        path = folder / "gestures.npz"
        np.savez(path, inputs=found["inputs"][::4], labels=found["labels"][::4])
    return path
