"""`svdf`: a layer of rank-1 filters, each a product with the newest input and one with the queue
of what that gave in the last runs.

    queue' = queue without its oldest, and F x      y = bias + sum over rank of (T . queue')
Source: TensorFlow Lite Micro `micro/kernels/svdf_common.cc`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from glowmcu.ir.operation import Array, Operation, OperationError, Rounding, Signature
from glowmcu.ir.types import ElementType, Shape, TensorType
from glowmcu.lazy_dataclass import dataclass
from glowmcu.ops.fixed_point import (
    Int64Array,
    Requantization,
    exact_float,
    requantization,
    saturate,
    wrap_int32,
)
from glowmcu.ops.real import clamp_float, verify_float
from glowmcu.ops.registry import operation

#: A factor beyond would shift an accumulator by more than all of its bits.
_FACTOR_END = 2.0**30


@dataclass(frozen=True)
class SvdfShape:
    """Sizes of a layer: `filters` are `rank` for each of the units."""

    batches: int
    depth: int
    filters: int
    memory: int
    rank: int

    @property
    def units(self) -> int:
        """Results of a batch item."""
        return self.filters // self.rank


@operation("svdf")
@dataclass(frozen=True)
class Svdf(Operation):
    """Operands: x (B, I), feature weights (F, I), time weights (F, M), bias (F / rank,), and the
    state, (B, F M): the last M products of each filter, oldest first. Results: (B, F / rank) and
    the new state.

    int8, with a state and time weights of int8 or int16, or float32; `clamp` is for the latter.
    """

    rank: int = 1
    clamp: tuple[float, float] | None = None

    def infer(self, inputs: Sequence[TensorType]) -> tuple[Shape, ...]:
        x, features, times, bias, state = inputs
        if (x.rank, features.rank, times.rank) != (2, 2, 2) or 0 in (*x.shape, *times.shape):
            raise OperationError(f"expected matrices, got {x}, {features} and {times}")
        if self.rank < 1 or features.shape[0] % self.rank:
            raise OperationError(f"{features.shape[0]} filters are no multiple of {self.rank}")
        shape = self.shape(inputs)
        for what, type_, expected in (
            ("feature weights", features, (shape.filters, shape.depth)),
            ("time weights", times, (shape.filters, shape.memory)),
            ("bias", bias, (shape.units,)),
            ("state", state, (shape.batches, shape.filters * shape.memory)),
        ):
            if type_.shape != expected:
                raise OperationError(f"{what} must be {expected}, got {type_.shape}")
        return ((shape.batches, shape.units), state.shape)

    def shape(self, inputs: Sequence[TensorType]) -> SvdfShape:
        """Sizes by the input and both weights."""
        (batches, depth), (filters, memory) = inputs[0].shape, inputs[2].shape
        return SvdfShape(batches, depth, filters, memory, self.rank)

    def verify(self, signature: Signature) -> None:
        if signature.output.element.is_float:
            verify_float(signature)
            return
        x, features, times, bias, state = signature.inputs
        for type_ in (x, features, times, state, signature.output):
            if type_.quantization is None or type_.quantization.per_channel:
                raise OperationError(f"expected one scale a tensor, got {type_}")
        for type_ in (x, features, signature.output):
            if type_.element is not ElementType.I8:
                raise OperationError(f"expected quantized i8, got {type_}")
        if times.element is not state.element or state.element not in _STATES:
            raise OperationError(f"expected time weights and state of i8 or i16, got {state}")
        if features.zero_point or times.zero_point:
            raise OperationError("weights must have zero point 0")
        if bias.element is not ElementType.I32:
            raise OperationError(f"expected i32 bias, got {bias}")
        if signature.outputs[1] != state:
            raise OperationError(f"a state stays what it is, got {signature.outputs[1]}")
        if self.clamp is not None:
            raise OperationError("a result of i8 is saturated, not clamped")
        self.feature_requantization(signature)
        self.time_requantization(signature)

    def updates(self, signature: Signature) -> Mapping[int, int]:
        return {1: 4}

    def macs(self, signature: Signature) -> int:
        shape = self.shape(signature.inputs)
        return shape.batches * shape.filters * (shape.depth + shape.memory)

    def feature_requantization(self, signature: Signature) -> Requantization:
        """Of F x to the state, without its zero point."""
        x, features, _, _, state = signature.inputs
        return _rescaled(x.scale, features.scale, state.scale)

    def time_requantization(self, signature: Signature) -> Requantization:
        """Of the sums over time to the result, without its zero point."""
        _, _, times, _, state = signature.inputs
        return _rescaled(state.scale, times.scale, signature.output.scale)

    def evaluate(
        self, inputs: Sequence[Array], signature: Signature, rounding: Rounding
    ) -> tuple[Array, ...]:
        x, features, times, bias, state = inputs
        shape = self.shape(signature.inputs)
        if signature.output.element.is_float:
            newest = x @ features.T
        else:
            newest = self._newest(x, features, signature, rounding)
        queue = state.reshape(shape.batches, shape.filters, shape.memory)
        queue = np.concatenate([queue[:, :, 1:], newest[:, :, np.newaxis]], axis=2)
        kept = np.ascontiguousarray(queue.reshape(state.shape), state.dtype)
        if signature.output.element.is_float:
            return clamp_float(_over_time(queue, times, shape) + bias, self.clamp), kept
        sums = _over_time(queue.astype(np.int64) - signature.inputs[4].zero_point, times, shape)
        scaled = self.time_requantization(signature).apply(wrap_int32(sums + bias), rounding)
        out = signature.output
        return saturate(scaled + out.zero_point, *out.element.limits, dtype=np.int8), kept

    def _newest(self, x: Array, features: Array, signature: Signature, rounding: Rounding) -> Array:
        """F x as the state stores it: saturated before the zero point is added, which wraps."""
        state = signature.inputs[4]
        exact = exact_float(features, np.int8)
        rows = np.subtract(x, signature.inputs[0].zero_point, dtype=exact)
        sums = np.asarray(rows @ features.astype(exact).T).astype(np.int64)
        scaled = self.feature_requantization(signature).apply(sums, rounding)
        limited = np.clip(scaled, *state.element.limits)
        return np.asarray(limited + state.zero_point).astype(state.element.numpy)


_STATES = (ElementType.I8, ElementType.I16)


def _over_time(queue: Array, times: Array, shape: SvdfShape) -> Array:
    """(B, units): products with the time weights, those of a unit added."""
    wide: Int64Array | Array = times.astype(np.int64) if queue.dtype == np.int64 else times
    sums = np.einsum("bfm,fm->bf", queue, wide)
    return np.asarray(sums.reshape(shape.batches, shape.units, shape.rank).sum(axis=2))


def _rescaled(a: float, b: float, result: float) -> Requantization:
    """For a product of scales over another, in float32 throughout."""
    with np.errstate(over="ignore"):
        factor = float(np.float32(a) * np.float32(b) / np.float32(result))
    if not factor < _FACTOR_END:
        raise OperationError(f"scales {a:.6g} and {b:.6g} are too large for {result:.6g}")
    return requantization([factor])
