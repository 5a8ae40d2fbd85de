"""WAV files of every form that is read, and what is refused."""

from __future__ import annotations

import contextlib
import struct
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from glowmcu import limits
from glowmcu.array_files import ArrayFileError
from glowmcu.sound_files import load_sound

WAVE = np.array([[0.0, -1.0], [0.5, 0.25], [-0.5, 0.75]])
PCM_GUID = bytes.fromhex("0100000000001000800000aa00389b71")


def chunk(name: bytes, body: bytes) -> bytes:
    return name + struct.pack("<I", len(body)) + body + b"\0" * (len(body) % 2)


def form(
    tag: int, channels: int, bits: int, rate: int = 16000, more: bytes = b"", width: int = 0
) -> bytes:
    frame = channels * (width or bits // 8)
    head = struct.pack("<HHIIHH", tag, channels, rate, rate * frame, frame, bits)
    return chunk(b"fmt ", head + more)


def file_of(folder: Path, *chunks: bytes) -> Path:
    body = b"WAVE" + b"".join(chunks)
    (folder / "x.wav").write_bytes(chunk(b"RIFF", body))
    return folder / "x.wav"


def stored(values: np.ndarray, tag: int, bits: int) -> bytes:
    if tag == 3:
        return values.astype(f"<f{bits // 8}").tobytes()
    if bits == 8:
        return (values * 128 + 128).astype(np.uint8).tobytes()
    whole = (values * 2.0 ** (bits - 1)).astype("<i4").reshape(-1, 1).view(np.uint8)
    return whole[:, : bits // 8].tobytes()


@pytest.mark.parametrize(
    ("tag", "bits"), [(1, 8), (1, 16), (1, 24), (1, 32), (3, 32), (3, 64)],
    ids=["8 bits", "16 bits", "24 bits", "32 bits", "floats", "doubles"],
)  # fmt: skip
@pytest.mark.parametrize("channels", [1, 2])
@pytest.mark.parametrize("is_extensible", [False, True], ids=["plain", "extensible"])
def test_every_form_gives_the_same_numbers(
    tag: int, bits: int, channels: int, is_extensible: bool, tmp_path: Path
) -> None:
    values = WAVE[:, :channels]
    head = form(tag, channels, bits, 22050)
    if is_extensible:
        guid = struct.pack("<H", tag) + PCM_GUID[2:]
        head = form(0xFFFE, channels, bits, 22050, struct.pack("<HHI", 22, bits, 0) + guid)
    # A chunk of odd length stands before the samples, as editors leave names and dates.
    samples = chunk(b"data", stored(values, tag, bits))
    path = file_of(tmp_path, chunk(b"LIST", b"abc"), head, samples)
    sound = load_sound(path)
    assert sound.rate == 22050
    assert np.array_equal(sound.moments, values)


@pytest.mark.parametrize("bits", [16, 24])
def test_integers_are_the_upper_bits_of_more_bytes_than_they_need(
    bits: int, tmp_path: Path
) -> None:
    samples = chunk(b"data", stored(WAVE, 1, 32))
    sound = load_sound(file_of(tmp_path, form(1, 2, bits, width=4), samples))
    assert np.array_equal(sound.moments, WAVE)


@pytest.mark.parametrize("name", [b"LIST", b"fmt "])
def test_a_chunk_of_odd_length_may_lack_its_last_byte(name: bytes, tmp_path: Path) -> None:
    head = form(1, 2, 16, more=b"x" * (name == b"fmt "))
    odd = b"LIST" + struct.pack("<I", 3) + b"abc" if name == b"LIST" else head[:-1]
    chunks = (odd, head) if name == b"LIST" else (odd,)
    path = file_of(tmp_path, *chunks, chunk(b"data", stored(WAVE, 1, 16)))
    assert np.array_equal(load_sound(path).moments, WAVE)


@pytest.mark.parametrize("stated", [True, False])
def test_long_recordings_state_their_sizes_in_a_chunk_of_their_own(
    stated: bool, tmp_path: Path
) -> None:
    samples = stored(WAVE, 1, 16)
    sizes = struct.pack("<QQQI", 0, len(samples) if stated else 2**40, 3, 0)
    body = chunk(b"ds64", sizes) + form(1, 2, 16) + b"data" + b"\xff" * 4 + samples
    after = chunk(b"LIST", b"of no interest")
    (tmp_path / "x.wav").write_bytes(b"RF64" + b"\xff" * 4 + b"WAVE" + body + after * stated)
    if stated:
        assert np.array_equal(load_sound(tmp_path / "x.wav").moments, WAVE)
    else:
        with pytest.raises(ArrayFileError, match="cut off: 12 of 1099511627776 bytes"):
            load_sound(tmp_path / "x.wav")


@pytest.mark.parametrize(
    ("chunks", "words"),
    [
        ((), "without samples"),
        ((form(1, 1, 16),), "without samples"),
        ((chunk(b"data", bytes(8)),), "come before"),
        ((form(2, 1, 4), chunk(b"data", bytes(8))), r"compressed \(format 2\)"),
        ((form(1, 1, 12), chunk(b"data", bytes(8))), "12 bits"),
        ((form(1, 2, 16, width=1), chunk(b"data", bytes(8))), "16 bits take 2 bytes"),
        ((form(1, 1, 24, width=5), chunk(b"data", bytes(8))), "24 bits take 5 bytes"),
        ((form(1, 1, 8, width=2), chunk(b"data", bytes(8))), "8 bits take 2 bytes"),
        ((form(3, 1, 32, width=8), chunk(b"data", bytes(8))), "32 bits take 8 bytes"),
        ((form(1, 0, 16), chunk(b"data", bytes(8))), "0 channels"),
        ((form(1, 99, 16), chunk(b"data", bytes(8))), "99 channels"),
        ((form(1, 1, 16, 0), chunk(b"data", bytes(8))), "0 samples a second"),
        ((chunk(b"fmt ", bytes(4)), chunk(b"data", bytes(8))), "has 4 bytes"),
        ((form(1, 1, 16), b"data" + struct.pack("<I", 99) + bytes(8)), "cut off: 8 of 99"),
    ],
    ids=["nothing", "no samples", "no form", "compressed", "odd bits",
         "too narrow", "too wide", "bytes in words", "floats in doubles", "no channel",
         "too many channels", "no rate", "a short form", "cut"],
)  # fmt: skip
def test_what_is_no_sound_is_refused_with_the_reason(
    chunks: tuple[bytes, ...], words: str, tmp_path: Path
) -> None:
    with pytest.raises(ArrayFileError, match=words):
        load_sound(file_of(tmp_path, *chunks))


@pytest.mark.parametrize(
    ("data", "words"), [(b"", "is empty"), (b"ID3 mp3", "RIFF"), (b"RIFF", "RIFF")]
)
def test_other_files_are_refused(data: bytes, words: str, tmp_path: Path) -> None:
    (tmp_path / "x.wav").write_bytes(data)
    with pytest.raises(ArrayFileError, match=words):
        load_sound(tmp_path / "x.wav")


@pytest.mark.parametrize("size", [0, 0x7FFFF000, 0x7FFFFFFF, 0xFFFFFFFF])
@pytest.mark.parametrize("whole", [0, 36, 0x7FFFF024, 0xFFFFFFFF])
def test_a_stream_that_never_said_its_length_is_read_to_its_end_with_a_note(
    size: int, whole: int, tmp_path: Path
) -> None:
    samples = stored(WAVE, 1, 16)
    body = b"WAVE" + form(1, 2, 16) + b"data" + struct.pack("<I", size) + samples
    (tmp_path / "x.wav").write_bytes(b"RIFF" + struct.pack("<I", whole) + body)
    sound = load_sound(tmp_path / "x.wav")
    assert np.array_equal(sound.moments, WAVE)
    assert sound.notes == (
        "a recording that does not say its length is taken to its end, 12 bytes",
    )


def test_sound_of_no_samples_ends_where_the_next_chunk_begins(tmp_path: Path) -> None:
    path = file_of(tmp_path, form(1, 1, 16), chunk(b"data", b""), chunk(b"LIST", bytes(6)))
    assert load_sound(path).moments.shape == (0, 1)
    assert load_sound(path).notes == ()


def test_a_file_larger_than_is_allowed_is_refused(tmp_path: Path) -> None:
    path = file_of(tmp_path, form(1, 1, 16), chunk(b"data", bytes(2000)))
    with limits.memory_limit(1000), pytest.raises(ArrayFileError, match="more than"):
        load_sound(path)


@given(st.binary(max_size=80))
def test_nonsense_is_sound_or_refused(
    tmp_path_factory: pytest.TempPathFactory, body: bytes
) -> None:
    path = tmp_path_factory.getbasetemp() / "nonsense.wav"
    path.write_bytes(b"RIFF\0\0\0\0WAVEfmt " + body)
    with contextlib.suppress(ArrayFileError):
        assert load_sound(path).moments.ndim == 2
