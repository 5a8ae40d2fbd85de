"""Constants of `wide.windows_dsp` in the order that its loop reads: glowmcu_wide_windows_dsp.h."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from glowmcu.ir.operation import Array, Rounding
from glowmcu.ir.types import ElementType
from glowmcu.kernels.common.layer_fields import constant
from glowmcu.kernels.common.wide_layer import (
    WideGeometry,
    fits_int32,
    wide_geometry,
    wide_range,
    wide_scales,
    window_edges,
)
from glowmcu.kernels.dsp.int16.results_assembly import clamp_of
from glowmcu.kernels.dsp.int16.windows_assembly import CHANNELS, WindowCode
from glowmcu.kernels.kernel import Site, Target, once_a_site
from glowmcu.lazy_dataclass import dataclass
from glowmcu.ops.convolution import Conv2D
from glowmcu.ops.matmul import FullyConnected
from glowmcu.ops.wide import ACCUMULATOR_END

_FIRST = 256
_INT16_MIN = -(2**15)
#: Twice a sum stays within int32.
_DOUBLED_END = 2**30
#: Shifts to the right of `_doubled_scales`.
_LEAST_SHIFT, _MOST_SHIFT = 1, 30


@dataclass(frozen=True, eq=False)
class WindowStream:
    """A layer's code but for what the core has to say, and its constants."""

    code: WindowCode
    geometry: WideGeometry
    weights: Array
    bias: Array
    scales: Array

    @property
    def blocks(self) -> int:
        """Of all groups."""
        return self.geometry.groups * -(-self.geometry.group_outputs // CHANNELS)

    @property
    def size_bytes(self) -> int:
        """Of the constants."""
        geometry = self.geometry
        steps = geometry.kernel_height * geometry.parts * -(-geometry.run // 2)
        return 4 * self.blocks * (self.code.start_words + 2 * steps + self.code.scale_words)

    def words(self) -> npt.NDArray[np.int32]:
        """The stream."""
        weights = self._by_blocks(self.weights.reshape(len(self.weights), -1))
        parts = (
            self._starts(self._by_blocks(self.bias.reshape(-1, 1))[..., 0]),
            self._weights(weights),
            self._by_blocks(self.scales).reshape(self.blocks, -1),
        )
        return np.concatenate([part.astype(np.int32) for part in parts], axis=1).reshape(-1)

    def _by_blocks(self, rows: Array) -> Array:
        """(outputs, n) to (blocks, channels, n), with zeros behind the last channels of a group."""
        groups = rows.reshape(self.geometry.groups, self.geometry.group_outputs, -1)
        room = -self.geometry.group_outputs % CHANNELS
        padded = np.pad(groups, ((0, 0), (0, room), (0, 0)))
        return padded.reshape(self.blocks, CHANNELS, -1)

    def _starts(self, bias: Array) -> Array:
        """(blocks, words) of (blocks, channels)."""
        if not self.code.packed and not self.code.wide:
            return bias
        firsts, seconds = bias[:, 0::2], bias[:, 1::2]
        both = _FIRST * firsts + seconds if self.code.packed else firsts
        second = _two_words(seconds) if self.code.wide else seconds[..., np.newaxis]
        words = np.concatenate([_two_words(both), second], axis=2)
        return words.reshape(len(bias), -1)

    def _weights(self, weights: Array) -> Array:
        """(blocks, words) of (blocks, channels, taps)."""
        runs = weights.astype(np.int32).reshape(self.blocks, CHANNELS, -1, self.geometry.run)
        runs = np.pad(runs, ((0, 0), (0, 0), (0, 0), (0, self.geometry.run % 2)))
        firsts, seconds = runs[:, 0::2], runs[:, 1::2]
        high = _FIRST * firsts
        halves = high + seconds if self.code.packed else high | (seconds & 0xFF)
        words = (halves[..., 0::2] & 0xFFFF) | (halves[..., 1::2] << 16)
        return np.ascontiguousarray(words.transpose(0, 2, 3, 1)).reshape(self.blocks, -1)


def _two_words(values: Array) -> Array:
    """Numbers of 64 bits as the lower and the upper half of each, along a new axis."""
    return np.stack([values & 0xFFFFFFFF, values >> 32], axis=-1).astype(np.int64)


@once_a_site
def window_stream(site: Site) -> WindowStream | None:
    """The constants; None where no code is exact."""
    geometry = wide_geometry(site)
    weights = constant(site, 1).reshape(geometry.groups * geometry.group_outputs, -1)
    scales = _scales(site)
    if scales is None or int(max(wide_range(site), default=0)) >= ACCUMULATOR_END:
        return None
    is_doubled = scales.shape[1] > 1
    is_trimmed, is_empty = window_edges(site, geometry)
    parts_of_runs = is_trimmed and geometry.parts == 1
    op = site.node.op
    assert isinstance(op, Conv2D | FullyConnected)
    code = WindowCode(
        packed=_packs(geometry, weights),
        wide=not fits_int32(site),
        doubled=is_doubled,
        clamp=clamp_of(op.clamp_range(site.signature)),
        rest=bool(geometry.run % 4 or (parts_of_runs and geometry.group_inputs % 4) or is_empty),
        parts=geometry.parts > 1,
        single=geometry.kernel_height == geometry.parts == 1 and not is_trimmed and not is_empty,
        front=parts_of_runs and geometry.group_inputs % 2 == 1,
    )
    bias = constant(site, 2).astype(np.int64)
    return WindowStream(code, geometry, weights, bias, scales)


def known_stream(site: Site) -> WindowStream:
    """What `accepts` has found to exist."""
    stream = window_stream(site)
    assert stream is not None
    return stream


def _packs(geometry: WideGeometry, weights: Array) -> bool:
    """Whether 256 * first + second of all channels that share words are int16."""
    groups = weights.astype(np.int32).reshape(geometry.groups, geometry.group_outputs, -1)
    groups = np.pad(groups, ((0, 0), (0, geometry.group_outputs % 2), (0, 0)))
    return int((_FIRST * groups[:, 0::2] + groups[:, 1::2]).min(initial=0)) >= _INT16_MIN


def _scales(site: Site) -> Array | None:
    """(channels, words): multiplier and shift in one, or three words of the Q31 form."""
    q15 = wide_scales(site)
    if q15 is not None:
        multipliers, shifts = q15
        return ((multipliers << 16) | shifts).reshape(-1, 1)
    if site.signature.inputs[2].element is ElementType.I64:
        return None
    return _doubled_scales(site)


def _doubled_scales(site: Site) -> Array | None:
    """Multiplier, the half that the shift drops, and the shift to the right."""
    op, channels = site.node.op, site.signature.inputs[2].shape
    assert isinstance(op, Conv2D | FullyConnected)
    if site.rounding is not Rounding.DOUBLE or max(wide_range(site), default=0) >= _DOUBLED_END:
        return None
    scale = op.requantization(site.signature)
    shifts = np.broadcast_to(-scale.shifts.astype(np.int64), channels)
    multipliers = np.broadcast_to(scale.multipliers.astype(np.int64), channels)
    shifts = np.where(multipliers == 0, _LEAST_SHIFT, shifts)
    if shifts.min(initial=_LEAST_SHIFT) < _LEAST_SHIFT or shifts.max(initial=0) > _MOST_SHIFT:
        return None
    return np.stack([multipliers, 1 << (shifts - 1), shifts], axis=1)


def code_for(site: Site, target: Target) -> WindowCode:
    """Of the layer on the target's core."""
    code = known_stream(site).code
    return replace(code, loads=target.core.dual_issue)
