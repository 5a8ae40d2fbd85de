"""Reading the user's model file."""

from __future__ import annotations

from pathlib import Path

from glowmcu.errors import error

_MAX_MODEL_BYTES = 256 << 20


def read_model_file(path: Path) -> bytes:
    """The file's bytes. Raises GM110 when it cannot be read or is far too large."""
    try:
        if path.is_dir():
            raise error(
                "GM110", "expected a model file, got a folder", str(path),
                "`glowmcu run` and `verify` take the folder of a bundle; `compile` takes a .tflite",
            )  # fmt: skip
        if path.stat().st_size > _MAX_MODEL_BYTES:
            raise error("GM110", "the file is larger than 256 MiB: no model for an MCU", str(path))
        return path.read_bytes()
    except OSError as cause:
        raise error(
            "GM110", f"cannot read the model: {cause.strerror}", str(path), "check the path"
        ) from cause
