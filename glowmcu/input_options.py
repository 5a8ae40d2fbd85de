"""What the user says about a model's inputs: shapes, symbolic sizes, values known beforehand.

An input that is bound to a value (`--bind NAME=value.npy`) becomes a constant of the graph: a shape
or an axis that the model leaves to its caller, or weights that are handed in.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy.typing as npt


@dataclass(frozen=True)
class InputOptions:
    """`shapes` and `bind` by input name; `symbols` gives ONNX's symbolic sizes their values."""

    shapes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    symbols: Mapping[str, int] = field(default_factory=dict)
    bind: Mapping[str, npt.NDArray[Any]] = field(default_factory=dict)
