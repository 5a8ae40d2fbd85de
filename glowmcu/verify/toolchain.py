"""The cross compilers, Arm's and RISC-V's: find one, build an ELF, say how large a bundle is.

`-O2 -std=c99` with one section a function is the default for everything that is measured;
`extra_flags` come later on the command line and win. Which compiler it is follows from the core's
flags: `-march=rv…` is RISC-V's, and those of a package's core that brings a compiler are its own.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from glowmcu import installation
from glowmcu.cores import Core, foreign_core
from glowmcu.errors import GlowmcuError, error
from glowmcu.given_paths import as_argument
from glowmcu.lazy_dataclass import dataclass
from glowmcu.temporary_files import advice_on_room

GCC_VARIABLE = "GLOWMCU_ARM_GCC"
DEFAULT_GCC = "arm-none-eabi-gcc"
RISCV_VARIABLE = "GLOWMCU_RISCV_GCC"
RISCV_GCC = "riscv64-unknown-elf-gcc"
DEFAULT_FLAGS = ("-std=c99", "-O2", "-ffunction-sections", "-fdata-sections")
TIMEOUT_SECONDS = 300
_ERROR_LINES = 6


@dataclass(frozen=True)
class _Compiler:
    """A gcc: its name on PATH, the environment variable that replaces it, its packages."""

    title: str
    program: str
    variable: str
    tool: installation.Tool


_ARM = _Compiler(
    "Arm", DEFAULT_GCC, GCC_VARIABLE, installation.ARM_COMPILER
)  # fmt: skip
_RISCV = _Compiler(
    "RISC-V", RISCV_GCC, RISCV_VARIABLE, installation.RISCV_COMPILER
)  # fmt: skip


def _compiler(flags: Sequence[str]) -> _Compiler:
    core = foreign_core(flags)
    if core is not None:
        tool = installation.Tool("", elsewhere=f"install {core.compiler}")
        return _Compiler(core.name, core.compiler, f"GLOWMCU_{_variable(core.name)}_CC", tool)
    return _RISCV if any(flag.startswith("-march=rv") for flag in flags) else _ARM


def _variable(name: str) -> str:
    return re.sub(r"\W", "_", name).upper()


def find_gcc(core_flags: Sequence[str] = ()) -> Path | None:
    """The cross compiler for a core: `GLOWMCU_ARM_GCC` (`GLOWMCU_RISCV_GCC`) when set, else
    `arm-none-eabi-gcc` (`riscv64-unknown-elf-gcc`) on PATH.
    """
    compiler = _compiler(core_flags)
    found = shutil.which(os.environ.get(compiler.variable) or compiler.program)
    return Path(found) if found else None


def missing(core_flags: Sequence[str] = ()) -> str | None:
    """What to install before `build_elf` works here for a core, or None."""
    compiler = _compiler(core_flags)
    gcc = find_gcc(core_flags)
    if gcc is not None:
        if library_flags(gcc) is None:
            # Some distributions, and Homebrew's own formula, part the compiler from its library.
            return f"{gcc.name} has no C library (newlib or picolibc): {compiler.tool.advice}"
        refused = _refusal(gcc, tuple(flag for flag in core_flags if flag.startswith("-m")))
        if refused:
            return f"{gcc.name} does not serve this core ({refused}): a newer one may"
        return None
    wanted = os.environ.get(compiler.variable)
    if wanted:
        return f"{compiler.variable} names {wanted}, which is not a program that can be run"
    return (
        f"{compiler.program} is not on PATH: {compiler.tool.advice}, "
        f"or set {compiler.variable} to the compiler"
    )


def missing_for(core: Core) -> str | None:
    """What to install before code for `core` can be built, or None."""
    if core.is_foreign and not core.compiler:
        return f"the package that adds the core {core.name} names no compiler for it"
    return missing(core.flags)


def compiler_version(core_flags: Sequence[str] = ()) -> str:
    """The own words of a core's compiler, of Arm's without one, on one line. Raises GM610 when
    there is none.
    """
    return _version_of(find_gcc(core_flags), tuple(core_flags))


@cache
def _version_of(_gcc: Path | None, core_flags: tuple[str, ...]) -> str:
    return run_gcc([*core_flags, "--version"], ()).splitlines()[0]


@cache
def library_flags(gcc: Path) -> tuple[str, ...] | None:
    """What chooses the C library: nothing for the compiler's own, a specs file where picolibc is
    the only one (as Debian has it for RISC-V), None if there is none.
    """
    if _finds(gcc, "libc.a"):
        return ()
    specs = "picolibc.specs"
    return (f"--specs={specs}",) if _finds(gcc, specs) else None


def _finds(gcc: Path, file: str) -> bool:
    """Whether the compiler has a file of a library; asked for one that it has not, it says the bare
    name.
    """
    try:
        query = [str(gcc), f"-print-file-name={file}"]
        found = subprocess.run(
            query, capture_output=True, text=True, errors="replace", timeout=60, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return True  # what is wrong with it shows where it is used
    return found.stdout.strip() != file


@cache
def _refusal(gcc: Path, core_flags: tuple[str, ...]) -> str:
    """What the compiler objects to in the flags of a core, as one that is older than the core does;
    empty where it takes them.
    """
    try:
        done = subprocess.run(
            [str(gcc), "-E", *core_flags, "-x", "c", "-"], stdin=subprocess.DEVNULL,
            capture_output=True, text=True, errors="replace", timeout=60, check=False,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return ""  # what is wrong with it shows where it is used
    if done.returncode == 0:
        return ""
    return next(iter(_telling(done.stderr)), "it gives no reason")[:200]


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
    link_flags = _library_core_flags(core_flags)
    if link_flags == tuple(core_flags):
        return _linked(sources, include_dirs, core_flags, output, linker_script,
                       extra_flags, force_include)  # fmt: skip
    with tempfile.TemporaryDirectory(prefix="glowmcu_objects_") as scratch:
        objects = [
            source if source.suffix == ".o" else compile_object(
                source, include_dirs, core_flags, Path(scratch, f"{at}.o"),
                extra_flags, force_include,
            )
            for at, source in enumerate(sources)
        ]  # fmt: skip
        return _linked(objects, (), link_flags, output, linker_script, extra_flags)


def _library_core_flags(core_flags: Sequence[str]) -> tuple[str, ...]:
    """Those that a library was built for. Of RISC-V's extensions with long names there is none,
    and gcc 12 then takes one of 64 bits.
    """
    return tuple(
        flag.partition("_")[0] if flag.startswith("-march=rv") else flag for flag in core_flags
    )


def _linked(
    sources: Sequence[Path],
    include_dirs: Sequence[Path],
    core_flags: Sequence[str],
    output: Path,
    linker_script: Path,
    extra_flags: Sequence[str] = (),
    force_include: Sequence[Path] = (),
) -> Path:
    flags = compile_flags(include_dirs, core_flags, force_include)
    flags += ["-nostartfiles", "-Wl,--gc-sections", "-T", str(linker_script)]
    inputs = [as_argument(source) for source in sources]
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
    flags = compile_flags(include_dirs, core_flags, force_include)
    run_gcc([*flags, *extra_flags, "-c", as_argument(source), "-o", str(output)], [str(source)])
    return output


def compile_flags(
    include_dirs: Sequence[Path], core_flags: Sequence[str], force_include: Sequence[Path] = ()
) -> list[str]:
    """What a source is compiled with."""
    gcc = find_gcc(core_flags)
    library = (library_flags(gcc) if gcc is not None else None) or ()
    flags = [*core_flags, *library, *DEFAULT_FLAGS]
    for directory in include_dirs:
        flags += ["-I", str(directory)]
    for header in force_include:
        flags += ["-include", str(header)]
    return flags


def run_gcc(arguments: Sequence[str], inputs: Sequence[str]) -> str:
    """Run the cross compiler that `arguments` are for, and return what it printed; errors as in
    `build_elf`.
    """
    gcc = find_gcc(arguments)
    if gcc is None:
        title, hint = _compiler(arguments).title, missing(arguments) or ""
        raise error("GM610", f"there is no {title} cross compiler here", hint=hint)
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
        raise error("GM610", f"cannot start {gcc}: {cause.strerror}") from cause
    if done.returncode != 0:
        hint = advice_on_room(done.stderr) or missing(arguments) or ""
        raise _refused(gcc.name, done.stderr, where, hint)
    return done.stdout


def _refused(gcc: str, stderr: str, where: str, hint: str) -> GlowmcuError:
    """The compiler's first error lines; a linker's complaint is told apart by `ld returned`."""
    detail = "\n    ".join(_telling(stderr)[:_ERROR_LINES]) or "it gives no reason"
    if "ld returned" in stderr or "collect2" in stderr:
        return error("GM612", f"{gcc} could not link:\n    {detail}", where, hint)
    return error("GM611", f"{gcc} could not compile:\n    {detail}", where, hint)


def _telling(stderr: str) -> list[str]:
    lines = [line.strip() for line in stderr.splitlines() if line.strip()]
    return [line for line in lines if "error" in line or "undefined" in line] or lines


@dataclass(frozen=True)
class CodeSize:
    """Bytes that linking a bundle adds to a firmware that calls only `<name>_run`.

    `text_bytes` are the bundle's own functions (literal pools included), `constant_bytes` its
    constants, `data_bytes` its writable statics (the arena is the caller's and not among them),
    `library_bytes` what it pulls in from the C library. `functions` = (name, bytes), largest first.
    `placed_bytes` are those of the `text_bytes` that lie in each of the sections asked for.
    """

    text_bytes: int
    constant_bytes: int
    data_bytes: int
    library_bytes: int
    functions: tuple[tuple[str, int], ...]
    placed_bytes: tuple[int, ...] = ()


TEXT_SECTION, PLACED_SECTION = ".glowmcu_text", ".glowmcu_placed"
CONSTANTS_SECTION = ".glowmcu_constants"
_CODE = (TEXT_SECTION, PLACED_SECTION)
_SIZE_SCRIPT = """\
SECTIONS
{{
  . = 0x08000000;
  {text} : {{ *.bundle.o(.text .text.*) }}
{placed}  {constants} : {{ *.bundle.o(.rodata .rodata.* .glowmcu_weights_*) }}
  . += {far};
  .library : {{ *(.text .text.*) *(.rodata .rodata.*) }}
  . = 0x20000000;
  .glowmcu_data : {{ *.bundle.o(.data .data.* .bss .bss.* COMMON) }}
  .library_data : {{ *(.data .data.* .bss .bss.* COMMON) }}
}}
ENTRY({entry})
EXTERN({entries})
"""


def size_script(entries: Sequence[str], code_sections: Sequence[str], far_bytes: int = 0) -> str:
    """For the linker: what `entries` reach in `*.bundle.o`, and behind it, `far_bytes` farther, the
    C library.
    """
    placed = "".join(
        f"  {PLACED_SECTION}{index} : {{ *.bundle.o({section}) }}\n"
        for index, section in enumerate(code_sections)
    )
    return _SIZE_SCRIPT.format(
        entry=entries[0],
        entries=" ".join(entries),
        placed=placed,
        text=TEXT_SECTION,
        constants=CONSTANTS_SECTION,
        far=far_bytes,
    )


def code_size(
    sources: Sequence[Path],
    include_dirs: Sequence[Path],
    core_flags: Sequence[str],
    entry: str,
    extra_flags: Sequence[str] = (),
    others: Sequence[str] = (),
    code_sections: Sequence[str] = (),
) -> CodeSize:
    """Size of what `entry` (`kws_run`) and `others` reach in `sources`, whose code lies in the
    usual sections and in `code_sections`. Raises as `build_elf`.
    """
    with tempfile.TemporaryDirectory(prefix="glowmcu_size_") as scratch:
        folder = Path(scratch)
        script = folder / "size.ld"
        script.write_text(size_script((entry, *others), code_sections), encoding="utf-8")
        objects = [
            compile_object(
                source, include_dirs, core_flags, folder / f"{index}.bundle.o", extra_flags
            )
            for index, source in enumerate(sources)
        ]
        elf = build_elf(objects, (), core_flags, folder / "size.elf", script)
        return _read_sizes(elf, core_flags, len(code_sections))


def _read_sizes(elf: Path, core_flags: Sequence[str], placed_count: int) -> CodeSize:
    sections = {}
    for line in binutil("size", ["-A", str(elf)], core_flags).splitlines():
        fields = line.split()
        if len(fields) == 3 and fields[1].isdigit():
            sections[fields[0]] = int(fields[1])
    functions = []
    for line in binutil("nm", ["-f", "sysv", str(elf)], core_flags).splitlines():
        fields = [field.strip() for field in line.split("|")]
        if len(fields) == 7 and fields[3] == "FUNC" and fields[6].startswith(_CODE):
            functions.append((fields[0], int(fields[4], 16)))
    placed = tuple(sections.get(f"{PLACED_SECTION}{index}", 0) for index in range(placed_count))
    return CodeSize(
        text_bytes=sections.get(TEXT_SECTION, 0) + sum(placed),
        constant_bytes=sections.get(CONSTANTS_SECTION, 0),
        data_bytes=sections.get(".glowmcu_data", 0),
        library_bytes=sections.get(".library", 0),
        functions=tuple(sorted(functions, key=lambda item: (-item[1], item[0]))),
        placed_bytes=placed,
    )


def binutil(tool: str, arguments: Sequence[str], core_flags: Sequence[str]) -> str:
    """What `size`, `nm` or `objdump` print, run as the compiler itself would find it."""
    program = run_gcc([*core_flags, f"-print-prog-name={tool}"], ()).strip()
    try:
        done = subprocess.run(
            [program, *arguments],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=60,
            check=True,
        )
    except (OSError, subprocess.SubprocessError) as cause:
        hint = f"it comes with the compiler: {_compiler(core_flags).tool.advice}"
        raise error("GM614", f"cannot run {program}: {cause}", hint=hint) from cause
    return done.stdout
