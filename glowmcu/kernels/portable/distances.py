"""Portable kernels of support vector machines: `squared_distances`, `pairwise_coupling`."""

from __future__ import annotations

import numpy as np

from glowmcu.ir.kernel_code import Field, KernelCode, Parameters
from glowmcu.kernels.kernel import Cost, Kernel, Site, Target, kernel
from glowmcu.ops.distances import SquaredDistances
from glowmcu.ops.pairwise_coupling import BOUND, MOST_ROUNDS, PairwiseCoupling

#: Rounds that a few classes take.
_USUAL_ROUNDS = 5


@kernel("squared_distances.portable_f32", SquaredDistances)
class PortableSquaredDistances(Kernel):
    """Any core."""

    def cost(self, site: Site, target: Target) -> Cost:
        each = 8.0 if target.core.has_fpu else 260.0
        constants = site.constants[1]
        flash = 0 if constants is None else constants.nbytes
        return Cost(each * site.node.macs, 90, 12 + flash)

    def generate(self, site: Site, target: Target) -> KernelCode:
        x, y = site.signature.inputs
        fields = (
            Field("rows", x.shape[0]),
            Field("others", y.shape[0]),
            Field("depth", x.shape[1]),
        )
        return KernelCode(
            function="glowmcu_squared_distances_f32",
            operands=(0, 1),
            header="glowmcu_squared_distances_f32.h",
            parameters=Parameters("glowmcu_squared_distances", fields),
        )


@kernel("pairwise_coupling.portable_f32", PairwiseCoupling)
class PortablePairwiseCoupling(Kernel):
    """Any core."""

    def cost(self, site: Site, target: Target) -> Cost:
        rows, classes = site.signature.output.shape
        each = 60.0 if target.core.has_fpu else 900.0
        return Cost(each * _USUAL_ROUNDS * rows * classes * classes, 420, 20, self._scratch(site))

    def _scratch(self, site: Site) -> int:
        classes = site.signature.output.shape[1]
        return 4 * classes * (classes + 1)

    def generate(self, site: Site, target: Target) -> KernelCode:
        rows, classes = site.signature.output.shape
        fields = (
            Field("rows", rows),
            Field("classes", classes),
            Field("rounds", MOST_ROUNDS),
            Field("start", float(np.float32(1) / np.float32(classes))),
            Field("bound", float(np.float32(BOUND) / np.float32(classes))),
        )
        return KernelCode(
            function="glowmcu_pairwise_coupling_f32",
            operands=(0,),
            header="glowmcu_pairwise_coupling.h",
            parameters=Parameters("glowmcu_pairwise_coupling", fields),
            scratch_bytes=self._scratch(site),
        )
