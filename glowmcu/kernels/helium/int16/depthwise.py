"""depthwise_conv_2d on int16 with int8 weights, on cores with Helium."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from glowmcu.kernels.common.wide_depthwise import (
    depthwise_fields,
    depthwise_rows,
    depthwise_work,
    is_wide_depthwise,
)
from glowmcu.kernels.common.wide_layer import wide_note
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

_CHANNELS = 8
#: Instructions of each amount of work, until the layer is priced from measurements.
_AMOUNTS = {"call": 80.0, "pixel": 60.0, "block": 50.0, "row": 10.0, "tap": 10.0, "single": 0.0,
            "single tap": 0.0}  # fmt: skip
#: Words behind a block's weights: three of each channel.
_SCALE_WORDS = 3 * _CHANNELS
_STREAM = "weights and scales, 8 channels a block"


@kernel("wide_depthwise.mve", DepthwiseConv2D)
class WideDepthwiseMve(Kernel):
    """Eight channels of a pixel at a time, one result a channel; any window."""

    def accepts(self, site: Site, target: Target) -> bool:
        return target.core.has_mve and is_wide_depthwise(site)

    def work(self, site: Site, target: Target) -> Mapping[str, float]:
        return depthwise_work(site, _CHANNELS, is_tail_alone=False)

    def flash_bytes(self, site: Site, target: Target) -> int:
        _, height, width, channels = site.signature.inputs[1].shape
        return -(-channels // _CHANNELS) * (_CHANNELS * height * width + 4 * _SCALE_WORDS)

    def cost(self, site: Site, target: Target) -> Cost:
        work = self.work(site, target)
        amount = sum(_AMOUNTS[name] * count for name, count in work.items())
        return Cost(amount, 560, self.flash_bytes(site, target))

    def generate(self, site: Site, target: Target) -> KernelCode:
        op, signature = site.node.op, site.signature
        assert isinstance(op, DepthwiseConv2D)
        stream = ConstantArray("stream", _stream(site), _STREAM)
        fields = (*depthwise_fields(site), Field("stream", stream))
        return KernelCode(
            function="glowmcu_wide_depthwise_mve_s16",
            operands=(0,),
            header="glowmcu_wide_depthwise_mve.h",
            parameters=Parameters("glowmcu_wide_depthwise_vectors", fields),
            rows=signature.output.shape[1],
            batches=signature.output.shape[0],
            overlaps=depthwise_overlaps(site),
            notes=(wide_note(site),),
            weight_passes=self.work(site, target)["pixel"],
        )


def _stream(site: Site) -> npt.NDArray[np.int32]:
    weights, bias, multipliers, shifts = depthwise_rows(site)
    room = -len(weights) % _CHANNELS
    rows = np.pad(weights, ((0, room), (0, 0))).reshape(-1, _CHANNELS, weights.shape[1])
    words = np.ascontiguousarray(rows.transpose(0, 2, 1)).astype(np.int8)
    scales = np.stack([bias.astype(np.int64), multipliers << 16, -shifts])
    by_parity = np.pad(scales, ((0, 0), (0, room))).reshape(3, -1, _CHANNELS // 2, 2)
    blocks = len(rows)
    ends = np.ascontiguousarray(by_parity.transpose(1, 0, 3, 2)).reshape(blocks, -1)
    return np.concatenate(
        [words.reshape(blocks, -1).view("<i4"), ends.astype(np.int32)], axis=1
    ).astype(np.int32).reshape(-1)  # fmt: skip
