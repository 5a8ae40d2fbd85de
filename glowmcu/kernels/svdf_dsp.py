"""svdf on cores with DSP instructions: four filters at a time, queues that move in words."""

from __future__ import annotations

import numpy as np

from glowmcu.ir.types import ElementType
from glowmcu.kernels.convolution import constant, is_constant
from glowmcu.kernels.kernel import Cost, Kernel, KernelCode, Site, Target, kernel
from glowmcu.kernels.svdf import POINTERS, feature_biases, svdf_parameters, svdf_shape
from glowmcu.ops.svdf import Svdf

_INT32_END = 2**31


@kernel("svdf.dsp", Svdf)
class SvdfDsp(Kernel):
    """int8 with a state of int8 that remembers a multiple of four runs."""

    def accepts(self, site: Site, target: Target) -> bool:
        if not target.core.has_dsp or not is_constant(site, 1, 2, 3):
            return False
        is_short = site.signature.inputs[4].element is ElementType.I8
        return is_short and svdf_shape(site).memory % 4 == 0 and not _wraps(site)

    def cost(self, site: Site, target: Target) -> Cost:
        shape = svdf_shape(site)
        flash = sum(site.signature.inputs[n].size_bytes for n in (1, 2, 3))
        features = shape.batches * shape.filters * shape.depth
        moved = shape.batches * shape.filters * shape.memory
        cycles = 1.9 * features + 3.0 * moved + 45.0 * shape.batches * shape.filters
        return Cost(cycles, 560, flash + 4 * shape.filters)

    def generate(self, site: Site, target: Target) -> KernelCode:
        _, note = feature_biases(site)
        return KernelCode(
            function="glowmcu_svdf_s8_dsp",
            operands=POINTERS,
            header="glowmcu_svdf_dsp.h",
            parameters=svdf_parameters(site),
            notes=(note,),
        )


def _wraps(site: Site) -> bool:
    """Whether a sum over time can exceed int32."""
    shape = svdf_shape(site)
    times = np.abs(constant(site, 2).astype(np.int64)).reshape(shape.units, -1).sum(axis=1)
    bias = np.abs(constant(site, 3).astype(np.int64))
    return bool((512 * times + bias).max() >= _INT32_END)
