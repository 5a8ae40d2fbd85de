"""Makes the files of this folder anew: a network of seven exercises, and windows of four people.

    pip install -e '.[dev]'
    pip install --no-deps seglearn
    python -m examples.personal.train

The convolutions are those of `examples/gestures`, which know four exercises; a last layer for all
seven is fitted to people 1 to 6. Takes a few seconds; the same bytes every time.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from examples.watch import Recording, load_recordings
from glowmcu.frontend.tflite.exporter import export_tflite
from glowmcu.ir.graph import Graph, Node, Value
from glowmcu.ir.interpreter import run_graph_tensors
from glowmcu.ir.operation import constant
from glowmcu.pipeline import application_graph

HERE = Path(__file__).resolve().parent
GESTURES = HERE.parent / "gestures" / "model_float.tflite"
EXERCISES = ("ABD", "ER", "FEL", "IR", "PEN", "ROW", "TRAP")
HELD_OUT_PERSONS = (7, 8, 9, 10)
AVERAGED, STEPS, HOP = 5, 25, 5
#: Windows that a person shows of each recording, others that overlap these, and those judged by.
SHOWN, BETWEEN, JUDGED = 12, 5, 10
Array = npt.NDArray[Any]


def windows(recording: Recording) -> list[Array]:
    """All of 2.5 s, one every half second, float32[1, 25, 1, 6]."""
    starts = range(0, len(recording.steps) - STEPS + 1, HOP)
    return [recording.steps[at : at + STEPS][np.newaxis, :, np.newaxis, :] for at in starts]


def features_of(graph: Graph, name: str, arrays: list[Array]) -> Array:
    """What the last layer reads: float64[N, 32]."""
    found = [run_graph_tensors(graph, [x])[name].reshape(-1) for x in arrays]
    return np.array(found, np.float64)


def fitted(features: Array, labels: Array) -> tuple[Array, Array]:
    """Weights and bias of softmax regression, by plain stochastic descent."""
    random, classes = np.random.default_rng(0), len(EXERCISES)
    weights, bias = np.zeros((classes, features.shape[1])), np.zeros(classes)
    for rate in (0.02, 0.01, 0.005, 0.002):
        for _ in range(10):
            for at in random.permutation(len(features)):
                scores = weights @ features[at] + bias
                error = np.exp(scores - scores.max())
                error /= error.sum()
                error[labels[at]] -= 1
                weights -= rate * np.outer(error, features[at])
                bias -= rate * error
    return weights.astype(np.float32), bias.astype(np.float32)


def with_last_layer(graph: Graph, last: Node, weights: Array, bias: Array) -> Graph:
    """The graph with another last layer, and so another number of classes."""
    wider = {last.inputs[1]: weights, last.inputs[2]: bias}
    renewed: dict[Value, Value] = {}
    nodes = []
    for node in graph.nodes:
        inputs = tuple(renewed.get(value, value) for value in node.inputs)
        op, out = node.op, node.output
        if out in wider:
            op = constant(wider[out])
            renewed[out] = Value(replace(out.type, shape=wider[out].shape), out.name)
        elif any(value in renewed for value in node.inputs):
            renewed[out] = Value(out.type.with_shape((1, len(bias))), out.name)
        nodes.append(Node(op, inputs, (renewed.get(out, out),), node.name, node.source))
    return graph.replace(nodes, [renewed.get(value, value) for value in graph.outputs])


def main() -> None:
    """Everything, in order."""
    graph, _ = application_graph(GESTURES.read_bytes(), GESTURES.name)
    last = next(node for node in graph.nodes if node.op.name == "fully_connected")
    recordings = load_recordings(AVERAGED)
    known = [found for found in recordings if found.person not in HELD_OUT_PERSONS]
    arrays = [x for found in known for x in windows(found)]
    labels = [EXERCISES.index(found.label) for found in known for _ in windows(found)]
    weights, bias = fitted(features_of(graph, last.inputs[0].name, arrays), np.array(labels))
    made = with_last_layer(graph, last, weights, bias)
    made.verify()
    (HERE / "model_float.tflite").write_bytes(export_tflite(made))
    chosen = np.random.default_rng(0).choice(len(arrays), 200, replace=False)
    calibration = np.concatenate([arrays[at] for at in chosen])
    np.savez_compressed(HERE / "calibration.npz", inputs=calibration)
    np.savez_compressed(HERE / "people.npz", **people(recordings))


def people(recordings: list[Recording]) -> dict[str, Array]:
    """Windows of those whom nobody trained on: shown first, judged by later, with gaps between."""
    rows = []
    for found in recordings:
        if found.person in HELD_OUT_PERSONS:
            cut = windows(found)
            later = cut[SHOWN + BETWEEN :]
            chosen = np.linspace(0, len(later) - 1, JUDGED).round().astype(int)
            for is_shown, part in ((True, cut[:SHOWN]), (False, [later[at] for at in chosen])):
                rows += [(x, EXERCISES.index(found.label), found.person, is_shown) for x in part]
    return {
        "inputs": np.concatenate([x for x, *_ in rows]),
        "labels": np.array([label for _, label, _, _ in rows], np.uint8),
        "persons": np.array([person for _, _, person, _ in rows], np.uint8),
        "shown": np.array([is_shown for *_, is_shown in rows]),
    }


if __name__ == "__main__":
    main()
