"""Runs that pass rows on to each other, so that only the rows still needed exist.

A cascade's stages each make one row at a time; `order` says whose turn it is. A stage ends in a
ring (rows that other stages read, the newest one last), in the cascade's result, or in a small
result that it accumulates. Nothing is computed twice. A stage without kernels takes its rows from
the application (`StreamedInput`): there the cascade waits until the next one comes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from functools import cached_property

from glowmcu.ir.instructions import Buffer, Run
from glowmcu.ir.kernel_code import Overlap, RowCall, RowRule
from glowmcu.ir.types import TensorType
from glowmcu.lazy_dataclass import dataclass


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
    """Kernels that follow each other for every row; `rows` is how often it has its turn.

    `input_ring`: the ring that the application's rows go to, of a stage without kernels.
    """

    runs: tuple[RowRun, ...]
    rows: int
    input_ring: Buffer | None = None

    @property
    def result(self) -> Buffer:
        """The buffer that the last kernel writes: a ring, the cascade's result, or accumulators."""
        return self.runs[-1].run.outputs[0] if self.input_ring is None else self.input_ring

    @property
    def row(self) -> TensorType:
        """One row of the result."""
        return self.result.type.with_shape((1, 1, *self.result.type.shape[2:]))


@dataclass(frozen=True, eq=False)
class Cascade:
    """Stages and their turns. `rings` gives the stage that makes a ring's rows.

    `forbidden_offsets[a, b]`: open intervals of offset(b) - offset(a) that two local buffers must
    avoid, or a local one and an input, of which rows die before the local one comes into use; pairs
    that are not named share no byte. `overlaps`: what the result may share with inputs.
    `row_pitch`: bytes from row to row of a result that is columns of a larger image, else 0.
    """

    stages: tuple[Stage, ...]
    order: tuple[int, ...]
    inputs: tuple[Buffer, ...]
    outputs: tuple[Buffer, ...]
    rings: Mapping[Buffer, int]
    forbidden_offsets: Mapping[tuple[Buffer, Buffer], tuple[tuple[int, int], ...]] = field(
        default_factory=dict
    )
    overlaps: Mapping[Buffer, Overlap] = field(default_factory=dict)
    row_pitch: int = 0

    def result_row(self, stage: Stage, y: int) -> tuple[int, int]:
        """The first byte and the size of row y in the cascade's result."""
        row_bytes = self.outputs[0].size_bytes // stage.rows
        return y * (self.row_pitch or row_bytes), row_bytes

    @cached_property
    def runs(self) -> tuple[Run, ...]:
        """All kernels, stage by stage."""
        return tuple(item.run for stage in self.stages for item in stage.runs)

    @cached_property
    def input_stage(self) -> int | None:
        """The stage that the application's rows come to, if there is one."""
        found = [index for index, stage in enumerate(self.stages) if stage.input_ring is not None]
        return found[0] if found else None

    @cached_property
    def streamed_rows(self) -> int:
        """How many rows of the application are read: the last ones of an image may not be."""
        return sum(stage == self.input_stage for stage in self.order)

    @cached_property
    def locals(self) -> tuple[Buffer, ...]:
        """Rings, single rows, accumulators and scratch."""
        outside = {*self.inputs, *self.outputs}
        every = (buffer for run in self.runs for buffer in run.operands)
        return tuple(b for b in dict.fromkeys(every) if b not in outside and b.in_arena)

    @property
    def operands(self) -> tuple[Buffer, ...]:
        """Every buffer in the arena that it touches."""
        return (*self.inputs, *self.outputs, *self.locals)
