"""Float products with constant matrices on cores with an FPU: see glowmcu_matrix_f32.h."""

from __future__ import annotations

import math
from dataclasses import replace

from glowmcu.ir.operation import Array
from glowmcu.kernels.common.layer_fields import clamping_fields, constant
from glowmcu.kernels.cost_table import cost_table
from glowmcu.kernels.float.convolution import has_int8_weights, int8_weights_cost, packs
from glowmcu.kernels.float.int8_weights import (
    packed_int8_blocks,
    packed_int8_bytes,
)
from glowmcu.kernels.float.windows import (
    channel_blocks,
    last_channels,
    packed_blocks,
    packed_bytes,
    vector_overlaps,
    vector_work,
)
from glowmcu.kernels.kernel import (
    Cost,
    Field,
    Kernel,
    KernelCode,
    Parameters,
    Site,
    Target,
    kernel,
)
from glowmcu.kernels.portable.matmul import FloatBatchMatMul
from glowmcu.ops.matmul import BatchMatMul, FullyConnected
from glowmcu.ops.real import Clamp


class _Packed(Kernel):
    """Base: on cores on which it was not calibrated it costs what the same loops do as 1x1."""

    function = "glowmcu_fully_connected_packed_f32"
    costs_as = "conv_2d.matrix_f32"
    packed, packed_bytes = staticmethod(packed_blocks), staticmethod(packed_bytes)

    def calibrated_cost(self, site: Site, target: Target) -> Cost:
        estimate, work = super().calibrated_cost(site, target), self.work(site, target)
        unit_costs = cost_table().unit_costs(self.costs_as, target.core.name)
        if cost_table().unit_costs(self.name, target.core.name) or not unit_costs:
            return estimate
        assert unit_costs.can_estimate(work), f"{self.name} does other work than {self.costs_as}"
        cycles, code_bytes = unit_costs.cycles(work), unit_costs.code_bytes
        return replace(estimate, cycles=cycles, code_bytes=code_bytes, is_guess=False)

    def code(self, site: Site, weights: Array, bias: Array, clamp: Clamp) -> KernelCode:
        """Vectors of operand 0 times `weights`, (outputs, inputs)."""
        vectors = site.signature.inputs[0].element_count // weights.shape[1]
        fields = (
            Field("vectors", vectors),
            Field("depth_in", weights.shape[1]),
            Field("depth_out", weights.shape[0]),
            *clamping_fields(clamp),
            Field("weights", self.packed(weights, bias)),
        )
        return KernelCode(
            function=self.function,
            operands=(0,),
            header=f"{self.function}.h",
            parameters=Parameters("glowmcu_matrix_real", fields),
            overlaps=vector_overlaps(site.signature, vectors, last_channels(weights.shape[0])),
        )


class _Int8Weights(_Packed):
    """Base: int8 weights of a float model, which become floats in registers; any core."""

    keeps_int8_weights = True
    function = "glowmcu_fully_connected_w8_f32"
    costs_as = "conv_2d.matrix_w8_f32"
    packed, packed_bytes = staticmethod(packed_int8_blocks), staticmethod(packed_int8_bytes)

    def cost(self, site: Site, target: Target) -> Cost:
        return int8_weights_cost(super().cost(site, target), site, target)


@kernel("fully_connected.packed_f32", FullyConnected)
class PackedFullyConnectedF32(_Packed):
    """Vectors times a constant matrix, eight outputs at a time; any core with an FPU."""

    def accepts(self, site: Site, target: Target) -> bool:
        return packs(site, target)

    def work(self, site: Site, target: Target) -> dict[str, float]:
        op, (outputs, depth) = site.node.op, site.signature.inputs[1].shape
        assert isinstance(op, FullyConnected)
        vectors = site.signature.inputs[0].element_count // depth
        return vector_work(vectors, depth, outputs, op.clamp)

    def flash_bytes(self, site: Site, target: Target) -> int:
        outputs, depth = site.signature.inputs[1].shape
        return self.packed_bytes(outputs, depth)

    def generate(self, site: Site, target: Target) -> KernelCode:
        op = site.node.op
        assert isinstance(op, FullyConnected)
        return self.code(site, constant(site, 1), constant(site, 2), op.clamp)


@kernel("fully_connected.w8_f32", FullyConnected)
class FullyConnectedW8F32(_Int8Weights, PackedFullyConnectedF32):
    """Vectors times a constant matrix of int8, eight outputs at a time; any core."""

    def accepts(self, site: Site, target: Target) -> bool:
        return has_int8_weights(site)


@kernel("batch_matmul.staged_f32", BatchMatMul)
class StagedBatchMatMulF32(FloatBatchMatMul):
    """Computed matrices, the second put in the order of the loops; any core with an FPU."""

    def accepts(self, site: Site, target: Target) -> bool:
        op = site.node.op
        assert isinstance(op, BatchMatMul)
        return target.core.has_fpu and super().accepts(site, target) and not op.adj_x

    def work(self, site: Site, target: Target) -> dict[str, float]:
        op, (*batch, rows, columns) = site.node.op, site.signature.output.shape
        assert isinstance(op, BatchMatMul)
        depth, products = op.depth(site.signature), math.prod(batch)
        each = vector_work(rows, depth, columns, None)
        work = {word: products * amount for word, amount in each.items() if word != "call"}
        blocks = [width for _, width in channel_blocks(columns)]
        return {
            "call": 1.0, "matrix": products, "staged": float(products * columns * depth),
            "filled": products * (sum(blocks) - columns) * depth,
            "staged row": products * len(blocks) * depth, **work,
        }  # fmt: skip

    def cost(self, site: Site, target: Target) -> Cost:
        work, scratch = self.work(site, target), self.scratch_bytes(site, target)
        cycles = 3.5 * site.node.macs + 8 * work["staged"] + 100 * work["matrix"]
        return Cost(cycles, 1200, 0, scratch)

    def scratch_bytes(self, site: Site, target: Target) -> int:
        op = site.node.op
        assert isinstance(op, BatchMatMul)
        return packed_bytes(site.signature.output.shape[-1], op.depth(site.signature))

    def generate(self, site: Site, target: Target) -> KernelCode:
        return replace(
            super().generate(site, target),
            function="glowmcu_batch_matmul_staged_f32",
            header="glowmcu_batch_matmul_staged_f32.h",
            scratch_bytes=self.scratch_bytes(site, target),
        )
