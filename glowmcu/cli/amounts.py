"""Amounts on the command line: bytes (65536, 64K, 1.5M) and cycles (120000, 120K, 3.2M)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from fractions import Fraction

import click

_BYTES = {"": 1, "K": 1024, "M": 1024**2, "G": 1024**3}
_CYCLES = {"": 1, "K": 1000, "M": 1000**2, "G": 1000**3}
_NUMBER = r"(\d(?:_?\d){0,14}(?:\.\d{1,6})?)([KMG]?)"


def byte_count(text: str) -> int:
    """A whole number of bytes, KiB (`K`), MiB (`M`) or GiB (`G`), as an option's type."""
    return _amount(text, _BYTES, "(?:i?B)?", "bytes such as 65536 or 64K")


def cycle_count(text: str) -> int:
    """A whole number of cycles, thousands (`K`) or millions (`M`) of them, as an option's type."""
    return _amount(text, _CYCLES, "", "cycles such as 120000, 120K or 3.2M")


def _amount(text: str, units: Mapping[str, int], suffix: str, expected: str) -> int:
    match = re.fullmatch(_NUMBER + suffix, text, re.IGNORECASE | re.ASCII)
    found = Fraction(match[1].replace("_", "")) * units[match[2].upper()] if match else Fraction()
    if found <= 0 or found.denominator != 1:
        raise click.BadParameter(f"expected {expected}, got {text!r}")
    return int(found)
