"""Mutations are reproducible, always change something, and keep most of the file."""

from __future__ import annotations

import random

import numpy as np
import pytest

from glowmcu.frontend.tflite.writer import ModelBuilder
from tests.support.mutate import MUTATORS, mutations


def model_file() -> bytes:
    model = ModelBuilder("mutate me")
    x = model.input("x", (1, 8), "int8", 0.5)
    w = model.constant("w", np.arange(32, dtype=np.int8).reshape(4, 8), 0.25)
    y = model.tensor("y", (1, 4), "int8", 0.5)
    model.op("FULLY_CONNECTED", [x, w, None], [y])
    model.output(y)
    return model.finish()


DATA = model_file()


def test_the_same_seed_gives_the_same_files_and_another_seed_others() -> None:
    first = list(mutations(DATA, 50, seed=1))
    assert first == list(mutations(DATA, 50, seed=1))
    assert first != list(mutations(DATA, 50, seed=2))
    assert first[:20] == list(mutations(DATA, 20, seed=1))


def test_every_file_differs_from_the_model_and_hardly_any_comes_twice() -> None:
    made = list(mutations(DATA, 400, seed=3))
    assert DATA not in made
    assert len(set(made)) > 380


def test_most_files_are_still_taken_for_a_model() -> None:
    made = list(mutations(DATA, 400, seed=4))
    assert sum(data[4:8] == b"TFL3" for data in made) > 300


@pytest.mark.parametrize("mutator", MUTATORS, ids=lambda mutator: mutator.__name__)
def test_a_mutator_changes_a_model_nearly_always(mutator) -> None:
    changed = 0
    for seed in range(50):
        data = bytearray(DATA)
        mutator(data, random.Random(seed))
        changed += data != DATA
    assert changed >= 40


@pytest.mark.parametrize("length", [8, 9, 11, 16])
def test_files_of_a_few_bytes_can_be_mutated(length: int) -> None:
    assert len(list(mutations(bytes(range(length)), 64, seed=5))) == 64
