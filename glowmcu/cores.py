"""The processor cores a bundle can be compiled for: compiler flags, features, emulator model.

A board names its core by `Core.name`; kernels select by `has_dsp` and `has_mve`; the executors
`cortex-m` and `riscv` run a core when `unicorn_model` is set. A package adds cores by an entry
point in the group `glowmcu.cores` that gives a `Core` or a tuple of them.
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from functools import cache
from typing import TypeGuard

from glowmcu.discovery import load_plugins, name_taken
from glowmcu.errors import GlowmcuError, error
from glowmcu.lazy_dataclass import dataclass


@dataclass(frozen=True)
class Core:
    """One core in the configuration that its boards ship with.

    `flags` select instruction set and float ABI for gcc and clang. `architecture` is gcc's word
    for the instruction set. `has_dsp` = SIMD within 32 bits (SMLAD, SXTB16, …), `has_mve` = Helium,
    `dual_issue` = two instructions of most kinds may issue in a cycle, so that their order counts.
    `unicorn_model` names the constant `UC_CPU_ARM_<model>` or `UC_CPU_RISCV32_<model>`, None if
    Unicorn has no such core.

    A core that is neither Arm nor RISC-V (another word for `architecture`) has three more:
    `executor` models its cycles, `costs_as` is the core by whose measured costs kernels are chosen
    that do not state their own, and `compiler` is a program that takes gcc's options, which
    `flags` must then tell from other cores' (one of their own, such as `-mcpu=acme`).
    """

    name: str
    flags: tuple[str, ...]
    architecture: str
    has_dsp: bool = False
    has_fpu: bool = False
    has_mve: bool = False
    dual_issue: bool = False
    unicorn_model: str | None = None
    executor: str = ""
    costs_as: str = "cortex-m3"
    compiler: str = ""

    @property
    def is_foreign(self) -> bool:
        """Neither Arm nor RISC-V: a package brought it."""
        return not self.architecture.startswith(("arm", "rv"))

    @property
    def is_riscv(self) -> bool:
        """RISC-V, not Arm: another compiler, another emulator."""
        return self.architecture.startswith("rv")

    @property
    def has_bit_manipulation(self) -> bool:
        """RISC-V's Zba, Zbb and Zbs: SH1ADD, MIN, SEXT.B, …"""
        return "_zbb" in self.architecture

    @property
    def modelled_by(self) -> str:
        """The executor that models its cycles."""
        if self.executor:
            return self.executor
        return "riscv" if self.is_riscv else "cortex-m"


def _flags(mcpu: str, fpu: str | None = None) -> tuple[str, ...]:
    floats = ("-mfloat-abi=soft",) if fpu is None else ("-mfloat-abi=hard", f"-mfpu={fpu}")
    return (f"-mcpu={mcpu}", "-mthumb", *floats)


def _riscv(name: str, march: str) -> Core:
    return Core(name, (f"-march={march}", "-mabi=ilp32"), march, unicorn_model="ANY")


#: Of a processor that nothing is known of.
GENERIC = "generic"

_ALL = (
    Core("cortex-m0", _flags("cortex-m0"), "armv6s-m", unicorn_model="CORTEX_M0"),
    # Unicorn has no M0+; its M0 executes the same instruction set.
    Core("cortex-m0plus", _flags("cortex-m0plus"), "armv6s-m", unicorn_model="CORTEX_M0"),
    Core("cortex-m3", _flags("cortex-m3"), "armv7-m", unicorn_model="CORTEX_M3"),
    Core(
        "cortex-m4",
        _flags("cortex-m4", "fpv4-sp-d16"),
        "armv7e-m",
        has_dsp=True,
        has_fpu=True,
        unicorn_model="CORTEX_M4",
    ),
    # Single precision: what every Cortex-M7 with an FPU has.
    Core(
        "cortex-m7",
        _flags("cortex-m7", "fpv5-sp-d16"),
        "armv7e-m",
        has_dsp=True,
        has_fpu=True,
        dual_issue=True,
        unicorn_model="CORTEX_M7",
    ),
    Core(
        "cortex-m33",
        _flags("cortex-m33", "fpv5-sp-d16"),
        "armv8-m.main",
        has_dsp=True,
        has_fpu=True,
        unicorn_model="CORTEX_M33",
    ),
    Core(
        "cortex-m55",
        _flags("cortex-m55", "auto"),
        "armv8.1-m.main",
        has_dsp=True,
        has_fpu=True,
        has_mve=True,
    ),
    # -mcpu=cortex-m85 needs gcc 13; these flags mean the same instructions to gcc 12 too.
    Core(
        "cortex-m85",
        (
            "-march=armv8.1-m.main+dsp+mve.fp+fp.dp",
            "-mtune=cortex-m55",
            "-mthumb",
            "-mfloat-abi=hard",
            "-mfpu=auto",
        ),
        "armv8.1-m.main",
        has_dsp=True,
        has_fpu=True,
        has_mve=True,
    ),
    # RISC-V without floating point; the CSRs that gcc 12 wants named are not used by bundles.
    _riscv("rv32imc", "rv32imc"),
    _riscv("rv32imac", "rv32imac"),
    # The RP2350's other core. It has Zcb and Zcmp, too, which gcc 12 does not know, and Zbs, with
    # which gcc 12 fails on the constant 2048.
    _riscv("hazard3", "rv32imac_zba_zbb_zbkb"),
    # The instruction set that every Cortex-M executes.
    Core(GENERIC, _flags("cortex-m0plus"), "armv6s-m", unicorn_model="CORTEX_M0"),
)
_BY_NAME = {core.name: core for core in _ALL}


@cache
def _all_by_name() -> dict[str, Core]:
    """Those of packages come last. Raises GM750 to GM753."""
    cores = dict(_BY_NAME)
    for plugin, given in load_plugins("glowmcu.cores", _are_cores, "a Core or a tuple of them"):
        for item in (given,) if isinstance(given, Core) else given:
            if item.name in cores:
                raise GlowmcuError([name_taken(plugin, f"there is another core {item.name!r}")])
            cores[item.name] = item
    return cores


def _are_cores(given: object) -> TypeGuard[Core | tuple[Core, ...]]:
    if isinstance(given, tuple):
        return bool(given) and all(isinstance(item, Core) for item in given)
    return isinstance(given, Core)


def core_names() -> tuple[str, ...]:
    """Names of all cores, smallest first, `generic` and those of packages last."""
    return tuple(_all_by_name())


def foreign_core(flags: Sequence[str]) -> Core | None:
    """Whose flags these are, among other options: a core that brings a compiler of its own."""
    cores = (_all_by_name()[name] for name in core_names() if name not in _BY_NAME)
    return next((item for item in cores if item.compiler and set(item.flags) & set(flags)), None)


def core(name: str) -> Core:
    """The core called `name`. Raises GM618 with the nearest names for an unknown one."""
    found = _BY_NAME.get(name) or _all_by_name().get(name)
    if found is None:
        near = difflib.get_close_matches(name, _all_by_name(), n=3, cutoff=0.4) or list(
            _all_by_name()
        )
        raise error(
            "GM618", f"unknown core {name!r}", hint="did you mean " + " or ".join(near) + "?"
        )
    return found
