"""A planned program run in one real byte array: the proof that sharing bytes breaks nothing.

Every operand is read from the arena and every result written to it. What a kernel does not promise
is made to hurt: results and scratch are filled with garbage before operands are read (unless a
result overwrites its operand by declaration, or keeps the distance that the kernel asks for), and
dead bytes after each step. Weights that come in while the step before runs are there from its
beginning. That a kernel really reads an operand before it writes a result there is
for the tests of the generated C to show.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from glowmcu.ir.graph import Graph, evaluate_node
from glowmcu.ir.operation import Array
from glowmcu.ir.program import Buffer, Cascade, Program, Run, ViewRole
from glowmcu.memplan.byte_arena import GARBAGE, ByteArena
from glowmcu.memplan.execute_cascade import CascadeExecution
from glowmcu.memplan.execute_divided import execute_divided
from glowmcu.memplan.execute_overlap import block_rows, execute_blocks, sharing_operands
from glowmcu.memplan.execute_rows import held_constants

__all__ = ["GARBAGE", "execute_program"]

#: Stands for how many rows were pushed, and for the mark of a stream: must stay what it is.
_COUNT = 0x01020304


def execute_program(
    program: Program,
    graph: Graph,
    inputs: Sequence[Array],
    arena_bytes: int,
    cores: tuple[int, int] = (0, 1),
) -> list[Array]:
    """Outputs of one inference; inputs and outputs in the graph's order, with those of states.

    `graph` gives the constants that kernels hold, and the rounding. `cores`: which of two cores
    that share runs has its turns first.
    """
    return _Machine(program, graph, arena_bytes, cores).run(inputs)


class _Machine:
    def __init__(
        self, program: Program, graph: Graph, arena_bytes: int, cores: tuple[int, int]
    ) -> None:
        self.cores = cores
        self.program = program
        self.graph = graph
        self.arena = ByteArena(program, arena_bytes)

    def run(self, inputs: Sequence[Array]) -> list[Array]:
        counters = self.program.constantly_there
        states = [state.buffer for state in self.program.states]
        for buffer, array in zip((*self.program.inputs, *states), inputs, strict=True):
            if (
                self.program.streamed_input is not None
                and buffer is self.program.streamed_input.buffer
            ):
                self.arena.streamed_input = array.tobytes()
            else:
                self.arena.give(buffer, array)
        for counter in counters:
            self.arena.write(counter, np.full(counter.type.shape, _COUNT, np.int32))
        self._bury(-1, ())
        for step, item in enumerate(self.program.steps):
            if isinstance(item, Cascade):
                CascadeExecution(item, self.arena, self.graph).run()
            elif item.division is not None:
                execute_divided(item, self.arena, self.graph, self.cores)
            else:
                self._prefetch(step)
                self._run(item)
            self._bury(step, item.outputs)
        for buffer, array in zip(self.program.inputs, inputs, strict=False):
            if buffer in self.program.kept:
                assert np.array_equal(self.arena.read(buffer), array), buffer.name
        for counter in counters:
            assert (self.arena.read(counter) == _COUNT).all(), f"{counter.name!r} was written"
        left = [state.updated for state in self.program.states]
        return [self.arena.read(buffer) for buffer in (*self.program.outputs, *left)]

    def _prefetch(self, step: int) -> None:
        """What came in while the step before ran is still there; what comes in now is, at once."""
        there = self.program.prefetched.get(step - 1)
        if there is not None:
            found = self.arena.load(self.arena.start(there), there.size_bytes)
            assert found == _weights(there), f"{there.name!r} was written after it came in"
        coming = self.program.prefetched.get(step)
        if coming is not None:
            self.arena.store(self.arena.start(coming), _weights(coming))

    def _run(self, run: Run) -> None:
        sharing = sharing_operands(run, self.arena)
        early = [*self._contained(run), *sharing.values()]
        kept = [self.arena.read(buffer) for buffer in early]
        self._spoil(run.outputs[:1])
        for buffer, array in zip(early, kept, strict=True):
            self.arena.write(buffer, array)
        # Nothing lets other results or scratch lie in an operand.
        self._spoil(run.operands[len(run.inputs) + 1 :])
        rows = block_rows(run, sharing) if sharing else 0
        if rows:
            execute_blocks(run, self.arena, self.graph, rows)
            return
        results = evaluate_node(run.node, self._operands(run), self.graph.rounding)
        for buffer, array in zip(run.outputs, results, strict=True):
            self.arena.write(buffer, array)

    def _spoil(self, written: Sequence[Buffer]) -> None:
        """Fill with garbage what is not declared to overwrite an operand."""
        for buffer in written:
            view = self.program.views.get(buffer)
            if view is None or view.role is not ViewRole.OVERWRITE:
                self.arena.spoil(buffer)

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

    def _operands(self, run: Run) -> list[Array]:
        held = dict(zip(run.positions, run.inputs, strict=True))
        constants = held_constants(run.node, self.graph, held)
        return [
            self.arena.read(held[position]) if position in held else constants[position]
            for position in range(len(run.node.inputs))
        ]

    def _bury(self, step: int, results: Sequence[Buffer]) -> None:
        """Spoil what dies; results may lie where an operand was."""
        kept = [self.arena.read(buffer) for buffer in results]
        for buffer, life in self.program.lives.items():
            if life.last == step:
                self.arena.spoil(buffer)
        for buffer, array in zip(results, kept, strict=True):
            self.arena.write(buffer, array)


def _weights(buffer: Buffer) -> bytes:
    """Stands for weights that are copied into a buffer."""
    return bytes(index * 37 + 11 & 0xFF for index in range(buffer.size_bytes))
