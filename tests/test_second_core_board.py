"""What a board's file says of a second core that is another one than the first."""

from __future__ import annotations

from pathlib import Path

import pytest

from glowmcu.board import find_board, read_board
from glowmcu.errors import GlowmcuError
from glowmcu.report.one_board import board_lines
from tests.test_boards import MINE

SECOND = """
[second_core]
core = "cortex-m4"
clock_hz = 64_000_000
cache_line_bytes = 32
"""


@pytest.mark.parametrize(
    ("change", "with_", "problem"),
    [
        ('core = "cortex-m4"\nclock', 'core = "cortex-m44"\nclock',
         "error[GM704]: second_core.core is 'cortex-m44'"),
        ('core = "cortex-m4"\nclock', 'core = "cortex-m33"\nclock',
         "error[GM704]: second_core.core 'cortex-m33' has other instructions than 'cortex-m4'"),
        ("cache_line_bytes = 32", "cache_line_bytes = 24",
         "error[GM704]: second_core.cache_line_bytes is 24"),
        ("cache_line_bytes = 32", "cache_line_bytes = 8",
         "error[GM704]: second_core.cache_line_bytes is 8"),
        ("clock_hz = 64_000_000\n", "", "error[GM703]: missing key 'second_core.clock_hz'"),
        ("clock_hz = 100", "cores = 1", "error[GM703]: missing key 'clock_hz'"),
        ("clock_hz = 100", "clock_hz = 100\ncores = 3",
         "error[GM704]: cores is 3, and there is a second_core"),
        ('kind = "ram"', 'kind = "tcm"',
         "error[GM706]: placement.arena is 'ram', which one core alone reaches"),
    ],
)  # fmt: skip
def test_a_second_core_shares_instructions_and_the_arena(
    change: str, with_: str, problem: str, tmp_path: Path
) -> None:
    path = tmp_path / "mine.toml"
    text = "clock_hz = 100\n" + MINE.strip() + SECOND
    path.write_text(text)
    board = read_board(path)
    assert board.cores == 2
    assert board.second_core is not None
    assert board.second_core.line_bytes == 32
    assert change in text
    path.write_text(text.replace(change, with_))
    with pytest.raises(GlowmcuError) as caught:
        read_board(path)
    assert problem in str(caught.value)


def test_a_board_shows_its_second_core() -> None:
    lines = list(board_lines(find_board("stm32h745")))
    assert lines[1] == (
        "second core: cortex-m4 at 240 MHz, caches with lines of 32 B that the other does not see"
    )
    assert not any(line.startswith("second") for line in board_lines(find_board("rp2350")))
