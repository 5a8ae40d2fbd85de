"""Features of ONNX-ML's operators: numbers of any type, which count as float32."""

from __future__ import annotations

from glowmcu.frontend.onnx.container import NodeRecord
from glowmcu.frontend.onnx.importer import Import
from glowmcu.frontend.unsupported import Unsupported
from glowmcu.ir.graph import Value
from glowmcu.ir.types import ElementType
from glowmcu.ops.cast import Cast
from glowmcu.ops.trees import FEATURE_TYPES


def real_features(state: Import, op: NodeRecord) -> Value:
    """The operator's first operand in float32. Raises Unsupported for what is no number."""
    x = state.value(op, 0)
    if x.type.element not in FEATURE_TYPES or x.type.quantization is not None:
        raise Unsupported("GM105", f"{op.kind}: expected numbers as features, got {x.type}")
    if x.type.element is ElementType.F32:
        return x
    return state.add(op, Cast(), [x], ElementType.F32)
