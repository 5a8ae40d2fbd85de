"""Inputs that are sound as files and wrong in one place: they get past a reader's first checks.

`atheris.Mutate` changes bytes; here the messages of an ONNX model, the offsets of a flatbuffer, the
words of a text and the headers of arrays are changed.
"""

from __future__ import annotations

import io
import random
import re
import zipfile
from collections.abc import Callable

from tests.support.mutate import MUTATORS as BYTE_MUTATORS

Mutate = Callable[[bytes, int, random.Random], bytes]

_WORD = re.compile(r"\w+|\s+|.", re.DOTALL)
_EXTREME_WORDS = (
    *("0", "-1", "1", "2147483648", "-9223372036854775809", "1e400", "NaN", "-Infinity"),
    *("null", "true", "[]", "{}", '""', '"x"', "[[]]", "\\ud800", "\u202e", "\x00", "''"),
    *("1979-05-27", "1" * 5000, "[" * 3000, "{" * 3000, '{"a":' * 2000),
    *("1.5", "i8", "?", "tensor", "1x1x1", "x" * 300),
)  # fmt: skip


def mutate_text(data: bytes, max_size: int, rng: random.Random) -> bytes:
    """Words of a text are left out, doubled, swapped, or become extreme ones."""
    words = _WORD.findall(data.decode("utf-8", "surrogateescape"))
    for _ in range(rng.choice((1, 1, 2, 4))):
        if not words:
            return b"{}"
        place, other = rng.randrange(len(words)), rng.randrange(len(words))
        match rng.randrange(6):
            case 0:
                del words[place : place + rng.choice((1, 1, 2, 8))]
            case 1:
                words[place:place] = words[other : other + rng.choice((1, 4, 16))]
            case 2:
                words[place], words[other] = words[other], words[place]
            case 3:
                words[place] = words[other]
            case _:
                words[place] = rng.choice(_EXTREME_WORDS)
    return "".join(words).encode("utf-8", "surrogateescape")[:max_size]


def mutate_flatbuffer(data: bytes, max_size: int, rng: random.Random) -> bytes:
    """Offsets, lengths and numbers of tables."""
    if len(data) < 8:
        return data
    made = bytearray(data)
    for mutator in rng.choices(BYTE_MUTATORS, k=rng.choice((1, 1, 2, 3))):
        if len(made) >= 8:
            mutator(made, rng)
    made[4:8] = b"TFL3"
    return bytes(made[:max_size])


def mutate_onnx(data: bytes, max_size: int, rng: random.Random) -> bytes:
    """Messages, attributes and names; bytes where they are no ONNX model already."""
    import onnx

    from tests.support.mutate_onnx import MUTATORS

    try:
        model = onnx.load_model_from_string(data)
        for mutator in rng.sample(MUTATORS, rng.choice((1, 1, 2, 3))):
            mutator(model, rng)
        made = bytes(model.SerializeToString())
    except Exception:  # noqa: BLE001 - whatever the parser or a mutator makes of a broken file
        made = b""
    return made if 0 < len(made) <= max_size else mutate_bytes(data, max_size, rng)


def mutate_bytes(data: bytes, max_size: int, rng: random.Random) -> bytes:
    made = bytearray(data)
    if made:
        rng.choice(BYTE_MUTATORS)(made, rng)
    return bytes(made[:max_size])


def mutate_model(data: bytes, max_size: int, rng: random.Random) -> bytes:
    """A model of either format, and behind it a byte for what chooses by it."""
    if data[4:8] == b"TFL3":
        return mutate_flatbuffer(data, max_size, rng)
    return mutate_onnx(data[:-1], max_size - 1, rng) + data[-1:]


def mutate_arrays(data: bytes, max_size: int, rng: random.Random) -> bytes:
    """Headers of arrays, by themselves and as members of an archive."""
    body, kind = data[:-1], data[-1:]
    if body[:6] == b"\x93NUMPY":
        made = _mutate_header(body, rng)
    elif body[:2] == b"PK":
        made = _mutate_archive(body, rng)
    else:
        made = mutate_bytes(body, max_size - 1, rng)
    return made[: max_size - 1] + kind


def _mutate_header(body: bytes, rng: random.Random) -> bytes:
    length = int.from_bytes(body[8:10], "little")
    header = mutate_text(body[10 : 10 + length], 60_000, rng)
    if b"\n" not in header:
        header += b"\n"
    return body[:8] + len(header).to_bytes(2, "little") + header + body[10 + length :]


def _mutate_archive(body: bytes, rng: random.Random) -> bytes:
    try:
        with zipfile.ZipFile(io.BytesIO(body)) as archive:
            members = [(info.filename, archive.read(info)) for info in archive.infolist()]
    except Exception:  # noqa: BLE001 - a broken archive is mutated as bytes
        return mutate_bytes(body, len(body), rng)
    if not members or rng.random() < 0.4:
        return mutate_bytes(body, len(body), rng)
    place = rng.randrange(len(members))
    name, content = members[place]
    if rng.random() < 0.2:
        name = rng.choice(("../x.npy", "/x.npy", "x", "", "y.npy", "x.npy/", "\u202e.npy"))
    elif content[:6] == b"\x93NUMPY":
        content = _mutate_header(content, rng)
    members[place] = name, content
    made = io.BytesIO()
    method = rng.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_LZMA))
    with zipfile.ZipFile(made, "w", method) as archive:
        for each, data in members:
            archive.writestr(each, data)
    return made.getvalue()


MUTATORS: dict[str, Mutate] = {
    "text": mutate_text,
    "tflite": mutate_flatbuffer,
    "onnx": mutate_onnx,
    "model": mutate_model,
    "arrays": mutate_arrays,
}
