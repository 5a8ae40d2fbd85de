"""Everything known about a board. Built by `read_board` only, so that every `Board` is valid."""

from __future__ import annotations

import re
from pathlib import Path

from glowmcu.board.memory_timing import MemoryTiming
from glowmcu.lazy_dataclass import dataclass


@dataclass(frozen=True)
class Region:
    """A contiguous memory. `kind` is `flash`, `ram` or `tcm` (tightly coupled, no wait states).

    `wait_states` are a flash's own if they differ from the board's, for example an external one's.
    """

    name: str
    kind: str
    origin: int
    size_bytes: int
    note: str = ""
    wait_states: int | None = None

    @property
    def end(self) -> int:
        """First address behind the region."""
        return self.origin + self.size_bytes


@dataclass(frozen=True)
class Placement:
    """Region names: where code, weights, variables (with the stack) and the arena go by default.

    `fast_data` takes the arena instead if it fits there; it and `fast_code` are what `--place auto`
    fills. Both may be empty.
    """

    code: str
    constants: str
    data: str
    arena: str
    fast_data: str = ""
    fast_code: str = ""


@dataclass(frozen=True)
class QemuTarget:
    """`machine` of qemu-system-arm, itself a board here; `note` says why when it is another one."""

    machine: str
    note: str = ""


@dataclass(frozen=True)
class RenodeTarget:
    """How Renode shows the board's serial output.

    `platform` is a file that Renode ships, None if the project writes its own. `uart` is the
    peripheral's name in it, `uart_kind` its register layout, `uart_origin` its address. `missing`
    names the board's regions, with commas, that a shipped platform lacks: they are added to it.
    """

    platform: str | None
    uart: str
    uart_kind: str
    uart_origin: int
    missing: str = ""

    @property
    def missing_regions(self) -> tuple[str, ...]:
        """The names in `missing`."""
        return tuple(name for word in self.missing.split(",") if (name := word.strip()))


@dataclass(frozen=True)
class RegisterWrite:
    """`(register & ~clear) | set`, then a wait until all bits of `until` are set."""

    register: int
    clear: int
    set: int
    until: int = 0
    note: str = ""


@dataclass(frozen=True)
class SerialTarget:
    """The UART by which the test firmware talks to a computer, on the chip itself.

    `setup` gives it clocks and pins as they are after a reset, `divisor` is what its baud rate
    register takes for `baud` then. `connect` says to a person what goes where.
    """

    uart_kind: str
    uart_origin: int
    divisor: int
    baud: int
    connect: str
    setup: tuple[RegisterWrite, ...] = ()


@dataclass(frozen=True)
class FlashTarget:
    """The chip's name in each tool that writes flash; for openocd its configuration files, with
    spaces between. Empty: that tool does not know the chip.
    """

    probe_rs: str = ""
    pyocd: str = ""
    openocd: str = ""
    picotool: str = ""
    esptool: str = ""


@dataclass(frozen=True)
class Power:
    """Current and voltage of the chip while its core computes at the board's clock, for estimates
    of energy without anything else on the board; `note` names the source.
    """

    active_microamperes: int
    supply_millivolts: int
    note: str

    def nanojoules(self, cycles: float, clock_hz: int) -> float:
        """Energy of `cycles` cycles at a clock of `clock_hz`."""
        watts = 1e-6 * self.active_microamperes * 1e-3 * self.supply_millivolts
        return 1e9 * watts * cycles / clock_hz


@dataclass(frozen=True)
class SecondCore:
    """The other core that may share a run with the board's, of another kind or clock.

    `cache_line_bytes`: lines of the caches that one of both has for itself, so that the other does
    not see what is in them; 0 if both always see the same memory.
    """

    core: str
    clock_hz: int
    cache_line_bytes: int = 0

    @property
    def line_bytes(self) -> int:
        """What the cores must not write in a part each of at a time: a line, else a byte."""
        return self.cache_line_bytes or 1


@dataclass(frozen=True)
class Board:
    """A board. `memory` is empty and `placement` None for a board without limits (`generic`).

    `core` names a `glowmcu.cores.Core`; `clock_hz` is the highest the board runs at and
    `flash_wait_states` what its flash takes then, before any cache; None unknown. `timing` is what
    memories and caches make the core wait at that clock: several if the chip may be any of them,
    empty if nothing is known. `second_core` is None where all `cores` are alike.
    """

    name: str
    title: str
    mcu: str
    core: str
    clock_hz: int | None
    memory: tuple[Region, ...]
    placement: Placement | None
    qemu: QemuTarget | None
    renode: RenodeTarget | None
    file: Path
    flash_wait_states: int | None = None
    timing: tuple[MemoryTiming, ...] = ()
    serial: SerialTarget | None = None
    flash: FlashTarget | None = None
    cores: int = 1
    accelerators: tuple[str, ...] = ()
    power: Power | None = None
    second_core: SecondCore | None = None

    def wait_states_by_region(self, flash_wait_states: int) -> dict[str, int]:
        """Wait states by region, the board's own flash having `flash_wait_states`; RAM has none."""
        if not flash_wait_states:
            return {}
        states: dict[str, int] = {}
        for region in self.memory:
            usual = flash_wait_states if region.kind == "flash" else 0
            states[region.name] = usual if region.wait_states is None else region.wait_states
        return states

    @property
    def plain_title(self) -> str:
        """The title as it can stand in a comment of any of our files."""
        return re.sub(r"[^ -~]|[\\*]", "?", self.title)

    def region(self, name: str) -> Region:
        """The region called `name`, which must exist."""
        return next(region for region in self.memory if region.name == name)
