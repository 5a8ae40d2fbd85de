"""int8 layers whose weights or biases are computed: the portable loops on operands of the arena.

No weights prove a bound, so that it is that of any: 128 times the largest input, a product, and the
range of the biases.
"""

from __future__ import annotations

import numpy as np

from glowmcu.kernels.common.bounds import bound_note, largest_offset_input
from glowmcu.kernels.common.layer_fields import (
    conv_2d_geometry,
    depthwise_geometry,
    is_constant,
    is_int8,
    requantization_arrays,
)
from glowmcu.kernels.common.overlap import (
    Overlaps,
    channel_overlaps,
    matrix_overlaps,
    row_overlaps,
    window_overlaps,
)
from glowmcu.kernels.kernel import Cost, Field, Kernel, KernelCode, Parameters, Site, Target, kernel
from glowmcu.kernels.portable.convolution import depthwise_overlaps
from glowmcu.kernels.portable.transpose_conv import transpose_geometry
from glowmcu.ops.convolution import Conv2D, DepthwiseConv2D
from glowmcu.ops.matmul import FullyConnected
from glowmcu.ops.transpose_conv import TransposeConv2D

#: Of sums, which are doubled.
_SUM_END = 2**30
#: Cycles of a result beside its products.
_EACH_RESULT = 40.0


def any_weights_bound(site: Site) -> int | None:
    """Greatest |accumulator| with any weights; None if nobody knows what the biases can be."""
    products = site.node.macs // max(site.signature.output.element_count, 1)
    biases = site.input_ranges[2] if len(site.input_ranges) > 2 else None
    if biases is None:
        return None
    most = int(np.maximum(np.abs(biases.low), np.abs(biases.high)).max(initial=0))
    return most + products * 128 * largest_offset_input(site.signature.inputs[0])


class _Learnt(Kernel):
    """Any core."""

    each_product = 6.5

    def accepts(self, site: Site, target: Target) -> bool:
        quantization = site.signature.inputs[1].quantization
        if not is_int8(site) or quantization is None or is_constant(site, 1, 2):
            return False
        bound = any_weights_bound(site)
        return bound is not None and bound < _SUM_END

    def cost(self, site: Site, target: Target) -> Cost:
        results = site.signature.output.element_count
        cycles = self.each_product * site.node.macs + _EACH_RESULT * results + 200.0
        return Cost(cycles, 420, 5 * site.signature.output.shape[-1])

    def _code(
        self,
        site: Site,
        header: str,
        struct: str,
        fields: tuple[Field, ...],
        overlaps: Overlaps,
    ) -> KernelCode:
        bound = any_weights_bound(site)
        assert bound is not None
        return KernelCode(
            function=header.removesuffix(".h"),
            operands=(0, 1, 2),
            header=header,
            parameters=Parameters(struct, fields),
            overlaps=overlaps,
            notes=(bound_note(site.node.macs, bound),),
        )


def _end_fields(site: Site, *between: Field) -> tuple[Field, ...]:
    """As structs of int8 layers end, from zero points on; `between` stands behind the clamp."""
    op, x, out = site.node.op, site.signature.inputs[0], site.signature.output
    assert isinstance(op, FullyConnected | Conv2D | DepthwiseConv2D | TransposeConv2D)
    multipliers, shifts = requantization_arrays(op.requantization(site.signature), site)
    clamp = op.clamp_range(site.signature)
    return (
        Field("in_zero_point", x.zero_point),
        Field("out_zero_point", out.zero_point),
        Field("clamp_min", clamp[0]),
        Field("clamp_max", clamp[1]),
        *between,
        Field("multipliers", multipliers),
        Field("shifts", shifts),
    )


#: Members of structs of layers with constants, which are operands here.
_POINTERS = Field("weights", None), Field("bias", None)


_MATRIX, _STRUCT = "glowmcu_fully_connected_learnt.h", "glowmcu_learnt_matrix"


def _matrix(site: Site) -> tuple[Field, ...]:
    """Of a layer that sees each row alone."""
    x, weights, _ = site.signature.inputs
    quantization = weights.quantization
    assert quantization is not None
    # Convolutions have a multiplier for each channel in any case.
    is_one = len(quantization.scales) == 1 and isinstance(site.node.op, FullyConnected)
    return (
        Field("rows", x.element_count // weights.shape[-1]),
        Field("depth_in", weights.shape[-1]),
        Field("depth_out", weights.shape[0]),
        *_end_fields(site, Field("channel_step", int(not is_one))),
    )


def _pairs_of_rows(site: Site) -> Overlaps:
    """Of a matrix's rows: each pair is read until its last result."""
    out = site.signature.output
    return matrix_overlaps(
        site.signature, out.element_count // out.shape[-1], at_once=2, reads_first=False
    )


@kernel("fully_connected.learnt", FullyConnected)
class LearntFullyConnected(_Learnt):
    """Four outputs of two rows at a time."""

    each_product = 2.4

    def accepts(self, site: Site, target: Target) -> bool:
        quantization = site.signature.inputs[1].quantization
        is_centred = quantization is not None and not any(quantization.zero_points)
        return is_centred and super().accepts(site, target)

    def generate(self, site: Site, target: Target) -> KernelCode:
        return self._code(site, _MATRIX, _STRUCT, _matrix(site), _pairs_of_rows(site))


@kernel("conv_2d.learnt_rows", Conv2D)
class LearntPointwise(_Learnt):
    """1x1: pixels are rows."""

    each_product = 2.4

    def accepts(self, site: Site, target: Target) -> bool:
        op, (x, weights, _) = site.node.op, site.signature.inputs
        assert isinstance(op, Conv2D)
        is_matrix = weights.shape[1:] == (1, 1, x.shape[3]) and op.strides == (1, 1)
        return is_matrix and not any(op.padding) and super().accepts(site, target)

    def generate(self, site: Site, target: Target) -> KernelCode:
        return self._code(site, _MATRIX, _STRUCT, _matrix(site), _pairs_of_rows(site))


def _nested(site: Site, struct: str, fields: tuple[Field, ...]) -> tuple[Field, ...]:
    """The struct of a layer with constants in that of one without, which computes all rows."""
    layer = Field("layer", Parameters(struct, fields))
    return layer, Field("out_height", site.signature.output.shape[1])


@kernel("conv_2d.learnt", Conv2D)
class LearntConv2D(_Learnt):
    """Direct convolution, four output channels at a time."""

    def accepts(self, site: Site, target: Target) -> bool:
        return site.signature.output.shape[0] == 1 and super().accepts(site, target)

    def generate(self, site: Site, target: Target) -> KernelCode:
        fields = (*conv_2d_geometry(site), *_end_fields(site, *_POINTERS))
        struct = "glowmcu_learnt_conv_2d"
        nested = _nested(site, "glowmcu_conv_2d", fields)
        op, weights = site.node.op, site.signature.inputs[1]
        assert isinstance(op, Conv2D)
        overlaps = window_overlaps(op, site.signature, weights.shape[1:3])
        return self._code(site, "glowmcu_conv_2d_learnt.h", struct, nested, overlaps)


@kernel("transpose_conv_2d.learnt", TransposeConv2D)
class LearntTransposeConv2D(_Learnt):
    """Each result gathers the input pixels that reach it."""

    def accepts(self, site: Site, target: Target) -> bool:
        return site.signature.output.shape[0] == 1 and super().accepts(site, target)

    def generate(self, site: Site, target: Target) -> KernelCode:
        op, struct = site.node.op, "glowmcu_learnt_transpose_conv"
        assert isinstance(op, TransposeConv2D)
        fields = (*transpose_geometry(site), *_end_fields(site, *_POINTERS))
        nested = _nested(site, "glowmcu_transpose_conv_2d", fields)
        overlaps = row_overlaps(op, site.signature)
        return self._code(site, "glowmcu_transpose_conv_learnt.h", struct, nested, overlaps)


@kernel("depthwise_conv_2d.learnt", DepthwiseConv2D)
class LearntDepthwiseConv2D(_Learnt):
    """One channel at a time over the window."""

    each_product = 28.0

    def accepts(self, site: Site, target: Target) -> bool:
        return site.signature.output.shape[0] == 1 and super().accepts(site, target)

    def generate(self, site: Site, target: Target) -> KernelCode:
        fields = (*depthwise_geometry(site), *_end_fields(site, *_POINTERS))
        struct = "glowmcu_learnt_depthwise_conv_2d"
        nested = _nested(site, "glowmcu_depthwise_conv_2d", fields)
        name = "glowmcu_depthwise_conv_2d_learnt.h"
        return self._code(site, name, struct, nested, depthwise_overlaps(site))


@kernel("depthwise_conv_2d.learnt_fours", DepthwiseConv2D)
class LearntDepthwiseFours(_Learnt):
    """Four channels at a time over the window."""

    each_product = 8.0

    def accepts(self, site: Site, target: Target) -> bool:
        x, out = site.signature.inputs[0].shape, site.signature.output.shape
        is_simple = x[3] == out[3] and x[3] % 4 == 0 and out[0] == 1
        return is_simple and super().accepts(site, target)

    def generate(self, site: Site, target: Target) -> KernelCode:
        out = site.signature.output
        sizes = []
        for each in depthwise_geometry(site):
            if each.name == "out_width":
                sizes.append(Field("out_height", out.shape[1]))
            # One output a channel needs no depth multiplier.
            if each.name != "depth_multiplier":
                name = "channels" if each.name == "in_channels" else each.name
                sizes.append(Field(name, each.value))
        header = "glowmcu_depthwise_fours_learnt.h"
        fields = (*sizes, *_end_fields(site))
        op, weights = site.node.op, site.signature.inputs[1]
        assert isinstance(op, DepthwiseConv2D)
        overlaps = channel_overlaps(op, site.signature, weights.shape[1:3], at_once=4)
        return self._code(site, header, "glowmcu_learnt_depthwise", fields, overlaps)
