"""Numbers of bytes and of cycles as types of options."""

from __future__ import annotations

from collections.abc import Callable

import click

from glowmcu.given_amount import bytes_of, cycles_of


def byte_count(text: str) -> int:
    """65536, 64K, 1.5M: bytes, `K` of 1024."""
    return _checked(bytes_of, text)


def cycle_count(text: str) -> int:
    """100000, 100K, 1.5M: cycles, `K` of 1000."""
    return _checked(cycles_of, text)


def _checked(read: Callable[[str], int], text: str) -> int:
    try:
        return read(text)
    except ValueError as cause:
        raise click.BadParameter(str(cause)) from cause
