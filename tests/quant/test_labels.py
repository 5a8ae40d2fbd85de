"""Labels beside samples: what is right is counted, whichever way people's data say classes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import glowmcu
from glowmcu.frontend.tflite.writer import ModelBuilder
from glowmcu.ir.graph import Graph
from glowmcu.pipeline import reference_graph
from glowmcu.quant.labels import Labelled, Labels, labels_behind, labels_beside, right_decisions
from glowmcu.quant.samples import samples_of
from tests.conftest import REPO

Array = npt.NDArray[Any]
FEATURES, CLASSES = 4, 3
GENERATOR = np.random.default_rng(8)
X = GENERATOR.normal(size=(10, FEATURES)).astype(np.float32)
Y = np.arange(10) % CLASSES


def classifier(end: str = "SOFTMAX", outputs: int = CLASSES, name: str = "x") -> bytes:
    model = ModelBuilder()
    x = model.input(name, (1, FEATURES), "float32")
    weights = model.constant("w", GENERATOR.normal(size=(outputs, FEATURES)).astype(np.float32))
    scores = model.tensor("scores", (1, outputs), "float32")
    model.op("FULLY_CONNECTED", [x, weights, None], [scores])
    y = model.tensor("y", (1, outputs), "float32")
    model.op(end, [scores], [y], {"beta": 1.0} if end == "SOFTMAX" else {})
    model.output(y)
    return model.finish()


def graph_of(data: bytes) -> Graph:
    return reference_graph(data, "m.tflite")


def items(*forms: Any) -> list[Any]:
    return list(forms)


@pytest.mark.parametrize(
    "data",
    [
        {"x": X, "labels": Y},
        {"inputs": X, "y": Y.astype(np.uint8)},
        {"x": X, "Label": Y[:, None]},
        list(zip(X, Y.tolist(), strict=True)),
        [(x, np.array(y)) for x, y in zip(X, Y, strict=True)],
        [(X[:4], Y[:4]), (X[4:], Y[4:])],
        [{"x": x, "label": int(y)} for x, y in zip(X, Y, strict=True)],
        [((x,), int(y)) for x, y in zip(X, Y, strict=True)],
        {"x": X, "labels": np.eye(CLASSES)[Y]},
        {"x": X, "y_test": np.eye(CLASSES, dtype=bool)[Y]},
        {"x": X, "labels": Y.astype(np.float32)},
        [(X[:4], np.eye(CLASSES)[Y[:4]]), (X[4:], np.eye(CLASSES)[Y[4:]])],
        [(x, np.eye(CLASSES, dtype=np.float32)[y]) for x, y in zip(X, Y, strict=True)],
    ],
    ids=[
        "named",
        "y",
        "a column",
        "pairs",
        "scalars",
        "batches",
        "rows",
        "nested",
        "one-hot",
        "one-hot of bool",
        "whole numbers",
        "one-hot batches",
        "one-hot pairs",
    ],
)
def test_a_sample_knows_its_label(data: Any) -> None:
    samples = list(samples_of(graph_of(classifier()), data))
    assert [sample.label for sample in samples] == Y.tolist()  # type: ignore[attr-defined]
    assert np.array_equal(np.concatenate([sample[0] for sample in samples]), X)


@pytest.mark.parametrize(
    "data",
    [
        X,
        {"x": X},
        {"x": X, "labels": Y[:9]},
        {"x": X, "labels": Y / 2},
        {"x": X, "labels": np.eye(CLASSES)[Y] * 0.9},
        {"x": X, "labels": np.maximum(np.eye(CLASSES)[Y], np.eye(CLASSES)[(Y + 1) % CLASSES])},
        {"x": X, "labels": np.where(Y == 0, np.nan, Y)},
        list(X),
        {"x": X, "time": Y},
    ],
    ids=[
        "none",
        "one",
        "too few",
        "real numbers",
        "shares",
        "several",
        "nan",
        "a list",
        "another column",
    ],
)
def test_what_is_no_label_is_none(data: Any) -> None:
    samples = samples_of(graph_of(classifier()), data)
    assert not any(hasattr(sample, "label") for sample in samples)


def test_an_input_is_no_label() -> None:
    graph = graph_of(classifier(name="y"))
    assert labels_beside(graph, {"y": Y, "labels": X}, 10) == Labels()
    assert labels_beside(graph, {"y": Y, "class": Y % 2}, 10) == Labels((Y % 2).tolist())
    assert labels_behind(graph, (X[0], X[0]), 1) == Labels()
    assert labels_behind(graph, "x", 1) == Labels()


@pytest.mark.parametrize(
    ("labels", "what"),
    [
        (Y[:9], "are 9, and the samples 10"),
        (np.array(["a", "b", "c"])[Y], "are text, and classes are told by the places"),
        (np.array(["a", "b", "c"], object)[Y], "are text, and classes are told by the places"),
        (np.eye(5)[Y], "are rows of 5, and the model has 3 classes"),
        (np.eye(2)[Y % 2], "are rows of 2, and the model has 3 classes"),
    ],
    ids=["too few", "text", "text as objects", "too many columns", "too few columns"],
)
def test_labels_that_were_left_out_are_said(labels: Any, what: str) -> None:
    graph = graph_of(classifier())
    samples = samples_of(graph, {"x": X, "labels": labels})
    (note,) = samples.notes
    assert note.startswith(f"labels of the samples {what}")
    assert note.endswith(": what is right was not counted")
    assert right_decisions(graph, [np.zeros((10, 1, CLASSES))], samples) == Labelled()
    if len(labels) == len(X):
        assert samples_of(graph, list(zip(X, labels, strict=True))).notes == (note,)
    regressor = graph_of(classifier("TANH"))
    assert not samples_of(regressor, {"x": X, "labels": Y[:9]}).notes


def test_labels_of_some_samples_count_nothing() -> None:
    graph = graph_of(classifier())
    samples = samples_of(graph, [(x, 1 if place else "a") for place, x in enumerate(X)])
    found = right_decisions(graph, [np.zeros((10, 1, CLASSES))], samples)
    assert found.unfit.startswith("labels of the samples are none for 1 of 10: ")


def test_what_is_right_is_counted() -> None:
    graph = graph_of(classifier())
    samples = list(samples_of(graph, {"x": X, "labels": Y}))
    scores = np.zeros((10, 1, CLASSES), np.float32)
    scores[np.arange(10), 0, Y] = 1
    scores[:3] = scores[:3, :, ::-1]
    right = int(sum(y == CLASSES // 2 for y in Y[:3])) + 7
    assert right_decisions(graph, [scores], samples) == Labelled(10, right)


def test_one_score_decides_between_two_classes() -> None:
    graph = graph_of(classifier("LOGISTIC", 1))
    labels = np.array([0, 1] * 5)
    samples = list(samples_of(graph, {"x": X, "labels": labels}))
    scores = np.where(labels, 0.7, 0.2).reshape(10, 1, 1)
    scores[0] = 0.6
    assert right_decisions(graph, [scores], samples) == Labelled(10, 9)


@pytest.mark.parametrize(("least", "most"), [(1, 3), (-1, 2)])
def test_labels_that_are_no_classes_are_said(least: int, most: int) -> None:
    graph = graph_of(classifier())
    labels = np.full(10, least)
    labels[5] = most
    samples = list(samples_of(graph, {"x": X, "labels": labels}))
    found = right_decisions(graph, [np.zeros((10, 1, CLASSES))], samples)
    assert found == Labelled(
        unfit=f"labels of the samples are {least} to {most}, and the model's classes 0 to 2: what "
        "is right was not counted"
    )


def test_a_regressor_decides_nothing() -> None:
    graph = graph_of(classifier("TANH"))
    samples = list(samples_of(graph, {"x": X, "labels": Y}))
    assert right_decisions(graph, [np.zeros((10, 1, CLASSES))], samples) == Labelled()


def test_compile_says_what_float_and_int8_get_right(tmp_path: Path) -> None:
    model = REPO / "examples" / "digits" / "digits_float.tflite"
    held = np.load(REPO / "examples" / "digits" / "test_samples.npz")
    images = (held["inputs"].astype(np.float32) + 128) / 255
    data = {"inputs": images, "labels": held["labels"]}
    bundle = glowmcu.compile(model, samples=data, output=tmp_path / "digits")
    (entry,) = bundle.manifest.quality
    figures = entry.figures
    assert figures.labelled == entry.samples == 90
    assert figures.float_right >= 80
    assert abs(figures.right - figures.float_right) <= 2
    assert f"{100 * figures.right / 90:.1f} % right (float " in figures.text
    assert glowmcu.load(tmp_path / "digits").manifest.quality == (entry,)
    wrong = {"inputs": images, "labels": held["labels"].astype(int) + 1}
    said = glowmcu.compile(model, samples=wrong, output=tmp_path / "other")
    assert said.manifest.quality[0].figures.labelled == 0
    assert any("the model's classes 0 to 9" in note for note in said.notes)
