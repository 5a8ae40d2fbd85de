"""Models that firmware holds as an array in C: what `xxd -i` and scripts like it write.

`alignas(16) const unsigned char g_model[] = {0x1c, 0x00, 0x00, 0x00, 0x54, 0x46, 0x4c, ...};`
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

from glowmcu.errors import error

_BEGINNING = re.compile(rb"=\s*\{(?=\s*[-\d])")
_BRACE = re.compile(rb"[{}]")
# A name, its brackets, and what a compiler is told of the array: what stands before that.
_DECLARED = re.compile(rb"(\w{1,100})\s*\[\s*\w*\s*\][^;={}]*$")
_DECLARED_BYTES = 300
_LINE_COMMENT = re.compile(rb"//[^\n]*")
_NUMBER = re.compile(rb"(-?)(0x[0-9a-f]{1,2}|\d{1,3})u?", re.IGNORECASE)
#: Of a `.tflite`, at byte 4. Nobody compiles an ONNX file into firmware.
_IDENTIFIER = b"TFL3"
#: The first numbers of an array stand within these bytes of text.
_FIRST_BYTES = 200


def model_in_c(data: bytes, file_name: str) -> bytes | None:
    """The bytes of the `.tflite` in a C source, or None if `data` is none or has no such array.

    Raises GM101 for several.
    """
    if data[4:8] == _IDENTIFIER or b"\0" in data[:64] or b"{" not in data:
        return None
    models = list(islice(_models(_without_comments(data)), 2))
    if len(models) > 1:
        names = " and ".join(name for name, _ in models)
        raise error(
            "GM101", f"the file holds several models: {names}", file_name,
            "pass a file with one of these arrays",
        )  # fmt: skip
    return models[0][1] if models else None


def _without_comments(data: bytes) -> bytes:
    pieces = (piece.partition(b"/*")[0] for piece in data.split(b"*/"))
    return _LINE_COMMENT.sub(b"", b" ".join(pieces))


def _models(text: bytes) -> Iterator[tuple[str, bytes]]:
    """Arrays that hold one, with their names."""
    for beginning in _BEGINNING.finditer(text):
        end = _BRACE.search(text, beginning.end())
        first = text[beginning.end() : beginning.end() + _FIRST_BYTES].rpartition(b",")[0]
        if end is None or end[0] == b"{" or (_bytes_of(first) or b"")[4:8] != _IDENTIFIER:
            continue
        content = _bytes_of(text[beginning.end() : end.start()])
        if content is not None:
            before = text[max(0, beginning.start() - _DECLARED_BYTES) : beginning.start()]
            name = _DECLARED.search(before)
            yield name[1].decode("ascii") if name else "an array", content


def _bytes_of(text: bytes) -> bytes | None:
    """Of numbers with commas between; None for anything else."""
    digits = text.lower()
    try:  # two digits a number, as most have it
        values = bytes.fromhex(digits.replace(b"0x", b" ").replace(b",", b" ").decode("ascii"))
        if len(values) == digits.count(b"0x"):
            return values
    except ValueError:
        pass
    return _bytes_of_words(text)


def _bytes_of_words(text: bytes) -> bytes | None:
    words = [word.strip() for word in text.split(b",")]
    if words and not words[-1]:
        words.pop()
    values = []
    for word in words:
        number = _NUMBER.fullmatch(word)
        if number is None:
            return None
        value = int(number[2], 16 if number[2][:2].lower() == b"0x" else 10)
        values.append(-value if number[1] else value)
    if not all(-128 <= value < 256 for value in values):
        return None
    return bytes(value & 255 for value in values)
