"""Runs that pass rows on to each other, so that only the rows still needed exist.

A cascade's stages each make one row at a time; `order` says whose turn it is. A stage ends in a
ring (rows that other stages read, the newest one last), in the cascade's result, or in a small
result that it accumulates. Nothing is computed twice.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from glowmcu.ir.instructions import Buffer, Run
from glowmcu.ir.kernel_code import Overlap, RowCall, RowRule


@dataclass(frozen=True, eq=False)
class RowRun:
    """One kernel in a stage. `rules[i]` is for input i of `run`: which rows of it.

    The buffers of `run` are those of the cascade: whole tensors outside, rings and single rows
    inside.
    """

    run: Run
    call: RowCall
    rules: tuple[RowRule, ...]


@dataclass(frozen=True, eq=False)
class Stage:
    """Kernels that follow each other for every row; `rows` is how often it has its turn."""

    runs: tuple[RowRun, ...]
    rows: int

    @property
    def result(self) -> Buffer:
        """What the last kernel writes: a ring, the cascade's result, or what it accumulates."""
        return self.runs[-1].run.outputs[0]


@dataclass(frozen=True, eq=False)
class Cascade:
    """Stages and their turns. `rings` gives the stage that makes a ring's rows.

    `apart[a, b]`: open intervals of offset(b) - offset(a) that two local buffers must avoid, or a
    local one and an input, of which rows die before the local one comes into use; pairs
    that are not named share no byte. `overlaps`: what the result may share with inputs.
    """

    stages: tuple[Stage, ...]
    order: tuple[int, ...]
    inputs: tuple[Buffer, ...]
    outputs: tuple[Buffer, ...]
    rings: Mapping[Buffer, int]
    apart: Mapping[tuple[Buffer, Buffer], tuple[tuple[int, int], ...]] = field(default_factory=dict)
    overlaps: Mapping[Buffer, Overlap] = field(default_factory=dict)

    @cached_property
    def runs(self) -> tuple[Run, ...]:
        """All kernels, stage by stage."""
        return tuple(item.run for stage in self.stages for item in stage.runs)

    @cached_property
    def locals(self) -> tuple[Buffer, ...]:
        """Rings, single rows, accumulators and scratch."""
        outside = {*self.inputs, *self.outputs}
        every = (buffer for run in self.runs for buffer in run.operands)
        return tuple(b for b in dict.fromkeys(every) if b not in outside and b.data is None)

    @property
    def operands(self) -> tuple[Buffer, ...]:
        """Every buffer in the arena that it touches."""
        return (*self.inputs, *self.outputs, *self.locals)
