"""What becomes of pairs of 16 bits, for whoever compiles or inspects the model."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from glowmcu.frontend.onnx.container import OnnxRecord
from glowmcu.frontend.onnx.unsigned_pairs import whole_numbers

_UINT8, _INT8, _UINT16, _INT16 = 2, 3, 4, 5  # of onnx.TensorProto
_MIDDLE = {_UINT16: 1 << 15, _INT16: 0}
_MIDDLE_OF_BYTES = {_UINT8: 1 << 7, _INT8: 0}
#: Operands of a pair's node: the tensor, its scale, its zero point.
_POINT = 2


def notes_on_pairs(model: OnnxRecord) -> tuple[str, ...]:
    """Sentences on activations that are not stored as the file has them, and on wide weights."""
    off, layers = len(set(_off_the_middle(model))), len(set(_wide_weights(model)))
    is_wide = any(kind in _MIDDLE for _, kind, _ in _stored(model))
    uneven = len(set(_uneven_weights(model))) if is_wide else 0
    notes = []
    if uneven:
        notes.append(
            f"{uneven} layer{'s have' if uneven > 1 else ' has'} weights of 8 bits with a zero "
            "point off the middle beside activations of 16 bits; here they are int8 around zero, "
            "in steps up to half as wide again, or float where that does not do: symmetric ones "
            "stay as they are: WeightSymmetric of onnxruntime's quantizer"
        )
    if off:
        notes.append(
            f"{off} tensor{'s' * (off > 1)} of 16 bits ha{'ve' if off > 1 else 's'} a zero point "
            "off the middle; here they are int16 around zero, in steps up to twice as wide; "
            "symmetric ones stay as they are: ActivationSymmetric of onnxruntime's quantizer"
        )
    if layers:
        notes.append(
            f"{layers} layer{'s have' if layers > 1 else ' has'} weights of 16 bits, and stay"
            f"{'s' * (layers == 1)} float: weights of int8 (weight_type=QInt8 of onnxruntime's "
            "quantizer) are computed on integers"
        )
    return tuple(notes)


def _stored(model: OnnxRecord) -> Iterator[tuple[str, Any, Any]]:
    """Of each QuantizeLinear the result, its type, and the zero point where the file has it."""
    for op in model.nodes:
        if op.kind == "QuantizeLinear" and op.outputs:
            tensor = model.initializers.get(op.inputs[_POINT] if len(op.inputs) > _POINT else "")
            kind = getattr(tensor, "data_type", op.attributes.get("output_dtype"))
            yield op.outputs[0], kind, tensor


def _off_the_middle(model: OnnxRecord) -> Iterator[str]:
    """Results of QuantizeLinear with another zero point than that of symmetric numbers."""
    for name, kind, tensor in _stored(model):
        if kind in _MIDDLE and _number(tensor) not in (None, _MIDDLE[kind]):
            yield name


def _uneven_weights(model: OnnxRecord) -> Iterator[str]:
    """Matrices of 8 bits in the file around other numbers than the middle."""
    for op in model.nodes:
        if op.kind == "DequantizeLinear" and len(op.inputs) > _POINT:
            tensor: Any = model.initializers.get(op.inputs[0])
            middle = _MIDDLE_OF_BYTES.get(getattr(tensor, "data_type", 0))
            points = model.initializers.get(op.inputs[_POINT])
            if middle is None or points is None or len(tensor.dims) < 2:
                continue
            data = whole_numbers(points)
            if data is not None and (data != middle).any():
                yield op.inputs[0]


def _number(tensor: Any) -> int | None:
    """Of a tensor with one number; that of none is 0, and of any other unknown."""
    data = np.zeros(1, np.int64) if tensor is None else whole_numbers(tensor)
    return int(data.reshape(-1)[0]) if data is not None and data.size == 1 else None


def _wide_weights(model: OnnxRecord) -> Iterator[str]:
    """Matrices of 16 bits in the file."""
    for op in model.nodes:
        if op.kind == "DequantizeLinear" and op.inputs:
            tensor: Any = model.initializers.get(op.inputs[0])
            if getattr(tensor, "data_type", 0) in _MIDDLE and len(tensor.dims) > 1:
                yield op.inputs[0]
