"""Sound from WAV files as real numbers: any number of channels, integers of 8 to 32 bits, floats.

The standard library's `wave` refuses floats and, before Python 3.12, the extensible form in which
many programs write more than 16 bits, so the chunks are read here.
Source: Microsoft and IBM 1991, Multimedia Programming Interface (RIFF); mmreg.h (WAVEFORMATEX);
EBU Tech 3306 (RF64, in which long recordings state their size in a chunk of its own).
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
#: Sizes from here on stand where a writer knew none, as pipes and recorders that are stopped leave
#: them: 0x7FFFF000 of arecord and sox, 0xFFFFFFFF of ffmpeg.
_OPEN_END = 0x7FFFF000
_IN_A_CHUNK_OF_ITS_OWN = 0xFFFFFFFF


@dataclass(frozen=True, eq=False)
class Sound:
    """`moments` is float64[moments, channels], -1 to 1 as integers fill their bits; floats are as
    they stand in the file. `rate` is the number of moments a second. `notes` say what was taken
    for granted.
    """

    moments: npt.NDArray[np.float64]
    rate: int
    notes: tuple[str, ...] = ()

    def mono(self) -> Sound:
        """The mean of all channels, and a note where there are several."""
        channels = self.moments.shape[1]
        if channels == 1:
            return self
        note = f"of sound with {channels} channels their mean is taken"
        mean = self.moments.mean(axis=1, keepdims=True)
        return Sound(mean, self.rate, (*self.notes, note))

    def as_type(self, is_real: bool) -> npt.NDArray[np.float32] | npt.NDArray[np.int16]:
        """`moments` as models take them: -1 to 1 as real numbers, else 16 bits, which saturate."""
        if is_real:
            return self.moments.astype(np.float32)
        return np.clip(np.rint(32768 * self.moments), -32768, 32767).astype(np.int16)


@dataclass(frozen=True)
class _Form:
    tag: int
    channels: int
    rate: int
    bits: int
    #: Bytes of a sample, of which its bits are the upper ones.
    width: int


def load_sound(path: Path) -> Sound:
    """All of a file's sound. Raises ArrayFileError for what is none, OSError."""
    if path.stat().st_size > limits.file_bytes():
        raise ArrayFileError(f"more than {limits.size_text(limits.file_bytes())}")
    data = path.read_bytes()
    if not data:
        raise ArrayFileError("the file is empty")
    if data[:4] not in (b"RIFF", b"RF64") or data[8:12] != b"WAVE":
        raise ArrayFileError("not a WAV file: it does not begin with RIFF and WAVE")
    form: _Form | None = None
    at, long_size = 12, 0
    while at + 8 <= len(data):
        name, size = data[at : at + 4], struct.unpack_from("<I", data, at + 4)[0]
        at += 8
        if name == b"data":
            if form is None:
                raise ArrayFileError("its samples come before the chunk that says their form")
            return _sound(data, at, size, long_size, form)
        body = data[at : at + size]
        if name == b"ds64" and len(body) >= 16:
            long_size = struct.unpack_from("<Q", body, 8)[0]
        if name == b"fmt ":
            form = _form(body)
        at += size
        # Some writers leave out the byte that makes a chunk's size even.
        at += size % 2 and data[at : at + 4] not in (b"fmt ", b"data")
    raise ArrayFileError("a WAV file without samples: it has no chunk called 'data'")


def _sound(data: bytes, at: int, stated: int, long_size: int, form: _Form) -> Sound:
    """Of samples from `at` on, as many bytes as are stated, there or in a chunk of its own."""
    size = long_size if stated == _IN_A_CHUNK_OF_ITS_OWN and long_size else stated
    # Samples that are none at all may have chunks behind them: the whole file's size says so.
    has_more = at < 8 + struct.unpack_from("<I", data, 4)[0] <= len(data)
    is_open = len(data) - at < size == stated >= _OPEN_END or (size == 0 and not has_more)
    body = data[at:] if is_open else data[at : at + size]
    if is_open:
        note = f"a recording that does not say its length is taken to its end, {len(body)} bytes"
        return Sound(_moments(body, form), form.rate, (note,))
    if len(body) < size:
        raise ArrayFileError(f"it is cut off: {len(body)} of {size} bytes of samples")
    return Sound(_moments(body, form), form.rate)


def _form(body: bytes) -> _Form:
    if len(body) < 16:
        raise ArrayFileError(f"its 'fmt ' chunk has {len(body)} bytes; expected 16 or more")
    tag, channels, rate, _, frame, bits = struct.unpack_from("<HHIIHH", body)
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
    width = frame // channels
    # Integers of more than a byte may stand in more bytes than they need.
    widest = 4 if tag == _INTEGERS and bits > 8 else bits // 8
    if not bits // 8 <= width <= widest or frame % channels:
        raise ArrayFileError(f"{channels} samples of {bits} bits take {frame} bytes in it")
    return _Form(tag, channels, rate, bits, width)


def _moments(body: bytes, form: _Form) -> npt.NDArray[np.float64]:
    width = form.width
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
