"""Numbers of bytes and of cycles as people write them: 65536, 64K, 1.5M, 3_200_000, "3 200 000".

Memory counts in powers of two, as its makers do (`K` is 1024 bytes); cycles count in powers of
ten, as frequencies do (`K` is 1000). One reader, so that a limit means the same wherever it is
given: as an option, as a setting of a CI job, in a board's file.
"""

from __future__ import annotations

import re
from fractions import Fraction

_POWERS = {"": 0, "K": 1, "M": 2, "G": 3}
#: Beyond any memory and any run; what Python refuses to read as a number is longer.
_MOST = 1 << 50
_DIGITS = r"(?P<number>\d{1,16}|\d{1,3}(?:[_ ]\d{3}){1,5})(?P<part>\.\d{1,9})?"
_BYTES = _DIGITS + r" ?(?:(?P<unit>[KMG])(?:i?B|i)?|B)?"
_CYCLES = _DIGITS + r" ?(?P<unit>[KMG])?"


def bytes_of(text: str) -> int:
    """65536, 64K, 64 KiB, 1.5M as a number above 0. Raises ValueError that says what is expected.

    >>> bytes_of("1.5K"), bytes_of("2 MiB")
    (1536, 2097152)
    """
    return _read(_BYTES, text, 1024, "bytes such as 65536, 64K or 1.5M")


def cycles_of(text: str) -> int:
    """100000, 100K, 1.5M as a number above 0. Raises ValueError that says what is expected.

    >>> cycles_of("100K"), cycles_of("3_200_000")
    (100000, 3200000)
    """
    return _read(_CYCLES, text, 1000, "cycles such as 100000, 100K or 1.5M")


def _read(pattern: str, text: str, base: int, expected: str) -> int:
    match = re.fullmatch(pattern, text.strip(), re.ASCII | re.IGNORECASE)
    if match is None:
        raise ValueError(f"expected {expected}, got {text!r}")
    number = Fraction(re.sub("[_ ]", "", match["number"]) + (match["part"] or ""))
    amount = number * base ** _POWERS[(match["unit"] or "").upper()]
    if amount.denominator != 1:
        raise ValueError(f"expected {expected}, and {text!r} is no whole number of them")
    if not 0 < amount <= _MOST:
        raise ValueError(f"expected {expected}, above 0 and at most {_MOST}, got {text!r}")
    return int(amount)
