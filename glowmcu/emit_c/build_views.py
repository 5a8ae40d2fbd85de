"""From a planned program and its kernels to the views that templates render."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from glowmcu.emit_c.c_text import (
    c_identifier,
    c_number,
    comment_text,
    thousands,
    unique_identifiers,
    wrap_items,
)
from glowmcu.emit_c.constant_pool import ConstantPool
from glowmcu.emit_c.rendering import render
from glowmcu.emit_c.views import ArrayView, BufferView, StepView, TensorView
from glowmcu.ir.graph import Node
from glowmcu.ir.kernel_code import ConstantArray, KernelCode, Parameters
from glowmcu.ir.program import Buffer, Program, Run
from glowmcu.ir.types import ElementType, TensorType


class Chosen(Protocol):
    """What emission needs of a selected kernel."""

    @property
    def code(self) -> KernelCode: ...


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
            life.first,
            life.last,
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
                offset=program.offset(buffer),
                scale=c_number(buffer.type.scale) if quantized else None,
                zero_point=buffer.type.zero_point if quantized else None,
            )
        )
    return tuple(views)


def layers(program: Program, chosen: Mapping[Node, Chosen], name: str) -> Layers:
    """Steps, constants and headers of the whole program."""
    symbols = buffer_symbols(program)
    pool = ConstantPool(name)
    steps: list[StepView] = []
    sizes: list[int] = []
    headers: dict[str, None] = {}
    functions: dict[str, str] = {}
    for index, run in enumerate(program.runs):
        code = chosen[run.node].code
        before = pool.size_bytes
        steps.append(_Step(program, symbols, pool, index, run, code).view())
        sizes.append(pool.size_bytes - before)
        if code.is_shared:
            text = render(f"kernels/{code.template}", function=code.function, **code.view).rstrip()
            same = functions.setdefault(code.function, text)
            assert same == text, f"{code.function} has two meanings"
        if code.header:
            headers.setdefault(code.header)
        for header in code.view.get("headers", ()):
            headers.setdefault(header)
    made = tuple(functions.values())
    return Layers(made, tuple(steps), pool.views(), tuple(sorted(headers)), tuple(sizes))


@dataclass(frozen=True)
class _Step:
    program: Program
    symbols: Mapping[Buffer, str]
    pool: ConstantPool
    index: int
    run: Run
    code: KernelCode

    def view(self) -> StepView:
        node, out = self.run.node, self.run.node.signature.output
        operands = node.signature.inputs
        return StepView(
            self.index,
            self._comment(),
            self._definition(),
            self._call(),
            f"{node.op.name} {_dims(operands[0]) if operands else '-'} -> {_dims(out)}",
        )

    def _comment(self) -> tuple[str, ...]:
        node = self.run.node
        lines = [
            f'Step {self.index}: {node.op.name}, {self.run.kernel}, "{comment_text(node.name)}"'
        ]
        for position, type_ in enumerate(node.signature.inputs):
            where = "in   " if position in self.code.operands else "const"
            lines.append(f"  {where} {type_}")
        lines += [f"  out   {type_}" for type_ in node.signature.outputs]
        if node.macs and not self.code.notes:
            lines.append(f"  {thousands(node.macs)} MACs")
        return (*lines, *(f"  {note}" for note in self.code.notes))

    def _definition(self) -> str:
        if self._is_own:
            view = {key: self._resolved(value) for key, value in self.code.view.items()}
            return render(
                f"kernels/{self.code.template}", function=self._function(), **view
            ).rstrip()
        if self.code.parameters is None:
            return ""
        head = f"static const {self.code.parameters.struct} p_{self.index} = {{"
        return f"{head}\n{wrap_items(self._items(self.code.parameters))}\n}};"

    def _items(self, parameters: Parameters) -> list[str]:
        """Initializers of a struct's members; a struct in the struct opens and closes its brace."""
        items: list[str] = []
        for field in parameters.fields:
            if isinstance(field.value, Parameters):
                inner = self._items(field.value)
                inner[0] = f"/* {field.name} */ {{{inner[0]}"
                inner[-1] += "}"
                items += inner
            else:
                items.append(f"/* {field.name} */ {self._field(field.value)}")
        return items

    def _resolved(self, value: object) -> object:
        """What a template sees: arrays, also those inside tuples, by their C names."""
        if isinstance(value, ConstantArray):
            return self.pool.symbol(value, self.index)
        return tuple(map(self._resolved, value)) if type(value) is tuple else value

    def _field(self, value: int | float | ConstantArray | None) -> str:
        if value is None:
            return "NULL"
        if isinstance(value, ConstantArray):
            return self.pool.symbol(value, self.index)
        return c_number(value)

    @property
    def _is_own(self) -> bool:
        return bool(self.code.template) and not self.code.is_shared

    def _function(self) -> str:
        return f"k_{self.index}" if self._is_own else self.code.function

    def _call(self) -> str:
        code = self.code
        batched = code.batches > 1
        arguments = [f"&p_{self.index}"] if code.parameters else []
        arguments += [
            self._pointer(buffer, True, batched and position not in code.whole_operands)
            for buffer, position in zip(self.run.inputs, self.run.positions, strict=True)
        ]
        arguments += [self._pointer(buffer, False, batched) for buffer in self.run.outputs]
        if self.run.scratch is not None:
            arguments.append(self._pointer(self.run.scratch, False, False))
        if code.rows:
            arguments += ["0", str(code.rows)]
        call = _wrap_call(self._function(), arguments, 8 if batched else 4)
        if not batched:
            return call
        return f"    for (int32_t b = 0; b < {code.batches}; ++b) {{\n{call}\n    }}"

    def _pointer(self, buffer: Buffer, is_input: bool, batched: bool) -> str:
        element = buffer.type.element
        step = f" + b * {buffer.type.element_count // self.code.batches}" if batched else ""
        root, inner = self.program.root(buffer)
        if root.data is not None:
            constant = ConstantArray(root.name, root.data)
            symbol = self.pool.symbol(constant, self.index)
            elements = inner // element.size_bytes
            return f"{symbol}{f' + {elements}' if elements else ''}{step}"
        place = f"a + {self.symbols[root]}{f' + {inner}' if inner else ''}"
        if element is ElementType.I8:
            return f"{place}{step}"
        pointer = f"(const {element.c_name} *)(const void *)" if is_input else (
            f"({element.c_name} *)(void *)"
        )  # fmt: skip
        return f"{pointer}({place}){step}"


def _dims(type_: TensorType) -> str:
    return "x".join(map(str, type_.shape)) or "scalar"


def _wrap_call(function: str, arguments: list[str], indent: int) -> str:
    line = f"{' ' * indent}{function}({', '.join(arguments)});"
    if len(line) <= 100:
        return line
    inner = wrap_items(arguments, " " * (indent + 4))
    return f"{' ' * indent}{function}(\n{inner});"
