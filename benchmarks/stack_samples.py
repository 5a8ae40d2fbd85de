"""Bundles of single layers by a variant, and programs linked so that their stack can be told."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from benchmarks.stack_walk import StackWalk, walk
from glowmcu.cores import core
from glowmcu.emit_c.bundle_facts import BundleFacts
from glowmcu.emit_c.bundle_files import bundle_files
from glowmcu.ir.program import ARENA_ALIGN, aligned
from glowmcu.kernels.kernel import Target
from glowmcu.kernels.selection.choices import KernelChoices
from glowmcu.kernels.selection.select import select_kernels
from glowmcu.lowering.passes import lower
from glowmcu.memplan.build_program import build_program
from glowmcu.pipeline import reference_graph
from glowmcu.verify import toolchain

_SCRIPT = """\
SECTIONS
{{
  . = 0x10000;
  .text : {{ *(.text .text.*) }}
  .rodata : {{ *(.rodata .rodata.*) }}
  . = 0x20000000;
  .data : {{ *(.data .data.*) }}
  .bss : {{ *(.bss .bss.* COMMON) }}
}}
ENTRY({entry})
EXTERN({others})
"""


@dataclass(frozen=True)
class Sample:
    """Layers of a model, each a step of its own."""

    files: Mapping[str, str]


def sample(data: bytes, core_name: str, variant: str) -> Sample:
    """The model's layers for the core, with `variant` wherever that accepts one. Memory is not
    planned: every buffer has its own.
    """
    graph = lower(reference_graph(data, "m.tflite"), simplified=False)
    choices = KernelChoices(forced_variant=variant) if variant else None
    selections = select_kernels(graph, Target(core(core_name)), choices)
    program = build_program(graph, selections)
    offsets, end = {}, 0
    for buffer in program.lives:
        offsets[buffer] = end
        end += aligned(buffer.size_bytes, ARENA_ALIGN)
    facts = BundleFacts(
        name="m", tool_version="", model_file="m.tflite", model_sha256="", board="generic",
        options={}, arena_bytes=max(end, ARENA_ALIGN), arena_lower_bound_bytes=0,
        arena_align=ARENA_ALIGN, rounding=graph.rounding.in_c,
        exact_outputs=(True,) * len(program.outputs),
        rounded_outputs=(False,) * len(program.outputs),
    )  # fmt: skip
    files, _ = bundle_files(program.with_offsets(offsets), selections, facts)
    return Sample(files)


def linked(
    sources: list[Path], folder: Path, core_name: str, entries: tuple[str, ...],
    flags: tuple[str, ...] = (),
) -> StackWalk:  # fmt: skip
    """The program that `entries` reach in `sources`."""
    script = folder / "walk.ld"
    script.write_text(_SCRIPT.format(entry=entries[0], others=" ".join(entries)))
    elf = toolchain.build_elf(
        sources, [folder], core(core_name).flags, folder / "walk.elf", script,
        ("-Wl,--emit-relocs", *flags),
    )  # fmt: skip
    return walk(elf, core(core_name).flags)
