"""Samples from recordings: tables of numbers (.csv, .tsv) and sound (.wav).

A row of a table is a sample, or a moment of a signal with a column a channel. Signals are cut into
samples that follow each other.
"""

from __future__ import annotations

import csv
import math
from pathlib import Path

import numpy as np

from glowmcu import limits
from glowmcu.array_files import ArrayFileError, load_wav
from glowmcu.errors import GlowmcuError, error
from glowmcu.ir.graph import Graph, Value
from glowmcu.ir.operation import Array
from glowmcu.ir.types import ElementType
from glowmcu.quant.samples import Samples, samples_of

TABLE_SUFFIXES = (".csv", ".tsv")
SOUND_SUFFIXES = (".wav",)
#: Columns that are no numbers for a model, by their usual names.
_ASIDE = (
    "", "class", "class_id", "id", "index", "label", "labels", "sample", "t", "target", "time",
    "timestamp", "unnamed: 0", "y",
)  # fmt: skip


def read_table(graph: Graph, path: Path) -> Samples:
    """Samples from a table with or without a line of names. Raises GM304, GM307."""
    value = _only_input(graph, path)
    names, rows = _rows(path)
    depth = value.type.shape[-1] if value.type.rank else 1
    sizes = (math.prod(value.type.shape), depth)
    kept = list(range(rows.shape[1]))
    if rows.shape[1] not in sizes:
        kept = [at for at in kept if not names or names[at].strip().lower() not in _ASIDE]
    if len(kept) not in sizes:
        raise error(
            "GM304",
            f"a row has {rows.shape[1]} numbers; expected {sizes[0]} of input {value.name!r}"
            + (f", or {depth} for each moment" if depth != sizes[0] else ""),
            str(path),
            "columns called label, class, target, time, id or index are left out where they are "
            "too many",
        )
    rows = rows[:, kept]
    left = [names[at] for at in range(len(names)) if at not in kept]
    notes = (f"{path}: {', '.join(map(repr, left))} left out of the samples",) if left else ()
    if len(kept) != sizes[0]:
        rows = _windows(rows, sizes[0] // depth, value, path)
    return samples_of(graph, rows.reshape(-1, *value.type.shape), str(path)).with_notes(notes)


def read_sound(graph: Graph, path: Path) -> Samples:
    """Samples from sound of one channel: -1 to 1 for a float input, as it is for int16.

    Raises GM304 for less than a sample, GM307 for what cannot be read.
    """
    value = _only_input(graph, path)
    try:
        sound, _ = load_wav(path)
    except (OSError, ArrayFileError) as cause:
        refused = isinstance(cause, OSError) and cause.strerror
        raise error("GM307", f"cannot read samples: {refused or cause}", str(path)) from cause
    size = math.prod(value.type.shape)
    if max(value.type.shape, default=1) != size:
        raise error(
            "GM304",
            f"input {value.name!r} is {value.type.shape}, and sound has one number a moment",
            str(path),
            "the model takes features of sound: compute them as in training and save them as .npy",
        )
    is_real = value.type.element is ElementType.F32
    numbers = sound.astype(np.float32) / np.float32(32768) if is_real else sound
    rows = _windows(numbers[:, np.newaxis], size, value, path)
    return samples_of(graph, rows.reshape(-1, *value.type.shape), str(path))


def _only_input(graph: Graph, path: Path) -> Value:
    if len(graph.inputs) == 1:
        return graph.inputs[0]
    names = ", ".join(value.name for value in graph.inputs)
    raise error(
        "GM304",
        f"one recording for {len(graph.inputs)} inputs; expected one each of: {names}",
        str(path),
        "use an .npz with the inputs' names",
    )


def _windows(moments: Array, length: int, value: Value, path: Path) -> Array:
    """`(samples, length, channels)`, one behind the other; what is left over at the end goes."""
    count = len(moments) // length
    if count == 0:
        raise error(
            "GM304",
            f"{len(moments)} moments are less than a sample of input {value.name!r}, {length}",
            str(path),
            "longer recordings are needed, or shorter ones filled up as in training",
        )
    return moments[: count * length].reshape(count, length, moments.shape[1])


def _rows(path: Path) -> tuple[list[str], Array]:
    """Names of the columns, none if there are none, and float64[rows, columns]."""
    try:
        if path.stat().st_size > limits.file_bytes():
            raise _unreadable(path, f"more than {limits.size_text(limits.file_bytes())}")
        with path.open(encoding="utf-8-sig", newline="") as file:
            first = file.readline()
            file.seek(0)
            separator = max(",;\t", key=first.count)
            lines = [line for line in csv.reader(file, delimiter=separator) if line]
    except OSError as cause:
        raise _unreadable(path, cause.strerror or str(cause)) from cause
    except (UnicodeDecodeError, csv.Error) as cause:
        raise _unreadable(path, f"it is no table of numbers: {cause}") from cause
    names = lines.pop(0) if lines and not all(map(_is_number, lines[0])) else []
    aside = {at for at, name in enumerate(names) if name.strip().lower() in _ASIDE}
    rows = list[list[float]]()
    for number, line in enumerate(lines, 2 if names else 1):
        wanted = len(names or lines[0])
        if len(line) != wanted:
            raise _unreadable(path, f"row {number} has {len(line)} columns, the first {wanted}")
        try:
            rows.append([0.0 if at in aside and not _is_number(text) else float(text)
                         for at, text in enumerate(line)])  # fmt: skip
        except ValueError as cause:
            raise _unreadable(path, f"row {number}: {cause}") from cause
    if not rows:
        raise error("GM306", "no samples: the table has no rows", str(path))
    return names, np.array(rows)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _unreadable(path: Path, reason: str) -> GlowmcuError:
    return error(
        "GM307", f"cannot read samples: {reason}", str(path),
        "a table has a row a sample, of numbers with a point, between commas, semicolons or tabs",
    )  # fmt: skip
