"""Operators of TensorFlow itself that a converter left in a file ("select TensorFlow operators",
`Flex…`), as onnx2tf does with GELU and Keras with pools over three axes. They compute in float32.

Each keeps its NodeDef in a FlexBuffer: `[name, NodeDef]`.
Source: TensorFlow's `flatbuffer_export.cc`, `math_ops.cc` and `nn_ops.cc`.
"""

from __future__ import annotations

import math

import numpy as np

from glowmcu.frontend.running_products import running_products
from glowmcu.frontend.tflite.axes import axis_operand
from glowmcu.frontend.tflite.container import OperatorRecord
from glowmcu.frontend.tflite.convolution import spatial_padding
from glowmcu.frontend.tflite.flexbuffer import read_texts
from glowmcu.frontend.tflite.importer import Import, Unsupported, importer
from glowmcu.frontend.tflite.node_def import Attribute, node_attributes
from glowmcu.frontend.tflite.operands import operands
from glowmcu.frontend.tflite.schema import tflite
from glowmcu.ir.graph import Value
from glowmcu.ir.operation import Operation
from glowmcu.ir.types import ElementType
from glowmcu.ops import bitwise
from glowmcu.ops import parametric_activation as parametric
from glowmcu.ops import real_functions as functions
from glowmcu.ops.convolution import Pair
from glowmcu.ops.pooling import AveragePool2D, MaxPool2D
from glowmcu.ops.shape import Reshape

_CUSTOM = "CUSTOM Flex"
_FUNCTIONS: dict[str, type[Operation]] = {
    "Acos": functions.Acos,
    "Acosh": functions.Acosh,
    "Asin": functions.Asin,
    "Asinh": functions.Asinh,
    "Atan": functions.Atan,
    "Atanh": functions.Atanh,
    "Cosh": functions.Cosh,
    "Erf": functions.Erf,
    "Sinh": functions.Sinh,
    "Softplus": parametric.Softplus,
    "Softsign": parametric.Softsign,
    "Tan": functions.Tan,
}
_BITWISE: dict[str, type[Operation]] = {
    "BitwiseAnd": bitwise.BitwiseAnd,
    "BitwiseOr": bitwise.BitwiseOr,
    "BitwiseXor": bitwise.BitwiseXor,
}
_POOLS: dict[str, type[AveragePool2D | MaxPool2D]] = {
    "AvgPool3D": AveragePool2D,
    "MaxPool3D": MaxPool2D,
}
_PADDINGS = {b"SAME": tflite.Padding.SAME, b"VALID": tflite.Padding.VALID}


@importer(*(_CUSTOM + name for name in _FUNCTIONS))
def import_function(state: Import, op: OperatorRecord) -> None:
    """One operand, no attributes that say anything."""
    (x,) = operands(state, op, 1)
    _expect_float(op, x)
    state.emit(op, _FUNCTIONS[op.name.removeprefix(_CUSTOM)](), [x])


@importer(*(_CUSTOM + name for name in _BITWISE))
def import_bitwise(state: Import, op: OperatorRecord) -> None:
    """Two operands of integers."""
    state.emit(op, _BITWISE[op.name.removeprefix(_CUSTOM)](), operands(state, op, 2))


@importer(_CUSTOM + "Cumprod")
def import_cumprod(state: Import, op: OperatorRecord) -> None:
    """The axis must be constant."""
    x = state.value(op, 0)
    _expect_float(op, x)
    axis, attributes = axis_operand(state, op, 1, x.type.rank), _attributes(op)
    result = running_products(
        lambda operation, operands: state.emit_inner(op, operation, operands, x.type),
        lambda shape: state.add_constant(np.ones(shape, np.float32), "ones"),
        x,
        axis,
        bool(attributes.get("exclusive")),
        bool(attributes.get("reverse")),
    )
    state.expect_declared(op, 0, result)
    state.set_value(op, result)


@importer(*(_CUSTOM + name for name in _POOLS))
def import_pool_3d(state: Import, op: OperatorRecord) -> None:
    """A pool over height and width, then one over depth: windows are clipped axis by axis."""
    (x,) = operands(state, op, 1)
    _expect_float(op, x)
    kernel, strides, padding = _windows(op, x)
    batch, depth, height, width, channels = x.type.shape
    images = _reshaped(state, op, x, (batch * depth, height, width, channels))
    flat = _pooled(state, op, images, (kernel[1], kernel[2]), (strides[1], strides[2]), padding)
    out_height, out_width = flat.type.shape[1:3]
    slabs = _reshaped(state, op, flat, (batch, depth, out_height * out_width, channels))
    pooled = _pooled(state, op, slabs, (kernel[0], 1), (strides[0], 1), padding)
    shape = (batch, pooled.type.shape[1], out_height, out_width, channels)
    state.emit(op, Reshape(shape), [pooled])


def _attributes(op: OperatorRecord) -> dict[str, Attribute]:
    """Those of the NodeDef."""
    texts = read_texts(op.custom_options)
    return node_attributes(texts[1] if len(texts) > 1 else b"")


def _expect_float(op: OperatorRecord, x: Value) -> None:
    if x.type.element is not ElementType.F32:
        raise Unsupported("GM106", f"{op.name} takes float32, got {x.type}")


def _windows(op: OperatorRecord, x: Value) -> tuple[list[int], list[int], int]:
    """Kernel and strides along depth, height and width, and the padding, by the NodeDef."""
    attributes = _attributes(op)
    kernel, strides = (_window(op, attributes.get(name), name) for name in ("ksize", "strides"))
    padding, layout = (attributes.get(name) for name in ("padding", "data_format"))
    if x.type.rank != 5 or layout not in (None, b"NDHWC"):
        raise Unsupported("GM106", f"{op.name} of {x.type}: expected five axes, NDHWC")
    if not isinstance(padding, bytes) or padding not in _PADDINGS:
        raise Unsupported("GM105", f"{op.name}: padding is {padding!r}; SAME and VALID are known")
    return kernel, strides, _PADDINGS[padding]


def _window(op: OperatorRecord, given: object, name: str) -> list[int]:
    if not isinstance(given, tuple) or len(given) != 5 or given[0] != 1 or given[4] != 1:
        raise Unsupported("GM105", f"{op.name}: {name} is {given!r}; expected 1, D, H, W, 1")
    inner = list(given[1:4])
    if not all(1 <= size < 2**15 for size in inner):
        raise Unsupported("GM105", f"{op.name}: {name} is {given}")
    return inner


def _reshaped(state: Import, op: OperatorRecord, x: Value, shape: tuple[int, ...]) -> Value:
    assert math.prod(shape) == x.type.element_count
    return state.emit_inner(op, Reshape(shape), [x], x.type)


def _pooled(
    state: Import, op: OperatorRecord, image: Value, kernel: Pair, strides: Pair, padding: int
) -> Value:
    height, width = image.type.shape[1:3]
    around = spatial_padding(padding, (height, width), kernel, strides, (1, 1))
    pool = _POOLS[op.name.removeprefix(_CUSTOM)](kernel, strides, around)
    return state.emit_inner(op, pool, [image], image.type)
