"""uint16 of pairs becomes int16: stored numbers and zero points are 2^15 lower, real ones the same.

The IR has no uint16. Where anything but QuantizeLinear and DequantizeLinear sees one, or the
application does, the model stays as it is, and is refused for it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from glowmcu.frontend.onnx.container import NodeRecord, OnnxRecord
from glowmcu.ir.operation import Array

_DOMAINS = ("ai.onnx", "com.microsoft")
_MIDDLE = 1 << 15
_UINT16 = 4  # onnx.TensorProto.UINT16
#: The zero point of pairs that leave it out, which is 0 in the file.
_ADDED = "uint16 zero point"
#: Operands of a pair's node: the tensor, its scale, its zero point.
_POINT = 2


def with_signed_pairs(model: OnnxRecord) -> OnnxRecord:
    """The model without the uint16 that its pairs have."""
    numbers = {
        name: tensor
        for name, tensor in model.initializers.items()
        if getattr(tensor, "data_type", None) == _UINT16
    }
    made = {op.outputs[0] for op in model.nodes if op.outputs and _makes(op, numbers)}
    names = {*numbers, *made}
    if not names or not _seen_by_pairs_alone(model, names):
        return model
    data = {name: whole_numbers(tensor) for name, tensor in numbers.items()}
    if any(each is None for each in data.values()):
        return model
    data[_ADDED] = np.zeros((), np.int64)
    changed = {name: _lower(name, each) for name, each in data.items() if each is not None}
    nodes = tuple(_with_zero_point(op) if _holds(op, names) else op for op in model.nodes)
    return replace(model, nodes=nodes, initializers={**model.initializers, **changed})


def _is_pair(op: NodeRecord) -> bool:
    return op.kind in ("QuantizeLinear", "DequantizeLinear") and op.domain in _DOMAINS


def _zero_point(op: NodeRecord) -> str:
    return op.inputs[_POINT] if len(op.inputs) > _POINT else ""


def _makes(op: NodeRecord, numbers: dict[str, Any]) -> bool:
    """Whether the result is uint16."""
    point = _zero_point(op)
    is_said = op.attributes.get("output_dtype") == _UINT16
    return op.kind == "QuantizeLinear" and (point in numbers if point else is_said)


def _holds(op: NodeRecord, names: set[str]) -> bool:
    """Whether a pair's node makes or reads one of `names`."""
    stored = op.outputs[:1] if op.kind == "QuantizeLinear" else op.inputs[:1]
    return _is_pair(op) and not names.isdisjoint(stored)


def _seen_by_pairs_alone(model: OnnxRecord, names: set[str]) -> bool:
    """Whether every node that sees `names` has them as its stored tensor, zero point, or both."""
    seen = {*model.outputs}
    for op in model.nodes:
        own = {op.inputs[0], _zero_point(op)} if _holds(op, names) and op.inputs else set()
        if own and _zero_point(op) not in ("", *names):
            return False
        seen.update(set(op.reads) - own)
    return seen.isdisjoint(names)


def _with_zero_point(op: NodeRecord) -> NodeRecord:
    inputs = op.inputs if _zero_point(op) else (*op.inputs[:_POINT], _ADDED)
    others = {name: value for name, value in op.attributes.items() if name != "output_dtype"}
    return replace(op, inputs=inputs, attributes=others)


def whole_numbers(tensor: Any) -> Array | None:
    """Data of a tensor that the file itself holds, undamaged; None for any other."""
    from onnx import TensorProto, numpy_helper

    if tensor.data_location == TensorProto.EXTERNAL:
        return None
    try:
        return np.asarray(numpy_helper.to_array(tensor), np.int64)
    except (ValueError, TypeError, LookupError):  # refused where it is read
        return None


def _lower(name: str, data: Array) -> Any:
    from onnx import numpy_helper

    return numpy_helper.from_array((data - _MIDDLE).astype(np.int16), name)
