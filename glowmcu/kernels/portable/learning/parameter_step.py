"""Portable kernels of parameters in fixed point: what layers read of them, and how they move."""

from __future__ import annotations

import math

from glowmcu.ir.types import ElementType
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
from glowmcu.kernels.portable.learning.stored_gradient import is_rows, windowed_fields
from glowmcu.ops.block_gradient import is_packed, numbers_shape
from glowmcu.ops.parameter_step import (
    BiasStep,
    Conv2DStep,
    DepthwiseStep,
    ParameterStep,
    StoredParameter,
    WindowStep,
)
from glowmcu.ops.transpose_conv_gradient import TransposeConvStep


def _of_core(target: Target, costs: tuple[float, float, float, float]) -> float:
    """Of cycles on Armv6-M, Arm without and with DSP instructions, and RISC-V, those of the core;
    other cores are as the first.
    """
    core = target.core
    if core.is_riscv:
        return costs[3]
    if core.architecture == "armv6s-m" or core.is_foreign:
        return costs[0]
    return costs[2] if core.has_dsp else costs[1]


@kernel("stored_parameter.portable", StoredParameter)
class PortableStoredParameter(Kernel):
    """Any core."""

    def accepts(self, site: Site, target: Target) -> bool:
        return len(site.signature.inputs) == 1 or is_constant(site, 1)

    def cost(self, site: Site, target: Target) -> Cost:
        each = _of_core(target, (16.0, 10.5, 10.5, 12.0))
        return Cost(20.0 + each * site.signature.output.element_count, 50, 8)

    def generate(self, site: Site, target: Target) -> KernelCode:
        op, (kept, *others) = site.node.op, site.signature.inputs
        assert isinstance(op, StoredParameter)
        is_weights = site.signature.output.element is ElementType.I8
        kind = "weights" if is_weights else "biases"
        rows = math.prod(kept.shape[: op.axis]) if others else 1
        rest = ConstantArray("others", constant(site, 1).reshape(-1)) if others else None
        return KernelCode(
            function=f"glowmcu_stored_{kind}",
            operands=(0,),
            header=f"glowmcu_stored_{kind}.h",
            parameters=Parameters(
                "glowmcu_stored_parameter",
                (
                    Field("rows", rows),
                    Field("count", kept.element_count // rows),
                    Field("others", others[0].element_count // rows if others else 0),
                    Field("shift", op.shift),
                    Field("other_weights", rest if is_weights else None),
                    Field("other_biases", None if is_weights else rest),
                ),
            ),
        )


def _factor_fields(site: Site) -> tuple[Field, Field]:
    factors = constant(site, 3)
    return (
        Field("factor_step", 2 if len(factors) > 1 else 0),
        Field("factors", ConstantArray("factors", factors.reshape(-1), "number, exponent")),
    )


def _ending(op: ParameterStep) -> str:
    return "_with_momentum" if op.has_momentum else ""


@kernel("bias_step.portable", BiasStep)
class PortableBiasStep(Kernel):
    """Any core."""

    def accepts(self, site: Site, target: Target) -> bool:
        return is_constant(site, 3)

    def cost(self, site: Site, target: Target) -> Cost:
        gradient, factors = site.signature.inputs[1], site.signature.inputs[3]
        each = 12.0 if is_packed(gradient) else 8.0
        cycles = 60.0 + each * gradient.element_count + 40.0 * gradient.shape[3]
        return Cost(cycles, 200, 16 + factors.size_bytes)

    def generate(self, site: Site, target: Target) -> KernelCode:
        _, height, width, channels = numbers_shape(site.signature.inputs[1])
        fields = (
            Field("pixels", height * width),
            Field("channels", channels),
            Field("learning", site.signature.inputs[0].shape[0]),
            *_factor_fields(site),
        )
        op, has_packed = site.node.op, is_packed(site.signature.inputs[1])
        assert isinstance(op, BiasStep)
        header = "glowmcu_bias_step_packed.h" if has_packed else "glowmcu_bias_step.h"
        return KernelCode(
            function=header.removesuffix(".h") + _ending(op),
            operands=(0, 1, 2, 4, 5, 6) if op.has_momentum else (0, 1, 2, 4),
            header=header,
            parameters=Parameters("glowmcu_bias_step_layer", fields),
        )


class _WeightsKernel(Kernel):
    #: Of int16, and of packed numbers.
    headers = "", ""
    #: Cycles of a product, by core.
    each_product = 19.0, 12.5, 5.0, 10.0

    def accepts(self, site: Site, target: Target) -> bool:
        op, signature = site.node.op, site.signature
        kept, gradient, image = signature.inputs[0], signature.inputs[1], signature.inputs[5]
        assert isinstance(op, WindowStep)
        sizes = image.shape[1:], numbers_shape(gradient)[1:]
        packs = not is_packed(gradient) or self._packs(op, *sizes, kept.shape[1:3])
        return packs and is_constant(site, 3)

    def _packs(
        self, op: WindowStep, image: tuple[int, ...], out: tuple[int, ...], window: tuple[int, ...]
    ) -> bool:
        """Whether there is a function for packed gradients of this shape."""
        raise AssertionError(f"{type(self).__name__} says nothing of packed gradients")

    def _packed_scratch(self, kept: tuple[int, ...], pixels: int) -> int:
        raise AssertionError(f"{type(self).__name__} has no scratch")

    def _scratch_bytes(self, site: Site) -> int:
        kept, gradient = site.signature.inputs[:2]
        if not is_packed(gradient):
            return 0
        return self._packed_scratch(kept.shape, gradient.shape[1] * gradient.shape[2])

    def cost(self, site: Site, target: Target) -> Cost:
        kept, factors = site.signature.inputs[0], site.signature.inputs[3]
        # Small code calls a function for each weight.
        is_small = target.goal.optimizes_size
        each = (80.0, 64.0, 66.0, 50.0) if is_small else (49.0, 46.0, 45.0, 35.0)
        cycles = 100.0 + _of_core(target, each) * kept.element_count
        if site.node.macs > kept.element_count:  # a product of a weight is in what moves it
            cycles += _of_core(target, self.each_product) * site.node.macs
        return Cost(cycles, 560, 68 + factors.size_bytes, self._scratch_bytes(site))

    def generate(self, site: Site, target: Target) -> KernelCode:
        op, signature = site.node.op, site.signature
        assert isinstance(op, WindowStep)
        kept, gradient, image = signature.inputs[0], signature.inputs[1], signature.inputs[5]
        seen, out = image.shape[1:], numbers_shape(gradient)[1:]
        sizes = (seen[0], seen[1], seen[2]), (out[0], out[1], out[2])
        fields = (
            *windowed_fields(op, *sizes, (kept.shape[1], kept.shape[2])),
            Field("in_zero_point", image.zero_point),
            Field("learning", op.channels(kept)),
            *_factor_fields(site),
        )
        header = self.headers[is_packed(gradient)]
        return KernelCode(
            function=header.removesuffix(".h") + _ending(op),
            operands=(0, 1, 2, 4, 5, 6, 7) if op.has_momentum else (0, 1, 2, 4, 5),
            header=header,
            parameters=Parameters("glowmcu_window_step", fields),
            scratch_bytes=self._scratch_bytes(site),
        )


@kernel("conv_2d_step.portable", Conv2DStep)
class PortableConv2DStep(_WeightsKernel):
    """Two output channels and two inputs, with DSP instructions four, over all pixels of a tap."""

    headers = "glowmcu_conv_2d_step.h", "glowmcu_conv_2d_step_packed.h"

    def _packs(
        self, op: WindowStep, image: tuple[int, ...], out: tuple[int, ...], window: tuple[int, ...]
    ) -> bool:
        return op.strides == (1, 1) and is_rows(op, image, out, window)

    def _packed_scratch(self, kept: tuple[int, ...], pixels: int) -> int:
        return 4 * pixels


@kernel("transpose_conv_step.portable", TransposeConvStep)
class PortableTransposeConvStep(_WeightsKernel):
    """Two output channels and two inputs over all pixels that a tap spreads."""

    headers = "glowmcu_transpose_conv_step.h", ""


@kernel("depthwise_step.portable", DepthwiseStep)
class PortableDepthwiseStep(_WeightsKernel):
    """Four channels at a time; of packed gradients all, pixel by pixel."""

    headers = "glowmcu_depthwise_step.h", "glowmcu_depthwise_step_packed.h"
    each_product = 15.0, 13.0, 8.0, 13.0

    def _packs(
        self, op: WindowStep, image: tuple[int, ...], out: tuple[int, ...], window: tuple[int, ...]
    ) -> bool:
        return image[2] == out[2]

    def _packed_scratch(self, kept: tuple[int, ...], pixels: int) -> int:
        return 4 * kept[3]
