"""Depthwise convolution along one axis on Armv6-M: all of a channel, two neighbours at a time.

One multiplication of a word of two inputs is a product of both results; a channel's constants are
loaded once. What a result may share: `templates/kernels/nodsp/depthwise_sequence_nodsp.c.j2`.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from glowmcu.ir.function_names import specialized
from glowmcu.ir.kernel_code import Overlap
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
from glowmcu.kernels.requantization.bent import find_bent_form
from glowmcu.kernels.requantization.forms import requantization_task
from glowmcu.lazy_dataclass import dataclass
from glowmcu.ops.convolution import DepthwiseConv2D

#: Unrolled code, and weights within reach of a load.
_LEAST_TAPS, _MOST_TAPS = 2, 32
#: Two products' lower halves, of inputs down to -128, stay inside 16 bits.
_MOST_WEIGHTS = 255


@dataclass(frozen=True)
class _Sequence:
    """A window along `axis` of the image: 1, down its only column, or 2, along its only row."""

    axis: int
    in_steps: int
    out_steps: int
    channels: int
    taps: int
    pad: int


def _sequence(site: Site) -> _Sequence | None:
    op = site.node.op
    assert isinstance(op, DepthwiseConv2D)
    x, weights, out = (type_.shape for type_ in (*site.signature.inputs[:2], site.signature.output))
    for axis, other in ((1, 2), (2, 1)):
        taps, (before, after) = weights[axis], (op.padding[axis - 1], op.padding[axis + 1])
        if x[other] != 1 or weights[other] != 1 or out[other] != 1 or x[3] != out[3]:
            continue
        is_dense = op.strides[axis - 1] == 1 and op.dilations[axis - 1] == 1
        # Every window has an element of the image.
        if is_dense and _LEAST_TAPS <= taps <= _MOST_TAPS and max(before, after) < taps:
            return _Sequence(axis, x[axis], out[axis], x[3], taps, before)
    return None


def _weights(site: Site) -> Array:
    """(channels, taps)."""
    weights = constant(site, 1)
    return np.ascontiguousarray(weights.reshape(-1, weights.shape[3]).T)


def _fits(weights: Array) -> bool:
    """Whether what two neighbouring weights make of an input fits half a word."""
    paired = np.pad(np.abs(weights.astype(np.int64)), ((0, 0), (0, weights.shape[1] % 2)))
    return bool((paired[:, ::2] + paired[:, 1::2] <= _MOST_WEIGHTS).all())


@kernel("depthwise_conv_2d.sequence_nodsp", DepthwiseConv2D)
class SequenceDepthwiseConv2D(Kernel):
    """Along the only column or row, stride 1; all of a channel before the next; Armv6-M."""

    #: Of single rows `work` says it all.
    row_slowdown: ClassVar[float] = 1.0
    rows_overlap_as_layers: ClassVar[bool] = True

    def accepts(self, site: Site, target: Target) -> bool:
        if not target.core.architecture.startswith("armv6") or not is_constant(site, 1, 2):
            return False
        if not is_int8(site) or _sequence(site) is None or not _fits(_weights(site)):
            return False
        return find_bent_form(requantization_task(site)) is not None

    def work(self, site: Site, target: Target) -> dict[str, float]:
        sequence = _found(site)
        calls, steps = 1, sequence.out_steps
        if site.by_rows and sequence.axis == 1:
            calls, steps = steps, 1
        calls *= site.signature.output.shape[0]
        channels = calls * sequence.channels
        pairs = channels * -(-steps // 2)
        return {
            "call": calls,
            "channel": channels,
            "weight": channels * sequence.taps,
            "element": channels * min(steps + sequence.taps - 1, sequence.in_steps),
            "pair": pairs,
            "tap of a pair": pairs * sequence.taps,
        }

    def flash_bytes(self, site: Site, target: Target) -> int:
        return site.signature.inputs[1].size_bytes + _words(site).nbytes

    def scratch_bytes(self, site: Site, target: Target) -> int:
        sequence = _found(site)
        return 4 * (sequence.out_steps + sequence.taps)

    def code_key(self, site: Site, target: Target) -> str:
        return _function(site)

    def generate(self, site: Site, target: Target) -> KernelCode:
        sequence, weights, x = _found(site), _weights(site), site.signature.inputs[0]
        bound = accumulator_bound(site, weights, constant(site, 2))
        fields = (
            Field("in_steps", sequence.in_steps),
            Field("out_steps", sequence.out_steps),
            Field("rows_are_steps", int(sequence.axis == 1)),
            Field("channels", sequence.channels),
            Field("pad", sequence.pad),
            Field("in_zero_point", x.zero_point),
            Field("weights", ConstantArray("weights", weights, "channel, tap")),
            Field(
                "scales",
                ConstantArray("scales", _words(site), "start; factor; addend; step, span; zero"),
            ),
        )
        return KernelCode(
            function=_function(site),
            operands=(0,),
            template="nodsp/depthwise_sequence_nodsp.c.j2",
            view={
                "taps": sequence.taps,
                "headers": ("glowmcu_depthwise_sequence_nodsp.h",),
            },
            parameters=Parameters("glowmcu_depthwise_sequence_nodsp", fields),
            rows=site.signature.output.shape[1],
            batches=x.shape[0],
            # A channel is read before its results are written.
            overlaps={0: Overlap(None, only_gap_bytes=0)} if x.shape[0] == 1 else {},
            scratch_bytes=self.scratch_bytes(site, target),
            notes=(bound_note(site.node.macs, bound),),
        )


def _found(site: Site) -> _Sequence:
    sequence = _sequence(site)
    assert sequence is not None
    return sequence


def _function(site: Site) -> str:
    """Known by what is unrolled into it."""
    return specialized("sequence", f"{_found(site).taps} taps unrolled")


def _words(site: Site) -> Array:
    form = find_bent_form(requantization_task(site))
    assert form is not None
    return form.words
