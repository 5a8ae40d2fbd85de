"""RFFT2D of one row, and what reads its complex numbers: COMPLEX_ABS, REAL and IMAG.

A complex tensor is float32 with an axis of length 2 behind its own: real and imaginary parts.
"""

from __future__ import annotations

from glowmcu.frontend.tflite.axes import integer_list
from glowmcu.frontend.tflite.container import OperatorRecord
from glowmcu.frontend.tflite.importer import Import, Unsupported, importer
from glowmcu.ir.graph import Value
from glowmcu.ir.types import ElementType, Shape, TensorType
from glowmcu.ops.mixed_radix_fft import LONGEST, is_transformable
from glowmcu.ops.real_functions import Sqrt
from glowmcu.ops.reduction import ReduceSumSquare
from glowmcu.ops.shape import Reshape
from glowmcu.ops.signal_fft import Rfft
from glowmcu.ops.slicing import Slice


@importer("RFFT2D")
def import_rfft(state: Import, op: OperatorRecord) -> None:
    """Of one row, as `tf.signal.rfft` and `stft` become; the length must be constant."""
    x = state.value(op, 0)
    lengths = integer_list(state, op, 1, "the transform's length")
    if x.type.element is not ElementType.F32 or lengths != x.type.shape[-2:] or lengths[0] != 1:
        raise Unsupported(
            "GM105", f"rfft2d: {list(lengths)} of {x.type}; expected float32 and [1, its samples]"
        )
    if not is_transformable(lengths[1]):
        raise Unsupported(
            "GM106",
            f"rfft2d of {lengths[1]} samples; expected an even number to {LONGEST} without prime "
            "factors but 2, 3 and 5",
            "pad the signal with zeros to such a length (fft_length)",
        )
    spectrum = _inner(state, op, Rfft(lengths[1]), x)
    shape = (*x.type.shape[:-1], lengths[1] // 2 + 1, 2)
    _bind(state, op, _inner(state, op, Reshape(shape), spectrum))


def import_reshaped(state: Import, op: OperatorRecord, shape: Shape) -> None:
    """RESHAPE or SQUEEZE of complex numbers, to a shape without the axis of parts."""
    x = complex_value(state, op)
    _bind(state, op, _inner(state, op, Reshape((*shape, 2)), x))


@importer("COMPLEX_ABS")
def import_magnitude(state: Import, op: OperatorRecord) -> None:
    """The root of the sum of two squares."""
    x = complex_value(state, op)
    squares = _inner(state, op, ReduceSumSquare((x.type.rank - 1,), False), x)
    state.emit(op, Sqrt(), [squares])


@importer("REAL", "IMAG")
def import_part(state: Import, op: OperatorRecord) -> None:
    """Real or imaginary parts; a CAST to real numbers keeps the real ones."""
    x = complex_value(state, op)
    *outer, _ = x.type.shape
    begin = (*(0 for _ in outer), int(op.name == "IMAG"))
    part = _inner(state, op, Slice(begin, (*outer, 1), (1,) * x.type.rank), x)
    state.emit(op, Reshape(tuple(outer)), [part])


def complex_value(state: Import, op: OperatorRecord) -> Value:
    """The operand, `[…, 2]` of float32."""
    if not state.is_complex(op):
        raise Unsupported("GM106", f"{op.name}: expected complex numbers")
    return state.tensor_value(op.inputs[0])


def _bind(state: Import, op: OperatorRecord, value: Value) -> None:
    """The operator's result is the complex numbers in `value`, `[…, 2]` of float32."""
    record, shape = state.model.tensors[op.outputs[0]], value.type.shape[:-1]
    if record.type_name != "COMPLEX64" or not state.fits(op, shape):
        declared = f"{record.type_name} {record.shape}"
        raise Unsupported("GM106", f"{op.name.lower()}: complex {shape} is declared as {declared}")
    state.bind_value(op, value)


def _inner(
    state: Import, op: OperatorRecord, operation: Rfft | Reshape | ReduceSumSquare | Slice, x: Value
) -> Value:
    return state.emit_inner(op, operation, [x], TensorType((), ElementType.F32))
