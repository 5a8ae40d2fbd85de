"""`run --stream FILE`: the inputs of many invocations, and what came of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from glowmcu.array_files import ArrayFileError, load_npy, load_npz
from glowmcu.errors import error
from glowmcu.labels import class_text
from glowmcu.lazy_dataclass import dataclass
from glowmcu.manifest import Manifest, TensorEntry
from glowmcu.report.classes import new_results
from glowmcu.sound_files import load_sound
from glowmcu.verify.host import input_hint
from glowmcu.verify.measurement import Array, Measurement

#: What the only input may be called whatever the model calls it.
_INPUTS = "inputs"


@dataclass(frozen=True)
class Stream:
    """Inputs of each invocation, and what of the file is too little for one more."""

    inputs: list[list[Array]]
    notes: tuple[str, ...]


def read_stream(path: Path, manifest: Manifest) -> Stream:
    """From arrays named as inputs are: T[invocations, *shape], or the rows of all invocations one
    behind the other, as a microphone gives them: of a pipeline these begin where its first window
    does, as what is pushed. An .npy or .wav file has the only input.

    Raises GM730 for a file that has no such arrays.
    """
    try:
        arrays, sound_notes = _arrays(path, manifest)
    except OSError as cause:
        reason = f"cannot be read: {cause.strerror}"
        raise _unfit(path, manifest, reason, "check the path") from cause
    except ArrayFileError as cause:
        hint = _sound_hint(manifest) if _is_sound(path) else ""
        raise _unfit(path, manifest, f"cannot be read: {cause}", hint) from cause
    found = [_array(arrays, entry.name, manifest) for entry in manifest.inputs]
    lacking = [e.name for e, array in zip(manifest.inputs, found, strict=True) if array is None]
    if lacking:
        held = ", ".join(arrays) or "nothing"
        raise _unfit(path, manifest, f"holds {held}, and no array {lacking[0]!r}")
    given = [array for array in found if array is not None]
    if manifest.size is not None:
        manifest = manifest.at(manifest.size_of([array.shape[1:] for array in given]))
    pipeline = manifest.pipeline
    zeros = pipeline.backlog * pipeline.sample_elements if pipeline else 0
    columns, notes = [], [*sound_notes]
    for entry, array in zip(manifest.inputs, given, strict=True):
        column = _invocations(array, entry, zeros)
        if column is None:
            got = f"{array.dtype}[{'x'.join(map(str, array.shape))}]"
            hint = "" if str(array.dtype) == entry.dtype else input_hint(entry, array)
            raise _unfit(path, manifest, f"has {got} for input {entry.name!r}", hint)
        columns.append(column)
        left = (array.size + zeros - column.size) if array.shape[1:] != entry.shape else 0
        if left:
            notes.append(
                f"{entry.name}: the last {left} of {array.size} values are left over, "
                f"a run takes {math.prod(entry.shape)}"
            )
    lengths = {len(array) for array in columns}
    if len(lengths) != 1 or 0 in lengths:
        raise _unfit(path, manifest, f"has inputs of {sorted(lengths)} invocations")
    runs = [[array[step] for array in columns] for step in range(lengths.pop())]
    return Stream(runs, tuple(notes))


def _arrays(path: Path, manifest: Manifest) -> tuple[dict[str, Array], tuple[str, ...]]:
    """What a file holds by name, and what was taken for granted."""
    if path.suffix.lower() == ".npy":
        return {_INPUTS: load_npy(path)}, ()
    if not _is_sound(path):
        return load_npz(path), ()
    sound, pipeline = load_sound(path), manifest.pipeline
    wanted = pipeline.sample_rate if pipeline else None
    if wanted not in (None, sound.rate):
        raise ArrayFileError(
            f"it has {sound.rate} samples a second, and the pipeline takes {wanted}"
        )
    channels = pipeline.sample_elements if pipeline else 1
    sound = sound if channels == sound.moments.shape[1] else sound.mono()
    if channels != sound.moments.shape[1]:
        raise ArrayFileError(f"a sample of the pipeline has {channels} values, and sound has one")
    is_real = [entry.dtype for entry in manifest.inputs] == ["float32"]
    return {_INPUTS: sound.as_type(is_real).reshape(-1)}, sound.notes


def _is_sound(path: Path) -> bool:
    return path.suffix.lower() == ".wav"


def _sound_hint(manifest: Manifest) -> str:
    rate = manifest.pipeline.sample_rate if manifest.pipeline else None
    form = f"{f'-r {rate} ' if rate else ''}-c 1 -b 16"
    return f"sox IN {form} OUT.wav makes a fitting file of most sound"


def heard(manifest: Manifest, measured: Sequence[Measurement]) -> tuple[str, ...]:
    """Of a pipeline with a decision: what was detected, and when."""
    pipeline = manifest.pipeline
    names = [output.name for output in manifest.outputs]
    if pipeline is None or "decision" not in names:
        return ()
    at = names.index("decision")
    new = new_results(manifest, len(measured))
    found = [(run, int(measured[run].outputs[at].reshape(-1)[0])) for run in new]
    said = []
    for run, number in (item for item in found if item[1] >= 0):
        when = f"in run {run}"
        if pipeline.sample_rate:
            heard_samples = (run + 1) * pipeline.hop - pipeline.backlog
            when = f"at {heard_samples / pipeline.sample_rate:.2f} s"
        said.append(f"decision: {class_text(manifest.labels, number)} is detected {when}")
    return tuple(said) or ("decision: nothing is detected",)


def _invocations(array: Array, entry: TensorEntry, zeros: int) -> Array | None:
    """T[invocations, *shape], of rows behind so many zeros as many as make whole ones; None for
    what does not fit.
    """
    if str(array.dtype) != entry.dtype:
        return None
    if array.ndim and array.shape[1:] == entry.shape:
        return array
    row = [size for size in entry.shape if size > 1][1:]
    if array.ndim != 1 and (not array.ndim or [n for n in array.shape[1:] if n > 1] != row):
        return None
    size = math.prod(entry.shape)
    flat = np.concatenate([np.zeros(zeros, array.dtype), array.reshape(-1)])
    return flat[: flat.size // size * size].reshape(-1, *entry.shape)


def _array(arrays: dict[str, Array], name: str, manifest: Manifest) -> Array | None:
    if name in arrays or len(manifest.inputs) > 1:
        return arrays.get(name)
    if len(arrays) == 1:
        return next(iter(arrays.values()))
    return arrays.get(_INPUTS)


def _unfit(path: Path, manifest: Manifest, what: str, hint: str = "") -> Exception:
    wanted = ", ".join(
        f"{entry.name} as {entry.dtype}[{'x'.join(map(str, ('N', *entry.shape)))}]"
        for entry in manifest.inputs
    )
    return error(
        "GM730",
        f"the stream {what}; expected {wanted}",
        str(path),
        hint
        or "numpy.savez(file, NAME=array) with the inputs of N invocations one behind the other, "
        "or numpy.save(file, array) with all rows or samples of the only input",
    )


def joined(measured: Sequence[Measurement]) -> Measurement:
    """All outputs, T[invocations, *shape] each, and what the dearest invocation cost."""
    columns = zip(*(one.outputs for one in measured), strict=True)
    outputs = tuple(np.stack(column) for column in columns)
    dearest = max(measured, key=lambda one: (one.cycles or 0, one.instructions or 0))
    stacks = [one.stack_bytes for one in measured if one.stack_bytes is not None]
    return Measurement(
        outputs, dearest.instructions, dearest.cycles, max(stacks, default=None), dearest.layers
    )
