"""`glowmcu inspect`: a model before it is compiled, supported or not."""

from __future__ import annotations

from collections import Counter

from rich.console import RenderableType
from rich.markup import escape

from glowmcu.api.inspection import Inspection, type_text
from glowmcu.errors import each_once
from glowmcu.report.tables import count, plain_table


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
            lines.append(f"  {role:7}{escape(tensor.name)}  {escape(type_text(tensor))}")
    table = plain_table("", ("#", "r"), ("operator", "l"), ("result", "t"), ("MACs", "r"))
    for op, macs in zip(model.operators, found.macs, strict=True):
        result = type_text(op.outputs[0]) if op.outputs else "-"
        table.add_row(str(op.index), escape(op.name), escape(result), count(macs))
    lines.append(table)
    tally = Counter(op.name for op in model.operators)
    lines.append("  " + escape(", ".join(f"{n} x {name}" for name, n in sorted(tally.items()))))
    lines += [f"  note   {escape(note)}" for note in found.notes]
    lines += [escape(problem.for_shell) for problem in each_once(found.problems)]
    return lines
