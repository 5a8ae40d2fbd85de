"""Portable kernels of fully_connected and batch_matmul."""

from __future__ import annotations

import math

import numpy as np

from glowmcu.ir.operation import Array
from glowmcu.ir.value_range import Int64Array
from glowmcu.kernels.common.bounds import accumulator_bound, bound_note, largest_offset_input
from glowmcu.kernels.common.layer_fields import (
    clamping_fields,
    constant,
    constant_bytes,
    is_constant,
    is_float,
    is_int8,
    requantization_arrays,
)
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
from glowmcu.ops.fixed_point import Requantization
from glowmcu.ops.matmul import BatchMatMul, FullyConnected


def fully_connected_work(rows: int, depth: int, outputs: int) -> dict[str, float]:
    """Of `glowmcu_fully_connected_s8`: four outputs share a loop while there are four."""
    fours, ones = divmod(outputs, 4)
    return {
        "call": 1.0,
        "output": rows * outputs,
        "loop": rows * (fours + ones),
        "step of four": rows * fours * depth,
        "step of one": rows * ones * depth,
    }


@kernel("fully_connected.portable", FullyConnected)
class PortableFullyConnected(Kernel):
    """Four output channels at a time; any core."""

    def accepts(self, site: Site, target: Target) -> bool:
        return is_constant(site, 1, 2) and is_int8(site)

    def work(self, site: Site, target: Target) -> dict[str, float]:
        outputs, depth = site.signature.inputs[1].shape
        rows = site.signature.inputs[0].element_count // depth
        return fully_connected_work(rows, depth, outputs)

    def code_key(self, site: Site, target: Target) -> str:
        return "glowmcu_fully_connected_s8"

    def flash_bytes(self, site: Site, target: Target) -> int:
        return constant_bytes(site)

    def generate(self, site: Site, target: Target) -> KernelCode:
        op = site.node.op
        assert isinstance(op, FullyConnected)
        quantization = site.signature.inputs[1].quantization
        assert quantization is not None
        return _fully_connected(
            site,
            constant(site, 1),
            ConstantArray("bias", constant(site, 2)),
            np.array(quantization.zero_points, np.int64),
            op.requantization(site.signature),
            op.clamp_range(site.signature),
        )


def _fully_connected(
    site: Site,
    weights: Array,
    bias: ConstantArray,
    zero_points: Int64Array,
    scale: Requantization,
    clamp: tuple[int, int],
) -> KernelCode:
    """Rows of the first operand times `weights`, (outputs, inputs)."""
    x, out = site.signature.inputs[0], site.signature.output
    outputs, depth = weights.shape
    # The C sums x * w and w_zp * x apart, so both magnitudes count.
    magnitude = np.abs(weights.astype(np.int64)) + np.abs(zero_points)[:, np.newaxis]
    bound = accumulator_bound(site, magnitude, bias.data)
    multipliers, shifts = requantization_arrays(scale, site)
    fields = (
        Field("rows", x.element_count // depth),
        Field("depth_in", depth),
        Field("depth_out", outputs),
        Field("in_zero_point", x.zero_point),
        Field("weights_zero_point", int(zero_points[0])),
        Field("out_zero_point", out.zero_point),
        Field("clamp_min", clamp[0]),
        Field("clamp_max", clamp[1]),
        Field("per_channel", int(len(multipliers.data) > 1)),
        Field("weights", ConstantArray("weights", weights, "OI")),
        Field("bias", bias),
        Field("multipliers", multipliers),
        Field("shifts", shifts),
    )
    return KernelCode(
        function="glowmcu_fully_connected_s8",
        operands=(0,),
        header="glowmcu_fully_connected.h",
        parameters=Parameters("glowmcu_fully_connected", fields),
        notes=(bound_note(site.node.macs, bound),),
    )


@kernel("fully_connected.portable_f32", FullyConnected)
class FloatFullyConnected(Kernel):
    """One output at a time on float32; any core."""

    def accepts(self, site: Site, target: Target) -> bool:
        return is_float(site)

    def work(self, site: Site, target: Target) -> dict[str, float]:
        outputs = site.signature.output.element_count
        return {"call": 1.0, "output": outputs, "mac": site.node.macs}

    def cost(self, site: Site, target: Target) -> Cost:
        cycles_per_mac = 7.0 if target.core.has_fpu else 120.0
        return Cost(cycles_per_mac * site.node.macs, 200, constant_bytes(site))

    def generate(self, site: Site, target: Target) -> KernelCode:
        op = site.node.op
        assert isinstance(op, FullyConnected)
        x, weights, _ = site.signature.inputs
        fields = (
            Field("rows", x.element_count // weights.shape[1]),
            Field("depth_in", weights.shape[1]),
            Field("depth_out", weights.shape[0]),
            *clamping_fields(op.clamp),
        )
        return KernelCode(
            function="glowmcu_fully_connected_f32",
            operands=(0, 1, 2),
            header="glowmcu_fully_connected_f32.h",
            parameters=Parameters("glowmcu_fully_connected_real", fields),
        )


@kernel("batch_matmul.fully_connected", BatchMatMul)
class ConstantBatchMatMul(Kernel):
    """A constant matrix without batch on the right: every row of x through fully_connected."""

    def accepts(self, site: Site, target: Target) -> bool:
        op = site.node.op
        assert isinstance(op, BatchMatMul)
        y = site.signature.inputs[1]
        single = y.element_count == math.prod(y.shape[-2:])
        return is_constant(site, 1) and single and not op.adj_x and is_int8(site)

    def work(self, site: Site, target: Target) -> dict[str, float]:
        op, columns = site.node.op, site.signature.output.shape[-1]
        assert isinstance(op, BatchMatMul)
        depth = op.depth(site.signature)
        rows = site.signature.inputs[0].element_count // depth
        return fully_connected_work(rows, depth, columns)

    def code_key(self, site: Site, target: Target) -> str:
        return "glowmcu_fully_connected_s8"

    def flash_bytes(self, site: Site, target: Target) -> int:
        return site.signature.inputs[1].size_bytes + 4 * site.signature.output.shape[-1]

    def generate(self, site: Site, target: Target) -> KernelCode:
        op = site.node.op
        assert isinstance(op, BatchMatMul)
        y, out = site.signature.inputs[1], site.signature.output
        matrix = constant(site, 1).reshape(y.shape[-2:])
        return _fully_connected(
            site,
            np.ascontiguousarray(matrix if op.adj_y else matrix.T),
            ConstantArray("no_bias", np.zeros(out.shape[-1], np.int32)),
            np.array([y.zero_point], np.int64),
            op.requantization(site.signature),
            out.element.limits,
        )


@kernel("batch_matmul.portable", BatchMatMul)
class PortableBatchMatMul(Kernel):
    """Inner products over strides, one result at a time; any core."""

    def accepts(self, site: Site, target: Target) -> bool:
        return is_int8(site)

    def work(self, site: Site, target: Target) -> dict[str, float]:
        return {
            "call": 1.0,
            "output": site.signature.output.element_count,
            "mac": site.node.macs,
        }

    def generate(self, site: Site, target: Target) -> KernelCode:
        op = site.node.op
        assert isinstance(op, BatchMatMul)
        x, y = site.signature.inputs
        out = site.signature.output
        scale = op.requantization(site.signature)
        fields = (
            Field("matrices", matrices(site)),
            Field("x_zero_point", x.zero_point),
            Field("y_zero_point", y.zero_point),
            Field("out_zero_point", out.zero_point),
            Field("multiplier", int(scale.multipliers[0])),
            Field("shift", int(scale.shifts[0])),
        )
        depth = op.depth(site.signature)
        bound = depth * largest_offset_input(x) * largest_offset_input(y)
        return KernelCode(
            function="glowmcu_batch_matmul_s8",
            operands=(0, 1),
            header="glowmcu_batch_matmul.h",
            parameters=Parameters("glowmcu_batch_matmul", fields),
            notes=(bound_note(site.node.macs, bound),),
        )


@kernel("batch_matmul.portable_f32", BatchMatMul)
class FloatBatchMatMul(Kernel):
    """Inner products over strides, one result at a time; any core."""

    def accepts(self, site: Site, target: Target) -> bool:
        return is_float(site)

    def work(self, site: Site, target: Target) -> dict[str, float]:
        outputs = site.signature.output.element_count
        return {"call": 1.0, "output": outputs, "mac": site.node.macs}

    def cost(self, site: Site, target: Target) -> Cost:
        cycles_per_mac = 8.0 if target.core.has_fpu else 120.0
        return Cost(cycles_per_mac * site.node.macs, 200, constant_bytes(site))

    def generate(self, site: Site, target: Target) -> KernelCode:
        return KernelCode(
            function="glowmcu_batch_matmul_f32",
            operands=(0, 1),
            header="glowmcu_batch_matmul_f32.h",
            parameters=matrices(site),
        )


def matrices(site: Site) -> Parameters:
    """Sizes, and elements from matrix to matrix, row to row and along a row of each operand."""
    op, (x, y), out = site.node.op, site.signature.inputs, site.signature.output
    assert isinstance(op, BatchMatMul)
    rows, columns, depth = *out.shape[-2:], op.depth(site.signature)
    fields = (
        *(Field(f"batch_{axis}", size) for axis, size in enumerate(_padded(out.shape[:-2]))),
        *_batch_steps("x", x.shape),
        *_batch_steps("y", y.shape),
        Field("rows", rows),
        Field("columns", columns),
        Field("depth", depth),
        Field("x_row", 1 if op.adj_x else depth),
        Field("x_step", rows if op.adj_x else 1),
        Field("y_column", depth if op.adj_y else 1),
        Field("y_step", 1 if op.adj_y else columns),
    )
    return Parameters("glowmcu_matrices", fields)


def _padded(batch: tuple[int, ...]) -> tuple[int, ...]:
    """Three batch axes, ones in front."""
    return (1,) * (3 - len(batch)) + batch


def _batch_steps(name: str, shape: tuple[int, ...]) -> list[Field]:
    """Elements from one matrix to the next along each batch axis; 0 if it is broadcast."""
    batch = _padded(shape[:-2])
    matrix = math.prod(shape[-2:])
    steps = [matrix * math.prod(batch[axis + 1 :]) if batch[axis] > 1 else 0 for axis in range(3)]
    return [Field(f"{name}_batch_{axis}", step) for axis, step in enumerate(steps)]
