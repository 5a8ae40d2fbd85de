"""From records to the graph IR: types, constants, and one importer function an operator.

An importer is registered by `@importer("CONV_2D")`; it reads operands and options through `Import`
and emits nodes. Whatever does not fit raises `Unsupported`; the driver gathers all of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

from glowmcu.discovery import import_members
from glowmcu.errors import Problem
from glowmcu.frontend.tflite.container import ModelRecord, OperatorRecord, TensorRecord
from glowmcu.ir.graph import Node, Value
from glowmcu.ir.operation import (
    Array,
    Operation,
    OperationError,
    Rounding,
    Signature,
    constant,
)
from glowmcu.ir.types import ElementType, Quantization, Shape, TensorType, element_type_of

#: Beyond this no microcontroller is meant; it also bounds what a hostile file can make us allocate.
_MAX_TENSOR_BYTES = 1 << 24
#: Shape arithmetic on more elements than this is left to be computed at run time.
_MAX_SHAPE_ELEMENTS = 64

_ELEMENTS = {
    "INT8": ElementType.I8,
    "INT4": ElementType.I8,
    "UINT8": ElementType.UI8,
    "INT16": ElementType.I16,
    "INT32": ElementType.I32,
    "INT64": ElementType.I64,
    "FLOAT32": ElementType.F32,
    "BOOL": ElementType.BOOL,
}


class Unsupported(Exception):
    """An operator or tensor that cannot be imported: code, what, and what to try next."""

    def __init__(self, code: str, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.code, self.message, self.hint = code, message, hint

    def problem(self, where: str) -> Problem:
        return Problem(self.code, self.message, where, self.hint)


ImportFunction = Callable[["Import", OperatorRecord], None]
_IMPORTERS: dict[str, ImportFunction] = {}


def importer(*names: str) -> Callable[[ImportFunction], ImportFunction]:
    """Decorator: this function imports the builtin operators `names`."""

    def register(function: ImportFunction) -> ImportFunction:
        for name in names:
            _IMPORTERS[name] = function
        return function

    return register


@cache
def load_importers() -> dict[str, ImportFunction]:
    """All importers by TFLite operator name, sorted."""
    import_members("glowmcu.frontend.tflite")
    return dict(sorted(_IMPORTERS.items()))


class Import:
    """A model on its way into the graph IR: what importers read from and emit to."""

    def __init__(self, model: ModelRecord, input_shapes: Mapping[str, Shape]) -> None:
        self.model = model
        self.nodes: list[Node] = []
        self._values: dict[int, Value] = {}
        self._known: dict[Value, Array] = {}
        self._input_shapes = input_shapes
        self._resized = False

    def graph_input(self, index: int) -> Value:
        """The value of a model input, with the shape that the user fixed where there is one."""
        record = self.model.tensors[index]
        type_ = tensor_type(record)
        if _is_per_channel(type_):
            raise Unsupported("GM105", f"{type_}: an input has one scale and zero point")
        wanted = self._input_shapes.get(record.name)
        if wanted is not None and wanted != type_.shape:
            type_ = type_.with_shape(wanted)
            self._resized = True
        elif wanted is None and any(a != 0 or record.shape[a] != 1 for a in record.variable_axes):
            raise _dynamic_shape(record)
        self._values[index] = Value(type_, record.name)
        return self._values[index]

    def value(self, op: OperatorRecord, position: int) -> Value:
        """Operand `position`; a constant becomes a node the first time it is read."""
        index = op.inputs[position] if position < len(op.inputs) else -1
        if index < 0:
            raise Unsupported("GM105", f"{op.name} lacks operand {position}")
        return self.tensor_value(index)

    def tensor_value(self, index: int) -> Value:
        """The value of tensor `index` of the file."""
        if index not in self._values:
            record = self.model.tensors[index]
            if record.data is None and 0 not in record.shape:
                raise Unsupported("GM105", f"tensor {record.name!r} is read before it is computed")
            self._values[index] = self._add_constant(record)
        return self._values[index]

    def has(self, op: OperatorRecord, position: int) -> bool:
        """Whether the optional operand `position` is given."""
        return position < len(op.inputs) and op.inputs[position] >= 0

    def known(self, op: OperatorRecord, position: int) -> bool:
        """Whether an operand is given and its data is known at compile time."""
        if not self.has(op, position):
            return False
        index = op.inputs[position]
        return self._values.get(index) in self._known or (
            self.model.tensors[index].data is not None
        )

    def is_known(self, value: Value) -> bool:
        """Whether `value` is the same for every input: a constant of the file, or made of such."""
        return value in self._known

    def constant(self, op: OperatorRecord, position: int, what: str) -> Array:
        """Data of an operand that must be known at compile time; `what` names it in the error."""
        index = op.inputs[position] if position < len(op.inputs) else -1
        if index >= 0 and self._values.get(index) in self._known:
            return self._known[self._values[index]]
        record = self.model.tensors[index] if index >= 0 else None
        if record is None or (record.data is None and 0 not in record.shape):
            raise Unsupported(
                "GM105",
                f"{op.name} needs {what} known at compile time",
                "make it a constant in the model; a static arena has no room for data-made shapes",
            )
        return constant_data(record)

    def add_constant(
        self, data: Array, name: str, quantization: Quantization | None = None
    ) -> Value:
        """A constant that is not in the file (a missing bias, say)."""
        type_ = TensorType(data.shape, element_type_of(data.dtype), quantization)
        value = Value(type_, name)
        self.nodes.append(Node(constant(data), (), (value,), name))
        return value

    def bind(self, op: OperatorRecord, data: Array) -> None:
        """The operator's result is `data`, known at compile time (a shape, say)."""
        declared = self.output_type(op)
        name = self.model.tensors[op.outputs[0]].name
        if element_type_of(data.dtype) is not declared.element:
            raise Unsupported("GM106", f"{op.name.lower()}: {data.dtype} is not {declared}")
        type_ = TensorType(data.shape, declared.element, declared.quantization)
        self._values[op.outputs[0]] = Value(type_, name)
        self._add_known(self._values[op.outputs[0]], data)

    def output_type(self, op: OperatorRecord, position: int = 0) -> TensorType:
        """Type that the file declares for a result."""
        return tensor_type(self.model.tensors[op.outputs[position]])

    def emit(
        self, op: OperatorRecord, operation: Operation, inputs: Sequence[Value]
    ) -> tuple[Value, ...]:
        """A node whose results are the operator's; element types and quantization from the file."""
        declared = [self.output_type(op, i) for i in range(len(op.outputs))]
        names = [self.model.tensors[index].name for index in op.outputs]
        values = self._emit(op, operation, inputs, declared, names)
        self._values.update(zip(op.outputs, values, strict=True))
        return values

    def emit_inner(
        self, op: OperatorRecord, operation: Operation, inputs: Sequence[Value], type_: TensorType
    ) -> Value:
        """A node in front of the operator's own: `type_` with its shape inferred anew."""
        name = f"{self.model.tensors[op.outputs[0]].name}/{operation.name}"
        return self._emit(op, operation, inputs, [type_], [name], check=False)[0]

    def _emit(
        self,
        op: OperatorRecord,
        operation: Operation,
        inputs: Sequence[Value],
        declared: Sequence[TensorType],
        names: Sequence[str],
        check: bool = True,
    ) -> tuple[Value, ...]:
        try:
            _check_channels(operation, inputs, declared)
            shapes = operation.infer([value.type for value in inputs])
            if len(shapes) != len(declared):
                raise OperationError(f"it has {len(shapes)} results, got {len(declared)}")
            if check and not self._resized:
                _check_shapes(shapes, declared)
            for shape, type_ in zip(shapes, declared, strict=True):
                if math.prod(shape) * type_.element.size_bytes > _MAX_TENSOR_BYTES:
                    raise OperationError(f"a result of {shape} is beyond {_MAX_TENSOR_BYTES} B")
            types = [type_.with_shape(shape) for type_, shape in zip(declared, shapes, strict=True)]
            operation.verify(Signature(tuple(value.type for value in inputs), tuple(types)))
        except OperationError as cause:
            raise Unsupported("GM106", f"{op.name.lower()}: {cause}") from cause
        values = tuple(Value(type_, name) for type_, name in zip(types, names, strict=True))
        if self._is_shape_arithmetic(inputs, values):
            self._fold(operation, inputs, values)
            return values
        source = f"operator {op.index} {op.name}"
        self.nodes.append(Node(operation, tuple(inputs), values, names[0], source))
        return values

    def _is_shape_arithmetic(self, inputs: Sequence[Value], results: Sequence[Value]) -> bool:
        """Few plain integers, all known: exporters compute shapes with ordinary operators."""
        return all(value in self._known for value in inputs) and all(
            value.type.element in (ElementType.I32, ElementType.I64)
            and value.type.quantization is None
            and value.type.element_count <= _MAX_SHAPE_ELEMENTS
            for value in (*inputs, *results)
        )

    def _fold(self, operation: Operation, inputs: Sequence[Value], values: Sequence[Value]) -> None:
        """Constants in the place of the operator's results."""
        signature = Signature(
            tuple(value.type for value in inputs), tuple(value.type for value in values)
        )
        operands = [self._known[value] for value in inputs]
        results = operation.evaluate(operands, signature, Rounding.DOUBLE)
        for value, result in zip(values, results, strict=True):
            self._add_known(value, np.ascontiguousarray(result).reshape(value.type.shape))

    def _add_known(self, value: Value, data: Array) -> None:
        self._known[value] = data
        self.nodes.append(Node(constant(data), (), (value,), value.name))

    def _add_constant(self, record: TensorRecord) -> Value:
        value = Value(tensor_type(record), record.name)
        self._add_known(value, constant_data(record))
        return value


def _check_channels(
    operation: Operation, inputs: Sequence[Value], declared: Sequence[TensorType]
) -> None:
    """Only weights and their biases have a scale a channel."""
    for position, value in enumerate(inputs):
        if _is_per_channel(value.type) and position not in operation.channel_operands:
            raise OperationError(f"{value.name!r} is quantized per channel; expected per tensor")
    for type_ in declared:
        if _is_per_channel(type_):
            raise OperationError(f"a result is {type_}; only constants are quantized per channel")


def _is_per_channel(type_: TensorType) -> bool:
    return type_.quantization is not None and type_.quantization.per_channel


def _check_shapes(shapes: Sequence[Shape], declared: Sequence[TensorType]) -> None:
    for shape, type_ in zip(shapes, declared, strict=True):
        # Exporters write () also for a shape that they do not know.
        if type_.shape and shape != type_.shape:
            raise OperationError(f"its result is {shape}, the file declares {type_.shape}")


def _dynamic_shape(record: TensorRecord) -> Unsupported:
    shape = "x".join(
        "?" if a in record.variable_axes else str(n) for a, n in enumerate(record.shape)
    )
    fixed = "x".join(str(max(size, 1)) for size in record.shape)
    return Unsupported(
        "GM104",
        f"input {record.name!r} has a dynamic shape, {shape}; expected every size fixed",
        f"fix it: --input-shape {record.name}={fixed}",
    )


def tensor_type(record: TensorRecord) -> TensorType:
    """IR type of a tensor. Raises Unsupported for types and quantization that we don't have."""
    element = _ELEMENTS.get(record.type_name)
    if element is None:
        known = ", ".join(_ELEMENTS)
        raise Unsupported(
            "GM105", f"tensor {record.name!r} is {record.type_name}; supported: {known}"
        )
    if any(size < 0 for size in record.shape):
        raise _dynamic_shape(record)
    if math.prod(record.shape) * element.size_bytes > _MAX_TENSOR_BYTES:
        raise Unsupported(
            "GM105",
            f"tensor {record.name!r} of {record.shape} is beyond {_MAX_TENSOR_BYTES} B, "
            "more than any microcontroller holds",
        )
    return TensorType(record.shape, element, _quantization(record, element))


def _quantization(record: TensorRecord, element: ElementType) -> Quantization | None:
    if not record.scales or element in (ElementType.F32, ElementType.BOOL, ElementType.I64):
        return None
    axis = record.quantized_axis if len(record.scales) > 1 else None
    if axis is not None and not (
        0 <= axis < len(record.shape) and record.shape[axis] == len(record.scales)
    ):
        raise Unsupported(
            "GM105",
            f"tensor {record.name!r} has {len(record.scales)} scales along axis {axis} "
            f"of {record.shape}",
        )
    lowest, highest = element.limits
    zero_points = record.zero_points
    if len(zero_points) == 1:
        zero_points = zero_points * len(record.scales)
    outside = [point for point in zero_points if not lowest <= point <= highest]
    if outside or len(zero_points) != len(record.scales):
        got = f"zero point {outside[0]}" if outside else f"{len(zero_points)} zero points"
        raise Unsupported(
            "GM105",
            f"tensor {record.name!r} has {got}; expected one a scale ({len(record.scales)}) "
            f"within {element.value}, {lowest} to {highest}",
            "converters never write that: quantize the model again",
        )
    if not all(0.0 < scale < math.inf for scale in record.scales):
        raise Unsupported("GM105", f"tensor {record.name!r} has a scale that is not positive")
    return Quantization(record.scales, zero_points, axis)


def constant_data(record: TensorRecord) -> Array:
    """Data of a constant tensor in its numpy dtype; int4 is unpacked to int8."""
    type_ = tensor_type(record)
    data: memoryview | bytes = b"" if record.data is None else record.data
    if record.type_name == "INT4":
        return _unpack_int4(data, type_.element_count).reshape(type_.shape)
    if len(data) != type_.size_bytes:
        raise Unsupported(
            "GM105",
            f"constant {record.name!r} holds {len(data)} bytes; {type_} needs {type_.size_bytes}",
        )
    raw: Array = np.frombuffer(data, dtype=type_.element.numpy.newbyteorder("<"))
    return raw.astype(type_.element.numpy).reshape(type_.shape)


def _unpack_int4(data: memoryview | bytes, count: int) -> Array:
    """Two elements a byte, low nibble first, sign extended."""
    if len(data) != (count + 1) // 2:
        raise Unsupported(
            "GM105", f"{count} int4 elements need {(count + 1) // 2} bytes, got {len(data)}"
        )
    packed: Any = np.frombuffer(data, np.int8)
    nibbles = np.stack([np.left_shift(packed, 4) >> 4, packed >> 4], axis=-1)
    return nibbles.reshape(-1)[:count].astype(np.int8)
