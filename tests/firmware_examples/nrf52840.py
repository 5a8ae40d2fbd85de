"""As much of an nRF52840 as a firmware with a microphone needs: memories, UARTE0, PDM, interrupts.

Unicorn executes from the vector table on. While the core sleeps (WFI), time passes: the PDM fills
the buffer that it latched, and its interrupt is served. Registers behave as the nRF52840 Product
Specification has it: SAMPLE.PTR is latched when a buffer begins, which sets EVENTS_STARTED; a full
one sets EVENTS_END.
"""

from __future__ import annotations

import importlib
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from elftools.elf.elffile import ELFFile

FLASH, RAM, RAM_BYTES = 0, 0x20000000, 256 * 1024
PERIPHERALS, PORTS, SYSTEM = 0x40000000, 0x50000000, 0xE000E000
UART_START, UART_SENT = 0x40002008, 0x40002120
UART_POINTER, UART_COUNT = 0x40002544, 0x40002548
CRYSTAL_START, CRYSTAL_RUNS = 0x40000000, 0x40000100
PDM = 0x4001D000
PDM_INTERRUPT = 29
VECTOR_TABLE, INTERRUPTS_ON = 0xE000ED08, 0xE000E100
RETURNED = 0x0F000000
WAIT_FOR_INTERRUPT = b"\x30\xbf"
#: Registers that a handler may change: r0 to r15 and the flags.
_CONTEXT = ("R0", "R1", "R2", "R3", "R4", "R5", "R6", "R7", "R8", "R9", "R10", "R11", "R12",
            "SP", "LR", "PC", "CPSR")  # fmt: skip


class Board:
    """Runs a firmware that hears `samples`; `lines()` gives what it says, until they are over.

    `buffers` are the addresses that samples were written to.
    """

    def __init__(self, firmware: Path, samples: npt.NDArray[np.int16]) -> None:
        unicorn: Any = importlib.import_module("unicorn")
        self._const: Any = importlib.import_module("unicorn.arm_const")
        self._uc = unicorn.Uc(unicorn.UC_ARCH_ARM, unicorn.UC_MODE_THUMB)
        self._uc.ctl_set_cpu_model(self._const.UC_CPU_ARM_CORTEX_M4)
        for base, size in ((FLASH, 1 << 20), (RAM, RAM_BYTES), (PERIPHERALS, 1 << 20),
                           (PORTS, 1 << 16), (SYSTEM, 1 << 12), (RETURNED, 1 << 12)):  # fmt: skip
            self._uc.mem_map(base, size)
        with firmware.open("rb") as file:
            for segment in ELFFile(file).iter_segments("PT_LOAD"):
                self._uc.mem_write(segment["p_paddr"], segment.data())
        flash = bytes(self._uc.mem_read(FLASH, 1 << 20))
        for at in range(0, len(flash), 2):
            if flash[at : at + 2] == WAIT_FOR_INTERRUPT:
                self._uc.hook_add(unicorn.UC_HOOK_CODE, self._sleep, begin=at, end=at)
        self._uc.mem_write(0xE000ED88, b"\0\0\xf0\0")
        self._uc.reg_write(self._const.UC_ARM_REG_FPEXC, 0x40000000)
        self._uc.hook_add(
            unicorn.UC_HOOK_MEM_WRITE, self._written, begin=PERIPHERALS, end=PERIPHERALS + 0xFFFFF
        )
        self._samples, self._said = samples, ""
        self._latched, self._begins = 0, False
        self.buffers: list[int] = []

    def lines(self) -> Iterator[str]:
        """Each as it comes."""
        stack, start = struct.unpack("<II", self._uc.mem_read(FLASH, 8))
        self._set("SP", stack)
        while True:
            self._uc.emu_start(start, RETURNED)
            *lines, self._said = self._said.split("\n")
            yield from lines
            if self._begins:
                self._begins = False
                self._begin_buffer()
            elif not self._hear():
                return
            start = self._get("PC") | 1

    def register(self, offset: int) -> int:
        """Of the PDM."""
        return self._word(PDM + offset)

    def _hear(self) -> bool:
        """The buffer is filled, the next begins; False when there are no samples for it."""
        count = self.register(0x564)
        assert self._latched, "the core sleeps, and nothing will wake it"
        if len(self._samples) < count:
            return False
        heard, self._samples = self._samples[:count], self._samples[count:]
        assert RAM <= self._latched <= RAM + RAM_BYTES - heard.nbytes
        self._uc.mem_write(self._latched, heard.tobytes())
        self.buffers.append(self._latched)
        self._write(PDM + 0x108, 1)
        self._begin_buffer()
        return True

    def _begin_buffer(self) -> None:
        self._latched = self.register(0x560)
        self._write(PDM + 0x100, 1)
        self._serve()

    def _serve(self) -> None:
        """The handler, if the interrupt is on, between two instructions of what it interrupts."""
        assert self._word(INTERRUPTS_ON) == 1 << PDM_INTERRUPT
        assert self.register(0x304) == 0b110, "STARTED and END"
        handler = self._word(self._word(VECTOR_TABLE) + 4 * (16 + PDM_INTERRUPT))
        before = {name: self._get(name) for name in _CONTEXT}
        self._set("LR", RETURNED | 1)
        self._uc.emu_start(handler, RETURNED)
        assert self._get("PC") == RETURNED
        for name, value in before.items():
            self._set(name, value)
        assert self.register(0x100) == self.register(0x108) == 0, "events are cleared"

    def _written(self, _: Any, kind: int, address: int, size: int, value: int, data: Any) -> None:
        """Tasks are done at once, but for the PDM's first buffer: when the core sleeps."""
        if address == CRYSTAL_START:
            self._write(CRYSTAL_RUNS, 1)
        elif address == UART_START:
            text = self._uc.mem_read(self._word(UART_POINTER), self._word(UART_COUNT))
            self._said += bytes(text).decode("ascii")
            self._write(UART_SENT, 1)
        elif address == PDM and self.register(0x500) == 1:
            self._begins = True

    def _sleep(self, _: Any, address: int, size: int, data: Any) -> None:
        self._set("PC", (address + size) | 1)
        self._uc.emu_stop()

    def _word(self, address: int) -> int:
        return int.from_bytes(self._uc.mem_read(address, 4), "little")

    def _write(self, address: int, value: int) -> None:
        self._uc.mem_write(address, value.to_bytes(4, "little"))

    def _get(self, name: str) -> int:
        return int(self._uc.reg_read(getattr(self._const, f"UC_ARM_REG_{name}")))

    def _set(self, name: str, value: int) -> None:
        self._uc.reg_write(getattr(self._const, f"UC_ARM_REG_{name}"), value)
