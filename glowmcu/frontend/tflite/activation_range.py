"""Fused activations as clamps in stored units: `CalculateActivationRangeQuantized`."""

from __future__ import annotations

from glowmcu.frontend.tflite.importer import Unsupported
from glowmcu.frontend.tflite.schema import schema_names, tflite
from glowmcu.ir.types import ElementType, TensorType
from glowmcu.ops.activation import quantize_bound
from glowmcu.ops.real import FLOAT_MAX

_REAL_RANGES: dict[int, tuple[float, float | None] | None] = {
    tflite.ActivationFunctionType.NONE: None,
    tflite.ActivationFunctionType.RELU: (0.0, None),
    tflite.ActivationFunctionType.RELU6: (0.0, 6.0),
    tflite.ActivationFunctionType.RELU_N1_TO_1: (-1.0, 1.0),
}
_NAMES = schema_names("ActivationFunctionType")


def fused_clamp(activation: int, type_: TensorType) -> tuple[float, float] | None:
    """Clamp of a fused activation on results of `type_`; None if it changes nothing.

    In stored units: integers for a quantized result, real numbers for float32.
    """
    if activation not in _REAL_RANGES:
        name = _NAMES.get(activation, str(activation))
        raise Unsupported(
            "GM105", f"fused activation {name} is not supported on {type_}",
            "export the model with the activation as an operator of its own",
        )  # fmt: skip
    bounds = _REAL_RANGES[activation]
    if bounds is None:
        return None
    low, high = bounds
    if type_.element is ElementType.F32:
        return (low, FLOAT_MAX if high is None else high)
    if type_.quantization is None:
        raise Unsupported("GM105", f"a fused activation on {type_} is not supported")
    lowest, highest = type_.element.limits
    lowest = max(lowest, quantize_bound(low, type_))
    if high is not None:
        highest = min(highest, quantize_bound(high, type_))
    return None if (lowest, highest) == type_.element.limits else (lowest, highest)
