"""fully_connected for RISC-V: eight outputs at a time, for which an element is loaded once."""

from __future__ import annotations

import numpy as np

from glowmcu.ir.operation import Array
from glowmcu.kernels.common.bounds import accumulator_bound, bound_note
from glowmcu.kernels.common.layer_fields import constant, is_constant, is_int8
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
from glowmcu.kernels.riscv.scale import (
    can_scale,
    scale_bytes,
    scale_field,
    scale_words,
    scaled_work,
)
from glowmcu.ops.matmul import FullyConnected

_BLOCK = 16


def _shape(site: Site) -> tuple[int, int, int]:
    """Rows, elements of a row, outputs."""
    outputs, depth = site.signature.inputs[1].shape
    return site.signature.inputs[0].element_count // depth, depth, outputs


@kernel("fully_connected.eights_riscv", FullyConnected)
class EightsFullyConnected(Kernel):
    """Eight outputs at a time, each element loaded once for them."""

    def accepts(self, site: Site, target: Target) -> bool:
        if not target.core.is_riscv or not is_constant(site, 1, 2) or not is_int8(site):
            return False
        quantization = site.signature.inputs[1].quantization
        assert quantization is not None
        return not any(quantization.zero_points) and can_scale(site)

    def work(self, site: Site, target: Target) -> dict[str, float]:
        rows, depth, outputs = _shape(site)
        eights = -(-outputs // 8)
        return {
            "call": 1.0,
            "block": rows * -(-outputs // _BLOCK),
            "output eight": rows * eights,
            "group": rows * eights * (depth // 4),
            "tap": rows * eights * (depth % 4),
            **scaled_work(site),
        }

    def flash_bytes(self, site: Site, target: Target) -> int:
        return int(_packed(constant(site, 1)).nbytes) + scale_bytes(site)

    def generate(self, site: Site, target: Target) -> KernelCode:
        rows, depth, outputs = _shape(site)
        weights, bias = constant(site, 1), constant(site, 2)
        bound = accumulator_bound(site, weights, bias)
        fields = (
            Field("rows", rows),
            Field("depth_in", depth),
            Field("depth_out", outputs),
            Field("weights", ConstantArray("weights", _packed(weights), "eight, element, 8")),
            scale_field(site),
            Field("scale_words", scale_words(site)),
        )
        return KernelCode(
            function="glowmcu_fully_connected_riscv_s8",
            operands=(0,),
            header="glowmcu_fully_connected_riscv.h",
            parameters=Parameters("glowmcu_fully_connected_riscv", fields),
            notes=(bound_note(site.node.macs, bound),),
        )


def _packed(weights: Array) -> Array:
    """(outputs, elements) as (eights of outputs, elements, 8)."""
    outputs, depth = weights.shape
    padded = np.zeros((-(-outputs // 8) * 8, depth), np.int8)
    padded[:outputs] = weights
    return np.ascontiguousarray(padded.reshape(-1, 8, depth).transpose(0, 2, 1))
