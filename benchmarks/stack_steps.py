"""The stack of single steps: every layer in a function of its own, and by rows where it can.

A step's kernel is called by its function, or the compiler puts it into that, most of all where
nobody else calls the kernel.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path

from benchmarks.stack_samples import linked
from benchmarks.stack_walk import StackWalk
from benchmarks.sweep_image import Parts
from glowmcu.emit_c.build_views import layers as body_of
from glowmcu.emit_c.bundle_facts import BundleFacts
from glowmcu.emit_c.bundle_files import bundle_files
from glowmcu.emit_c.stack_bound import KernelFunction, kernel_function
from glowmcu.goals import Goal
from glowmcu.ir.kernel_code import RowCall
from glowmcu.ir.program import ARENA_ALIGN, Program, Run, aligned
from glowmcu.kernels.selection.select import Selection
from glowmcu.stack_use import KernelStack

_ROWS = re.compile(r"\b0,\s+\d+\);\s*$")


@dataclass(frozen=True)
class StepStack:
    """What the function of a step takes, without the bytes that its text tells of."""

    kernel: KernelFunction
    stack: KernelStack


def planned_apart(parts: Parts, goal: Goal) -> tuple[Program, Mapping[str, str]]:
    """The program with every buffer in a place of its own, and the bundle's files."""
    offsets, end = {}, 0
    for buffer in parts.program.lives:
        offsets[buffer] = end
        end += aligned(buffer.size_bytes, ARENA_ALIGN)
    facts = BundleFacts(
        name="m", tool_version="", model_file="m.tflite", model_sha256="", board="generic",
        options={"optimize": goal.value}, arena_bytes=max(end, ARENA_ALIGN),
        arena_lower_bound_bytes=0, arena_align=ARENA_ALIGN,
        rounding=parts.graph.rounding.in_c,
        exact_outputs=(True,) * len(parts.program.outputs),
        rounded_outputs=(False,) * len(parts.program.outputs),
    )  # fmt: skip
    program = parts.program.with_offsets(offsets)
    return program, bundle_files(program, parts.chosen, facts)[0]


class Which(Enum):
    """The steps of a program: whole layers, and rows of those that can go by rows."""

    ALL = "all"
    WHOLE = "whole"
    ROWS = "rows"

    def has(self, parts: Parts, run: Run) -> bool:
        """Whether a step is one of them."""
        return self is Which.ALL or (run.node in parts.again) == (self is Which.ROWS)


def step_stacks(
    parts: Parts, core_name: str, goal: Goal, folder: Path, which: Which = Which.ALL
) -> Iterator[StepStack]:
    """Of the steps asked for, in a program of their own."""
    program, files = planned_apart(parts, goal)
    body = body_of(program, parts.chosen, "m")
    for name, text in files.items():
        if "/" not in name:
            (folder / name).write_text(text, encoding="utf-8")
    source = folder / "m.c"
    source.write_text(_apart(files["m.c"], program, parts, which), encoding="utf-8")
    steps = [n for n, run in enumerate(program.runs) if which.has(parts, run)]
    if not steps:
        return
    calls = Counter(parts.chosen[program.runs[index].node].code.function for index in steps)
    entries = tuple(f"m_step_{index}" for index in steps)
    found = linked([source, folder / "m_weights.c"], folder, core_name, entries)
    for index in steps:
        run = program.runs[index]
        selection = parts.chosen[run.node]
        variant = selection.kernel_name
        if run.node in parts.again:
            assert selection.row_kernel is not None
            variant = selection.row_kernel.variant.name
        kernel = kernel_function(variant, selection.code, body, body.steps[index].definition)
        is_once = kernel.is_called_once or calls[selection.code.function] == 1
        kernel = replace(kernel, is_called_once=is_once)
        names = {item.function: item.name for item in body.functions}
        called = names.get(selection.code.function, selection.code.function)
        yield _step(found, f"m_step_{index}", kernel, selection, called)


def _step(
    found: StackWalk, entry: str, kernel: KernelFunction, selection: Selection, name: str
) -> StepStack:
    if selection.bodies:
        return StepStack(kernel, _around_bodies(found, entry))
    is_own = bool(selection.code.template) and selection.code.parameters is None
    wanted = entry.replace("m_step", "k") if is_own else name
    calls = [callee for _, callee in found.frame(entry).calls if callee]
    is_called = any(callee.partition(".")[0] == wanted for callee in calls)
    below = found.below(entry)
    if is_called:
        called = max(below - kernel.naked_bytes - kernel.array_bytes, 0)
        return StepStack(kernel, KernelStack(called, 0))
    own = found.frame(entry).own_bytes - kernel.array_bytes
    return StepStack(kernel, KernelStack(max(below - kernel.naked_bytes, 0), max(own, 1)))


def _around_bodies(found: StackWalk, entry: str) -> KernelStack:
    """What a branch or loop takes apart from the layers inside, which samples call and do not put
    into a caller: its function, and the deepest of its bodies' functions.
    """
    label = entry.removeprefix("m_step_")
    sizes = {name.partition(".")[0]: found.frame(name).own_bytes for name in found.names}
    bodies = max((sizes.get(f"{word}_{label}", 0) for word in ("then", "else", "trip")), default=0)
    if f"k_{label}" in sizes:
        return KernelStack(sizes[f"k_{label}"] + bodies, 0)
    return KernelStack(bodies, max(sizes[entry], 1))


def _apart(text: str, program: Program, parts: Parts, which: Which) -> str:
    """The bundle's source with a function for every step instead of its entry points."""
    head, _, rest = text.partition("GLOWMCU_CODE\nint32_t m_run(void *arena)")
    run = rest.partition("\n}\n")[0].rpartition("    return 0;")[0]
    pieces = run.split("    GLOWMCU_STEP(")[1:]
    made = []
    for index, (item, piece) in enumerate(zip(program.runs, pieces, strict=True)):
        if not which.has(parts, item):
            continue
        call = piece.partition("\n")[2]
        again = parts.again.get(item.node)
        if again is not None and again.rows is not None and again.rows.call is not RowCall.WHOLE:
            call = _ROWS.sub("y, y + 1);\n", call)
        made.append(
            f"int32_t m_step_{index}(int8_t *a, int32_t y);\n"
            f"int32_t m_step_{index}(int8_t *a, int32_t y)\n{{\n{call}    return y;\n}}\n"
        )
    return head + "\n".join(made)
