"""`[[timing]]` of boards' files: what the shipped ones say, and mistakes in a user's own."""

from __future__ import annotations

from pathlib import Path

import pytest

from glowmcu.board import (
    CacheGeometry,
    MemoryTiming,
    SlowMemory,
    board_names,
    find_board,
    read_board,
)
from glowmcu.errors import GlowmcuError

BOARD = """\
name = "mine"
title = "My board"
mcu = "MCU"
core = "cortex-m4"

[placement]
code = "flash"
constants = "flash"
data = "ram"
arena = "ram"

[[memory]]
name = "flash"
kind = "flash"
origin = 0x08000000
size_bytes = "1M"

[[memory]]
name = "ram"
kind = "ram"
origin = 0x20000000
size_bytes = "256K"

[[timing]]
note = "manual, chapter 3"

[[timing.memory]]
region = "flash"
wait_states = 5
width_bytes = 16
prefetch_lines = 1

[timing.instruction_cache]
size_bytes = "1K"
line_bytes = 16
ways = 64

[timing.data_cache]
size_bytes = 128
line_bytes = 16
ways = 8
replacement = "fifo"
"""
#: Machines that are only emulated: nobody knows what their memories would take.
EMULATED = {
    *(name for name in board_names() if name.startswith("generic")),
    "mps2-an385", "mps2-an386", "mps2-an500", "mps2-an505", "mps3-an547", "virt",
}  # fmt: skip


def written(folder: Path, text: str) -> Path:
    path = folder / "mine.toml"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize("name", board_names())
def test_every_board_of_silicon_says_how_its_memories_are_timed(name: str) -> None:
    board = find_board(name)
    # Without a model of the core there is nothing that could wait.
    assert bool(board.timing) == (name not in EMULATED and board.core != "generic")
    assert len(board.timing) <= 2, "a better one and a worse one"
    for timing in board.timing:
        assert timing.note, "with its source"
        assert board.placement is not None
        assert timing.memory(board.placement.code) is not None


def test_wait_states_agree_with_those_of_the_simple_model() -> None:
    for name in (
        "nrf52",
        "nucleo-l4r5zi",
        "stm32f4-discovery",
        "nucleo-l552ze-q",
        "nucleo-u575zi-q",
    ):
        board = find_board(name)
        waits = [timing.memories[0].wait_states for timing in board.timing]
        assert min(waits) == board.flash_wait_states


def test_a_file_says_memories_and_caches(tmp_path: Path) -> None:
    assert read_board(written(tmp_path, BOARD)).timing == (
        MemoryTiming(
            (SlowMemory("flash", 5, 16, prefetch_lines=1),),
            CacheGeometry(1024, 16, 64),
            CacheGeometry(128, 16, 8, "fifo"),
            note="manual, chapter 3",
        ),
    )


def test_two_timings_are_two_chips_that_it_may_be(tmp_path: Path) -> None:
    again = BOARD[BOARD.index("[[timing]]") :].replace("wait_states = 5", "wait_states = 7")
    found = read_board(written(tmp_path, f"{BOARD}\n{again}")).timing
    assert [timing.memories[0].wait_states for timing in found] == [5, 7]


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ('region = "flash"', 'region = "flush"', "GM704 timing[0].memory[0].region is 'flush', no"),
        ('region = "flash"', "", "GM703 missing key 'timing[0].memory[0].region'"),
        ("width_bytes = 16", "", "GM703 missing key 'timing[0].memory[0].width_bytes'"),
        ("width_bytes = 16", "width_bytes = 12", "GM704 timing[0].memory[0].width_bytes is 12; it"),
        ("width_bytes = 16", "width_bytes = 0", "width_bytes is 0; it must be 1 to 256"),
        ("width_bytes = 16", "width_bytes = 512", "width_bytes is 512; it must be 1 to 256"),
        ("wait_states = 5", "wait_states = -1", "wait_states is -1; it must be 0 to"),
        ("wait_states = 5", "wait_states = 5.5", "wait_states is 5.5; it must be an integer"),
        ("wait_states = 5", "wait_states = 4294967295", "wait_states is 4294967295; it must be 0"),
        ("wait_states = 5", "wait_states = true", "wait_states is True; it must be an integer"),
        ("wait_states = 5", "waits = 5", "GM702 unknown key 'timing[0].memory[0].waits'"),
        ("prefetch_lines = 1", "prefetch_lines = 2", "prefetch_lines is 2; it must be 0 to 1"),
        ("prefetch_lines = 1", "clock_divider = 0", "clock_divider is 0; it must be 1 to 64"),
        ("size_bytes = 128", "size_bytes = 0", "data_cache.size_bytes is 0; it must be 1 to"),
        ("size_bytes = 128", 'size_bytes = "2G"', "data_cache.size_bytes is 2147483648; it must"),
        ("size_bytes = 128", "size_bytes = 100", "size_bytes is 100: 8 ways of lines of 16 bytes"),
        ("size_bytes = 128", "size_bytes = 384", "size_bytes is 384: 8 ways of lines of 16 bytes"),
        ("ways = 8", "ways = 0", "data_cache.ways is 0; it must be 1 to 4096"),
        ("ways = 8", "ways = 16", "size_bytes is 128: 16 ways of lines of 16 bytes"),
        (
            "line_bytes = 16\nways = 8",
            "line_bytes = 24\nways = 8",
            "line_bytes is 24; it must be a",
        ),
        (
            "line_bytes = 16\nways = 8",
            "line_bytes = 2\nways = 8",
            "line_bytes is 2; it must be 4 to",
        ),
        ('"fifo"', '"plru"', "data_cache.replacement is 'plru'"),
        ("[timing.data_cache]", "[timing.cache]", "timing[0].cache stands beside another cache"),
        ("[timing.data_cache]", "[timing.dcache]", "GM702 unknown key 'timing[0].dcache'"),
        ("[[timing]]", "[timing]", "GM704 timing is "),
        ("[[timing.memory]]", "[timing.memory]", "timing[0].memory is"),
        ("[[timing.memory]]", "[[timing.memories]]", "GM703 missing key 'timing[0].memory'"),
    ],
)
def test_mistakes_are_named_by_their_key(
    tmp_path: Path, old: str, new: str, complaint: str
) -> None:
    assert old in BOARD
    with pytest.raises(GlowmcuError) as caught:
        read_board(written(tmp_path, BOARD.replace(old, new)))
    assert any(complaint in f"{p.code} {p.message}" for p in caught.value.problems), caught.value


def test_a_region_waits_in_one_way_only(tmp_path: Path) -> None:
    row = '[[timing.memory]]\nregion = "flash"\nwait_states = 1\nwidth_bytes = 4\n'
    with pytest.raises(GlowmcuError, match=r"memory\[1\].region is 'flash' a second time"):
        read_board(written(tmp_path, BOARD + row))


def test_no_board_may_be_a_hundred_chips(tmp_path: Path) -> None:
    timing = BOARD[BOARD.index("[[timing]]") :]
    with pytest.raises(GlowmcuError, match="timing has 101 tables; 8 are the most"):
        read_board(written(tmp_path, BOARD + timing * 100))


def test_what_is_no_table_is_refused(tmp_path: Path) -> None:
    head = BOARD[: BOARD.index("[placement]")]
    rest = BOARD[BOARD.index("[placement]") : BOARD.index("[[timing]]")]
    with pytest.raises(GlowmcuError, match=r"timing\[1\] is 7; it must be a \[\[timing\]\] table"):
        read_board(written(tmp_path, f"{head}timing = [{{memory = [3]}}, 7]\n{rest}"))
