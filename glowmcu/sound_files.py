"""Sound from WAV files as real numbers: any number of channels, integers of 8 to 32 bits, floats.

The standard library's `wave` refuses floats and, before Python 3.12, the extensible form in which
many programs write more than 16 bits, so the chunks are read here.
Source: Microsoft and IBM 1991, Multimedia Programming Interface (RIFF); mmreg.h (WAVEFORMATEX).
"""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import numpy.typing as npt

from glowmcu import limits
from glowmcu.array_files import ArrayFileError
from glowmcu.lazy_dataclass import dataclass

_INTEGERS, _FLOATS, _EXTENSIBLE = 1, 3, 0xFFFE
_MOST_CHANNELS = 64
#: What streams are given that end when their writer does: as much as there is.
_OPEN_END = 0xFFFFFFFF


@dataclass(frozen=True, eq=False)
class Sound:
    """`moments` is float64[moments, channels], -1 to 1 as integers fill their bits; floats are as
    they stand in the file. `rate` is the number of moments a second.
    """

    moments: npt.NDArray[np.float64]
    rate: int


@dataclass(frozen=True)
class _Form:
    tag: int
    channels: int
    rate: int
    bits: int


def load_sound(path: Path) -> Sound:
    """All of a file's sound. Raises ArrayFileError for what is none, OSError."""
    if path.stat().st_size > limits.file_bytes():
        raise ArrayFileError(f"more than {limits.size_text(limits.file_bytes())}")
    data = path.read_bytes()
    if not data:
        raise ArrayFileError("the file is empty")
    if data[:4] != b"RIFF" or data[8:12] != b"WAVE":
        raise ArrayFileError("not a WAV file: it does not begin with RIFF and WAVE")
    form: _Form | None = None
    at = 12
    while at + 8 <= len(data):
        name, size = data[at : at + 4], struct.unpack_from("<I", data, at + 4)[0]
        body = data[at + 8 : at + 8 + size]
        if name == b"fmt ":
            form = _form(body)
        if name == b"data":
            if form is None:
                raise ArrayFileError("its samples come before the chunk that says their form")
            if len(body) < size and size != _OPEN_END:
                raise ArrayFileError(f"it is cut off: {len(body)} of {size} bytes of samples")
            return Sound(_moments(body, form), form.rate)
        at += 8 + size + size % 2
    raise ArrayFileError("a WAV file without samples: it has no chunk called 'data'")


def _form(body: bytes) -> _Form:
    if len(body) < 16:
        raise ArrayFileError(f"its 'fmt ' chunk has {len(body)} bytes; expected 16 or more")
    tag, channels, rate, _, _, bits = struct.unpack_from("<HHIIHH", body)
    if tag == _EXTENSIBLE and len(body) >= 26:
        (tag,) = struct.unpack_from("<H", body, 24)
    widths = {_INTEGERS: (8, 16, 24, 32), _FLOATS: (32, 64)}.get(tag)
    if widths is None:
        raise ArrayFileError(
            f"its samples are compressed (format {tag}); expected integers or floats"
        )
    if bits not in widths:
        raise ArrayFileError(f"its samples have {bits} bits; expected one of {widths}")
    if not 1 <= channels <= _MOST_CHANNELS or not rate:
        raise ArrayFileError(f"it has {channels} channels and {rate} samples a second")
    return _Form(tag, channels, rate, bits)


def _moments(body: bytes, form: _Form) -> npt.NDArray[np.float64]:
    width = form.bits // 8
    frames = len(body) // (width * form.channels)
    body = body[: frames * width * form.channels]
    if form.tag == _FLOATS:
        flat = np.frombuffer(body, f"<f{width}").astype(np.float64)
    elif form.bits == 8:
        flat = (np.frombuffer(body, np.uint8).astype(np.float64) - 128) / 128
    else:
        # Of three bytes the upper ones of four, so that the sign is in its place.
        parts = np.zeros((frames * form.channels, 4), np.uint8)
        parts[:, 4 - width :] = np.frombuffer(body, np.uint8).reshape(-1, width)
        flat = parts.view("<i4").reshape(-1).astype(np.float64) / 2**31
    return flat.reshape(frames, form.channels)
