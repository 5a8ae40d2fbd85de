"""DFT and STFT of float32: spectra of real samples, and what becomes complex is made of them.

A complex signal is two real ones; the upper half of a real signal's spectrum is the lower one's
mirror image. Lengths without a fast transform are products with a matrix.
"""

from __future__ import annotations

import math

import numpy as np

from glowmcu.frontend.graph_builder import expect_few
from glowmcu.frontend.onnx.axes import positive_axis, required_integers
from glowmcu.frontend.onnx.container import NodeRecord
from glowmcu.frontend.onnx.importer import Import, importer
from glowmcu.frontend.onnx.spatial import reshaped
from glowmcu.frontend.unsupported import Unsupported
from glowmcu.ir.graph import Value
from glowmcu.ir.operation import Array
from glowmcu.ir.types import ElementType
from glowmcu.ops.elementwise import Add, Mul
from glowmcu.ops.joining import Concatenation
from glowmcu.ops.matmul import FullyConnected
from glowmcu.ops.mixed_radix_fft import LONGEST, is_transformable
from glowmcu.ops.shape import Reshape
from glowmcu.ops.signal_fft import Irfft, Rfft
from glowmcu.ops.slicing import Slice
from glowmcu.ops.transpose import Transpose

#: Longest transform by a matrix: half a megabyte of constants.
_LONGEST_MATRIX = 256
#: The axis moved from an attribute to an operand, and its default from 1 to -2.
_OPSET_OF_OPERAND = 20


@importer("DFT")
def import_dft(state: Import, op: NodeRecord) -> None:
    """Along an axis of `[…, 1]` real or `[…, 2]` complex numbers, forward or back."""
    x = _numbers(state, op)
    rank, inverse = x.type.rank, op.flag("inverse")
    axis = op.integer("axis", 1) if state.opset < _OPSET_OF_OPERAND else -2
    if state.has(op, 2):
        axis = _number(state, op, 2, "its axis")
    axis = positive_axis(op, axis, rank)
    if axis == rank - 1:
        raise Unsupported("GM106", f"DFT: axis {axis} of {x.type} has real and imaginary parts")
    onesided = op.flag("onesided")
    length = 2 * (x.type.shape[axis] - 1) if inverse and onesided else x.type.shape[axis]
    if state.has(op, 1):
        length = _number(state, op, 1, "its length")
    _expect_length(op, length)
    outer = [place for place in range(rank - 1) if place != axis]
    if inverse and onesided:
        found = _real_again(
            state, op, state.add(op, Transpose((*outer, axis, rank - 1)), [x]), length
        )
    else:
        parts = state.add(op, Transpose((rank - 1, *outer, axis)), [x])
        found = _transform(state, op, parts, length, inverse)
        if onesided:
            found = _bins(state, op, found, 0, length // 2 + 1)
    order = [*outer, axis, rank - 1]
    state.emit(op, Transpose(tuple(order.index(place) for place in range(rank))), [found])


@importer("STFT")
def import_stft(state: Import, op: NodeRecord) -> None:
    """Windowed frames of a real signal, each `frame_step` samples after the one before."""
    x = state.value(op, 0)
    if x.type.rank == 2 and x.type.element is ElementType.F32 and x.type.element_count:
        # As PyTorch's older exporter writes it, and ONNX Runtime reads it.
        x = state.add(op, Reshape((*x.type.shape, 1)), [x])
    _expect_numbers(op, x)
    if x.type.rank != 3 or x.type.shape[2] != 1:
        raise Unsupported("GM106", f"STFT: expected real signals [batch, samples, 1], got {x.type}")
    window = state.value(op, 2) if state.has(op, 2) else None
    length = x.type.shape[1] if window is None else window.type.element_count
    if state.has(op, 3):
        length = _number(state, op, 3, "its frame length")
    step = _number(state, op, 1, "its frame step")
    _expect_length(op, length)
    batch, samples, _ = x.type.shape
    if step < 1 or length > samples:
        raise Unsupported("GM106", f"STFT: frames of {length} by {step} of {samples} samples")
    if window is not None and window.type.shape != (length,):
        raise Unsupported("GM106", f"STFT: a window {window.type} for frames of {length} samples")
    frames = 1 + (samples - length) // step
    expect_few(frames, "frames")
    line = state.add(op, Reshape((batch, 1, samples)), [x])
    cut = [
        state.add(op, Slice((0, 0, k * step), (batch, 1, length), (1, 1, 1)), [line])
        for k in range(frames)
    ]
    framed = state.add(op, Concatenation(1), cut) if frames > 1 else cut[0]
    if window is not None:
        framed = state.add(op, Mul(), [framed, window])
    found = _real_spectrum(state, op, framed, length)
    if not op.flag("onesided", True):
        found = _with_mirror(state, op, found, length)
    state.bind(op, [found])


def _numbers(state: Import, op: NodeRecord) -> Value:
    x = state.value(op, 0)
    _expect_numbers(op, x)
    return x


def _expect_numbers(op: NodeRecord, x: Value) -> None:
    is_fit = x.type.element is ElementType.F32 and x.type.rank >= 2 and x.type.shape[-1] in (1, 2)
    if not is_fit or 0 in x.type.shape:
        raise Unsupported("GM106", f"{op.kind}: expected float32 […, 1 or 2], got {x.type}")


def _number(state: Import, op: NodeRecord, position: int, what: str) -> int:
    found = required_integers(state, op, position, "", what)
    if len(found) != 1:
        raise Unsupported("GM106", f"{op.kind}: {what} is one number, got {len(found)}")
    return found[0]


def _expect_length(op: NodeRecord, length: int) -> None:
    if not is_transformable(length) and not 1 <= length <= _LONGEST_MATRIX:
        raise Unsupported(
            "GM106",
            f"{op.kind} of {length} samples; expected at most {_LONGEST_MATRIX}, or an even number "
            f"to {LONGEST} without prime factors but 2, 3 and 5",
            "pad the signal with zeros to such a length (dft_length, n_fft)",
        )


def _transform(state: Import, op: NodeRecord, x: Value, length: int, inverse: bool) -> Value:
    """`[1 or 2, outer…, samples]`, real parts and imaginary ones, to `[outer…, length, 2]`.

    Back is forward of the conjugate, conjugated and divided by the length.
    """
    is_complex = x.type.shape[0] == 2
    if inverse and is_complex:
        signs = np.array([1, -1], np.float32).reshape(2, *[1] * (x.type.rank - 1))
        x = state.add(op, Mul(), [x, state.add_constant(signs, "conjugate")])
    spectra = _with_mirror(state, op, _real_spectrum(state, op, x, length), length)
    found = _first(state, op, spectra, 0)
    if is_complex:
        # i * (re + i im) = -im + i re
        turned = _last(state, op, _first(state, op, spectra, 1), (1, 0), (-1.0, 1.0))
        found = state.add(op, Add(), [found, turned])
    if inverse:
        found = _last(state, op, found, (0, 1), (1.0 / length, -1.0 / length))
    return found


def _real_spectrum(state: Import, op: NodeRecord, x: Value, length: int) -> Value:
    """`[…, samples]` to `[…, length / 2 + 1, 2]`; samples that lack are 0, too many are cut off."""
    *outer, samples = x.type.shape
    if samples > length:
        begin = (0,) * x.type.rank
        x = state.add(op, Slice(begin, (*outer, length), (1,) * x.type.rank), [x])
    shape = (*outer, length // 2 + 1, 2)
    if is_transformable(length):
        return reshaped(state, op, state.add(op, Rfft(length), [x]), shape)
    rows, kept = math.prod(outer), x.type.shape[-1]
    weights = _matrix(length, kept)
    operands = [reshaped(state, op, x, (rows, kept)), state.add_constant(weights, "turns")]
    bias = state.builder.add_no_bias(len(weights))
    product = state.add(op, FullyConnected(), [*operands, bias])
    return reshaped(state, op, product, shape)


def _matrix(length: int, samples: int) -> Array:
    """A row of cosines and one of sines for each bin, `samples` columns."""
    bins = np.arange(length // 2 + 1)[:, np.newaxis]
    turns = 2 * np.pi * (bins * np.arange(samples) % length) / length
    return np.stack([np.cos(turns), -np.sin(turns)], 1).reshape(-1, samples).astype(np.float32)


def _with_mirror(state: Import, op: NodeRecord, spectrum: Value, length: int) -> Value:
    """All bins of a real signal: the conjugates of the lower ones, backwards, behind them."""
    *outer, bins, _ = spectrum.type.shape
    count = length - bins
    if count == 0:
        return spectrum
    rank = spectrum.type.rank
    begin, steps = (*[0] * (rank - 2), count, 0), (*[1] * (rank - 2), -1, 1)
    upper = state.add(op, Slice(begin, (*outer, count, 2), steps), [spectrum])
    mirrored = _last(state, op, upper, (0, 1), (1.0, -1.0))
    return state.add(op, Concatenation(rank - 2), [spectrum, mirrored])


def _last(
    state: Import, op: NodeRecord, x: Value, order: tuple[int, int], factors: tuple[float, float]
) -> Value:
    """Real and imaginary part in another order, times constants."""
    rank = x.type.rank
    if order == (1, 0):
        begin, steps = (*[0] * (rank - 1), 1), (*[1] * (rank - 1), -1)
        x = state.add(op, Slice(begin, x.type.shape, steps), [x])
    return state.add(op, Mul(), [x, state.add_constant(np.array(factors, np.float32), "factors")])


def _first(state: Import, op: NodeRecord, x: Value, place: int) -> Value:
    shape, rest = x.type.shape, (0,) * (x.type.rank - 1)
    if shape[0] > 1:
        x = state.add(op, Slice((place, *rest), (1, *shape[1:]), (1,) * x.type.rank), [x])
    return reshaped(state, op, x, shape[1:])


def _bins(state: Import, op: NodeRecord, x: Value, first: int, count: int) -> Value:
    *outer, _, parts = x.type.shape
    begin = (*[0] * len(outer), first, 0)
    return state.add(op, Slice(begin, (*outer, count, parts), (1,) * x.type.rank), [x])


def _real_again(state: Import, op: NodeRecord, x: Value, length: int) -> Value:
    """`[outer…, length / 2 + 1, 2]` to `[outer…, length, 1]`."""
    *outer, bins, parts = x.type.shape
    if parts != 2 or bins != length // 2 + 1 or not is_transformable(length):
        raise Unsupported(
            "GM106",
            f"DFT: {bins} bins of {parts} parts back to {length} real samples; expected "
            "length / 2 + 1 complex ones of an even length without prime factors but 2, 3 and 5",
        )
    pairs = reshaped(state, op, x, (*outer, length + 2))
    return reshaped(state, op, state.add(op, Irfft(length), [pairs]), (*outer, length, 1))
