"""From records to the graph IR: types, constants, and one importer function an operator.

An importer is registered by `@importer("CONV_2D")`; it reads operands and options through `Import`
and emits nodes. Whatever does not fit raises `Unsupported`; the driver gathers all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache, wraps
from typing import Any, TypeVar, cast

import numpy as np

from glowmcu.discovery import enter, import_members
from glowmcu.frontend.control_flow import Effort, expect_shallow
from glowmcu.frontend.graph_builder import GraphBuilder, ShapeCheck
from glowmcu.frontend.known_inputs import bound_data, must_be_known, open_batches
from glowmcu.frontend.tflite.container import ModelRecord, OperatorRecord
from glowmcu.frontend.tflite.row_writes import with_row_writes
from glowmcu.frontend.tflite.schema import tflite
from glowmcu.frontend.tflite.tensors import (
    constant_data,
    dynamic_shape,
    fits_record,
    input_sizes,
    is_open,
    real_values,
    tensor_type,
    with_real_constants,
)
from glowmcu.frontend.tflite.unsigned import as_int8, as_int8_operation, knows_int8_alone
from glowmcu.frontend.unsupported import Unsupported, refused
from glowmcu.input_options import InputOptions
from glowmcu.ir.graph import Value
from glowmcu.ir.operation import Array, Operation, OperationError
from glowmcu.ir.types import Quantization, Shape, TensorType, element_type_of
from glowmcu.ops.quantization import Requantize

__all__ = [
    "Import", "Unsupported", "constant_data", "importer", "load_importers", "real_values",
    "tensor_type",
]  # fmt: skip


_Table = TypeVar("_Table")
ImportFunction = Callable[["Import", OperatorRecord], None]
_IMPORTERS: dict[str, ImportFunction] = {}


def importer(*names: str) -> Callable[[ImportFunction], ImportFunction]:
    """Decorator: this function imports the builtin operators `names`."""

    def register(function: ImportFunction) -> ImportFunction:
        is_own = function.__module__.startswith("glowmcu.")
        checked = _of_all_operands(function) if is_own else function
        for name in names:
            enter(_IMPORTERS, name, checked, "an importer of TensorFlow Lite's")
        return function

    return register


def _of_all_operands(function: ImportFunction) -> ImportFunction:
    """`function`, and GM105 for operands behind those that it asks for, as interpreters refuse."""

    @wraps(function)
    def import_all(state: Import, op: OperatorRecord) -> None:
        state.asked_operands = 0
        function(state, op)
        # Those that are left out say nothing, however many a writer notes.
        given = max((at + 1 for at, tensor in enumerate(op.inputs) if tensor >= 0), default=0)
        most = state.asked_operands
        if given > most:
            raise Unsupported("GM105", f"{op.name} has {given} operands, at most {most}")

    return import_all


@cache
def load_importers() -> dict[str, ImportFunction]:
    """All importers by TFLite operator name, sorted."""
    import_members("glowmcu.frontend.tflite")
    return dict(sorted(_IMPORTERS.items()))


class Import:
    """A model on its way into the graph IR: what importers read from and emit to."""

    def __init__(
        self,
        model: ModelRecord,
        options: InputOptions,
        builder: GraphBuilder | None = None,
        depth: int = 0,
    ) -> None:
        self.model = model
        self.builder = builder or GraphBuilder()
        #: Subgraphs around this one.
        self.depth = depth
        self.effort = Effort()
        #: Of the operator that is imported, those up to the last that its importer asked for.
        self.asked_operands = 0
        self._values: dict[int, Value] = {}
        #: Those of the file, which a subgraph that is imported again finds here.
        self._constants: dict[int, Value] = {}
        self._inner_constants: dict[int, dict[int, Value]] = {}
        self._options = options
        self.custom = options.custom
        self._resized = False
        self._other_sign: dict[Value, Value] = {}
        self._tables: dict[type[Any], Any] = {}
        self._batches = open_batches(input_sizes(model), options)

    def graph_input(self, index: int) -> Value:
        """The value of a model input, with the shape that the user fixed if there is one."""
        record = self.model.tensors[index]
        wanted = self._options.shapes.get(record.name, self._batches.get(record.name))
        if wanted is None and is_open(record):
            raise dynamic_shape(record)
        if wanted is not None and wanted != record.shape:
            record = replace(record, shape=wanted)
            self._resized = True
        type_ = tensor_type(record)
        found = type_.quantization
        if found is not None and (found.per_channel or 0.0 in record.scales):
            raise Unsupported("GM105", f"{type_}: an input has one scale and zero point")
        self._values[index] = Value(type_, record.name)
        return self._values[index]

    def bound_input(self, index: int) -> None:
        """A model input that the user knows at compile time becomes a constant. Raises GM111."""
        record = self.model.tensors[index]
        type_ = tensor_type(record)
        sizes = [None if a in record.variable_axes else n for a, n in enumerate(record.shape)]
        data = bound_data(record.name, self._options.bind[record.name], type_.element, sizes)
        self._resized |= data.shape != type_.shape
        self._values[index] = self.builder.add_constant(data, record.name, type_.quantization)

    def value(self, op: OperatorRecord, position: int) -> Value:
        """Operand `position`; a constant becomes a node the first time it is read."""
        if not self.has(op, position):
            raise Unsupported("GM105", f"{op.name} lacks operand {position}")
        if self.is_complex(op, position):
            raise Unsupported("GM105", f"{op.name} of complex numbers is not supported")
        return self.tensor_value(op.inputs[position])

    def tensor_value(self, index: int) -> Value:
        """The value of tensor `index` of the file."""
        if index not in self._values:
            record = self.model.tensors[index]
            if record.data is None and 0 not in record.shape:
                raise Unsupported("GM105", f"tensor {record.name!r} is read before it is computed")
            if index not in self._constants:
                value = Value(tensor_type(record), record.name)
                self._constants[index] = self.builder.add_known(value, constant_data(record))
            self._values[index] = self._constants[index]
        return self._values[index]

    def enter(self, number: int, place: str, builder: GraphBuilder) -> Import:
        """Subgraph `number` on its way into `builder`; `place` goes before its tensors' names.

        Raises Unsupported GM142 if subgraphs refer to each other without end.
        """
        expect_shallow(self.depth + 1)
        model = with_row_writes(self.model.subgraph(number))
        tensors = (replace(item, name=f"{place}/{item.name}") for item in model.tensors)
        model = replace(model, tensors=tuple(tensors))
        inner = Import(model, InputOptions(custom=self.custom), builder, self.depth + 1)
        inner._resized = self._resized
        inner.effort = self.effort
        self.effort.spend(len(model.operators))
        if builder is self.builder:
            inner._inner_constants = self._inner_constants
            inner._constants = self._inner_constants.setdefault(number, {})
        return inner

    def give(self, position: int, value: Value) -> None:
        """Input `position` of a subgraph is `value`. Raises Unsupported GM106."""
        record = self.model.tensors[self.model.inputs[position]]
        declared, type_ = tensor_type(record), value.type
        is_fit = self._resized or fits_record(type_.shape, record)
        if not is_fit or declared.with_shape(type_.shape) != type_:
            raise Unsupported(
                "GM106", f"input {position} of its subgraph is {declared}, and is given {type_}"
            )
        self._values[record.index] = value

    def has(self, op: OperatorRecord, position: int) -> bool:
        """Whether the optional operand `position` is given."""
        assert position >= 0
        self.asked_operands = max(self.asked_operands, position + 1)
        return position < len(op.inputs) and op.inputs[position] >= 0

    def known(self, op: OperatorRecord, position: int) -> bool:
        """Whether an operand is given and its data is known at compile time."""
        if not self.has(op, position):
            return False
        index = op.inputs[position]
        return self._values.get(index) in self.builder.known or (
            self.model.tensors[index].data is not None
        )

    def is_known(self, value: Value) -> bool:
        """Whether `value` is the same for every input: a constant of the file, or made of such."""
        return value in self.builder.known

    def constant(self, op: OperatorRecord, position: int, what: str) -> Array:
        """Data of an operand that must be known at compile time; `what` names it in the error."""
        if not self.has(op, position):
            raise must_be_known(op.name, what, ())
        index = op.inputs[position]
        value, record = self._values.get(index), self.model.tensors[index]
        if value is not None and value in self.builder.known:
            return self.builder.known[value]
        if record.data is None and 0 not in record.shape:
            inputs = self.builder.inputs_behind(value) if value is not None else ()
            raise must_be_known(op.name, what, inputs)
        return constant_data(record)

    def add_constant(
        self, data: Array, name: str, quantization: Quantization | None = None
    ) -> Value:
        """A constant that is not in the file (a missing bias, say)."""
        return self.builder.add_constant(data, name, quantization)

    def set_value(self, op: OperatorRecord, value: Value, position: int = 0) -> None:
        """A result of the operator, the only one mostly, is `value`, which is there already."""
        self._values[op.outputs[position]] = value

    def expect_declared(self, op: OperatorRecord, position: int, value: Value) -> None:
        """GM106 unless the file declares a result as `value` is."""
        record, declared = self.model.tensors[op.outputs[position]], self.output_type(op, position)
        is_fit = self._resized or fits_record(value.type.shape, record)
        if not is_fit or declared.element is not value.type.element:
            raise Unsupported(
                "GM106", f"{op.name}: result {position} is {value.type}, declared as {declared}"
            )

    def side_table(self, kind: type[_Table]) -> _Table:
        """What a family of importers notes of this model: made when it is first asked for."""
        return cast(_Table, self._tables.setdefault(kind, kind()))

    def give_table(self, table: object) -> None:
        """`table` is what `side_table` gives for its class."""
        self._tables[type(table)] = table

    def bind(self, op: OperatorRecord, data: Array) -> None:
        """The operator's result is `data`, known at compile time (a shape, say)."""
        declared = self.output_type(op)
        name = self.model.tensors[op.outputs[0]].name
        if element_type_of(data.dtype) is not declared.element:
            raise Unsupported("GM106", f"{op.name.lower()}: {data.dtype} is not {declared}")
        type_ = TensorType(data.shape, declared.element, declared.quantization)
        self._values[op.outputs[0]] = self.builder.add_known(Value(type_, name), data)

    def bind_value(self, op: OperatorRecord, value: Value) -> None:
        """The operator's result is `value`, whatever type the file declares."""
        self._values[op.outputs[0]] = value

    def fits(self, op: OperatorRecord, shape: Shape) -> bool:
        """Whether the operator's result may have this shape."""
        return self._resized or fits_record(shape, self.model.tensors[op.outputs[0]])

    def is_complex(self, op: OperatorRecord, position: int = 0) -> bool:
        """Whether an operand is complex: only those operators read it that ask for this."""
        tensors = self.model.tensors
        return self.has(op, position) and tensors[op.inputs[position]].type_name == "COMPLEX64"

    def output_type(self, op: OperatorRecord, position: int = 0) -> TensorType:
        """Type that the file declares for a result."""
        index = op.outputs[position]
        type_ = tensor_type(self.model.tensors[index], self._is_ending(op, index), self._resized)
        if type_.quantization is not None and type_.quantization.per_channel:
            raise Unsupported(
                "GM106",
                f"{op.name.lower()}: a result is {type_}; only constants are quantized per channel",
            )
        return type_

    def _is_ending(self, op: OperatorRecord, index: int) -> bool:
        """Whether a matrix product without an activation makes the tensor, and nothing but the
        application reads it.
        """
        if op.name != "FULLY_CONNECTED" or op.options_table is None or self.depth > 0:
            return False
        activation = op.options(tflite.FullyConnectedOptions).FusedActivationFunction()
        is_read = any(index in other.inputs for other in self.model.operators)
        return activation == tflite.ActivationFunctionType.NONE and not is_read

    def emit(
        self, op: OperatorRecord, operation: Operation, inputs: Sequence[Value]
    ) -> tuple[Value, ...]:
        """A node whose results are the operator's; element types and quantization from the file."""
        declared = [self.output_type(op, i) for i in range(len(op.outputs))]
        if knows_int8_alone(operation, [*(value.type for value in inputs), *declared]):
            operands = [self.signed(op, value) for value in inputs]
            return self.emit_signed(op, as_int8_operation(operation), operands)
        names = [self.model.tensors[index].name for index in op.outputs]
        values = self._emit(op, operation, inputs, declared, names, self._check_shapes(op))
        self._values.update(zip(op.outputs, values, strict=True))
        return values

    def emit_signed(
        self, op: OperatorRecord, operation: Operation, inputs: Sequence[Value]
    ) -> tuple[Value, ...]:
        """The same for an operator on uint8 that is computed in int8: so are `inputs` (`signed`),
        and attributes in stored units.
        """
        declared = [self.output_type(op, i) for i in range(len(op.outputs))]
        names = [self.model.tensors[index].name for index in op.outputs]
        types, inner = [as_int8(type_) for type_ in declared], [f"{name}/int8" for name in names]
        signed = self._emit(op, operation, inputs, types, inner, self._check_shapes(op))
        values = tuple(
            value if value.type == type_ else self._unsigned(op, value, type_, name)
            for value, type_, name in zip(signed, declared, names, strict=True)
        )
        self._values.update(zip(op.outputs, values, strict=True))
        return values

    def emit_with_states(
        self, op: OperatorRecord, operation: Operation, inputs: Sequence[Value],
        states: Sequence[Value],
    ) -> tuple[Value, ...]:  # fmt: skip
        """A node whose first result is the operator's; what it returns is what `states` become."""
        names = [self.model.tensors[op.outputs[0]].name, *(f"{s.name}/next" for s in states)]
        types = [self.output_type(op), *(state.type for state in states)]
        check = self._check_shapes(op)
        first = None if check is None else lambda shapes: check(shapes[:1])
        result, *rest = self._emit(op, operation, inputs, types, names, first)
        self.set_value(op, result)
        return tuple(rest)

    def signed(self, op: OperatorRecord, value: Value) -> Value:
        """A quantized uint8 operand as the same real numbers in int8."""
        type_ = as_int8(value.type)
        if type_ == value.type or value in self._other_sign:
            return self._other_sign.get(value, value)
        if value in self.builder.known:
            data = (self.builder.known[value].astype(np.int16) - 128).astype(np.int8)
            self._other_sign[value] = self.add_constant(data, value.name, type_.quantization)
        else:
            name = f"{value.name}/int8"
            self._other_sign[value] = self._emit(op, Requantize(), [value], [type_], [name])[0]
        return self._other_sign[value]

    def _unsigned(self, op: OperatorRecord, value: Value, type_: TensorType, name: str) -> Value:
        """An int8 result in the file's uint8."""
        (result,) = self._emit(op, Requantize(), [value], [type_], [name])
        self._other_sign[result] = value
        return result

    def emit_inner(
        self, op: OperatorRecord, operation: Operation, inputs: Sequence[Value], type_: TensorType
    ) -> Value:
        """A node in front of the operator's own: `type_` with its shape inferred anew."""
        return self.emit_all(op, operation, inputs, [type_])[0]

    def emit_all(
        self,
        op: OperatorRecord,
        operation: Operation,
        inputs: Sequence[Value],
        types: Sequence[TensorType],
    ) -> tuple[Value, ...]:
        """The same with any number of results."""
        name = f"{self.model.tensors[op.outputs[0]].name}/{operation.name}"
        names = [name if place == 0 else f"{name}_{place}" for place in range(len(types))]
        return self._emit(op, operation, inputs, types, names)

    def _emit(
        self,
        op: OperatorRecord,
        operation: Operation,
        inputs: Sequence[Value],
        declared: Sequence[TensorType],
        names: Sequence[str],
        check_shapes: ShapeCheck | None = None,
    ) -> tuple[Value, ...]:
        source = f"operator {op.index} {op.name}"
        if all(type_.element.is_float for type_ in declared):
            inputs = with_real_constants(self.builder, inputs)
        try:
            return self.builder.add_node(operation, inputs, declared, names, source, check_shapes)
        except OperationError as cause:
            raise refused(op.name.lower(), cause) from cause

    def _check_shapes(self, op: OperatorRecord) -> ShapeCheck | None:
        """Compares inferred shapes with the file's, but for axes that it leaves open."""
        if self._resized:
            return None
        records = [self.model.tensors[index] for index in op.outputs]

        def check(shapes: Sequence[Shape]) -> None:
            for shape, record in zip(shapes, records, strict=True):
                if not fits_record(shape, record):
                    raise OperationError(f"its result is {shape}, the file declares {record.shape}")

        return check
