"""Element-wise results overwrite an operand that nobody reads again (`Operation.in_place`).

Where the operand is all of its root buffer, that buffer simply lives on as the result. Where it is
a part of a larger one, the result would keep the whole alive: done only if the peak does not rise
above what the buffers of their own have left of it, which is what the schedule counted on.
"""

from __future__ import annotations

from collections.abc import Iterator

from glowmcu.ir.program import ARENA_ALIGN, Buffer, Program, Run, View, ViewRole
from glowmcu.memplan.alignment import required_align
from glowmcu.memplan.instructions import arranged
from glowmcu.memplan.liveness import peak_bytes


def reuse_in_place(program: Program) -> Program:
    """Results become views of the operands that they overwrite."""
    return _overwrite_each(_overwrite_each(program, of_parts=False), of_parts=True)


def _overwrite_each(program: Program, of_parts: bool) -> Program:
    """Each run the first operand that it may: one with a buffer of its own, or a part of one."""
    for step, run in enumerate(program.runs):
        for operand in overwritable(program, run):
            changed = _overwrite(program, step, run, operand, of_parts)
            if changed is not None:
                program = changed
                break
    return program


def overwritable(program: Program, run: Run) -> Iterator[Buffer]:
    """Operands whose bytes the first result may take as far as `run` itself is concerned."""
    result = run.outputs[0]
    if result in program.views or any(view.base is result for view in _parts(program)):
        return
    allowed = run.node.op.in_place(run.node.signature)
    operands = [
        (buffer, position, program.span(buffer))
        for buffer, position in zip(run.inputs, run.positions, strict=True)
    ]
    for buffer, position, span in operands:
        if position not in allowed or not span[0].in_arena:
            continue
        if buffer.size_bytes != result.size_bytes or not _fits(program, result, span[1]):
            continue
        # Another operand in these bytes must be read at the same places in the same order.
        sharing = [other for other in operands if _overlap(other[2], span)]
        if all(other[1] in allowed and other[2] == span for other in sharing):
            yield buffer


def _fits(program: Program, result: Buffer, start: int) -> bool:
    return start % ARENA_ALIGN == 0 or start % required_align(program, result) == 0


def _parts(program: Program) -> Iterator[View]:
    return (view for view in program.views.values() if view.role is ViewRole.PART)


def _overlap(a: tuple[Buffer, int, int], b: tuple[Buffer, int, int]) -> bool:
    return a[0] is b[0] and a[1] < b[2] and b[1] < a[2]


def _overwrite(
    program: Program, step: int, run: Run, operand: Buffer, of_parts: bool
) -> Program | None:
    span = program.span(operand)
    root, start, end = span
    is_whole = (start, end) == (0, root.size_bytes) and program.lives[root].last == step
    if is_whole is of_parts:
        return None
    readers = [*(item.inputs for item in program.runs[step + 1 :]), program.lasting]
    if any(_overlap(program.span(buffer), span) for buffers in readers for buffer in buffers):
        return None
    view = View(run.outputs[0], operand, 0, ViewRole.OVERWRITE)
    changed = arranged(program, program.runs, [*program.views.values(), view])
    return changed if is_whole or peak_bytes(changed) <= peak_bytes(program) else None
