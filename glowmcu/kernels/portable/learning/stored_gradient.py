"""Portable kernels of gradients in fixed point on their way back through a layer."""

from __future__ import annotations

import math

from glowmcu.ir.kernel_code import Overlap
from glowmcu.ir.types import TensorType
from glowmcu.kernels.common.layer_fields import constant, is_constant
from glowmcu.kernels.kernel import (
    ConstantArray,
    Cost,
    Field,
    Kernel,
    KernelCode,
    Parameters,
    Site,
    Target,
    kernel,
)
from glowmcu.ops.block_gradient import is_packed, numbers_shape
from glowmcu.ops.stored_gradient import (
    Conv2DInputGradient,
    DepthwiseInputGradient,
    GradientProduct,
    GradientSum,
    InputGradient,
    RequantizationGradient,
    Windowed,
)
from glowmcu.ops.transpose_conv_gradient import TransposeConvInputGradient


def is_rows(
    op: Windowed, image: tuple[int, ...], out: tuple[int, ...], kernel: tuple[int, ...]
) -> bool:
    """Whether each pixel of the result sees that of the image alone."""
    return kernel == (1, 1) and image[:2] == out[:2] and not any(op.padding)


def windowed_fields(
    op: Windowed, image: tuple[int, int, int], out: tuple[int, int, int], kernel: tuple[int, int]
) -> tuple[Field, ...]:
    """Sizes (height, width, channels) and windows; a layer that sees each pixel alone is a row."""
    sizes = [*image, *out]
    if is_rows(op, image, out, kernel):
        pixels = image[0] * image[1]
        sizes = [1, pixels, image[2], 1, pixels, out[2]]
    names = ("in_height", "in_width", "in_channels", "out_height", "out_width", "out_channels")
    return (
        *(Field(name, size) for name, size in zip(names, sizes, strict=True)),
        Field("kernel_height", kernel[0]),
        Field("kernel_width", kernel[1]),
        Field("stride_y", op.strides[0]),
        Field("stride_x", op.strides[1]),
        Field("dilation_y", op.dilations[0]),
        Field("dilation_x", op.dilations[1]),
        Field("pad_top", op.padding[0]),
        Field("pad_left", op.padding[1]),
    )


#: By whether the gradient is packed, and the result.
_REQUANTIZING = {
    (False, False): "glowmcu_requantized_back",
    (False, True): "glowmcu_requantized_to_packed",
    (True, True): "glowmcu_requantized_packed",
    (True, False): "glowmcu_requantized_from_packed",
}


@kernel("requantization_gradient.portable", RequantizationGradient)
class PortableRequantizationGradient(Kernel):
    """One element after the other; any core."""

    def accepts(self, site: Site, target: Target) -> bool:
        return is_constant(site, 3)

    def cost(self, site: Site, target: Target) -> Cost:
        shares = site.signature.inputs[3].size_bytes
        reads, writes = _packing(site)
        each = 25.0 + 8.0 * reads + 11.0 * writes
        cycles = 60.0 + each * site.signature.output.element_count
        return Cost(cycles, 130, 28 + shares, _row_bytes(site))

    def generate(self, site: Site, target: Target) -> KernelCode:
        op, gradient, out = site.node.op, site.signature.inputs[0], site.signature.output
        assert isinstance(op, RequantizationGradient)
        shape, shares = numbers_shape(out), constant(site, 3)
        channels, repeats = shape[-1], numbers_shape(gradient) != shape
        pixels = math.prod(shape[:-1])
        fields = (
            Field("pixels", pixels),
            Field("channels", channels),
            Field("gradient_step", 0 if repeats else channels),
            Field("share_step", int(len(shares) > 1)),
            Field("low", -129 if op.low is None else op.low),
            Field("high", 128 if op.high is None else op.high),
            Field("bits", op.bits),
            Field("shares", ConstantArray("shares", shares, "of 2^15")),
        )
        is_plain = not any(_packing(site))
        written, read = out.size_bytes, gradient.size_bytes
        # All that is read of a pixel, or an element, is read before what it gives is written; of
        # more bytes than that the last begin where what is read does.
        overlaps = {2: Overlap(written - pixels * channels)}
        if not repeats:
            overlaps[0] = Overlap(max(written - read, 0))
        return KernelCode(
            function=_REQUANTIZING[_packing(site)],
            operands=(0, 1, 2),
            header="glowmcu_requantized_back.h" if is_plain else "glowmcu_requantized_packed.h",
            parameters=Parameters("glowmcu_requantized_back_layer", fields),
            overlaps=overlaps,
            scratch_bytes=_row_bytes(site),
        )


def _packing(site: Site) -> tuple[bool, bool]:
    """Whether the gradient is packed, and the result."""
    return is_packed(site.signature.inputs[0]), is_packed(site.signature.output)


def _row_bytes(site: Site) -> int:
    """Scratch: an int16 for each channel, where something is packed."""
    return 2 * numbers_shape(site.signature.output)[-1] if any(_packing(site)) else 0


@kernel("gradient_sum.portable", GradientSum)
class PortableGradientSum(Kernel):
    """One element after the other; any core."""

    def cost(self, site: Site, target: Target) -> Cost:
        return Cost(60.0 + 18.0 * site.signature.output.element_count, 140, 12)

    def generate(self, site: Site, target: Target) -> KernelCode:
        op = site.node.op
        assert isinstance(op, GradientSum)
        fields = (
            Field("count", site.signature.output.element_count),
            Field("share_a", op.share_a),
            Field("share_b", op.share_b),
            Field("power_a", op.power_a),
            Field("power_b", op.power_b),
        )
        return KernelCode(
            function="glowmcu_gradient_sum",
            operands=(0, 1, 2, 3),
            header="glowmcu_gradient_sum.h",
            parameters=Parameters("glowmcu_gradient_sum_layer", fields),
            overlaps={0: Overlap(0), 2: Overlap(0)},
        )


@kernel("gradient_product.portable", GradientProduct)
class PortableGradientProduct(Kernel):
    """One element after the other; any core."""

    def cost(self, site: Site, target: Target) -> Cost:
        return Cost(60.0 + 14.0 * site.signature.output.element_count, 90, 4)

    def generate(self, site: Site, target: Target) -> KernelCode:
        fields = (Field("count", site.signature.output.element_count),)
        return KernelCode(
            function="glowmcu_gradient_product",
            operands=(0, 1, 2),
            header="glowmcu_gradient_product.h",
            parameters=Parameters("glowmcu_gradient_product_layer", fields),
            overlaps={0: Overlap(0), 2: Overlap(0)},
        )


def _overlap(op: InputGradient, gradient: TensorType, weights: TensorType, out: TensorType) -> int:
    """How far below the gradient the result may begin: a row is written after all windows that it
    and those behind it need, two pixels after theirs where each sees one window.
    """
    _, height, width, _ = out.shape
    of_pixel, made = _pixel_bytes(gradient), _pixel_bytes(out)
    of_row = of_pixel * gradient.shape[2]
    if is_rows(op, numbers_shape(out)[1:], numbers_shape(gradient)[1:], weights.shape[1:3]):
        pairs = range(0, height * width, 2)
        return max(made * min(first + 2, height * width) - of_pixel * first for first in pairs)
    extent, gap = (weights.shape[1] - 1) * op.dilations[0], 0
    for row in range(height):
        first = max(0, -(-(row + op.padding[0] - extent) // op.strides[0]))
        end = made * width * (row + 1)
        gap = max(gap, end - of_row * min(first, gradient.shape[1]))
    return gap


def _pixel_bytes(type_: TensorType) -> int:
    return type_.shape[3] * type_.element.size_bytes


class _InputGradientKernel(Kernel):
    """Any core; weights from the arena or from flash."""

    #: Of int16, and of packed numbers.
    headers = "", ""
    each_product = 3.0

    def cost(self, site: Site, target: Target) -> Cost:
        weights = site.signature.inputs[2].element_count
        flash = 0 if site.constants[2] is None else weights
        each = 14.0 + 21.0 * is_packed(site.signature.output)
        cycles = self.each_product * site.node.macs + each * site.signature.output.element_count
        return Cost(cycles + 7.0 * weights, 460, 60 + flash, self._scratch_bytes(site))

    def accepts(self, site: Site, target: Target) -> bool:
        op, (gradient, _, weights) = site.node.op, site.signature.inputs
        out = site.signature.output
        assert isinstance(op, InputGradient)
        if is_packed(gradient) is not is_packed(out):
            return False
        sizes = numbers_shape(out)[1:], numbers_shape(gradient)[1:]
        return not is_packed(out) or self._packs(op, *sizes, weights.shape[1:3])

    def _packs(
        self, op: InputGradient, image: tuple[int, ...], out: tuple[int, ...],
        window: tuple[int, ...],
    ) -> bool:  # fmt: skip
        """Whether there is a function for packed gradients of this shape."""
        raise AssertionError(f"{type(self).__name__} says nothing of packed gradients")

    def _scratch_bytes(self, site: Site) -> int:
        gradient, out = site.signature.inputs[0], site.signature.output
        if not is_packed(out):
            return 0
        return self._packed_scratch(numbers_shape(gradient)[-1], numbers_shape(out)[-1])

    def _packed_scratch(self, outputs: int, inputs: int) -> int:
        raise AssertionError(f"{type(self).__name__} has no scratch")

    def generate(self, site: Site, target: Target) -> KernelCode:
        op, (gradient, _, weights) = site.node.op, site.signature.inputs
        assert isinstance(op, InputGradient)
        image, out = numbers_shape(site.signature.output)[1:], numbers_shape(gradient)[1:]
        sizes = (image[0], image[1], image[2]), (out[0], out[1], out[2])
        kernel_size = weights.shape[1], weights.shape[2]
        fields = (*windowed_fields(op, *sizes, kernel_size), Field("bits", op.bits))
        header = self.headers[is_packed(gradient)]
        return KernelCode(
            function=header.removesuffix(".h"),
            operands=(0, 1, 2),
            header=header,
            parameters=Parameters("glowmcu_input_gradient", fields),
            overlaps=self._overlaps(site),
            scratch_bytes=self._scratch_bytes(site),
        )

    def _overlaps(self, site: Site) -> dict[int, Overlap]:
        op, (gradient, _, weights) = site.node.op, site.signature.inputs
        assert isinstance(op, InputGradient)
        return {0: Overlap(_overlap(op, gradient, weights, site.signature.output))}


@kernel("conv_2d_input_gradient.portable", Conv2DInputGradient)
class PortableConv2DInputGradient(_InputGradientKernel):
    """Two input channels at a time, with DSP instructions four."""

    headers = "glowmcu_conv_2d_back.h", "glowmcu_conv_2d_back_packed.h"

    def _packs(
        self, op: InputGradient, image: tuple[int, ...], out: tuple[int, ...],
        window: tuple[int, ...],
    ) -> bool:  # fmt: skip
        return op.strides == (1, 1) and is_rows(op, image, out, window)

    def _packed_scratch(self, outputs: int, inputs: int) -> int:
        return 4 * (outputs + inputs)


@kernel("transpose_conv_input_gradient.portable", TransposeConvInputGradient)
class PortableTransposeConvInputGradient(_InputGradientKernel):
    """Two input channels at a time, with DSP instructions four."""

    headers = "glowmcu_transpose_conv_back.h", ""

    def _overlaps(self, site: Site) -> dict[int, Overlap]:
        return {}


@kernel("depthwise_input_gradient.portable", DepthwiseInputGradient)
class PortableDepthwiseInputGradient(_InputGradientKernel):
    """Four channels at a time; of packed gradients all, tap by tap."""

    headers = "glowmcu_depthwise_back.h", "glowmcu_depthwise_back_packed.h"
    each_product = 8.0

    def _packs(
        self, op: InputGradient, image: tuple[int, ...], out: tuple[int, ...],
        window: tuple[int, ...],
    ) -> bool:  # fmt: skip
        return image[2] == out[2]

    def _packed_scratch(self, outputs: int, inputs: int) -> int:
        return 6 * inputs
