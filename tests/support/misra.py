"""What cppcheck's MISRA C:2012 addon finds in a bundle, compiled as for a core."""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

_LINE = re.compile(r"^(?P<file>[^:]+):(?P<line>\d+): misra-c2012-(?P<rule>[\d.]+)$", re.MULTILINE)
_ASSEMBLY = re.compile(r"__asm__|GLOWMCU_STEP\(|GLOWMCU_FORGET_TYPES\(")
#: Rows of numbers, of which those behind the first twenty are left out.
_ROWS = re.compile(r"((?:^[ \d,u.xa-fA-F+-]+,\n){20})(?:^[ \d,u.xa-fA-F+-]+,\n)+", re.MULTILINE)
_GCC = ("-D__GNUC__=12", "-D__arm__", "-D__thumb__")
_MAINLINE = (*_GCC, "-D__thumb2__", "-D__ARM_FEATURE_UNALIGNED=1")
_DSP = (*_MAINLINE, "-D__ARM_FEATURE_DSP=1", "-D__ARM_FP=4")
_RISCV = (
    *("-D__GNUC__=12", "-D__riscv=1", "-D__riscv_xlen=32", "-D__riscv_mul=1", "-D__riscv_div=1"),
    "-D__riscv_compressed=1",
)
#: A function that compilers have without a declaration, which later releases of cppcheck miss.
_ITS_OWN = "-D__builtin_assume_aligned(at,bytes)=(at)"
#: What a compiler for the core defines, as far as bundles ask.
MACROS = {
    "cortex-m0plus": (*_GCC, "-D__ARM_ARCH=6", "-D__ARM_ARCH_6M__"),
    "cortex-m3": (*_MAINLINE, "-D__ARM_ARCH=7", "-D__ARM_ARCH_7M__"),
    "cortex-m4": (*_DSP, "-D__ARM_ARCH=7", "-D__ARM_ARCH_7EM__"),
    "cortex-m7": (*_DSP, "-D__ARM_ARCH=7", "-D__ARM_ARCH_7EM__"),
    "cortex-m33": (*_DSP, "-D__ARM_ARCH=8", "-D__ARM_ARCH_8M_MAIN__"),
    "cortex-m55": (*_DSP, "-D__ARM_ARCH=8", "-D__ARM_ARCH_8_1M_MAIN__", "-D__ARM_FEATURE_MVE=3"),
    "cortex-m85": (*_DSP, "-D__ARM_ARCH=8", "-D__ARM_ARCH_8_1M_MAIN__", "-D__ARM_FEATURE_MVE=3"),
    "rv32imc": _RISCV,
    "hazard3": (*_RISCV, "-D__riscv_zba=1000000", "-D__riscv_zbb=1000000"),
    "generic": ("-D__GNUC__=12", "-DGLOWMCU_PORTABLE"),
}


@dataclass(frozen=True)
class Finding:
    """A rule, and the line of code that is said to break it."""

    rule: str
    file: str
    code: str


def findings(bundle: Path, core: str, sources: tuple[str, ...] = ()) -> list[Finding]:
    """In the bundle's C and the headers that it includes; `sources` names some files only.

    Of a long array the first rows of numbers are looked at, since all are alike.
    """
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(shutil.copytree(bundle, Path(folder) / "bundle"))
        shortened = set[str]()
        for path in copy.rglob("*.c"):
            text, count = _ROWS.subn(r"\1", path.read_text("utf-8"))
            if count:
                path.write_text(text, "utf-8")
                shortened.add(path.relative_to(copy).as_posix())
        found = _findings(copy, core, sources)
    # An array whose rows were left out is not full.
    return [item for item in found if item.rule != "9.3" or item.file not in shortened]


def _findings(bundle: Path, core: str, sources: tuple[str, ...]) -> list[Finding]:
    files = sources or sorted(path.relative_to(bundle).as_posix() for path in bundle.rglob("*.c"))
    command = [
        *("cppcheck", "-q", "--addon=misra", "--std=c99", "--platform=arm32-wchar_t4"),
        *("--enable=style", *MACROS[core], _ITS_OWN, "-I.", "-Iselftest"),
        *("--template={file}:{line}: {id}", *files),
    ]
    done = subprocess.run(command, cwd=bundle, capture_output=True, text=True, check=True)
    texts: dict[str, list[str]] = {}
    found: dict[tuple[str, str, int], Finding] = {}
    for match in _LINE.finditer(done.stderr):
        file, number, rule = match["file"], int(match["line"]), match["rule"]
        lines = texts.setdefault(file, (bundle / file).read_text("utf-8").splitlines())
        if rule == "17.3" and _ASSEMBLY.search(lines[number - 1]):
            continue  # later releases take inline assembly for a function without a declaration
        found[rule, file, number] = Finding(rule, file, lines[number - 1].strip())
    return list(found.values())
