"""What ONNX says of operators on stored integers, in numpy's float64 and int64: exact sums.

onnxruntime is no oracle for them: where a processor has no VNNI, its uint8 x int8 kernels saturate
sums of two products to 16 bits.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

Array = npt.NDArray[Any]


def run_integer_operator(data: bytes, inputs: Sequence[Array]) -> list[Array]:
    """The output of a model of one operator."""
    onnx = pytest.importorskip("onnx", reason="pip install onnx")
    graph = onnx.load_model_from_string(data).graph
    (node,) = graph.node
    known = {item.name: onnx.numpy_helper.to_array(item) for item in graph.initializer}
    given = [item.name for item in graph.input if item.name not in known]
    known.update(zip(given, inputs, strict=True))
    operands = [known[name] if name else None for name in node.input]
    attributes = {item.name: onnx.helper.get_attribute_value(item) for item in node.attribute}
    return [_MEANINGS[node.op_type](attributes, *operands)]


def _conv_integer(
    attributes: dict[str, Any], x: Array, w: Array, x_point: Any = 0, w_point: Any = 0
) -> Array:
    left = _centered(x, x_point)
    return _windows_times(attributes, left, _centered(w, w_point, 0)).astype(np.int32)


def _matmul_integer(
    attributes: dict[str, Any], a: Array, b: Array, a_point: Any = 0, b_point: Any = 0
) -> Array:
    return np.matmul(_centered(a, a_point, -2), _centered(b, b_point, -1)).astype(np.int32)


def _qlinear_conv(
    attributes: dict[str, Any], x: Array, x_scale: Array, x_point: Array, w: Array,
    w_scale: Array, w_point: Array, y_scale: Array, y_point: Array, bias: Array | None = None,
) -> Array:  # fmt: skip
    sums = _windows_times(attributes, _centered(x, x_point), _centered(w, w_point, 0))
    if bias is not None:
        sums += bias.astype(np.int64).reshape(1, -1, *[1] * (x.ndim - 2))
    scale = x_scale.astype(float) * _along(w_scale, 1, x.ndim).astype(float) / y_scale.astype(float)
    return _stored(sums * scale, y_point)


def _qlinear_matmul(
    attributes: dict[str, Any], a: Array, a_scale: Array, a_point: Array, b: Array,
    b_scale: Array, b_point: Array, y_scale: Array, y_point: Array,
) -> Array:  # fmt: skip
    sums = np.matmul(_centered(a, a_point), _centered(b, b_point))
    return _stored(sums * (a_scale.astype(float) * b_scale / y_scale.astype(float)), y_point)


def _qgemm(
    attributes: dict[str, Any], a: Array, a_scale: Array, a_point: Array, b: Array,
    b_scale: Array, b_point: Array, bias: Array, y_scale: Array, y_point: Array,
) -> Array:  # fmt: skip
    """onnxruntime's own: the stored bias has the scale of the products."""
    right = _centered(b, b_point)
    sums = np.matmul(_centered(a, a_point), right.T if attributes.get("transB") else right)
    return _stored((sums + bias) * (a_scale.astype(float) * b_scale / y_scale), y_point)


def _centered(stored: Array, point: Any, axis: int = 0) -> Array:
    return stored.astype(np.int64) - _along(np.asarray(point), axis, stored.ndim).astype(np.int64)


def _along(values: Array, axis: int, rank: int) -> Array:
    """Several values on `axis` of tensors of `rank`; a single one for all."""
    if values.size == 1:
        return values.reshape(())
    shape = [1] * rank
    shape[axis] = values.size
    return values.reshape(shape)


def _stored(steps: Array, point: Array) -> Array:
    """Halves to even, saturated."""
    kept = np.iinfo(point.dtype)
    return np.clip(np.rint(steps) + int(point), kept.min, kept.max).astype(point.dtype)


def _windows_times(attributes: dict[str, Any], x: Array, w: Array) -> Array:
    """A convolution of integers; padding is the zero point, 0 here."""
    rank = x.ndim - 2
    strides = attributes.get("strides", [1] * rank)
    pads = attributes.get("pads", [0] * 2 * rank)
    groups = attributes.get("group", 1)
    assert set(attributes) <= {"strides", "pads", "group", "kernel_shape"}, attributes
    around = [(0, 0), (0, 0), *zip(pads[:rank], pads[rank:], strict=True)]
    x = np.pad(x, around)
    out = [
        (have - size) // step + 1
        for have, size, step in zip(x.shape[2:], w.shape[2:], strides, strict=True)
    ]
    y = np.zeros((x.shape[0], w.shape[0], *out), np.int64)
    depth_in, depth_out = w.shape[1], w.shape[0] // groups
    for group, place in itertools.product(range(groups), np.ndindex(*out)):
        ranges = [
            slice(at * step, at * step + size)
            for at, step, size in zip(place, strides, w.shape[2:], strict=True)
        ]
        window = x[(slice(None), slice(group * depth_in, (group + 1) * depth_in), *ranges)]
        channels = slice(group * depth_out, (group + 1) * depth_out)
        axes = list(range(1, x.ndim))
        y[(slice(None), channels, *place)] = np.tensordot(window, w[channels], (axes, axes))
    return y


_MEANINGS: dict[str, Callable[..., Array]] = {
    "ConvInteger": _conv_integer,
    "MatMulInteger": _matmul_integer,
    "QGemm": _qgemm,
    "QLinearConv": _qlinear_conv,
    "QLinearMatMul": _qlinear_matmul,
}
