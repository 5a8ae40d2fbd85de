"""Numbers of bytes and cycles as people write them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from glowmcu.given_amount import bytes_of, cycles_of
from glowmcu.number_text import count


@pytest.mark.parametrize(
    ("text", "in_bytes", "cycles"),
    [
        ("65536", 65536, 65536),
        ("64K", 65536, 64000),
        ("64k", 65536, 64000),
        ("1.5M", 1572864, 1500000),
        ("2G", 2147483648, 2000000000),
        (" 3_200_000 ", 3200000, 3200000),
        ("0.5K", 512, 500),
    ],
)
def test_units_count_memory_by_1024_and_cycles_by_1000(
    text: str, in_bytes: int, cycles: int
) -> None:
    assert (bytes_of(text), cycles_of(text)) == (in_bytes, cycles)


@pytest.mark.parametrize("text", ["64KB", "64 KiB", "64Ki", "65536B", "64 kb"])
def test_bytes_may_be_said_to_be_bytes(text: str) -> None:
    assert bytes_of(text) == 65536
    with pytest.raises(ValueError, match="expected cycles such as"):
        cycles_of(text)


@given(st.integers(1, 1 << 50))
def test_what_tables_show_can_be_given_back(number: int) -> None:
    assert bytes_of(str(number)) == bytes_of(f"{number:_}") == number
    assert cycles_of(count(number)) == number


@pytest.mark.parametrize(
    "text",
    ["", "0", "0K", "-1", "1e6", "K", "1.5", "1.", ".5K", "0.0001K", "1,5M", "1,000", "1__000",
     "nan", "٣", "9" * 5000, "9999999G", "12 34", "1 000K 5"],
)  # fmt: skip
def test_anything_else_is_refused_and_says_what_is_expected(text: str) -> None:
    for read, expected in ((bytes_of, "expected bytes such as"), (cycles_of, "expected cycles")):
        with pytest.raises(ValueError, match=expected):
            read(text)
