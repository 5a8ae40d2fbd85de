"""An `.onnx` file becomes a graph, or one error that lists everything that stands in the way."""

from __future__ import annotations

import difflib
from collections.abc import Mapping

from glowmcu.errors import ExitCode, GlowmcuError, Problem, error
from glowmcu.frontend.onnx.container import NodeRecord, OnnxRecord, read_onnx_container
from glowmcu.frontend.onnx.importer import Import, load_importers
from glowmcu.frontend.unsupported import Unsupported
from glowmcu.ir.graph import Graph, Value
from glowmcu.ir.types import Shape


def read_onnx(
    data: bytes,
    file_name: str,
    input_shapes: Mapping[str, Shape] | None = None,
    symbols: Mapping[str, int] | None = None,
) -> Graph:
    """Import the model in `data`. `symbols` gives values to symbolic sizes (`--define N=1`).

    Raises GlowmcuError: GM101 damaged file (exit 2); GM102 to GM107 with every problem at once.
    """
    model = read_onnx_container(data, file_name)
    state = Import(model, input_shapes or {}, symbols or {})
    problems: list[Problem] = []
    inputs: list[Value] = []
    for record in model.inputs:
        try:
            inputs.append(state.graph_input(record))
        except Unsupported as cause:
            problems.append(cause.problem(f"{file_name}, input {record.name!r}"))
    if not problems:
        problems = _import_nodes(state, file_name)
    outputs: list[Value] = []
    if not problems:
        try:
            outputs = [state.named_value(name) for name in model.outputs]
        except Unsupported as cause:
            problems.append(cause.problem(f"{file_name}, outputs"))
    if problems:
        raise GlowmcuError(problems, ExitCode.UNSUPPORTED)
    if not outputs:
        raise error("GM101", "the model has no outputs", file_name)
    return Graph("main", tuple(inputs), tuple(state.builder.nodes), tuple(outputs))


def _import_nodes(state: Import, file_name: str) -> list[Problem]:
    """Import every node; those downstream of a refused one are not reported for that alone."""
    importers = load_importers()
    problems: list[Problem] = []
    unknown: set[str] = set()
    for op in state.model.nodes:
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
            except (ValueError, TypeError, IndexError, KeyError, OverflowError) as cause:
                text = f"{op.kind} is damaged: {str(cause)[:200]}"
                problems.append(Problem("GM101", text, where))
        unknown.update(name for name in op.outputs if name)
    return problems


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
