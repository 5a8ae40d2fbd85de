"""Instruction IR as text: buffers first, then instructions with what they read and write.

    %x = "glowmcu.buffer"() {name = "x", type = …, offset_bytes = 0 : i64} : () -> (memref<4xi8>)
    "glowmcu.run"(%x, %y) {access = ["@in", "@out"], kernel = "…", …, node = {…}} : … -> ()

Buffers are operands; every other field of an instruction is an attribute, so that a new field needs
no edit here. A buffer's quantized type is an attribute, too: MLIR lets none into a memref.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

import numpy as np

from glowmcu.errors import GlowmcuError
from glowmcu.ir.graph import Node, Rate
from glowmcu.ir.operation import Array
from glowmcu.ir.program import (
    Alloc,
    Buffer,
    Cascade,
    Dealloc,
    Instruction,
    Program,
    Run,
    StateBuffer,
    StreamedInput,
    View,
)
from glowmcu.ir.text.attribute_text import AttributeParser, AttributePrinter, Raw
from glowmcu.ir.text.cascade_records import CascadeRecord, cascade_of_record, cascade_record
from glowmcu.ir.text.fields import FieldError, FieldReader, Operations
from glowmcu.ir.text.names import Names
from glowmcu.ir.text.node_records import LabelledValues, NodeRecord, ValueLabels
from glowmcu.ir.text.scanner import Scanner
from glowmcu.ir.text.sidecar import Sidecar
from glowmcu.ir.text.syntax import (
    Definitions,
    FunctionParser,
    OperationText,
    print_function,
    print_operation,
)
from glowmcu.ir.text.type_text import parse_memref, print_memref
from glowmcu.ir.types import ElementType, Shape, TensorType

_Memref = tuple[Shape, ElementType]
_Built = TypeVar("_Built")
_IN, _OUT, _INOUT = "@in", "@out", "@inout"
_KINDS: dict[str, type[Instruction]] = {
    "glowmcu.alloc": Alloc,
    "glowmcu.dealloc": Dealloc,
    "glowmcu.view": View,
    "glowmcu.run": Run,
    "glowmcu.cascade": Cascade,
}
_KIND_NAMES = {kind: name for name, kind in _KINDS.items()}
#: Fields that are operands (and the node), not attributes; how cores share a run is not told.
_STRUCTURE = ("buffer", "base", "node", "inputs", "outputs", "scratch", "division")


def print_program(program: Program, sidecar: Sidecar | None = None) -> str:
    """`program` as MLIR. Large constants go to `sidecar` when there is one, else into the text."""
    return _ProgramPrinter(program, sidecar).text()


def _operands(item: Instruction) -> tuple[tuple[Buffer, ...], tuple[str, ...]]:
    """An instruction's buffers and what it does to each."""
    if isinstance(item, Run):
        scratch = () if item.scratch is None else (item.scratch,)
        access = (_IN,) * len(item.inputs) + (_OUT,) * len(item.outputs) + (_INOUT,) * len(scratch)
        return (*item.inputs, *item.outputs, *scratch), access
    if isinstance(item, Cascade):
        outside = (_IN,) * len(item.inputs) + (_OUT,) * len(item.outputs)
        return item.operands, outside + (_INOUT,) * len(item.locals)
    if isinstance(item, View):
        return (item.buffer, item.base), (_OUT, _IN)
    return (item.buffer,), (_OUT if isinstance(item, Alloc) else _INOUT,)


def _streamed_buffers(program: Program) -> tuple[Buffer, ...]:
    """The input that is pushed and its counter."""
    return (
        ()
        if program.streamed_input is None
        else (program.streamed_input.buffer, program.streamed_input.counter)
    )


class _ProgramPrinter:
    def __init__(self, program: Program, sidecar: Sidecar | None) -> None:
        self._program = program
        self._attributes = AttributePrinter(sidecar)
        self._names = Names()
        self._labels = ValueLabels()
        mentioned = [
            *program.inputs,
            *(buffer for item in program.instructions for buffer in _operands(item)[0]),
            *program.lasting,
            *_streamed_buffers(program),
            *(state.buffer for state in program.states),
            *program.constantly_there,
        ]
        self._buffers = list(dict.fromkeys(mentioned))
        for buffer in self._buffers:
            self._names.add(buffer, buffer.name)

    def text(self) -> str:
        program = self._program
        body = [self._declaration(buffer) for buffer in self._buffers]
        access = self._attributes.value((_OUT,) * len(program.inputs), "")
        body.append(self._line("glowmcu.inputs", program.inputs, {"access": access}))
        if program.kept:
            access = self._attributes.value((_IN,) * len(program.kept), "")
            body.append(self._line("glowmcu.kept", program.kept, {"access": access}))
        if program.streamed_input is not None:
            body.append(self._line("glowmcu.streamed_input", _streamed_buffers(program), {}))
        for state in program.states:
            initial = {"initial": self._attributes.value(state.initial, state.buffer.name)}
            body.append(self._line("glowmcu.state", (state.buffer, state.updated), initial))
        if program.mark is not None:
            body.append(self._line("glowmcu.mark", (program.mark,), {}))
        body += (self._line("glowmcu.rate", (), self._fields(rate)) for rate in program.rates)
        body += map(self._instruction, program.instructions)
        body.append(self._line("func.return", program.outputs, {}))
        results = [print_memref(buffer.type) for buffer in program.outputs]
        return print_function(program.name, [], results, body, {})

    def _fields(self, item: Rate) -> dict[str, str]:
        skip = () if item.argument else ("argument", "end")
        return self._attributes.fields(item, "", skip=skip)

    def _declaration(self, buffer: Buffer) -> str:
        name, arena = self._names[buffer], buffer.data is None
        attributes = self._attributes.fields(buffer, name, skip=("data",) if arena else ())
        if arena:
            offset = self._program.offsets.get(buffer)
            attributes["offset_bytes"] = self._attributes.value(offset, name)
        kind = "glowmcu.buffer" if arena else "glowmcu.flash"
        return print_operation([name], kind, [], attributes, [], [print_memref(buffer.type)])

    def _instruction(self, item: Instruction) -> str:
        buffers, access = _operands(item)
        label = self._names[buffers[-1]]
        attributes = {"access": self._attributes.value(access, label)}
        if isinstance(item, Cascade):
            record = cascade_record(item, self._labels)
            attributes |= self._attributes.fields(record, label)
        else:
            attributes |= self._attributes.fields(item, label, skip=_STRUCTURE)
        if isinstance(item, Run):
            attributes["node"] = self._attributes.value(self._labels.record(item.node), label)
        return self._line(_KIND_NAMES[type(item)], buffers, attributes)

    def _line(self, name: str, buffers: tuple[Buffer, ...], attributes: dict[str, str]) -> str:
        names = [self._names[buffer] for buffer in buffers]
        types = [print_memref(buffer.type) for buffer in buffers]
        return print_operation([], name, names, attributes, types, [])


def parse_program(
    text: str,
    operations: Operations,
    sidecar: Mapping[str, Array] | None = None,
    name: str = "program.mlir",
) -> Program:
    """The program that `print_program` printed. `operations` are the known operators by name.

    Raises GlowmcuError GM210 to GM218 with the line in file `name`.
    """
    return _ProgramParser(Scanner(text, name), operations, sidecar).program()


class _ProgramParser:
    def __init__(
        self, scanner: Scanner, operations: Operations, sidecar: Mapping[str, Array] | None
    ) -> None:
        self._scanner = scanner
        self._attributes = AttributeParser(scanner, {}, sidecar)
        self._reader = FieldReader(operations)
        self._buffers: Definitions[Buffer] = Definitions(scanner)
        self._values = LabelledValues()
        self._offsets: dict[Buffer, int] = {}

    def program(self) -> Program:
        function = FunctionParser(
            self._scanner, self._attributes, lambda: parse_memref(self._scanner)
        ).function()
        inputs: tuple[Buffer, ...] = ()
        kept: tuple[Buffer, ...] = ()
        streamed_input: StreamedInput | None = None
        states: list[StateBuffer] = []
        mark: Buffer | None = None
        rates: list[Rate] = []
        instructions: list[Instruction] = []
        for line in function.operations[:-1]:
            if line.name in ("glowmcu.buffer", "glowmcu.flash"):
                self._declare(line)
            elif line.name == "glowmcu.inputs":
                inputs = self._buffers_of(line)
            elif line.name == "glowmcu.kept":
                kept = self._buffers_of(line)
            elif line.name == "glowmcu.streamed_input":
                streamed_input = self._streamed(line, inputs)
            elif line.name == "glowmcu.state":
                states.append(self._state(line))
            elif line.name == "glowmcu.mark":
                (mark,) = self._some(line, 1, "the buffer of a mark")
            elif line.name == "glowmcu.rate":
                plain = {} if "argument" in line.attributes else {"argument": "", "end": 0}
                rates.append(self._build(Rate, dict(line.attributes), line, plain))
            else:
                instructions.append(self._instruction(line))
        outputs = self._buffers_of(function.operations[-1])
        body = tuple(instructions)
        streamed = tuple(states), mark, tuple(rates)
        return Program(
            function.name, inputs, outputs, body, self._offsets, kept, streamed_input, *streamed
        )

    def _some(self, line: OperationText[_Memref], count: int, what: str) -> tuple[Buffer, ...]:
        buffers = self._buffers_of(line)
        if len(buffers) != count:
            raise self._fail(line, "GM218", f"{line.name} takes {what}")
        return buffers

    def _state(self, line: OperationText[_Memref]) -> StateBuffer:
        old, new = self._some(line, 2, "a state and what it becomes")
        initial = line.attributes.get("initial")
        if not isinstance(initial, np.ndarray):
            raise self._fail(line, "GM214", "initial must be dense elements")
        if (initial.shape, initial.dtype) != _numpy(old.type):
            raise self._fail(line, "GM218", f"the data is no {print_memref(old.type)}")
        return StateBuffer(old, new, initial)

    def _streamed(self, line: OperationText[_Memref], inputs: tuple[Buffer, ...]) -> StreamedInput:
        buffers = self._buffers_of(line)
        if len(buffers) != 2 or buffers[0] not in inputs:
            raise self._fail(line, "GM218", "glowmcu.streamed_input takes an input and a counter")
        return StreamedInput(*buffers)

    def _declare(self, line: OperationText[_Memref]) -> None:
        attributes = dict(line.attributes)
        arena = line.name == "glowmcu.buffer"
        offset = attributes.pop("offset_bytes", "missing") if arena else None
        if not (offset is None or type(offset) is int):
            raise self._fail(line, "GM214", "offset_bytes must be an integer or none")
        buffer = self._build(Buffer, attributes, line, {"data": None} if arena else {})
        if line.result_types != (_stored(buffer.type),):
            raise self._fail(line, "GM218", f"expected one result, {print_memref(buffer.type)}")
        if buffer.data is not None:
            if (buffer.data.shape, buffer.data.dtype) != _numpy(buffer.type):
                raise self._fail(line, "GM218", f"the data is no {print_memref(buffer.type)}")
            buffer.data.flags.writeable = False
        if offset is not None:
            self._offsets[buffer] = offset
        self._buffers.define(line.results[0], buffer, line.at)

    def _instruction(self, line: OperationText[_Memref]) -> Instruction:
        if line.name not in _KINDS:
            known = ", ".join(_KINDS)
            raise self._fail(line, "GM211", f"{line.name!r} is no instruction", f"known: {known}")
        buffers, attributes = self._buffers_of(line), dict(line.attributes)
        access = attributes.pop("access", None)
        kind = _KINDS[line.name]
        if kind is Cascade:
            item: Instruction = self._cascade(buffers, access or [], attributes, line)
        else:
            structure = self._structure(kind, buffers, access or [], attributes, line)
            item = self._build(kind, attributes, line, structure)
        wanted, modes = _operands(item)
        if wanted != buffers or access != list(modes):
            raise self._fail(line, "GM218", f"access must be {list(modes)}, one an operand")
        return item

    def _structure(
        self,
        kind: type[Instruction],
        buffers: tuple[Buffer, ...],
        access: list[str],
        attributes: dict[str, Raw],
        line: OperationText[_Memref],
    ) -> dict[str, object]:
        """The fields that are operands: by position, for a run by how many are read and written."""
        if kind is Run:
            ins, outs = access.count(_IN), access.count(_OUT)
            scratch = buffers[ins + outs] if ins + outs < len(buffers) else None
            node = self._node(attributes.pop("node", None), line)
            inputs, outputs = buffers[:ins], buffers[ins : ins + outs]
            own = {"scratch": scratch, "division": None}
            return {"node": node, "inputs": inputs, "outputs": outputs, **own}
        names = ("buffer", "base") if kind is View else ("buffer",)
        if len(names) != len(buffers):
            message = f"{line.name} takes {len(names)} buffers, got {len(buffers)}"
            raise self._fail(line, "GM218", message)
        return dict(zip(names, buffers, strict=True))

    def _node(self, raw: Raw, line: OperationText[_Memref]) -> Node:
        if not isinstance(raw, dict):
            raise self._fail(line, "GM213", "glowmcu.run lacks attribute 'node', a dictionary")
        record = self._build(NodeRecord, raw, line, {})
        try:
            return self._values.node(record)
        except FieldError as cause:
            raise self._fail(line, cause.code, cause.message, cause.hint) from cause

    def _cascade(
        self,
        buffers: tuple[Buffer, ...],
        access: list[str],
        attributes: dict[str, Raw],
        line: OperationText[_Memref],
    ) -> Cascade:
        record = self._build(CascadeRecord, attributes, line, {})
        ins, outs = access.count(_IN), access.count(_OUT)
        try:
            return cascade_of_record(record, buffers, ins, outs, self._values)
        except FieldError as cause:
            raise self._fail(line, cause.code, cause.message, cause.hint) from cause

    def _buffers_of(self, line: OperationText[_Memref]) -> tuple[Buffer, ...]:
        found = tuple(self._buffers.find(name, line.at) for name in line.operands)
        for name, buffer, type_ in zip(line.operands, found, line.operand_types, strict=True):
            if _stored(buffer.type) != type_:
                message = f"%{name} is {print_memref(buffer.type)}, used as another type"
                raise self._fail(line, "GM216", message)
        return found

    def _build(
        self,
        kind: type[_Built],
        attributes: dict[str, Raw],
        line: OperationText[_Memref],
        given: Mapping[str, object],
    ) -> _Built:
        try:
            return self._reader.build(kind, attributes, line.name, given)
        except FieldError as cause:
            raise self._fail(line, cause.code, cause.message, cause.hint) from cause

    def _fail(
        self, line: OperationText[_Memref], code: str, message: str, hint: str = ""
    ) -> GlowmcuError:
        return self._scanner.fail(code, message, hint, line.at)


def _stored(type_: TensorType) -> _Memref:
    return type_.shape, type_.element


def _numpy(type_: TensorType) -> tuple[Shape, object]:
    return type_.shape, type_.element.numpy
