"""From a planned program and its kernels to the views that templates render."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Protocol

from glowmcu.emit_c.c_text import (
    c_identifier,
    c_number,
    comment_text,
    unique_identifiers,
)
from glowmcu.emit_c.cascade_text import cascade_text
from glowmcu.emit_c.constant_pool import ConstantPool
from glowmcu.emit_c.layer_text import LayerText
from glowmcu.emit_c.rendering import render
from glowmcu.emit_c.views import ArrayView, BufferView, RowsView, StepView, TensorView
from glowmcu.instrument import Instrument
from glowmcu.ir.cascade import Cascade
from glowmcu.ir.graph import Node
from glowmcu.ir.kernel_code import KernelCode
from glowmcu.ir.program import Buffer, Program


class Chosen(Protocol):
    """What emission needs of a selected kernel."""

    @property
    def code(self) -> KernelCode: ...
    @property
    def row_code(self) -> KernelCode: ...


@dataclass(frozen=True)
class Layers:
    """The body of a bundle: steps, the arrays that they read, the headers that they need."""

    functions: tuple[str, ...]
    steps: tuple[StepView, ...]
    arrays: tuple[ArrayView, ...]
    headers: tuple[str, ...]
    weights_bytes: tuple[int, ...]


def buffer_symbols(program: Program) -> dict[Buffer, str]:
    """An offset constant a root buffer: `AT_IN0`, `AT_3_CONV_2D`, …: the step that makes it."""
    made: dict[Buffer, str] = {}
    for number, buffer in enumerate(program.inputs):
        made.setdefault(program.root(buffer)[0], f"AT_IN{number}")
    for item in program.steps:
        if isinstance(item, Cascade) and item.source is not None and program.pushed is not None:
            made[program.pushed.counter] = "AT_ROWS_PUSHED"
            made[item.stages[item.source].result] = made[program.pushed.buffer]
    for step, run in enumerate(program.runs):
        for number, buffer in enumerate(run.outputs):
            suffix = f"_{number}" if len(run.outputs) > 1 else ""
            name = f"AT_{step}_{c_identifier(run.node.op.name).upper()}{suffix}"
            made.setdefault(program.root(buffer)[0], name)
        if run.scratch is not None:
            made.setdefault(run.scratch, f"AT_{step}_SCRATCH")
    return made


def buffer_views(program: Program) -> tuple[BufferView, ...]:
    """The arena map, by offset."""
    symbols = buffer_symbols(program)
    views = [
        BufferView(
            symbols[buffer],
            program.offsets[buffer],
            buffer.size_bytes,
            *program.layers_of(life),
            comment_text(f"{buffer.type} {buffer.name}", 60),
        )
        for buffer, life in program.lives.items()
    ]
    return tuple(sorted(views, key=lambda view: (view.offset, view.first)))


def tensor_views(program: Program, name: str) -> tuple[tuple[TensorView, ...], ...]:
    """Inputs and outputs with their C names."""
    return (
        _tensor_views(program, program.inputs, name, "input"),
        _tensor_views(program, program.outputs, name, "output"),
    )


def _tensor_views(
    program: Program, buffers: tuple[Buffer, ...], name: str, role: str
) -> tuple[TensorView, ...]:
    suffixes = unique_identifiers((buffer.name for buffer in buffers), role)
    views = []
    for buffer, suffix in zip(buffers, suffixes, strict=True):
        inner = role if len(buffers) == 1 else f"{role}_{suffix}"
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
                offset=None if rows else program.offset(buffer),
                scale=c_number(buffer.type.scale) if quantized else None,
                zero_point=buffer.type.zero_point if quantized else None,
                kept=role == "input" and buffer in program.kept,
                rows=rows,
            )
        )
    return tuple(views)


def _rows_view(program: Program, buffer: Buffer) -> RowsView | None:
    """The rows of an input that the application pushes."""
    if program.pushed is None or program.pushed.buffer is not buffer:
        return None
    (cascade,) = (s for s in program.steps if isinstance(s, Cascade) and s.source is not None)
    assert cascade.source is not None
    source = cascade.stages[cascade.source]
    row = source.result.type.with_shape((1, 1, *source.result.type.shape[2:]))
    size = f"{source.rows} rows of {row.element.value}[{'x'.join(map(str, row.shape[2:]))}]"
    return RowsView(source.rows, cascade.pushed_rows, row.size_bytes, row.element_count, size)


def layers(
    program: Program,
    chosen: Mapping[Node, Chosen],
    name: str,
    instrument: Instrument = Instrument.OFF,
) -> Layers:
    """Steps, constants and headers of the whole program."""
    symbols = buffer_symbols(program)
    pool = ConstantPool(name)
    steps: list[StepView] = []
    sizes: list[int] = []
    headers: dict[str, None] = {}
    functions: dict[str, str] = {}
    index = 0
    for item in program.steps:
        is_cascade = isinstance(item, Cascade)
        first = len(steps)
        for run in item.runs if isinstance(item, Cascade) else (item,):
            code = chosen[run.node].row_code if is_cascade else chosen[run.node].code
            before = pool.size_bytes
            steps.append(LayerText(program, symbols, pool, index, run, code).view(not is_cascade))
            sizes.append(pool.size_bytes - before)
            if code.is_shared:
                text = render(f"kernels/{code.template}", function=code.function, **code.view)
                same = functions.setdefault(code.function, text.rstrip())
                assert same == text.rstrip(), f"{code.function} has two meanings"
            if code.header:
                headers.setdefault(code.header)
            for header in code.view.get("headers", ()):
                headers.setdefault(header)
            index += 1
        if isinstance(item, Cascade):
            headers.setdefault("glowmcu_ring.h")
            layer_texts = {
                run: LayerText(program, symbols, pool, number, run, chosen[run.node].row_code)
                for number, run in enumerate(item.runs, first)
            }
            function, text = cascade_text(item, layer_texts, first, instrument)
            takes_rows = item.source is not None
            arguments = ", rows, before, arrived" if takes_rows else ""
            call = f"    {function}(a{arguments});"
            steps[first] = replace(steps[first], call=call, takes_rows=takes_rows)
            definition = f"{steps[-1].definition}\n\n{text}".strip()
            steps[-1] = replace(steps[-1], definition=definition)
    made = tuple(functions.values())
    return Layers(made, tuple(steps), pool.views(), tuple(sorted(headers)), tuple(sizes))
