"""`lstm` on real numbers with constant weights, on cores with an FPU: a gate of all units at once.

See glowmcu_recurrence_packed_f32.h. What the gates see of the input and of the hidden state lies in
the scratch until the units go through their functions.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from glowmcu.kernels.common.layer_fields import constant
from glowmcu.kernels.float.windows import block_work, packed_blocks, packed_bytes, packed_gates
from glowmcu.kernels.kernel import Cost, Field, KernelCode, Site, Target, kernel
from glowmcu.kernels.portable.lstm import (
    POINTERS,
    RealLstm,
    gate_weights,
    lstm_shape,
    real_parameters,
)
from glowmcu.ops.lstm import Lstm

_GATES, _FLOAT_BYTES = 4, 4


@kernel("lstm.packed_f32", Lstm)
class PackedLstm(RealLstm):
    """Real numbers, eight gates at a time; any core with an FPU."""

    each, code_bytes = (3.5, 900.0), 1100

    def accepts(self, site: Site, target: Target) -> bool:
        return target.core.has_fpu and super().accepts(site, target)

    def work(self, site: Site, target: Target) -> dict[str, float]:
        shape = lstm_shape(site)
        steps = float(shape.batches * shape.steps)
        matrices = [(shape.depth, _GATES * shape.units), *[(shape.units, shape.units)] * _GATES]
        return {
            "call": 1.0, "step": steps, "unit": steps * shape.units,
            **block_work(matrices, steps),
        }  # fmt: skip

    def cost(self, site: Site, target: Target) -> Cost:
        estimate = super().cost(site, target)
        flash, scratch = self.flash_bytes(site, target), self.scratch_bytes(site, target)
        return replace(estimate, flash_bytes=flash, scratch_bytes=scratch)

    def flash_bytes(self, site: Site, target: Target) -> int:
        shape = lstm_shape(site)
        hidden = _GATES * packed_bytes(shape.units, shape.units)
        return packed_bytes(_GATES * shape.units, shape.depth) + hidden

    def scratch_bytes(self, site: Site, target: Target) -> int:
        return _GATES * _FLOAT_BYTES * lstm_shape(site).units

    def generate(self, site: Site, target: Target) -> KernelCode:
        weights, recurrent = gate_weights(site)
        bias = constant(site, 3).reshape(-1)
        parameters = real_parameters(
            site,
            Field("biases", None),
            Field("weights", packed_blocks(weights, bias)),
            Field("recurrent", packed_gates(recurrent, np.zeros_like(bias), _GATES)),
        )
        return KernelCode(
            function="glowmcu_lstm_packed_f32",
            operands=POINTERS,
            header="glowmcu_lstm_packed_f32.h",
            parameters=parameters,
            scratch_bytes=self.scratch_bytes(site, target),
        )
