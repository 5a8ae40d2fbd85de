"""From records to the graph IR: types, constants, and one importer function an operator.

An importer is registered by `@importer("CONV_2D")`; it reads operands and options through `Import`
and emits nodes. Whatever does not fit raises `Unsupported`; the driver gathers all of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache

import numpy as np

from glowmcu.discovery import import_members
from glowmcu.frontend.graph_builder import GraphBuilder, ShapeCheck, check_tensor_size
from glowmcu.frontend.known_inputs import Sizes, bound_data, must_be_known, open_batches
from glowmcu.frontend.tflite.container import ModelRecord, OperatorRecord, TensorRecord
from glowmcu.frontend.tflite.int4 import unpack_int4
from glowmcu.frontend.tflite.unsigned import as_int8, as_int8_operation, knows_int8_alone
from glowmcu.frontend.unsupported import Unsupported
from glowmcu.input_options import InputOptions
from glowmcu.ir.graph import Value
from glowmcu.ir.operation import Array, Operation, OperationError
from glowmcu.ir.types import ElementType, Quantization, Shape, TensorType, element_type_of
from glowmcu.ops.quantization import Requantize

__all__ = [
    "Import", "Unsupported", "constant_data", "importer", "load_importers", "real_values",
    "tensor_type",
]  # fmt: skip

_ELEMENTS = {
    "INT8": ElementType.I8,
    "INT4": ElementType.I8,
    "UINT8": ElementType.UI8,
    "INT16": ElementType.I16,
    "INT32": ElementType.I32,
    "INT64": ElementType.I64,
    "FLOAT32": ElementType.F32,
    "FLOAT16": ElementType.F32,  # constants alone
    "BOOL": ElementType.BOOL,
}


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

    def __init__(self, model: ModelRecord, options: InputOptions) -> None:
        self.model = model
        self.builder = GraphBuilder()
        self._values: dict[int, Value] = {}
        self._options = options
        self._resized = False
        self._twins: dict[Value, Value] = {}
        self._batches = open_batches(input_sizes(model), options)

    def graph_input(self, index: int) -> Value:
        """The value of a model input, with the shape that the user fixed where there is one."""
        record = self.model.tensors[index]
        wanted = self._options.shapes.get(record.name, self._batches.get(record.name))
        if wanted is None and _is_open(record):
            raise _dynamic_shape(record)
        if wanted is not None and wanted != record.shape:
            record = replace(record, shape=wanted)
            self._resized = True
        type_ = tensor_type(record)
        if type_.quantization is not None and type_.quantization.per_channel:
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
            value = Value(tensor_type(record), record.name)
            self._values[index] = self.builder.add_known(value, constant_data(record))
        return self._values[index]

    def has(self, op: OperatorRecord, position: int) -> bool:
        """Whether the optional operand `position` is given."""
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
        index = op.inputs[position] if position < len(op.inputs) else -1
        value = self._values.get(index) if index >= 0 else None
        if value is not None and value in self.builder.known:
            return self.builder.known[value]
        record = self.model.tensors[index] if index >= 0 else None
        if record is None or (record.data is None and 0 not in record.shape):
            inputs = self.builder.inputs_behind(value) if value is not None else ()
            raise must_be_known(op.name, what, inputs)
        return constant_data(record)

    def add_constant(
        self, data: Array, name: str, quantization: Quantization | None = None
    ) -> Value:
        """A constant that is not in the file (a missing bias, say)."""
        return self.builder.add_constant(data, name, quantization)

    def bind(self, op: OperatorRecord, data: Array) -> None:
        """The operator's result is `data`, known at compile time (a shape, say)."""
        declared = self.output_type(op)
        name = self.model.tensors[op.outputs[0]].name
        if element_type_of(data.dtype) is not declared.element:
            raise Unsupported("GM106", f"{op.name.lower()}: {data.dtype} is not {declared}")
        type_ = TensorType(data.shape, declared.element, declared.quantization)
        self._values[op.outputs[0]] = self.builder.add_known(Value(type_, name), data)

    def output_type(self, op: OperatorRecord, position: int = 0) -> TensorType:
        """Type that the file declares for a result."""
        type_ = tensor_type(self.model.tensors[op.outputs[position]])
        if type_.quantization is not None and type_.quantization.per_channel:
            raise Unsupported(
                "GM106",
                f"{op.name.lower()}: a result is {type_}; only constants are quantized per channel",
            )
        return type_

    def emit(
        self, op: OperatorRecord, operation: Operation, inputs: Sequence[Value]
    ) -> tuple[Value, ...]:
        """A node whose results are the operator's; element types and quantization from the file."""
        declared = [self.output_type(op, i) for i in range(len(op.outputs))]
        names = [self.model.tensors[index].name for index in op.outputs]
        check = self._check_shapes(op)
        if knows_int8_alone(operation, [*(value.type for value in inputs), *declared]):
            operands = [self._signed(op, value) for value in inputs]
            types, inner = [as_int8(type_) for type_ in declared], as_int8_operation(operation)
            signed = self._emit(
                op, inner, operands, types, [f"{name}/int8" for name in names], check
            )
            values = tuple(
                value if value.type == type_ else self._unsigned(op, value, type_, name)
                for value, type_, name in zip(signed, declared, names, strict=True)
            )
        else:
            values = self._emit(op, operation, inputs, declared, names, check)
        self._values.update(zip(op.outputs, values, strict=True))
        return values

    def _signed(self, op: OperatorRecord, value: Value) -> Value:
        """A quantized uint8 operand as the same real numbers in int8."""
        type_ = as_int8(value.type)
        if type_ == value.type or value in self._twins:
            return self._twins.get(value, value)
        if value in self.builder.known:
            data = (self.builder.known[value].astype(np.int16) - 128).astype(np.int8)
            self._twins[value] = self.add_constant(data, value.name, type_.quantization)
        else:
            name = f"{value.name}/int8"
            self._twins[value] = self._emit(op, Requantize(), [value], [type_], [name])[0]
        return self._twins[value]

    def _unsigned(self, op: OperatorRecord, value: Value, type_: TensorType, name: str) -> Value:
        """An int8 result in the file's uint8."""
        (result,) = self._emit(op, Requantize(), [value], [type_], [name])
        self._twins[result] = value
        return result

    def emit_inner(
        self, op: OperatorRecord, operation: Operation, inputs: Sequence[Value], type_: TensorType
    ) -> Value:
        """A node in front of the operator's own: `type_` with its shape inferred anew."""
        name = f"{self.model.tensors[op.outputs[0]].name}/{operation.name}"
        return self._emit(op, operation, inputs, [type_], [name])[0]

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
            inputs = self._with_real_constants(inputs)
        try:
            return self.builder.add_node(operation, inputs, declared, names, source, check_shapes)
        except OperationError as cause:
            raise Unsupported("GM106", f"{op.name.lower()}: {cause}") from cause

    def _check_shapes(self, op: OperatorRecord) -> ShapeCheck | None:
        """Compares inferred shapes with the file's, but for axes that it leaves open."""
        if self._resized:
            return None
        records = [self.model.tensors[index] for index in op.outputs]

        def check(shapes: Sequence[Shape]) -> None:
            for shape, record in zip(shapes, records, strict=True):
                if not _fits(shape, record):
                    raise OperationError(f"its result is {shape}, the file declares {record.shape}")

        return check

    def _with_real_constants(self, inputs: Sequence[Value]) -> list[Value]:
        """Operands of a float operator: int8 weights (dynamic-range models) become real numbers."""
        if not any(value.type.element.is_float for value in inputs):
            return list(inputs)
        return [
            self.add_constant(real_values(self.builder.known[value], value.type), value.name)
            if value.type.quantization is not None and self.is_known(value)
            else value
            for value in inputs
        ]


def _fits(shape: Shape, record: TensorRecord) -> bool:
    # Exporters write () also for a shape that they do not know.
    return not record.shape or (
        len(shape) == len(record.shape)
        and all(
            axis in record.variable_axes or size == record.shape[axis]
            for axis, size in enumerate(shape)
        )
    )


def input_sizes(model: ModelRecord) -> dict[str, Sizes]:
    """Sizes of the model's inputs, None where the file leaves them open."""
    records = [model.tensors[index] for index in model.inputs]
    return {
        record.name: [
            None if axis in record.variable_axes else size for axis, size in enumerate(record.shape)
        ]
        for record in records
    }


def _is_open(record: TensorRecord) -> bool:
    """Whether a size is missing; a vector of one element may be a batch of one number."""
    return bool(record.variable_axes) and (record.variable_axes, record.shape) != ((0,), (1,))


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
    if element is None or (record.type_name == "FLOAT16" and record.data is None):
        known = ", ".join(name for name in _ELEMENTS if name != "FLOAT16")
        raise Unsupported(
            "GM105", f"tensor {record.name!r} is {record.type_name}; supported: {known}"
        )
    if any(size < 0 for size in record.shape):
        raise _dynamic_shape(record)
    check_tensor_size(record.shape, element.size_bytes, f"tensor {record.name[:120]!r}")
    return TensorType(record.shape, element, _quantization(record, element))


def _quantization(record: TensorRecord, element: ElementType) -> Quantization | None:
    if not record.scales or element in (ElementType.F32, ElementType.BOOL, ElementType.I64):
        return None
    try:
        return _checked_quantization(record, element)
    except Unsupported:
        if element is ElementType.I32 and record.data is not None:
            return None  # a bias is at the product of other scales: no interpreter reads its own
        raise


def _checked_quantization(record: TensorRecord, element: ElementType) -> Quantization:
    """Raises GM105 for parameters that do not fit the tensor."""
    if len(record.scales) > 1 and record.data is None:
        # What is computed has one scale: the first, as TensorFlow Lite Micro reads it.
        record = replace(record, scales=record.scales[:1], zero_points=record.zero_points[:1])
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
    elif len(record.scales) == 1:
        zero_points = zero_points[:1]
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
        return unpack_int4(data, type_.element_count).reshape(type_.shape)
    stored = np.dtype(np.float16) if record.type_name == "FLOAT16" else type_.element.numpy
    if len(data) != type_.element_count * stored.itemsize:
        raise Unsupported(
            "GM105",
            f"constant {record.name!r} holds {len(data)} bytes; {type_} needs "
            f"{type_.element_count * stored.itemsize}",
        )
    raw: Array = np.frombuffer(data, dtype=stored.newbyteorder("<"))
    return raw.astype(type_.element.numpy).reshape(type_.shape)


def real_values(data: Array, type_: TensorType) -> Array:
    """scale * (data - zero point) as float32; `data` itself where it is not quantized."""
    if type_.quantization is None:
        return data.astype(np.float32)
    shape = [1] * type_.rank
    if type_.quantization.axis is not None:
        shape[type_.quantization.axis] = -1
    scales = np.array(type_.quantization.scales, np.float32)
    points = np.array(type_.quantization.zero_points, np.int64)
    if type_.quantization.axis is not None:
        scales, points = scales.reshape(shape), points.reshape(shape)
    offsets = (data.astype(np.int64) - points).astype(np.float32)
    return np.asarray(offsets * scales, np.float32).reshape(data.shape)
