"""Texts of `<name>.repl`, `<name>.resc` and `<name>.robot` for a bundle on a board."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from glowmcu.board import Board, RenodeTarget, find_board
from glowmcu.cores import core
from glowmcu.errors import error
from glowmcu.lazy_dataclass import dataclass
from glowmcu.verify.firmware.port import UART_INPUTS_ORIGIN
from glowmcu.verify.firmware.templates import render
from glowmcu.verify.renode.helium import MISSING_INSTRUCTIONS, WRONG_INSTRUCTIONS
from glowmcu.verify.time_limits import virtual_seconds, wall_seconds

# Renode maps memory in pages; inputs get a little more than they need.
_PAGE_BYTES = 0x1000
_INPUT_PAGE_BYTES = 0x10000
# Renode's names of cores if they are not gcc's.
_CPU_TYPES = {"cortex-m0plus": "cortex-m0+", "generic": "cortex-m0+"}
# Platforms that download the names of their registers when they are loaded, for Renode's log.
_DOWNLOADING = frozenset({
    "platforms/cpus/nrf52840.repl",
    "platforms/cpus/stm32f4.repl",
    "platforms/cpus/stm32f746.repl",
    "platforms/cpus/stm32l552.repl",
})  # fmt: skip
# Renode's model of each register layout, with the properties that it needs.
_UART_MODELS = {
    "cmsdk": ("UART.CMSDK_APB_UART", ()),
    "nrf-uart": ("UART.NRF52840_UART", ()),
    "nrf-uarte": ("UART.NRF52840_UART", ("easyDMA: true",)),
    "pl011": ("UART.PL011", ()),
    "ra8-sci": ("UART.RenesasRA8M1_SCI", ("frequency: 8000000",)),
    "stm32-usart-f4": ("UART.STM32_UART", ()),
    "stm32-usart-f7": ("UART.STM32F7_USART", ("frequency: 16000000",)),
}

_HELIUM_HINTS = (
    f"A fault, or no end: {MISSING_INSTRUCTIONS}.",
    f"Wrong outputs: {WRONG_INSTRUCTIONS}.",
)


@dataclass(frozen=True)
class RenodeFiles:
    """The three texts; they expect `<name>.elf` and `inputs.bin` in their folder, or `inputs.hex`
    if they are shipped.
    """

    name: str
    repl: str
    resc: str
    robot: str

    def write(self, folder: Path) -> Path:
        """Write the files into `folder`; returns the path of the `.robot` file."""
        for suffix in ("repl", "resc", "robot"):
            path = folder / f"{self.name}.{suffix}"
            path.write_text(getattr(self, suffix), encoding="utf-8")
        return folder / f"{self.name}.robot"


@dataclass(frozen=True)
class _Memory:
    name: str
    origin: int
    size_bytes: int


@dataclass(frozen=True)
class _View:
    """What the templates in `templates/renode/` use."""

    name: str
    board: str
    platform: str | None
    is_downloading: bool
    cpu_type: str
    memories: tuple[_Memory, ...]
    uart: str
    uart_lines: tuple[str, ...]
    inputs_origin: int
    inputs_bytes: int
    vectors_origin: int
    inferences: int
    expected: tuple[tuple[str, ...], ...]
    is_shipped: bool
    virtual_seconds: int
    wall_seconds: int
    helium_hints: tuple[str, ...]


def renode_board(board: Board) -> tuple[Board, RenodeTarget]:
    """The board whose hardware Renode emulates for `board`: itself, or the machine QEMU would use.

    Raises GM661 when neither says how Renode shows its serial output.
    """
    for candidate in (board, board.qemu and find_board(board.qemu.machine)):
        if candidate and candidate.renode and candidate.placement:
            return candidate, candidate.renode
    hint = 'add [renode] uart = "uart0", uart_kind and uart_origin to the board\'s file'
    raise error("GM661", f"board {board.name} does not say how to run in Renode", hint=hint)


def renode_files(
    name: str,
    board: Board,
    inferences: int,
    input_bytes: int,
    most_instructions: int,
    expected: Sequence[tuple[str, ...]] | None = None,
) -> RenodeFiles:
    """Files that run a firmware for `board` on `inferences` inputs of `input_bytes` in total, which
    executes less than `most_instructions` (`time_limits.py`) or hangs.

    `expected` are lines that the test wants to see after each inference: then it is one to ship,
    which tells right from wrong by itself.
    """
    hardware, target = renode_board(board)
    assert hardware.placement is not None
    view = _View(
        name=name,
        board=hardware.plain_title,
        platform=target.platform,
        is_downloading=target.platform in _DOWNLOADING,
        cpu_type=_CPU_TYPES.get(board.core, board.core),
        memories=_memories(hardware),
        uart=target.uart,
        uart_lines=_uart_lines(target),
        inputs_origin=UART_INPUTS_ORIGIN,
        inputs_bytes=_up(4 + input_bytes, _INPUT_PAGE_BYTES),
        vectors_origin=hardware.region(hardware.placement.code).origin,
        inferences=inferences,
        expected=tuple(expected or ()),
        is_shipped=expected is not None,
        virtual_seconds=virtual_seconds(most_instructions),
        wall_seconds=wall_seconds(most_instructions),
        helium_hints=_HELIUM_HINTS if core(board.core).has_mve else (),
    )
    return RenodeFiles(
        name,
        render("renode/platform.repl.j2", view),
        render("renode/script.resc.j2", view),
        render("renode/test.robot.j2", view),
    )


def _memories(board: Board) -> tuple[_Memory, ...]:
    """The regions that are ours to describe, widened to whole pages."""
    assert board.renode is not None
    memories = []
    for region in board.memory:
        if board.renode.platform and region.name not in board.renode.missing_regions:
            continue
        origin = region.origin // _PAGE_BYTES * _PAGE_BYTES
        memories.append(_Memory(region.name, origin, _up(region.end, _PAGE_BYTES) - origin))
    return tuple(memories)


def _uart_lines(target: RenodeTarget) -> tuple[str, ...]:
    model, properties = _UART_MODELS[target.uart_kind]
    place = f"0x{target.uart_origin:08X}"
    if target.uart_kind == "stm32-usart-f4":
        place = f"<{place}, +0x100>"  # this model does not know its own size
    first = f"{target.uart}: {model} @ sysbus {place}"
    return (first, *(f"    {line}" for line in properties))


def _up(value: int, multiple: int) -> int:
    return -(-value // multiple) * multiple
