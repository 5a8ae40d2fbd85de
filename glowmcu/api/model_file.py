"""Reading the user's model file."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import BinaryIO

from glowmcu import limits
from glowmcu.errors import error
from glowmcu.frontend.c_arrays import model_in_c
from glowmcu.frontend.other_files import FROM_SAVED_MODEL


def read_model_file(path: Path) -> bytes:
    """The file's bytes, or those in its array of C. Raises GM101 for a pipeline and for several
    such arrays, GM110 when it cannot be read or is far too large.
    """
    if path.suffix.lower() == ".toml":
        hint = "`glowmcu compile` takes it; for the rest name the models in it"
        raise error("GM101", "not a .tflite or .onnx model: it is a pipeline", str(path), hint)
    try:
        if path.is_dir():
            raise error("GM110", *_folder(path))
        with path.open("rb") as file:
            data = _read_at_most(file, limits.file_bytes() + 1)
        if len(data) > limits.file_bytes():
            allowed = limits.size_text(limits.file_bytes())
            raise error(
                "GM110", f"the file is larger than {allowed}: no model for an MCU", str(path),
                limits.hint(max(path.stat().st_size, len(data)), limits.file_bytes()),
            )  # fmt: skip
        return model_in_c(data, str(path)) or data
    except OSError as cause:
        is_address = re.match("(https?|s3|gs|hf):", str(path))
        hint = "download the file first" if is_address else "check the path"
        raise error("GM110", f"cannot read the model: {cause.strerror}", str(path), hint) from cause


def _read_at_most(file: BinaryIO, most_bytes: int) -> bytes:
    """Up to `most_bytes` bytes. A file takes the memory that it needs and no more; a pipe or a
    device does not say its size.
    """
    size_bytes = os.fstat(file.fileno()).st_size
    data = file.read(min(size_bytes + 1, most_bytes))
    return data + file.read(most_bytes - len(data)) if len(data) != size_bytes else data


def _folder(path: Path) -> tuple[str, str, str]:
    """Message, place and hint of the error about a folder that was given as a model."""
    if (path / "saved_model.pb").is_file():
        return (
            "expected a model file, got a TensorFlow SavedModel", str(path), FROM_SAVED_MODEL,
        )  # fmt: skip
    return (
        "expected a model file, got a folder", str(path),
        "`glowmcu run` and `verify` take the folder of a bundle; `compile` takes a .tflite or "
        ".onnx",
    )  # fmt: skip
