"""Time series out of the `.ts` files inside the sktime package, without importing sktime.

A line is one recording: channels parted by colons, samples by commas, the class last. sktime itself
would bring pandas and more just to split these lines.
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
    """`steps` is (time, channels)."""

    steps: Floats
    label: str


def load_recordings(problem: str, part: str) -> list[Recording]:
    """All recordings of a data set's `TRAIN` or `TEST` part, in the file's order.

    Values are rounded to float16's 11 bits, finer than what was measured: samples then compress to
    half the size. Raises ModuleNotFoundError without sktime.
    """
    spec = importlib.util.find_spec("sktime")
    if spec is None or not spec.submodule_search_locations:
        raise ModuleNotFoundError("the data are in a package: pip install --no-deps sktime")
    folder = Path(spec.submodule_search_locations[0]) / "datasets" / "data" / problem
    lines = (folder / f"{problem}_{part}.ts").read_text(encoding="utf-8").splitlines()
    return [_parse(line) for line in lines if line and line[0] not in "#@"]


def _parse(line: str) -> Recording:
    *channels, label = line.split(":")
    rows = [np.array(channel.split(","), dtype=np.float32) for channel in channels]
    return Recording(np.stack(rows, axis=1).astype(np.float16).astype(np.float32), label.strip())
