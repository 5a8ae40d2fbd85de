"""Float conv_2d and matrix products on cores with an FPU: constants in the order of the loops."""

from __future__ import annotations

import numpy as np

from glowmcu.kernels.convolution import constant, is_constant, is_float
from glowmcu.kernels.kernel import (
    ConstantArray,
    Field,
    Kernel,
    KernelCode,
    Parameters,
    Site,
    Target,
    kernel,
)
from glowmcu.kernels.window_f32 import (
    clamping_fields,
    image_windows,
    inside_columns,
    last_channels,
    packed_blocks,
    packed_bytes,
    pair_overlaps,
    vector_overlaps,
    vector_work,
    window_products,
)
from glowmcu.ops.convolution import Conv2D


def conv_2d(site: Site) -> Conv2D:
    """The site's operator."""
    op = site.node.op
    assert isinstance(op, Conv2D)
    return op


def packs(site: Site, target: Target) -> bool:
    """Whether a float layer's constants can be packed for the core's float registers."""
    return target.core.has_fpu and is_float(site) and is_constant(site, 1, 2)


def is_matrix(site: Site) -> bool:
    """Whether each pixel of the result is made of the pixel in its place."""
    op, weights = conv_2d(site), site.signature.inputs[1].shape
    return weights[1:3] == (1, 1) and op.strides == (1, 1) and not any(op.padding)


@kernel("conv_2d.matrix_f32", Conv2D)
class MatrixF32(Kernel):
    """1x1: pixels are vectors, two at a time; any core with an FPU."""

    def accepts(self, site: Site, target: Target) -> bool:
        x, weights = site.signature.inputs[0].shape, site.signature.inputs[1].shape
        return packs(site, target) and x[3] == weights[3] and is_matrix(site)

    def work(self, site: Site, target: Target) -> dict[str, float]:
        batches, height, width, channels = site.signature.output.shape
        depth = site.signature.inputs[0].shape[3]
        return vector_work(batches * height * width, depth, channels, conv_2d(site).clamp)

    def flash_bytes(self, site: Site, target: Target) -> int:
        return packed_bytes(site.signature.output.shape[3], site.signature.inputs[0].shape[3])

    def generate(self, site: Site, target: Target) -> KernelCode:
        x, out = site.signature.inputs[0], site.signature.output
        vectors = out.shape[1] * out.shape[2]
        fields = (
            Field("vectors", out.shape[2]),
            Field("depth_in", x.shape[3]),
            Field("depth_out", out.shape[3]),
            *clamping_fields(conv_2d(site).clamp),
            Field("weights", packed_weights(site)),
        )
        return KernelCode(
            function="glowmcu_matrix_f32",
            operands=(0,),
            header="glowmcu_matrix_f32.h",
            parameters=Parameters("glowmcu_matrix_real", fields),
            rows=out.shape[1],
            batches=out.shape[0],
            overlaps=vector_overlaps(site.signature, vectors) if out.shape[0] == 1 else {},
        )


@kernel("conv_2d.packed_f32", Conv2D)
class PackedF32(Kernel):
    """Two pixels by eight channels straight from the image; any core with an FPU."""

    def accepts(self, site: Site, target: Target) -> bool:
        if not packs(site, target) or is_matrix(site):
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
        return packed_bytes(channels, int(np.prod(window)))

    def generate(self, site: Site, target: Target) -> KernelCode:
        op, (x, weights, _) = conv_2d(site), site.signature.inputs
        out = site.signature.output
        inside = inside_columns(op, site.signature, weights.shape[1:3])
        fields = (
            Field("in_height", x.shape[1]),
            Field("in_width", x.shape[2]),
            Field("in_channels", x.shape[3]),
            Field("out_width", out.shape[2]),
            Field("out_channels", out.shape[3]),
            Field("kernel_height", weights.shape[1]),
            Field("kernel_width", weights.shape[2]),
            Field("stride_y", op.strides[0]),
            Field("stride_x", op.strides[1]),
            Field("dilation_y", op.dilations[0]),
            Field("pad_top", op.padding[0]),
            Field("pad_left", op.padding[1]),
            Field("inside_first", inside[0]),
            Field("inside_end", inside[1]),
            *clamping_fields(op.clamp),
            Field("weights", packed_weights(site)),
        )
        return KernelCode(
            function="glowmcu_conv_2d_packed_f32",
            operands=(0,),
            header="glowmcu_conv_2d_packed_f32.h",
            parameters=Parameters("glowmcu_conv_2d_packed_real", fields),
            rows=out.shape[1],
            batches=out.shape[0],
            overlaps=pair_overlaps(
                op, site.signature, weights.shape[1:3], last_channels(out.shape[3])
            ),
        )


def packed_weights(site: Site) -> ConstantArray:
    """All output channels' windows in the loops' order."""
    weights = constant(site, 1)
    return packed_blocks(weights.reshape(len(weights), -1), constant(site, 2))
