"""Checks of a program, before and after planning. A failure is our bug: VerificationError.

Memory is run symbolically: each byte holds who wrote it and which byte of that buffer it is, so
that a read finds out whether anything else has been there since. Before planning every root buffer
has memory of its own; afterwards all share the arena and a wrong overlap shows as foreign bytes.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from glowmcu.ir.graph import VerificationError
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
from glowmcu.ir.verify_cascade import CascadeMachine

Tokens = npt.NDArray[np.int64]
_NOBODY = -1
_BYTE_BITS = 32
_MOST_UNIT_BYTES = 256


def verify_program(program: Program, arena_bytes: int | None = None) -> None:
    """Raise VerificationError unless the program is sound; with `arena_bytes`, its plan too."""
    for view in program.views.values():
        _verify_view(program, view)
    _verify_lifetimes(program)
    if arena_bytes is not None:
        _verify_pushed(program)
        _verify_offsets(program, arena_bytes)
        _verify_disjoint(program)
        _machine(program, dict(program.offsets), arena_bytes).run()
        return
    offsets, end = _one_after_the_other(program.lives, 0)
    _machine(program, offsets, end).run()


def _machine(program: Program, offsets: dict[Buffer, int], arena_bytes: int) -> _Machine:
    """Inputs that stay outside lie behind the arena."""
    outside = [buffer for buffer in program.inputs if buffer.outside]
    places, end = _one_after_the_other(outside, arena_bytes)
    return _Machine(program, offsets | places, end)


def _one_after_the_other(buffers: Iterable[Buffer], end: int) -> tuple[dict[Buffer, int], int]:
    offsets = {}
    for buffer in buffers:
        offsets[buffer] = end = aligned(end, ARENA_ALIGN)
        end += buffer.size_bytes
    return offsets, end


def _fail(program: Program, text: str) -> VerificationError:
    return VerificationError(f"{program.name}: {text}")


def _verify_view(program: Program, view: View) -> None:
    buffer, base = view.buffer, view.base
    end = view.end_bytes
    if view.offset_bytes < 0 or end > base.size_bytes:
        raise _fail(
            program,
            f"view {buffer.name!r} is bytes {view.offset_bytes}..{end} of {base.name!r}, "
            f"which has {base.size_bytes}",
        )
    root, start = program.root(buffer)
    if start % buffer.type.element.size_bytes:
        raise _fail(program, f"view {buffer.name!r} is not aligned to its elements")
    if view.role is not ViewRole.SLICE and not root.in_arena:
        what = "constant" if root.data is not None else "input outside the arena"
        raise _fail(program, f"view {buffer.name!r} would be written to the {what} {root.name!r}")


def _verify_pushed(program: Program) -> None:
    """One cascade takes the rows of a pushed input, and nothing else reads it."""
    cascades = [step for step in program.steps if isinstance(step, Cascade)]
    takers = sum(cascade.source is not None for cascade in cascades)
    if takers != (program.pushed is not None):
        raise _fail(program, f"{takers} cascades take rows from the application")
    if program.pushed is not None and program.root(program.pushed.buffer)[0] in program.lives:
        raise _fail(program, f"{program.pushed.buffer.name!r} is pushed and still read as a whole")


def _verify_lifetimes(program: Program) -> None:
    """Explicit lifetimes, where there are any, say what the uses say."""
    stated: dict[Buffer, list[int]] = {}
    inputs = {program.root(buffer)[0] for buffer in program.written_before}
    step, explicit = -1, False
    for item in program.instructions:
        if isinstance(item, Alloc):
            explicit = True
            if item.buffer in stated:
                raise _fail(program, f"{item.buffer.name!r} is allocated twice")
            first = -1 if item.buffer in inputs else step + 1
            stated[item.buffer] = [first, len(program.steps)]
        elif isinstance(item, Dealloc):
            if item.buffer not in stated:
                raise _fail(program, f"{item.buffer.name!r} is freed but never allocated")
            stated[item.buffer][1] = step
        elif isinstance(item, Run | Cascade):
            step += 1
    if not explicit:
        return
    lives = {buffer: Life(first, last) for buffer, (first, last) in stated.items()}
    for buffer, life in program.lives.items():
        if lives.get(buffer) != life:
            raise _fail(program, f"{buffer.name!r} lives {life}, its alloc and dealloc differ")
    if len(lives) != len(program.lives):
        raise _fail(program, "a buffer that nobody uses is allocated")


def _verify_offsets(program: Program, arena_bytes: int) -> None:
    for buffer in program.lives:
        offset = program.offsets.get(buffer)
        if offset is None:
            raise _fail(program, f"{buffer.name!r} has no offset")
        if offset < 0 or offset + buffer.size_bytes > arena_bytes or offset % buffer.align:
            raise _fail(
                program,
                f"{buffer.name!r} at {offset}, {buffer.size_bytes} bytes, aligned to "
                f"{buffer.align}, does not fit an arena of {arena_bytes}",
            )
    for run in program.runs:
        for buffer in run.operands:
            if program.root(buffer)[0].in_arena and program.offset(buffer) % run.operand_align:
                raise _fail(program, f"{run.node.name!r} cannot read {buffer.name!r}: alignment")


def _verify_disjoint(program: Program) -> None:
    """No two root buffers that are alive together share a byte, but for a result and an operand
    that meet at one run only: that run's kernel has the say (`_Machine`).
    """
    alive: list[tuple[Buffer, Life]] = []
    for buffer, life in sorted(program.lives.items(), key=lambda item: item[1].first):
        alive = [other for other in alive if other[1].last >= life.first]
        offset, end = program.offsets[buffer], program.offsets[buffer] + buffer.size_bytes
        for other, other_life in alive:
            start = program.offsets[other]
            shares = buffer.size_bytes and start < end and offset < start + other.size_bytes
            meet = min(other_life.last, life.last)
            if shares and not (
                meet == life.first < len(program.steps)
                and life.first >= 0
                and _consumes(program, program.steps[life.first], other, buffer)
            ):
                raise _fail(
                    program, f"{other.name!r} and {buffer.name!r} share bytes while both live"
                )
        alive.append((buffer, life))


def _consumes(program: Program, step: Step, operand: Buffer, result: Buffer) -> bool:
    """Whether the step reads one root buffer and writes its first result to the other, or says of
    two buffers of its own how they share bytes.
    """
    if isinstance(step, Cascade) and (result in step.locals or operand in step.locals):
        pair = {operand, result}
        return any({program.root(a)[0], program.root(b)[0]} == pair for a, b in step.apart)
    is_read = any(program.root(buffer)[0] is operand for buffer in step.inputs)
    return is_read and program.root(step.outputs[0])[0] is result


def _unit_bytes(program: Program, offsets: Mapping[Buffer, int]) -> int:
    """Bytes that are written, read and moved together: a token stands for so many.

    Every place is a multiple of it. Sizes of whole buffers need not be, since no other buffer
    begins before the end of their last unit; rows of a cascade may be of any size.
    """
    if any(isinstance(step, Cascade) for step in program.steps):
        return 1
    bounds = [*offsets.values()]
    for view in program.views.values():
        bounds.append(view.offset_bytes)
        size = view.buffer.size_bytes
        if view.offset_bytes or size != view.base.size_bytes:
            bounds.append(size)
        if view.row_pitch:
            bounds += [view.row_pitch, size // view.buffer.type.shape[1]]
    return math.gcd(_MOST_UNIT_BYTES, *bounds)


class _Machine:
    """Symbolic memory: `_NOBODY`, or buffer number and unit number in one int64, for every unit."""

    def __init__(self, program: Program, offsets: dict[Buffer, int], size_bytes: int) -> None:
        self.program = program
        self.offsets = offsets
        self.unit = _unit_bytes(program, offsets)
        self.memory: Tokens = np.full(self._units(size_bytes), _NOBODY, np.int64)
        self.numbers: dict[Buffer, int] = {}
        self.parts: dict[Buffer, list[View]] = {}
        for view in program.views.values():
            if view.role in (ViewRole.PART, ViewRole.COLUMNS):
                self.parts.setdefault(view.base, []).append(view)
        self.contents: dict[Buffer, Tokens] = {}
        self.written = {buffer for step in program.steps for buffer in step.outputs}
        self.written.update((*program.inputs, *program.written_before))
        self.dying: dict[int, list[Buffer]] = {}
        for buffer, life in program.lives.items():
            self.dying.setdefault(life.last, []).append(buffer)
        self.views_of: dict[Buffer, list[Buffer]] = {}
        for buffer in program.views:
            self.views_of.setdefault(program.root(buffer)[0], []).append(buffer)

    def _units(self, size_bytes: int) -> int:
        return -(-size_bytes // self.unit)

    def run(self) -> None:
        for buffer in self.program.inputs:
            if self.program.root(buffer)[0] in self.offsets:
                self._write(buffer)
        if self.program.pushed is not None:
            self._write(self.program.pushed.counter)
        self._bury(-1)
        for step, run in enumerate(self.program.steps):
            if isinstance(run, Cascade):
                self._cascade(run)
                self._bury(step, but=run.outputs)
                continue
            self._verify_operands(run)
            for buffer in run.inputs:
                self._read(buffer, f"step {step} {run.node.name!r}")
            # Operands that die here may lie where the result goes.
            self._bury(step)
            for buffer in run.operands[len(run.inputs) + len(run.outputs) :]:
                self._memory(buffer)[:] = _NOBODY
            for buffer in run.outputs:
                self._write(buffer)
        for buffer in (*self.program.lasting, *self._outside()):
            self._read(buffer, "the application")
        if self.program.pushed is not None:
            self._read(self.program.pushed.counter, "the application")

    def _outside(self) -> list[Buffer]:
        """What nobody may write to."""
        return [buffer for buffer in self.program.inputs if buffer.outside]

    def content(self, buffer: Buffer) -> Tokens:
        """What the buffer's bytes must be when it is read; remembered while it lives."""
        if buffer not in self.contents:
            self.contents[buffer] = self._content(buffer)
        return self.contents[buffer]

    def _content(self, buffer: Buffer) -> Tokens:
        view = self.program.views.get(buffer)
        if view is not None and view.role is ViewRole.SLICE:
            end = self._units(view.offset_bytes + buffer.size_bytes)
            return self.content(view.base)[view.offset_bytes // self.unit : end]
        tokens = self._tokens(buffer, buffer.size_bytes)
        covered = np.zeros(tokens.shape, np.bool_)
        for part in self.parts.get(buffer, ()):
            places = part.offset_bytes // self.unit + _places(part, self.unit)
            if covered[places].any():
                raise _fail(self.program, f"parts of {buffer.name!r} overlap")
            covered[places] = True
            tokens[places] = self.content(part.buffer)
        if buffer not in self.written and not covered.all():
            raise _fail(self.program, f"parts of {buffer.name!r} leave bytes that nobody writes")
        return tokens

    def _memory(self, buffer: Buffer) -> Tokens:
        root, inner = self.program.root(buffer)
        start = (self.offsets[root] + inner) // self.unit
        found: npt.NDArray[Any] = self.memory[start : start + self._units(buffer.size_bytes)]
        return found

    def _read(self, buffer: Buffer, reader: str) -> None:
        if self.program.root(buffer)[0].data is not None:
            return
        if not np.array_equal(self._memory(buffer), self.content(buffer)):
            raise _fail(
                self.program, f"{reader} reads {buffer.name!r}, which is not or no longer there"
            )

    def _write(self, buffer: Buffer) -> None:
        """Bytes that are parts of a concatenation are there already and stay."""
        memory, tokens = self._memory(buffer), self.content(buffer)
        if buffer not in self.parts and buffer not in self.program.views:
            memory[:] = tokens
            return
        own = tokens >> _BYTE_BITS == self.numbers.get(buffer, _NOBODY)
        memory[own] = tokens[own]

    def _cascade(self, cascade: Cascade) -> None:
        self._verify_apart(cascade)
        CascadeMachine(
            cascade,
            self.memory,
            lambda buffer: self._span(buffer)[0],
            self.content,
            self._tokens,
        ).run()
        for buffer in cascade.outputs:
            view = self.program.views.get(buffer)
            places = self._span(buffer)[0] + _places(view or View(buffer, buffer))
            if not np.array_equal(self.memory[places], self.content(buffer)):
                raise _fail(self.program, f"rows of {buffer.name!r} do not last")

    def _tokens(self, buffer: Buffer, size: int) -> Tokens:
        number = self.numbers.setdefault(buffer, len(self.numbers))
        first = number << _BYTE_BITS
        return np.arange(first, first + self._units(size), dtype=np.int64)

    def _verify_apart(self, cascade: Cascade) -> None:
        """Local buffers keep the distances that the cascade states."""
        for (a, b), forbidden in cascade.apart.items():
            difference = self._span(b)[0] - self._span(a)[0]
            if any(low < difference < high for low, high in forbidden):
                raise _fail(self.program, f"{a.name!r} and {b.name!r} are too near to each other")

    def _bury(self, step: int, but: Sequence[Buffer] = ()) -> None:
        """Nobody may rely on what dead buffers held."""
        kept = [(self._memory(buffer), self._memory(buffer).copy()) for buffer in but]
        for root in self.dying.get(step, ()):
            self._memory(root)[:] = _NOBODY
            for buffer in (root, *self.views_of.get(root, ())):
                self.contents.pop(buffer, None)
        for memory, tokens in kept:
            memory[:] = tokens

    def _verify_operands(self, run: Run) -> None:
        """Written bytes are nobody else's, save by a declared overwrite or as a part in place."""
        ours = [*run.outputs, *([run.scratch] if run.scratch is not None else [])]
        spans = {buffer: self._span(buffer) for buffer in run.operands}
        for index, result in enumerate(ours):
            others = [other for other in ours[index + 1 :] if other is not result]
            for other in (*run.inputs, *others):
                start, end = spans[result]
                if spans[other][0] >= end or start >= spans[other][1]:
                    continue
                if not self._may_share(run, result, other):
                    raise _fail(
                        self.program,
                        f"{run.node.name!r} writes {result.name!r} over {other.name!r}",
                    )

    def _span(self, buffer: Buffer) -> tuple[int, int]:
        root, inner = self.program.root(buffer)
        if root.data is not None:
            return _NOBODY, _NOBODY
        start = self.offsets[root] + inner
        return start, start + buffer.size_bytes

    def _may_share(self, run: Run, result: Buffer, other: Buffer) -> bool:
        view, positions = self.program.views.get(result), _positions(run, other)
        overwrites = view is not None and view.role is ViewRole.OVERWRITE
        if overwrites and self._span(other) == self._span(result):
            allowed = run.node.op.in_place(run.node.signature)
            return bool(positions) and all(position in allowed for position in positions)
        if result is run.outputs[0] and positions and self._keeps_distance(run, result, other):
            return True
        contained = run.node.op.contained_operands(run.node.signature)
        root = self.program.root(other)[0]
        return root is self.program.root(result)[0] and any(
            self._span(other)[0] == self._span(result)[0] + contained[position]
            for position in positions
            if position in contained
        )

    def _keeps_distance(self, run: Run, result: Buffer, operand: Buffer) -> bool:
        """Whether the kernel reads what it needs of the operand before the result is there."""
        gap = self._span(operand)[0] - self._span(result)[0]
        rules = [run.overlaps.get(position) for position in _positions(run, operand)]
        return all(rule is not None and rule.is_kept(gap) for rule in rules)


def _places(view: View, unit: int = 1) -> Tokens:
    """The view's units of so many bytes, in order, counted from its first."""
    places = np.arange(-(-view.buffer.size_bytes // unit), dtype=np.int64)
    if not view.row_pitch:
        return places
    row_units = view.buffer.size_bytes // view.buffer.type.shape[1] // unit
    return places // row_units * (view.row_pitch // unit) + places % row_units


def _positions(run: Run, buffer: Buffer) -> list[int]:
    return [
        position
        for other, position in zip(run.inputs, run.positions, strict=True)
        if other is buffer
    ]
