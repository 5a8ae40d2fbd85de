"""The firmware of `fault_board.py` for one bundle: its linker script, `case.h`, the program."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from benchmarks.fault_cases import Calls, calls_of, functions_of, sample_count
from benchmarks.fault_machine import constant_places
from glowmcu.cores import core
from glowmcu.manifest import Manifest
from glowmcu.verify import toolchain
from glowmcu.verify.cortex_m.elf import Constant, Program, Segment, read_program

ARENA_BASE, STACK_TOP, STACK_BYTES = 0x31080000, 0x31380000, 64 * 1024
_CODE_BASE, _FIRMWARE_BASE = 0x11000000, 0x70000000
#: Rows that are pushed, and behind them inputs outside the arena, which nobody writes.
_SHOWN_BASE, _OUTSIDE_BASE = 0x31200000, 0x31280000
_SOURCES = Path(__file__).parent / "fault_firmware"
#: No calls of memset, which may be part of the bundle's code, and no vectors in handlers.
_FLAGS = ("-std=gnu99", "-ffreestanding", "-fno-tree-loop-distribute-patterns",
          "-fno-tree-vectorize", "-Wall", "-Wextra", "-Werror")  # fmt: skip

_SCRIPT = """\
ENTRY(controller)
EXTERN({functions})
SECTIONS
{{
  . = 0;
  .vectors : {{ KEEP(*.firmware.o(.vectors)) }}
  . = {firmware:#x};
  .text : {{ firmware_begin = .; *.firmware.o(.text .text.* .rodata .rodata.*) }}
  .bss (NOLOAD) : {{ *.firmware.o(.data .data.* .bss .bss.*) . = ALIGN(32); . += 4096;
    main_stack_top = .; firmware_end = .; }}
  . = {code:#x};
  .bundle : {{ code_begin = .; KEEP(*.firmware.o(.driver)) . = ALIGN(32); bundle_begin = .;
    *(.text .text.*) *(.rodata .rodata.*) . = ALIGN(32); code_end = .; }}
  .variables : {{ *(.data .data.* .bss .bss.* COMMON) }}
}}
ASSERT(SIZEOF(.variables) == 0, "bundles have no variables")
arena = {arena:#x};
stack_top = {stack:#x};
"""

_CASE = """\
#include "{name}.h"

#define ARENA_BYTES {arena_bytes}u
#define INPUT_BYTES {input_bytes}u
#define OUTPUT_BYTES {output_bytes}u
#define INPUT_COUNT {input_count}u
#define OUTPUT_COUNT {output_count}u

static unsigned char inputs[INPUT_BYTES];
static const struct {{
    unsigned char *to;
    uint32_t bytes;
}} places[] = {{{places}}};
static const struct {{
    uint32_t at;
    uint32_t bytes;
}} results[] = {{{results}}};

DRIVER static void drive(void)
{{
    int32_t status = 0;
    uint32_t turn;
{first}    for (turn = 0; turn < {most}u; turn++) {{
        status = {again};
        if (status <= 0) {{
            break;
        }}
    }}
    finish(status);
}}

DRIVER static void drive_check(void)
{{
    finish({name}_check());
}}
"""


def build_board_program(
    bundle: Path, manifest: Manifest, core_name: str, folder: Path
) -> tuple[Path, Program]:
    """The ELF file in `folder`, and what is in it."""
    folder.mkdir(exist_ok=True)
    (folder / "case.h").write_text(case_header(manifest), encoding="utf-8")
    flags, objects = core(core_name).flags, []
    for source in sorted(_SOURCES.glob("*.c")):
        output = folder / f"{source.stem}.firmware.o"
        found = [bundle, folder, _SOURCES]
        objects.append(toolchain.compile_object(source, found, flags, output, _FLAGS))
    for index, name in enumerate(manifest.sources):
        output = folder / f"{index}.o"
        objects.append(toolchain.compile_object(bundle / name, [bundle], flags, output))
    script = folder / "link.ld"
    functions = " ".join((*manifest.functions, *functions_of(manifest)))
    text = _SCRIPT.format(
        functions=functions, code=_CODE_BASE, firmware=_FIRMWARE_BASE, arena=ARENA_BASE,
        stack=STACK_TOP,
    )  # fmt: skip
    script.write_text(text, encoding="utf-8")
    elf = toolchain.build_elf(objects, (), flags, folder / "firmware.elf", script)
    return elf, read_program(elf)


def bundle_segments(program: Program) -> list[Segment]:
    """What is loaded of the bundle, and of the firmware what calls it."""
    return [segment for segment in program.segments if segment.address == _CODE_BASE]


def bundle_places(program: Program) -> dict[str, list[Constant]]:
    """What of a bundle may hold a flipped bit, by kind; nothing of the firmware."""
    (segment,) = bundle_segments(program)
    end = segment.address + segment.size_bytes
    first = max(f.address + f.size_bytes for f in program.functions if f.name in _OF_DRIVER)
    return constant_places(
        [item for item in program.constants if first <= item.address < end],
        [item for item in program.functions if first <= item.address < end],
    )


_OF_DRIVER = ("drive", "drive_check", "launch", "finish", "jump")


def case_header(manifest: Manifest) -> str:
    """`case.h`: sizes, where inputs and outputs lie, and the calls of an inference."""
    outside, end = [], _OUTSIDE_BASE
    for entry in manifest.external:
        outside.append(end)
        end += -(-entry.bytes // 16) * 16
    calls = calls_of(manifest, ARENA_BASE, outside, _SHOWN_BASE)
    free = iter(outside)
    places = [
        (next(free) if e.external else _SHOWN_BASE if e.rows else ARENA_BASE + e.start, e.bytes)
        for e in manifest.inputs
    ]
    if manifest.pipeline is not None:
        samples = sample_count(manifest) * manifest.pipeline.sample_elements
        item = np.dtype(manifest.inputs[0].dtype).itemsize
        places = [(_SHOWN_BASE, samples * item)]
    first = [f"{name}({', '.join(map(_argument, given))})" for name, given in calls.first]
    return _CASE.format(
        name=manifest.name,
        arena_bytes=manifest.arena_bytes,
        input_bytes=sum(size for _, size in places),
        output_bytes=sum(entry.bytes for entry in manifest.outputs),
        input_count=len(places),
        output_count=len(manifest.outputs),
        places=", ".join(f"{{(unsigned char *){at:#x}u, {size}u}}" for at, size in places),
        results=", ".join(f"{{{entry.start}u, {entry.bytes}u}}" for entry in manifest.outputs),
        first="".join(f"    (void){call};\n" for call in first),
        most=calls.most,
        again=f"{calls.again}({', '.join(_arguments(calls))})",
    )


def _arguments(calls: Calls) -> list[str]:
    """In C, those that grow by the turn."""
    return [
        _argument(given)
        if isinstance(given, int)
        else f"(void *)({given[0]:#x}u + {given[1]}u * turn)"
        for given in calls.arguments
    ]


def _argument(value: int) -> str:
    """An address or a count."""
    return f"(void *){value:#x}u" if value >= ARENA_BASE else str(value)
