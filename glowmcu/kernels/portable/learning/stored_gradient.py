"""Portable kernels of gradients in fixed point on their way back through a layer."""

from __future__ import annotations

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
from glowmcu.ops.stored_gradient import (
    Conv2DInputGradient,
    DepthwiseInputGradient,
    GradientSum,
    InputGradient,
    RequantizationGradient,
    Windowed,
)


def _is_rows(
    op: Windowed, image: tuple[int, ...], out: tuple[int, ...], kernel: tuple[int, ...]
) -> bool:
    """Whether each pixel of the result sees that of the image alone."""
    return kernel == (1, 1) and image[:2] == out[:2] and not any(op.padding)


def windowed_fields(
    op: Windowed, image: tuple[int, int, int], out: tuple[int, int, int], kernel: tuple[int, int]
) -> tuple[Field, ...]:
    """Sizes (height, width, channels) and windows; a layer that sees each pixel alone is a row."""
    sizes = [*image, *out]
    if _is_rows(op, image, out, kernel):
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


@kernel("requantization_gradient.portable", RequantizationGradient)
class PortableRequantizationGradient(Kernel):
    """One element after the other; any core."""

    def accepts(self, site: Site, target: Target) -> bool:
        return is_constant(site, 3)

    def cost(self, site: Site, target: Target) -> Cost:
        shares = site.signature.inputs[3].size_bytes
        return Cost(60.0 + 15.0 * site.signature.output.element_count, 130, 28 + shares)

    def generate(self, site: Site, target: Target) -> KernelCode:
        op, out = site.node.op, site.signature.output
        assert isinstance(op, RequantizationGradient)
        channels, shares = out.shape[-1], constant(site, 3)
        repeats = site.signature.inputs[0].shape != out.shape
        fields = (
            Field("pixels", out.element_count // channels),
            Field("channels", channels),
            Field("gradient_step", 0 if repeats else channels),
            Field("share_step", int(len(shares) > 1)),
            Field("low", -129 if op.low is None else op.low),
            Field("high", 128 if op.high is None else op.high),
            Field("bits", op.bits),
            Field("shares", ConstantArray("shares", shares, "of 2^15")),
        )
        return KernelCode(
            function="glowmcu_requantized_back",
            operands=(0, 1, 2),
            header="glowmcu_requantized_back.h",
            parameters=Parameters("glowmcu_requantized_back_layer", fields),
            # Of two bytes for each that is stored, the last begins where that one lies.
            overlaps={2: Overlap(out.element_count)} | ({} if repeats else {0: Overlap(0)}),
        )


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
        )
        return KernelCode(
            function="glowmcu_gradient_sum",
            operands=(0, 1, 2, 3),
            header="glowmcu_gradient_sum.h",
            parameters=Parameters("glowmcu_gradient_sum_layer", fields),
            overlaps={0: Overlap(0), 2: Overlap(0)},
        )


def _overlap(op: InputGradient, gradient: TensorType, weights: TensorType, out: TensorType) -> int:
    """How far below the gradient the result may begin: a row is written after all windows that it
    and those behind it need, two pixels after theirs where each sees one window.
    """
    _, height, width, channels = out.shape
    of_pixel, of_row = 2 * gradient.shape[3], 2 * gradient.shape[2] * gradient.shape[3]
    if _is_rows(op, out.shape[1:], gradient.shape[1:], weights.shape[1:3]):
        pairs = range(0, height * width, 2)
        return max(
            2 * channels * min(first + 2, height * width) - of_pixel * first for first in pairs
        )
    extent, gap = (weights.shape[1] - 1) * op.dilations[0], 0
    for row in range(height):
        first = max(0, -(-(row + op.padding[0] - extent) // op.strides[0]))
        end = 2 * channels * width * (row + 1)
        gap = max(gap, end - of_row * min(first, gradient.shape[1]))
    return gap


class _InputGradientKernel(Kernel):
    """Any core; weights from the arena or from flash."""

    function = ""

    def cost(self, site: Site, target: Target) -> Cost:
        weights = site.signature.inputs[2].element_count
        flash = 0 if site.constants[2] is None else weights
        cycles = 4.0 * site.node.macs + 40.0 * site.signature.output.element_count + 7.0 * weights
        return Cost(cycles, 460, 60 + flash)

    def generate(self, site: Site, target: Target) -> KernelCode:
        op, (gradient, _, weights) = site.node.op, site.signature.inputs
        assert isinstance(op, InputGradient)
        image, out = site.signature.output.shape[1:], gradient.shape[1:]
        sizes = (image[0], image[1], image[2]), (out[0], out[1], out[2])
        kernel_size = weights.shape[1], weights.shape[2]
        fields = (*windowed_fields(op, *sizes, kernel_size), Field("bits", op.bits))
        return KernelCode(
            function=self.function,
            operands=(0, 1, 2),
            header=f"{self.function}.h",
            parameters=Parameters("glowmcu_input_gradient", fields),
            overlaps={0: Overlap(_overlap(op, gradient, weights, site.signature.output))},
        )


@kernel("conv_2d_input_gradient.portable", Conv2DInputGradient)
class PortableConv2DInputGradient(_InputGradientKernel):
    """Four input channels at a time, numbers that are 0 passed over."""

    function = "glowmcu_conv_2d_back"


@kernel("depthwise_input_gradient.portable", DepthwiseInputGradient)
class PortableDepthwiseInputGradient(_InputGradientKernel):
    """One channel at a time."""

    function = "glowmcu_depthwise_back"
