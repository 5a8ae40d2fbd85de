"""Kernels of regions that an accelerator computes: C around its functions.

What the region's body needs is added when it is planned (`memory_fit/bodies.py`).
"""

from __future__ import annotations

from dataclasses import replace

from glowmcu.kernels.common.layer_fields import constant
from glowmcu.kernels.kernel import ConstantArray, Cost, Kernel, KernelCode, Site, Target, kernel
from glowmcu.ops.delegate import Delegate, EthosU

#: Code around the calls, and of each.
_CODE_BYTES, _CODE_BYTES_A_LAYER = 60, 24
#: What Arm's driver asks for.
_ETHOS_U_ALIGN = 16


@kernel("delegate.hooks", Delegate)
class HookedRegion(Kernel):
    """A function of the accelerator's owner a layer, or the portable kernels."""

    def cost(self, site: Site, target: Target) -> Cost:
        op = site.node.op
        assert isinstance(op, Delegate)
        code = _CODE_BYTES + _CODE_BYTES_A_LAYER * len(op.body.steps)
        return Cost(float(op.cycles), 0, layer_code_bytes=code)

    def generate(self, site: Site, target: Target) -> KernelCode:
        op = site.node.op
        assert isinstance(op, Delegate)
        return KernelCode(
            "", tuple(range(len(op.body.inputs))), header="glowmcu_hooks.h",
            template="portable/delegate.c.j2", operand_align=op.align, can_fail=True,
        )  # fmt: skip


@kernel("ethos_u.vela", EthosU)
class EthosURegion(Kernel):
    """What Vela made, run by Arm's driver, or the portable kernels."""

    def cost(self, site: Site, target: Target) -> Cost:
        op = site.node.op
        assert isinstance(op, EthosU)
        constants = sum(data.nbytes for data in site.constants if data is not None)
        return Cost(float(op.cycles), 0, constants, op.scratch_bytes, layer_code_bytes=_CODE_BYTES)

    def generate(self, site: Site, target: Target) -> KernelCode:
        op = site.node.op
        assert isinstance(op, EthosU)
        count = len(op.body.inputs)
        view = {
            "commands": ConstantArray("commands", constant(site, count)),
            "constants": ConstantArray("vela_weights", constant(site, count + 1)),
        }
        return replace(
            HookedRegion().generate(site, target), header="glowmcu_ethos_u.h", view=view,
            template="portable/ethos_u.c.j2", operand_align=max(op.align, _ETHOS_U_ALIGN),
        )  # fmt: skip
