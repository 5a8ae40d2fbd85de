"""depthwise_conv_2d on int16 with int8 weights, on cores with DSP instructions."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from glowmcu.ir.function_names import specialized
from glowmcu.kernels.common.wide_depthwise import (
    depthwise_fields,
    depthwise_rows,
    depthwise_work,
    is_wide_depthwise,
)
from glowmcu.kernels.common.wide_layer import wide_note
from glowmcu.kernels.dsp.int16.depthwise_assembly import depthwise_assembly
from glowmcu.kernels.dsp.int16.results_assembly import Clamp, clamp_of
from glowmcu.kernels.dsp.order.blocks import ordered
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
from glowmcu.kernels.portable.convolution import depthwise_overlaps
from glowmcu.ops.convolution import DepthwiseConv2D

_CHANNELS = 4
#: Which channel has each byte of a word, from the lowest on: those that SXTB16 puts into one word.
_ORDER = (0, 2, 1, 3)
#: Cycles of each amount of work on a Cortex-M4, until the layer is priced from measurements.
_CYCLES = {"call": 80.0, "pixel": 90.0, "block": 70.0, "row": 12.0, "tap": 17.0, "single": 40.0,
           "single tap": 12.0}  # fmt: skip
_STREAM = "weights and scales, 4 channels a block"


@kernel("wide_depthwise.dsp", DepthwiseConv2D)
class WideDepthwiseDsp(Kernel):
    """Four channels of a pixel at a time, one result a channel; any window."""

    def accepts(self, site: Site, target: Target) -> bool:
        return target.core.has_dsp and is_wide_depthwise(site)

    def work(self, site: Site, target: Target) -> Mapping[str, float]:
        return depthwise_work(site, _CHANNELS, is_tail_alone=True)

    def flash_bytes(self, site: Site, target: Target) -> int:
        _, height, width, channels = site.signature.inputs[1].shape
        return 4 * -(-channels // _CHANNELS) * (height * width + 2 * _CHANNELS)

    def cost(self, site: Site, target: Target) -> Cost:
        work = self.work(site, target)
        cycles = sum(_CYCLES[name] * amount for name, amount in work.items())
        key = self.code_key(site, target)
        return Cost(cycles, 560, self.flash_bytes(site, target), code_key=key)

    def code_key(self, site: Site, target: Target) -> str:
        return specialized("fours", _clamp(site).fact)

    def generate(self, site: Site, target: Target) -> KernelCode:
        op, signature = site.node.op, site.signature
        assert isinstance(op, DepthwiseConv2D)
        stream = ConstantArray("stream", _stream(site), _STREAM)
        fields = (*depthwise_fields(site), Field("stream", stream))
        return KernelCode(
            function=self.code_key(site, target),
            operands=(0,),
            template="dsp/int16/wide_depthwise_dsp.c.j2",
            view={
                "headers": ("glowmcu_wide_depthwise_dsp.h",),
                "assembly": ordered(depthwise_assembly(_clamp(site)), target, apart=("r1",)),
            },
            parameters=Parameters("glowmcu_wide_depthwise", fields),
            rows=signature.output.shape[1],
            batches=signature.output.shape[0],
            overlaps=depthwise_overlaps(site),
            notes=(wide_note(site),),
            weight_passes=self.work(site, target)["pixel"],
        )


def _clamp(site: Site) -> Clamp:
    op = site.node.op
    assert isinstance(op, DepthwiseConv2D)
    return clamp_of(op.clamp_range(site.signature))


def _stream(site: Site) -> npt.NDArray[np.int32]:
    weights, bias, multipliers, shifts = depthwise_rows(site)
    room = -len(weights) % _CHANNELS
    rows = np.pad(weights, ((0, room), (0, 0))).reshape(-1, _CHANNELS, weights.shape[1])
    words = np.ascontiguousarray(rows[:, _ORDER].transpose(0, 2, 1)).astype(np.int8)
    scales = (multipliers << 16) | shifts
    starts, ends = (np.pad(each, (0, room)).reshape(-1, _CHANNELS) for each in (bias, scales))
    parts = (starts, words.reshape(len(rows), -1).view("<i4"), ends)
    return np.concatenate([part.astype(np.int32) for part in parts], axis=1).reshape(-1)
