"""`.repl`, `.resc` and `.robot` checked without Renode: grammar, keywords, names, addresses, sizes.

What Renode ships is written down here with its version; test_renode_at_hand.py compares it.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import pytest

from glowmcu.board import Board, Region, board_names, find_board
from glowmcu.board.read_board import UART_KINDS
from glowmcu.errors import GlowmcuError
from glowmcu.verify.firmware.port import UART_INPUTS_ORIGIN
from glowmcu.verify.renode import renode_board, renode_files
from glowmcu.verify.renode.files import _DOWNLOADING, _UART_MODELS
from tests.verify.repl import Entry, Platform, ReplError, parse_repl
from tests.verify.robot_player import play

BOARDS = [name for name in board_names() if find_board(name).renode is not None]
OURS = [name for name in BOARDS if (it := find_board(name).renode) and it.platform is None]
THEIRS = [name for name in BOARDS if name not in OURS]


@dataclass(frozen=True)
class Shipped:
    """A file that Renode ships, with the parts that boards here rely on."""

    core: str
    uarts: Mapping[str, tuple[str, int]]
    memories: tuple[tuple[int, int], ...]


#: As of Renode 1.16.1 (renode/renode v1.16.1), and unchanged in 06854d4d of its development.
SHIPPED = {
    "platforms/cpus/nrf52840.repl": Shipped(
        "cortex-m4",
        {"uart0": ("nrf-uarte", 0x40002000)},
        ((0x00000000, 0x100000), (0x20000000, 0x40000)),
    ),
    "platforms/cpus/stm32f4.repl": Shipped(
        "cortex-m4",
        {"usart2": ("stm32-usart-f4", 0x40004400)},
        ((0x20000000, 0x40000), (0x08000000, 0x200000), (0x60000000, 0x10000000)),
    ),
    "platforms/cpus/stm32f746.repl": Shipped(
        "cortex-m7",
        {"usart1": ("stm32-usart-f7", 0x40011000)},
        ((0x20000000, 0x60000), (0x08000000, 0x200000), (0xC0000000, 0x10000000)),
    ),
    "platforms/cpus/stm32l552.repl": Shipped(
        "cortex-m33",
        {"lpuart1": ("stm32-usart-f7", 0x40008000)},
        ((0x20000000, 0x30000), (0x08000000, 0x80000)),
    ),
    "platforms/boards/renesas-ek_ra8m1.repl": Shipped(
        "cortex-m85",
        {"sci9": ("ra8-sci", 0x40358900)},
        (
            (0x00000000, 0x10000),
            (0x02000000, 0x200000),
            (0x20000000, 0x10000),
            (0x22000000, 0xE0000),
        ),
    ),
}
#: Regions that are nowhere in Renode 1.16.1: its development version has them, so adding them
#: would clash with that.
ABSENT = {("nucleo-l552ze-q", "sram2")}
#: Core models of Renode 1.16.1: antmicro/tlib, arch/arm/helper.c. Its cortex-m0+ is a Cortex-M3.
CPU_TYPES = {"cortex-m0", "cortex-m0+", "cortex-m3", "cortex-m33", "cortex-m4", "cortex-m55",
             "cortex-m7", "cortex-m85"}  # fmt: skip
#: Models of renode/renode-infrastructure 0c7d0762 by the properties that their constructors need.
MODELS: dict[str, set[str]] = {
    "CPU.CortexM": {"cpuType", "nvic"},
    "IRQControllers.NVIC": set(),
    "Memory.MappedMemory": {"size"},
    "UART.CMSDK_APB_UART": set(),
    "UART.NRF52840_UART": set(),
    "UART.PL011": set(),
    "UART.RenesasRA8M1_SCI": {"frequency"},
    "UART.STM32F7_USART": {"frequency"},
    "UART.STM32_UART": set(),
}
#: Properties that may be given, too.
OPTIONAL = {"UART.NRF52840_UART": {"easyDMA"}}
#: Models that do not know how large they are on the bus.
NO_SIZE = {"UART.STM32_UART"}
#: Every core that a bundle can be compiled for, by a board that runs it in Renode.
CORES = {
    "cortex-m0": "microbit",
    "cortex-m0plus": "rp2040",
    "cortex-m3": "mps2-an385",
    "cortex-m4": "mps2-an386",
    "cortex-m7": "mps2-an500",
    "cortex-m33": "mps2-an505",
    "cortex-m55": "mps3-an547",
    "cortex-m85": "ek-ra8m1",
}


def files_for(board: str) -> tuple[str, str, str]:
    files = renode_files("tiny", find_board(board), 3, 48, 10**8)
    return files.repl, files.resc, files.robot


def holds(ranges: list[tuple[int, int]], region: Region) -> bool:
    return any(low <= region.origin and region.end <= high for low, high in ranges)


def check_no_overlap(ranges: list[tuple[int, int]]) -> None:
    for (_, end), (start, _) in pairwise(sorted(ranges)):
        assert end <= start, "two memories overlap"


def check_models(platform: Platform) -> None:
    """Every peripheral is one that Renode has, with what it needs and nothing that it lacks."""
    for entry in platform.entries.values():
        if entry.name == "sysbus":
            assert (entry.type, entry.properties) == ("", {})
            continue
        needed = MODELS[entry.type]
        given = set(entry.properties)
        assert needed <= given <= needed | OPTIONAL.get(entry.type, set()), entry.name
        if entry.type == "CPU.CortexM":
            assert entry.places == ()
            continue
        [(_, size)] = entry.places
        assert (size is not None) == (entry.type in NO_SIZE), entry.name


@pytest.mark.parametrize("name", OURS)
def test_a_platform_of_ours_is_the_board(name: str) -> None:
    board = find_board(name)
    platform = parse_repl(files_for(name)[0])
    assert platform.usings == ()
    check_models(platform)
    entries = dict(platform.entries)
    cpu_type = entries["cpu"].properties["cpuType"].strip('"')
    assert cpu_type in CPU_TYPES
    assert cpu_type.replace("+", "plus") == board.core
    assert entries["nvic"].places == ((0xE000E000, None),)
    assert board.renode is not None
    uart = entries[board.renode.uart]
    assert uart.type == _UART_MODELS[board.renode.uart_kind][0]
    assert uart.places[0][0] == board.renode.uart_origin
    for region in board.memory:
        [(start, end)] = platform.memories[region.name].ranges
        assert start <= region.origin < start + 0x1000
        assert region.end <= end < region.end + 0x1000
    named = {region.name for region in board.memory}
    assert set(platform.memories) == named | {"glowmcu_inputs"}
    check_no_overlap([pair for entry in platform.memories.values() for pair in entry.ranges])


@pytest.mark.parametrize("name", THEIRS)
def test_a_platform_of_renode_with_what_is_added_has_all_of_the_board(name: str) -> None:
    board = find_board(name)
    assert board.renode is not None
    assert board.renode.platform is not None
    shipped = SHIPPED[board.renode.platform]
    assert shipped.core == board.core
    kind, origin = shipped.uarts[board.renode.uart]
    assert (kind, origin) == (board.renode.uart_kind, board.renode.uart_origin)
    platform = parse_repl(files_for(name)[0])
    assert platform.usings == (board.renode.platform,)
    added_names = {*board.renode.missing_regions, "glowmcu_inputs"}
    if board.renode.platform in _DOWNLOADING:
        added_names.add("sysbus")
    assert set(platform.entries) == added_names
    check_models(platform)
    added = [pair for entry in platform.memories.values() for pair in entry.ranges]
    ranges = [(origin, origin + size) for origin, size in shipped.memories] + added
    check_no_overlap(ranges)
    for region in board.memory:
        assert holds(ranges, region) != ((name, region.name) in ABSENT), region.name


@pytest.mark.parametrize("name", BOARDS)
def test_inputs_lie_where_the_firmware_looks_for_them(name: str) -> None:
    entry = parse_repl(files_for(name)[0]).entries["glowmcu_inputs"]
    assert entry.ranges == [(UART_INPUTS_ORIGIN, UART_INPUTS_ORIGIN + 0x10000)]


@pytest.mark.parametrize(("core", "name"), CORES.items())
def test_every_core_has_a_board_in_renode(core: str, name: str) -> None:
    board = find_board(name)
    assert board.core == core
    assert renode_board(board)[0] is board


def test_the_generic_board_is_a_cortex_m0plus_with_the_memory_of_mps2() -> None:
    hardware, target = renode_board(find_board("generic"))
    assert hardware.name == "mps2-an385"
    assert target.uart_kind == "cmsdk"
    platform = parse_repl(files_for("generic")[0])
    check_models(platform)
    assert platform.entries["cpu"].properties["cpuType"] == '"cortex-m0+"'
    assert platform.memories["flash"].ranges == [(0, 0x400000)]


def test_every_kind_of_uart_has_a_model_in_renode() -> None:
    assert set(_UART_MODELS) == set(UART_KINDS)
    for model, properties in _UART_MODELS.values():
        assert MODELS[model] <= {line.partition(":")[0] for line in properties}


def test_a_region_that_a_platform_lacks_can_be_added_to_it() -> None:
    board = find_board("stm32f4-discovery")
    assert board.renode is not None
    bare = dataclasses.replace(board, renode=dataclasses.replace(board.renode, missing=""))
    assert "ccm" in renode_files("tiny", board, 1, 16, 10**8).repl
    assert "ccm" not in renode_files("tiny", bare, 1, 16, 10**8).repl


@pytest.mark.parametrize(
    "text",
    ["a: B @ sysbus 0x0\n  size: 1\n", "    size: 1\n", "a: B @ {\n    sysbus 0x0;\n",
     "a = B\n", "a: B @ sysbus 0x0\n    size 1\n", "a: B @ sysbus 0x0\na: B @ sysbus 0x1\n"],
    ids=["two spaces", "no entry", "open brace", "equals sign", "no colon", "twice"],
)  # fmt: skip
def test_text_that_renode_would_not_read_is_found(text: str) -> None:
    """The checks above can fail."""
    with pytest.raises(ReplError):
        parse_repl(text)


def test_all_forms_of_a_place_are_read() -> None:
    text = """\
// a comment
using "platforms/x.repl"
a: Memory.MappedMemory @ {
        sysbus 0x100;
        sysbus new Bus.BusPointRegistration { address: 0x200; cpu: cpu0 }
    }
    size: 0x1_0 // sixteen
b: UART.X @ sysbus <0x300, +0x40>
    [0-3] -> a@[1-4]
    -> a@0
sysbus:
    init:
        Tag <0x40021000, 0x40021003> "X" 1
"""
    platform = parse_repl(text)
    assert platform.usings == ("platforms/x.repl",)
    assert platform.entries["a"].ranges == [(0x100, 0x110), (0x200, 0x210)]
    assert platform.entries["b"] == Entry("b", "UART.X", ((0x300, 0x40),))


@pytest.mark.parametrize("name", BOARDS)
def test_the_script_names_only_files_that_stand_beside_it(name: str) -> None:
    board = find_board(name)
    _, resc, robot = files_for(name)
    beside = set(re.findall(r"\$ORIGIN/(\S+)", resc))
    assert beside == {"tiny.repl", "tiny.elf", "inputs.bin"}
    assert "include @${folder}/tiny.resc" in robot
    assert board.placement is not None
    code = board.region(board.placement.code).origin
    assert f"cpu VectorTableOffset 0x{code:08X}" in resc
    assert f"inputs.bin 0x{UART_INPUTS_ORIGIN:08X}" in resc
    assert "/tmp" not in resc + robot


@pytest.mark.parametrize("expected", [None, [("glowmcu output 00",)]], ids=["run", "shipped"])
def test_the_script_has_only_commands_of_the_monitor(expected: list[tuple[str, ...]]) -> None:
    """Each as it stands in scripts that Renode ships, which are what its monitor is tested by."""
    script = renode_files("tiny", find_board("nrf52"), 1, 16, 10**8, expected).resc
    before, body, after = script.split('"""\n')
    commands = [line for line in before.splitlines() if line and not line.startswith(":")]
    assert commands == [
        "using sysbus",
        'mach create "tiny"',
        "machine LoadPlatformDescription $ORIGIN/tiny.repl",
        "macro reset",
    ]
    assert [line for line in after.splitlines() if line and not line.startswith("#")] == [
        "runMacro $reset",
        "showAnalyzer sysbus.uart0",
    ]
    load, given, vectors = body.splitlines()
    assert load == "    sysbus LoadELF $ORIGIN/tiny.elf"
    assert given == (
        "    sysbus LoadHEX $ORIGIN/inputs.hex"
        if expected
        else f"    sysbus LoadBinary $ORIGIN/inputs.bin 0x{UART_INPUTS_ORIGIN:08X}"
    )
    assert vectors == "    cpu VectorTableOffset 0x00000000"


@pytest.mark.parametrize("name", [*BOARDS, "generic"])
def test_the_robot_file_parses_and_calls_only_keywords_that_exist(
    name: str, tmp_path: Path
) -> None:
    """Run without executing: Robot Framework resolves keywords, arguments and variables."""
    pytest.importorskip("robot")
    files = renode_files("tiny", find_board(name), 3, 48, 10**8)
    assert play(files.write(tmp_path), "", tmp_path, dry=True) == 0


def test_a_keyword_that_renode_lacks_is_found(tmp_path: Path) -> None:
    """The check above can fail."""
    pytest.importorskip("robot")
    files = renode_files("tiny", find_board("nrf52"), 3, 48, 10**8)
    wrong = files.robot.replace("Wait For Line On Uart ", "Wait For Line At Uart ")
    files = dataclasses.replace(files, robot=wrong)
    assert play(files.write(tmp_path), "", tmp_path, dry=True) != 0


def test_a_board_without_a_uart_is_refused_with_what_to_add() -> None:
    board = dataclasses.replace(find_board("nrf52"), renode=None, qemu=None)
    with pytest.raises(GlowmcuError) as caught:
        renode_files("tiny", board, 1, 16, 10**8)
    assert caught.value.code == "GM661"
    assert "add [renode] uart" in str(caught.value)


def stand_in(board: Board) -> str:
    return board.qemu.machine if board.qemu else ""


def test_qemu_has_no_cortex_m85_and_runs_its_code_on_a_cortex_m55() -> None:
    board = find_board("ek-ra8m1")
    assert stand_in(board) == "mps3-an547"
    assert board.qemu is not None
    assert "QEMU has no Cortex-M85" in board.qemu.note


def test_a_run_that_hangs_ends_by_the_instructions_that_it_may_take() -> None:
    few = renode_files("tiny", find_board("nrf52"), 1, 16, 10**8).robot
    many = renode_files("tiny", find_board("nrf52"), 1, 16, 50 * 10**8).robot
    assert "Test Timeout      170 seconds" in few
    assert re.search(r"\$\{TIMEOUT\} +2\n", few)
    assert "Test Timeout      2620 seconds" in many
    assert re.search(r"\$\{TIMEOUT\} +51\n", many)


@pytest.mark.parametrize("name", ["mps3-an547", "nrf52"])
def test_a_failing_test_on_a_helium_core_says_what_renode_gets_wrong(
    name: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("robot")
    files = renode_files("tiny", find_board(name), 1, 16, 10**8)
    assert play(files.write(tmp_path), "glowmcu nothing\n", tmp_path) == 1
    shown = capfd.readouterr().out
    assert ("VMULL" in shown) == (name == "mps3-an547")
    assert ("lack Helium instructions" in shown) == (name == "mps3-an547")


def test_scripts_of_several_lines_belong_to_the_property_that_they_are_of() -> None:
    """As stm32l552.repl has had them since May 2026."""
    text = """
rcc: Python.PythonPeripheral @ sysbus 0x40021000
    size: 0x400
    script: \'\'\'
if request.IsInit:
  ready: {0x02000500}
request.Value = 0x1 << 25
        \'\'\'
    initable: true
uart: UART.PL011 @ sysbus 0x40000000
    size: 0x100
"""
    platform = parse_repl(text)
    assert list(platform.entries) == ["rcc", "uart"]
    properties = platform.entries["rcc"].properties
    assert set(properties) == {"size", "script", "initable"}
    assert "request.Value = 0x1 << 25" in properties["script"]
    with pytest.raises(ReplError, match="script"):
        parse_repl(text.replace("        '''\n", ""))
