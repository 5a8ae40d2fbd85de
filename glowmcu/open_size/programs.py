"""A planned program at another size: the same runs at the same places, on smaller buffers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from glowmcu.ir.graph import Graph, Node, Value
from glowmcu.ir.kernel_code import KernelCode
from glowmcu.ir.program import Alloc, Buffer, Dealloc, Instruction, Program, Run, View, ViewRole
from glowmcu.ir.types import ElementType, TensorType


def program_at(
    program: Program, largest: Graph, graph: Graph, codes: Sequence[KernelCode | None]
) -> Program:
    """`program`, planned for `largest`, as it is for `graph`; `codes` are of its runs, in order."""
    return _Smaller(program, largest, graph, codes).program()


class _Smaller:
    def __init__(
        self, program: Program, largest: Graph, graph: Graph, codes: Sequence[KernelCode | None]
    ) -> None:
        self._program, self._codes = program, codes
        pairs = [*zip(largest.inputs, graph.inputs, strict=True)]
        self._nodes: dict[Node, Node] = {}
        for mine, other in zip(largest.nodes, graph.nodes, strict=True):
            self._nodes[mine] = other
            pairs += zip(mine.outputs, other.outputs, strict=True)
        self._values = dict(pairs)
        self._producers = largest.producers
        self._value_of = _values_of_buffers(program, largest)
        self._made: dict[Buffer, Buffer] = {}

    def program(self) -> Program:
        program = self._program
        runs = dict(zip(program.runs, self._codes, strict=True))
        instructions: list[Instruction] = []
        for item in program.instructions:
            if isinstance(item, Run):
                instructions.append(self._run(item, runs[item]))
            elif isinstance(item, View):
                instructions.append(self._view(item))
            elif isinstance(item, (Alloc, Dealloc)):
                instructions.append(type(item)(self._buffer(item.buffer)))
            else:
                raise AssertionError("no layers go by rows where a size is open")
        states = [
            replace(state, buffer=self._buffer(state.buffer), updated=self._buffer(state.updated))
            for state in program.states
        ]
        return replace(
            program,
            inputs=tuple(map(self._buffer, program.inputs)),
            outputs=tuple(map(self._buffer, program.outputs)),
            kept=tuple(map(self._buffer, program.kept)),
            instructions=tuple(instructions),
            offsets={self._buffer(buffer): at for buffer, at in program.offsets.items()},
            states=tuple(states),
        )

    def _buffer(self, buffer: Buffer) -> Buffer:
        if buffer not in self._made:
            value = self._value_of.get(buffer)
            made = buffer
            if value is not None:
                # Of a constant the smaller one is the beginning.
                made = Buffer(buffer.name, self._values[value].type, buffer.data, buffer.external)
            self._made[buffer] = made
        return self._made[buffer]

    def _run(self, run: Run, code: KernelCode | None) -> Run:
        scratch = run.scratch
        if scratch is not None and scratch not in self._made:
            self._made[scratch] = scratch
            if code is not None and scratch.type.element is ElementType.I8:
                type_ = TensorType((max(code.scratch_bytes, 1),), ElementType.I8)
                self._made[scratch] = Buffer(scratch.name, type_)
        return replace(
            run,
            node=self._nodes[run.node],
            inputs=tuple(map(self._buffer, run.inputs)),
            outputs=tuple(map(self._buffer, run.outputs)),
            scratch=None if scratch is None else self._made[scratch],
        )

    def _view(self, view: View) -> View:
        buffer, base = self._buffer(view.buffer), self._buffer(view.base)
        return replace(view, buffer=buffer, base=base, offset_bytes=self._offset(view))

    def _offset(self, view: View) -> int:
        """Where a part begins follows from the parts before it."""
        if view.offset_bytes == 0 or view.role is ViewRole.OVERWRITE:
            return view.offset_bytes
        if view.role is ViewRole.SLICE:
            value = self._value_of[view.buffer]
            node = self._producers[value]
            smaller = self._nodes[node]
            return smaller.op.alias_offset(smaller.signature, node.outputs.index(value))
        node = self._producers[self._value_of[view.base]]
        smaller = self._nodes[node]
        parts = node.op.contained_operands(node.signature)
        operand = next(each for each, at in parts.items() if at == view.offset_bytes)
        return smaller.op.contained_operands(smaller.signature)[operand]


def _values_of_buffers(program: Program, graph: Graph) -> Mapping[Buffer, Value]:
    """What each buffer holds; scratch holds nothing of the graph."""
    found = dict(zip(program.inputs, graph.arguments, strict=True))
    found |= zip(program.outputs, graph.results, strict=True)
    for state, stored, value in zip(program.states, graph.states, graph.assigned, strict=True):
        found[state.buffer], found[state.updated] = stored.value, value
    for run in program.runs:
        found |= zip(run.outputs, run.node.outputs, strict=True)
        for buffer, position in zip(run.inputs, run.positions, strict=True):
            found[buffer] = run.node.inputs[position]
    # What no kernel touches is between two views; names tell.
    values = (*graph.inputs, *(value for node in graph.nodes for value in node.outputs))
    by_name = {value.name: value for value in values}
    for view in program.views.values():
        for buffer in (view.buffer, view.base):
            if buffer not in found and buffer.name in by_name:
                found[buffer] = by_name[buffer.name]
    return found
