"""What the user says about a model's inputs: shapes, symbolic sizes, values known beforehand,
and which of them outlive a run.

An input that is bound to a value (`--bind NAME=value.npy`) becomes a constant of the graph: a shape
or an axis that the model leaves to its caller, or weights that are handed in.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy.typing as npt


@dataclass(frozen=True)
class InputOptions:
    """`shapes` and `bind` by input name; `symbols` gives ONNX's symbolic sizes their values; `kept`
    names the inputs that hold after a run what was written to them before it, `streamed` those
    whose rows the application hands over as they come, `outside` those that stay in memory of the
    application's.
    """

    shapes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    symbols: Mapping[str, int] = field(default_factory=dict)
    bind: Mapping[str, npt.NDArray[Any]] = field(default_factory=dict)
    kept: tuple[str, ...] = ()
    streamed: tuple[str, ...] = ()
    outside: tuple[str, ...] = ()


def bound_text(bind: Mapping[str, npt.NDArray[Any]]) -> str:
    """Names of bound inputs with a digest of what they are bound to; empty where there are none."""
    return ",".join(f"{name}:{_digest(bind[name])}" for name in sorted(bind))


def _digest(data: npt.NDArray[Any]) -> str:
    head = f"{data.dtype}{data.shape}".encode()
    return hashlib.sha256(head + data.tobytes()).hexdigest()[:12]
