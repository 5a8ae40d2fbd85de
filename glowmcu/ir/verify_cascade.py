"""Symbolic execution of a cascade: every row that is read is found where the plan says it is.

Bytes hold tokens, as in `verify_program.py`: who wrote them and which byte of the tensor they are.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from glowmcu.ir.cascade import Cascade, RowRun, Stage
from glowmcu.ir.graph import VerificationError
from glowmcu.ir.instructions import Buffer
from glowmcu.ir.kernel_code import RowCall, RowRule

Tokens = npt.NDArray[Any]
_NOBODY = -1


class CascadeMachine:
    """Runs a cascade on symbolic memory.

    `place` gives a buffer's first byte; `content` the tokens of a whole tensor outside of the
    cascade; `tokens_of(buffer, bytes, part)` those of a part of what lives inside, which has
    `bytes` bytes with all of its rows.
    """

    def __init__(
        self,
        cascade: Cascade,
        memory: Tokens,
        place: Callable[[Buffer], int],
        content: Callable[[Buffer], Tokens],
        tokens_of: Callable[[Buffer, int, slice], Tokens],
    ) -> None:
        self.cascade = cascade
        self.memory = memory
        self.place = place
        self.content = content
        self.tokens_of = tokens_of
        self.made = [0] * len(cascade.stages)

    def run(self) -> None:
        """Raise VerificationError if a row is not there, or not all rows are made."""
        for index in self.cascade.order:
            self._turn(index)
        last = self.cascade.stages[-1]
        if self.made[-1] != last.rows:
            raise VerificationError(f"a cascade makes {self.made[-1]} of {last.rows} rows")

    def _turn(self, index: int) -> None:
        stage, y = self.cascade.stages[index], self.made[index]
        ring = stage.result if stage.result in self.cascade.rings else None
        if ring is not None:
            self._slide(ring)
        if stage.input_ring is not None:
            start, tokens = self._written(stage, stage.input_ring, y)
            self.memory[start : start + len(tokens)] = tokens
        for item in stage.runs:
            self._row(stage, item, y)
        self.made[index] += 1

    def _slide(self, ring: Buffer) -> None:
        start, size = self.place(ring), ring.size_bytes
        row = size // ring.type.shape[1]
        self.memory[start : start + size - row] = self.memory[start + row : start + size].copy()
        self.memory[start + size - row : start + size] = _NOBODY

    def _row(self, stage: Stage, item: RowRun, y: int) -> None:
        run = item.run
        wanted = [
            self._operand(stage, buffer, rule, y)
            for buffer, rule in zip(run.inputs, item.rules, strict=True)
        ]
        if item.call is RowCall.ACCUMULATE:
            self._accumulate(item, y, wanted)
            return
        result = run.outputs[0]
        start, tokens = self._written(stage, result, y)
        overlapped = [
            index for index, buffer in enumerate(run.inputs) if self._may_overlap(buffer, result)
        ]
        self._check(item, wanted, overlapped)
        self.memory[start : start + len(tokens)] = _NOBODY
        self._spoil_scratch(item)
        self._check(item, wanted, [i for i in range(len(wanted)) if i not in overlapped])
        self.memory[start : start + len(tokens)] = tokens

    def _may_overlap(self, operand: Buffer, result: Buffer) -> bool:
        """Kernels that promise to read before they write; the distance is checked elsewhere."""
        return (
            operand not in self.cascade.inputs
            and (operand, result) in self.cascade.forbidden_offsets
        )

    def _accumulate(self, item: RowRun, y: int, wanted: list[tuple[int, Tokens]]) -> None:
        scratch = item.run.scratch
        if scratch is not None:
            start = self.place(scratch)
            sums = self.memory[start : start + scratch.size_bytes]
            tokens = self.tokens_of(scratch, scratch.size_bytes, slice(None))
            if y > 0 and not np.array_equal(sums, tokens):
                raise VerificationError(f"{item.run.node.name!r} loses its sums")
            sums[:] = tokens
        self._check(item, wanted, range(len(wanted)))
        if y + 1 == item.rules[0].rows:
            result = item.run.outputs[0]
            start = self.place(result)
            self.memory[start : start + result.size_bytes] = self.content(result)

    def _spoil_scratch(self, item: RowRun) -> None:
        if item.run.scratch is not None:
            start = self.place(item.run.scratch)
            self.memory[start : start + item.run.scratch.size_bytes] = _NOBODY

    def _check(
        self, item: RowRun, wanted: list[tuple[int, Tokens]], indices: list[int] | range
    ) -> None:
        for index in indices:
            start, tokens = wanted[index]
            if start < 0 or not np.array_equal(self.memory[start : start + len(tokens)], tokens):
                name = item.run.inputs[index].name
                raise VerificationError(
                    f"{item.run.node.name!r} reads rows of {name!r} that are not or no longer there"
                )

    def _operand(self, stage: Stage, buffer: Buffer, rule: RowRule, y: int) -> tuple[int, Tokens]:
        """Where the rows under row y must be, and what they must hold."""
        first, end = rule.first(y), rule.end(y)
        start = self.place(buffer)
        if buffer in self.cascade.rings:
            made, rows = self.made[self.cascade.rings[buffer]], buffer.type.shape[1]
            if end > made or first < made - rows:
                raise VerificationError(f"rows {first}..{end} of {buffer.name!r} are not there")
            pitch = buffer.size_bytes // rows
            tokens = self._inside(buffer, pitch, rule.rows, first, end)
            return start + (rows - made + first) * pitch, tokens
        if buffer in self.cascade.inputs:
            pitch = buffer.size_bytes // rule.rows
            tokens = self.content(buffer)
            return start + first * pitch, tokens[first * pitch : end * pitch]
        return start, self._inside(buffer, buffer.size_bytes, rule.rows, first, end)

    def _written(self, stage: Stage, result: Buffer, y: int) -> tuple[int, Tokens]:
        """Where row y of a result goes, and what it is."""
        start = self.place(result)
        if result in self.cascade.outputs:
            place, pitch = self.cascade.result_row(stage, y)
            return start + place, self.content(result)[y * pitch : (y + 1) * pitch]
        rows = result.type.shape[1]
        pitch = result.size_bytes // rows
        return start + (rows - 1) * pitch, self._inside(result, pitch, stage.rows, y, y + 1)

    def _inside(self, buffer: Buffer, pitch: int, rows: int, first: int, end: int) -> Tokens:
        """Tokens of rows `first` to `end` of `rows`, of which the cascade has only some at a time:
        all of them together would be an image as large as those that it avoids.
        """
        return self.tokens_of(buffer, pitch * rows, slice(first * pitch, end * pitch))
