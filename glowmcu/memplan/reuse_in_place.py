"""Element-wise results overwrite an operand that nobody reads again (`Operation.in_place`).

Where the operand is all of its root buffer, that buffer simply lives on as the result. Where it is
a part of a larger one, the result would keep the whole alive: done only if the peak does not rise
above what the buffers of their own have left of it, which is what the schedule counted on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from glowmcu.ir.program import Buffer, Program, Run, View, ViewRole
from glowmcu.memplan.instructions import arranged
from glowmcu.memplan.liveness import peak_bytes

#: A root buffer, the first byte in it and the byte after the last.
_Span = tuple[Buffer, int, int]


def reuse_in_place(program: Program) -> Program:
    """Results become views of the operands that they overwrite."""
    return _overwrite_parts(_overwrite_roots(program))


class _Spans:
    """Where buffers are, with results that were made views."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._last = {buffer: life.last for buffer, life in program.lives.items()}
        self.views: dict[Buffer, View] = {}

    def of(self, buffer: Buffer) -> _Span:
        """As `Program.span`."""
        root, start = self._program.root(buffer)
        while root in self.views:
            root, inner = self._program.root(self.views[root].base)
            start += inner
        return root, start, start + buffer.size_bytes

    def dies_whole(self, buffer: Buffer, step: int) -> bool:
        """Whether it is all of a root buffer that nobody needs after a step."""
        root, start, end = self.of(buffer)
        return (start, end) == (0, root.size_bytes) and self._last[root] == step

    def overwrite(self, result: Buffer, operand: Buffer) -> None:
        """The result begins where the operand does."""
        root = self.of(operand)[0]
        self._last[root] = max(self._last[root], self._last[result])
        self.views[result] = View(result, operand, 0, ViewRole.OVERWRITE)


def _overwrite_roots(program: Program) -> Program:
    """Each run the first operand that it may and that has a buffer of its own."""
    spans = _Spans(program)
    for step, run in enumerate(program.runs):
        allowed = overwritable(program, run, spans.of)
        operand = next((buffer for buffer in allowed if spans.dies_whole(buffer, step)), None)
        if operand is not None:
            spans.overwrite(run.outputs[0], operand)
    if not spans.views:
        return program
    return arranged(program, program.runs, [*program.views.values(), *spans.views.values()])


def _overwrite_parts(program: Program) -> Program:
    """Each run the first operand that it may and that is a part of a buffer."""
    for step, run in enumerate(program.runs):
        for operand in overwritable(program, run):
            changed = _overwrite_part(program, step, run, operand)
            if changed is not None:
                program = changed
                break
    return program


def overwritable(
    program: Program, run: Run, span_of: Callable[[Buffer], _Span] | None = None
) -> Iterator[Buffer]:
    """Operands whose bytes the first result may take as far as `run` itself is concerned.

    `span_of` says where operands are; without it, the program does.
    """
    result = run.outputs[0]
    if result in program.views or result in program.joined:
        return
    allowed = run.node.op.in_place(run.node.signature)
    if not allowed:
        return
    operands = [
        (buffer, position, (span_of or program.span)(buffer))
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
    return start % program.required_align(result) == 0


def _overlap(a: _Span, b: _Span) -> bool:
    return a[0] is b[0] and a[1] < b[2] and b[1] < a[2]


def _overwrite_part(program: Program, step: int, run: Run, operand: Buffer) -> Program | None:
    span = program.span(operand)
    readers = [*(item.inputs for item in program.runs[step + 1 :]), program.lasting]
    if any(_overlap(program.span(buffer), span) for buffers in readers for buffer in buffers):
        return None
    view = View(run.outputs[0], operand, 0, ViewRole.OVERWRITE)
    changed = arranged(program, program.runs, [*program.views.values(), view])
    return changed if peak_bytes(changed) <= peak_bytes(program) else None
