"""From ONNX records to the graph IR: one importer function an operator.

An importer is registered by `@importer("Conv")`; it reads operands and attributes through `Import`,
emits nodes of `glowmcu.ops` and binds results. ONNX is NCHW, the IR is NHWC: importers of spatial
operators transpose in and out (`to_nhwc`, `from_nhwc`); passes cancel the transposes in between.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, wraps
from typing import Any

import numpy as np

from glowmcu.discovery import enter, import_members
from glowmcu.frontend.control_flow import Effort
from glowmcu.frontend.control_flow_nodes import Inside
from glowmcu.frontend.graph_builder import GraphBuilder, check_tensor_size
from glowmcu.frontend.known_inputs import bound_data, must_be_known, open_batches
from glowmcu.frontend.onnx.container import (
    FOUR_BITS,
    OLDEST_OPSET,
    InputRecord,
    NodeRecord,
    OnnxRecord,
    element_of,
    tensor_data,
)
from glowmcu.frontend.onnx.operand_counts import expect_counts
from glowmcu.frontend.onnx.pair_forms import moved_operands
from glowmcu.frontend.onnx.string_categories import Categories
from glowmcu.frontend.open_shapes import open_shape
from glowmcu.frontend.unsupported import Unsupported, refused
from glowmcu.input_options import InputOptions
from glowmcu.ir.equality import content
from glowmcu.ir.graph import Value
from glowmcu.ir.operation import Array, Operation, OperationError
from glowmcu.ir.types import ElementType, Quantization, Shape, TensorType
from glowmcu.ops.transpose import Transpose

ImportFunction = Callable[["Import", NodeRecord], None]
_IMPORTERS: dict[tuple[str, str], ImportFunction] = {}


def importer(*kinds: str, domain: str = "ai.onnx") -> Callable[[ImportFunction], ImportFunction]:
    """Decorator: this function imports the operators `kinds` of `domain`."""

    def register(function: ImportFunction) -> ImportFunction:
        counted = _counted(function)
        for kind in kinds:
            enter(_IMPORTERS, (domain, kind), counted, "an importer of ONNX's")
        return function

    return register


def _counted(function: ImportFunction) -> ImportFunction:
    """`function` behind `expect_counts`."""

    @wraps(function)
    def import_counted(state: Import, op: NodeRecord) -> None:
        expect_counts(op, state.model.opsets)
        function(state, op)

    return import_counted


@cache
def load_importers() -> dict[tuple[str, str], ImportFunction]:
    """All importers by (domain, operator), sorted."""
    import_members("glowmcu.frontend.onnx")
    return dict(sorted(_IMPORTERS.items()))


class Import:
    """A model on its way into the graph IR: what importers read from and emit to."""

    def __init__(
        self,
        model: OnnxRecord,
        options: InputOptions,
        outer: Import | None = None,
        inside: Inside | None = None,
    ) -> None:
        self.model = model
        #: Where names of a graph in an attribute are looked up that it does not make itself; where
        #: that stays a graph of its own, what is found becomes an input of it.
        self.outer = outer
        self.inside = inside
        self.depth: int = 0 if outer is None else outer.depth + 1
        self.effort: Effort = Effort() if outer is None else outer.effort
        around = GraphBuilder() if outer is None else outer.builder
        self.builder: GraphBuilder = around if inside is None else inside.builder
        #: Goes before the names of what this graph makes.
        self.place: str = "" if outer is None else outer.place
        self.opset = model.opsets.get("ai.onnx", OLDEST_OPSET)
        self._values: dict[str, Value] = {}
        self._constants: dict[tuple[int, str], Value] = {} if outer is None else outer._constants
        #: What was made of constants, by the constant and its own content.
        self._made: dict[tuple[Value, Shape, bytes], Value] = {} if outer is None else outer._made
        #: Constants that have four bits in the file, and int8 here.
        self.four_bits: dict[Value, str] = {} if outer is None else outer.four_bits
        self._sequences: dict[str, tuple[Value, ...]] = {}
        #: Results that are strings in the file, and here the index of a class.
        self.class_indices: set[str] = set()
        #: Names of what depends on a selection of NonMaxSuppression, with how many rows that has.
        self.selected: dict[str, frozenset[int]] = {} if outer is None else outer.selected
        #: Inputs that are strings in the file, and here numbers.
        self.categories: Categories = Categories() if outer is None else outer.categories
        self._options = options
        self.custom = options.custom
        #: Shapes of the inputs whose batch the file leaves open, with a batch of 1.
        self.batches = open_batches({item.name: item.sizes for item in model.inputs}, options)

    # --- reading ---------------------------------------------------------------------------

    def graph_input(self, record: InputRecord) -> Value:
        """The value of a model input, symbolic sizes replaced by the user's."""
        record = self.categories.input(record)
        if record.element is None:
            raise Unsupported("GM105", f"input {record.name!r} is {record.type_name}")
        shape = self._options.shapes.get(record.name, self.batches.get(record.name))
        if shape is None:
            shape = self._input_shape(record)
        check_tensor_size(shape, record.element.size_bytes, f"input {record.name[:120]!r}")
        value = Value(TensorType(shape, record.element), record.name)
        self._values[record.name] = value
        return value

    def bound_input(self, record: InputRecord) -> None:
        """A model input that the user knows at compile time becomes a constant. Raises GM111."""
        if record.element is None:
            raise Unsupported("GM105", f"input {record.name!r} is {record.type_name}")
        sizes = None
        if record.sizes is not None:
            sizes = [size if isinstance(size, int) else None for size in self._sizes(record)]
        data = bound_data(record.name, self._options.bind[record.name], record.element, sizes)
        self._values[record.name] = self.builder.add_constant(data, record.name)

    def _sizes(self, record: InputRecord) -> list[int | str | None]:
        """The declared sizes, symbols replaced where the user gave them a value."""
        symbols = self._options.symbols
        return [
            symbols.get(size, size) if isinstance(size, str) else size
            for size in record.sizes or ()
        ]

    def _input_shape(self, record: InputRecord) -> Shape:
        sizes = self._sizes(record)
        if record.sizes is not None and all(isinstance(n, int) and n >= 0 for n in sizes):
            return tuple(int(size or 0) for size in sizes)
        raise open_shape(record.name, None if record.sizes is None else sizes)

    def value(self, op: NodeRecord, position: int) -> Value:
        """Operand `position`; an initializer becomes a constant the first time it is read."""
        if not self.has(op, position):
            raise Unsupported("GM105", f"{op.kind} lacks operand {position}")
        return self.named_value(op.inputs[position])

    def named_value(self, name: str) -> Value:
        """The value called `name` in the file."""
        found = self.bound(name)
        if isinstance(found, Value):
            return found
        if found is not None:
            raise Unsupported(
                "GM105", f"{name!r} is a sequence; sequences are no operands",
                "take its tensors by SequenceAt or ConcatFromSequence",
            )  # fmt: skip
        if name not in self.model.initializers:
            if self.outer is not None:
                return self._crossed(self.outer.named_value(name))
            raise Unsupported("GM105", f"tensor {name!r} is read before it is computed")
        self._values[name] = value = self._initializer(name)
        return value

    def _initializer(self, name: str) -> Value:
        """A constant of the file, which is there once however often a graph is written out."""
        key = id(self.model), name
        value = self._constants.get(key)
        if value is None or value not in self.builder.known:
            value = self._tensor(self.model.initializers[name], f"{self.place}{name}")
            self._constants[key] = value
        return value

    def _tensor(self, tensor: Any, name: str) -> Value:
        """A tensor of the file as a constant."""
        data = _narrowed(tensor_data(tensor, self.model.folder))
        value = self.builder.add_constant(data, name)
        self._note_four_bits(value, element_of(tensor.data_type)[1])
        return value

    def _note_four_bits(self, value: Value, type_name: str) -> None:
        if type_name in FOUR_BITS:
            self.four_bits[value] = type_name

    def bound(self, name: str) -> Value | Sequence[Value] | None:
        """What `name` is so far, a tensor or a sequence of them; None for what is not there yet."""
        if name in self._values:
            return self._values[name]
        if name in self._sequences:
            return self._sequences[name]
        if name in self.model.initializers or self.outer is None:
            return None
        found = self.outer.bound(name)
        if isinstance(found, Value):
            return self._crossed(found)
        return None if found is None else tuple(map(self._crossed, found))

    def _crossed(self, value: Value) -> Value:
        """What a value of the graph around is in this one."""
        if self.inside is None:
            return value
        inner = self.inside.value(value)
        self._note_four_bits(inner, self.four_bits.get(value, ""))
        return inner

    def give(self, name: str, found: Value | Sequence[Value]) -> None:
        """`name` is this tensor, or this sequence of tensors."""
        if isinstance(found, Value):
            self._values[name] = found
        else:
            self._sequences[name] = tuple(found)

    def has(self, op: NodeRecord, position: int) -> bool:
        """Whether the optional operand `position` is given."""
        assert position >= 0
        return position < len(op.inputs) and bool(op.inputs[position])

    def known(self, op: NodeRecord, position: int) -> bool:
        """Whether an operand is given and its data is known at compile time."""
        return self.has(op, position) and self.value(op, position) in self.builder.known

    def constant(self, op: NodeRecord, position: int, what: str) -> Array:
        """Data of an operand that must be known at compile time; `what` names it in the error."""
        if not self.known(op, position):
            inputs = self.builder.inputs_behind(self.value(op, position))
            raise must_be_known(op.kind, what, inputs)
        return self.builder.known[self.value(op, position)]

    def tensors(self, name: str) -> dict[str, Value]:
        """What an output is made of, by name: of a sequence each of its tensors, with a number."""
        sequence = self._sequences.get(name)
        if sequence is None:
            return {name: self.named_value(name)}
        return {f"{name}_{number}": value for number, value in enumerate(sequence)}

    def sequence(self, op: NodeRecord, position: int) -> tuple[Value, ...]:
        """The tensors of an operand that is a sequence."""
        name = op.inputs[position] if self.has(op, position) else ""
        found = self.bound(name)
        if found is None or isinstance(found, Value):
            raise Unsupported(
                "GM105", f"{op.kind}: {name!r} is no sequence that is known at compile time"
            )
        return tuple(found)

    # --- emitting --------------------------------------------------------------------------

    def add(
        self,
        op: NodeRecord,
        operation: Operation,
        inputs: Sequence[Value],
        element: ElementType | None = None,
        quantization: Quantization | None = None,
        name: str = "",
    ) -> Value:
        """An inner node with one result; its element type is the first operand's unless given."""
        type_ = _result_type(operation, inputs, element, quantization)
        name = name or f"{_first_name(op)}/{operation.name}"
        return self._add(op, operation, inputs, [type_], [name])[0]

    def emit(
        self,
        op: NodeRecord,
        operation: Operation,
        inputs: Sequence[Value],
        element: ElementType | None = None,
        quantization: Quantization | None = None,
        elements: Sequence[ElementType] = (),
    ) -> tuple[Value, ...]:
        """The node whose results are the operator's. `elements`: one a result where they differ."""
        values = self.add_all(op, operation, inputs, element, quantization, elements)
        self.bind(op, values)
        return values

    def add_all(
        self,
        op: NodeRecord,
        operation: Operation,
        inputs: Sequence[Value],
        element: ElementType | None = None,
        quantization: Quantization | None = None,
        elements: Sequence[ElementType] = (),
    ) -> tuple[Value, ...]:
        """A node with the operator's names for its results, which it does not bind."""
        type_ = _result_type(operation, inputs, element, quantization)
        types = [_result_type(operation, inputs, item, quantization) for item in elements]
        try:
            count = len(operation.infer([value.type for value in inputs]))
        except OperationError as cause:
            raise refused(op.kind, cause) from cause
        names = [
            op.outputs[i] if i < len(op.outputs) and op.outputs[i] else f"{_first_name(op)}/{i}"
            for i in range(count)
        ]
        return self._add(op, operation, inputs, types or [type_] * count, names)

    def bind(self, op: NodeRecord, values: Sequence[Value]) -> None:
        """`values` are the operator's results (Identity binds its own operand)."""
        for name, value in zip(op.outputs, values, strict=False):
            if name:
                self._values[name] = value

    def bind_sequence(self, op: NodeRecord, values: Sequence[Value]) -> None:
        """The operator's result is a sequence of these tensors."""
        self._sequences[_first_name(op)] = tuple(values)

    def bind_constant(self, op: NodeRecord, data: Array) -> None:
        """The operator's result is known at compile time (a shape, say)."""
        self.bind(op, [self.builder.add_constant(_narrowed(data), _first_name(op))])

    def bind_tensor(self, op: NodeRecord, tensor: Any) -> None:
        """The operator's result is a tensor of the file."""
        self.bind(op, [self._tensor(tensor, _first_name(op))])

    def add_constant(self, data: Array, name: str = "constant") -> Value:
        """A constant that is not in the file."""
        return self.builder.add_constant(np.asarray(data, order="C"), name)

    def made_of(self, source: Value, data: Array, name: str) -> Value:
        """A constant that is made of another one: nodes that make the same of it share what they
        made, as they share the weights of the file.
        """
        key = source, data.shape, content(data)
        value = self._made.get(key)
        if value is None or value not in self.builder.known:
            value = self._made[key] = self.add_constant(data, name)
        return value

    def _add(
        self,
        op: NodeRecord,
        operation: Operation,
        inputs: Sequence[Value],
        types: Sequence[TensorType],
        names: Sequence[str],
    ) -> tuple[Value, ...]:
        source = f"node {op.index} {op.kind}"
        names = [f"{self.place}{name}" for name in names]
        try:
            return self.builder.add_node(operation, inputs, types, names, source)
        except OperationError as cause:
            raise refused(op.kind, cause) from cause

    # --- layout ----------------------------------------------------------------------------

    def to_nhwc(self, op: NodeRecord, value: Value) -> Value:
        """NC… with the channel moved last."""
        rank = value.type.rank
        return self.add(op, Transpose((0, *range(2, rank), 1)), [value])

    def from_nhwc(self, op: NodeRecord, value: Value) -> None:
        """Bind the operator's result: `value` with the channel moved to axis 1."""
        rank = value.type.rank
        self.emit(op, Transpose((0, rank - 1, *range(1, rank - 1))), [value])


def _first_name(op: NodeRecord) -> str:
    return next((name for name in op.outputs if name), op.name or op.kind)


def _narrowed(data: Array) -> Array:
    """float64 and float16 constants become float32: the only float that the IR has."""
    if data.dtype in (np.dtype(np.float64), np.dtype(np.float16)):
        return data.astype(np.float32)
    return np.asarray(data, order="C")


def _result_type(
    operation: Operation,
    inputs: Sequence[Value],
    element: ElementType | None,
    quantization: Quantization | None,
) -> TensorType:
    """What is moved or chosen among stored numbers keeps their parameters."""
    moved = inputs[: moved_operands(operation, len(inputs))]
    kinds = {(value.type.element, value.type.quantization) for value in moved}
    if quantization is None and len(kinds) == 1 and element in (None, inputs[0].type.element):
        quantization = inputs[0].type.quantization
    return TensorType((), element or inputs[0].type.element, quantization)
