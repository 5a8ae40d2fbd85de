"""Portable kernels of average_pool_2d and max_pool_2d."""

from __future__ import annotations

from glowmcu.kernels.kernel import Cost, Field, Kernel, KernelCode, Parameters, Site, Target, kernel
from glowmcu.ops.pooling import AveragePool2D, MaxPool2D


def _taps(site: Site) -> int:
    op = site.node.op
    assert isinstance(op, AveragePool2D | MaxPool2D)
    return site.signature.output.element_count * op.kernel[0] * op.kernel[1]


def _code(site: Site, name: str) -> KernelCode:
    op = site.node.op
    assert isinstance(op, AveragePool2D | MaxPool2D)
    x, out = site.signature.inputs[0], site.signature.output
    clamp_min, clamp_max = op.clamp_range(site.signature)
    fields = (
        Field("in_height", x.shape[1]),
        Field("in_width", x.shape[2]),
        Field("channels", x.shape[3]),
        Field("out_width", out.shape[2]),
        Field("kernel_height", op.kernel[0]),
        Field("kernel_width", op.kernel[1]),
        Field("stride_y", op.strides[0]),
        Field("stride_x", op.strides[1]),
        Field("pad_top", op.padding[0]),
        Field("pad_left", op.padding[1]),
        Field("clamp_min", clamp_min),
        Field("clamp_max", clamp_max),
    )
    return KernelCode(
        function=f"glowmcu_{name}_s8",
        operands=(0,),
        header=f"glowmcu_{name}.h",
        parameters=Parameters("glowmcu_pool_2d", fields),
        rows=out.shape[1],
        batches=x.shape[0],
    )


@kernel("average_pool_2d.portable", AveragePool2D)
class PortableAveragePool2D(Kernel):
    """One channel at a time over the window; any core."""

    def cost(self, site: Site, target: Target) -> Cost:
        outputs = site.signature.output.element_count
        return Cost(5.0 * _taps(site) + 40.0 * outputs, 260)

    def generate(self, site: Site, target: Target) -> KernelCode:
        return _code(site, "average_pool_2d")


@kernel("max_pool_2d.portable", MaxPool2D)
class PortableMaxPool2D(Kernel):
    """One channel at a time over the window; any core."""

    def cost(self, site: Site, target: Target) -> Cost:
        outputs = site.signature.output.element_count
        return Cost(6.0 * _taps(site) + 20.0 * outputs, 230)

    def generate(self, site: Site, target: Target) -> KernelCode:
        return _code(site, "max_pool_2d")
