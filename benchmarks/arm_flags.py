"""Bundles under the flags that firmware is compiled with: the self test on emulated cores.

    python -m benchmarks.arm_flags [--core CORE] [--bundles N] [--first SEED] [--flags NAME]

Most flags are for the bundle's files alone; what they call (canaries, counters) spoils every
register that a C function may.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.random_bundles import random_bundle
from glowmcu.board import find_board
from glowmcu.cores import Core, core
from glowmcu.errors import GlowmcuError, error
from glowmcu.manifest import read_manifest
from glowmcu.verify.firmware import SEMIHOSTING
from glowmcu.verify.firmware.build import write_firmware
from glowmcu.verify.firmware.image import image_fit
from glowmcu.verify.firmware.view import firmware_view
from glowmcu.verify.toolchain import run_gcc
from tests.support.check_model import write_bundle

#: A machine of QEMU's for each core; the micro:bit has a Cortex-M0, whose code a Cortex-M0+ runs.
MACHINES = {
    "cortex-m0plus": "microbit",
    "cortex-m3": "mps2-an385",
    "cortex-m4": "mps2-an386",
    "cortex-m7": "mps2-an500",
    "cortex-m33": "mps2-an505",
    "cortex-m55": "mps3-an547",
}
DOES_NOT_FIT = "does not fit the machine"
#: The usual script gives the stack what is left, but counters need RAM, too.
_STACK_BYTES = 4096
_BASE = ("-std=c99", "-O2", "-ffunction-sections", "-fdata-sections")
_ALL = tuple(MACHINES)
_MAINLINE = _ALL[1:]


@dataclass(frozen=True)
class Flags:
    """What a firmware's build adds to a bundle's files and, with `whole`, to its own; `traps`: it
    also sets CCR.UNALIGN_TRP before the run. `clang` compiles the bundle's files.
    """

    flags: tuple[str, ...]
    cores: tuple[str, ...] = _ALL
    traps: bool = False
    whole: bool = False
    clang: bool = False


def _flags(
    *flags: str, cores: tuple[str, ...] = _ALL, traps: bool = False, whole: bool = False,
    clang: bool = False,
) -> Flags:  # fmt: skip
    return Flags(flags, cores, traps, whole, clang)


#: What comes before a function or counts its calls. Without -mtpcs-frame, with which gcc 12 makes
#: wrong code of plain C for Armv6-M, too.
PROLOGUES: Mapping[str, Flags] = {
    "canaries in all": _flags("-fstack-protector-all"),
    "strong canaries": _flags("-fstack-protector-strong"),
    "calls": _flags("-finstrument-functions"),
    "arcs": _flags("-fprofile-arcs", "-ftest-coverage"),
    "coverage": _flags("--coverage", "-fprofile-abs-path", "-fprofile-update=single"),
    "gprof": _flags("-pg"),
    "traced": _flags("-fsanitize-coverage=trace-pc"),
    "undefined": _flags("-fsanitize=undefined", "-fsanitize-undefined-trap-on-error"),
    "stack clash": _flags("-fstack-clash-protection", cores=_MAINLINE),
    # It looks kilobytes below the stack, where a small core has no memory.
    "stack check": _flags("-fstack-check", cores=_MAINLINE),
    "patchable": _flags("-fpatchable-function-entry=4,2"),
    "frame pointer": _flags("-fno-omit-frame-pointer"),
    "unwound": _flags("-fexceptions", "-fasynchronous-unwind-tables"),
    "cleared registers": _flags("-fzero-call-used-regs=all-gpr"),
    "all at once, -O0": _flags(
        "-O0", "-fstack-protector-all", "-finstrument-functions", "-fprofile-arcs", "-pg"
    ),
}
OPTIMIZATIONS: Mapping[str, Flags] = {
    **{level: _flags(level) for level in ("-O0", "-O1", "-Og", "-O3", "-Os", "-Oz", "-Ofast")},
    "link time": _flags("-flto", "-O3"),
    "no inlining": _flags("-fno-inline", "-fno-ipa-cp"),
    "wrapping": _flags("-fwrapv"),
    "trapping": _flags("-ftrapv"),
    "filled locals": _flags("-ftrivial-auto-var-init=pattern"),
    "aliasing": _flags("-O3", "-fstrict-aliasing", "-Wstrict-aliasing=1"),
}
DIALECTS: Mapping[str, Flags] = {
    "unsigned char": _flags("-funsigned-char"),
    "signed char": _flags("-fsigned-char"),
    "short types": _flags("-fshort-enums", "-fshort-wchar"),
    "wide enums": _flags("-fno-short-enums"),
    "gnu17": _flags("-std=gnu17"),
    "c11": _flags("-std=c11"),
    **{f"c++{year}": _flags("-x", "c++", f"-std=c++{year}") for year in (11, 14, 17, 20)},
    "long calls": _flags("-mlong-calls"),
    "pure code": _flags("-mpure-code", cores=("cortex-m3", "cortex-m4", "cortex-m7", "cortex-m33")),
    "secure": _flags("-mcmse", cores=("cortex-m33", "cortex-m55")),
    "portable": _flags("-DGLOWMCU_PORTABLE"),
    "fixed r9": _flags("-ffixed-r9", "-DGLOWMCU_PORTABLE"),
    "position independent": _flags("-fpie", "-mpic-data-is-text-relative"),
    "table of addresses": _flags("-fPIC"),
    "aligned loads": _flags("-mno-unaligned-access", cores=_MAINLINE, traps=True),
}
#: As LLVM's compilers for Arm have them; clang warns of other things than gcc.
_CLANG_WARNS = ("-Wpedantic", "-Wconversion", "-Wshadow", "-Wundef", "-Wcomma", "-Wcast-align")
CLANG: Mapping[str, Flags] = {
    f"clang {level}": _flags(level, *_CLANG_WARNS, clang=True)
    for level in ("-O0", "-O1", "-O2", "-O3", "-Os", "-Oz")
}
#: Signed return addresses and marked targets of calls (PACBTI), instructions that older cores, and
#: QEMU, pass over.
PROTECTED: Mapping[str, Flags] = {
    "clang, protected branches": _flags(
        "-mbranch-protection=standard", *_CLANG_WARNS, cores=_MAINLINE, clang=True
    ),
}
#: Many in few builds.
_COUNTED = ("-fprofile-arcs", "-pg", "-fsanitize-coverage=trace-pc", "-fpatchable-function-entry=2")
TOGETHER: Mapping[str, Flags] = {
    "guarded": _flags("-fstack-protector-all", "-finstrument-functions"),
    "guarded at -O0": _flags("-O0", "-fstack-protector-all", "-fno-omit-frame-pointer"),
    "counted": _flags("-Og", *_COUNTED),
    "link time": _flags("-flto", "-O3", "-fstack-protector-strong"),
    "portable": _flags("-Os", "-ffixed-r9", "-DGLOWMCU_PORTABLE", "-funsigned-char"),
    "aligned loads": _flags("-mno-unaligned-access", cores=_MAINLINE, traps=True),
    "table of addresses": _flags("-fPIC", whole=True),
}
EVERY: Mapping[str, Flags] = {**PROLOGUES, **OPTIMIZATIONS, **DIALECTS, **CLANG, **PROTECTED}

_MAIN = """#include "{name}_selftest.h"
#include "port.h"
#include "text.h"

static {prefix}_ARENA(arena);
{outside}
void systick_handler(void);
void systick_handler(void)
{{
}}

int main(void)
{{
    if ({traps}) {{
        *(volatile uint32_t *)0xE000ED14u |= 1u << 3;
        __asm volatile("dsb\\n isb" ::: "memory");
    }}
    text_number("wrong bytes: ", (uint32_t){name}_selftest({arguments}));
    port_print("\\n");
    port_exit(0);
}}
"""
#: They spoil what the procedure call standard lets them spoil; -pg's calls keep all but r12.
_HOOKS = """    .syntax unified
    .thumb
    .macro hook name
    .global \\name
    .type \\name, %function
    .thumb_func
\\name:
    movs r0, #0xAA
    lsls r0, r0, #8
    movs r1, r0
    movs r2, r0
    movs r3, r0
    mov r12, r0
    bx lr
    .endm
    .text
    hook __cyg_profile_func_enter
    hook __cyg_profile_func_exit
    hook __gcov_init
    hook __gcov_exit
    hook __gcov_merge_add
    hook __sanitizer_cov_trace_pc
    hook __aeabi_unwind_cpp_pr0
    hook __aeabi_unwind_cpp_pr1
    .global __gnu_mcount_nc
    .type __gnu_mcount_nc, %function
    .thumb_func
__gnu_mcount_nc:
    mov r12, lr
    push {r0}
    ldr r0, [sp, #4]
    mov lr, r0
    pop {r0}
    add sp, #4
    bx r12
    .global __stack_chk_fail
    .type __stack_chk_fail, %function
    .thumb_func
__stack_chk_fail:
    udf #0
    .data
    .global __stack_chk_guard
__stack_chk_guard:
    .word 0x5AFEC0DE
"""
#: newlib's for Armv7-M load halfwords from odd addresses.
_BYTEWISE = """#include <stddef.h>
void *memcpy(void *to, const void *from, size_t bytes);
void *memmove(void *to, const void *from, size_t bytes);
void *memset(void *to, int value, size_t bytes);
void *memcpy(void *to, const void *from, size_t bytes)
{
    for (size_t i = 0; i < bytes; ++i) {
        ((volatile char *)to)[i] = ((const char *)from)[i];
    }
    return to;
}
void *memmove(void *to, const void *from, size_t bytes)
{
    if ((const char *)to <= (const char *)from) {
        return memcpy(to, from, bytes);
    }
    while (bytes-- > 0) {
        ((volatile char *)to)[bytes] = ((const char *)from)[bytes];
    }
    return to;
}
void *memset(void *to, int value, size_t bytes)
{
    for (size_t i = 0; i < bytes; ++i) {
        ((volatile char *)to)[i] = (char)value;
    }
    return to;
}
"""


def failure(bundle: Path, core_name: str, flags: Flags, folder: Path) -> str:
    """What went wrong with the bundle's self test under these flags, nothing where it passes."""
    try:
        elf = _built(bundle, core(core_name), flags, folder)
    except GlowmcuError as cause:
        return DOES_NOT_FIT if DOES_NOT_FIT in str(cause) else str(cause)
    command = [
        *("qemu-system-arm", "-machine", MACHINES[core_name], "-kernel", str(elf)),
        *("-semihosting-config", "enable=on,target=native", "-display", "none"),
        *("-monitor", "none", "-serial", "none", "-no-reboot"),
    ]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=120, check=False, cwd=folder
        )
    except subprocess.TimeoutExpired:
        return "hangs"
    said = (done.stdout + done.stderr).strip()
    return "" if said == "wrong bytes: 0" else said or f"QEMU ended with {done.returncode}"


def _built(bundle: Path, target: Core, flags: Flags, folder: Path) -> Path:
    manifest = read_manifest(bundle)
    name, board = manifest.name, find_board(MACHINES[target.name])
    view = firmware_view(manifest, board, target)
    firmware = [
        path
        for path in write_firmware(view, SEMIHOSTING, folder)
        if path.name in ("startup.c", "text.c", "port_semihosting.c")
    ]
    outside, arguments = "", ["arena"]
    for entry in manifest.external:
        symbol = f"input_{entry.symbol}".strip("_")
        macro = f"{name}_{symbol}".upper()
        outside += f"static GLOWMCU_ALIGNED({macro}_ALIGN) uint8_t {symbol}[{macro}_BYTES];\n"
        arguments.append(f"(void *){symbol}")
    main = _MAIN.format(
        name=name, prefix=name.upper(), outside=outside, arguments=", ".join(arguments),
        traps=int(flags.traps),
    )  # fmt: skip
    (folder / "main.c").write_text(main, encoding="utf-8")
    (folder / "hooks.s").write_text(_HOOKS, encoding="utf-8")
    script = folder / "link.ld"
    script.write_text(re.sub(r"\. \+= \d+;", f". += {_STACK_BYTES};", script.read_text()))
    paths = [bundle / source for source in manifest.sources if source.endswith(".c")]
    paths.append(bundle / "selftest" / f"{name}_selftest.c")
    include = ["-I", str(bundle), "-I", str(bundle / "selftest"), "-I", str(folder)]
    objects = []
    is_cpp = "c++" in flags.flags
    for path in paths:
        made = folder / f"{path.stem}.o"
        base = [flag for flag in _BASE if not (is_cpp and flag.startswith("-std="))]
        command = [*target.flags, *base, "-Wall", "-Wextra", "-Werror", *flags.flags, *include]
        compiler = run_clang if flags.clang else run_gcc
        compiler([*command, "-c", str(path), "-o", str(made)], [path.name])
        objects.append(str(made))
    elf = folder / "net.elf"
    link = [
        "-nostartfiles",
        *_system(),
        "-Wl,--gc-sections",
        "-Wl,-n",
        "-T",
        str(folder / "link.ld"),
    ]
    lasting = [flag for flag in flags.flags if flag in ("-flto", "-O3")]
    (folder / "bytewise.c").write_text(_BYTEWISE if flags.traps else "", encoding="utf-8")
    own = [*target.flags, *_BASE, *(flags.flags if flags.whole else ()), *include]
    for path in (*firmware, folder / "main.c", folder / "bytewise.c", folder / "hooks.s"):
        made = folder / f"{path.stem}.o"
        run_gcc([*own, "-c", str(path), "-o", str(made)], [path.name])
        objects.append(str(made))
    run_gcc([*target.flags, *lasting, *link, *objects, "-o", str(elf)], ["net"])
    if not image_fit(elf, board).fits:
        raise error("GM401", DOES_NOT_FIT)
    return elf


def run_clang(arguments: Sequence[str], inputs: Sequence[str]) -> None:
    """As `run_gcc`, with the headers of gcc's C library. Raises GM611 for what clang says."""
    headers = run_gcc(["-M", "-xc", "-include", "string.h", "/dev/null"], ()).split()
    library = next(Path(path).parent for path in headers if path.endswith("/string.h"))
    known = [flag for flag in arguments if flag != "-mfpu=auto"]
    command = ["clang", "--target=arm-none-eabi", "-isystem", str(library), *known]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    if done.returncode != 0:
        raise error("GM611", done.stderr[:1500], ", ".join(inputs))


def _system() -> list[str]:
    """What newlib asks of a system, as functions that fail; other libraries ask nothing."""
    specs = "nosys.specs"
    found = run_gcc([f"-print-file-name={specs}"], ()).strip()
    return [] if found == specs else [f"--specs={specs}"]


def failures(bundle: Path, core_name: str, chosen: Mapping[str, Flags]) -> Iterator[str]:
    """One text for each of the flags that fail."""
    for name, flags in chosen.items():
        if core_name in flags.cores:
            with tempfile.TemporaryDirectory() as folder:
                said = failure(bundle, core_name, flags, Path(folder))
            if said:
                yield f"{core_name}, {name}: {said[:1500]}"


def main() -> None:
    """Random bundles for each core under all flags."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.arm_flags")
    parser.add_argument("--core", choices=MACHINES, action="append")
    parser.add_argument("--bundles", type=int, default=3)
    parser.add_argument("--first", type=int, default=0, metavar="SEED")
    parser.add_argument("--flags", choices=EVERY, action="append")
    parser.add_argument("--bundle", type=Path, action="append", help="folders, instead of random")
    given = parser.parse_args()
    chosen = {name: EVERY[name] for name in given.flags or EVERY}
    wrong = 0
    for core_name in given.core or MACHINES:
        for text in _of_core(core_name, chosen, given):
            wrong += not text.endswith(DOES_NOT_FIT)
            print(text, flush=True)
        print(f"{core_name}: done", flush=True)
    raise SystemExit(1 if wrong else 0)


def _of_core(
    core_name: str, chosen: Mapping[str, Flags], given: argparse.Namespace
) -> Iterator[str]:
    folders: Sequence[Path] = given.bundle or ()
    for folder in folders:
        yield from (f"{folder}: {text}" for text in failures(folder, core_name, chosen))
    if folders:
        return
    for seed in range(given.first, given.first + given.bundles):
        drawn = random_bundle(seed, core_name)
        with tempfile.TemporaryDirectory() as work:
            bundle = write_bundle(drawn.compilation, Path(work) / "net")
            yield from (f"{drawn.text}: {text}" for text in failures(bundle, core_name, chosen))


if __name__ == "__main__":
    main()
