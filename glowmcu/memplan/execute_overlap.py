"""A run whose first result shares bytes with operands, executed in blocks of rows.

The blocks are the smallest for which the promised distances are enough when a block is read before
it is written: so every promise is used as far as it goes. A kernel may promise more (it reads in
smaller pieces, or keeps what it has read); what its C does is for other tests to show.
"""

from __future__ import annotations

from collections.abc import Mapping

from glowmcu.ir.graph import Graph
from glowmcu.ir.program import Buffer, Run
from glowmcu.memplan.byte_arena import ByteArena
from glowmcu.memplan.execute_rows import Rows, result_from_rows, row_bytes_of

#: Rows read for a block of the result, by position of the operand.
_Windows = Mapping[int, tuple[int, int]]


def sharing_operands(run: Run, arena: ByteArena) -> dict[int, Buffer]:
    """Operands, by position, with which the result may share bytes and keeps the distance."""
    found = {}
    for buffer, position in zip(run.inputs, run.positions, strict=True):
        rule = run.overlaps.get(position)
        if rule is None or not arena.is_inside(buffer):
            continue
        if rule.is_kept(arena.start(buffer) - arena.start(run.outputs[0])):
            found[position] = buffer
    return found


def block_rows(run: Run, sharing: Mapping[int, Buffer]) -> int:
    """Rows of the smallest blocks for which the promises are enough; 0 for all at once."""
    result = run.node.outputs[0].type
    if len(run.outputs) > 1 or len(run.positions) != len(set(run.positions)):
        return 0
    operands = [run.node.inputs[position].type for position in run.positions]
    if any(type_.rank != 4 or type_.shape[0] != 1 for type_ in (result, *operands)):
        return 0
    for rows in range(1, result.shape[1]):
        if all(_least_gap(run, position, rows) <= _gap(run, position) for position in sharing):
            return rows
    return 0


def _gap(run: Run, position: int) -> int:
    """The least distance at which the run promises to work."""
    rule = run.overlaps[position]
    gaps = (rule.least_gap_bytes, rule.only_gap_bytes)
    return min(gap for gap in gaps if gap is not None)


def _least_gap(run: Run, position: int, rows: int) -> int:
    """Bytes below the operand at which the result must start, with blocks of `rows` rows."""
    height, operand = run.node.outputs[0].type.shape[1], run.node.inputs[position].type
    row_bytes = run.outputs[0].size_bytes // height
    pitch = operand.size_bytes // operand.shape[1]
    gap, first_read = -operand.size_bytes, operand.shape[1]
    for end in reversed(range(rows, height, rows)):
        window = run.node.op.input_rows(run.node.signature, end, min(end + rows, height))[position]
        first_read = min(first_read, 0 if window is None else window.first)
        gap = max(gap, end * row_bytes - first_read * pitch)
    return gap


def execute_blocks(run: Run, arena: ByteArena, graph: Graph, rows: int) -> None:
    """Write the result, `rows` rows at a time, each block read before it is written."""
    node, result = run.node, run.outputs[0]
    height = node.outputs[0].type.shape[1]
    row_bytes = result.size_bytes // height
    for first in range(0, height, rows):
        end = min(first + rows, height)
        windows = node.op.input_rows(node.signature, first, end)
        given = {}
        for buffer, position in zip(run.inputs, run.positions, strict=True):
            whole, window = node.inputs[position].type.shape[1], windows[position]
            low, high = (0, whole) if window is None else (window.first, window.end)
            pitch = buffer.size_bytes // whole
            data = _load(arena, buffer, low * pitch, (high - low) * pitch)
            given[position] = Rows(low, high, data)
        block = row_bytes_of(result_from_rows(node, graph, given), first, end)
        arena.store(arena.start(result) + first * row_bytes, block)


def _load(arena: ByteArena, buffer: Buffer, inner: int, size_bytes: int) -> bytes:
    if arena.is_constant(buffer):
        return arena.read(buffer).tobytes()[inner : inner + size_bytes]
    return arena.load(arena.start(buffer) + inner, size_bytes)
