"""Portable kernel of `max_pool_gradient`."""

from __future__ import annotations

from glowmcu.kernels.kernel import Cost, Field, Kernel, KernelCode, Parameters, Site, Target, kernel
from glowmcu.ops.pooling_gradient import MaxPoolGradient


@kernel("max_pool_gradient.portable", MaxPoolGradient)
class PortableMaxPoolGradient(Kernel):
    """Looks for the greatest element of each window once more; any core."""

    def cost(self, site: Site, target: Target) -> Cost:
        op, (gradient, _, image) = site.node.op, site.signature.inputs
        assert isinstance(op, MaxPoolGradient)
        taps = op.kernel[0] * op.kernel[1]
        cycles = gradient.element_count * (40.0 + 9.0 * taps) + 8.0 * image.element_count
        return Cost(cycles, 330, 60)

    def generate(self, site: Site, target: Target) -> KernelCode:
        op, (gradient, _, image) = site.node.op, site.signature.inputs
        assert isinstance(op, MaxPoolGradient)
        sizes = {
            "in_height": image.shape[1], "in_width": image.shape[2], "channels": image.shape[3],
            "out_height": gradient.shape[1], "out_width": gradient.shape[2],
            "kernel_height": op.kernel[0], "kernel_width": op.kernel[1],
            "stride_y": op.strides[0], "stride_x": op.strides[1],
            "dilation_y": op.dilations[0], "dilation_x": op.dilations[1],
            "pad_top": op.padding[0], "pad_left": op.padding[1],
            "meeting": op.meeting, "bits": op.bits,
        }  # fmt: skip
        return KernelCode(
            function="glowmcu_max_pool_back",
            operands=(0, 1, 2),
            header="glowmcu_max_pool_back.h",
            parameters=Parameters(
                "glowmcu_max_pool_gradient",
                tuple(Field(name, size) for name, size in sizes.items()),
            ),
        )
