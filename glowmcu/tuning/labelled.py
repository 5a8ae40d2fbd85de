"""Samples with the class that each belongs to: two files, or one .npz that holds both."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import NamedTuple

import numpy as np

from glowmcu.array_files import ArrayFileError, load_npy, load_npz
from glowmcu.errors import GlowmcuError, error
from glowmcu.given_paths import is_file
from glowmcu.ir.graph import Graph
from glowmcu.ir.operation import Array
from glowmcu.quant.labels import from_one_hot
from glowmcu.quant.sample_source import SampleSource, paths_of
from glowmcu.quant.samples import Sample

#: What an array of classes, and one of samples, is called in an .npz that holds both.
_LABELS = ("labels", "y")
_INPUTS = ("inputs", "samples", "x")


class LabelledSamples(NamedTuple):
    """Samples, and their classes as int64 if there are any. Of a model with states, `lengths` are
    those of the sequences that the samples are of.
    """

    samples: tuple[Sample, ...]
    labels: Array | None
    lengths: tuple[int, ...]


def read_labelled(
    graph: Graph, source: SampleSource, labels: Array | Path | None
) -> LabelledSamples:
    """All of them, in memory.

    Raises GM304 to GM309 as `SampleSource.read`, GM340 for another number of labels, GM341 for
    values that are no classes of the model, GM345 for labels that cannot be read.
    """
    where = "labels"
    if isinstance(labels, Path):
        where, labels = str(labels), _load(labels)
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
    if labels is not None:
        labels = _checked(graph, np.asarray(labels), len(samples), where)
    return LabelledSamples(samples, labels, lengths)


def _load(path: Path) -> Array:
    try:
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


def _unreadable(path: Path, cause: Exception) -> GlowmcuError:
    reason = cause.strerror if isinstance(cause, OSError) and cause.strerror else str(cause)[:200]
    return error(
        "GM345",
        f"cannot read labels: {reason}",
        str(path),
        "save one class number a sample with numpy.save(file, labels)",
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
        raise _no_class(f"got {flat.dtype} {_odd(flat)}", where)
    classes = _class_count(graph)
    wrong = flat[(flat < 0) | (flat >= classes)]
    if wrong.size:
        raise _no_class(f"got {wrong[0]:g}, the model's first output has {classes} classes", where)
    return flat.astype(np.int64)


def _odd(flat: Array) -> str:
    if flat.dtype.kind not in "iufb":
        return str(flat[:1])
    return f"{flat[~np.isfinite(flat) | (flat % 1 != 0)][0]:g}"


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
