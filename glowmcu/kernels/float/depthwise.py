"""Float depthwise_conv_2d on cores with an FPU: two pixels by eight channels at a time.

Channels that fill no block are in one that ends with the last channel, so that some are computed
twice. See glowmcu_depthwise_windows.h.
"""

from __future__ import annotations

import numpy as np

from glowmcu.ir.operation import Array
from glowmcu.kernels.common.layer_fields import (
    clamping_fields,
    constant,
    is_float,
    window_fields,
)
from glowmcu.kernels.common.window_work import taps_inside
from glowmcu.kernels.float.convolution import has_int8_weights, int8_weights_cost, packs
from glowmcu.kernels.float.int8_weights import int8_blocks
from glowmcu.kernels.float.windows import (
    image_overlaps,
    image_windows,
    inside_fields,
    output_word,
)
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
from glowmcu.ops.convolution import DepthwiseConv2D


def _width(channels: int) -> int:
    return 8 if channels >= 8 else 4


def _starts(channels: int) -> list[int]:
    """The first channel of each block."""
    width = _width(channels)
    starts = list(range(0, channels - width + 1, width))
    return starts if channels % width == 0 else [*starts, channels - width]


def _own(channels: int) -> int | None:
    """What `group_overlaps` wants to know: each block reads its own channels alone, so that what it
    writes is as far in its pixel as what the next one reads; the last one may begin earlier.
    """
    starts = _starts(channels)
    return len(starts) * _width(channels) - channels if len(starts) > 1 else None


def _packed(weights: Array, bias: Array) -> ConstantArray:
    """`weights` is (taps, channels); a bias of -0 is stored as 0, which changes no result."""
    rows = np.concatenate([weights, (bias + np.float32(0.0))[np.newaxis]])
    width = _width(rows.shape[1])
    blocks = [rows[:, start : start + width].reshape(-1) for start in _starts(rows.shape[1])]
    return ConstantArray("weights", np.concatenate(blocks), "blocks of channels, then biases")


@kernel("depthwise_conv_2d.packed_f32", DepthwiseConv2D)
class PackedDepthwiseF32(Kernel):
    """One result a channel, four channels at least; any core with an FPU."""

    function = "glowmcu_depthwise_packed_f32"
    packed = staticmethod(_packed)

    def accepts(self, site: Site, target: Target) -> bool:
        return packs(site, target) and self._has_its_shape(site)

    def _has_its_shape(self, site: Site) -> bool:
        x, out = site.signature.inputs[0].shape, site.signature.output.shape
        return x[3] == out[3] and out[3] >= 4 and self._sees_everywhere(site)

    def _sees_everywhere(self, site: Site) -> bool:
        """Whether every window has a tap inside the image."""
        op, (x, weights, _) = site.node.op, site.signature.inputs
        assert isinstance(op, DepthwiseConv2D)
        return all(
            taps_inside(x.shape[1 + axis], site.signature.output.shape[1 + axis],
                        weights.shape[1 + axis], op.strides[axis], op.dilations[axis],
                        op.padding[axis]).all()
            for axis in (0, 1)
        )  # fmt: skip

    def work(self, site: Site, target: Target) -> dict[str, float]:
        op, weights, out = site.node.op, site.signature.inputs[1], site.signature.output
        assert isinstance(op, DepthwiseConv2D)
        pairs, singles = image_windows(op, site.signature, weights.shape[1:3], 1)
        width, blocks = _width(out.shape[3]), len(_starts(out.shape[3]))
        together = pairs.count + singles.count
        name = "sixteen", "eight", "four"
        two, one = (name[0], name[1]) if width == 8 else (name[1], name[2])
        work = dict.fromkeys((f"tap for {word}" for word in name), 0.0)
        work[f"tap for {two}"] += pairs.products * blocks
        work[f"tap for {one}"] += singles.products * blocks
        return {
            "call": 1.0,
            "pixels": together,
            "tail": together if out.shape[3] % width else 0,
            "block": together * blocks,
            output_word(op.clamp): (2 * pairs.count + singles.count) * blocks * width,
            "row": (pairs.rows + singles.rows) * blocks,
            **work,
        }

    def flash_bytes(self, site: Site, target: Target) -> int:
        channels = site.signature.output.shape[3]
        return self.channel_bytes(site) * len(_starts(channels)) * _width(channels)

    def channel_bytes(self, site: Site) -> int:
        """A channel's weights and bias."""
        weights = site.signature.inputs[1].shape
        return 4 * (weights[1] * weights[2] + 1)

    def generate(self, site: Site, target: Target) -> KernelCode:
        op, (x, weights, _) = site.node.op, site.signature.inputs
        assert isinstance(op, DepthwiseConv2D)
        out, channels = site.signature.output, x.shape[3]
        packed = self.packed(constant(site, 1).reshape(-1, channels), constant(site, 2))
        fields = (
            Field("in_height", x.shape[1]),
            Field("in_width", x.shape[2]),
            Field("channels", channels),
            Field("out_width", out.shape[2]),
            Field("kernel_height", weights.shape[1]),
            Field("kernel_width", weights.shape[2]),
            *window_fields(op),
            *inside_fields(op, site.signature, weights.shape[1:3]),
            *clamping_fields(op.clamp),
            Field("width", _width(channels)),
            Field("weights", packed),
        )
        return KernelCode(
            function=self.function,
            operands=(0,),
            header=f"{self.function}.h",
            parameters=Parameters("glowmcu_depthwise_packed_real", fields),
            rows=out.shape[1],
            batches=out.shape[0],
            overlaps=image_overlaps(op, site.signature, weights.shape[1:3], _own(channels)),
        )


def _packed_int8(weights: Array, bias: Array) -> ConstantArray:
    """`weights` is (taps, channels), int8 times a scale a channel."""
    channels = weights.shape[1]
    blocks = [(start, _width(channels)) for start in _starts(channels)]
    return int8_blocks(weights.T, bias, blocks)


@kernel("depthwise_conv_2d.packed_w8_f32", DepthwiseConv2D)
class PackedDepthwiseW8F32(PackedDepthwiseF32):
    """The same with int8 weights of a float model, which become floats in registers; any core."""

    keeps_int8_weights = True
    function = "glowmcu_depthwise_w8_f32"
    packed = staticmethod(_packed_int8)

    def accepts(self, site: Site, target: Target) -> bool:
        return is_float(site) and self._has_its_shape(site) and has_int8_weights(site)

    def cost(self, site: Site, target: Target) -> Cost:
        return int8_weights_cost(super().cost(site, target), site, target)

    def channel_bytes(self, site: Site) -> int:
        weights = site.signature.inputs[1].shape
        return weights[1] * weights[2] + 8
