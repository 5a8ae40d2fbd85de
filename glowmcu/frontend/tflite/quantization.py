"""QUANTIZE, DEQUANTIZE and FAKE_QUANT."""

from __future__ import annotations

import numpy as np

from glowmcu.frontend.tflite.container import OperatorRecord
from glowmcu.frontend.tflite.importer import Import, Unsupported, importer, real_values
from glowmcu.frontend.tflite.schema import tflite
from glowmcu.frontend.tflite.tensors import channel_quantization, tensor_type
from glowmcu.ir.types import ElementType, Quantization, TensorType
from glowmcu.ops.activation import Relu
from glowmcu.ops.quantization import Dequantize, Quantize, Requantize


@importer("QUANTIZE")
def import_quantize(state: Import, op: OperatorRecord) -> None:
    """From float32, or from one scale or integer type to another; weights by channels at once."""
    result = [state.model.tensors[index] for index in op.outputs[:1]]
    if result and (by_channels := channel_quantization(result[0])) is not None:
        _quantize_channels(state, op, by_channels)
        return
    x = state.value(op, 0)
    is_unsigned = x.type.element is ElementType.UI8
    if is_unsigned and state.output_type(op).element is ElementType.UI8:
        state.emit_signed(op, Requantize(), [state.signed(op, x)])
    else:
        state.emit(op, Quantize() if x.type.element.is_float else Requantize(), [x])


def _quantize_channels(state: Import, op: OperatorRecord, found: Quantization) -> None:
    """As trained with fake quantization: halves away from zero, as TensorFlow Lite's
    `PerChannelQuantize`, which TensorFlow Lite Micro does not have.
    """
    record = state.model.tensors[op.outputs[0]]
    if not state.known(op, 0):
        raise Unsupported(
            "GM106",
            f"QUANTIZE: {record.name!r} has {len(found.scales)} scales, one for each channel; "
            "only constants are quantized per channel",
        )
    axis = found.axis
    assert axis is not None
    data = state.constant(op, 0, "its operand")
    if data.dtype != np.float32 or data.shape != record.shape:
        got = f"{data.dtype} {data.shape}"
        raise Unsupported("GM106", f"QUANTIZE by channels takes float32 {record.shape}, got {got}")
    along = [1] * data.ndim
    along[axis] = -1
    steps = data / np.array(found.scales, np.float32).reshape(along)
    rounded = np.trunc(steps.astype(np.float64) + np.copysign(0.5, steps))
    element = tensor_type(record).element
    stored = np.clip(rounded + np.array(found.zero_points).reshape(along), *element.limits)
    value = state.add_constant(stored.astype(element.numpy), record.name, found)
    state.set_value(op, value)


@importer("DEQUANTIZE")
def import_dequantize(state: Import, op: OperatorRecord) -> None:
    """To float32. Weights that are stored as int8 or float16 become float32 at once."""
    if state.known(op, 0):
        x = state.value(op, 0)
        state.bind(op, real_values(state.constant(op, 0, "its weights"), x.type))
        return
    state.emit(op, Dequantize(), [state.value(op, 0)])


@importer("FAKE_QUANT")
def import_fake_quant(state: Import, op: OperatorRecord) -> None:
    """Rounded to the steps of a quantization: stored as integers, and real numbers again. A number
    below 0 in the middle of two steps may become the other one.
    """
    x = state.value(op, 0)
    if x.type.element is not ElementType.F32:
        raise Unsupported("GM106", f"{op.name} takes float32, got {x.type}")
    scale, point, first, last = _steps(op)
    if state.known(op, 0):
        low, high = (np.float32(step - point) * scale for step in (first, last))
        offsets = np.clip(state.constant(op, 0, "its operand"), low, high) - low
        rounded = np.trunc((offsets * (np.float32(1) / scale)).astype(np.float64) + 0.5)
        state.bind(op, rounded.astype(np.float32) * scale + low)
        return
    element = ElementType.I8 if last < 2**8 else ElementType.I16
    lowest, highest = element.limits
    if (first + lowest, last + lowest) != (lowest, highest):
        bounds = tuple(float(np.float32(step - point) * scale) for step in (first, last))
        x = state.emit_inner(op, Relu((bounds[0], bounds[1])), [x], x.type)
    quantization = Quantization((float(scale),), (point + lowest,))
    type_ = TensorType(x.type.shape, element, quantization)
    state.emit(op, Dequantize(), [state.emit_inner(op, Quantize(), [x], type_)])


def _steps(op: OperatorRecord) -> tuple[np.float32, int, int, int]:
    """Scale, the step that is 0, and the first and last step: the range is moved so that 0 is one.

    Source: TensorFlow Lite `quantization_util.cc`, `NudgeQuantizationRange`.
    """
    options = op.options(tflite.FakeQuantOptions)
    low, high = np.float32(options.Min()), np.float32(options.Max())
    bits, first = int(options.NumBits()), int(options.NarrowRange())
    if not 2 <= bits <= 16:
        raise Unsupported("GM105", f"{op.name}: {bits} bits; expected 2 to 16")
    last = 2**bits - 1
    with np.errstate(all="ignore"):
        scale = (high - low) / np.float32(last - first)
        place = first - low / scale
    if not (np.isfinite(scale) and scale > 0 and np.isfinite(place)):
        raise Unsupported("GM105", f"{op.name}: no steps between {low:g} and {high:g}")
    point = int(np.clip(np.floor(float(place) + 0.5), first, last))
    return scale, point, first, last
