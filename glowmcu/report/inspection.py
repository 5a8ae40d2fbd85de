"""`glowmcu inspect`: a model before it is compiled, supported or not."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from rich.console import RenderableType
from rich.markup import escape

from glowmcu.api.compilation import read_model_file
from glowmcu.errors import GlowmcuError, Problem
from glowmcu.frontend.tflite.container import ModelRecord, TensorRecord, read_container
from glowmcu.frontend.tflite.reader import read_tflite
from glowmcu.report.tables import count, plain_table


@dataclass(frozen=True)
class Inspection:
    """A model file's records, and the graph's figures or the problems that prevent a graph."""

    path: Path
    file_bytes: int
    model: ModelRecord
    macs: tuple[int | None, ...]
    problems: tuple[Problem, ...]


def inspect_model(path: Path) -> Inspection:
    """Raises GM101, GM103, GM110 when there is nothing to show."""
    data = read_model_file(path)
    model = read_container(data, str(path))
    macs: list[int | None] = [None] * len(model.operators)
    problems: tuple[Problem, ...] = ()
    try:
        graph = read_tflite(data, str(path))
        for node in graph.nodes:
            if node.source.startswith("operator "):
                index = int(node.source.split()[1])
                macs[index] = (macs[index] or 0) + node.macs
    except GlowmcuError as cause:
        problems = cause.problems
    return Inspection(path, len(data), model, tuple(macs), problems)


def _type_text(record: TensorRecord) -> str:
    text = f"{record.type_name.lower()}[{'x'.join(map(str, record.shape))}]"
    if len(record.scales) == 1:
        return f"{text} scale {record.scales[0]:.6g} zp {record.zero_points[0]}"
    return f"{text} {len(record.scales)} scales" if record.scales else text


def inspection_lines(found: Inspection) -> list[RenderableType]:
    """Tables and lines for the terminal."""
    model = found.model
    total = sum(macs or 0 for macs in found.macs)
    constant_bytes = sum(len(t.data) for t in model.tensors if t.data is not None)
    head = (
        f"[bold]{escape(found.path.name)}[/]  {count(found.file_bytes)} B, "
        f"{len(model.operators)} operators, {count(constant_bytes)} B of constants"
    )
    lines: list[RenderableType] = [head + (f", {count(total)} MACs" if not found.problems else "")]
    for role, indices in (("input", model.inputs), ("output", model.outputs)):
        for index in indices:
            record = model.tensors[index]
            lines.append(f"  {role:7}{escape(record.name)}  {escape(_type_text(record))}")
    table = plain_table("", ("#", "r"), ("operator", "l"), ("result", "l"), ("MACs", "r"))
    for op, macs in zip(model.operators, found.macs, strict=True):
        result = _type_text(model.tensors[op.outputs[0]]) if op.outputs else "-"
        table.add_row(str(op.index), escape(op.name), escape(result), count(macs))
    lines.append(table)
    tally = Counter(op.name for op in model.operators)
    lines.append("  " + escape(", ".join(f"{n} x {name}" for name, n in sorted(tally.items()))))
    lines += [escape(str(problem)) for problem in found.problems]
    return lines


def inspection_json(found: Inspection) -> dict[str, object]:
    """The same as data."""
    model = found.model
    return {
        "file": str(found.path),
        "file_bytes": found.file_bytes,
        "inputs": [_tensor_json(model.tensors[index]) for index in model.inputs],
        "outputs": [_tensor_json(model.tensors[index]) for index in model.outputs],
        "operators": [
            {
                "index": op.index,
                "op": op.name,
                "macs": macs,
                "outputs": [_tensor_json(model.tensors[index]) for index in op.outputs],
            }
            for op, macs in zip(model.operators, found.macs, strict=True)
        ],
        "problems": [
            {"code": p.code, "message": p.message, "where": p.where, "hint": p.hint}
            for p in found.problems
        ],
    }


def _tensor_json(record: TensorRecord) -> dict[str, object]:
    return {
        "name": record.name,
        "shape": list(record.shape),
        "dtype": record.type_name.lower(),
        "scales": list(record.scales),
        "zero_points": list(record.zero_points),
    }
