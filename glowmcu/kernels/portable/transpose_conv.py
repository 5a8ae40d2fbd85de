"""Portable kernels of transpose_conv_2d."""

from __future__ import annotations

import numpy as np

from glowmcu.kernels.common.bounds import accumulator_bound, bound_note
from glowmcu.kernels.common.layer_fields import (
    clamping_fields,
    constant,
    constant_bytes,
    conv_2d_geometry,
    int8_fields,
    is_constant,
    is_float,
    is_int8,
)
from glowmcu.kernels.common.overlap import row_overlaps
from glowmcu.kernels.kernel import (
    Cost,
    Field,
    Kernel,
    KernelCode,
    Parameters,
    Site,
    Target,
    kernel,
)
from glowmcu.ops.transpose_conv import TransposeConv2D


def transpose_geometry(site: Site) -> tuple[Field, ...]:
    """Sizes, strides and padding, as the structs of quantized transpose_conv_2d begin."""
    op, (x, weights, _), out = site.node.op, site.signature.inputs, site.signature.output
    assert isinstance(op, TransposeConv2D)
    return (
        Field("in_height", x.shape[1]),
        Field("in_width", x.shape[2]),
        Field("in_channels", x.shape[3]),
        Field("out_width", out.shape[2]),
        Field("out_channels", out.shape[3]),
        Field("kernel_height", weights.shape[1]),
        Field("kernel_width", weights.shape[2]),
        Field("stride_y", op.strides[0]),
        Field("stride_x", op.strides[1]),
        Field("pad_top", op.padding[0]),
        Field("pad_left", op.padding[1]),
    )


def reaching_taps(size: int, kernel: int, stride: int, padding: int, result: int) -> int:
    """Along an axis: how many pairs of an input and a tap reach the result."""
    places = np.add.outer(np.arange(size) * stride, np.arange(kernel)) - padding
    return int(np.count_nonzero((places >= 0) & (places < result)))


@kernel("transpose_conv_2d.portable", TransposeConv2D)
class PortableTransposeConv2D(Kernel):
    """Each result gathers the input pixels that reach it: no int32 image as scratch; any core."""

    def accepts(self, site: Site, target: Target) -> bool:
        return is_constant(site, 1, 2) and is_int8(site)

    def work(self, site: Site, target: Target) -> dict[str, float]:
        op, (x, weights, _), out = site.node.op, site.signature.inputs, site.signature.output
        assert isinstance(op, TransposeConv2D)
        rows, columns = (
            reaching_taps(x.shape[axis], weights.shape[axis], op.strides[axis - 1],
                          op.padding[axis - 1], out.shape[axis])
            for axis in (1, 2)
        )  # fmt: skip
        fours, ones = divmod(out.shape[3], 4)
        taps = x.shape[0] * rows * columns
        pixels = x.shape[0] * out.shape[1] * out.shape[2]
        return {
            "call": 1.0,
            "pixel": pixels,
            "output": pixels * out.shape[3],
            "loop of four": taps * fours,
            "loop of one": taps * ones,
            "step of four": taps * fours * x.shape[3],
            "step of one": taps * ones * x.shape[3],
        }

    def flash_bytes(self, site: Site, target: Target) -> int:
        return site.signature.inputs[1].size_bytes + 9 * site.signature.output.shape[3]

    def generate(self, site: Site, target: Target) -> KernelCode:
        op = site.node.op
        assert isinstance(op, TransposeConv2D)
        x, out = site.signature.inputs[0], site.signature.output
        weights, bias = constant(site, 1), constant(site, 2)
        bound = accumulator_bound(site, weights.reshape(weights.shape[0], -1), bias)
        fields = (
            *transpose_geometry(site),
            *int8_fields(site, "OHWI"),
        )
        return KernelCode(
            function="glowmcu_transpose_conv_2d_s8",
            operands=(0,),
            header="glowmcu_transpose_conv_2d.h",
            parameters=Parameters("glowmcu_transpose_conv_2d", fields),
            rows=out.shape[1],
            batches=x.shape[0],
            overlaps=row_overlaps(op, site.signature),
            notes=(bound_note(site.node.macs, bound),),
        )


@kernel("transpose_conv_2d.portable_f32", TransposeConv2D)
class FloatTransposeConv2D(Kernel):
    """Each result gathers the input pixels that reach it; any core."""

    def accepts(self, site: Site, target: Target) -> bool:
        return is_float(site)

    def cost(self, site: Site, target: Target) -> Cost:
        pixels = site.signature.output.element_count // site.signature.output.shape[3]
        taps = site.signature.inputs[1].shape[1] * site.signature.inputs[1].shape[2]
        cycles_per_mac = 8.0 if target.core.has_fpu else 120.0
        cycles = cycles_per_mac * site.node.macs + 20.0 * pixels * taps
        return Cost(cycles, 420, constant_bytes(site))

    def generate(self, site: Site, target: Target) -> KernelCode:
        op = site.node.op
        assert isinstance(op, TransposeConv2D)
        x, out = site.signature.inputs[0], site.signature.output
        fields = (
            *conv_2d_geometry(site),
            *clamping_fields(op.clamp),
        )
        return KernelCode(
            function="glowmcu_transpose_conv_2d_f32",
            operands=(0, 1, 2),
            header="glowmcu_transpose_conv_2d_f32.h",
            parameters=Parameters("glowmcu_transpose_conv_2d_real", fields),
            rows=out.shape[1],
            batches=x.shape[0],
            overlaps=row_overlaps(op, site.signature),
            whole_operands=(1, 2),
        )
