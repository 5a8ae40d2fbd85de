"""Trials on disk as they come in, so that a search that was stopped goes on where it was.

One JSON object a line. The first names what the trials depend on: trials of another model, of other
samples or of another version are of no use and are replaced. A line that was cut off is dropped.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import numpy as np

from glowmcu.errors import GlowmcuError, error
from glowmcu.file_writing import write_text_file
from glowmcu.ir.operation import Array
from glowmcu.quant.options import QuantizationOptions
from glowmcu.quant.profile import Profile
from glowmcu.quant.profile_file import profile_text
from glowmcu.quant.samples import Sample
from glowmcu.tuning.trial import Trial, options_key, trial_of, trial_record
from glowmcu.version import __version__

_FORMAT = "glowmcu-tuning-1"


def key_of(
    model_sha256: str,
    profile: Profile,
    samples: tuple[Sample, ...],
    labels: Array | None,
    target: str,
) -> str:
    """A digest of all that a trial's outcome depends on. `target` says for what it was costed."""
    digest = hashlib.sha256(f"{__version__} {model_sha256} {target}".encode())
    digest.update(profile_text(profile).encode())
    arrays = [array for sample in samples for array in sample]
    for array in (*arrays, *([] if labels is None else [labels])):
        digest.update(f"{array.dtype}{array.shape}".encode())
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


class StateFile:
    """Trials known so far. `path` None keeps them in memory alone. Raises GM343."""

    def __init__(self, path: Path | None, key: str) -> None:
        self._path = path
        self._head = json.dumps({"format": _FORMAT, "key": key})
        self._known: dict[str, Trial] = {}
        if path is not None:
            self._load(path)

    def __len__(self) -> int:
        return len(self._known)

    def get(self, options: QuantizationOptions) -> Trial | None:
        return self._known.get(options_key(options))

    def add(self, trial: Trial) -> None:
        """Remember a trial; it is on disk when this returns."""
        self._known[options_key(trial.options)] = trial
        if self._path is not None:
            self._append(self._path, json.dumps(trial_record(trial)))

    def _load(self, path: Path) -> None:
        try:
            lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        except (OSError, UnicodeDecodeError) as cause:
            raise _unusable(path, cause) from cause
        if lines and not lines[0].startswith('{"format": "glowmcu-tuning'):
            raise _unusable(path, ValueError("it holds something else"))
        if lines[:1] == [self._head]:
            for line in lines[1:]:
                trial = _parsed(line)
                if trial is not None:
                    self._known[options_key(trial.options)] = trial
        rows = [json.dumps(trial_record(trial)) for trial in self._known.values()]
        try:
            write_text_file(path, "".join(f"{line}\n" for line in (self._head, *rows)))
        except OSError as cause:
            raise _unusable(path, cause) from cause

    def _append(self, path: Path, line: str) -> None:
        try:
            with path.open("a", encoding="utf-8") as file:
                file.write(f"{line}\n")
        except OSError as cause:
            raise _unusable(path, cause) from cause


def _parsed(line: str) -> Trial | None:
    try:
        return trial_of(json.loads(line))
    except (
        ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError, GlowmcuError
    ):  # fmt: skip
        return None


def _unusable(path: Path, cause: Exception) -> GlowmcuError:
    reason = cause.strerror if isinstance(cause, OSError) else str(cause)
    return error(
        "GM343",
        f"cannot keep the trials of the tuning: {reason}",
        str(path),
        "choose another --output, or remove this file",
    )
