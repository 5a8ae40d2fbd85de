"""Boards: the facts of the shipped ones, a user's own files, plug-ins, and whether a model fits."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

from glowmcu.board import board_names, check_capacity, does_not_fit, find_board, read_board
from glowmcu.board.read_board import UART_KINDS
from glowmcu.cores import core, core_names
from glowmcu.discovery import Plugin
from glowmcu.errors import ExitCode, GlowmcuError
from glowmcu.resources import resource_dir
from tests.support.board_facts import FACTS, KB

#: Machines and families that have no data sheet, or no clock.
ARM_CORES = tuple(name for name in core_names() if name.startswith("cortex-"))
OTHERS = (*(f"generic-{name}" for name in ARM_CORES), "generic-rv32imc", "virt")
RISCV = ("esp32c3", "gd32vf103", "rp2350-riscv", "generic-rv32imc", "virt")
XTENSA = ("esp32", "esp32s3")

MINE = """\
name = "mine"
title = "My board"
mcu = "X"
core = "cortex-m4"

[placement]
code = "flash"
constants = "flash"
data = "ram"
arena = "ram"

[[memory]]
name = "flash"
kind = "flash"
origin = 0x0
size_bytes = 0x10000

[[memory]]
name = "ram"
kind = "ram"
origin = 0x20000000
size_bytes = 0x4000
"""


def test_the_list_is_complete_and_generic_comes_last() -> None:
    assert board_names() == (*sorted([*FACTS, *OTHERS]), "generic")


@pytest.mark.parametrize("name", FACTS)
def test_a_board_states_the_facts_of_its_data_sheet(name: str) -> None:
    board = find_board(name)
    core_name, mhz, regions = FACTS[name]
    assert board.name == name
    assert board.core == core_name
    assert board.clock_hz == mhz * 1_000_000
    assert {r.name: (r.origin, r.size_bytes / KB) for r in board.memory} == regions


@pytest.mark.parametrize(
    "name", [n for n in (*FACTS, *OTHERS, "generic") if n not in (*RISCV, *XTENSA)]
)
def test_a_board_runs_on_a_qemu_machine_that_executes_its_code(name: str) -> None:
    board = find_board(name)
    assert board.qemu is not None
    machine = find_board(board.qemu.machine)
    assert machine.qemu is not None
    assert machine.qemu.machine == machine.name
    if core(machine.core).architecture != core(board.core).architecture:
        assert core(board.core).architecture == "armv6s-m"
        assert core(machine.core).architecture == "armv7-m"
    assert bool(board.qemu.note) == (machine.name != board.name)


@pytest.mark.parametrize("name", FACTS)
def test_a_board_s_serial_line_in_renode_is_of_a_known_kind(name: str) -> None:
    renode = find_board(name).renode
    if name in (
        *RISCV,
        *XTENSA,
        "blackpill",
        "bluepill",
        "samd51",
        "stm32h745",
        "stm32vldiscovery",
    ):
        assert renode is None
    else:
        assert renode is not None
        assert renode.uart_kind in UART_KINDS


def test_every_core_of_a_board_is_known() -> None:
    assert {find_board(name).core for name in board_names()} <= set(core_names())


@pytest.mark.parametrize("name", ARM_CORES)
def test_every_arm_core_has_a_board_without_limits(name: str) -> None:
    board = find_board(f"generic-{name}")
    assert board.core == name
    assert board.memory == ()


def test_the_generic_board_has_no_limits() -> None:
    board = find_board("generic")
    assert board.memory == ()
    assert check_capacity(board, 10**9, 10**9).fits


@pytest.mark.parametrize(
    ("name", "nearest"),
    [("nrf53", "nrf5340?"), ("h743", "nucleo-h743zi?"), ("NRF52", "nrf52?"), ("pico", "rp2040 or"),
     ("mps2_an386", "mps2-an386?"), ("STM32F407", "stm32f4-discovery?"), ("rp2350riscv", "rp2350-"),
     ("Arduino Nano 33", "arduino-nano33ble?"), ("rp2400", "rp2040"),
     ("cortex-m4", "generic-cortex-m4?"), ("STM32F411", "blackpill?"), ("ESP32-S3", "esp32s3?")],
)  # fmt: skip
def test_an_unknown_board_is_answered_with_the_nearest_names(name: str, nearest: str) -> None:
    with pytest.raises(GlowmcuError) as caught:
        find_board(name)
    assert caught.value.exit_code == ExitCode.USAGE
    assert str(caught.value).startswith(
        f"error[GM701]: unknown board {name!r}\n  hint: did you mean {nearest}"
    )


def test_a_name_like_nothing_points_to_the_list() -> None:
    with pytest.raises(GlowmcuError) as caught:
        find_board("zzz")
    assert str(caught.value) == (
        "error[GM701]: unknown board 'zzz'\n"
        "  hint: `glowmcu boards` lists all; generic-cortex-m4 and its like are for any chip with "
        "that core; a path to a .toml file of your own works, too"
    )


def test_a_file_of_the_users_own_is_a_board(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(MINE)
    board = find_board(str(path))
    assert board.title == "My board"
    assert board.clock_hz is None
    assert board.qemu is None
    assert board.region("ram").end == 0x20004000


def test_sizes_of_a_file_may_have_units(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(MINE.replace("0x4000", '"16K"'))
    assert read_board(tmp_path / "mine.toml").region("ram").size_bytes == 16384


def test_the_file_shown_in_the_readme_is_a_board(tmp_path: Path) -> None:
    readme = (resource_dir("boards") / "README.md").read_text(encoding="utf-8")
    path = tmp_path / "mine.toml"
    path.write_text(readme.split("```toml\n")[1].split("```")[0])
    assert read_board(path).name == "mine"


@pytest.mark.parametrize(
    ("change", "with_", "problems"),
    [
        ("core = ", "kore = ",
         ["error[GM702]: unknown key 'kore'", "did you mean 'core'?", "missing key 'core'"]),
        ('core = "cortex-m4"', 'core = "cortex-m44"',
         ["error[GM704]: core is 'cortex-m44'", "did you mean 'cortex-m4'?"]),
        ('title = "My board"', "title = 7", ["error[GM704]: title is 7; it must be a string"]),
        ("size_bytes = 0x4000", 'size_bytes = "16 kilo"',
         ["error[GM704]: memory[1].size_bytes is '16 kilo'", "expected bytes such as 65536"]),
        ("size_bytes = 0x4000", "size_bytes = 0",
         ["error[GM704]: memory[1].size_bytes is 0; it must be 1 to 2^32 - 1"]),
        ("size_bytes = 0x4000", "size_bytes = true", ["it must be an integer"]),
        ('kind = "ram"', 'kind = "sram"',
         ["error[GM704]: memory[1].kind is 'sram'", "did you mean 'ram'?"]),
        ("origin = 0x20000000", "origin = 0xF000",
         ["error[GM705]: memory 'flash' and 'ram' overlap by 4096 bytes",
          "'flash' ends at 0x00010000, 'ram' starts at 0x0000F000"]),
        ("origin = 0x20000000", "origin = 0xFFFFF000", ["memory 'ram' ends behind 2^32"]),
        ('arena = "ram"', 'arena = "dtcm"',
         ["error[GM706]: placement.arena is 'dtcm', which is no memory region",
          "regions: flash, ram"]),
        ('arena = "ram"', 'arena = "flash"',
         ["error[GM706]: placement.arena is 'flash', which is flash"]),
        ('name = "ram"', 'name = "flash"', ["two memory regions are called 'flash'"]),
        ('[placement]\ncode = "flash"\nconstants = "flash"\ndata = "ram"\narena = "ram"\n', "",
         ["error[GM703]: missing key 'placement'"]),
        ("[placement]", "memory = 3\n[placement]", ["cannot read the board file"]),
        ('name = "mine"', "name = ", ["error[GM707]: cannot read the board file"]),
        ("[placement]", '[renode]\nuart = "u"\nuart_kind = "uarte"\n[placement]',
         ["missing key 'renode.uart_origin'", "renode.uart_kind is 'uarte'",
          "did you mean 'nrf-uarte'?"]),
        ("[placement]", '[renode]\nuart = "u"\nuart_kind = "pl011"\nuart_origin = 1\n'
         'missing = "ram, ccm"\n[placement]',
         ["error[GM704]: renode.missing has 'ccm', which is no memory region",
          "error[GM704]: renode.missing is given without renode.platform"]),
    ],
)  # fmt: skip
def test_a_mistake_in_a_file_is_named_with_its_key(
    change: str, with_: str, problems: list[str], tmp_path: Path
) -> None:
    path = tmp_path / "mine.toml"
    assert change in MINE
    path.write_text(MINE.replace(change, with_, 1))
    with pytest.raises(GlowmcuError) as caught:
        read_board(path)
    for problem in problems:
        assert problem in str(caught.value)
    assert str(path) in str(caught.value)
    assert caught.value.exit_code == ExitCode.USAGE


def test_all_mistakes_of_a_file_come_in_one_message(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text('name = 1\ncolour = "red"\n[[memory]]\nname = "ram"\norigin = -1\n')
    with pytest.raises(GlowmcuError) as caught:
        read_board(path)
    codes = [problem.code for problem in caught.value.problems]
    assert codes == ["GM702", "GM703", "GM703", "GM703", "GM704", "GM703", "GM703", "GM704"]


def test_a_file_that_is_not_there_is_not_a_board_name(tmp_path: Path) -> None:
    with pytest.raises(GlowmcuError) as caught:
        find_board(str(tmp_path / "none.toml"))
    assert caught.value.code == "GM707"
    assert "No such file" in str(caught.value)


@pytest.mark.parametrize("as_module", [False, True], ids=["folder", "module"])
def test_a_package_can_add_boards(
    as_module: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "mine.toml").write_text(MINE)
    module = ModuleType("theirs")
    module.__file__ = str(tmp_path / "__init__.py")
    entry = SimpleNamespace(load=lambda: module if as_module else tmp_path)
    plugin = Plugin("glowmcu.boards", f"theirs {as_module}", "theirs", "acme", "1", entry=entry)
    monkeypatch.setattr(
        "glowmcu.discovery.plugins",
        lambda group: [plugin] if group == "glowmcu.boards" else [],
    )
    assert "mine" in board_names()
    assert find_board("mine").title == "My board"
    (tmp_path / "nrf52.toml").write_text(MINE)
    with pytest.raises(GlowmcuError, match="there is another board 'nrf52'"):
        find_board("nrf52")


@pytest.mark.parametrize(
    ("flash_bytes", "ram_bytes", "excess"),
    [
        (262_144, 16_384, (0, 0)),
        (262_145, 16_384, (1, 0)),
        (262_144, 16_385, (0, 1)),
        (300_000, 30_000, (37_856, 13_616)),
    ],
    ids=["to the last byte", "flash by one", "RAM by one", "both"],
)
def test_fit_says_by_how_much(flash_bytes: int, ram_bytes: int, excess: tuple[int, int]) -> None:
    result = check_capacity(find_board("microbit"), flash_bytes, ram_bytes)
    assert tuple(use.excess_bytes for use in result.uses) == excess
    assert result.fits == (excess == (0, 0))


def test_what_does_not_fit_says_how_much_where_and_what_would_help() -> None:
    result = check_capacity(find_board("stm32f4-discovery"), 1_100_000, 150_000)
    problem = does_not_fit(
        result, 'step 3 "conv_2" (a 96 000 B, b 54 000 B)', ram_options=["--optimize ram: 61 440 B"]
    )
    assert problem.exit_code == ExitCode.DOES_NOT_FIT
    assert problem.for_shell == (
        "error[GM401]: does not fit: 1 100 000 B of flash needed, stm32f4-discovery has "
        "1 048 576 B, 51 424 B too much\n"
        "  --> region 'flash' at 0x08000000 of ST STM32F4DISCOVERY (STM32F407G-DISC1)\n"
        "  hint: --optimize size shares code between layers of one kind; --optimize flash codes "
        "constants, too; or choose a larger board (`glowmcu boards`)\n"
        "error[GM401]: does not fit: 150 000 B of RAM needed, stm32f4-discovery has 131 072 B, "
        "18 928 B too much\n"
        "  --> region 'ram' at 0x20000000 of ST STM32F4DISCOVERY (STM32F407G-DISC1); the peak is "
        'step 3 "conv_2" (a 96 000 B, b 54 000 B)\n'
        "  hint: --optimize ram: 61 440 B; or choose a larger board (`glowmcu boards`)"
    )


def test_another_region_that_would_hold_it_is_named(tmp_path: Path) -> None:
    second = '[[memory]]\nname = "ram2"\nkind = "ram"\norigin = 0x30000000\nsize_bytes = 0x8000\n'
    path = tmp_path / "mine.toml"
    path.write_text(f"{MINE}\n{second}")
    board = read_board(path)
    assert "region 'ram2' would hold it" in str(does_not_fit(check_capacity(board, 0, 0x8000)))
    assert "would hold it" not in str(does_not_fit(check_capacity(board, 0, 0x8001)))
