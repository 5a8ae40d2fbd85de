"""Concatenations without copies: operands are written straight into their part of the result.

An operand moves when it is a whole buffer of its own (no constant, not part of something else, read
once by the run), may be as little aligned as its place in the result, and the peak does not rise:
the result's life now begins with its first part. A state moves whatever the peak: its rows and the
new ones are a queue then, and no row is copied but to move up. When all operands move, the run
goes; otherwise its kernel leaves alone what is in place. Splits and outer slices are views from the
start.
"""

from __future__ import annotations

from glowmcu.ir.program import Buffer, Program, Run, StateBuffer, View, ViewRole
from glowmcu.memplan.instructions import arranged
from glowmcu.memplan.liveness import peak_bytes
from glowmcu.memplan.order_model import old_values


def share_views(program: Program) -> Program:
    """Operands of concatenations become parts of the results if that is free."""
    least = peak_bytes(program)
    for run in program.runs:
        shared = with_operands_in_place(program, run)
        if shared is None:
            continue
        peak = peak_bytes(shared)
        if _holds_state(program, run) or peak <= least:
            program, least = shared, peak
    return program


def with_operands_in_place(program: Program, run: Run) -> Program | None:
    """The program with every movable operand of `run` inside its result; None if there is none,
    or nowhere to read the result after the run, or a state is read too late.
    """
    shared = _contained(program, run)
    if shared is None or _gives_state(shared) or _reads_too_late(shared):
        return None
    return shared


def _gives_state(program: Program) -> bool:
    """Whether a result lies where a state does and is none: that would be overwritten at the end of
    the run.
    """
    states = {program.root(state.buffer)[0] for state in program.states}
    new = {state.updated for state in program.states}
    return any(program.root(item)[0] in states for item in program.outputs if item not in new)


def _reads_too_late(program: Program) -> bool:
    """Whether a run reads what a state was when it has been overwritten: the order was found for a
    copy of it. Parts of the new value are written before the whole is, each to its own bytes.
    """
    return any(
        _is_read_after(program, state, old_values(program, state.buffer), index, buffer)
        for state in program.states
        for index, run in enumerate(program.runs)
        for buffer in run.outputs
    )


def _is_read_after(
    program: Program, state: StateBuffer, old: set[Buffer], index: int, written: Buffer
) -> bool:
    """Whether old bytes of a state are read behind run `index`, which writes there; who makes the
    whole new value reads as it says (`Operation.updates`), who makes a part must not read at all.
    """
    root, first, end = program.span(state.buffer)
    there, low, high = program.span(written)
    low, high = max(low, first), min(high, end)
    if there is not root or written in old or low >= high:
        return False
    readers = program.runs[index + 1 if written is state.updated else index :]
    read = (program.span(item) for run in readers for item in run.inputs if item in old)
    return any(begin < high and low < stop for _, begin, stop in read)


def _holds_state(program: Program, run: Run) -> bool:
    states = {state.buffer for state in program.states}
    return any(program.root(buffer)[0] in states for buffer in run.inputs)


def _contained(program: Program, run: Run) -> Program | None:
    """The program with every movable operand of `run` inside its result; None if there is none."""
    places = run.node.op.contained_operands(run.node.signature)
    if not places:
        return None
    result = run.outputs[0]
    moved: list[View] = []
    for buffer, position in zip(run.inputs, run.positions, strict=True):
        root = program.root(buffer)[0]
        alone = sum(program.root(other)[0] is root for other in run.inputs) == 1
        if alone and position in places and _movable(program, buffer, result, places[position]):
            moved.append(View(root, result, places[position], ViewRole.PART))
    if not moved:
        return None
    complete = len(moved) == len(run.node.inputs) and len(run.outputs) == 1
    runs = [item for item in program.runs if item is not run or not complete]
    return arranged(program, runs, [*program.views.values(), *moved])


def _shows_updated(program: Program, buffer: Buffer) -> bool:
    """Whether it is what a state becomes, or a view of that."""
    updated = {state.updated for state in program.states}
    while buffer not in updated and buffer in program.views:
        buffer = program.views[buffer].base
    return buffer in updated


def _movable(program: Program, buffer: Buffer, result: Buffer, offset: int) -> bool:
    root, start, end = program.span(buffer)
    if program.streamed_input is not None and root is program.streamed_input.buffer:
        return False  # it never is anywhere as a whole
    if _shows_updated(program, buffer):
        return False  # that lies where the old value does
    target, inner = program.root(result)
    if not root.in_arena or root is target or (start, end) != (0, root.size_bytes):
        return False
    return (inner + offset) % program.required_align(root) == 0
