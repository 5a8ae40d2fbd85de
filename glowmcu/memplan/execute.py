"""A planned program run in one real byte array: the proof that sharing bytes breaks nothing.

Every operand is read from the arena and every result written to it. What a kernel does not promise
is made to hurt: results and scratch are filled with garbage before operands are read (unless a
result overwrites its operand by declaration), and dead bytes after each step. That a kernel really
reads an operand before it writes a result there is for the tests of the generated C to show.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from glowmcu.ir.graph import Graph, evaluate_node
from glowmcu.ir.operation import Array
from glowmcu.ir.program import Buffer, Program, Run, ViewRole

GARBAGE = 0x5A


def execute_program(
    program: Program, graph: Graph, inputs: Sequence[Array], arena_bytes: int
) -> list[Array]:
    """Outputs of one inference. `graph` gives the constants that kernels hold, and the rounding."""
    return _Machine(program, graph, arena_bytes).run(inputs)


class _Machine:
    def __init__(self, program: Program, graph: Graph, arena_bytes: int) -> None:
        self.program = program
        self.graph = graph
        self.arena = bytearray([GARBAGE]) * arena_bytes

    def run(self, inputs: Sequence[Array]) -> list[Array]:
        for buffer, array in zip(self.program.inputs, inputs, strict=True):
            self._write(buffer, array)
        self._bury(-1)
        for step, run in enumerate(self.program.runs):
            self._step(step, run)
        return [self._read(buffer) for buffer in self.program.outputs]

    def _step(self, step: int, run: Run) -> None:
        early = {
            position: self._read(buffer)
            for buffer, position in zip(run.inputs, run.positions, strict=True)
            if position in run.overlaps
        }
        contained = self._contained(run)
        kept = [self._read(buffer) for buffer in contained]
        for buffer in run.operands[len(run.inputs) :]:
            view = self.program.views.get(buffer)
            if view is None or view.role is not ViewRole.OVERWRITE:
                self._spoil(buffer)
        for buffer, array in zip(contained, kept, strict=True):
            self._write(buffer, array)
        results = evaluate_node(run.node, self._operands(run, early), self.graph.rounding)
        # Operands that die here may lie where the result goes.
        self._bury(step)
        for buffer, array in zip(run.outputs, results, strict=True):
            self._write(buffer, array)

    def _contained(self, run: Run) -> list[Buffer]:
        """Operands that already lie where the result wants them."""
        offsets = run.node.op.contained_operands(run.node.signature)
        if not offsets:
            return []
        start = self.program.offset(run.outputs[0])
        return [
            buffer
            for buffer, position in zip(run.inputs, run.positions, strict=True)
            if position in offsets
            and self.program.root(buffer)[0] is self.program.root(run.outputs[0])[0]
            and self.program.offset(buffer) == start + offsets[position]
        ]

    def _operands(self, run: Run, early: Mapping[int, Array]) -> list[Array]:
        held = dict(zip(run.positions, run.inputs, strict=True))
        operands = []
        for position, value in enumerate(run.node.inputs):
            data = self.graph.constant_data(value)
            if position in early:
                operands.append(early[position])
            elif position in held:
                operands.append(self._read(held[position]))
            else:
                assert data is not None, f"{run.node.name!r} has no pointer to {value.name!r}"
                operands.append(data)
        return operands

    def _span(self, buffer: Buffer) -> slice:
        start = self.program.offset(buffer)
        return slice(start, start + buffer.size_bytes)

    def _read(self, buffer: Buffer) -> Array:
        root, inner = self.program.root(buffer)
        if root.data is None:
            data = bytes(self.arena[self._span(buffer)])
        else:
            data = root.data.tobytes()[inner : inner + buffer.size_bytes]
        return np.frombuffer(data, buffer.type.element.numpy).reshape(buffer.type.shape)

    def _write(self, buffer: Buffer, array: Array) -> None:
        span = self._span(buffer)
        assert span.stop <= len(self.arena), f"{buffer.name!r} reaches beyond the arena"
        self.arena[span] = array.tobytes()

    def _spoil(self, buffer: Buffer) -> None:
        span = self._span(buffer)
        assert span.stop <= len(self.arena), f"{buffer.name!r} reaches beyond the arena"
        self.arena[span] = bytes([GARBAGE]) * (span.stop - span.start)

    def _bury(self, step: int) -> None:
        for buffer, life in self.program.lives.items():
            if life.last == step:
                self._spoil(buffer)
