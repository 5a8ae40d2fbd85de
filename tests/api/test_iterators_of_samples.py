"""Samples that can be gone through only once do wherever samples are taken, as a list of them."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np
import pytest

import glowmcu
from glowmcu.ir.operation import Array
from tests.conftest import REPO

DIGITS = REPO / "examples" / "digits"
MODEL = str(DIGITS / "digits.onnx")
DATA: list[Array] = list(np.load(DIGITS / "calibration.npz")["inputs"][:12])
KINDS: dict[str, Callable[[], Iterable[Array]]] = {
    "generator": lambda: (sample for sample in DATA),
    "batches": lambda: (np.stack(DATA[start : start + 4]) for start in range(0, len(DATA), 4)),
    "islice": lambda: itertools.islice(itertools.cycle(DATA), len(DATA)),
    "map": lambda: map(np.array, DATA),
    "iter": lambda: iter(DATA),
}


def compiled(samples: Iterable[Array], folder: Path) -> object:
    bundle = glowmcu.compile(MODEL, samples=samples, output=folder / "digits")
    return [(file.name, file.read_bytes()) for file in sorted(bundle.path.glob("*.[ch]"))]


def exported(samples: Iterable[Array], folder: Path) -> object:
    made = glowmcu.export(MODEL, folder / "digits.tflite", samples=samples)
    return made.path.read_bytes(), made.quality


def profiled(samples: Iterable[Array], folder: Path) -> object:
    glowmcu.profile(MODEL, samples, output=folder / "digits.json")
    return (folder / "digits.json").read_bytes()


def tuned(samples: Iterable[Array], folder: Path) -> object:
    return glowmcu.tune(MODEL, samples, trials=2).best.options


def compared(samples: Iterable[Array], folder: Path) -> object:
    return glowmcu.compare(MODEL, samples).json()


@pytest.mark.parametrize("entry", [compiled, exported, profiled, tuned, compared])
def test_an_iterator_of_samples_gives_what_the_list_gives(
    entry: Callable[[Iterable[Array], Path], object], tmp_path: Path
) -> None:
    wanted = entry(DATA, tmp_path)
    given = {kind: entry(make(), tmp_path) for kind, make in KINDS.items()}
    assert [kind for kind, found in given.items() if found != wanted] == []


def test_a_comparison_with_a_file_takes_real_numbers_of_an_iterator(tmp_path: Path) -> None:
    profile, file = glowmcu.profile(MODEL, DATA, search="plain"), tmp_path / "digits.tflite"
    glowmcu.export(MODEL, file, profile)
    bundle = glowmcu.compile(MODEL, profile=profile, output=tmp_path / "digits")
    wanted = glowmcu.verify_against(bundle, file, samples=DATA)
    assert glowmcu.verify_against(bundle, file, samples=KINDS["generator"]()) == wanted
