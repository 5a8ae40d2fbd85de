"""Kernels of int8 add and sub in a linear form that is proved for every pair of operands."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from glowmcu.kernels.common.broadcasting import walk, walk_work
from glowmcu.kernels.common.overlap import element_overlaps
from glowmcu.kernels.kernel import Cost, Field, Kernel, KernelCode, Parameters, Site, Target, kernel
from glowmcu.kernels.requantization.linear_form import (
    PLAIN,
    Arithmetic,
    LinearForm,
    linear_form,
)
from glowmcu.kernels.requantization.proved_elements import is_int8
from glowmcu.ops.elementwise import Add, Sub


@kernel("sum.linear", Add, Sub)
class LinearSum(Kernel):
    """Two multiplications, a shift and a clamp an element; any core."""

    arithmetic: ClassVar[Arithmetic] = PLAIN
    function: ClassVar[str] = "glowmcu_linear_sum"

    def accepts(self, site: Site, target: Target) -> bool:
        return is_int8(site.signature) and self._form(site) is not None

    def cost(self, site: Site, target: Target) -> Cost:
        return Cost(9.3 * site.signature.output.element_count + 110.0, 432, 32)

    def work(self, site: Site, target: Target) -> Mapping[str, float]:
        return walk_work(site.signature, 4)

    def flash_bytes(self, site: Site, target: Target) -> int:
        return 32

    def generate(self, site: Site, target: Target) -> KernelCode:
        form = self._form(site)
        assert form is not None
        signature = site.signature
        shapes = [type_.shape for type_ in signature.inputs]
        fields = (
            Field("p", form.p),
            Field("q", form.q),
            Field("c", form.c),
            Field("walk", walk(shapes, signature.output.shape)),
        )
        return KernelCode(
            function=f"{self.function}_s8",
            operands=(0, 1),
            header=f"{self.function}.h",
            overlaps=element_overlaps(site.signature),
            parameters=Parameters(self.function, fields),
            notes=("(a * p + b * q + c) >> s is what TensorFlow Lite computes, for every pair",),
        )

    def _form(self, site: Site) -> LinearForm | None:
        op = site.node.op
        assert isinstance(op, Add | Sub)
        return linear_form(op, site.signature, site.input_ranges, site.rounding, self.arithmetic)
