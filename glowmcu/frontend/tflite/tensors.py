"""What a tensor of the file is in the graph IR: its type, and the data of a constant."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from glowmcu.frontend.graph_builder import GraphBuilder, check_tensor_size
from glowmcu.frontend.known_inputs import Sizes
from glowmcu.frontend.open_shapes import open_shape
from glowmcu.frontend.tflite.container import ModelRecord, TensorRecord
from glowmcu.frontend.tflite.packed_integers import BITS, unpack
from glowmcu.frontend.unsupported import Unsupported
from glowmcu.ir.graph import Value
from glowmcu.ir.operation import Array
from glowmcu.ir.types import ElementType, Quantization, Shape, TensorType

_ELEMENTS = {
    "INT8": ElementType.I8,
    "INT4": ElementType.I8,
    "INT2": ElementType.I8,
    "UINT8": ElementType.UI8,
    "INT16": ElementType.I16,
    "INT32": ElementType.I32,
    "UINT32": ElementType.UI32,
    "INT64": ElementType.I64,
    "UINT64": ElementType.UI64,
    "FLOAT32": ElementType.F32,
    "FLOAT16": ElementType.F32,  # constants alone
    "BOOL": ElementType.BOOL,
}
#: Their scales, if any, mean nothing to an interpreter.
_UNSCALED = (
    *(ElementType.F32, ElementType.BOOL, ElementType.I64),
    *(ElementType.UI32, ElementType.UI64),
)
#: In the place of 0, which converters write for zeros: whatever is multiplied by it is 0 in int32,
#: as it is in TensorFlow Lite's kernels, also beside scales of 4e-43, which they give to products
#: with zeros. With a scale of 1 a bias would not be. The least number of float32.
_SCALE_OF_NOTHING = 2.0**-149


_TEXT = (
    "make numbers of text in the application: cut the model behind its tokenizer, so that its "
    "input is the numbers of tokens"
)


def dynamic_shape(record: TensorRecord) -> Unsupported:
    """What to say where an axis is open."""
    sizes = [None if axis in record.variable_axes else n for axis, n in enumerate(record.shape)]
    return open_shape(record.name, sizes, [max(size, 1) for size in record.shape])


def tensor_type(
    record: TensorRecord, is_ending: bool = False, is_resized: bool = False
) -> TensorType:
    """IR type of a tensor. Raises Unsupported for types and quantization that we don't have.

    `is_ending`: a matrix product makes it and nothing computes with it. Then its zero point may be
    one above its numbers, which means that all it holds is below 0: to the product it is a summand.
    `is_resized`: the user gave inputs other shapes, so that this one's is not what it will have.
    """
    element = _element(record)
    if element is None or (record.type_name == "FLOAT16" and record.data is None):
        known = ", ".join(name for name in _ELEMENTS if name != "FLOAT16")
        raise Unsupported(
            "GM105",
            f"tensor {record.name!r} is {record.type_name}; supported: {known}",
            _TEXT if record.type_name == "STRING" else "",
        )
    if any(size < 0 for size in record.shape):
        raise dynamic_shape(record)
    if not is_resized:
        check_tensor_size(record.shape, element.size_bytes, f"tensor {record.name[:120]!r}")
    return TensorType(record.shape, element, _quantization(record, element, is_ending))


def channel_quantization(record: TensorRecord) -> Quantization | None:
    """Of a tensor whose channels have scales that differ; None for any other. Raises as above."""
    element = _ELEMENTS.get(record.type_name)
    if element is None or element in _UNSCALED or len(set(record.scales)) < 2:
        return None
    return _checked_quantization(record, element, is_ending=False, is_constant=True)


def _element(record: TensorRecord) -> ElementType | None:
    """None for types that we don't have. Weights whose blocks have a scale each are real numbers
    here.
    """
    if record.block_scales is not None and record.data is not None:
        return ElementType.F32
    return _ELEMENTS.get(record.type_name)


def _quantization(
    record: TensorRecord, element: ElementType, is_ending: bool
) -> Quantization | None:
    if not record.scales or element in _UNSCALED:
        return None
    try:
        return _checked_quantization(record, element, is_ending, record.data is not None)
    except Unsupported:
        if element is ElementType.I32 and record.data is not None:
            return None  # a bias is at the product of other scales: no interpreter reads its own
        raise


def _checked_quantization(
    record: TensorRecord, element: ElementType, is_ending: bool, is_constant: bool
) -> Quantization:
    """Raises GM105 for parameters that do not fit the tensor."""
    if len(record.scales) > 1 and not is_constant:
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
    most = highest + (is_ending and element is ElementType.I8)
    outside = [point for point in zero_points if not lowest <= point <= most]
    if outside or len(zero_points) != len(record.scales):
        got = f"zero point {outside[0]}" if outside else f"{len(zero_points)} zero points"
        raise Unsupported(
            "GM105",
            f"tensor {record.name!r} has {got}; expected one a scale ({len(record.scales)}) "
            f"within {element.value}, {lowest} to {highest}",
            "converters never write that: quantize the model again",
        )
    scales = _positive_scales(record, element, zero_points, axis)
    return Quantization(scales, zero_points, axis)


def _positive_scales(
    record: TensorRecord, element: ElementType, zero_points: Sequence[int], axis: int | None
) -> tuple[float, ...]:
    """The scales; 0 is that of nothing, and a constant with it holds nothing else. Raises GM105."""
    if all(0.0 < scale < math.inf for scale in record.scales):
        return record.scales
    if not all(0.0 <= scale < math.inf for scale in record.scales):
        what = "has a scale that is not positive and finite"
        raise Unsupported("GM105", f"tensor {record.name!r} {what}")
    if record.data is None:
        return tuple(scale or _SCALE_OF_NOTHING for scale in record.scales)
    data = _stored(record, TensorType(record.shape, element))
    rows = data.reshape(1, -1) if axis is None else np.moveaxis(data, axis, 0)
    for row, scale, point in zip(rows, record.scales, zero_points, strict=True):
        if scale == 0.0 and np.any(row != point):
            raise Unsupported(
                "GM105",
                f"constant {record.name!r} has a scale of 0 and numbers other than zero",
                "converters write that for nothing but zeros: quantize the model again",
            )
    return tuple(scale or _SCALE_OF_NOTHING for scale in record.scales)


def constant_data(record: TensorRecord) -> Array:
    """Data of a constant tensor in its numpy dtype; int4 is unpacked to int8, and what has a scale
    a block is made real.
    """
    type_ = tensor_type(record)
    if record.block_scales is not None:
        return _real_blocks(record, record.block_scales)
    return _stored(record, type_)


def _real_blocks(record: TensorRecord, scales: TensorRecord) -> Array:
    """float32, of integers with a scale for each `record.block_size` along the last axis."""
    integers = _ELEMENTS.get(record.type_name)
    rows, columns = record.shape[:-1], record.shape[-1] if record.shape else 0
    expected = (*rows, columns // record.block_size)
    is_fit = scales.shape == expected and scales.type_name in ("FLOAT16", "FLOAT32")
    if integers is not ElementType.I8 or columns % record.block_size or not is_fit:
        raise Unsupported(
            "GM105",
            f"constant {record.name!r} is {record.type_name} {record.shape} in blocks of "
            f"{record.block_size} with scales {scales.type_name} {scales.shape}; expected "
            f"{expected}",
        )
    stored = _stored(record, TensorType(record.shape, integers))
    factors = _stored(scales, TensorType(scales.shape, ElementType.F32))
    blocks = stored.reshape(*expected, record.block_size).astype(np.float32)
    real: Array = blocks * factors[..., np.newaxis]
    return real.reshape(record.shape)


def _stored(record: TensorRecord, type_: TensorType) -> Array:
    data: memoryview | bytes = b"" if record.data is None else record.data
    if record.type_name in BITS:
        return unpack(data, type_.element_count, BITS[record.type_name]).reshape(type_.shape)
    stored = np.dtype(np.float16) if record.type_name == "FLOAT16" else type_.element.numpy
    if len(data) != type_.element_count * stored.itemsize:
        raise Unsupported(
            "GM105",
            f"constant {record.name!r} holds {len(data)} bytes; {type_} needs "
            f"{type_.element_count * stored.itemsize}",
        )
    raw: Array = np.frombuffer(data, dtype=stored.newbyteorder("<"))
    return raw.astype(type_.element.numpy, copy=False).reshape(type_.shape)


def real_values(data: Array, type_: TensorType) -> Array:
    """scale * (data - zero point) as float32; `data` itself if it is not quantized."""
    if type_.quantization is None:
        return data.astype(np.float32)
    shape = [1] * type_.rank
    if type_.quantization.axis is not None:
        shape[type_.quantization.axis] = len(type_.quantization.scales)
    scales = np.array(type_.quantization.scales, np.float32)
    points = np.array(type_.quantization.zero_points, np.int64)
    if type_.quantization.axis is not None:
        scales, points = scales.reshape(shape), points.reshape(shape)
    offsets = (data.astype(np.int64) - points).astype(np.float32)
    return np.asarray(offsets * scales, np.float32).reshape(data.shape)


def with_real_constants(builder: GraphBuilder, inputs: Sequence[Value]) -> list[Value]:
    """Operands of a float operator: int8 weights (dynamic-range models) become real numbers."""
    if not any(value.type.element.is_float for value in inputs):
        return list(inputs)
    return [
        builder.add_constant(real_values(builder.known[value], value.type), value.name)
        if value.type.quantization is not None and value in builder.known
        else value
        for value in inputs
    ]


def fits_record(shape: Shape, record: TensorRecord) -> bool:
    """Whether it may have `shape`: exporters write () also for one that they do not know."""
    return not record.shape or (
        len(shape) == len(record.shape)
        and all(
            axis in record.variable_axes or size == record.shape[axis]
            for axis, size in enumerate(shape)
        )
    )


def input_sizes(model: ModelRecord) -> dict[str, Sizes]:
    """Sizes of the model's inputs, None if the file leaves them open."""
    records = [model.tensors[index] for index in model.inputs]
    return {
        record.name: [
            None if axis in record.variable_axes else size for axis, size in enumerate(record.shape)
        ]
        for record in records
    }


def is_open(record: TensorRecord) -> bool:
    """Whether a size is missing; a vector of one element may be a batch of one number."""
    return bool(record.variable_axes) and (record.variable_axes, record.shape) != ((0,), (1,))
