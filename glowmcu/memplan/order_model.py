"""The memory of every order of a program's runs, as a function of the set of runs done.

A root buffer is alive from the first run that touches it to the last, inputs from before the run
and outputs to after it, so the bytes alive between two runs depend on which runs are done, not on
their order. Sets of runs are bit masks. A run needs what is alive, what it makes and its scratch,
less the bytes of an operand that it may overwrite.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace
from typing import NamedTuple

from glowmcu.ir.program import Buffer, Program, Run, ViewRole, aligned
from glowmcu.lazy_dataclass import dataclass
from glowmcu.memplan.reuse_in_place import overwritable

#: Bit of a run that never happens: it keeps outputs and kept inputs alive.
_AFTERWARDS = 1


@dataclass(frozen=True)
class _Root:
    """`touched_by` masks runs (bit `index + 1`); `before` is set for inputs of the program."""

    size_bytes: int
    touched_by: int
    before: bool


@dataclass(frozen=True)
class _RunFacts:
    bit: int
    needs: int
    roots: tuple[_Root, ...]
    #: Roots of the result's size that the result may overwrite when nobody else needs them.
    reusable: tuple[_Root, ...]
    result_bytes: int


class Transition(NamedTuple):
    """Bytes needed while a run runs, and alive once it is done."""

    during_bytes: int
    after_bytes: int


class OrderModel:
    """Costs of orders. Run indices are those of `program.runs`."""

    def __init__(self, program: Program) -> None:
        self.count = len(program.runs)
        self.all_done = ((1 << self.count) - 1) << 1
        keys = _Keys(program)
        roots = _roots(program, keys)
        producers = _Producers(program)
        old = old_readers(program)
        self.runs = [
            _run_facts(program, index, run, roots, keys, producers, old)
            for index, run in enumerate(program.runs)
        ]
        if program.rates:
            always = {at for at, rate in enumerate(program.rates) if rate.is_always_due}
            stages = [-1 if s in always else s for s in (r.node.stage for r in program.runs)]
            self.runs = _stage_by_stage(self.runs, stages)
        self.start_bytes = sum(root.size_bytes for root in roots.values() if root.before)
        unread = sum(r.size_bytes for r in roots.values() if r.before and not r.touched_by)
        #: Alive before the first run.
        self.first_bytes = self.start_bytes - unread
        self.end_bytes = sum(r.size_bytes for r in roots.values() if r.touched_by & _AFTERWARDS)
        self.followers = [0] * self.count
        for later, facts in enumerate(self.runs):
            for index in indices(facts.needs >> 1):
                self.followers[index] |= 1 << later

    def ready(self, done: int) -> int:
        """Mask (bit = index) of runs that may come next."""
        return sum(
            1 << index
            for index, facts in enumerate(self.runs)
            if not done & facts.bit and not facts.needs & ~done
        )

    def ready_after(self, ready: int, done: int, index: int) -> int:
        """`ready` once `index` is done too (`done` includes it)."""
        ready &= ~(1 << index)
        for later in indices(self.followers[index]):
            if not self.runs[later].needs & ~done:
                ready |= 1 << later
        return ready

    def transition(self, done: int, alive_bytes: int, index: int) -> Transition:
        """Bytes during and after run `index`, after the runs in `done` with `alive_bytes` alive."""
        facts = self.runs[index]
        during = after = alive_bytes
        for root in facts.roots:
            if not root.before and not root.touched_by & done:
                during += root.size_bytes
                after += root.size_bytes
            if not root.touched_by & ~(done | facts.bit):
                after -= root.size_bytes
        if any(not root.touched_by & ~(done | facts.bit) for root in facts.reusable):
            during -= facts.result_bytes
        return Transition(during, after)

    def peak(self, order: list[int]) -> int:
        """The most bytes alive in this order."""
        done, alive = 0, self.first_bytes
        peak = max(self.start_bytes, self.end_bytes)
        for index in order:
            step = self.transition(done, alive, index)
            peak, alive = max(peak, step.during_bytes), step.after_bytes
            done |= self.runs[index].bit
        return peak

    @property
    def key(self) -> Hashable:
        """Equal if every order costs the same."""
        return tuple(self.runs), self.start_bytes, self.first_bytes, self.end_bytes

    @property
    def bound_bytes(self) -> int:
        """Bytes that no order is below: those of the largest run, of all inputs, of all outputs."""
        alone = [
            sum(root.size_bytes for root in facts.roots)
            - (facts.result_bytes if facts.reusable else 0)
            for facts in self.runs
        ]
        return max(self.start_bytes, self.end_bytes, *alone, 0)


def indices(mask: int) -> list[int]:
    """Set bits of a mask, ascending."""
    found = []
    while mask:
        low = mask & -mask
        found.append(low.bit_length() - 1)
        mask ^= low
    return found


#: A root buffer, or with True the bytes beside the states in it.
_Key = tuple[Buffer, bool]


class _Keys:
    """Which of a program's `_Key`s a buffer touches."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._kept: dict[Buffer, list[tuple[int, int]]] = {}
        for state in program.states:
            root, start, end = program.span(state.buffer)
            self._kept.setdefault(root, []).append((start, end))

    def of(self, buffer: Buffer) -> list[_Key]:
        root, start, end = self._program.span(buffer)
        kept = self._kept.get(root)
        if kept is None:
            return [(root, False)]
        beside = not any(first <= start and end <= last for first, last in kept)
        return [(root, False), (root, True)] if beside else [(root, False)]

    def size_bytes(self, key: _Key) -> int:
        root, beside = key
        kept = sum(end - start for start, end in self._kept.get(root, ()))
        if root not in self._kept:
            return root.size_bytes
        return root.size_bytes - kept if beside else kept


def _roots(program: Program, keys: _Keys) -> dict[_Key, _Root]:
    masks: dict[_Key, int] = {(buffer, False): 0 for buffer in program.lives}
    for index, run in enumerate(program.runs):
        for buffer in run.operands:
            if program.root(buffer)[0].in_arena:
                for key in keys.of(buffer):
                    masks[key] = masks.get(key, 0) | 2 << index
    for buffer in program.lasting:
        if program.root(buffer)[0].in_arena:
            for key in keys.of(buffer):
                masks[key] = masks.get(key, 0) | _AFTERWARDS
    inputs = {key for buffer in program.written_before for key in keys.of(buffer)}
    return {
        key: _Root(aligned(keys.size_bytes(key)), mask, key in inputs)
        for key, mask in masks.items()
    }


def _run_facts(
    program: Program,
    index: int,
    run: Run,
    roots: dict[_Key, _Root],
    keys: _Keys,
    producers: _Producers,
    readers: dict[Buffer, int],
) -> _RunFacts:
    touched = dict.fromkeys(key for buffer in run.operands for key in keys.of(buffer))
    needs = 0
    for buffer in run.inputs:
        needs |= producers.of(buffer)
    for buffer in run.outputs:
        needs |= readers.get(buffer, 0)
    reusable = {
        program.root(operand)[0]: None
        for operand in overwritable(program, run)
        if program.root(operand)[0].size_bytes == operand.size_bytes
    }
    return _RunFacts(
        2 << index,
        needs & ~(2 << index),
        tuple(roots[key] for key in touched if key in roots),
        tuple(
            roots[root, False]
            for root in reusable
            if not roots[root, False].touched_by & _AFTERWARDS
        ),
        aligned(run.outputs[0].size_bytes) if run.outputs else 0,
    )


def _stage_by_stage(runs: list[_RunFacts], stages: list[int]) -> list[_RunFacts]:
    """All of a stage comes before all of the next; what has none (-1) comes anywhere."""
    earlier = {
        stage: sum(
            facts.bit for facts, other in zip(runs, stages, strict=True) if 0 <= other < stage
        )
        for stage in set(stages)
    }
    return [
        replace(facts, needs=facts.needs | earlier[stage])
        for facts, stage in zip(runs, stages, strict=True)
    ]


def old_readers(program: Program) -> dict[Buffer, int]:
    """New value of each state -> mask of the runs that read the old one and so come first."""
    found: dict[Buffer, int] = {}
    for state in program.states:
        old = old_values(program, state.buffer)
        readers = (2 << i for i, run in enumerate(program.runs) if old.intersection(run.inputs))
        found[state.updated] = sum(readers)
    return found


def old_values(program: Program, state: Buffer) -> set[Buffer]:
    """Buffers that hold the old value of a state: it, its slices, and what it is a part of."""
    old, before = {state}, 0
    while len(old) != before:
        before = len(old)
        for view in program.views.values():
            if view.role is ViewRole.SLICE and view.base in old:
                old.add(view.buffer)
            elif view.role is ViewRole.PART and view.buffer in old:
                old.add(view.base)
    return old


class _Producers:
    """Which runs must be done before a buffer can be read."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._found: dict[Buffer, int] = {}
        self._written = {
            buffer: 2 << index for index, run in enumerate(program.runs) for buffer in run.outputs
        }
        self._parts: dict[Buffer, list[Buffer]] = {}
        for view in program.views.values():
            if view.role is ViewRole.PART:
                self._parts.setdefault(view.base, []).append(view.buffer)

    def of(self, buffer: Buffer) -> int:
        if buffer not in self._found:
            mask = self._written.get(buffer, 0)
            for part in self._parts.get(buffer, ()):
                mask |= self.of(part)
            view = self._program.views.get(buffer)
            if view is not None and view.role is ViewRole.SLICE:
                mask |= self.of(view.base)
            self._found[buffer] = mask
        return self._found[buffer]
