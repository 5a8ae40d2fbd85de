"""Portable kernels of softmax (computed or by table), log_softmax and l2_normalization."""

from __future__ import annotations

import numpy as np

from glowmcu.ir.types import ElementType
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
from glowmcu.ops.fixed_point import rounding_divide_by_pot
from glowmcu.ops.normalization import L2Normalization, LogSoftmax, Softmax


def _rows(site: Site) -> tuple[Field, Field]:
    x = site.signature.inputs[0]
    return Field("rows", x.element_count // x.shape[-1]), Field("depth", x.shape[-1])


def _work(site: Site) -> dict[str, float]:
    rows, _ = _rows(site)
    assert isinstance(rows.value, int)
    return {"call": 1.0, "row": rows.value, "element": site.signature.output.element_count}


def _is_int8(site: Site) -> bool:
    return site.signature.inputs[0].element is ElementType.I8


def _code(name: str, struct_fields: tuple[Field, ...]) -> KernelCode:
    return KernelCode(
        function=f"glowmcu_{name}_s8",
        operands=(0,),
        header=f"glowmcu_{name}.h",
        parameters=Parameters(f"glowmcu_{name}", struct_fields),
    )


@kernel("softmax.portable", Softmax)
class PortableSoftmax(Kernel):
    """Every exponential is computed, for the sum and again for the quotient; any core."""

    def accepts(self, site: Site, target: Target) -> bool:
        return _is_int8(site)

    def work(self, site: Site, target: Target) -> dict[str, float]:
        return _work(site)

    def generate(self, site: Site, target: Target) -> KernelCode:
        op = site.node.op
        assert isinstance(op, Softmax)
        scale = op.difference_scale(site.signature, site.rounding)
        fields = (
            *_rows(site),
            Field("out_bits", 8 * site.signature.output.element.size_bytes),
            Field("multiplier", scale.multiplier),
            Field("shift", scale.shift),
            Field("differences", scale.count),
        )
        return _code("softmax", fields)


@kernel("softmax.table", Softmax)
class TableSoftmax(Kernel):
    """The exponentials of all differences in flash, 4 bytes each; any core."""

    def accepts(self, site: Site, target: Target) -> bool:
        return _is_int8(site)

    def work(self, site: Site, target: Target) -> dict[str, float]:
        return _work(site)

    def flash_bytes(self, site: Site, target: Target) -> int:
        op = site.node.op
        assert isinstance(op, Softmax)
        return 4 * op.difference_scale(site.signature, site.rounding).count

    def generate(self, site: Site, target: Target) -> KernelCode:
        op = site.node.op
        assert isinstance(op, Softmax)
        scale = op.difference_scale(site.signature, site.rounding)
        exps = scale.exponentials(site.rounding)[: scale.count].astype(np.int32)
        fields = (
            *_rows(site),
            Field("out_bits", 8 * site.signature.output.element.size_bytes),
            Field("differences", scale.count),
            Field("exps", ConstantArray("exps", exps, "exp of a difference, Q0.31")),
        )
        return _code("softmax_table", fields)


@kernel("log_softmax.portable", LogSoftmax)
class PortableLogSoftmax(Kernel):
    """Exponentials from a table in flash, the logarithm computed once a row; any core."""

    def accepts(self, site: Site, target: Target) -> bool:
        return _is_int8(site)

    def work(self, site: Site, target: Target) -> dict[str, float]:
        return _work(site)

    def flash_bytes(self, site: Site, target: Target) -> int:
        op = site.node.op
        assert isinstance(op, LogSoftmax)
        return 4 * op.difference_scale(site.signature, site.rounding).count

    def generate(self, site: Site, target: Target) -> KernelCode:
        op = site.node.op
        assert isinstance(op, LogSoftmax)
        scale = op.difference_scale(site.signature, site.rounding)
        reverse_multiplier, reverse_shift = op.reverse_scale(site.signature, site.rounding)
        exps = rounding_divide_by_pot(scale.exponentials(site.rounding)[: scale.count], 12)
        fields = (
            *_rows(site),
            Field("multiplier", scale.multiplier),
            Field("shift", scale.shift),
            Field("reverse_multiplier", reverse_multiplier),
            Field("reverse_shift", reverse_shift),
            Field("radius", scale.radius),
            Field("differences", scale.count),
            Field("exps", ConstantArray("exps", exps.astype(np.int32), "Q12.19")),
        )
        return _code("log_softmax", fields)


@kernel("l2_normalization.portable", L2Normalization)
class PortableL2Normalization(Kernel):
    """One inverse square root a row; any core."""

    def accepts(self, site: Site, target: Target) -> bool:
        return _is_int8(site)

    def work(self, site: Site, target: Target) -> dict[str, float]:
        return _work(site)

    def generate(self, site: Site, target: Target) -> KernelCode:
        zero_point = site.signature.inputs[0].zero_point
        return _code("l2_normalization", (*_rows(site), Field("in_zero_point", zero_point)))
