"""Alignment of shared memory: a view may lie at any byte of its base, a kernel reads only some."""

from __future__ import annotations

from glowmcu.ir.program import Buffer, Program


def required_align(program: Program, root: Buffer) -> int:
    """Alignment of pointers into `root` in bytes: its elements' size, or what kernels need."""
    align = root.type.element.size_bytes
    for buffer in program.views:
        if program.root(buffer)[0] is root:
            align = max(align, buffer.type.element.size_bytes)
    for run in program.runs:
        if any(program.root(buffer)[0] is root for buffer in run.operands):
            align = max(align, run.operand_align)
    return align
