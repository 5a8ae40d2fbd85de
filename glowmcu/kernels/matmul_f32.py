"""Float products with constant matrices on cores with an FPU: see libjit/glowmcu_matrix_f32.h."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from glowmcu.ir.operation import Array
from glowmcu.kernels.convolution import constant, is_constant, is_float
from glowmcu.kernels.cost_table import cost_table
from glowmcu.kernels.kernel import Cost, Field, Kernel, KernelCode, Parameters, Site, Target, kernel
from glowmcu.kernels.window_f32 import (
    clamping_fields,
    packed_blocks,
    packed_bytes,
    vector_overlaps,
    vector_work,
)
from glowmcu.ops.matmul import BatchMatMul, FullyConnected
from glowmcu.ops.real import Clamp


def _code(site: Site, weights: Array, bias: Array, clamp: Clamp) -> KernelCode:
    """Vectors of operand 0 times `weights`, (outputs, inputs)."""
    vectors = site.signature.inputs[0].element_count // weights.shape[1]
    fields = (
        Field("vectors", vectors),
        Field("depth_in", weights.shape[1]),
        Field("depth_out", weights.shape[0]),
        *clamping_fields(clamp),
        Field("weights", packed_blocks(weights, bias)),
    )
    return KernelCode(
        function="glowmcu_fully_connected_packed_f32",
        operands=(0,),
        header="glowmcu_fully_connected_packed_f32.h",
        parameters=Parameters("glowmcu_matrix_real", fields),
        overlaps=vector_overlaps(site.signature, vectors),
    )


class _Packed(Kernel):
    """Base: on cores where it was not calibrated it costs what the same loops do as 1x1."""

    def price(self, site: Site, target: Target) -> Cost:
        estimate, work = super().price(site, target), self.work(site, target)
        prices = cost_table().prices("conv_2d.matrix_f32", target.core.name)
        if cost_table().prices(self.name, target.core.name) or not prices:
            return estimate
        assert prices.reaches(work), f"{self.name} does other work than conv_2d.matrix_f32"
        return replace(estimate, cycles=prices.cycles(work), code_bytes=prices.code_bytes)


@kernel("fully_connected.packed_f32", FullyConnected)
class PackedFullyConnectedF32(_Packed):
    """Vectors times a constant matrix, eight outputs at a time; any core with an FPU."""

    def accepts(self, site: Site, target: Target) -> bool:
        return target.core.has_fpu and is_float(site) and is_constant(site, 1, 2)

    def work(self, site: Site, target: Target) -> dict[str, float]:
        op, (outputs, depth) = site.node.op, site.signature.inputs[1].shape
        assert isinstance(op, FullyConnected)
        vectors = site.signature.inputs[0].element_count // depth
        return vector_work(vectors, depth, outputs, op.clamp)

    def flash_bytes(self, site: Site, target: Target) -> int:
        outputs, depth = site.signature.inputs[1].shape
        return packed_bytes(outputs, depth)

    def generate(self, site: Site, target: Target) -> KernelCode:
        op = site.node.op
        assert isinstance(op, FullyConnected)
        return _code(site, constant(site, 1), constant(site, 2), op.clamp)


@kernel("batch_matmul.packed_f32", BatchMatMul)
class PackedBatchMatMulF32(_Packed):
    """A constant matrix without batch on the right; any core with an FPU."""

    def accepts(self, site: Site, target: Target) -> bool:
        op, y = site.node.op, site.signature.inputs[1]
        assert isinstance(op, BatchMatMul)
        single = y.element_count == math.prod(y.shape[-2:])
        known = is_constant(site, 1) and target.core.has_fpu and is_float(site)
        return known and single and not op.adj_x

    def work(self, site: Site, target: Target) -> dict[str, float]:
        op, columns = site.node.op, site.signature.output.shape[-1]
        assert isinstance(op, BatchMatMul)
        depth = op.depth(site.signature)
        return vector_work(site.signature.inputs[0].element_count // depth, depth, columns, None)

    def flash_bytes(self, site: Site, target: Target) -> int:
        op = site.node.op
        assert isinstance(op, BatchMatMul)
        return packed_bytes(site.signature.output.shape[-1], op.depth(site.signature))

    def generate(self, site: Site, target: Target) -> KernelCode:
        op, y = site.node.op, site.signature.inputs[1]
        assert isinstance(op, BatchMatMul)
        matrix = constant(site, 1).reshape(y.shape[-2:])
        weights = matrix if op.adj_y else matrix.T
        return _code(site, weights, np.zeros(len(weights), np.float32), None)
