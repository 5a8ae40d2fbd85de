"""Labels of samples: an array, a list, a file of numbers or text, or behind a data set's items."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import glowmcu
from glowmcu.errors import GlowmcuError
from glowmcu.pipeline import reference_graph
from glowmcu.quant.sample_source import SampleSource
from glowmcu.tuning.labelled import read_labelled
from tests.tuning.jobs import GESTURES

ONE = np.random.default_rng(0).normal(size=(4, 6, 25, 1)).astype(np.float32)


def read(samples: Any, labels: Any = None) -> list[int] | None:
    graph = reference_graph(GESTURES.read_bytes(), GESTURES.name)
    found = read_labelled(graph, SampleSource(samples), labels).labels
    return None if found is None else found.tolist()


@pytest.mark.parametrize("name", ["labels.txt", "labels.csv"])
def test_text_holds_a_class_number_a_line(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"\xef\xbb\xbf2\r\n0\r\n\n 3\n2\n")
    assert read(ONE, tmp_path / name) == [2, 0, 3, 2]
    assert glowmcu.tune(GESTURES, ONE, str(tmp_path / name), trials=1).labelled


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (b"0\n1\ncat\n2\n", "line 3 is 'cat', and no class number"),
        (b"0\n1.5\n", "line 2 is '1.5', and no class number"),
        (b"\xff\xfe\x00", "line 1 is"),
    ],
)
def test_text_that_is_no_class_numbers_is_refused(tmp_path: Path, text: bytes, says: str) -> None:
    (tmp_path / "labels.txt").write_bytes(text)
    with pytest.raises(GlowmcuError, match="cannot read labels") as caught:
        read(ONE, tmp_path / "labels.txt")
    assert caught.value.code == "GM345"
    assert says in str(caught.value)


def test_a_list_of_class_numbers_is_taken() -> None:
    assert read(ONE, [2, 0, 3, 2]) == [2, 0, 3, 2]
    assert glowmcu.tune(GESTURES, ONE, [2, 0, 3, 2], trials=1).labelled


def test_labels_behind_the_samples_of_a_data_set_are_taken() -> None:
    assert read([(one, label) for one, label in zip(ONE, [2, 0, 3, 2], strict=True)]) == [
        2,
        0,
        3,
        2,
    ]
    assert read(list(ONE)) is None


UNEVEN: list[list[int]] = [[0], [1, 2], [3], [1]]


def test_labels_of_different_lengths_are_refused_in_words() -> None:
    with pytest.raises(GlowmcuError, match="got lists of different lengths") as caught:
        read(ONE, UNEVEN)
    assert caught.value.code == "GM341"


@pytest.mark.parametrize(
    "samples",
    [{"x": ONE, "labels": UNEVEN}, [(one[None], [[1], [1, 2]]) for one in ONE]],
    ids=["by name", "behind the samples"],
)
def test_labels_of_different_lengths_beside_samples_are_named(samples: Any) -> None:
    graph = reference_graph(GESTURES.read_bytes(), GESTURES.name)
    notes = SampleSource(samples).read(graph).notes
    assert any("labels of the samples are lists of different lengths" in note for note in notes)


def test_samples_of_different_lengths_are_refused_in_words() -> None:
    with pytest.raises(GlowmcuError) as caught:
        read({"motion": [[1, 2], [3]]})
    assert caught.value.code == "GM304"
