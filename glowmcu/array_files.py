"""Arrays from `.npy` and `.npz` files: what a header claims is checked, then believed.

numpy allocates what the header says before it looks for data, a zip archive may unpack to a
thousand times its size, and each of its parts raises exceptions of its own. Here all of that is
one `ArrayFileError` that says what is wrong. Arrays of objects (pickles) are refused.
"""

from __future__ import annotations

import math
import os
import zipfile
from pathlib import Path
from tokenize import TokenError
from typing import IO, Any
from zlib import error as ZlibError

import numpy as np
import numpy.typing as npt

from glowmcu import limits

try:
    from lzma import LZMAError
except ImportError:  # a Python without lzma has none to raise
    LZMAError = ZlibError  # type: ignore[misc, assignment]

Array = npt.NDArray[Any]
#: What zipfile, the decompressors, numpy's headers and dtypes raise on nonsense.
_DAMAGED = (
    ValueError, EOFError, TypeError, KeyError, IndexError, AttributeError, OverflowError,
    SyntaxError, RecursionError, MemoryError, NotImplementedError, RuntimeError, TokenError,
    ZlibError, LZMAError, zipfile.BadZipFile,
)  # fmt: skip
_HEADERS = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}


class ArrayFileError(ValueError):
    """A file holds no arrays that can be read; the text says why."""


def load_npy(path: Path) -> Array:
    """The array of a `.npy` file. Raises ArrayFileError, OSError."""
    with path.open("rb") as file:
        if file.read(2) == b"PK":
            raise ArrayFileError("expected one array, got an archive")
        file.seek(0)
        size_bytes = os.fstat(file.fileno()).st_size
        return _array(file, size_bytes, ".npy")


def load_npz(path: Path) -> dict[str, Array]:
    """The arrays of a `.npz` file by name. Raises ArrayFileError, OSError.

    Together they may be as large as the file, or as `limits.memory_bytes`.
    """
    with path.open("rb") as file:
        left = max(limits.memory_bytes(), os.fstat(file.fileno()).st_size)
        try:
            with zipfile.ZipFile(file) as archive:
                return _members(archive, left)
        except (ArrayFileError, FileNotFoundError):
            raise
        except (OSError, *_DAMAGED) as cause:
            raise _damaged(".npz", cause) from cause


def _members(archive: zipfile.ZipFile, left: int) -> dict[str, Array]:
    arrays: dict[str, Array] = {}
    for info in archive.infolist():
        name = info.filename
        if not name.endswith(".npy"):
            continue
        if info.file_size > left:
            raise ArrayFileError(
                f"{name[:80]!r} unpacks to {limits.size_text(info.file_size)}, and "
                f"{limits.size_text(left)} are allowed: {limits.hint(info.file_size, left)}"
            )
        with archive.open(info) as member:
            array = _member(member, info.file_size, name)
        left -= array.nbytes
        arrays[name.removesuffix(".npy")] = array
    return arrays


def _member(file: IO[bytes], size_bytes: int, name: str) -> Array:
    try:
        return _array(file, size_bytes, name)
    except ArrayFileError as cause:
        raise ArrayFileError(f"{name[:80]!r} of it cannot be read: {cause}") from cause


def _array(file: IO[bytes], size_bytes: int, name: str) -> Array:
    """One array of a file of `size_bytes` bytes, its header included."""
    try:
        magic = file.read(len(np.lib.format.MAGIC_PREFIX) + 2)
        if magic[:-2] != np.lib.format.MAGIC_PREFIX:
            raise ArrayFileError("it is no .npy file")
        version = magic[-2], magic[-1]
        if version not in _HEADERS:
            raise ArrayFileError(f"its format is version {version[0]}.{version[1]}")
        shape, fortran_order, dtype = _HEADERS[version](file)
        _check(shape, dtype, size_bytes)
        count = math.prod(shape)
        data = file.read(count * dtype.itemsize)
        if len(data) != count * dtype.itemsize:
            raise ArrayFileError(
                f"its header says {shape} {dtype}, {count * dtype.itemsize} bytes; "
                f"{len(data)} follow"
            )
        if not dtype.itemsize:
            return np.zeros(shape, dtype)
        flat: Array = np.frombuffer(bytearray(data), dtype, count)
        return flat.reshape(shape[::-1]).T if fortran_order else flat.reshape(shape)
    except ArrayFileError:
        raise
    except _DAMAGED as cause:
        raise _damaged(name, cause) from cause


def _check(shape: tuple[Any, ...], dtype: np.dtype[Any], size_bytes: int) -> None:
    if dtype.hasobject:
        raise ArrayFileError(
            "it holds Python objects; expected numbers, or text as .astype(str) makes it"
        )
    if not all(type(size) is int and size >= 0 for size in shape) or len(shape) > 32:
        raise ArrayFileError(f"its shape is {str(shape)[:80]}")
    claimed = math.prod(shape) * dtype.itemsize
    if claimed > size_bytes or math.prod(shape) >= 1 << 62:
        raise ArrayFileError(
            f"its header says {shape} {dtype}, {limits.size_text(claimed)}, "
            f"in a file of {size_bytes} bytes"
        )


def _damaged(name: str, cause: BaseException) -> ArrayFileError:
    text = " ".join(str(cause).split())[:120]
    return ArrayFileError(f"{name[:80]} is damaged: {text or type(cause).__name__}")
