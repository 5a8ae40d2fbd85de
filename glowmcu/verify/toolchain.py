"""The Arm cross compiler: find it, build an ELF, say how large a bundle's code is.

`-O2 -std=c99` with one section a function is the default for everything that is measured;
`extra_flags` come later on the command line and win.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from glowmcu.errors import GlowmcuError, error

GCC_VARIABLE = "GLOWMCU_ARM_GCC"
DEFAULT_GCC = "arm-none-eabi-gcc"
DEFAULT_FLAGS = ("-std=c99", "-O2", "-ffunction-sections", "-fdata-sections")
TIMEOUT_SECONDS = 300
_ERROR_LINES = 6


def find_gcc() -> Path | None:
    """The cross compiler: `GLOWMCU_ARM_GCC` when set, else `arm-none-eabi-gcc` on PATH."""
    found = shutil.which(os.environ.get(GCC_VARIABLE) or DEFAULT_GCC)
    return Path(found) if found else None


def missing() -> str | None:
    """What to install before `build_elf` works here, or None."""
    if find_gcc() is not None:
        return None
    wanted = os.environ.get(GCC_VARIABLE)
    if wanted:
        return f"{GCC_VARIABLE} names {wanted}, which is not a program that can be run"
    return (
        f"{DEFAULT_GCC} is not on PATH: apt install gcc-arm-none-eabi libnewlib-arm-none-eabi, "
        f"or set {GCC_VARIABLE} to the compiler"
    )


def compiler_version() -> str:
    """The cross compiler's own words, on one line. Raises GM610 when there is none."""
    return _version_of(find_gcc())


@cache
def _version_of(_gcc: Path | None) -> str:
    return run_gcc(["--version"], ()).splitlines()[0]


def build_elf(
    sources: Sequence[Path],
    include_dirs: Sequence[Path],
    core_flags: Sequence[str],
    output: Path,
    linker_script: Path,
    extra_flags: Sequence[str] = (),
    force_include: Sequence[Path] = (),
) -> Path:
    """Compile and link `sources` to `output` without start files; unused functions are left out.

    Sources may be objects too. `linker_script` names the entry with ENTRY(). Raises GM610 without
    a compiler, GM611 when it refuses a source, GM612 when the program does not link, GM613 when
    it takes too long.
    """
    flags = _compile_flags(include_dirs, core_flags, force_include)
    flags += ["-nostartfiles", "-Wl,--gc-sections", "-T", str(linker_script)]
    inputs = [str(source) for source in sources]
    run_gcc([*flags, *extra_flags, *inputs, "-o", str(output)], inputs)
    return output


def compile_object(
    source: Path,
    include_dirs: Sequence[Path],
    core_flags: Sequence[str],
    output: Path,
    extra_flags: Sequence[str] = (),
    force_include: Sequence[Path] = (),
) -> Path:
    """Compile one source to the object `output`. Raises as `build_elf` does."""
    flags = _compile_flags(include_dirs, core_flags, force_include)
    run_gcc([*flags, *extra_flags, "-c", str(source), "-o", str(output)], [str(source)])
    return output


def _compile_flags(
    include_dirs: Sequence[Path], core_flags: Sequence[str], force_include: Sequence[Path]
) -> list[str]:
    flags = [*core_flags, *DEFAULT_FLAGS]
    for directory in include_dirs:
        flags += ["-I", str(directory)]
    for header in force_include:
        flags += ["-include", str(header)]
    return flags


def run_gcc(arguments: Sequence[str], inputs: Sequence[str]) -> str:
    """Run the cross compiler and return what it printed; errors as in `build_elf`."""
    gcc = find_gcc()
    if gcc is None:
        raise error("GM610", "there is no Arm cross compiler here", hint=missing() or "")
    where = ", ".join(Path(name).name for name in inputs)
    try:
        done = subprocess.run(
            [str(gcc), *arguments],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=TIMEOUT_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired as cause:
        raise error("GM613", f"{gcc.name} ran longer than {TIMEOUT_SECONDS} s", where) from cause
    except OSError as cause:
        raise error(
            "GM610", f"cannot start {gcc}: {cause.strerror}", hint=missing() or ""
        ) from cause
    if done.returncode != 0:
        raise _refused(gcc.name, done.stderr, where)
    return done.stdout


def _refused(gcc: str, stderr: str, where: str) -> GlowmcuError:
    """The compiler's first error lines; a linker's complaint is told apart by `ld returned`."""
    lines = [line.strip() for line in stderr.splitlines() if line.strip()]
    telling = [line for line in lines if "error" in line or "undefined" in line] or lines
    detail = "\n    ".join(telling[:_ERROR_LINES])
    if "ld returned" in stderr or "collect2" in stderr:
        return error("GM612", f"{gcc} could not link:\n    {detail}", where)
    return error("GM611", f"{gcc} could not compile:\n    {detail}", where)


@dataclass(frozen=True)
class CodeSize:
    """Bytes that linking a bundle adds to a firmware that calls only `<name>_run`.

    `text_bytes` are the bundle's own functions (literal pools included), `constant_bytes` its
    constants, `data_bytes` its writable statics (the arena is the caller's and not among them),
    `library_bytes` what it pulls in from the C library. `functions` = (name, bytes), largest first.
    """

    text_bytes: int
    constant_bytes: int
    data_bytes: int
    library_bytes: int
    functions: tuple[tuple[str, int], ...]


_SIZE_SCRIPT = """\
SECTIONS
{{
  . = 0x08000000;
  .glowmcu_text : {{ *.bundle.o(.text .text.*) }}
  .glowmcu_constants : {{ *.bundle.o(.rodata .rodata.*) }}
  .library : {{ *(.text .text.*) *(.rodata .rodata.*) }}
  . = 0x20000000;
  .glowmcu_data : {{ *.bundle.o(.data .data.* .bss .bss.* COMMON) }}
  .library_data : {{ *(.data .data.* .bss .bss.* COMMON) }}
}}
ENTRY({entry})
EXTERN({entries})
"""


def code_size(
    sources: Sequence[Path],
    include_dirs: Sequence[Path],
    core_flags: Sequence[str],
    entry: str,
    extra_flags: Sequence[str] = (),
    others: Sequence[str] = (),
) -> CodeSize:
    """Size of what `entry` (`kws_run`) and `others` reach in `sources`. Raises as `build_elf`."""
    with tempfile.TemporaryDirectory(prefix="glowmcu_size_") as scratch:
        folder = Path(scratch)
        script = folder / "size.ld"
        script.write_text(
            _SIZE_SCRIPT.format(entry=entry, entries=" ".join((entry, *others))), encoding="utf-8"
        )
        objects = [
            compile_object(
                source, include_dirs, core_flags, folder / f"{index}.bundle.o", extra_flags
            )
            for index, source in enumerate(sources)
        ]
        elf = build_elf(objects, (), core_flags, folder / "size.elf", script)
        return _read_sizes(elf)


def _read_sizes(elf: Path) -> CodeSize:
    sections = {}
    for line in _binutil("size", ["-A", str(elf)]).splitlines():
        fields = line.split()
        if len(fields) == 3 and fields[1].isdigit():
            sections[fields[0]] = int(fields[1])
    functions = []
    for line in _binutil("nm", ["-f", "sysv", str(elf)]).splitlines():
        fields = [field.strip() for field in line.split("|")]
        if len(fields) == 7 and fields[3] == "FUNC" and fields[6] == ".glowmcu_text":
            functions.append((fields[0], int(fields[4], 16)))
    return CodeSize(
        text_bytes=sections.get(".glowmcu_text", 0),
        constant_bytes=sections.get(".glowmcu_constants", 0),
        data_bytes=sections.get(".glowmcu_data", 0),
        library_bytes=sections.get(".library", 0),
        functions=tuple(sorted(functions, key=lambda item: (-item[1], item[0]))),
    )


def _binutil(tool: str, arguments: Sequence[str]) -> str:
    """Run `size` or `nm` as the compiler itself would find it."""
    program = run_gcc([f"-print-prog-name={tool}"], ()).strip()
    try:
        done = subprocess.run(
            [program, *arguments], capture_output=True, text=True, timeout=60, check=True
        )
    except (OSError, subprocess.SubprocessError) as cause:
        hint = "apt install binutils-arm-none-eabi"
        raise error("GM614", f"cannot run {program}: {cause}", hint=hint) from cause
    return done.stdout
