"""Gradients in fixed point on their way back: `requantization_gradient`, `conv_2d_input_gradient`,
`depthwise_input_gradient`.

By what a layer's sum is: dL/dsum = m dL/dy where y is no bound of an activation, m the layer's
scale of a channel. By what the layer reads: dL/dx = sum(dL/dsum w).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from glowmcu.ir.operation import Array, Operation, OperationError, Rounding, Signature
from glowmcu.ir.types import ElementType, Shape, TensorType
from glowmcu.ir.value_range import Int64Array
from glowmcu.lazy_dataclass import dataclass
from glowmcu.ops.block_gradient import (
    BITS,
    SHARED,
    SUM_END,
    excess,
    expect_gradient,
    expect_stored,
    made_gradient,
    numbers_of,
    numbers_shape,
    packed_shape,
    rounded_shift,
    shared,
)
from glowmcu.ops.block_gradient import is_packed as has_packed
from glowmcu.ops.registry import operation

#: Of scales of two gradients of a value.
MOST_POWER = 2**10

Pair = tuple[int, int]
Padding = tuple[int, int, int, int]


@operation("requantization_gradient")
@dataclass(frozen=True)
class RequantizationGradient(Operation):
    """Operands: the gradient by what is stored, packed or i16 of the result's shape or with 1 for
    its height and width; exponent and peak; what is stored, i8; a share of 2^15 a channel, i16 (C,)
    or (1,).

    Results: times the share, 0 where `low` or less, or `high` or more, is stored, and where the
    largest number that 8 bits store would have to grow, or the least one to fall: a layer that has
    saturated goes back, and no further. Magnitudes up to 2^bits; packed if they are to be.
    """

    low: int | None = None
    high: int | None = None
    bits: int = BITS
    is_packed: bool = False

    def infer(self, inputs: Sequence[TensorType]) -> tuple[Shape, ...]:
        gradient, _, stored, shares = inputs
        if not stored.shape or gradient.rank != stored.rank:
            raise OperationError(f"expected a gradient of {stored}, got {gradient}")
        inner, shape = tuple(range(1, stored.rank - 1)), numbers_shape(gradient)
        for axis, (given, size) in enumerate(zip(shape, stored.shape, strict=True)):
            repeats = axis in inner and all(shape[each] == 1 for each in inner)
            if given != size and not repeats:
                raise OperationError(f"expected a gradient of {stored}, got {gradient}")
        if shares.shape not in ((1,), stored.shape[-1:]):
            raise OperationError(f"expected a share a channel of {stored}, got {shares}")
        found = packed_shape(stored.shape) if self.is_packed else stored.shape
        return (found, SHARED.shape)

    def verify(self, signature: Signature) -> None:
        gradient, common, stored, shares = signature.inputs
        expect_gradient(gradient, common)
        expect_gradient(*signature.outputs)
        expect_stored(stored)
        _expect_packed(self.is_packed, signature)
        if has_packed(gradient) and numbers_shape(gradient) != stored.shape:
            raise OperationError(f"expected packed numbers of {stored}, got {gradient}")
        if shares.element is not ElementType.I16 or not 1 <= self.bits <= BITS:
            raise OperationError(f"expected shares of i16 and 1 to {BITS} bits, got {shares}")

    def in_place(self, signature: Signature) -> tuple[int, ...]:
        return (0,) if signature.inputs[0] == signature.output else ()

    def evaluate(
        self, inputs: Sequence[Array], signature: Signature, rounding: Rounding
    ) -> tuple[Array, ...]:
        gradient, common, stored, shares = inputs
        exponent, peak = (int(number) for number in common)
        shift = excess(peak, self.bits)
        scaled = rounded_shift(numbers_of(gradient) * shares.astype(np.int64), 15 + shift)
        is_open = np.ones(stored.shape, np.bool_)
        if self.low is not None:
            is_open &= stored > self.low
        if self.high is not None:
            is_open &= stored < self.high
        least, most = signature.inputs[2].element.limits
        is_open &= ((stored < most) | (scaled > 0)) & ((stored > least) | (scaled < 0))
        return made_gradient(exponent + shift, np.where(is_open, scaled, 0), self.is_packed)


def _expect_packed(is_packed: bool, signature: Signature) -> None:
    """Raise OperationError unless the result is as its operator says."""
    if has_packed(signature.output) is not is_packed:
        raise OperationError(f"expected numbers with is_packed={is_packed}: {signature.output}")


@operation("gradient_sum")
@dataclass(frozen=True)
class GradientSum(Operation):
    """Operands: two gradients of a value, i16 with exponent and peak each, of which shares of 2^15,
    times 2^power, are added. Results: the sum with as many bits as its magnitudes surely fit, and
    exponent and peak of that.
    """

    share_a: int = 32767
    share_b: int = 32767
    power_a: int = 0
    power_b: int = 0

    def infer(self, inputs: Sequence[TensorType]) -> tuple[Shape, ...]:
        a, _, b, _ = inputs
        if a.shape != b.shape:
            raise OperationError(f"expected two gradients of a value, got {a} and {b}")
        return (a.shape, SHARED.shape)

    def verify(self, signature: Signature) -> None:
        expect_gradient(*signature.inputs[:2])
        expect_gradient(*signature.inputs[2:])
        expect_gradient(*signature.outputs)
        if any(map(has_packed, (*signature.inputs[::2], signature.output))):
            raise OperationError("expected gradients of i16")
        if max(abs(self.share_a), abs(self.share_b)) >= 2**15:
            raise OperationError(f"no shares of 2^15: {self.share_a}, {self.share_b}")
        if max(abs(self.power_a), abs(self.power_b)) > MOST_POWER:
            raise OperationError(f"no powers of 2: {self.power_a}, {self.power_b}")

    def in_place(self, signature: Signature) -> tuple[int, ...]:
        return (0, 2)

    def evaluate(
        self, inputs: Sequence[Array], signature: Signature, rounding: Rounding
    ) -> tuple[Array, ...]:
        a, common_a, b, common_b = inputs
        own = int(common_a[0]) + self.power_a, int(common_b[0]) + self.power_b
        # Of one that is 0 everywhere the exponent says nothing.
        lengths = int(common_a[1]).bit_length(), int(common_b[1]).bit_length()
        tops = [each + length for each, length in zip(own, lengths, strict=True) if length]
        exponent = max(tops, default=own[0]) - (BITS - 1)
        total = np.zeros(a.shape, np.int64)
        for numbers, each, share in ((a, own[0], self.share_a), (b, own[1], self.share_b)):
            shift = min(max(15 + exponent - each, 0), 30)
            total += rounded_shift(numbers.astype(np.int64) * share, shift)
        found = total.astype(np.int16)
        return found, shared(exponent, found)


@operation("gradient_product")
@dataclass(frozen=True)
class GradientProduct(Operation):
    """Operands: a gradient, i16 with exponent and peak; a factor of each element, i16. Results:
    products with the least shift after which no magnitude exceeds 2^BITS, exponent and peak.
    """

    def infer(self, inputs: Sequence[TensorType]) -> tuple[Shape, ...]:
        gradient, _, factor = inputs
        if gradient.shape != factor.shape:
            raise OperationError(f"expected a factor of each element of {gradient}, got {factor}")
        return (gradient.shape, SHARED.shape)

    def verify(self, signature: Signature) -> None:
        gradient, common, factor = signature.inputs
        expect_gradient(gradient, common)
        expect_gradient(*signature.outputs)
        if has_packed(gradient) or has_packed(signature.output):
            raise OperationError("expected gradients of i16")
        if factor.element is not ElementType.I16:
            raise OperationError(f"expected factors of i16, got {factor}")

    def in_place(self, signature: Signature) -> tuple[int, ...]:
        return (0, 2)

    def evaluate(
        self, inputs: Sequence[Array], signature: Signature, rounding: Rounding
    ) -> tuple[Array, ...]:
        gradient, common, factor = inputs
        shift = 1 + max(int(common[1]) - 1, 0).bit_length()
        found = rounded_shift(gradient.astype(np.int64) * factor, shift).astype(np.int16)
        return found, shared(int(common[0]) + shift, found)


@dataclass(frozen=True)
class Windowed(Operation):
    """How a convolution's windows lie on its image. `padding` is top, left, bottom, right."""

    strides: Pair = (1, 1)
    dilations: Pair = (1, 1)
    padding: Padding = (0, 0, 0, 0)

    def taps(self, kernel: Pair, out: Pair) -> Iterator[tuple[Pair, tuple[slice, slice]]]:
        """Each tap, and what it sees of the padded image in all windows."""
        (sy, sx), (dy, dx) = self.strides, self.dilations
        for ky in range(kernel[0]):
            for kx in range(kernel[1]):
                rows = slice(ky * dy, ky * dy + (out[0] - 1) * sy + 1, sy)
                columns = slice(kx * dx, kx * dx + (out[1] - 1) * sx + 1, sx)
                yield (ky, kx), (rows, columns)

    def padded_size(self, kernel: Pair, out: Pair, image: Pair) -> Pair:
        """Height and width of all that windows see and of the image with its padding."""
        sizes = []
        for axis in (0, 1):
            seen = (out[axis] - 1) * self.strides[axis]
            seen += (kernel[axis] - 1) * self.dilations[axis] + 1
            before, after = self.padding[axis], self.padding[axis + 2]
            sizes.append(max(seen, before + image[axis] + after))
        return sizes[0], sizes[1]


@dataclass(frozen=True)
class InputGradient(Windowed):
    """Operands: the gradient by the sums, i16 (1, h, w, O) or packed, magnitudes up to 2^taken;
    exponent and peak; weights i8. Results: the gradient by the image of `height` and `width`, i16
    or packed, magnitudes up to 2^bits; exponent and peak.
    """

    height: int = 1
    width: int = 1
    taken: int = BITS
    bits: int = BITS
    is_packed: bool = False

    def products(self, weights: TensorType) -> int:
        """In a sum."""
        raise AssertionError(f"{type(self).__name__} has no sums")

    def _sums(self, gradient: Array, weights: Array) -> Array:
        """By the padded image: float64 (height, width, channels), exact."""
        raise AssertionError(f"{type(self).__name__} has no sums")

    def image_sums(self, gradient: Array, weights: Array) -> Array:
        """By the image."""
        top, left = self.padding[:2]
        padded = self._sums(gradient, weights)
        return padded[top : top + self.height, left : left + self.width]

    def magnitudes(self, weights: Array) -> Int64Array:
        """Sums of the magnitudes of all weights that an input channel meets."""
        raise AssertionError(f"{type(self).__name__} has no sums")

    def inner_shapes(self, signature: Signature) -> tuple[Shape, ...]:
        return (self._padded(numbers_shape(signature.inputs[0]), signature.inputs[2].shape),)

    def image_shape(self, channels: int) -> Shape:
        """Of the result."""
        shape = (1, self.height, self.width, channels)
        return packed_shape(shape) if self.is_packed else shape

    def _padded(self, gradient: Shape, weights: Shape) -> Shape:
        kernel, out = (weights[1], weights[2]), (gradient[1], gradient[2])
        return (*self.padded_size(kernel, out, (self.height, self.width)), weights[3])

    def verify(self, signature: Signature) -> None:
        gradient, common, weights = signature.inputs
        expect_gradient(gradient, common)
        expect_gradient(*signature.outputs)
        _expect_packed(self.is_packed, signature)
        quantization = weights.quantization
        if weights.element is not ElementType.I8 or quantization is None:
            raise OperationError(f"expected weights of quantized i8, got {weights}")
        if any(quantization.zero_points):
            raise OperationError("weights must have zero point 0")
        most = self.products(weights) * 128 << self.taken
        if not (1 <= self.bits <= BITS and 1 <= self.taken <= BITS and most < SUM_END):
            raise OperationError(f"sums of gradients can reach {most}")

    def evaluate(
        self, inputs: Sequence[Array], signature: Signature, rounding: Rounding
    ) -> tuple[Array, ...]:
        gradient, common, weights = inputs
        exponent, peak = (int(number) for number in common)
        shift = excess(peak * int(self.magnitudes(weights).max(initial=0)), self.bits)
        numbers = numbers_of(gradient[0]).astype(np.float64)
        sums = self.image_sums(numbers, weights.astype(np.float64)).astype(np.int64)
        found = rounded_shift(sums, shift)[np.newaxis]
        return made_gradient(exponent + shift, found, self.is_packed)


@operation("conv_2d_input_gradient")
class Conv2DInputGradient(InputGradient):
    """Of a convolution without groups, weights (O, kernel_h, kernel_w, I)."""

    def infer(self, inputs: Sequence[TensorType]) -> tuple[Shape, ...]:
        gradient, _, weights = inputs
        outputs = numbers_shape(gradient)[-1] if gradient.rank == 4 else 0
        if weights.rank != 4 or outputs != weights.shape[0]:
            raise OperationError(f"{gradient} is no gradient of a layer with {weights}")
        return (self.image_shape(weights.shape[3]), SHARED.shape)

    def products(self, weights: TensorType) -> int:
        return weights.element_count // max(weights.shape[3], 1)

    def magnitudes(self, weights: Array) -> Int64Array:
        found: Int64Array = np.abs(weights.astype(np.int64)).sum(axis=(0, 1, 2))
        return found

    def _sums(self, gradient: Array, weights: Array) -> Array:
        out = gradient.shape[:2]
        total = np.zeros(self._padded((1, *gradient.shape), weights.shape))
        for (ky, kx), seen in self.taps(weights.shape[1:3], (out[0], out[1])):
            total[seen] += gradient @ weights[:, ky, kx]
        return total

    def macs(self, signature: Signature) -> int:
        gradient, _, weights = signature.inputs
        return gradient.shape[1] * gradient.shape[2] * weights.element_count


@operation("depthwise_input_gradient")
@dataclass(frozen=True)
class DepthwiseInputGradient(InputGradient):
    """Of a depthwise convolution of `channels`, weights (1, kernel_h, kernel_w, O)."""

    channels: int = 1

    def infer(self, inputs: Sequence[TensorType]) -> tuple[Shape, ...]:
        gradient, _, weights = inputs
        outputs = numbers_shape(gradient)[-1] if gradient.rank == 4 else 0
        if weights.rank != 4 or outputs != weights.shape[3]:
            raise OperationError(f"{gradient} is no gradient of a layer with {weights}")
        if self.channels < 1 or weights.shape[3] % self.channels:
            raise OperationError(f"{weights} is no multiple of {self.channels} channels")
        return (self.image_shape(self.channels), SHARED.shape)

    def products(self, weights: TensorType) -> int:
        return weights.element_count // self.channels

    def magnitudes(self, weights: Array) -> Int64Array:
        wide = np.abs(weights[0].astype(np.int64))
        apart = wide.reshape(*wide.shape[:2], self.channels, -1)
        found: Int64Array = apart.sum(axis=(0, 1, 3))
        return found

    def _sums(self, gradient: Array, weights: Array) -> Array:
        out, depth = gradient.shape[:2], weights.shape[3]
        padded = self._padded((1, *gradient.shape), weights.shape)
        total = np.zeros((*padded[:2], self.channels))
        for (ky, kx), seen in self.taps(weights.shape[1:3], (out[0], out[1])):
            part = gradient * weights[0, ky, kx]
            total[seen] += part.reshape(*out, self.channels, depth // self.channels).sum(axis=3)
        return total

    def macs(self, signature: Signature) -> int:
        gradient, _, weights = signature.inputs
        return gradient.shape[1] * gradient.shape[2] * weights.element_count
