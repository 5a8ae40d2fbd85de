"""Graph and selected kernels become a program: one buffer a value, one `Run` a computing node."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Protocol

from glowmcu.ir.graph import Graph, Node, Value
from glowmcu.ir.kernel_code import Overlap, RowSupport
from glowmcu.ir.operation import Constant
from glowmcu.ir.program import (
    Buffer,
    Instruction,
    Program,
    Run,
    StateBuffer,
    StreamedInput,
    View,
    ViewRole,
)
from glowmcu.ir.types import ElementType, TensorType
from glowmcu.memplan.instructions import arranged


class KernelChoice(Protocol):
    """A selected kernel as memory planning sees it."""

    @property
    def kernel_name(self) -> str: ...
    @property
    def operands(self) -> tuple[int, ...]: ...
    @property
    def scratch_bytes(self) -> int: ...
    @property
    def holds_pointers(self) -> bool: ...
    @property
    def prefetches(self) -> bool: ...
    @property
    def operand_align(self) -> int: ...
    @property
    def overlaps(self) -> Mapping[int, Overlap]: ...
    @property
    def rows(self) -> RowSupport | None: ...


def build_program(
    graph: Graph,
    choices: Mapping[Node, KernelChoice],
    with_rows: bool = False,
    streamed_input: str | None = None,
    external: Collection[Value] = (),
) -> Program:
    """Buffers and instructions in graph order; nothing is shared or placed yet.

    `with_rows`: runs know how they go row by row. `streamed_input` names the input that the
    application hands over row by row; `external` are inputs that the application keeps in its own
    memory.
    """
    buffers = {
        value: Buffer(value.name, value.type, external=value in external) for value in graph.inputs
    }
    instructions: list[Instruction] = []
    for node in graph.nodes:
        if isinstance(node.op, Constant):
            buffers[node.output] = Buffer(node.output.name, node.output.type, node.op.data)
        elif node in choices:
            instructions.append(_run(node, choices[node], buffers, with_rows))
        else:
            instructions.extend(_views(node, buffers))
    outputs = tuple(buffers[value] for value in graph.results)
    inputs = tuple(buffers[value] for value in graph.arguments)
    kept = tuple(buffers[value] for value in graph.kept)
    taken = next((_streamed(buffer) for buffer in inputs if buffer.name == streamed_input), None)
    assert streamed_input is None or taken is not None, f"no input is named {streamed_input!r}"
    program = Program(
        graph.name, inputs, outputs, tuple(instructions), kept=kept, streamed_input=taken
    )
    return _with_states(program, graph, buffers) if graph.states else program


def _with_states(program: Program, graph: Graph, buffers: Mapping[Value, Buffer]) -> Program:
    """The program with states: the new value is written where the state is, by its producer."""
    states = tuple(
        StateBuffer(buffers[state.value], buffers[value], state.initial)
        for state, value in zip(graph.states, graph.assigned, strict=True)
    )
    updated = {state.updated for state in states}
    views = [View(item.updated, item.buffer, 0, ViewRole.OVERWRITE) for item in states]
    # Rows as they come would overwrite what others still read.
    runs = [
        replace(run, rows=None) if updated.intersection(run.outputs) else run
        for run in program.runs
    ]
    # Behind the mark samples and the runs that each stage waits are counted, if nothing else says
    # when it computes.
    counted = graph.rates and not any(rate.argument for rate in graph.rates)
    words = 2 + len(graph.rates) if counted else 1
    mark = Buffer("mark of a stream", TensorType((words,), ElementType.I32))
    begins = not all(state.is_carried for state in graph.states)
    program = replace(program, states=states, mark=mark if begins else None, rates=graph.rates)
    return arranged(program, runs, [*program.views.values(), *views])


def _streamed(buffer: Buffer) -> StreamedInput:
    counter = Buffer(f"{buffer.name}/rows pushed", TensorType((1,), ElementType.I32))
    return StreamedInput(buffer, counter)


def _run(node: Node, choice: KernelChoice, buffers: dict[Value, Buffer], with_rows: bool) -> Run:
    inputs = tuple(buffers[node.inputs[operand]] for operand in choice.operands)
    for value in node.outputs:
        buffers[value] = Buffer(value.name, value.type)
    outputs = tuple(buffers[value] for value in node.outputs)
    scratch = None
    if choice.scratch_bytes:
        type_ = TensorType((choice.scratch_bytes,), ElementType.I8)
        if choice.scratch_bytes % 8 == 0 and (choice.holds_pointers or _holds_wide(node)):
            type_ = TensorType((choice.scratch_bytes // 8,), ElementType.I64)
        scratch = Buffer(f"{node.name}/scratch", type_)
    return Run(
        node,
        choice.kernel_name,
        inputs,
        outputs,
        scratch,
        choice.operands,
        choice.operand_align,
        choice.overlaps,
        choice.rows if with_rows else None,
        prefetches=choice.prefetches,
    )


def _holds_wide(node: Node) -> bool:
    """Whether tensors of eight bytes an element lie in the scratch: those of a body."""
    return any(
        _holds_wide(inner)
        or any(value.type.element.size_bytes == 8 for value in (*inner.outputs, *graph.inputs))
        for graph in node.op.inner_graphs()
        for inner in graph.nodes
    )


def _views(node: Node, buffers: dict[Value, Buffer]) -> list[Instruction]:
    views: list[Instruction] = []
    for result, operand in node.op.aliases(node.signature).items():
        value = node.outputs[result]
        buffers[value] = Buffer(value.name, value.type)
        offset = node.op.alias_offset(node.signature, result)
        views.append(View(buffers[value], buffers[node.inputs[operand]], offset))
    return views
