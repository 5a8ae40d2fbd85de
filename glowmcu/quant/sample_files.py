"""Samples from files: arrays, raw values, tables, sound, folders of these, and folders of images.

A folder is read in the order of its files' names. Raw files (`.bin`, `.raw`) hold one sample for a
single input, little-endian, C order.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from glowmcu.array_files import ArrayFileError, load_npy, load_npz
from glowmcu.errors import GlowmcuError, error
from glowmcu.given_paths import is_file, is_folder, is_there
from glowmcu.ir.graph import Graph
from glowmcu.ir.operation import Array
from glowmcu.quant.images import IMAGE_SUFFIXES, Preprocessing, read_image
from glowmcu.quant.recordings import (
    SOUND_SUFFIXES,
    TABLE_SUFFIXES,
    read_sound,
    read_table,
)
from glowmcu.quant.samples import Samples, joined, samples_of, single_files

_RAW_SUFFIXES = (".bin", ".raw")
SINGLE_SUFFIXES = (".npy", ".npz", *_RAW_SUFFIXES)
RECORDING_SUFFIXES = (*TABLE_SUFFIXES, *SOUND_SUFFIXES)
#: Of tables, too; in a folder they may be anything.
_TEXT_SUFFIXES = (".txt", ".dat")
_AS_NPY = "save the inputs by `numpy.save('samples.npy', x)`, x of shape (samples, …)"
_AS_TABLE = "in Python: `pandas.read_{}(FILE).to_csv('samples.csv', index=False)`"
_AS_WAV = "`sox IN -b 16 OUT.wav` or `ffmpeg -i IN OUT.wav` makes a WAV file"
#: What to do with files that others write.
_REMEDIES = {
    **dict.fromkeys((".h5", ".hdf5", ".mat", ".pkl", ".pickle", ".pt", ".pth"), _AS_NPY),
    **dict.fromkeys((".tfrecord", ".json", ".jsonl", ".safetensors"), _AS_NPY),
    ".parquet": _AS_TABLE.format("parquet"),
    ".feather": _AS_TABLE.format("feather"),
    ".arrow": _AS_TABLE.format("feather"),
    ".xlsx": _AS_TABLE.format("excel"),
    ".xls": _AS_TABLE.format("excel"),
    **dict.fromkeys((".mp3", ".flac", ".ogg", ".m4a", ".aac", ".opus"), _AS_WAV),
    **dict.fromkeys((".heic", ".avif", ".svg", ".mp4"), "save pictures as .png"),
    **dict.fromkeys((".zip", ".tar", ".gz", ".tgz", ".7z"), "unpack it, and pass the folder"),
}


def read_samples(graph: Graph, path: Path, preprocessing: Preprocessing | None = None) -> Samples:
    """Samples for `graph` from a file or folder. `preprocessing` says what images become.

    Raises GM304 to GM306 as `samples_of`, GM307 for files that cannot be read.
    """
    if is_folder(path):
        return _folder(graph, path, preprocessing)
    suffix = path.suffix.lower()
    if suffix == ".npy":
        return samples_of(graph, _load_npy(path), str(path))
    if suffix == ".npz":
        return samples_of(graph, _load_npz(path), str(path))
    if suffix in TABLE_SUFFIXES or (suffix in _TEXT_SUFFIXES and is_file(path)):
        return read_table(graph, path)
    if suffix in SOUND_SUFFIXES:
        return read_sound(graph, path)
    if suffix in _RAW_SUFFIXES:
        return single_files(graph, [path], lambda file: _load_raw(graph, file))
    if suffix in IMAGE_SUFFIXES and is_file(path):
        return _images(graph, path, [path], preprocessing)
    known = ", ".join((*SINGLE_SUFFIXES, *RECORDING_SUFFIXES, *_TEXT_SUFFIXES, *IMAGE_SUFFIXES))
    if not is_there(path):
        raise error("GM307", "cannot read samples: no such file or folder", str(path))
    raise error(
        "GM307",
        f"cannot read samples: expected a folder or one of {known}",
        str(path),
        _REMEDIES.get(suffix, _AS_NPY),
    )


def _folder(graph: Graph, folder: Path, preprocessing: Preprocessing | None) -> Samples:
    """One sample a file; all files of one kind, images wherever they lie below the folder."""
    below = sorted(path for path in folder.rglob("*") if is_data(path.relative_to(folder)))
    images = [f for f in below if f.suffix.lower() in IMAGE_SUFFIXES]
    files = [f for f in below if f.suffix.lower() in SINGLE_SUFFIXES and f.parent == folder]
    recordings = [f for f in below if f.suffix.lower() in RECORDING_SUFFIXES]
    kinds = [("images", images), ("arrays", files), ("recordings", recordings)]
    held = [(name, found[0].name) for name, found in kinds if found]
    if len(held) > 1:
        raise error(
            "GM307",
            f"the folder holds {' and '.join(name for name, _ in held)}: "
            f"{', '.join(first for _, first in held)}",
            str(folder),
            "keep one kind of sample in a folder",
        )
    if recordings:
        return joined([read_samples(graph, file) for file in recordings])
    if images:
        return _images(graph, folder, images, preprocessing)
    if not files:
        known = ", ".join((*SINGLE_SUFFIXES, *IMAGE_SUFFIXES, *RECORDING_SUFFIXES))
        raise error("GM306", f"no samples: the folder has none of {known}", str(folder))
    return single_files(graph, files, lambda file: _load_single(graph, file))


def is_data(path: Path) -> bool:
    """Not of a system or a tool: `.ipynb_checkpoints`, and what archives of macOS hold beside each
    file (`._a.png`, `__MACOSX`).
    """
    return not any(part.startswith(".") or part == "__MACOSX" for part in path.parts)


def _images(
    graph: Graph, where: Path, images: list[Path], preprocessing: Preprocessing | None
) -> Samples:
    if preprocessing is None:
        raise error(
            "GM308",
            "images need a stated preprocessing: what numbers a pixel becomes",
            str(where),
            "give --preprocess FILE, with size = [96, 96], mean = 0.0, scale = 255.0, …",
        )
    settings = preprocessing
    return single_files(graph, images, lambda file: read_image(file, settings))


def _load_single(graph: Graph, path: Path) -> Array | dict[str, Array]:
    if path.suffix.lower() == ".npy":
        return _load_npy(path)
    if path.suffix.lower() == ".npz":
        arrays = _load_npz(path)
        return next(iter(arrays.values())) if len(arrays) == len(graph.inputs) == 1 else arrays
    return _load_raw(graph, path)


def _load_npy(path: Path) -> Array:
    try:
        return load_npy(path)
    except (OSError, ArrayFileError) as cause:
        raise _unreadable(
            path, cause, "a .npy file holds one array, as numpy.save writes it"
        ) from cause


def _load_npz(path: Path) -> dict[str, Array]:
    try:
        return load_npz(path)
    except (OSError, ArrayFileError) as cause:
        raise _unreadable(
            path, cause, "a .npz file holds arrays, as numpy.savez writes it"
        ) from cause


def _load_raw(graph: Graph, path: Path) -> Array:
    if len(graph.inputs) != 1:
        raise error("GM307", f"a raw file cannot feed {len(graph.inputs)} inputs", str(path))
    type_ = graph.inputs[0].type
    try:
        with path.open("rb") as file:
            data = file.read(type_.size_bytes + 1)
        size = max(len(data), path.stat().st_size)
    except OSError as cause:
        raise _unreadable(path, cause, "check the path") from cause
    if len(data) != type_.size_bytes:
        raise error(
            "GM307",
            f"a raw sample of {type_} takes {type_.size_bytes} bytes, got {size}",
            str(path),
        )
    dtype = type_.element.numpy.newbyteorder("<")
    return np.frombuffer(data, dtype).reshape(type_.shape)


def _unreadable(path: Path, cause: Exception, hint: str) -> GlowmcuError:
    """`hint` says what the file should be; a file that the system refuses says why itself."""
    refused = isinstance(cause, OSError) and cause.strerror
    reason = f"{refused}" if refused else str(cause)
    return error(
        "GM307", f"cannot read samples: {reason}", str(path), "check the path" if refused else hint
    )
