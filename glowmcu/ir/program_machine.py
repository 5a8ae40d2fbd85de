"""Memory of a program run symbolically: `verify_program.py` says what for."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from glowmcu.ir.cascade import RowRun
from glowmcu.ir.graph import VerificationError
from glowmcu.ir.program import Buffer, Cascade, Program, Run, View, ViewRole
from glowmcu.ir.verify_cascade import CascadeMachine
from glowmcu.ir.verify_division import DivisionMachine, is_divided

Tokens = npt.NDArray[Any]
_NOBODY = -1
_MOST_UNIT_BYTES = 256


def failure(program: Program, text: str) -> VerificationError:
    """The error `text` with the name of the program."""
    return VerificationError(f"{program.name}: {text}")


def _unit_bytes(program: Program, offsets: Mapping[Buffer, int]) -> int:
    """How many bytes a token stands for: what is written, read and moved together.

    Every place is a multiple of it. Sizes of whole buffers need not be, since no other buffer
    begins before the end of their last unit; rows of a cascade may be of any size.
    """
    if any(isinstance(step, Cascade) or is_divided(step) for step in program.steps):
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


def _most_tokens(program: Program) -> int:
    """No buffer has more units than bytes; a cascade makes all rows of what it has some rows of."""
    # What lies outside the arena has a place here, and no life in the plan.
    buffers = {*program.lives, *program.views, *program.inputs}
    sizes = [buffer.size_bytes for buffer in buffers]
    for step in program.steps:
        for stage in step.stages if isinstance(step, Cascade) else ():
            made = [stage.result, *(buffer for item in stage.runs for buffer in _made(item))]
            sizes += [stage.rows * buffer.size_bytes for buffer in made]
    return sum(sizes)


def _made(item: RowRun) -> tuple[Buffer, ...]:
    scratch = item.run.scratch
    return item.run.outputs if scratch is None else (*item.run.outputs, scratch)


class ProgramMachine:
    """Symbolic memory: `_NOBODY` or a token for every unit. Each buffer has tokens of its own, one
    after the other, in as few bytes as all of them need: images are large.
    """

    def __init__(self, program: Program, offsets: dict[Buffer, int], size_bytes: int) -> None:
        self.program = program
        self.offsets = offsets
        self.unit = _unit_bytes(program, offsets)
        self.element = np.min_scalar_type(-max(_most_tokens(program), 1))
        self.memory: Tokens = np.full(self._units(size_bytes), _NOBODY, self.element)
        self.own: dict[Buffer, range] = {}
        self.token_count = 0
        self.parts: dict[Buffer, list[View]] = {}
        for view in program.views.values():
            if view.role in (ViewRole.PART, ViewRole.COLUMNS):
                self.parts.setdefault(view.base, []).append(view)
        self.contents: dict[Buffer, Tokens] = {}
        self.written = {buffer for step in program.steps for buffer in step.outputs}
        self.written.update((*program.inputs, *program.written_before))
        self.written.update(program.prefetched.values())
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
        for buffer in self.program.written_before:
            if buffer not in self.program.inputs:
                self._write(buffer)
        self._bury(-1)
        for step, run in enumerate(self.program.steps):
            if isinstance(run, Cascade):
                self._cascade(run)
                self._bury(step, but=run.outputs)
            else:
                self._run(step, run)
        for buffer in (*self.program.lasting, *self._external()):
            self._read(buffer, "the application")
        for buffer in self.program.constantly_there:
            self._read(buffer, "the next run")

    def _run(self, step: int, run: Run) -> None:
        self._verify_operands(run)
        if is_divided(run):
            lines = self.program.line_bytes
            DivisionMachine(run, self.memory, self._place, self.content, lines).check()
            self._bury(step, but=run.outputs)
            return
        if step in self.program.prefetched:
            # At any time while the step runs, so from its beginning.
            self._write(self.program.prefetched[step])
        for buffer in run.inputs:
            self._read(buffer, f"step {step} {run.node.name!r}")
        if step - 1 in self.program.prefetched:
            self._read(self.program.prefetched[step - 1], f"step {step} {run.node.name!r}")
        # Operands that die here may lie where the result goes.
        self._bury(step)
        for buffer in run.operands[len(run.inputs) + len(run.outputs) :]:
            self._memory(buffer)[:] = _NOBODY
        for buffer in run.outputs:
            self._write(buffer)

    def _external(self) -> list[Buffer]:
        """Buffers that no step may write to."""
        return [buffer for buffer in self.program.inputs if buffer.external]

    def content(self, buffer: Buffer) -> Tokens:
        """The tokens that the buffer's bytes must have when it is read. Kept while it lives if it
        has parts; others are soon made again, and those of all images alive would be many.
        """
        if buffer not in self.parts and buffer not in self.program.views:
            return self._content(buffer)
        if buffer not in self.contents:
            self.contents[buffer] = self._content(buffer)
        return self.contents[buffer]

    def _content(self, buffer: Buffer) -> Tokens:
        view = self.program.views.get(buffer)
        if view is not None and view.role is ViewRole.SLICE:
            end = self._units(view.offset_bytes + buffer.size_bytes)
            return self.content(view.base)[view.offset_bytes // self.unit : end]
        tokens = self._tokens(buffer, buffer.size_bytes, slice(None))
        covered = np.zeros(tokens.shape, np.bool_)
        for part in self.parts.get(buffer, ()):
            places = part.offset_bytes // self.unit + _places(part, self.unit)
            if covered[places].any():
                raise failure(self.program, f"parts of {buffer.name!r} overlap")
            covered[places] = True
            tokens[places] = self.content(part.buffer)
        if buffer not in self.written and not covered.all():
            raise failure(self.program, f"parts of {buffer.name!r} leave bytes that nobody writes")
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
            raise failure(
                self.program, f"{reader} reads {buffer.name!r}, which is not or no longer there"
            )

    def _write(self, buffer: Buffer) -> None:
        """Bytes that are parts of a concatenation are there already and stay."""
        memory, tokens = self._memory(buffer), self.content(buffer)
        if buffer not in self.parts and buffer not in self.program.views:
            memory[:] = tokens
            return
        numbers = self.own.get(buffer, range(0))
        own = (tokens >= numbers.start) & (tokens < numbers.stop)
        memory[own] = tokens[own]

    def _cascade(self, cascade: Cascade) -> None:
        self._verify_forbidden_offsets(cascade)
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
                raise failure(self.program, f"rows of {buffer.name!r} do not last")

    def _tokens(self, buffer: Buffer, size: int, part: slice) -> Tokens:
        if buffer not in self.own:
            end = self.token_count + self._units(size)
            self.own[buffer] = range(self.token_count, end)
            self.token_count = end
        own = self.own[buffer]
        assert len(own) == self._units(size) and own.stop - 1 <= np.iinfo(self.element).max
        some = own[part]
        return np.arange(some.start, some.stop, dtype=self.element)

    def _verify_forbidden_offsets(self, cascade: Cascade) -> None:
        """Local buffers keep the distances that the cascade states."""
        for (a, b), forbidden in cascade.forbidden_offsets.items():
            difference = self._span(b)[0] - self._span(a)[0]
            if any(low < difference < high for low, high in forbidden):
                raise failure(self.program, f"{a.name!r} and {b.name!r} are too near to each other")

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
        ours = [*run.outputs, *run.own_memory]
        spans = {buffer: self._span(buffer) for buffer in run.operands}
        for index, result in enumerate(ours):
            others = [other for other in ours[index + 1 :] if other is not result]
            for other in (*run.inputs, *others):
                start, end = spans[result]
                if spans[other][0] >= end or start >= spans[other][1]:
                    continue
                if not self._may_share(run, result, other):
                    raise failure(
                        self.program,
                        f"{run.node.name!r} writes {result.name!r} over {other.name!r}",
                    )

    def _place(self, buffer: Buffer) -> int | None:
        """The first byte of what lies in memory that is modelled."""
        root, inner = self.program.root(buffer)
        return None if root.data is not None else self.offsets[root] + inner

    def _span(self, buffer: Buffer) -> tuple[int, int]:
        root, inner = self.program.root(buffer)
        if root.data is not None:
            return _NOBODY, _NOBODY
        start = self.offsets[root] + inner
        return start, start + buffer.size_bytes

    def _may_share(self, run: Run, result: Buffer, other: Buffer) -> bool:
        view, positions = self.program.views.get(result), _positions(run, other)
        overwrites = view is not None and view.role is ViewRole.OVERWRITE
        if overwrites and self._span(other) == self._span(result) and result in run.outputs:
            allowed = _overwritten(run, run.outputs.index(result))
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
    """The view's units of `unit` bytes, in order, counted from its first."""
    places = np.arange(-(-view.buffer.size_bytes // unit), dtype=np.int64)
    if not view.row_pitch:
        return places
    row_units = view.buffer.size_bytes // view.buffer.type.shape[1] // unit
    return places // row_units * (view.row_pitch // unit) + places % row_units


def _overwritten(run: Run, result: int) -> tuple[int, ...]:
    """Operands whose bytes a result may take as it is written."""
    op, signature = run.node.op, run.node.signature
    updated = op.updates(signature)
    own = (updated[result],) if result in updated else ()
    return (*own, *op.in_place(signature)) if result == 0 else own


def _positions(run: Run, buffer: Buffer) -> list[int]:
    return [
        position
        for other, position in zip(run.inputs, run.positions, strict=True)
        if other is buffer
    ]
