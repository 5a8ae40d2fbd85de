"""`glowmcu inspect`: a model before it is compiled, supported or not."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path

from rich.console import RenderableType
from rich.markup import escape

from glowmcu.api.model_file import read_model_file
from glowmcu.errors import GlowmcuError, Problem
from glowmcu.frontend.notes import notes_on_file
from glowmcu.frontend.read_model import read_model
from glowmcu.frontend.state_pairs import with_states
from glowmcu.frontend.summary import ModelSummary, TensorSummary, summarize_model
from glowmcu.input_options import InputOptions
from glowmcu.ir.graph import Graph, Value
from glowmcu.report.tables import count, plain_table


@dataclass(frozen=True)
class Inspection:
    """A model file's records, and the graph's figures or the problems that prevent a graph."""

    path: Path
    file_bytes: int
    model: ModelSummary
    macs: tuple[int | None, ...]
    problems: tuple[Problem, ...]
    notes: tuple[str, ...] = ()
    states: tuple[TensorSummary, ...] = ()


def inspect_model(path: Path, options: InputOptions | None = None) -> Inspection:
    """Raises GM101, GM103, GM110 when there is nothing to show."""
    data = read_model_file(path)
    model = summarize_model(data, str(path))
    macs: list[int | None] = [None] * len(model.operators)
    problems: tuple[Problem, ...] = ()
    states: tuple[TensorSummary, ...] = ()
    try:
        asked = options or InputOptions()
        graph = with_states(read_model(data, str(path), asked), asked, str(path))
        states = tuple(_inferred(state.value.name, state.value) for state in graph.states)
        model = _with_inferred_types(model, graph)
        for node in graph.nodes:
            if node.source:
                index = int(node.source.split()[1])
                macs[index] = (macs[index] or 0) + node.macs
    except GlowmcuError as cause:
        problems = cause.problems
    notes = notes_on_file(data, str(path), options)
    return Inspection(path, len(data), model, tuple(macs), problems, notes, states)


def _with_inferred_types(model: ModelSummary, graph: Graph) -> ModelSummary:
    """Types of tensors of which the file tells no more than the name."""
    values = {value.name: value for node in graph.nodes for value in node.outputs}
    values.update({value.name: value for value in graph.inputs})

    def known(tensors: tuple[TensorSummary, ...]) -> tuple[TensorSummary, ...]:
        return tuple(
            _inferred(tensor.name, values[tensor.name])
            if tensor.sizes is None and tensor.name in values
            else tensor
            for tensor in tensors
        )

    # An operator's last node makes its results, whatever it calls them.
    last = {int(node.source.split()[1]): node for node in graph.nodes if node.source}
    for op in model.operators:
        if op.index in last:
            made = last[op.index].outputs
            values.update(zip((tensor.name for tensor in op.outputs), made, strict=False))
    operators = tuple(replace(op, outputs=known(op.outputs)) for op in model.operators)
    return replace(
        model, inputs=known(model.inputs), outputs=known(model.outputs), operators=operators
    )


def _inferred(name: str, value: Value) -> TensorSummary:
    quantization = value.type.quantization
    return TensorSummary(
        name,
        str(value.type.element.numpy),
        value.type.shape,
        quantization.scales if quantization else (),
        quantization.zero_points if quantization else (),
    )


def _type_text(tensor: TensorSummary) -> str:
    if tensor.sizes is None:
        return tensor.dtype or "-"
    sizes = "x".join("?" if size is None else str(size) for size in tensor.sizes)
    text = f"{tensor.dtype}[{sizes}]"
    if len(tensor.scales) == 1:
        return f"{text} scale {tensor.scales[0]:.6g} zp {tensor.zero_points[0]}"
    return f"{text} {len(tensor.scales)} scales" if tensor.scales else text


def inspection_lines(found: Inspection) -> list[RenderableType]:
    """Tables and lines for the terminal."""
    model = found.model
    total = sum(macs or 0 for macs in found.macs)
    head = (
        f"[bold]{escape(found.path.name)}[/]  {count(found.file_bytes)} B, "
        f"{len(model.operators)} operators, {count(model.constant_bytes)} B of constants"
    )
    lines: list[RenderableType] = [head + (f", {count(total)} MACs" if not found.problems else "")]
    tensors_by_role = (("input", model.inputs), ("output", model.outputs), ("state", found.states))
    for role, tensors in tensors_by_role:
        for tensor in tensors:
            lines.append(f"  {role:7}{escape(tensor.name)}  {escape(_type_text(tensor))}")
    table = plain_table("", ("#", "r"), ("operator", "l"), ("result", "t"), ("MACs", "r"))
    for op, macs in zip(model.operators, found.macs, strict=True):
        result = _type_text(op.outputs[0]) if op.outputs else "-"
        table.add_row(str(op.index), escape(op.name), escape(result), count(macs))
    lines.append(table)
    tally = Counter(op.name for op in model.operators)
    lines.append("  " + escape(", ".join(f"{n} x {name}" for name, n in sorted(tally.items()))))
    lines += [f"  note   {escape(note)}" for note in found.notes]
    lines += [escape(str(problem)) for problem in found.problems]
    return lines


def inspection_json(found: Inspection) -> dict[str, object]:
    """The same as data."""
    model = found.model
    return {
        "file": str(found.path),
        "format": model.format,
        "file_bytes": found.file_bytes,
        "inputs": [_tensor_json(tensor) for tensor in model.inputs],
        "outputs": [_tensor_json(tensor) for tensor in model.outputs],
        "states": [_tensor_json(tensor) for tensor in found.states],
        "operators": [
            {
                "index": op.index,
                "op": op.name,
                "macs": macs,
                "outputs": [_tensor_json(tensor) for tensor in op.outputs],
            }
            for op, macs in zip(model.operators, found.macs, strict=True)
        ],
        "problems": [
            {"code": p.code, "message": p.message, "where": p.where, "hint": p.hint}
            for p in found.problems
        ],
        "notes": list(found.notes),
    }


def _tensor_json(tensor: TensorSummary) -> dict[str, object]:
    return {
        "name": tensor.name,
        "shape": None if tensor.sizes is None else list(tensor.sizes),
        "dtype": tensor.dtype,
        "scales": list(tensor.scales),
        "zero_points": list(tensor.zero_points),
    }
