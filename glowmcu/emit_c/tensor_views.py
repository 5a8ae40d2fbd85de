"""Inputs and outputs of a program as C has them: names, places, types."""

from __future__ import annotations

import numpy as np

from glowmcu.emit_c.c_text import c_number, comment_text, unique_identifiers
from glowmcu.emit_c.views import RowsView, TensorView
from glowmcu.ir.cascade import Cascade
from glowmcu.ir.program import Buffer, Program
from glowmcu.ir.types import ElementType


def tensor_views(
    program: Program, name: str, asked: frozenset[str] = frozenset()
) -> tuple[tuple[TensorView, ...], ...]:
    """Inputs and outputs with their C names; `asked` are those that learning added."""
    return (
        _tensor_views(program, program.inputs, name, "input", asked),
        _tensor_views(program, program.outputs, name, "output", asked),
    )


def parameter_names(
    buffers: tuple[Buffer, ...], role: str, asked: frozenset[str] = frozenset()
) -> list[str]:
    """What inputs or outputs are called in C: the only one of the model by its role alone."""
    suffixes = unique_identifiers((buffer.name for buffer in buffers), role)
    alone = sum(buffer.name not in asked for buffer in buffers) == 1
    return [
        role if alone and buffer.name not in asked else f"{role}_{suffix}"
        for buffer, suffix in zip(buffers, suffixes, strict=True)
    ]


def _external_align(program: Program, external: Buffer) -> int:
    """What the application's pointer must be a multiple of."""
    readers = (
        run.operand_align
        for run in program.runs
        if any(program.root(buffer)[0] is external for buffer in run.inputs)
    )
    return max(external.align, *readers, 1)


def _tensor_views(
    program: Program, buffers: tuple[Buffer, ...], name: str, role: str, asked: frozenset[str]
) -> tuple[TensorView, ...]:
    views = []
    for buffer, inner in zip(buffers, parameter_names(buffers, role, asked), strict=True):
        quantized = buffer.type.quantization is not None
        rows = _rows_view(program, buffer)
        views.append(
            TensorView(
                accessor=f"{name}_{inner}",
                macro=f"{name}_{inner}".upper(),
                parameter=inner,
                source_name=comment_text(buffer.name),
                c_string=comment_text(buffer.name).replace('"', "'"),
                description=str(buffer.type),
                shape=buffer.type.shape,
                element=f"GLOWMCU_{buffer.type.element.name}",
                fill=f"fill_{buffer.type.element.value}",
                c_type=buffer.type.element.c_name,
                element_count=buffer.type.element_count,
                size_bytes=buffer.size_bytes,
                offset=None if rows or buffer.external else program.offset(buffer),
                outside_align=_external_align(program, buffer) if buffer.external else 0,
                scale=c_number(buffer.type.scale) if quantized else None,
                zero_point=buffer.type.zero_point if quantized else None,
                kept=role == "input" and buffer in program.kept,
                rows=rows,
                stored_range=_stored_range(buffer.type.element),
            )
        )
    return tuple(views)


def _stored_range(element: ElementType) -> tuple[int, int] | None:
    """What an integer of two bytes or less can hold."""
    if not np.issubdtype(element.numpy, np.integer) or element.size_bytes > 2:
        return None
    limits = np.iinfo(str(element.numpy))
    return int(limits.min), int(limits.max)


def _rows_view(program: Program, buffer: Buffer) -> RowsView | None:
    """The rows of an input that the application pushes."""
    if program.streamed_input is None or program.streamed_input.buffer is not buffer:
        return None
    (cascade,) = (s for s in program.steps if isinstance(s, Cascade) and s.input_stage is not None)
    assert cascade.input_stage is not None
    source = cascade.stages[cascade.input_stage]
    row = source.row
    size = f"{source.rows} rows of {row.element.value}[{'x'.join(map(str, row.shape[2:]))}]"
    return RowsView(source.rows, cascade.streamed_rows, row.size_bytes, row.element_count, size)
