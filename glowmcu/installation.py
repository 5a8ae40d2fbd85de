"""How a tool that GlowMCU uses but does not bring along is installed on this system.

A tool has a name in each package manager; where a manager has none, there is a place to get it.
"""

from __future__ import annotations

import platform
import sys
from functools import cache

from glowmcu.lazy_dataclass import dataclass

#: What is typed before a package's name.
_COMMANDS = {
    "apt": "apt install",
    "dnf": "dnf install",
    "pacman": "pacman -S",
    "brew": "brew install",
    "winget": "winget install",
}
#: The manager of a Linux distribution and of those that say they are like it.
_MANAGERS = {
    "debian": "apt", "ubuntu": "apt", "fedora": "dnf", "rhel": "dnf", "centos": "dnf",
    "arch": "pacman",
}  # fmt: skip


@dataclass(frozen=True)
class Tool:
    """What to install: packages by manager, and what to do if there is no package."""

    apt: str
    dnf: str = ""
    pacman: str = ""
    brew: str = ""
    winget: str = ""
    elsewhere: str = ""

    @property
    def advice(self) -> str:
        """What to type here, or where to get it."""
        manager = package_manager()
        packages = str(getattr(self, manager))
        if packages:
            return f"{_COMMANDS[manager]} {packages}"
        return self.elsewhere or f"install it (Debian calls it {self.apt})"


@cache
def package_manager() -> str:
    """apt, dnf, pacman, brew or winget: by the system alone, not by what is on PATH."""
    if sys.platform == "win32":
        return "winget"
    if sys.platform == "darwin":
        return "brew"
    try:
        release = platform.freedesktop_os_release()
    except OSError:
        return "apt"
    names = [release.get("ID", ""), *release.get("ID_LIKE", "").split()]
    return next((_MANAGERS[name] for name in names if name in _MANAGERS), "apt")


def extra(name: str) -> str:
    """How one of the package's own extras is installed."""
    return f'pip install "glowmcu[{name}]"'


HOST_COMPILER = Tool(
    "gcc", "gcc", "gcc", winget="BrechtSanders.WinLibs.POSIX.UCRT",
    elsewhere="xcode-select --install",
)  # fmt: skip
ARM_COMPILER = Tool(
    "gcc-arm-none-eabi libnewlib-arm-none-eabi",
    "arm-none-eabi-gcc-cs arm-none-eabi-newlib",
    "arm-none-eabi-gcc arm-none-eabi-newlib",
    "--cask gcc-arm-embedded",
    "Arm.GnuArmEmbeddedToolchain",
)
RISCV_COMPILER = Tool(
    "gcc-riscv64-unknown-elf picolibc-riscv64-unknown-elf",
    brew="riscv-software-src/riscv/riscv-gnu-toolchain",
    elsewhere="unpack riscv-none-elf-gcc of "
    "https://github.com/xpack-dev-tools/riscv-none-elf-gcc-xpack/releases",
)
QEMU_ARM = Tool(
    "qemu-system-arm", "qemu-system-arm", "qemu-system-arm", "qemu",
    "SoftwareFreedomConservancy.QEMU",
)  # fmt: skip
QEMU_RISCV = Tool(
    "qemu-system-misc", "qemu-system-riscv", "qemu-system-riscv", "qemu",
    "SoftwareFreedomConservancy.QEMU",
)  # fmt: skip
GRAPHVIZ = Tool("graphviz", "graphviz", "graphviz", "graphviz", "Graphviz.Graphviz")
