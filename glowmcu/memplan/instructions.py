"""Canonical instruction lists: views stand right before the first run that needs them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from glowmcu.ir.program import Alloc, Buffer, Cascade, Dealloc, Instruction, Program, Run, View


def arranged(program: Program, runs: Sequence[Run], views: Iterable[View]) -> Program:
    """`program` with these runs in this order and these views, without `Alloc` and `Dealloc`."""
    by_buffer = {view.buffer: view for view in views}
    instructions: list[Instruction] = []
    done: set[Buffer] = set()
    for buffer in (*program.inputs, *(state.buffer for state in program.states)):
        _add_views(buffer, by_buffer, done, instructions)
    for run in runs:
        for buffer in run.operands:
            _add_views(buffer, by_buffer, done, instructions)
        instructions.append(run)
    for buffer in (*program.lasting, *by_buffer):
        _add_views(buffer, by_buffer, done, instructions)
    return program.with_instructions(instructions)


def _add_views(
    buffer: Buffer,
    views: Mapping[Buffer, View],
    done: set[Buffer],
    instructions: list[Instruction],
) -> None:
    chain: list[View] = []
    while buffer in views and buffer not in done:
        done.add(buffer)
        chain.append(views[buffer])
        buffer = views[buffer].base
    instructions.extend(reversed(chain))


def insert_lifetimes(program: Program) -> Program:
    """The program with an `Alloc` before each arena buffer's first step and a `Dealloc` after its
    last, so that the printed program shows them. Buffers that hold outputs outlive the program.
    """
    born: dict[int, list[Buffer]] = {}
    dead: dict[int, list[Buffer]] = {}
    for buffer, life in program.lives.items():
        born.setdefault(life.first, []).append(buffer)
        dead.setdefault(life.last, []).append(buffer)
    instructions: list[Instruction] = [
        *map(Alloc, born.get(-1, ())),
        *map(Dealloc, dead.get(-1, ())),
    ]
    step, pending = 0, list[Instruction]()
    for item in program.instructions:
        if isinstance(item, View):
            pending.append(item)
        elif isinstance(item, Run | Cascade):
            instructions += [*map(Alloc, born.get(step, ())), *pending, item]
            instructions += map(Dealloc, dead.get(step, ()))
            step, pending = step + 1, []
    return program.with_instructions([*instructions, *pending])
