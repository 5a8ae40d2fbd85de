"""What a machine has to know of an architecture: an emulator, and which register does what."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import field
from typing import Any

from glowmcu.cores import Core
from glowmcu.lazy_dataclass import dataclass

_SYSTEM_BASE, _SYSTEM_BYTES = 0xE0000000, 0x100000
_CPACR, _FPU_ON = 0xE000ED88, (0xF << 20).to_bytes(4, "little")


@dataclass(frozen=True)
class Processor:
    """An emulator `uc` of the package `unicorn`, with nothing of a program in it yet.

    Registers are Unicorn's numbers. The first `argument_count` words of a call are in registers
    from `first_argument` on, where its result is, too; `code_bit` is set in addresses of code that
    is jumped to; `stack_align` in bytes. `numbers` are those of registers by the disassembler's,
    where accesses are followed.
    """

    unicorn: Any
    uc: Any
    stack_pointer: int
    link: int
    first_argument: int
    program_counter: int
    argument_count: int
    code_bit: int
    stack_align: int
    numbers: Mapping[int, int] = field(default_factory=dict)


def open_cortex_m(core: Core) -> Processor:
    """A Cortex-M that Unicorn has a model of, its FPU switched on."""
    assert core.unicorn_model is not None
    unicorn: Any = importlib.import_module("unicorn")
    arm: Any = importlib.import_module("unicorn.arm_const")
    # Not UC_MODE_MCLASS: it replaces the model by an M33, and an M0 would run Thumb-2.
    uc = unicorn.Uc(unicorn.UC_ARCH_ARM, unicorn.UC_MODE_THUMB)
    uc.ctl_set_cpu_model(getattr(arm, f"UC_CPU_ARM_{core.unicorn_model}"))
    uc.mem_map(_SYSTEM_BASE, _SYSTEM_BYTES, unicorn.UC_PROT_READ | unicorn.UC_PROT_WRITE)
    if core.has_fpu:
        uc.mem_write(_CPACR, _FPU_ON)
        uc.reg_write(arm.UC_ARM_REG_FPEXC, 0x40000000)
    return Processor(
        unicorn,
        uc,
        stack_pointer=arm.UC_ARM_REG_SP,
        link=arm.UC_ARM_REG_LR,
        first_argument=arm.UC_ARM_REG_R0,
        program_counter=arm.UC_ARM_REG_PC,
        argument_count=4,
        code_bit=1,
        stack_align=8,
        numbers=_register_numbers(arm),
    )


def _register_numbers(arm: Any) -> dict[int, int]:
    """Unicorn's numbers of the core registers by Capstone's."""
    capstone: Any = importlib.import_module("capstone.arm")
    names = [*(f"R{number}" for number in range(13)), "SP", "LR"]
    return {
        getattr(capstone, f"ARM_REG_{name}"): getattr(arm, f"UC_ARM_REG_{name}") for name in names
    }
