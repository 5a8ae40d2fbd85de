"""Numbers of bytes on the command line: 65536, 64K, 1M, 2G."""

from __future__ import annotations

import re

import click

_UNITS = {"": 1, "K": 1024, "M": 1024**2, "G": 1024**3}


def byte_count(text: str) -> int:
    """A whole number of bytes, KiB (`K`), MiB (`M`) or GiB (`G`), as an option's type."""
    match = re.fullmatch(r"(\d{1,12})([KMG]?)(?:i?B)?", text, re.IGNORECASE)
    if match is None or int(match[1]) == 0:
        raise click.BadParameter(f"expected bytes such as 65536 or 64K, got {text!r}")
    return int(match[1]) * _UNITS[match[2].upper()]
