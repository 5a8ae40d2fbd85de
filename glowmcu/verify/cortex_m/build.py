"""Compile a bundle for the modelled core: as it ships, and once more with step markers.

A marker is an assembler label and no instruction, but gcc does not schedule code across it, so
the marked program can differ from the shipped one. Both are built; whoever measures takes totals
from `shipped` and the split into steps from `marked`.
"""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from glowmcu.cores import Core
from glowmcu.lazy_dataclass import dataclass
from glowmcu.manifest import Manifest
from glowmcu.verify import toolchain
from glowmcu.verify.cortex_m.elf import Program, read_program
from glowmcu.verify.cortex_m.machine import CODE_BASE, DATA_BASE, PLACED_BASE, PLACED_STEP

MARKERS = """\
#define GLOWMCU_STEP(i) __asm__ volatile("glowmcu_step_" #i "_%=:" : :)
"""

_SCRIPT = f"""\
SECTIONS
{{{{
  . = {CODE_BASE:#x};
  .text : {{{{ *(.text .text.*) }}}}
  .rodata : {{{{ *(.rodata .rodata.*) }}}}
{{placed}}  . = {DATA_BASE:#x};
  .data : {{{{ *(.data .data.*) }}}}
  .bss : {{{{ *(.bss .bss.* COMMON) }}}}
}}}}
ENTRY({{entry}})
EXTERN({{others}})
"""


@dataclass(frozen=True)
class Build:
    """A bundle's program as shipped and with markers; one object if they are the same code.

    `regions` are the addresses (first, end) of what was placed in one, by its name.
    """

    shipped: Program
    marked: Program
    regions: Mapping[str, tuple[int, int]]

    @property
    def is_same(self) -> bool:
        """Whether the markers left the code alone."""
        return self.shipped is self.marked


#: Bundles whose programs are kept, by digest, the one that was asked for last at the end.
_KEPT = 2
_builds: dict[str, Build] = {}


def build_bundle(
    bundle_dir: Path,
    manifest: Manifest,
    core: Core,
    debug_lines: bool = False,
    with_markers: bool = True,
    also: Sequence[str] = (),
) -> Build:
    """Compile and link the bundle, which `debug_lines` does not change, `with_markers` for its
    steps or only as it is shipped, `also` with these functions beside those that an inference
    calls. Programs of the last bundles are kept: one is often run for input after input. Raises
    GM61x as `toolchain.build_elf` does.
    """
    asked = (
        toolchain.find_gcc(core.flags),
        core.name,
        core.flags,
        debug_lines,
        with_markers,
        tuple(also),
    )
    key = _digest(
        repr((*asked, manifest.functions, manifest.placement)),
        [bundle_dir / name for name in (*manifest.sources, *manifest.headers)],
    )
    build = _builds.pop(key, None)
    if build is None:
        build = _built(bundle_dir, manifest, core, debug_lines, with_markers, also)
    _builds[key] = build
    while len(_builds) > _KEPT:
        del _builds[next(iter(_builds))]
    return build


def _digest(asked: str, files: Sequence[Path]) -> str:
    """Of what is asked and of what is in the files; the compiler says which one is missing."""
    digest = hashlib.sha256(asked.encode())
    for path in files:
        text = path.read_bytes() if path.is_file() else b""
        digest.update(f"{path.name} {len(text)} ".encode() + text)
    return digest.hexdigest()


def _built(
    bundle_dir: Path,
    manifest: Manifest,
    core: Core,
    debug_lines: bool,
    with_markers: bool,
    also: Sequence[str],
) -> Build:
    debug = ("-g1",) if debug_lines else ()
    entry, others = manifest.entry_points[-1], " ".join((*manifest.functions, *also))
    with tempfile.TemporaryDirectory(prefix="glowmcu_cortex_m_") as scratch:
        folder = Path(scratch)
        script, header = folder / "bundle.ld", folder / "markers.h"
        regions = _regions(manifest)
        placed = _placed_sections(manifest, regions)
        text = _SCRIPT.format(entry=entry, others=others, placed=placed)
        script.write_text(text, encoding="utf-8")
        header.write_text(MARKERS, encoding="utf-8")
        # The struct that describes the model as data is of no use to an inference.
        sources = [
            bundle_dir / name for name in manifest.sources if name != f"{manifest.name}_model.c"
        ]
        if not with_markers:
            only = toolchain.build_elf(
                sources, [bundle_dir], core.flags, folder / "shipped.elf", script, debug
            )
            program = read_program(only)
            return Build(program, program, regions)
        plain, marked = [], []
        for index, source in enumerate(sources):
            plain.append(
                toolchain.compile_object(
                    source, [bundle_dir], core.flags, folder / f"{index}.o", debug
                )
            )
            marked.append(plain[-1])
            if _has_steps(source):
                marked[-1] = toolchain.compile_object(
                    source, [bundle_dir], core.flags, folder / f"{index}m.o", debug, [header]
                )
        programs = [
            read_program(
                toolchain.build_elf(objects, (), core.flags, folder / f"{kind}.elf", script)
            )
            for kind, objects in (("shipped", plain), ("marked", marked))
        ]
    shipped, with_steps = programs[0], programs[-1]
    same = shipped.same_code(with_steps)
    return Build(with_steps if same else shipped, with_steps, regions)


def _regions(manifest: Manifest) -> dict[str, tuple[int, int]]:
    """Each region of placed code and weights far from the others, as on the chip."""
    names = dict.fromkeys(
        entry.region for entry in manifest.placement if entry.section and entry.what != "arena"
    )
    starts = ((name, PLACED_BASE + index * PLACED_STEP) for index, name in enumerate(names))
    return {name: (start, start + PLACED_STEP) for name, start in starts}


def _placed_sections(manifest: Manifest, regions: Mapping[str, tuple[int, int]]) -> str:
    lines = []
    for index, (region, (start, _)) in enumerate(regions.items()):
        sections = " ".join(
            entry.section
            for entry in manifest.placement
            if entry.region == region and entry.section and entry.what != "arena"
        )
        lines.append(f"  . = {start:#x};\n  .placed{index} : {{ *({sections}) }}\n")
    return "".join(lines)


def _has_steps(source: Path) -> bool:
    return b"GLOWMCU_STEP" in source.read_bytes()
