"""Samples with the class that each belongs to: two files, or one .npz that holds both."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from glowmcu.array_files import ArrayFileError, load_npy, load_npz
from glowmcu.errors import GlowmcuError, error
from glowmcu.given_paths import is_file
from glowmcu.ir.graph import Graph
from glowmcu.ir.operation import Array
from glowmcu.quant.data_sets import rows_of
from glowmcu.quant.labels import LabelledSample, from_one_hot
from glowmcu.quant.sample_source import SampleSource, paths_of
from glowmcu.quant.samples import Sample

#: What an array of classes, and one of samples, is called in an .npz that holds both.
_LABELS = ("labels", "y")
_INPUTS = ("inputs", "samples", "x")
#: Files of text, and how much of it is read.
_TEXT_SUFFIXES = (".txt", ".csv")
_MOST_TEXT_BYTES = 1 << 26


class LabelledSamples(NamedTuple):
    """Samples, and their classes as int64 if there are any. Of a model with states, `lengths` are
    those of the sequences that the samples are of.
    """

    samples: tuple[Sample, ...]
    labels: Array | None
    lengths: tuple[int, ...]


#: One class number a sample, or a file of them.
LabelsGiven = str | Path | Array | Sequence[int]


def read_labelled(
    graph: Graph, source: SampleSource, labels: LabelsGiven | None
) -> LabelledSamples:
    """All of them, in memory; labels behind the samples of a data set where none are given.

    Raises GM304 to GM309 as `SampleSource.read`, GM340 for another number of labels, GM341 for
    values that are no classes of the model, GM345 for labels that cannot be read.
    """
    where = "labels"
    if isinstance(labels, str | Path):
        where, labels = str(labels), _load(Path(labels))
    paths = paths_of(source.data)
    if paths is not None and len(paths) == 1 and paths[0].suffix == ".npz" and is_file(paths[0]):
        own, arrays = _parted(graph, paths[0])
        if own is not None:
            source = SampleSource(arrays, source.preprocessing)
            if labels is None:
                where, labels = str(paths[0]), own
    read = source.read(graph)
    samples = tuple(read)
    lengths = tuple(sum(1 for _ in sequence) for sequence in read.sequences)
    if labels is None:
        labels = _behind(samples)
    if labels is not None:
        labels = _checked(graph, rows_of(labels), len(samples), where)
    return LabelledSamples(samples, labels, lengths)


def _behind(samples: Sequence[Sample]) -> Sequence[int] | None:
    """The labels of a data set's pairs; None where not all have one."""
    found = [sample.label for sample in samples if isinstance(sample, LabelledSample)]
    return found if found and len(found) == len(samples) else None


def _load(path: Path) -> Array:
    try:
        if path.suffix.lower() in _TEXT_SUFFIXES:
            return _of_text(path)
        if not zipfile.is_zipfile(path):
            return load_npy(path)
        arrays = load_npz(path)
        name = next((n for n in _LABELS if n in arrays), None)
        if name is None and len(arrays) == 1:
            name = next(iter(arrays))
        if name is None:
            raise ArrayFileError(f"it has no array called {' or '.join(_LABELS)}")
        return arrays[name]
    except (OSError, ArrayFileError) as cause:
        raise _unreadable(path, cause) from cause


def _of_text(path: Path) -> Array:
    """Class numbers, one a line; lines without any count for nothing."""
    with path.open("rb") as file:
        data = file.read(_MOST_TEXT_BYTES + 1)
    if len(data) > _MOST_TEXT_BYTES:
        raise ArrayFileError(f"it is larger than {_MOST_TEXT_BYTES} bytes")
    lines = data.decode("utf-8-sig", errors="replace").splitlines()
    numbers = list[int]()
    for place, line in enumerate(map(str.strip, lines), 1):
        if not re.fullmatch(r"-?\d{1,9}|", line):
            raise ArrayFileError(f"line {place} is {line[:40]!r}, and no class number")
        numbers += [int(line)] if line else []
    return np.array(numbers, np.int64)


def _unreadable(path: Path, cause: Exception) -> GlowmcuError:
    reason = cause.strerror if isinstance(cause, OSError) and cause.strerror else str(cause)[:200]
    return error(
        "GM345",
        f"cannot read labels: {reason}",
        str(path),
        "save one class number a sample with numpy.save(file, labels), or as text, one a line",
    )


def _parted(graph: Graph, path: Path) -> tuple[Array | None, dict[str, Array]]:
    """Labels in the archive, and the arrays that are inputs of the model."""
    try:
        arrays = load_npz(path)
    except (OSError, ArrayFileError):
        return None, {}  # whoever reads the samples says what is wrong
    inputs = {value.name for value in graph.inputs}
    name = next((n for n in _LABELS if n in arrays and n not in inputs), None)
    if name is None:
        return None, {}
    labels = arrays.pop(name)
    if len(graph.inputs) == 1 and not inputs & arrays.keys():
        usual = next((n for n in _INPUTS if n in arrays), None)
        return labels, arrays if usual is None else {graph.inputs[0].name: arrays[usual]}
    return labels, {n: array for n, array in arrays.items() if n in inputs}


def _checked(graph: Graph, labels: Array, count: int, where: str) -> Array:
    labels = from_one_hot(labels)
    flat = labels.reshape(-1)
    if len(flat) != count or labels.shape[:1] != (count,):
        raise error(
            "GM340",
            f"{count} samples need {count} labels, got {labels.shape}",
            where,
            "one class number a sample, in the samples' order",
        )
    if flat.dtype.kind not in "iufb" or not np.isfinite(flat).all() or (flat % 1 != 0).any():
        raise _no_class(f"got {_odd(flat)}", where)
    classes = _class_count(graph)
    wrong = flat[(flat < 0) | (flat >= classes)]
    if wrong.size:
        raise _no_class(f"got {wrong[0]:g}, the model's first output has {classes} classes", where)
    return flat.astype(np.int64)


def _odd(flat: Array) -> str:
    if isinstance(flat[0], list | tuple):
        return "lists of different lengths"
    if flat.dtype.kind not in "iufb":
        return f"{flat.dtype} {flat[:1]}"
    return f"{flat.dtype} {flat[~np.isfinite(flat) | (flat % 1 != 0)][0]:g}"


def _class_count(graph: Graph) -> float:
    type_ = graph.outputs[0].type
    if not type_.element.is_float:
        return float("inf")
    return max(2, type_.element_count)


def _no_class(text: str, where: str) -> GlowmcuError:
    return error(
        "GM341",
        f"labels must be class numbers from 0 on: {text}",
        where,
        "label i is right where score i of the first output is the greatest",
    )
