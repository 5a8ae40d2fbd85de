"""Portable kernels of `svdf`: a filter's queue moves up by one while its products are made."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from glowmcu.errors import ExitCode, error
from glowmcu.ir.operation import Array
from glowmcu.ir.types import ElementType
from glowmcu.kernels.common.bounds import bound_note, largest_offset_input
from glowmcu.kernels.common.layer_fields import clamping_fields, constant, is_constant, is_float
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
from glowmcu.ops.fixed_point import wrap_int32
from glowmcu.ops.svdf import Svdf, SvdfShape

#: Operands that are pointers: the input and the state.
POINTERS = (0, 4)
_INT32_END = 2**31


def svdf_shape(site: Site) -> SvdfShape:
    """Sizes of the layer."""
    op = site.node.op
    assert isinstance(op, Svdf)
    return op.shape(site.signature.inputs)


def size_fields(site: Site) -> tuple[Field, ...]:
    """Sizes."""
    shape = svdf_shape(site)
    return (
        Field("batches", shape.batches),
        Field("depth", shape.depth),
        Field("units", shape.units),
        Field("rank", shape.rank),
        Field("memory", shape.memory),
    )


def feature_biases(site: Site) -> tuple[Array, str]:
    """int32 (filters,), what sums over the input start from; and the bound. Raises GM502."""
    weights, x = constant(site, 1).astype(np.int64), site.signature.inputs[0]
    magnitude = np.abs(weights).sum(axis=1)
    first = -x.zero_point * weights.sum(axis=1)
    if int((np.abs(first) + 128 * magnitude).max()) >= _INT32_END:
        raise error(
            "GM502",
            f"{site.node.op.name}: {weights.shape[1]} products can exceed int32",
            f'{site.node.source} "{site.node.name}"',
            "a layer with fewer inputs is what the reference can compute, too",
            ExitCode.UNSUPPORTED,
        )
    note = bound_note(site.node.macs, int(magnitude.max()) * largest_offset_input(x))
    return first.astype(np.int32), note


def time_biases(site: Site) -> Array:
    """int32 (units,), what sums over time start from, modulo 2^32."""
    shape, state = svdf_shape(site), site.signature.inputs[4]
    totals = constant(site, 2).astype(np.int64).sum(axis=1).reshape(shape.units, shape.rank)
    folded = constant(site, 3).astype(np.int64) - state.zero_point * totals.sum(axis=1)
    return wrap_int32(folded).astype(np.int32)


def scale_fields(site: Site) -> tuple[Field, ...]:
    """From the products to the state and on to the result."""
    op, signature = site.node.op, site.signature
    assert isinstance(op, Svdf)
    feature, time = op.feature_requantization(signature), op.time_requantization(signature)
    state = signature.inputs[4]
    return (
        Field("feature_multiplier", int(feature.multipliers[0])),
        Field("feature_shift", int(feature.shifts[0])),
        Field("state_zero_point", state.zero_point),
        Field("state_min", state.element.limits[0]),
        Field("state_max", state.element.limits[1]),
        Field("time_multiplier", int(time.multipliers[0])),
        Field("time_shift", int(time.shifts[0])),
        Field("out_zero_point", signature.output.zero_point),
    )


def svdf_parameters(site: Site) -> Parameters:
    """A `glowmcu_svdf`."""
    fields = (
        *size_fields(site),
        *scale_fields(site),
        Field("feature_biases", ConstantArray("feature_bias", feature_biases(site)[0])),
        Field("biases", ConstantArray("bias", time_biases(site))),
        Field("features", ConstantArray("features", constant(site, 1), "OI")),
        Field("times", ConstantArray("times", constant(site, 2))),
    )
    return Parameters("glowmcu_svdf", fields)


@kernel("svdf.portable", Svdf)
class PortableSvdf(Kernel):
    """int8 with a state of int8 or int16; any core."""

    def accepts(self, site: Site, target: Target) -> bool:
        return not is_float(site) and is_constant(site, 1, 2, 3)

    def work(self, site: Site, target: Target) -> Mapping[str, float]:
        shape = svdf_shape(site)
        is_short = site.signature.inputs[4].element is ElementType.I8
        filters = shape.batches * shape.filters
        return {
            "call": 1.0,
            "filter": filters,
            "product": filters * shape.depth,
            "moved" if is_short else "moved wide": filters * shape.memory,
        }

    def flash_bytes(self, site: Site, target: Target) -> int:
        constants = sum(site.signature.inputs[n].size_bytes for n in (1, 2, 3))
        return constants + 4 * svdf_shape(site).filters

    def generate(self, site: Site, target: Target) -> KernelCode:
        state = site.signature.inputs[4].element
        return KernelCode(
            function=f"glowmcu_svdf_s{8 * state.size_bytes}",
            operands=POINTERS,
            template="portable/svdf.c.j2",
            view={
                "headers": ("glowmcu_svdf.h",),
                "type": state.c_name,
                "unsigned_type": f"u{state.c_name}",
            },
            parameters=svdf_parameters(site),
            notes=(feature_biases(site)[1],),
        )


@kernel("svdf.portable_f32", Svdf)
class RealSvdf(Kernel):
    """Real numbers; any core."""

    def accepts(self, site: Site, target: Target) -> bool:
        return is_float(site) and is_constant(site, 1, 2, 3)

    def cost(self, site: Site, target: Target) -> Cost:
        flash = sum(site.signature.inputs[n].size_bytes for n in (1, 2, 3))
        return Cost(9.0 * site.node.macs, 260, flash)

    def generate(self, site: Site, target: Target) -> KernelCode:
        op = site.node.op
        assert isinstance(op, Svdf)
        fields = (
            *size_fields(site),
            *clamping_fields(op.clamp),
            Field("biases", ConstantArray("bias", constant(site, 3))),
            Field("features", ConstantArray("features", constant(site, 1), "OI")),
            Field("times", ConstantArray("times", constant(site, 2))),
        )
        return KernelCode(
            function="glowmcu_svdf_f32",
            operands=POINTERS,
            header="glowmcu_svdf_f32.h",
            parameters=Parameters("glowmcu_svdf_real", fields),
        )
