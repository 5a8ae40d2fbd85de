"""A bundle in which every byte that holds nothing any more is destroyed before each step.

The hook stands at `GLOWMCU_STEP`: it fills dead bytes with garbage; MemorySanitizer also takes
them for never written, so that a branch or an output that depends on one is an error.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from glowmcu.ir.program import Cascade, Program, Step
from glowmcu.manifest import read_manifest
from glowmcu.verify.host_library import STRICT_FLAGS
from tests.support.generic_runner import (
    SANITIZERS,
    GenericRunner,
    libjit_folder,
    model_arrays,
    optimization,
)

MEMORY_SANITIZER = ("-fsanitize=memory", "-fno-sanitize-recover=all", "-g1")
_RUNNER = Path(__file__).with_name("generic_runner.c")
_HOOK = """\
#include <stddef.h>
#include <string.h>

#if DEAD_BYTES_UNDEFINED
void __msan_poison(const volatile void *start, size_t size);
#endif

static inline void dead_bytes(void *arena, int layer)
{{
    static const int step_of[] = {{ {steps} }};
    static const int first_of[] = {{ {firsts} }};
    static const int spans[][3] = {{ {spans} }};
    static int current = -1;

    if (step_of[layer] == current) {{
        return; /* the next row of a cascade */
    }}
    current = step_of[layer];
    for (int i = first_of[current]; i < first_of[current + 1]; ++i) {{
        unsigned char *const start = (unsigned char *)arena + spans[i][0];
        const size_t size = (size_t)(spans[i][1] - spans[i][0]);

        memset(start, 0x5A, size);
#if DEAD_BYTES_UNDEFINED
        if (spans[i][2]) {{
            __msan_poison(start, size);
        }}
#endif
    }}
}}
#define GLOWMCU_STEP(index) dead_bytes(a, index)
"""


def dead_spans(program: Program, step: int, arena_bytes: int) -> list[tuple[int, int]]:
    """Bytes of the arena that hold nothing when a step begins, as (first, end)."""
    alive = sorted(
        (program.offsets[buffer], program.offsets[buffer] + buffer.size_bytes)
        for buffer, life in program.lives.items()
        if life.first < step <= life.last
    )
    spans, place = [], 0
    for first, end in [*alive, (arena_bytes, arena_bytes)]:
        if first > place:
            spans.append((place, first))
        place = max(place, end)
    return spans


def hook_text(
    program: Program, arena_bytes: int, also: Sequence[tuple[int, tuple[int, int]]] = ()
) -> str:
    """C to include before a bundle. `also`: spans to destroy at a step, though they are alive."""
    steps: list[int] = []
    spans: list[tuple[int, int, bool]] = []
    firsts = [0]
    for step, item in enumerate(program.steps):
        steps += [step] * (len(item.runs) if isinstance(item, Cascade) else 1)
        dead = dead_spans(program, step, arena_bytes)
        spans += [(*span, True) for span in dead]
        spans += [(*span, False) for span in scratch_spans(program, item, dead)]
        spans += [(*span, True) for at, span in also if at == step]
        firsts.append(len(spans))
    return _HOOK.format(
        steps=", ".join(map(str, steps)),
        firsts=", ".join(map(str, firsts)),
        spans=", ".join(f"{{ {first}, {end}, {int(last)} }}" for first, end, last in spans)
        or "{ 0, 0, 0 }",
    )


def scratch_spans(
    program: Program, step: Step, dead: Sequence[tuple[int, int]]
) -> list[tuple[int, int]]:
    """Scratch, of which kernels may read what they have not written: to multiply it by zero.

    In a cascade some of it may lie in an input that is still read: that is not meant.
    """
    runs = step.runs if isinstance(step, Cascade) else (step,)
    spans = []
    for scratch in (run.scratch for run in runs if run.scratch is not None):
        start = program.offset(scratch)
        for low, high in dead:
            first, end = max(low, start), min(high, start + scratch.size_bytes)
            if first < end:
                spans.append((first, end))
    return spans


def build(bundle: Path, hook: str, work: Path, undefined: bool) -> GenericRunner:
    """The bundle with the hook under MemorySanitizer, or under the others. One inference a run."""
    name = read_manifest(bundle).name
    (work / "hook.h").write_text(hook, encoding="utf-8")
    (work / "model_list.h").write_text(
        f'#include "{name}_model.h"\n{model_arrays([bundle])}',
        encoding="utf-8",
    )
    executable = work / "dead_bytes"
    command = [
        "clang" if undefined else "gcc", *STRICT_FLAGS, "-D_ISOC11_SOURCE",
        f'-DMODEL_LIST="{work / "model_list.h"}"', f"-DDEAD_BYTES_UNDEFINED={int(undefined)}",
        "-include", str(work / "hook.h"), optimization([bundle]),
        *(MEMORY_SANITIZER if undefined else SANITIZERS),
        f"-I{bundle}", f"-I{libjit_folder(work)}",
        *(str(bundle / source) for source in read_manifest(bundle).sources),
        str(_RUNNER), "-o", str(executable),
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[:4000]
    return GenericRunner(executable)


@cache
def missing_memory_sanitizer() -> str:
    """Why there is none on this computer, or nothing."""
    with TemporaryDirectory() as work:
        source, executable = Path(work) / "empty.c", Path(work) / "empty"
        source.write_text("int main(void) { return 0; }\n", encoding="utf-8")
        command = ["clang", *MEMORY_SANITIZER, str(source), "-o", str(executable)]
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=False)
        except FileNotFoundError:
            return "no clang: reads of dead bytes are looked for by garbage alone"
        if done.returncode != 0 or os.spawnv(os.P_WAIT, str(executable), [str(executable)]):
            return "clang has no MemorySanitizer here: dead bytes are looked for by garbage alone"
    return ""
