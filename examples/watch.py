"""Recordings of a smart watch out of the data file in the seglearn package, without importing it.

The file is a pickle: it is code of that package, as trusted as its installation.
"""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float32]


@dataclass(frozen=True)
class Recording:
    """`steps` is (time, channels): acceleration in g, rotation in rad/s. `person` counts from 1."""

    steps: Floats
    label: str
    person: int


def load_recordings(every: int) -> list[Recording]:
    """All recordings in the file's order, `every` steps of 20 ms averaged to one.

    Values are rounded to float16's 11 bits, finer than what was measured: samples then compress to
    half the size. Raises ModuleNotFoundError without seglearn.
    """
    spec = importlib.util.find_spec("seglearn")
    if spec is None or not spec.submodule_search_locations:
        raise ModuleNotFoundError("the data are in a package: pip install --no-deps seglearn")
    file = Path(spec.submodule_search_locations[0]) / "data" / "watch_dataset.npy"
    found = np.load(file, allow_pickle=True).item()
    names = found["y_labels"]
    return [
        Recording(_averaged(np.asarray(steps, np.float32), every), str(names[label]), int(person))
        for steps, label, person in zip(found["X"], found["y"], found["subject"], strict=True)
    ]


def _averaged(steps: Floats, every: int) -> Floats:
    whole = steps[: len(steps) // every * every]
    means = whole.reshape(-1, every, steps.shape[1]).mean(1)
    return means.astype(np.float16).astype(np.float32)
