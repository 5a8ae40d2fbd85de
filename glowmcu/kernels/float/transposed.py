"""Float transpose_conv_2d with int8 weights: see glowmcu_transpose_conv_2d_w8_f32.h."""

from __future__ import annotations

from dataclasses import replace

from glowmcu.kernels.common.layer_fields import constant
from glowmcu.kernels.float.convolution import has_int8_weights, rows_of_weights
from glowmcu.kernels.float.int8_weights import int8_weights
from glowmcu.kernels.kernel import (
    ConstantArray,
    Cost,
    Field,
    KernelCode,
    Parameters,
    Site,
    Target,
    kernel,
)
from glowmcu.kernels.portable.transpose_conv import FloatTransposeConv2D
from glowmcu.ops.transpose_conv import TransposeConv2D

#: Of a weight that becomes float, with an FPU and without one.
_CONVERSION = 3.0, 30.0


@kernel("transpose_conv_2d.w8_f32", TransposeConv2D)
class TransposeConv2DW8F32(FloatTransposeConv2D):
    """Each result gathers the input pixels that reach it, weights become floats; any core."""

    keeps_int8_weights = True

    def accepts(self, site: Site, target: Target) -> bool:
        return super().accepts(site, target) and has_int8_weights(site)

    def cost(self, site: Site, target: Target) -> Cost:
        cost, channels = super().cost(site, target), site.signature.output.shape[3]
        conversion = _CONVERSION[0 if target.core.has_fpu else 1]
        constants = site.signature.inputs[1].element_count + 8 * channels
        cycles = cost.cycles + conversion * site.node.macs
        return replace(cost, cycles=cycles, flash_bytes=constants)

    def generate(self, site: Site, target: Target) -> KernelCode:
        code, found = super().generate(site, target), int8_weights(rows_of_weights(site))
        assert found is not None, "the kernel accepts int8 weights only"
        assert code.parameters is not None
        codes, scales = found
        fields = (
            Field("layer", code.parameters),
            Field("weights", ConstantArray("weights", codes.reshape(-1), "int8, OHWI")),
            Field("scales", ConstantArray("scales", scales)),
            Field("bias", ConstantArray("bias", constant(site, 2))),
        )
        return replace(
            code,
            function="glowmcu_transpose_conv_2d_w8_f32",
            operands=(0,),
            header="glowmcu_transpose_conv_2d_w8_f32.h",
            parameters=Parameters("glowmcu_transpose_conv_2d_w8_real", fields),
            whole_operands=(),
        )
