"""Bytes of the arrays that functions of a generated text have on the stack.

Their lengths are numbers by the time a template is rendered, and differ from layer to layer.
"""

from __future__ import annotations

import re
from math import prod

#: A declaration inside a function: indented, no initializer, all lengths numbers.
_ARRAY = re.compile(r"^ +(?:const )?(\w+) (\*(?:const )?)?\w+((?:\[\d+\])+)(?: = [^;]*)?;", re.M)
_BYTES = {
    "int8_t": 1, "uint8_t": 1, "int16_t": 2, "uint16_t": 2, "int32_t": 4, "uint32_t": 4,
    "float": 4, "int64_t": 8, "uint64_t": 8, "double": 8,
}  # fmt: skip
_POINTER_BYTES, _WORD_BYTES = 4, 4


def local_array_bytes(text: str) -> int:
    """All arrays of all functions of the text, each in whole words, on a core of 32 bits."""
    total = 0
    for found in _ARRAY.finditer(text):
        element = _POINTER_BYTES if found[2] else _BYTES.get(found[1], 8)
        count = prod(map(int, re.findall(r"\d+", found[3])))
        total += -(-element * count // _WORD_BYTES) * _WORD_BYTES
    return total
