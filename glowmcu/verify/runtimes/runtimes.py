"""Runtimes that a `.tflite` file is compared in, and what they compute.

They are C++ that a file can take down, and LiteRT keeps threads: each runs in a process of its own
(`process.py`), all input sets as one stream.
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from glowmcu.errors import error
from glowmcu.ir.operation import Rounding
from glowmcu.lazy_dataclass import dataclass
from glowmcu.verify.measurement import Array
from glowmcu.verify.runtimes import process

#: How many lines of a refusal are shown, and how lines begin that are none.
_MOST_LINES = 3
_CHATTER = ("INFO:", "WARNING:")
_TIMEOUT_S = 60.0
_TIMEOUT_EACH_S = 1.0


@dataclass(frozen=True)
class Runtime:
    """`rounding`: the one of `compile --rounding` that gives this runtime's numbers."""

    name: str
    title: str
    package: str
    requirement: str
    rounding: Rounding

    def missing(self) -> str | None:
        """What to install, or None."""
        try:
            found = importlib.util.find_spec(self.package) is not None
        except (ImportError, ValueError):
            found = False
        return None if found else f"pip install {self.requirement}"

    def outputs(self, model: Path, inputs: Sequence[Sequence[Array]]) -> list[tuple[Array, ...]]:
        """Of each input set, in the model's order. Raises GM673 if the runtime refuses the
        model, ends its process or takes too long.
        """
        with tempfile.TemporaryDirectory() as folder:
            given, made = Path(folder) / "inputs.npz", Path(folder) / "outputs.npz"
            process.save(given, inputs)
            command = [
                sys.executable,
                process.__file__,
                self.name,
                str(model),
                str(given),
                str(made),
            ]
            try:
                done = subprocess.run(
                    command, capture_output=True, check=False, env=_environment(),
                    timeout=_TIMEOUT_S + _TIMEOUT_EACH_S * len(inputs),
                )  # fmt: skip
            except subprocess.TimeoutExpired as cause:
                raise self._failed(model, f"gave no answer in {cause.timeout:.0f} s") from cause
            if done.returncode == 0:
                return process.load(made)
            if done.returncode == process.REFUSED:
                raise self._failed(model, f"refused the model: {_words(done.stderr, _MOST_LINES)}")
            said = _words(done.stderr, 1)
            raise self._failed(model, f"ended with code {done.returncode}: {said}")

    def _failed(self, model: Path, what: str) -> Exception:
        return error(
            "GM673", f"{self.title} {what}", str(model),
            "glowmcu verify without --against compares with the model's meaning in Python",
        )  # fmt: skip


RUNTIMES = (
    Runtime(
        "tflm", "TensorFlow Lite Micro", "tflite_micro", "--pre tflite-micro", Rounding.DOUBLE
    ),
    Runtime(
        "litert-reference", "LiteRT, reference kernels", "ai_edge_litert", "ai-edge-litert",
        Rounding.LITERT,
    ),
    Runtime(
        "litert", "LiteRT as it comes (XNNPACK)", "ai_edge_litert", "ai-edge-litert",
        Rounding.SINGLE,
    ),
)  # fmt: skip


def runtime_of(rounding: Rounding) -> Runtime:
    """Whose numbers a bundle of that rounding gives."""
    return next(runtime for runtime in RUNTIMES if runtime.rounding is rounding)


def _environment() -> dict[str, str]:
    """The child runs a file of ours as a script; the package is not on its path, nor needed."""
    return {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}


def _words(stderr: bytes, most: int) -> str:
    """The last lines that are no chatter, each once: a runtime that is tried with arenas of several
    sizes repeats itself.
    """
    lines = (line.strip() for line in stderr.decode(errors="replace").splitlines())
    said = dict.fromkeys(line for line in lines if line and not line.startswith(_CHATTER))
    return "; ".join([*said][-most:]) or "nothing was said"


def largest_difference(got: Array, want: Array) -> float:
    """In steps of an integer tensor, or as the numbers are; infinite for NaN on one side."""
    if got.size == 0:
        return 0.0
    with np.errstate(invalid="ignore"):
        apart = np.abs(got.astype(np.float64) - want.astype(np.float64))
    same = (got == want) | (np.isnan(apart) & (np.isnan(got) == np.isnan(want)))
    return float(np.where(same, 0.0, np.where(np.isnan(apart), np.inf, apart)).max())
