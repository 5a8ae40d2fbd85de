"""Checks of a program, before and after planning. A failure is our bug: VerificationError.

Memory is run symbolically: each byte holds who wrote it and which byte of that buffer it is, so
that a read finds out whether anything else has been there since. Before planning every root buffer
has memory of its own; afterwards all share the arena and a wrong overlap shows as foreign bytes.
"""

from __future__ import annotations

from collections.abc import Iterable

from glowmcu.ir.program import (
    ARENA_ALIGN,
    Alloc,
    Buffer,
    Cascade,
    Dealloc,
    Life,
    Program,
    Run,
    Step,
    View,
    ViewRole,
    aligned,
)
from glowmcu.ir.program_machine import ProgramMachine, failure
from glowmcu.ir.state_pieces import state_pieces


def verify_program(program: Program, arena_bytes: int | None = None) -> None:
    """Raise VerificationError unless the program is sound; with `arena_bytes`, its plan too."""
    for view in program.views.values():
        _verify_view(program, view)
    _verify_states(program)
    _verify_lifetimes(program)
    if arena_bytes is not None:
        _verify_streamed_input(program)
        _verify_offsets(program, arena_bytes)
        _verify_disjoint(program)
        _machine(program, dict(program.offsets), arena_bytes).run()
        return
    offsets, end = _one_after_the_other(program.lives, 0)
    _machine(program, offsets, end).run()


def _machine(program: Program, offsets: dict[Buffer, int], arena_bytes: int) -> ProgramMachine:
    """Inputs that stay outside lie behind the arena."""
    external = [buffer for buffer in program.inputs if buffer.external]
    places, end = _one_after_the_other(external, arena_bytes)
    return ProgramMachine(program, offsets | places, end)


def _one_after_the_other(buffers: Iterable[Buffer], end: int) -> tuple[dict[Buffer, int], int]:
    offsets = {}
    for buffer in buffers:
        offsets[buffer] = end = aligned(end, ARENA_ALIGN)
        end += buffer.size_bytes
    return offsets, end


def _verify_view(program: Program, view: View) -> None:
    buffer, base = view.buffer, view.base
    end = view.end_bytes
    if view.offset_bytes < 0 or end > base.size_bytes:
        raise failure(
            program,
            f"view {buffer.name!r} is bytes {view.offset_bytes}..{end} of {base.name!r}, "
            f"which has {base.size_bytes}",
        )
    root, start = program.root(buffer)
    if start % buffer.type.element.size_bytes:
        raise failure(program, f"view {buffer.name!r} is not aligned to its elements")
    if view.role is not ViewRole.SLICE and not root.in_arena:
        what = "constant" if root.data is not None else "input outside the arena"
        raise failure(program, f"view {buffer.name!r} would be written to the {what} {root.name!r}")


def _verify_streamed_input(program: Program) -> None:
    """One cascade takes the rows of a streamed input, and nothing else reads it."""
    cascades = [step for step in program.steps if isinstance(step, Cascade)]
    takers = sum(cascade.input_stage is not None for cascade in cascades)
    if takers != (program.streamed_input is not None):
        raise failure(program, f"{takers} cascades take rows from the application")
    if (
        program.streamed_input is not None
        and program.root(program.streamed_input.buffer)[0] in program.lives
    ):
        raise failure(
            program, f"{program.streamed_input.buffer.name!r} is pushed and still read as a whole"
        )


def _verify_states(program: Program) -> None:
    """A state and what it becomes are the same bytes."""
    for state in program.states:
        is_there = program.root(state.updated) == program.root(state.buffer)
        if not is_there or state.updated.type != state.buffer.type:
            raise failure(program, f"state {state.buffer.name!r} is not updated where it is")


def _verify_lifetimes(program: Program) -> None:
    """Explicit lifetimes, if there are any, say what the uses say."""
    stated: dict[Buffer, list[int]] = {}
    inputs = {program.root(buffer)[0] for buffer in program.written_before}
    step, explicit = -1, False
    for item in program.instructions:
        if isinstance(item, Alloc):
            explicit = True
            if item.buffer in stated:
                raise failure(program, f"{item.buffer.name!r} is allocated twice")
            first = -1 if item.buffer in inputs else step + 1
            stated[item.buffer] = [first, len(program.steps)]
        elif isinstance(item, Dealloc):
            if item.buffer not in stated:
                raise failure(program, f"{item.buffer.name!r} is freed but never allocated")
            stated[item.buffer][1] = step
        elif isinstance(item, Run | Cascade):
            step += 1
    if not explicit:
        return
    lives = {buffer: Life(first, last) for buffer, (first, last) in stated.items()}
    for buffer, life in program.lives.items():
        if lives.get(buffer) != life:
            raise failure(program, f"{buffer.name!r} lives {life}, its alloc and dealloc differ")
    if len(lives) != len(program.lives):
        raise failure(program, "a buffer that nobody uses is allocated")


def _verify_offsets(program: Program, arena_bytes: int) -> None:
    for buffer in program.lives:
        offset = program.offsets.get(buffer)
        if offset is None:
            raise failure(program, f"{buffer.name!r} has no offset")
        if offset < 0 or offset + buffer.size_bytes > arena_bytes or offset % buffer.align:
            raise failure(
                program,
                f"{buffer.name!r} at {offset}, {buffer.size_bytes} bytes, aligned to "
                f"{buffer.align}, does not fit an arena of {arena_bytes}",
            )
    for run in program.runs:
        for buffer in run.operands:
            if program.root(buffer)[0].in_arena and program.offset(buffer) % run.operand_align:
                raise failure(program, f"{run.node.name!r} cannot read {buffer.name!r}: alignment")


def _verify_disjoint(program: Program) -> None:
    """No two root buffers that are alive together share a byte, but for a result and an operand
    that meet at one run only: that run's kernel has the say (`ProgramMachine`).
    """
    alive: list[tuple[Buffer, Life]] = []
    pieces = state_pieces(program)
    for buffer, life in sorted(program.lives.items(), key=lambda item: item[1].first):
        alive = [other for other in alive if other[1].last >= life.first]
        offset, end = program.offsets[buffer], program.offsets[buffer] + buffer.size_bytes
        for other, other_life in alive:
            start = program.offsets[other]
            shares = buffer.size_bytes and start < end and offset < start + other.size_bytes
            if shares and {buffer, other} & pieces.of_states.keys():
                difference = offset - start
                forbidden = pieces.forbidden((other, other_life), (buffer, life))
                shares = any(low < difference < high for low, high in forbidden)
            meet = min(other_life.last, life.last)
            if shares and not (
                meet == life.first < len(program.steps)
                and life.first >= 0
                and _consumes(program, program.steps[life.first], other, buffer)
            ):
                raise failure(
                    program, f"{other.name!r} and {buffer.name!r} share bytes while both live"
                )
        alive.append((buffer, life))


def _consumes(program: Program, step: Step, operand: Buffer, result: Buffer) -> bool:
    """Whether the step reads one root buffer and writes its first result to the other, or says of
    two buffers of its own how they share bytes.
    """
    if isinstance(step, Cascade) and (result in step.locals or operand in step.locals):
        pair = {operand, result}
        return any(
            {program.root(a)[0], program.root(b)[0]} == pair for a, b in step.forbidden_offsets
        )
    is_read = any(program.root(buffer)[0] is operand for buffer in step.inputs)
    return is_read and program.root(step.outputs[0])[0] is result
