"""What sharing must respect: a view may lie at any byte of its base, a kernel may not read any."""

from __future__ import annotations

from glowmcu.ir.program import Buffer, Program


def required_align(program: Program, root: Buffer) -> int:
    """What every pointer into `root` relies on: its elements' size and its kernels' wish."""
    align = root.type.element.size_bytes
    for buffer in program.views:
        if program.root(buffer)[0] is root:
            align = max(align, buffer.type.element.size_bytes)
    for run in program.runs:
        if any(program.root(buffer)[0] is root for buffer in run.operands):
            align = max(align, run.operand_align)
    return align
