"""Strips that are put together without a copy: each is written to its columns of the result.

A row of a strip is a piece of a row of the whole, so that whoever makes it row by row can write it
there: the strip is a view whose rows lie as far apart as those of its base. Only a cascade can make
such a view; the planner sees to it.
"""

from __future__ import annotations

from glowmcu.ir.program import Buffer, Program, Run, View, ViewRole
from glowmcu.memplan.instructions import arranged
from glowmcu.ops.joining import Concatenation


def share_columns(program: Program) -> Program:
    """Joins along the width become views, if every operand is some run's own result."""
    for run in program.runs:
        moved = _columns(program, run)
        if moved:
            own = {view.buffer for view in moved}
            kept = [view for view in program.views.values() if view.buffer not in own]
            runs = [item for item in program.runs if item is not run]
            program = arranged(program, runs, [*kept, *moved])
    return program


def _columns(program: Program, run: Run) -> list[View]:
    op = run.node.op
    if not isinstance(op, Concatenation) or op.axis != 2 or len(run.inputs) != len(run.node.inputs):
        return []
    result = run.outputs[0]
    if result.type.rank != 4 or result.type.shape[0] != 1:
        return []
    moved, offset = list[View](), 0
    for buffer in run.inputs:
        if not _is_own_result(program, buffer, run):
            return []
        moved.append(View(buffer, result, offset, ViewRole.COLUMNS))
        offset += buffer.size_bytes // buffer.type.shape[1]
    return moved


def _is_own_result(program: Program, buffer: Buffer, reader: Run) -> bool:
    """Whether a run makes it for this reader alone, and may write it a row at a time."""
    makers = [run for run in program.runs if buffer in run.outputs]
    readers = [run for run in program.runs if buffer in run.inputs]
    if readers != [reader] or reader.inputs.count(buffer) > 1 or buffer in program.outputs:
        return False
    if len(makers) != 1 or makers[0].rows is None or makers[0].operand_align > 1:
        return False
    view = program.views.get(buffer)
    based = any(item.base is buffer for item in program.views.values())
    return not based and (view is None or view.role is ViewRole.OVERWRITE)
