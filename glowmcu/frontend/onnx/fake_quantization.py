"""Quantization as training leaves it behind: Quant and BipolarQuant of QONNX, Clip between
QuantizeLinear and DequantizeLinear (Brevitas' QCDQ, for fewer than 8 bits).

All become the pairs that `fold_qdq` knows, with the scales of the file: constants as stored
integers, other tensors clamped as real numbers in front of the pair, which gives the same.
Source: QONNX, docs/qonnx-custom-ops (Pappalardo et al. 2022, arXiv 2206.07527).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from glowmcu.frontend.onnx.container import NodeRecord
from glowmcu.frontend.onnx.importer import Import, importer
from glowmcu.frontend.unsupported import Unsupported
from glowmcu.ir.graph import Value
from glowmcu.ir.operation import Array, Rounding, Signature
from glowmcu.ir.types import ElementType, Quantization
from glowmcu.ops.activation import Relu
from glowmcu.ops.comparison import GreaterEqual, Select
from glowmcu.ops.quantization import Dequantize, Quantize

#: Where exporters have put the operators over the years.
_DOMAINS = ("qonnx.custom_op.general", "onnx.brevitas", "finn.custom_op.general")
_MOST_BITS = 32
_ROUNDINGS: dict[str, Callable[[Array], Array]] = {
    "ROUND": np.rint, "HALF_EVEN": np.rint, "FLOOR": np.floor, "CEIL": np.ceil,
    "ROUND_TO_ZERO": np.trunc, "DOWN": np.trunc,
}  # fmt: skip


def import_quant(state: Import, op: NodeRecord) -> None:
    """(clip(round(x / scale + zero point)) - zero point) * scale, scale and bits being known."""
    x = state.value(op, 0)
    scale = state.constant(op, 1, "the scale").astype(np.float32)
    point = state.constant(op, 2, "the zero point").astype(np.float32)
    bits = _one_number(state, op, 3, "the number of bits")
    if not (np.isfinite(scale) & (scale > 0)).all():
        raise Unsupported("GM105", f"{op.kind}: a scale is not positive and finite")
    low, high = _limits(op, bits)
    rounding = op.text("rounding_mode", "ROUND").upper()
    if rounding not in _ROUNDINGS:
        known = ", ".join(sorted(_ROUNDINGS))
        raise Unsupported("GM105", f"{op.kind}: rounding_mode {rounding!r}; known are {known}")
    if state.known(op, 0):
        steps = _ROUNDINGS[rounding](state.builder.known[x] / scale + point)
        _bind_constant(state, op, np.clip(steps, low, high), scale, point)
        return
    if scale.size > 1 or point.size > 1 or bits > 8 or _ROUNDINGS[rounding] is not np.rint:
        raise Unsupported(
            "GM105",
            f"{op.kind} of a tensor that is no constant: {scale.size} scales, {bits:g} bits, "
            f"{rounding}; expected one scale, up to 8 bits, ROUND",
        )
    zero = float(point.reshape(-1)[0])
    if zero != round(zero) or not low <= zero <= high:
        raise Unsupported("GM105", f"{op.kind}: zero point {zero:g} is none of the stored numbers")
    element = ElementType.UI8 if low >= 0 else ElementType.I8
    quantization = Quantization((float(scale.reshape(-1)[0]),), (int(zero),))
    stored = _clamped(state, op, x, (low, high), element, quantization)
    state.emit(op, Dequantize(), [stored], ElementType.F32)


def import_bipolar(state: Import, op: NodeRecord) -> None:
    """One bit: the scale, or its negative below 0, of weights and of activations."""
    x = state.value(op, 0)
    scale = state.constant(op, 1, "the scale").astype(np.float32)
    if state.known(op, 0):
        signs = np.where(state.builder.known[x] >= 0, 1.0, -1.0)
        _bind_constant(state, op, signs, scale, np.zeros(1, np.float32))
        return
    if scale.size > 1 or not np.isfinite(scale).all() or not (scale > 0).all():
        shown = f"{scale.size} scales" if scale.size > 1 else f"scale {float(scale.flat[0]):g}"
        raise Unsupported(
            "GM105", f"{op.kind} of a tensor that is no constant: {shown}; expected one, positive"
        )
    size = float(scale.reshape(-1)[0])
    zero, high, low = (
        state.add_constant(np.full((1,) * len(x.type.shape), number, np.float32), name)
        for number, name in ((0.0, "zero"), (size, "high"), (-size, "low"))
    )
    is_high = state.add(op, GreaterEqual(), [x, zero], ElementType.BOOL)
    sign = state.add(op, Select(), [is_high, high, low], ElementType.F32)
    stored = _clamped(state, op, sign, (-128, 127), ElementType.I8, Quantization((size,), (0,)))
    state.emit(op, Dequantize(), [stored], ElementType.F32)


for _domain in _DOMAINS:
    importer("Quant", "IntQuant", domain=_domain)(import_quant)
    importer("BipolarQuant", domain=_domain)(import_bipolar)


def clip_stored(state: Import, op: NodeRecord, x: Value, bounds: tuple[float, float]) -> bool:
    """Import a Clip of `x`, stored integers: constants at once, a result of Quantize by a clamp in
    front of that. False for anything else.
    """
    if x in state.builder.known:
        data = state.builder.known[x]
        state.bind_constant(op, np.clip(data, *bounds).astype(data.dtype))
        return True
    quantization = x.type.quantization
    made = next((node for node in reversed(state.builder.nodes) if x in node.outputs), None)
    if quantization is None or made is None or not isinstance(made.op, Quantize):
        return False
    lowest, highest = x.type.element.limits
    limits = max(bounds[0], lowest), min(bounds[1], highest)
    clamped = _clamped(state, op, made.inputs[0], limits, x.type.element, quantization)
    state.bind(op, [clamped])
    return True


def _clamped(
    state: Import,
    op: NodeRecord,
    real: Value,
    limits: tuple[float, float],
    element: ElementType,
    quantization: Quantization,
) -> Value:
    """`real` stored within `limits`."""
    if limits != element.limits:
        real = clamped_real(state, op, real, limits, quantization)
    return state.add(op, Quantize(half_even=True), [real], element, quantization)


def clamped_real(
    state: Import,
    op: NodeRecord,
    real: Value,
    limits: tuple[float, float],
    quantization: Quantization,
) -> Value:
    """`real` where it is stored within `limits`, which are narrower than the type's."""
    scale, point = quantization.scales[0], quantization.zero_points[0]
    bounds = tuple(float(np.float32((limit - point) * scale)) for limit in limits)
    return state.add(op, Relu((bounds[0], bounds[1])), [real])


def _bind_constant(state: Import, op: NodeRecord, steps: Array, scale: Array, point: Array) -> None:
    """The result is (steps - point) * scale: stored as int8 where it fits, else as real numbers."""
    offsets = np.asarray(steps - point)
    real = np.asarray(offsets * scale, np.float32)
    quantization = _per_channel(scale, real.ndim, real.shape)
    if quantization is None or np.abs(offsets).max(initial=0.0) > 127:
        state.bind(op, [state.add_constant(real, op.outputs[0])])
        return
    data = offsets.astype(np.int8)
    stored = state.builder.add_constant(data, f"{op.outputs[0]}/stored", quantization)
    (value,) = state.emit(op, Dequantize(), [stored], ElementType.F32)
    signature = Signature((stored.type,), (value.type,))
    (state.builder.known[value],) = Dequantize().evaluate([data], signature, Rounding.DOUBLE)


def _per_channel(scale: Array, rank: int, shape: tuple[int, ...]) -> Quantization | None:
    """`scale`, which broadcasts against `shape`, as one number or one a slice of one axis."""
    if scale.size == 1:
        return Quantization((float(scale.reshape(-1)[0]),), (0,))
    sizes = (1,) * (rank - scale.ndim) + scale.shape
    axes = [axis for axis, size in enumerate(sizes) if size > 1]
    if len(axes) != 1 or sizes[axes[0]] != shape[axes[0]]:
        return None
    return Quantization(tuple(map(float, scale.reshape(-1))), (0,) * scale.size, axes[0])


def _limits(op: NodeRecord, bits: float) -> tuple[float, float]:
    """Least and greatest stored number."""
    if bits != round(bits) or not 1 <= bits <= _MOST_BITS:
        raise Unsupported("GM105", f"{op.kind}: {bits:g} bits; expected 1 to {_MOST_BITS}")
    narrow = int(op.flag("narrow"))
    if op.flag("signed", True):
        half = 2.0 ** (bits - 1)
        return -half + narrow, half - 1
    return 0.0, 2.0**bits - 1 - narrow


def _one_number(state: Import, op: NodeRecord, position: int, what: str) -> float:
    found = state.constant(op, position, what).reshape(-1)
    if found.size != 1:
        raise Unsupported("GM105", f"{op.kind}: {what} is {found.size} numbers; expected one")
    return float(found[0])
