"""fully_connected with few outputs on cores with DSP instructions: one or two at a time.

Kernels that take eight channels at a time compute and store eight if there is one: the last
layer of a detector, say. See glowmcu_fully_connected_few_dsp.h.
"""

from __future__ import annotations

import numpy as np

from glowmcu.ir.operation import Array
from glowmcu.kernels.common.bounds import accumulator_bound, bound_note
from glowmcu.kernels.common.layer_fields import (
    constant,
    constant_bytes,
    is_constant,
    is_int8,
    requantization_arrays,
)
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
from glowmcu.ops.matmul import FullyConnected

#: More outputs are for kernels that read the input once for eight.
_MOST_OUTPUTS = 7
_INT32_MAX = 2**31 - 1


@kernel("fully_connected.few_dsp", FullyConnected)
class FullyConnectedFewDsp(Kernel):
    """SMLAD on words of both operands as they are; weights without a zero point."""

    def accepts(self, site: Site, target: Target) -> bool:
        if not target.core.has_dsp or target.core.has_mve:
            return False
        if not is_constant(site, 1, 2) or not is_int8(site):
            return False
        quantization = site.signature.inputs[1].quantization
        assert quantization is not None
        few = site.signature.inputs[1].shape[0] <= _MOST_OUTPUTS
        return few and not any(quantization.zero_points) and _largest_sum(site) <= _INT32_MAX

    def work(self, site: Site, target: Target) -> dict[str, float]:
        outputs, depth = site.signature.inputs[1].shape
        rows = site.signature.inputs[0].element_count // depth
        pairs, ones = divmod(outputs, 2)
        return {
            "call": 1.0,
            "output": rows * outputs,
            "four of two": rows * pairs * (depth // 4),
            "four of one": rows * ones * (depth // 4),
            "rest": rows * outputs * (depth % 4),
        }

    def code_key(self, site: Site, target: Target) -> str:
        return "glowmcu_fully_connected_few_dsp"

    def flash_bytes(self, site: Site, target: Target) -> int:
        return constant_bytes(site)

    def generate(self, site: Site, target: Target) -> KernelCode:
        op, (x, weights, _) = site.node.op, site.signature.inputs
        assert isinstance(op, FullyConnected)
        out, clamp = site.signature.output, op.clamp_range(site.signature)
        multipliers, shifts = requantization_arrays(op.requantization(site.signature), site)
        data = constant(site, 1)
        bound = accumulator_bound(site, np.abs(data.astype(np.int64)), constant(site, 2))
        fields = (
            Field("rows", x.element_count // weights.shape[1]),
            Field("depth_in", weights.shape[1]),
            Field("depth_out", weights.shape[0]),
            Field("out_zero_point", out.zero_point),
            Field("clamp_min", clamp[0]),
            Field("clamp_max", clamp[1]),
            Field("per_channel", int(len(multipliers.data) > 1)),
            Field("weights", ConstantArray("weights", data, "OI")),
            Field("bias", ConstantArray("bias", _bias(site).astype(np.int32))),
            Field("multipliers", multipliers),
            Field("shifts", shifts),
        )
        return KernelCode(
            function=self.code_key(site, target),
            operands=(0,),
            header="glowmcu_fully_connected_few_dsp.h",
            parameters=Parameters("glowmcu_fully_connected_few", fields),
            notes=(bound_note(site.node.macs, bound),),
        )


def _bias(site: Site) -> Array:
    """(outputs,): the bias with what the input's zero point adds to every sum, int64."""
    sums = constant(site, 1).astype(np.int64).sum(axis=1)
    zero_point = site.signature.inputs[0].zero_point
    bias: Array = constant(site, 2).astype(np.int64).reshape(-1) - zero_point * sums
    return bias


def _largest_sum(site: Site) -> int:
    """At any time, whatever is read."""
    reach = 128 * np.abs(constant(site, 1).astype(np.int64)).sum(axis=1)
    return int((np.abs(_bias(site)) + reach).max())
