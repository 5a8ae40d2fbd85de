"""Portable kernels of average, max, l2 and lp pooling, and of where maxima stand."""

from __future__ import annotations

from glowmcu.ir.types import ElementType
from glowmcu.kernels.common.layer_fields import clamping_fields, is_float, is_int8
from glowmcu.kernels.common.overlap import channel_overlaps
from glowmcu.kernels.common.pool_layer import pool_grid, pool_work
from glowmcu.kernels.kernel import Cost, Field, Kernel, KernelCode, Parameters, Site, Target, kernel
from glowmcu.ops.pooling import AveragePool2D, L2Pool2D, LpPool2D, MaxPool2D, MaxPoolIndices2D

_Pool = AveragePool2D | L2Pool2D | LpPool2D | MaxPool2D | MaxPoolIndices2D


def _op(site: Site) -> _Pool:
    op = site.node.op
    assert isinstance(op, _Pool)
    return op


def pool_cycles(site: Site, per_tap: float, per_output: float) -> float:
    """Cycles by taps and by results."""
    outputs = site.signature.output.element_count
    taps = outputs * _op(site).kernel[0] * _op(site).kernel[1]
    return per_tap * taps + per_output * outputs


def _grid(site: Site) -> Field:
    return Field("grid", pool_grid(site))


def _code(site: Site, name: str, suffix: str, struct: str, *fields: Field) -> KernelCode:
    return KernelCode(
        function=f"glowmcu_{name}_{suffix}",
        operands=(0,),
        header=f"glowmcu_{name}.h" if suffix == "s8" else f"glowmcu_{name}_{suffix}.h",
        parameters=Parameters(struct, (_grid(site), *fields)),
        rows=site.signature.output.shape[1],
        batches=site.signature.output.shape[0],
        overlaps=channel_overlaps(_op(site), site.signature, _op(site).kernel, at_once=1),
    )


def integer_code(site: Site, name: str, suffix: str = "s8") -> KernelCode:
    """Code of average and maximum pooling; the function ends in `suffix`."""
    op = _op(site)
    assert isinstance(op, AveragePool2D | MaxPool2D)
    clamp_min, clamp_max = op.clamp_range(site.signature)
    clamp = Field("clamp_min", clamp_min), Field("clamp_max", clamp_max)
    return _code(site, name, suffix, "glowmcu_pool_2d", *clamp)


def _real_code(site: Site, name: str) -> KernelCode:
    clamp = clamping_fields(_op(site).clamp)
    return _code(site, name, "f32", "glowmcu_pool_2d_real", *clamp)


@kernel("average_pool_2d.portable", AveragePool2D)
class PortableAveragePool2D(Kernel):
    """One channel at a time over the window; any core."""

    def accepts(self, site: Site, target: Target) -> bool:
        return is_int8(site)

    def work(self, site: Site, target: Target) -> dict[str, float]:
        return pool_work(site, "output", 1)

    def generate(self, site: Site, target: Target) -> KernelCode:
        return integer_code(site, "average_pool_2d")


@kernel("max_pool_2d.portable", MaxPool2D)
class PortableMaxPool2D(Kernel):
    """One channel at a time over the window; any core."""

    def accepts(self, site: Site, target: Target) -> bool:
        return is_int8(site)

    def work(self, site: Site, target: Target) -> dict[str, float]:
        return pool_work(site, "output", 1)

    def generate(self, site: Site, target: Target) -> KernelCode:
        return integer_code(site, "max_pool_2d")


@kernel("max_pool_2d.portable_u8", MaxPool2D)
class UnsignedMaxPool2D(Kernel):
    """As of int8; any core."""

    def accepts(self, site: Site, target: Target) -> bool:
        return site.signature.output.element is ElementType.UI8

    def cost(self, site: Site, target: Target) -> Cost:
        return Cost(pool_cycles(site, 6.0, 20.0), 230)

    def generate(self, site: Site, target: Target) -> KernelCode:
        return integer_code(site, "max_pool_2d", "u8")


@kernel("average_pool_2d.portable_f32", AveragePool2D)
class FloatAveragePool2D(Kernel):
    """One channel at a time over the window; any core."""

    def accepts(self, site: Site, target: Target) -> bool:
        return is_float(site)

    def work(self, site: Site, target: Target) -> dict[str, float]:
        return pool_work(site, "output", 1)

    def cost(self, site: Site, target: Target) -> Cost:
        per_tap, per_output = (6.0, 40.0) if target.core.has_fpu else (60.0, 250.0)
        return Cost(pool_cycles(site, per_tap, per_output), 270)

    def generate(self, site: Site, target: Target) -> KernelCode:
        return _real_code(site, "average_pool_2d")


@kernel("max_pool_2d.portable_f32", MaxPool2D)
class FloatMaxPool2D(Kernel):
    """One channel at a time over the window; any core."""

    def accepts(self, site: Site, target: Target) -> bool:
        return is_float(site)

    def work(self, site: Site, target: Target) -> dict[str, float]:
        return pool_work(site, "output", 1)

    def cost(self, site: Site, target: Target) -> Cost:
        per_tap, per_output = (7.0, 25.0) if target.core.has_fpu else (30.0, 80.0)
        return Cost(pool_cycles(site, per_tap, per_output), 260)

    def generate(self, site: Site, target: Target) -> KernelCode:
        return _real_code(site, "max_pool_2d")


@kernel("l2_pool_2d.portable_f32", L2Pool2D)
class FloatL2Pool2D(Kernel):
    """One channel at a time over the window; any core."""

    def cost(self, site: Site, target: Target) -> Cost:
        per_tap, per_output = (7.0, 55.0) if target.core.has_fpu else (100.0, 1100.0)
        return Cost(pool_cycles(site, per_tap, per_output), 310)

    def generate(self, site: Site, target: Target) -> KernelCode:
        return _real_code(site, "l2_pool_2d")


@kernel("lp_pool_2d.portable_f32", LpPool2D)
class FloatLpPool2D(Kernel):
    """Powers by multiplication, roots by Newton; any core."""

    def cost(self, site: Site, target: Target) -> Cost:
        op = _op(site)
        assert isinstance(op, LpPool2D)
        soft = 1.0 if target.core.has_fpu else 12.0
        return Cost(soft * pool_cycles(site, 6.0 + 3.0 * op.order, 120.0 + 12.0 * op.order), 420)

    def generate(self, site: Site, target: Target) -> KernelCode:
        op = _op(site)
        assert isinstance(op, LpPool2D)
        order = Field("order", op.order)
        return _code(site, "lp_pool_2d", "f32", "glowmcu_lp_pool_2d", order)


@kernel("max_pool_indices_2d.portable_f32", MaxPoolIndices2D)
class FloatMaxPoolIndices2D(Kernel):
    """One channel at a time over the window; any core."""

    def cost(self, site: Site, target: Target) -> Cost:
        per_tap, per_output = (9.0, 50.0) if target.core.has_fpu else (32.0, 100.0)
        return Cost(pool_cycles(site, per_tap, per_output), 360)

    def generate(self, site: Site, target: Target) -> KernelCode:
        op, (n, height, width, _) = _op(site), site.signature.inputs[0].shape
        assert isinstance(op, MaxPoolIndices2D)
        fields = (
            _grid(site),
            Field("images", n),
            Field("out_height", site.signature.output.shape[1]),
            Field("step_y", 1 if op.by_column else width),
            Field("step_x", height if op.by_column else 1),
        )
        return KernelCode(
            function="glowmcu_max_pool_indices_2d_f32",
            operands=(0,),
            header="glowmcu_max_pool_indices_2d_f32.h",
            parameters=Parameters("glowmcu_max_pool_indices_2d", fields),
        )
