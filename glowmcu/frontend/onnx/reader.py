"""An `.onnx` file becomes a graph, or one error that lists everything that stands in the way."""

from __future__ import annotations

import difflib
import heapq
from collections.abc import Sequence
from dataclasses import replace

from glowmcu.errors import GlowmcuError, Problem, error
from glowmcu.frontend.known_inputs import exit_code_for, unknown_inputs, unknown_symbols
from glowmcu.frontend.onnx.container import NodeRecord, OnnxRecord, read_onnx_container
from glowmcu.frontend.onnx.fold_qdq import fold_qdq
from glowmcu.frontend.onnx.importer import Import, load_importers
from glowmcu.frontend.unsupported import Unsupported
from glowmcu.input_options import InputOptions
from glowmcu.ir.graph import Graph, Value


def read_onnx(
    data: bytes,
    file_name: str,
    options: InputOptions | None = None,
) -> Graph:
    """Import the model in `data`.

    Raises GlowmcuError: GM101 damaged file (exit 2); GM102 to GM113 with every problem at once.
    """
    model = read_onnx_container(data, file_name, load_importers())
    options = options or InputOptions()
    state = Import(model, options)
    problems = _unknown_options(model, options, file_name)
    inputs: list[Value] = []
    for record in model.inputs:
        try:
            if record.name in options.bind:
                state.bound_input(record)
            else:
                inputs.append(state.graph_input(record))
        except Unsupported as cause:
            problems.append(cause.problem(f"{file_name}, input {record.name!r}"))
    if not problems:
        problems = _import_nodes(state, file_name)
    outputs: list[Value] = []
    if not problems:
        try:
            outputs = [_output(state, name) for name in model.outputs]
        except Unsupported as cause:
            problems.append(cause.problem(f"{file_name}, outputs"))
    if problems:
        raise GlowmcuError(problems, exit_code_for(problems))
    if not outputs:
        raise error("GM101", "the model has no outputs", file_name)
    graph = fold_qdq(state.builder.graph(inputs, outputs))
    return _with_output_names(graph, model.outputs)


def _output(state: Import, name: str) -> Value:
    """The value of a model output, if it has the type that the file says."""
    value = state.named_value(name)
    element, type_name = state.model.output_types[name]
    if type_name != "UNDEFINED" and element is not value.type.element:
        raise Unsupported(
            "GM105",
            f"output {name!r} is {type_name}, which cannot be computed as such; "
            f"got {value.type.element.numpy}",
            "export the model in float32",
        )
    return value


def _with_output_names(graph: Graph, names: Sequence[str]) -> Graph:
    """Outputs called as in the file, also where several nodes stand for the one that makes them.

    A value that is an input or another output as well keeps its name.
    """
    renamed: dict[Value, Value] = {}
    for value, name in zip(graph.results, names, strict=True):
        if value in graph.producers and value not in renamed and value.name != name:
            renamed[value] = Value(value.type, name)
    nodes = [
        replace(
            node,
            inputs=tuple(renamed.get(value, value) for value in node.inputs),
            outputs=tuple(renamed.get(value, value) for value in node.outputs),
        )
        for node in graph.nodes
    ]
    return graph.replace(nodes, outputs=[renamed.get(value, value) for value in graph.outputs])


def _unknown_options(model: OnnxRecord, options: InputOptions, file_name: str) -> list[Problem]:
    sizes = [size for record in model.inputs for size in record.sizes or ()]
    symbols = list(dict.fromkeys(size for size in sizes if isinstance(size, str)))
    return [
        *unknown_inputs(options, [record.name for record in model.inputs], file_name),
        *unknown_symbols(options.symbols, symbols, file_name),
    ]


def _import_nodes(state: Import, file_name: str) -> list[Problem]:
    """Import every node; those downstream of a refused one are not reported for that alone."""
    importers = load_importers()
    problems: list[Problem] = []
    unknown: set[str] = set()
    for op in _in_order_of_use(state.model):
        where = _where(op, file_name)
        function = importers.get((op.domain, op.kind))
        if function is None:
            problems.append(_unsupported_operator(op, where, state.model))
        elif unknown.isdisjoint(op.inputs):
            try:
                function(state, op)
                continue
            except Unsupported as cause:
                problems.append(cause.problem(where))
            except MemoryError as cause:
                text = f"{op.kind} needs more memory than there is: {str(cause)[:200]}"
                problems.append(Problem("GM114", text, where))
            except (ValueError, TypeError, LookupError, ArithmeticError, AttributeError) as cause:
                text = f"{op.kind} is damaged: {str(cause)[:200]}"
                problems.append(Problem("GM101", text, where))
        unknown.update(name for name in op.outputs if name)
    return problems


def _in_order_of_use(model: OnnxRecord) -> list[NodeRecord]:
    """Every node after those that it reads from: some exporters write them in another order.

    A node of a cycle keeps its place at the end, where its operands are reported as missing.
    """
    made_by = {name: op for op in model.nodes for name in op.outputs if name}
    waits = {
        op.index: {made_by[name].index for name in op.inputs if name in made_by}
        for op in model.nodes
    }
    readers: dict[int, list[int]] = {}
    for index, sources in waits.items():
        for source in sources:
            readers.setdefault(source, []).append(index)
    ready = [index for index, sources in waits.items() if not sources]
    heapq.heapify(ready)
    order: list[int] = []
    while ready:
        index = heapq.heappop(ready)
        order.append(index)
        for reader in readers.get(index, ()):
            waits[reader].discard(index)
            if not waits[reader]:
                heapq.heappush(ready, reader)
    placed = set(order)
    order += [op.index for op in model.nodes if op.index not in placed]
    return [model.nodes[index] for index in order]


def _unsupported_operator(op: NodeRecord, where: str, model: OnnxRecord) -> Problem:
    name = op.kind if op.domain == "ai.onnx" else f"{op.domain}.{op.kind}"
    known = [kind for domain, kind in load_importers() if domain == op.domain]
    near = difflib.get_close_matches(op.kind, known, n=3, cutoff=0.6)
    hint = f"nearest: {', '.join(near)}; " if near else ""
    message = f"operator {name} (opset {model.opsets.get(op.domain, '?')}) is not supported"
    return Problem("GM102", message, where, f"{hint}`glowmcu ops` lists what is")


def _where(op: NodeRecord, file_name: str) -> str:
    name = op.name or next((name for name in op.outputs if name), "")
    return f'{file_name}, node {op.index} "{name[:120]}"'
