"""A layer in C: the comment and constants above it, and its call."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from glowmcu.emit_c.c_text import (
    c_number,
    c_string,
    comment_text,
    thousands,
    wrap_call,
    wrap_items,
)
from glowmcu.emit_c.constant_pool import ConstantPool
from glowmcu.emit_c.integrity import Checked, checked_parameters
from glowmcu.emit_c.rendering import render
from glowmcu.emit_c.shuffle_text import shuffled_call
from glowmcu.emit_c.views import ResultView, StepView
from glowmcu.emit_c.weights_blob import Fill, parameter_fills, parameter_numbers
from glowmcu.interface_options import Weights
from glowmcu.ir.kernel_code import Coding, ConstantArray, KernelCode, Parameters, StagedWeights
from glowmcu.ir.program import Buffer, Program, Run
from glowmcu.ir.types import ElementType, TensorType
from glowmcu.lazy_dataclass import dataclass


@dataclass(frozen=True)
class Pointer:
    """An argument of a layer's function: what a function around it would call it and declare it as,
    and how far it moves on for a batch item.
    """

    name: str
    declaration: str
    text: str
    step: str


@dataclass(frozen=True)
class LayerText:
    """What one kernel's constants and call look like."""

    program: Program
    symbols: Mapping[Buffer, str]
    pool: ConstantPool
    index: int
    run: Run
    code: KernelCode
    #: Of a layer in a body: what its names have in place of a number.
    inner: str = ""
    #: Whether places are written with their offset in a buffer even if it is 0.
    shows_offsets: bool = False
    #: Results of a body that lie outside of its scratch, at the pointer that their symbol is.
    outside: frozenset[Buffer] = frozenset()

    @property
    def label(self) -> str:
        """What stands in the names of the layer's own function and parameters."""
        return self.inner or str(self.index)

    def view(self, is_called: bool = True, definition: str | None = None) -> StepView:
        """The layer; in a cascade the call stands elsewhere. `definition`: what is there instead of
        its own, of which the pool learns nothing then.
        """
        return StepView(
            self.index,
            self._comment(),
            self.definition() if definition is None else definition,
            self.call() if is_called else "",
            self.summary,
            c_string(self.run.node.name),
            self.run.node.op.name,
            self.run.kernel,
            self.run.node.macs,
            tuple(self._result(number) for number in range(len(self.run.outputs))),
            tuple(self._shown()) if is_called else (),
            is_called,
        )

    def _result(self, number: int) -> ResultView:
        """Of a cascade, too, the whole tensor; the buffer may be some of its rows."""
        type_, buffer = self.run.node.signature.outputs[number], self.run.outputs[number]
        # Weights that are computed have a scale a channel, for which there is no place here.
        quantized = type_.quantization is not None and not type_.quantization.per_channel
        return ResultView(
            c_string(self.run.node.outputs[number].name),
            type_.shape,
            f"GLOWMCU_{type_.element.name}",
            c_number(type_.scale) if quantized else "0.0f",
            type_.zero_point if quantized else 0,
            self.program.offset(buffer),
            type_.size_bytes,
        )

    def _shown(self) -> Iterator[str]:
        """Whole results."""
        for number, buffer in enumerate(self.run.outputs):
            place = self._place(buffer)
            arguments = [str(self.index), str(number), place, "0", str(buffer.size_bytes)]
            yield wrap_call("show_tensor", arguments, 4)

    @property
    def summary(self) -> str:
        """Operator and shapes."""
        operands, out = self.run.node.signature.inputs, self.run.node.signature.output
        shapes = f"{_dims(operands[0]) if operands else '-'} -> {_dims(out)}"
        return f"{self.run.node.op.name} {shapes}"

    def _comment(self) -> tuple[str, ...]:
        node = self.run.node
        lines = [
            f"Step {self.label}: {node.op.name}, {self.run.kernel}",
            f'  "{comment_text(node.name)}"',
        ]
        for position, type_ in enumerate(node.signature.inputs):
            where = "in   " if position in self.code.operands else "const"
            lines.append(f"  {where} {type_}")
        lines += [f"  out   {type_}" for type_ in node.signature.outputs]
        if node.macs and not self.code.notes:
            lines.append(f"  {thousands(node.macs)} MACs")
        return (*lines, *(f"  {note}" for note in self.code.notes))

    def definition(self) -> str:
        """Its function or its parameters."""
        if self._is_own:
            view = {key: self._resolved(value) for key, value in self.code.view.items()}
            view |= {"function": self.function, "in_place": self._in_place}
            return render(f"kernels/{self.code.template}", **view).rstrip()
        if self.code.parameters is None:
            return ""
        exchanged = self.pool.weights is Weights.POINTER
        type_ = f"static {'' if exchanged else 'const '}{self.code.parameters.struct}"
        name = f"p_{self.label}"
        text = f"{type_} {name} = {{\n{wrap_items(self._items(self.code.parameters))}\n}};"
        if not exchanged:
            return text
        macro = f"{self.pool.bundle_name.upper()}_NO_WEIGHTS"
        return f"#ifdef {macro}\n{type_} {name};\n#else\n{text}\n#endif"

    def fills(self) -> Iterator[Fill]:
        """How the layer's parameters are set to those of another blob."""
        checked = list(self.checked())
        if not checked:
            return iter(())
        symbol = self.pool.symbol(parameter_numbers(checked), self.index, self.inner)
        return parameter_fills(checked, symbol)

    @property
    def form(self) -> str:
        """How code reads the layer's constants: in a function of its own, or as a struct."""
        if self.code.parameters is None or self._is_own:
            return self.definition()
        return str([self.code.parameters.struct, _names(self.code.parameters)])

    def checked(self) -> Iterator[Checked]:
        """What has to be whole of the layer beside its arrays."""
        if self.code.parameters is None or self._is_own:
            return iter(())
        pool, index = self.pool, self.index
        return checked_parameters(
            f"p_{self.label}",
            self.code.parameters,
            lambda array: pool.symbol(array, index, self.inner),
        )

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
                name = f"{field.name}: {field.note}" if field.note else field.name
                items.append(f"/* {name} */ {self._field(field.value)}")
        return items

    def _resolved(self, value: object) -> object:
        """What a template sees: arrays, also those inside tuples, by their C names."""
        if isinstance(value, ConstantArray):
            return self.pool.symbol(value, self.index, self.inner)
        return tuple(map(self._resolved, value)) if type(value) is tuple else value

    def _field(self, value: int | float | ConstantArray | None) -> str:
        if value is None:
            return "NULL"
        if isinstance(value, ConstantArray):
            return self.pool.linked(self.pool.symbol(value, self.index, self.inner))
        return c_number(value)

    @property
    def _in_place(self) -> tuple[int, ...]:
        """Operands that lie where result 0 has them, which has got nothing to copy of them."""
        root, first = self.program.root(self.run.outputs[0])
        places = self.run.node.op.contained_operands(self.run.node.signature)
        return tuple(
            position
            for buffer, position in zip(self.run.inputs, self.run.positions, strict=True)
            if position in places and self.program.root(buffer) == (root, first + places[position])
        )

    @property
    def _is_own(self) -> bool:
        return bool(self.code.template) and not self.code.is_shared

    @property
    def function(self) -> str:
        """The C function that computes the layer."""
        if self._is_own:
            return f"k_{self.label}"
        return self.pool.functions.name(self.code.function)

    def call(self) -> str:
        """The statement that computes it."""
        given = [self._given()] if self.code.parameters else []
        return self.call_of(self.function, given, [item.text for item in self.pointers()])

    def _given(self) -> str:
        """The layer's parameters, or a copy that points to a copy of its weights."""
        staged, parameters = self.code.staged, self.code.parameters
        if staged is None or parameters is None:
            return f"&p_{self.label}"
        if self.is_prefetched:
            return f"(const {parameters.struct} *)(const void *)({self.staged_place(staged)})"
        given = self.staged_arguments(staged, parameters)
        if staged.coding is Coding.COPY:
            return f"GLOWMCU_STAGED({', '.join(given)})"
        macro = f"GLOWMCU_STAGED_{staged.coding.name}"
        return f"{macro}({', '.join([*given, str(staged.stored_bytes)])})"

    @property
    def is_prefetched(self) -> bool:
        """Whether weights come into its scratch while the step before runs."""
        return self.run.scratch in self.program.prefetched.values()

    @property
    def staged_header(self) -> str:
        """The header of libjit with what copies or decodes its weights; empty if nothing does."""
        if self.code.staged is None:
            return ""
        return "glowmcu_prefetch.h" if self.is_prefetched else self.code.staged.header

    def staged_place(self, staged: StagedWeights) -> str:
        """Where the copy of its weights ends, and that of its parameters begins."""
        assert self.run.scratch is not None
        return f"{self._place(self.run.scratch)} + {staged.end_bytes}"

    def staged_arguments(self, staged: StagedWeights, parameters: Parameters) -> list[str]:
        """Of the macros that copy its weights and parameters."""
        name, size = f"p_{self.label}", str(staged.size_bytes)
        return [self.staged_place(staged), name, parameters.struct, staged.field, size]

    def call_of(self, function: str, given: list[str], pointers: list[str]) -> str:
        """A call with these pointers, once a batch item; for all rows if it takes rows."""
        code = self.code
        if code.shuffle is not None and code.parameters is not None:
            struct, signature = code.parameters.struct, self.run.node.signature
            return shuffled_call(code.shuffle, signature, function, given[0], struct, pointers)
        batched = code.batches > 1
        steps = zip(pointers, (item.step for item in self.pointers()), strict=True)
        arguments = [*given, *(f"{text}{step}" for text, step in steps)]
        if code.rows:
            arguments += ["0", str(code.rows)]
        call = wrap_call(function, arguments, 8 if batched else 4)
        if code.can_fail:
            call = call.removesuffix(";").lstrip()
            return f"    if ({call} != 0) {{\n        return GLOWMCU_BAD_ACCELERATOR;\n    }}"
        if not batched:
            return call
        return f"    for (int32_t b = 0; b < {code.batches}; ++b) {{\n{call}\n    }}"

    def pointers(self) -> list[Pointer]:
        """Operands, results and scratch, in the order of the function's arguments."""
        found = []
        batched = self.code.batches > 1
        for number, (buffer, position) in enumerate(
            zip(self.run.inputs, self.run.positions, strict=True)
        ):
            steps = batched and position not in self.code.whole_operands
            declaration = f"const {buffer.type.element.c_name} *x{number}"
            found.append(self._pointer(buffer, f"x{number}", declaration, True, steps))
        several = len(self.run.outputs) > 1
        for number, buffer in enumerate(self.run.outputs):
            name = f"out{number}" if several else "out"
            declaration = f"{buffer.type.element.c_name} *{name}"
            found.append(self._pointer(buffer, name, declaration, False, batched))
        if self.run.scratch is not None and self.code.has_scratch:
            place = self._place(self.run.scratch)
            found.append(Pointer("scratch", "int8_t *scratch", place, ""))
        return found

    def _pointer(
        self, buffer: Buffer, name: str, declaration: str, is_input: bool, batched: bool
    ) -> Pointer:
        element = buffer.type.element
        step = f" + b * {buffer.type.element_count // self.code.batches}" if batched else ""
        return Pointer(name, declaration, self._start(buffer, element, is_input), step)

    def _start(self, buffer: Buffer, element: ElementType, is_input: bool) -> str:
        root, inner = self.program.root(buffer)
        if root.data is not None:
            constant = ConstantArray(root.name, root.data)
            symbol = self.pool.symbol(constant, self.index, self.inner)
            elements = inner // element.size_bytes
            return f"{symbol}{f' + {elements}' if elements or self.shows_offsets else ''}"
        if root.external or root in self.outside:
            return external_pointer(buffer, self.symbols[root], root, inner)
        return typed_pointer(element, self._place(buffer), is_input)

    def _place(self, buffer: Buffer) -> str:
        """A byte of the arena."""
        root, inner = self.program.root(buffer)
        return f"a + {self.symbols[root]}{f' + {inner}' if inner or self.shows_offsets else ''}"


def _names(parameters: Parameters) -> list[object]:
    return [
        _names(field.value) if isinstance(field.value, Parameters) else field.name
        for field in parameters.fields
    ]


def _dims(type_: TensorType) -> str:
    return "x".join(map(str, type_.shape)) or "scalar"


def external_pointer(buffer: Buffer, symbol: str, root: Buffer, inner: int) -> str:
    """Elements of `buffer`, which is the bytes of an argument from `inner` on."""
    assert buffer.type.element is root.type.element
    elements = inner // buffer.type.element.size_bytes
    return f"{symbol} + {elements}" if elements else symbol


def typed_pointer(element: ElementType, place: str, is_input: bool) -> str:
    """A byte of the arena as a pointer to elements."""
    if element is ElementType.I8:
        return place
    if is_input:
        return f"(const {element.c_name} *)(const void *)({place})"
    return f"({element.c_name} *)(void *)({place})"
