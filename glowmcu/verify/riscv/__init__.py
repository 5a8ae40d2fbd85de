"""The modelled RISC-V: Unicorn executes, tables of its cores say what it would cost."""

from glowmcu.verify.riscv.executor import RiscV

__all__ = ["RiscV"]
