"""Bytes and cycles as people type them."""

from __future__ import annotations

from collections.abc import Callable

import click
import pytest

from glowmcu.cli.amounts import byte_count, cycle_count


@pytest.mark.parametrize(
    ("read", "text", "amount"),
    [
        (byte_count, "65536", 65536),
        (byte_count, "64K", 65536),
        (byte_count, "64KiB", 65536),
        (byte_count, "64kb", 65536),
        (byte_count, "1.5M", 3 * 512 * 1024),
        (byte_count, "2G", 2 << 30),
        (cycle_count, "120000", 120_000),
        (cycle_count, "120_000", 120_000),
        (cycle_count, "120k", 120_000),
        (cycle_count, "3.2M", 3_200_000),
    ],
)
def test_an_amount_is_read(read: Callable[[str], int], text: str, amount: int) -> None:
    assert read(text) == amount


@pytest.mark.parametrize("read", [byte_count, cycle_count])
@pytest.mark.parametrize(
    "text",
    ["", "0", "0K", "-1", "many", "1.5", "0.0001K", "K", "1e6", "1__0", "9" * 40, "٣K", "1 K"],
)
def test_what_is_no_whole_amount_is_refused(read: Callable[[str], int], text: str) -> None:
    with pytest.raises(click.BadParameter, match="such as"):
        read(text)
