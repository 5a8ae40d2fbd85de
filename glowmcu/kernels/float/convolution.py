"""Float conv_2d and matrix products on cores with an FPU: constants in the order of the loops."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from glowmcu.ir.operation import Array
from glowmcu.kernels.common.layer_fields import (
    clamping_fields,
    constant,
    is_constant,
    is_float,
    size_fields,
)
from glowmcu.kernels.common.overlap import Overlaps
from glowmcu.kernels.float.int8_weights import (
    int8_weights,
    is_worth_int8,
    packed_int8_blocks,
    packed_int8_bytes,
)
from glowmcu.kernels.float.windows import (
    image_overlaps,
    image_windows,
    inside_fields,
    last_channels,
    packed_blocks,
    packed_bytes,
    vector_overlaps,
    vector_work,
    window_products,
)
from glowmcu.kernels.kernel import (
    Cost,
    Field,
    Kernel,
    KernelCode,
    Parameters,
    Site,
    Target,
    kernel,
    once_a_site,
)
from glowmcu.ops.convolution import Conv2D, DepthwiseConv2D

#: Of a product in C on a Cortex-M3, with the conversion of its weight; bytes without the library.
_LIBRARY_CYCLES, _LIBRARY_CODE = 122.0, 900


def conv_2d(site: Site) -> Conv2D:
    """The site's operator."""
    op = site.node.op
    assert isinstance(op, Conv2D)
    return op


def has_constants(site: Site) -> bool:
    """Whether a float layer's weights and biases are known numbers, so that they can be packed.

    What is not a number is for the portable kernels: see `glowmcu_clamps_now` in glowmcu_fpu.h.
    """
    known = is_float(site) and is_constant(site, 1, 2)
    return known and not any(np.isnan(constant(site, operand)).any() for operand in (1, 2))


def packs(site: Site, target: Target) -> bool:
    """Whether a float layer's constants can be packed for the core's float registers."""
    return target.core.has_fpu and has_constants(site)


@once_a_site
def has_int8_weights(site: Site) -> bool:
    """Whether a float layer's weights are int8 times a scale a channel.

    Not `int8_weights` itself is remembered: codes and scales are as large as the weights.
    """
    if not has_constants(site):
        return False
    weights = rows_of_weights(site)
    return is_worth_int8(weights) and int8_weights(weights) is not None


def rows_of_weights(site: Site) -> Array:
    """Operand 1, a row for each channel of the result; a depthwise layer has them as columns."""
    weights = constant(site, 1)
    if isinstance(site.node.op, DepthwiseConv2D):
        return weights.reshape(-1, weights.shape[-1]).T
    return weights.reshape(len(weights), -1)


def is_matrix(site: Site) -> bool:
    """Whether each pixel of the result is made of the pixel in its place."""
    op, weights = conv_2d(site), site.signature.inputs[1].shape
    return weights[1:3] == (1, 1) and op.strides == (1, 1) and not any(op.padding)


@kernel("conv_2d.matrix_f32", Conv2D)
class MatrixF32(Kernel):
    """1x1: pixels are vectors, two at a time; any core with an FPU."""

    function = "glowmcu_matrix_f32"
    packed, packed_bytes = staticmethod(packed_blocks), staticmethod(packed_bytes)

    def accepts(self, site: Site, target: Target) -> bool:
        return packs(site, target) and self._has_its_shape(site)

    def _has_its_shape(self, site: Site) -> bool:
        x, weights = site.signature.inputs[0].shape, site.signature.inputs[1].shape
        return x[3] == weights[3] and is_matrix(site)

    def work(self, site: Site, target: Target) -> dict[str, float]:
        batches, height, width, channels = site.signature.output.shape
        depth = site.signature.inputs[0].shape[3]
        return vector_work(batches * height * width, depth, channels, conv_2d(site).clamp)

    def flash_bytes(self, site: Site, target: Target) -> int:
        return self.packed_bytes(site.signature.output.shape[3], site.signature.inputs[0].shape[3])

    def generate(self, site: Site, target: Target) -> KernelCode:
        x, out = site.signature.inputs[0], site.signature.output
        fields = (
            Field("vectors", out.shape[2]),
            Field("depth_in", x.shape[3]),
            Field("depth_out", out.shape[3]),
            *clamping_fields(conv_2d(site).clamp),
            Field("weights", self.packed(rows_of_weights(site), constant(site, 2))),
        )
        return self.code(site, "glowmcu_matrix_real", fields)

    def code(self, site: Site, struct: str, fields: tuple[Field, ...]) -> KernelCode:
        """The function of these kernels, with its parameters in `struct`."""
        out, function = site.signature.output, self.function_of(site)
        return KernelCode(
            function=function,
            operands=(0,),
            header=f"{function}.h",
            parameters=Parameters(struct, fields),
            rows=out.shape[1],
            batches=out.shape[0],
            overlaps=self.overlaps(site) if out.shape[0] == 1 else {},
        )

    def function_of(self, site: Site) -> str:
        """The function that computes the layer."""
        return self.function

    def overlaps(self, site: Site) -> Overlaps:
        """Of one image."""
        _, height, width, channels = site.signature.output.shape
        return vector_overlaps(site.signature, height * width, last_channels(channels))


@kernel("conv_2d.packed_f32", Conv2D)
class PackedF32(Kernel):
    """Two pixels by eight channels straight from the image; any core with an FPU."""

    function = "glowmcu_conv_2d_packed_f32"
    packed, packed_bytes = staticmethod(packed_blocks), staticmethod(packed_bytes)

    def accepts(self, site: Site, target: Target) -> bool:
        return packs(site, target) and self._has_its_shape(site)

    def _has_its_shape(self, site: Site) -> bool:
        if is_matrix(site):
            return False
        x, weights = site.signature.inputs[0].shape, site.signature.inputs[1].shape
        together = conv_2d(site).dilations[1] == 1 or weights[2] == 1
        return x[3] == weights[3] and together

    def work(self, site: Site, target: Target) -> dict[str, float]:
        op, (x, weights, _) = conv_2d(site), site.signature.inputs
        out = site.signature.output.shape
        pairs, singles = image_windows(op, site.signature, weights.shape[1:3], x.shape[3])
        return window_products(out[3], op.clamp, pairs, singles)

    def flash_bytes(self, site: Site, target: Target) -> int:
        channels, *window = site.signature.inputs[1].shape
        return self.packed_bytes(channels, int(np.prod(window)))

    def generate(self, site: Site, target: Target) -> KernelCode:
        op, weights, out = conv_2d(site), site.signature.inputs[1], site.signature.output
        fields = (
            *size_fields(site),
            Field("stride_y", op.strides[0]),
            Field("stride_x", op.strides[1]),
            Field("dilation_y", op.dilations[0]),
            Field("pad_top", op.padding[0]),
            Field("pad_left", op.padding[1]),
            *inside_fields(op, site.signature, weights.shape[1:3]),
            *clamping_fields(op.clamp),
            Field("weights", self.packed(rows_of_weights(site), constant(site, 2))),
        )
        return KernelCode(
            function=self.function,
            operands=(0,),
            header=f"{self.function}.h",
            parameters=Parameters("glowmcu_conv_2d_packed_real", fields),
            rows=out.shape[1],
            batches=out.shape[0],
            overlaps=self.overlaps(site),
        )

    def overlaps(self, site: Site) -> Overlaps:
        """Of one image; nothing of several."""
        kernel, channels = site.signature.inputs[1].shape[1:3], site.signature.output.shape[3]
        return image_overlaps(conv_2d(site), site.signature, kernel, last_channels(channels))


def int8_weights_cost(cost: Cost, site: Site, target: Target) -> Cost:
    """`cost`, but that of the C if there is no FPU: most of it is in the compiler's library."""
    if target.core.has_fpu:
        return cost
    cycles = _LIBRARY_CYCLES * site.node.macs
    return replace(cost, cycles=cycles, code_bytes=_LIBRARY_CODE, is_guess=False)


@kernel("conv_2d.matrix_w8_f32", Conv2D)
class MatrixW8F32(MatrixF32):
    """1x1 with int8 weights of a float model, which become floats in registers; any core."""

    keeps_int8_weights = True
    function = "glowmcu_matrix_w8_f32"
    packed, packed_bytes = staticmethod(packed_int8_blocks), staticmethod(packed_int8_bytes)

    def accepts(self, site: Site, target: Target) -> bool:
        return is_float(site) and self._has_its_shape(site) and has_int8_weights(site)

    def cost(self, site: Site, target: Target) -> Cost:
        return int8_weights_cost(super().cost(site, target), site, target)


@kernel("conv_2d.packed_w8_f32", Conv2D)
class PackedW8F32(PackedF32):
    """Windows with int8 weights of a float model, which become floats in registers; any core."""

    keeps_int8_weights = True
    function = "glowmcu_conv_2d_w8_f32"
    packed, packed_bytes = staticmethod(packed_int8_blocks), staticmethod(packed_int8_bytes)

    def accepts(self, site: Site, target: Target) -> bool:
        return is_float(site) and self._has_its_shape(site) and has_int8_weights(site)

    def cost(self, site: Site, target: Target) -> Cost:
        return int8_weights_cost(super().cost(site, target), site, target)
