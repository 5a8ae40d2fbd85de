"""svdf on cores with DSP instructions: four filters at a time, queues that move in words."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from glowmcu.ir.function_names import specialized
from glowmcu.ir.operation import Array, Rounding
from glowmcu.ir.types import ElementType
from glowmcu.kernels.common.layer_fields import constant, is_constant
from glowmcu.kernels.dsp.dense.stream import PACKED_SCALE
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
    once_a_site,
)
from glowmcu.kernels.portable.svdf import POINTERS, feature_biases, svdf_shape, time_biases
from glowmcu.ops.fixed_point import Requantization
from glowmcu.ops.svdf import Svdf

#: Filters of a block, and inputs of a word.
_FILTERS, _FOUR = 4, 4
#: Twice a sum of the input stays within int32; 256 times one where filters share words.
_SUM_END, _PACKED_END = 2**30, 2**23
_INT32_END = 2**31


@kernel("svdf.dsp", Svdf)
class SvdfDsp(Kernel):
    """int8 with a state of int8 that remembers a multiple of four runs."""

    def accepts(self, site: Site, target: Target) -> bool:
        if not target.core.has_dsp or not is_constant(site, 1, 2, 3):
            return False
        is_short = site.signature.inputs[4].element is ElementType.I8
        if not is_short or site.rounding is not Rounding.DOUBLE:
            return False
        return svdf_shape(site).memory % _FOUR == 0 and _is_exact(site)

    def work(self, site: Site, target: Target) -> Mapping[str, float]:
        shape = svdf_shape(site)
        filters, fours = shape.batches * shape.filters, -(-shape.depth // _FOUR)
        blocks = -(-shape.filters // _FILTERS)
        block_words = 5 + 4 * fours + _FILTERS * (1 + shape.memory // _FOUR)
        packed = int(np.count_nonzero(_stream(site)[::block_words]))
        return {
            "call": 1.0,
            "block": shape.batches * blocks,
            "four": shape.batches * packed * fours,
            "four wide": shape.batches * (blocks - packed) * fours,
            "filter": filters,
            "moved": filters * shape.memory // _FOUR,
        }

    def cost(self, site: Site, target: Target) -> Cost:
        flash = _stream(site).nbytes
        return Cost(2.0 * site.node.macs, 1000, flash, code_key=_function(site))

    def generate(self, site: Site, target: Target) -> KernelCode:
        op, shape = site.node.op, svdf_shape(site)
        assert isinstance(op, Svdf)
        fields = (
            Field("batches", shape.batches),
            Field("depth", shape.depth),
            Field("filters", shape.filters),
            Field("state_zero_point", site.signature.inputs[4].zero_point),
            _scale("feature", op.feature_requantization(site.signature), 0),
            _scale("time", op.time_requantization(site.signature), _zero_point(site), doubled=True),
            Field("stream", ConstantArray("stream", _stream(site), "see glowmcu_svdf_dsp.h")),
        )
        return KernelCode(
            function=_function(site),
            operands=POINTERS,
            template="dsp/svdf_dsp.c.j2",
            view={
                "headers": ("glowmcu_svdf_dsp.h",),
                "memory": shape.memory,
                "rank": shape.rank,
                "tail": shape.depth % (2 * _FOUR),
                "last": shape.filters % _FILTERS,
            },
            parameters=Parameters("glowmcu_svdf_streamed", fields),
            notes=(feature_biases(site)[1],),
        )


def _function(site: Site) -> str:
    shape = svdf_shape(site)
    tail, last = shape.depth % (2 * _FOUR), shape.filters % _FILTERS
    return specialized(
        "svdf", f"memory {shape.memory}", f"rank {shape.rank}", f"tail {tail}", f"last {last}"
    )


def _scale(name: str, scale: Requantization, zero_point: int, doubled: bool = False) -> Field:
    shift, multiplier = -int(scale.shifts[0]), int(scale.multipliers[0])
    fields = (
        Field("multiplier", 2 * multiplier - 2**32 if doubled else multiplier),
        Field("step", _step(shift, zero_point)),
        Field("shift", shift),
    )
    return Field(name, Parameters("glowmcu_svdf_scale", fields))


def _step(shift: int, zero_point: int) -> int:
    return (zero_point << shift) + (1 << (shift - 1))


def _zero_point(site: Site) -> int:
    return site.signature.output.zero_point


def _is_exact(site: Site) -> bool:
    """Whether both rescalings are shifts to the right, of sums that are small enough."""
    op = site.node.op
    assert isinstance(op, Svdf)
    feature, time = (
        op.feature_requantization(site.signature),
        op.time_requantization(site.signature),
    )
    if not all(1 <= -int(scale.shifts[0]) <= 31 for scale in (feature, time)):
        return False
    step = _step(-int(time.shifts[0]), _zero_point(site))
    if int(time.multipliers[0]) + abs(step) >= _INT32_END:
        return False
    return _largest_sum(site) < _SUM_END


def _largest_sum(site: Site) -> int:
    """What no sum of the input exceeds, nor one on its way: the zero point is part of the bias."""
    return int(512 * np.abs(constant(site, 1).astype(np.int64)).sum(axis=1).max())


@once_a_site
def _stream(site: Site) -> npt.NDArray[np.uint32]:
    """Blocks of four filters, see glowmcu_svdf_dsp.h."""
    shape = svdf_shape(site)
    missing, depth = -shape.filters % _FILTERS, -shape.depth % _FOUR
    starts = np.pad(feature_biases(site)[0].astype(np.int64), (0, missing))
    features = np.pad(constant(site, 1).astype(np.int64), ((0, missing), (0, depth)))
    grown = np.pad(time_biases(site)[:, np.newaxis], ((0, 0), (0, shape.rank - 1))).reshape(-1, 1)
    times = np.concatenate([grown.astype("<i4").view("<u4"), constant(site, 2).view("<u4")], axis=1)
    can_pack = _largest_sum(site) < _PACKED_END
    parts: list[Array] = []
    for first in range(0, shape.filters, _FILTERS):
        block = slice(first, first + _FILTERS)
        parts += [*_inputs(starts[block], features[block], can_pack), times[block].reshape(-1)]
    words: npt.NDArray[np.uint32] = (np.concatenate(parts) & 0xFFFFFFFF).astype(np.uint32)
    return words


def _inputs(starts: Array, features: Array, can_pack: bool) -> tuple[Array, ...]:
    """Of four filters: how weights are packed, what sums start from, and weights."""
    orders = [_order(features[first : first + 2]) for first in (0, 2)]
    if not can_pack or None in orders:
        words = np.ascontiguousarray(features.astype(np.int8)).view("<u4")
        return np.zeros(1, np.int64), starts, words.T.reshape(-1)
    flags, high, low = 1, [], []
    for pair, is_exchanged in enumerate(orders):
        flags += (2 << pair) * bool(is_exchanged)
        high.append(2 * pair + bool(is_exchanged))
        low.append(2 * pair + (not is_exchanged))
    pairs = PACKED_SCALE * features[high] + features[low]
    fours = (pairs & 0xFFFF).reshape(2, -1, _FOUR)
    words = fours[:, :, :2] | (fours[:, :, 2:] << 16)
    packed = np.stack([PACKED_SCALE * starts[high] + starts[low], starts[low]], axis=1)
    return np.array([flags]), packed.reshape(-1), words.swapaxes(0, 1).reshape(-1)


def _order(pair: Array) -> bool | None:
    """Whether two filters must be exchanged to share an int16: -128 has none below 0 beside it."""
    for is_exchanged, (high, low) in enumerate((pair, pair[::-1])):
        if (PACKED_SCALE * high + low).min() >= -(2**15):
            return bool(is_exchanged)
    return None
