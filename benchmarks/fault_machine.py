"""A modelled core on which a bit flips during a run, and that tells what the run then did.

A run stops after a drawn number of instructions, one bit is flipped, and the run goes on. Memory
that a write must not touch is unmapped or looked at afterwards. Reads and jumps are treated as a
chip would: reads near the bundle's memory find something, those elsewhere are bus faults.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from glowmcu.cores import Core
from glowmcu.verify.cortex_m.elf import Constant, Function, Program
from glowmcu.verify.cortex_m.machine import (
    ARENA_BASE,
    CODE_BASE,
    PAGE,
    POISON,
    RETURN_ADDRESS,
    STACK_BYTES,
    STACK_TOP,
    Machine,
)

#: What may hold a flipped bit. Constants are parted: `parameters` are structs, loops and orders of
#: rows, which addresses are computed from, `weights` all other objects.
KINDS = ("arena", "weights", "parameters", "registers", "stack", "code")
#: RAM around arena and stack, and flash around code, where a chip would have some.
NEARBY_BYTES = 256 * 1024
#: How much deeper than without a fault the stack may become before it counts as a wild write.
_STACK_MARGIN = 128
_SYSTEM_BASE, _SYSTEM_BYTES = 0xE0000000, 0x100000
_FLAGS = tuple(1 << bit for bit in range(27, 32))  # Q, V, C, Z, N
_WORD_REGISTERS = 16
#: The table of the check itself, of which a small bundle's check does not read all.
_OF_THE_CHECK = re.compile(r"nibbles(\.\d+)?")
_WEIGHTS = re.compile(r"_w\d+_(?!(?:axes|columns|loops|offsets|places|rows|sizes|starts)$)")


@dataclass(frozen=True)
class Flip:
    """Bit number `draw`, modulo as many as there are, of what is of `kind`, at instruction `when`
    of the run. `kind` "nothing" stops and goes on, as a control.
    """

    kind: str
    when: int
    draw: int


class WildWriteError(Exception):
    """The run wrote at `address`, which is not its memory."""

    def __init__(self, address: int) -> None:
        super().__init__(f"wrote to {address:#010x}")
        self.address = address

    @property
    def is_near(self) -> bool:
        """Whether a chip would have RAM there, so that nothing but the damage shows."""
        ends = ((ARENA_BASE, ARENA_BASE), (STACK_TOP - STACK_BYTES, STACK_TOP))
        return any(low - NEARBY_BYTES <= self.address < high + NEARBY_BYTES for low, high in ends)


class FaultError(Exception):
    """The processor faulted."""


class EndlessError(Exception):
    """The run did not end within its instructions."""


class FaultMachine(Machine):
    """Runs functions of one program with at most one flip a run.

    `instructions_left` is what all calls of a run may take together.
    """

    def __init__(
        self,
        program: Program,
        core: Core,
        arena_bytes: int,
        arena_align: int = 8,
        external_bytes: Sequence[int] = (),
    ) -> None:
        super().__init__(program, core, arena_bytes, arena_align, external_bytes)
        self._registers: Any = importlib.import_module("unicorn.arm_const")
        self._places = constant_places(program.constants, program.functions)
        self._at_rest = self._uc.context_save()
        self._system = self._system_now()
        self._flip: Flip | None = None
        self._restore: tuple[int, bytes] | None = None
        self._found_pages: list[int] = []
        self._reads = np.random.default_rng(0)
        self._executed = 0
        self._deepest = STACK_BYTES
        self.instructions_left = 0

    def begin(self, flip: Flip | None, instructions: int, stack_bytes: int = STACK_BYTES) -> None:
        """Memory as after power-on; `flip` comes during the calls that follow, which may take
        `instructions`. The stack of a run without faults takes `stack_bytes`.
        """
        for address in self._found_pages:
            self._uc.mem_unmap(address, PAGE)
        self._found_pages = []
        self.mend()
        self.reset()
        self._uc.mem_write(_SYSTEM_BASE, self._system)
        self._uc.context_restore(self._at_rest)
        self._flip, self._executed = flip, 0
        self._reads = np.random.default_rng(flip.draw if flip else 0)
        self._deepest = min(STACK_BYTES, stack_bytes + _STACK_MARGIN)
        self.instructions_left = instructions

    @property
    def kinds(self) -> tuple[str, ...]:
        """Those of `KINDS` that have any bit; not every bundle has constants."""
        return tuple(kind for kind in KINDS if self._places.get(kind, "any"))

    def bytes_of(self, kind: str) -> int:
        """Of weights, parameters or code."""
        return sum(item.size_bytes for item in self._places[kind])

    def mend(self) -> None:
        """Undo a flip in what cannot be written."""
        if self._restore is not None:
            self._uc.mem_write(*self._restore)
            self._restore = None
            self._uc.ctl_flush_tb()

    def restart(self, instructions: int) -> None:
        """Go on after a run, however it ended, with memory as it left it, but for what it wrote
        outside of its own.
        """
        self._uc.context_restore(self._at_rest)
        self._uc.mem_write(_SYSTEM_BASE, self._system)
        self._uc.mem_write(ARENA_BASE, self._canary)
        self.write_arena(self._arena_bytes, self._tail_canary)
        self._uc.mem_write(STACK_TOP - STACK_BYTES, POISON * STACK_BYTES)
        self._flip, self._deepest = None, STACK_BYTES
        self.instructions_left = instructions

    def call_counted(self, function: str, arguments: Sequence[int], total: int) -> int:
        """Call `function`, which takes `total` instructions without a fault; r0 after it. The flip
        comes if its turn is. Raises WildWriteError, FaultError, EndlessError.
        """
        registers = self._registers
        assert len(arguments) <= 4
        self._uc.reg_write(registers.UC_ARM_REG_SP, STACK_TOP)
        self._uc.reg_write(registers.UC_ARM_REG_LR, RETURN_ADDRESS | 1)
        for number, value in enumerate(arguments):
            self._uc.reg_write(registers.UC_ARM_REG_R0 + number, value)
        self._bad_access = None
        address = self._program.address_of(function)
        if self._flip is not None and self._flip.when - self._executed < total:
            before = self._flip.when - self._executed
            if before:
                self._execute(address, before)
                address = self.program_counter()
            address = self._apply(self._flip, address)
            self._flip = None
        self._executed += total
        self._execute(address, max(1, self.instructions_left))
        if self.program_counter() != RETURN_ADDRESS:
            raise EndlessError
        self.instructions_left -= total
        return int(self._uc.reg_read(registers.UC_ARM_REG_R0))

    def _execute(self, address: int, instructions: int) -> None:
        try:
            self._uc.emu_start(address | 1, RETURN_ADDRESS, count=instructions)
        except self._unicorn.UcError as cause:
            if self._bad_access is not None and self._is_write(self._bad_access[0]):
                raise WildWriteError(self._bad_access[1]) from cause
            self.look_around()  # it may have written elsewhere before
            raise FaultError(str(cause)) from cause

    def _is_write(self, access: int) -> bool:
        return access in (self._unicorn.UC_MEM_WRITE_UNMAPPED, self._unicorn.UC_MEM_WRITE_PROT)

    def look_around(self) -> None:
        """Raise WildWriteError for what is mapped, must not be written, and was."""
        below = bytes(self._uc.mem_read(STACK_TOP - STACK_BYTES, STACK_BYTES - self._deepest))
        for base, found, wanted in (
            (ARENA_BASE, bytes(self._uc.mem_read(ARENA_BASE, len(self._canary))), self._canary),
            (
                self.arena_address + self._arena_bytes,
                self.read_arena(self._arena_bytes, len(self._tail_canary)),
                self._tail_canary,
            ),
            (STACK_TOP - STACK_BYTES, below, POISON * len(below)),
            (_SYSTEM_BASE, self._system_now(), self._system),
        ):
            if found != wanted:
                raise WildWriteError(
                    base + next(i for i in range(len(wanted)) if found[i] != wanted[i])
                )

    def _system_now(self) -> bytes:
        return bytes(self._uc.mem_read(_SYSTEM_BASE, _SYSTEM_BYTES))

    def _note_bad_access(
        self, uc: Any, access: int, address: int, size: int, value: int, data: Any
    ) -> bool:
        """A read where a chip has memory finds something; anything else ends the run."""
        super()._note_bad_access(uc, access, address, size, value, data)
        last = address + size - 1
        if access != self._unicorn.UC_MEM_READ_UNMAPPED or not is_nearby(last):
            return False
        for page in sorted({address & -PAGE, last & -PAGE}):
            if not self._is_mapped(page):
                self._uc.mem_map(page, PAGE, self._unicorn.UC_PROT_READ)
                self._uc.mem_write(page, self._reads.bytes(PAGE))
                self._found_pages.append(page)
        self._bad_access = None
        return True

    def _is_mapped(self, page: int) -> bool:
        return any(begin <= page <= end for begin, end, _ in self._uc.mem_regions())

    def _apply(self, flip: Flip, address: int) -> int:
        """Flip the bit; returns where the run goes on."""
        if flip.kind == "nothing":
            self._write_registers(0, 0)
            return address
        if flip.kind == "registers":
            return self._flip_register(*register_bit(flip.draw), address)
        at, bit = self._place(flip)
        old = bytes(self._uc.mem_read(at, 1))
        if flip.kind not in ("arena", "stack"):
            self._restore = at, old
        self._uc.mem_write(at, bytes([old[0] ^ 1 << bit]))
        self._uc.ctl_flush_tb()
        return address

    def _place(self, flip: Flip) -> tuple[int, int]:
        """Address and bit."""
        if flip.kind == "arena":
            offset, bit = divmod(flip.draw % (8 * self._arena_bytes), 8)
            return self.arena_address + offset, bit
        if flip.kind == "stack":
            pointer = int(self._uc.reg_read(self._registers.UC_ARM_REG_SP))
            used = max(4, STACK_TOP - pointer)
            offset, bit = divmod(flip.draw % (8 * used), 8)
            return STACK_TOP - used + offset, bit
        return bit_in(self._places[flip.kind], flip.draw)

    def _flip_register(self, number: int | None, mask: int, address: int) -> int:
        if number == 15:
            return address ^ mask
        self._write_registers(number, mask)
        return address

    def _write_registers(self, number: int | None, changed: int) -> None:
        names = self._registers
        special = {13: names.UC_ARM_REG_SP, 14: names.UC_ARM_REG_LR, None: names.UC_ARM_REG_CPSR}
        register = special.get(number, names.UC_ARM_REG_R0 + (number or 0))
        self._uc.reg_write(register, int(self._uc.reg_read(register)) ^ changed)


def register_bit(draw: int) -> tuple[int | None, int]:
    """A register of r0 to pc, None for the flags, and what changes in it; pc stays even."""
    number, bit = divmod(draw % (32 * _WORD_REGISTERS + len(_FLAGS)), 32)
    if number == _WORD_REGISTERS:
        return None, _FLAGS[bit]
    return number, 1 << (max(bit, 1) if number == 15 else bit)


def bit_in(places: Sequence[Constant], draw: int) -> tuple[int, int]:
    """Address and bit of one of all bits in `places`."""
    offset, bit = divmod(draw % (8 * sum(item.size_bytes for item in places)), 8)
    for item in places:
        if offset < item.size_bytes:
            return item.address + offset, bit
        offset -= item.size_bytes
    raise AssertionError("a place beyond all")


def constant_places(
    constants: Sequence[Constant], functions: Sequence[Function]
) -> dict[str, list[Constant]]:
    """What in flash may hold a flipped bit, by kind."""
    own = [item for item in constants if not _OF_THE_CHECK.fullmatch(item.name)]
    return {
        "weights": [item for item in own if not is_parameter(item)],
        "parameters": [item for item in own if is_parameter(item)],
        "code": [Constant(f.name, f.address, f.size_bytes) for f in functions],
    }


def is_parameter(item: Constant) -> bool:
    """Whether addresses are computed from it."""
    return _WEIGHTS.search(item.name) is None


def is_nearby(address: int) -> bool:
    """Whether a chip has memory there that can be read: near arena, stack or code."""
    return any(
        base - NEARBY_BYTES <= address < base + NEARBY_BYTES
        for base in (ARENA_BASE, STACK_TOP, CODE_BASE)
    )
