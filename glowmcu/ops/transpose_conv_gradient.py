"""Gradients in fixed point of a transposed convolution: `transpose_conv_input_gradient`,
`transpose_conv_step`.

It spreads each pixel of its image over a window of the result, so that the gradient by the image is
the convolution that leads back, and a weight's is a sum over all pixels.
"""

from __future__ import annotations

import numpy as np

from glowmcu.ir.operation import Array, OperationError, Signature
from glowmcu.ir.types import Shape
from glowmcu.ops.block_gradient import is_packed
from glowmcu.ops.parameter_step import Conv2DStep
from glowmcu.ops.registry import operation
from glowmcu.ops.stored_gradient import Conv2DInputGradient, Windowed


def _windows(op: Windowed, gradient: Array, kernel: tuple[int, int], image: Shape) -> Array:
    """The gradient (height, width, O) with zeros where windows of the image's pixels reach beyond
    it.
    """
    height, width = gradient.shape[:2]
    rows, columns = op.padded_size(kernel, (image[0], image[1]), (height, width))
    top, left = op.padding[:2]
    return np.pad(gradient, ((top, rows - top - height), (left, columns - left - width), (0, 0)))


@operation("transpose_conv_input_gradient")
class TransposeConvInputGradient(Conv2DInputGradient):
    """Weights (O, kernel_h, kernel_w, I); `padding` is what the result was cut by."""

    def inner_shapes(self, signature: Signature) -> tuple[Shape, ...]:
        (_, height, width, depth), weights = signature.inputs[0].shape, signature.inputs[2].shape
        image = (self.height, self.width)
        return ((*self.padded_size((weights[1], weights[2]), image, (height, width)), depth),)

    def verify(self, signature: Signature) -> None:
        super().verify(signature)
        if is_packed(signature.inputs[0]):
            raise OperationError("expected gradients of i16")

    def image_sums(self, gradient: Array, weights: Array) -> Array:
        image = (self.height, self.width)
        padded = _windows(self, gradient, weights.shape[1:3], image)
        total = np.zeros((*image, weights.shape[3]))
        for (ky, kx), seen in self.taps(weights.shape[1:3], image):
            total += padded[seen] @ weights[:, ky, kx]
        return total

    def macs(self, signature: Signature) -> int:
        return self.height * self.width * signature.inputs[2].element_count


@operation("transpose_conv_step")
class TransposeConvStep(Conv2DStep):
    """Of weights i16 (O, kernel_h, kernel_w, I); `padding` is what the result was cut by."""

    def pixels(self, signature: Signature) -> int:
        image = signature.inputs[5].shape
        return image[1] * image[2]

    def inner_shapes(self, signature: Signature) -> tuple[Shape, ...]:
        (_, height, width, depth), kept = signature.inputs[1].shape, signature.inputs[0].shape
        image = signature.inputs[5].shape
        size = self.padded_size((kept[1], kept[2]), (image[1], image[2]), (height, width))
        return ((*size, depth),)

    def verify(self, signature: Signature) -> None:
        super().verify(signature)
        if is_packed(signature.inputs[1]):
            raise OperationError("expected gradients of i16")

    def sums(self, gradient: Array, image: Array | None, kept: Shape) -> Array:
        assert image is not None
        kernel, size = (kept[1], kept[2]), (image.shape[0], image.shape[1])
        padded = _windows(self, gradient[:, :, : kept[0]], kernel, size)
        flat = image.reshape(-1, kept[3]).T
        found = np.empty((*kernel, kept[3], kept[0]))
        for (ky, kx), seen in self.taps(kernel, size):
            found[ky, kx] = flat @ padded[seen].reshape(-1, kept[0])
        return found

    def macs(self, signature: Signature) -> int:
        return self.pixels(signature) * signature.inputs[0].element_count
