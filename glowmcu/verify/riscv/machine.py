"""A RISC-V core with guarded memory. What Unicorn does not know is executed by our own table."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any

from glowmcu.cores import Core
from glowmcu.errors import ExitCode, error
from glowmcu.verify.cortex_m.elf import Program
from glowmcu.verify.cortex_m.machine import Machine
from glowmcu.verify.cortex_m.processor import Processor
from glowmcu.verify.riscv.bit_manipulation import perform

_WORD = 0xFFFFFFFF
_ILLEGAL = 2


def open_riscv(core: Core) -> Processor:
    """A 32-bit RISC-V with all that Unicorn knows."""
    assert core.unicorn_model is not None
    unicorn: Any = importlib.import_module("unicorn")
    riscv: Any = importlib.import_module("unicorn.riscv_const")
    uc = unicorn.Uc(unicorn.UC_ARCH_RISCV, unicorn.UC_MODE_RISCV32)
    uc.ctl_set_cpu_model(getattr(riscv, f"UC_CPU_RISCV32_{core.unicorn_model}"))
    return Processor(
        unicorn,
        uc,
        stack_pointer=riscv.UC_RISCV_REG_SP,
        link=riscv.UC_RISCV_REG_RA,
        first_argument=riscv.UC_RISCV_REG_A0,
        program_counter=riscv.UC_RISCV_REG_PC,
        argument_count=8,
        code_bit=0,
        stack_align=16,
    )


class RiscvMachine(Machine):
    """`Machine` with the bit manipulation extensions where `core` has them.

    With `check_alignment` an access at an address that is no multiple of its size raises GM656;
    without, it is performed, which cores differ in.
    """

    def __init__(
        self,
        program: Program,
        core: Core,
        arena_bytes: int,
        arena_align: int = 8,
        external: Sequence[tuple[int, int]] = (),
        check_alignment: bool = False,
    ) -> None:
        super().__init__(program, core, arena_bytes, arena_align, external, open_riscv)
        self._core = core
        self._zero = self._processor.stack_pointer - 2
        self._uc.hook_add(self._unicorn.UC_HOOK_INTR, self._trap)
        if check_alignment:
            self.add_access_hook(self._judge)

    def _trap(self, uc: Any, cause: int, _data: Any) -> None:
        """An illegal instruction, behind which Unicorn's program counter is already."""
        address = self.program_counter() - 4
        if cause == _ILLEGAL and self._core.has_bit_manipulation:
            word = int.from_bytes(self.read_code(address, 4), "little")
            if perform(word, self._read_register, self._write_register):
                return
        self.stop(
            error(
                "GM655",
                f"the processor faulted: exception {cause}",
                f"{self._program.function_at(address)} before {address + 4:#010x}",
                f"an instruction that {self._core.name} does not have?",
                ExitCode.MISMATCH,
            )
        )

    def _read_register(self, number: int) -> int:
        return int(self._uc.reg_read(self._zero + number)) & _WORD if number else 0

    def _write_register(self, number: int, value: int) -> None:
        if number:
            self._uc.reg_write(self._zero + number, value)

    def _judge(
        self, _uc: Any, _access: int, address: int, size: int, _value: int, _data: Any
    ) -> None:
        if address & (size - 1):
            message = f"{size} bytes at {address:#010x} are accessed, which is not aligned"
            self.stop(error("GM656", message, self.place(), exit_code=ExitCode.MISMATCH))
