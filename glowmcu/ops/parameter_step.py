"""Parameters in fixed point: `stored_parameter`, `conv_2d_step`, `depthwise_step`, `bias_step`.

A parameter is kept with more bits than the layer reads: stored = round(kept / 2^shift). A step is
kept - rate * factor * sum, the factor of a channel that of the quantization-aware scaling: the
gradient by a stored weight, over the square of its scale, is what moves the weight as far as real
numbers would.
Source: Lin et al., On-Device Training Under 256KB Memory, NeurIPS 2022.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from glowmcu.ir.operation import Array, Operation, OperationError, Rounding, Signature
from glowmcu.ir.types import ElementType, Shape, TensorType
from glowmcu.ir.value_range import Int64Array, ValueRange
from glowmcu.lazy_dataclass import dataclass
from glowmcu.ops.block_gradient import (
    BITS,
    SUM_END,
    expect_gradient,
    expect_stored,
    numbers_of,
    numbers_shape,
    rounded_shift,
)
from glowmcu.ops.registry import operation
from glowmcu.ops.stored_gradient import Windowed

#: Bits that weights have behind those that layers read, and the end of a step.
WEIGHT_SHIFT, WEIGHT_LIMIT, BIAS_LIMIT = 8, 127 << 8, 2**30 - 1
#: Bits of a velocity behind those of what is kept, and its end.
VELOCITY_SHIFT, VELOCITY_LIMIT = 8, 2**30 - 1
_RATE = TensorType((1,), ElementType.F32)


@operation("stored_parameter")
@dataclass(frozen=True)
class StoredParameter(Operation):
    """What a layer reads of weights (i16 to quantized i8) or biases (i32 to i32): the nearest
    multiple of 2^shift, halves up. A second operand of the result's type has the channels that do
    not learn, behind the others along `axis`.
    """

    shift: int = WEIGHT_SHIFT
    axis: int = 0

    def infer(self, inputs: Sequence[TensorType]) -> tuple[Shape, ...]:
        shape = list(inputs[0].shape)
        if len(inputs) > 1:
            others = list(inputs[1].shape)
            if not 0 <= self.axis < len(shape) == len(others):
                raise OperationError(f"{inputs[1]} has no channels behind those of {inputs[0]}")
            shape[self.axis] += others[self.axis]
            others[self.axis] = shape[self.axis]
            if others != shape:
                raise OperationError(f"{inputs[1]} has no channels behind those of {inputs[0]}")
        return (tuple(shape),)

    def verify(self, signature: Signature) -> None:
        kinds = signature.inputs[0].element, signature.output.element
        if any(other.element is not kinds[1] for other in signature.inputs[1:]):
            raise OperationError(f"expected channels of {kinds[1].value}: {signature.inputs[1]}")
        if kinds == (ElementType.I16, ElementType.I8) and self.shift == WEIGHT_SHIFT:
            return
        if kinds == (ElementType.I32, ElementType.I32) and 1 <= self.shift <= 16:
            return
        raise OperationError(f"expected parameters, got {signature.inputs[0]}, shift {self.shift}")

    def evaluate(
        self, inputs: Sequence[Array], signature: Signature, rounding: Rounding
    ) -> tuple[Array, ...]:
        low, high = signature.output.element.limits
        kept = inputs[0]
        if signature.output.element is ElementType.I32:
            # Parameters that were loaded may be anything.
            kept = np.clip(kept, -BIAS_LIMIT, BIAS_LIMIT)
        stored = np.clip(rounded_shift(kept, self.shift), low, high)
        found = stored.astype(signature.output.element.numpy)
        return (np.concatenate([found, *inputs[1:]], axis=self.axis),)

    def output_ranges(
        self,
        inputs: Sequence[ValueRange | None],
        constants: Sequence[Array | None],
        signature: Signature,
        rounding: Rounding,
    ) -> tuple[ValueRange | None, ...]:
        out = signature.output
        if out.element is ElementType.I8:
            return super().output_ranges(inputs, constants, signature, rounding)
        most = np.full(out.shape[-1], 1 + (BIAS_LIMIT >> self.shift), np.int64)
        if len(inputs) > 1:
            others = constants[1]
            if others is None:
                return (None,)
            ends = np.abs(others.astype(np.int64))
            most[len(most) - len(ends) :] = ends
        return (ValueRange(-most, most),)


def channel_factors(real: Sequence[float]) -> Array:
    """int32 (C, 2): of each real factor a number of 15 bits and an exponent of 2."""
    rows = []
    for factor in real:
        fraction, exponent = math.frexp(factor)
        rows.append((int(fraction * 2**15), exponent - 15))
    return np.array(rows, np.int32)


def rate_parts(rate: Array) -> tuple[int, int]:
    """A number of 15 bits, rounded down, and an exponent of 2; 0 for what is no positive normal
    number.
    """
    word = int(rate.astype(np.float32).view(np.uint32)[0])
    exponent = word >> 23
    if exponent == 0 or exponent >= 255:
        return 0, 0
    return (0x800000 | (word & 0x7FFFFF)) >> 9, exponent - 127 - 14


def scaled_steps(sums: Array, factors: Array, exponent: int, rate: Array, limit: int) -> Int64Array:
    """Steps of sums, whose last axis is the channel: sum * rate * factor * 2^exponent, the product
    with 15 bits rounded down and halves up at the end; at most `limit`.
    """
    rate_number, rate_exponent = rate_parts(rate)
    numbers = (rate_number * factors[:, 0].astype(np.int64)) >> 15
    products = (sums.astype(np.int64) * numbers) >> 15
    shifts = exponent + rate_exponent + factors[:, 1].astype(np.int64) + 30
    right = np.clip(-shifts, 0, 31)
    rounded = (products + ((np.int64(1) << right) >> 1)) >> right
    rounded = np.where(shifts < -31, 0, rounded)
    left = np.clip(shifts, 0, 31)
    found: Int64Array = np.clip(np.clip(rounded, -(2**31), 2**31) << left, -limit, limit)
    return found


def momentum_part(momentum: Array) -> int:
    """Of 2^15, rounded down; nearly 1 for what is 1 and more, 0 as for rates."""
    number, exponent = rate_parts(momentum)
    if number == 0:
        return 0
    return 32767 if exponent > -15 else number >> min(-15 - exponent, 31)


@dataclass(frozen=True)
class ParameterStep(Operation):
    """Operands: what is kept; the gradient by the layer's sums, i16 (1, h, w, O) or packed,
    magnitudes up to 2^taken, exponent and peak; factors i32 (C, 2), C one or all channels; the rate
    f32[1]; but for biases the layer's input i8. Result: what is kept from now on.

    What is kept may be of the first channels alone. With momentum there are a velocity i32 of its
    shape and the momentum f32[1] besides, and a second result: v' = momentum v + step, by which
    what is kept moves.
    """

    taken: int = BITS
    has_momentum: bool = False

    def infer(self, inputs: Sequence[TensorType]) -> tuple[Shape, ...]:
        kept, gradient, _, factors, rate, *_ = inputs
        channels = self.channels(kept)
        outputs = numbers_shape(gradient)[-1] if gradient.rank == 4 else 0
        if gradient.shape[:1] != (1,) or outputs < channels:
            raise OperationError(f"{gradient} is no gradient of a layer with {kept}")
        if factors.shape not in ((1, 2), (channels, 2)) or rate.shape != (1,):
            raise OperationError(f"expected factors of {kept}, got {factors}")
        return (kept.shape, kept.shape) if self.has_momentum else (kept.shape,)

    def channels(self, kept: TensorType) -> int:
        """Of the layer's result, that learn."""
        return kept.shape[0]

    def pixels(self, signature: Signature) -> int:
        """That a sum is of."""
        _, height, width, _ = signature.inputs[1].shape
        return height * width

    def verify(self, signature: Signature) -> None:
        kept, gradient, common, factors, rate, *more = signature.inputs
        expect_gradient(gradient, common)
        if self.has_momentum:
            *more, velocity, momentum = more
            self._verify_velocity(velocity, momentum, signature)
        is_bias = not more
        element = ElementType.I32 if is_bias else ElementType.I16
        if kept.element is not element or kept != signature.output:
            raise OperationError(f"expected parameters of {element.value}, got {kept}")
        if factors.element is not ElementType.I32 or rate != _RATE:
            raise OperationError(f"expected factors of i32 and a rate, got {factors} and {rate}")
        if more:
            expect_stored(more[0])
        most = self.pixels(signature) * (1 if is_bias else 255) << self.taken
        if not 1 <= self.taken <= BITS or most >= SUM_END:
            raise OperationError(f"sums of gradients can reach {most}")

    def _verify_velocity(
        self, velocity: TensorType, momentum: TensorType, signature: Signature
    ) -> None:
        expected = TensorType(signature.inputs[0].shape, ElementType.I32)
        if velocity != expected or signature.outputs[1] != expected or momentum != _RATE:
            raise OperationError(f"expected a velocity of {expected}, got {velocity}, {momentum}")

    def updates(self, signature: Signature) -> Mapping[int, int]:
        return {0: 0, 1: len(signature.inputs) - 2} if self.has_momentum else {0: 0}

    def evaluate(
        self, inputs: Sequence[Array], signature: Signature, rounding: Rounding
    ) -> tuple[Array, ...]:
        kept, gradient, common, factors, rate, *more = inputs
        image, velocity, momentum = None, None, None
        if self.has_momentum:
            *more, velocity, momentum = more
        if more:
            image = more[0][0].astype(np.float64) - signature.inputs[5].zero_point
        numbers = numbers_of(gradient[0]).astype(np.float64)
        sums = self.sums(numbers, image, kept.shape).astype(np.int64)
        limit = BIAS_LIMIT if image is None else WEIGHT_LIMIT
        before = np.clip(kept.astype(np.int64), -(2**30), 2**30)
        if velocity is None or momentum is None:
            steps = scaled_steps(sums, factors, int(common[0]), rate, limit)
            moved = before - self.as_kept(steps)
            return (np.clip(moved, -limit, limit).astype(kept.dtype),)
        exponent = int(common[0]) + VELOCITY_SHIFT
        steps = scaled_steps(sums, factors, exponent, rate, VELOCITY_LIMIT)
        old = np.clip(velocity.astype(np.int64), -VELOCITY_LIMIT, VELOCITY_LIMIT)
        kept_on = (old * momentum_part(momentum)) >> 15
        new = np.clip(kept_on + self.as_kept(steps), -VELOCITY_LIMIT, VELOCITY_LIMIT)
        moved = np.clip(before - rounded_shift(new, VELOCITY_SHIFT), -limit, limit)
        return moved.astype(kept.dtype), new.astype(np.int32)

    def sums(self, gradient: Array, image: Array | None, kept: Shape) -> Array:
        """float64, exact, the layer's channels last."""
        raise AssertionError(f"{type(self).__name__} has no sums")

    def as_kept(self, steps: Array) -> Array:
        """Steps, whose channels are last, as what is kept has its axes."""
        return steps


@operation("bias_step")
class BiasStep(ParameterStep):
    """Of biases i32 (O,)."""

    def sums(self, gradient: Array, image: Array | None, kept: Shape) -> Array:
        summed: Array = gradient[:, :, : kept[0]].sum(axis=(0, 1))
        return summed


@dataclass(frozen=True)
class WindowStep(ParameterStep, Windowed):
    """Of a layer with windows."""

    def padded(self, image: Array, kernel: tuple[int, int], out: tuple[int, int]) -> Array:
        """The image with zeros where windows reach beyond it."""
        height, width = image.shape[:2]
        top, left = self.padding[:2]
        rows, columns = self.padded_size(kernel, out, (height, width))
        around = ((top, rows - top - height), (left, columns - left - width), (0, 0))
        return np.pad(image, around)

    def inner_shapes(self, signature: Signature) -> tuple[Shape, ...]:
        (_, height, width, depth), kept = signature.inputs[5].shape, signature.inputs[0].shape
        out = signature.inputs[1].shape
        size = self.padded_size((kept[1], kept[2]), (out[1], out[2]), (height, width))
        return ((*size, depth),)


@operation("conv_2d_step")
class Conv2DStep(WindowStep):
    """Of weights i16 (O, kernel_h, kernel_w, I) of a convolution without groups."""

    def infer(self, inputs: Sequence[TensorType]) -> tuple[Shape, ...]:
        kept, image = inputs[0], inputs[5]
        if kept.rank != 4 or image.rank != 4 or image.shape[::3] != (1, kept.shape[3]):
            raise OperationError(f"{image} is no input of a layer with {kept}")
        return super().infer(inputs)

    def sums(self, gradient: Array, image: Array | None, kept: Shape) -> Array:
        assert image is not None
        kernel, out = (kept[1], kept[2]), (gradient.shape[0], gradient.shape[1])
        flat = gradient[:, :, : kept[0]].reshape(-1, kept[0])
        padded = self.padded(image, kernel, out)
        found = np.empty((*kernel, kept[3], kept[0]))
        for (ky, kx), seen in self.taps(kernel, out):
            found[ky, kx] = padded[seen].reshape(-1, kept[3]).T @ flat
        return found

    def as_kept(self, steps: Array) -> Array:
        return np.moveaxis(steps, 3, 0)

    def macs(self, signature: Signature) -> int:
        kept, gradient = signature.inputs[:2]
        return gradient.shape[1] * gradient.shape[2] * kept.element_count


@operation("depthwise_step")
class DepthwiseStep(WindowStep):
    """Of weights i16 (1, kernel_h, kernel_w, O) of a depthwise convolution."""

    def channels(self, kept: TensorType) -> int:
        return kept.shape[3]

    def infer(self, inputs: Sequence[TensorType]) -> tuple[Shape, ...]:
        kept, image = inputs[0], inputs[5]
        fits = kept.rank == 4 and image.rank == 4 and kept.shape[0] == image.shape[0] == 1
        outputs = numbers_shape(inputs[1])[-1] if inputs[1].shape else 0
        if not fits or not image.shape[3] or outputs % image.shape[3]:
            raise OperationError(f"{image} is no input of a layer with {kept}")
        return super().infer(inputs)

    def sums(self, gradient: Array, image: Array | None, kept: Shape) -> Array:
        assert image is not None
        kernel, out = (kept[1], kept[2]), (gradient.shape[0], gradient.shape[1])
        each = gradient.shape[2] // image.shape[2]
        gradient = gradient[:, :, : kept[3]]
        padded, found = self.padded(image, kernel, out), np.empty(kept)
        for (ky, kx), seen in self.taps(kernel, out):
            repeated = np.repeat(padded[seen], each, axis=2)[:, :, : kept[3]]
            found[0, ky, kx] = (gradient * repeated).sum(axis=(0, 1))
        return found

    def macs(self, signature: Signature) -> int:
        kept, gradient = signature.inputs[:2]
        return gradient.shape[1] * gradient.shape[2] * kept.element_count
