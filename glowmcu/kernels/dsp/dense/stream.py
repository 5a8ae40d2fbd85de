"""The stream of constants of layers where every output reads all inputs of one place.

A block is for 4 or 8 output channels, two a pair. Words, in the order of the inner loops:

    starts      floor: of the high sums, S; else of S, then of the low sums, L; wide: of all sums
                (in sections, too: packed weights whose sums are parted before they leave 32 bits)
    weights     for every step of two inputs a word a pair, 256 * high + low, or (wide) a channel,
                or (nibbles) four channels, see nibbles.py
    place       twice the block's first channel, and 1 if `flag` is set
    constants   of requantization, channel by channel; none if all channels share theirs

Blocks come from the last to channel 0, so that place 0 ends them; the last one overlaps its
neighbour where the channels do not fill it.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from glowmcu.ir.layer_weights import are_nibbles
from glowmcu.ir.operation import Array
from glowmcu.ir.value_range import Int64Array
from glowmcu.kernels.dsp.dense.nibbles import nibble_halves, nibble_starts, sums_fit
from glowmcu.kernels.requantization.forms import (
    Form,
    FormKind,
    RequantizationTask,
    find_form,
    largest_postshift,
)
from glowmcu.lazy_dataclass import dataclass
from glowmcu.ops.fixed_point import wrap_int32

#: The high channel's weights and sums are 2^8 times the low one's.
_PACKED_BITS = 8
PACKED_SCALE = 2**_PACKED_BITS
#: Inputs of a section: 15 rounds of 32 (direct_assembly.py).
SECTION = 480
#: Post shifts that most layers can have, so that they share a function; each kind in turn.
COMMON_POSTSHIFTS = {FormKind.FLOOR: (12, 9, 6), FormKind.TWO_SIDED: (14, 11, 8)}
#: A literal step keeps within 32 bits.
_MOST_SHIFT = 22


@dataclass(frozen=True)
class BlockLayout:
    """Sizes of a block's parts. `channels` is how many it has; `uniform`: they share constants.
    `nibbles`: weights of four bits, whose sums are parted before requantization: they are `wide`;
    so are those of packed weights in `sections`, which are parted every so many inputs.
    """

    kind: FormKind
    wide: bool
    channels: int
    uniform: bool = False
    nibbles: bool = False
    sections: bool = False

    @property
    def packed(self) -> bool:
        """Whether a word of weights is a pair of channels': 256 * high + low."""
        return self.sections or not self.wide

    @property
    def started(self) -> bool:
        """Whether all sums start from a constant."""
        return self.wide or self.kind is not FormKind.FLOOR

    @property
    def before(self) -> int:
        """Words that sums start from."""
        return self.channels if self.started else self.channels // 2

    @property
    def channel_words(self) -> int:
        """Constants of a channel of its own; packed floor sums have three a pair."""
        return 2 if self.kind is FormKind.FLOOR else 3

    @property
    def after(self) -> int:
        """The place and the constants of requantization."""
        if self.uniform:
            return 1
        constants = self.channel_words * self.channels
        return 1 + constants - (0 if self.started else self.channels // 2)

    @property
    def step_bytes(self) -> int:
        """Weights of a step."""
        if self.nibbles:
            return self.channels
        return 2 * self.channels if self.packed else 4 * self.channels

    def words(self, steps: int) -> int:
        """The whole block."""
        return self.before + steps * self.step_bytes // 4 + self.after


@dataclass(frozen=True, eq=False)
class DenseStream:
    """A layer's constants: `weights` (channels, inputs), without their zero point."""

    form: Form
    layout: BlockLayout
    weights: Array

    @property
    def steps(self) -> int:
        """Of two inputs, the last one may lack one."""
        return (self.depth + 1) // 2

    @property
    def depth(self) -> int:
        """Inputs of a channel."""
        return int(self.weights.shape[1])

    @property
    def blocks(self) -> int:
        return -(-len(self.weights) // self.layout.channels)

    @property
    def size_bytes(self) -> int:
        return 4 * self.blocks * self.layout.words(self.steps)

    @property
    def facts(self) -> tuple[str, ...]:
        """What tells functions for such streams apart (`specialized`)."""
        wide = "wide" if self.layout.wide else ""
        wide = "nibbles" if self.layout.nibbles else "sections" if self.layout.sections else wide
        kind = "uniform requantization" if self.layout.uniform else self.form.kind.fact
        return wide, kind, f"shift {self.form.postshift}" if self.form.postshift else ""

    @property
    def shared_constants(self) -> tuple[int, int, int]:
        """Multiplier, step and shift of a uniform layer."""
        assert self.layout.uniform
        form = self.form
        return int(form.multiplier[0]), int(form.step[0]), int(form.shifts[0])

    def words(self, flag: int = 0) -> npt.NDArray[np.int32]:
        """All blocks, the last one first."""
        count, channels = self.blocks, self.layout.channels
        order = _channel_order(len(self.weights), channels)
        starts, constants = _form_words(self.form, self.layout, order)
        if self.layout.nibbles:
            starts = nibble_starts(starts)
        places = np.maximum(order.reshape(count, channels)[:, :1], 0) * 2 + flag
        words = np.empty((count, self.layout.words(self.steps)), np.uint32)
        ends = np.concatenate([places, constants.reshape(count, -1)], axis=1)
        before, after = starts.shape[1], words.shape[1] - ends.shape[1]
        words[::-1, :before], words[::-1, after:] = _low_words(starts), _low_words(ends)
        # A block at a time: a weight may be a byte, and is four on the way.
        for block, some in zip(words[::-1], order.reshape(count, channels), strict=True):
            block[before:after] = self._weight_words(some)
        return words.reshape(-1).view(np.int32)

    def _weight_words(self, channels: Int64Array) -> npt.NDArray[np.uint32]:
        """Of a block, step by step."""
        weights = _picked(self.weights, channels).astype(np.int32)
        halves = input_steps(weights)
        if self.layout.nibbles:
            halves = nibble_halves(halves)
        elif self.layout.packed:
            halves = PACKED_SCALE * halves[0::2] + halves[1::2]
        assert np.abs(halves).max(initial=0) <= 2**15
        words = (halves[..., 0] & 0xFFFF) | ((halves[..., 1] & 0xFFFF) << 16)
        return np.ascontiguousarray(words.transpose()).reshape(-1).view(np.uint32)


def dense_stream(
    task: RequantizationTask,
    weights: Array,
    channels: int,
    uniform: bool = False,
    nibbles: bool = False,
    sections: bool = False,
) -> DenseStream | None:
    """The stream for blocks of `channels`; None if no requantization form is exact.

    `uniform` allows for channels that share their constants: no proof, no words of their own.
    `nibbles` asks for weights of four bits: None, too, if they are not or a sum may overflow.
    `sections`: weights are packed though their sums do not fit 2^8 times.
    """
    if nibbles and not are_nibbles(weights):
        return None
    form = uniform_form(task) if uniform else None
    is_uniform = form is not None
    if form is None:
        form = _own_form(task)
    if form is None:
        return None
    if nibbles:
        order = _channel_order(len(weights), channels)
        depth = weights.shape[1] + weights.shape[1] % 2  # a last step takes something along
        if not sums_fit(_picked(_largest_sums(task, form), order), depth):
            return None
    wide = nibbles or packs_badly(task, form, weights, channels)
    in_sections = sections and wide and not nibbles and weights_pack(weights, channels)
    layout = BlockLayout(form.kind, wide, channels, is_uniform, nibbles, in_sections)
    return DenseStream(form, layout, weights)


def _largest_sums(task: RequantizationTask, form: Form) -> Int64Array:
    """Greatest |start + sum of products| of each channel."""
    first = form.start - task.offset
    return np.maximum(np.abs(task.low + first), np.abs(task.high + first))


def _own_form(task: RequantizationTask) -> Form | None:
    """The cheapest exact form for packed weights, if possible with a common post shift."""
    most = largest_postshift(task, _PACKED_BITS)
    for kind, preferred in COMMON_POSTSHIFTS.items():
        common = [shift for shift in preferred if shift <= most][:1]
        form = find_form(task, (_PACKED_BITS,), (*common, most), (kind,))
        if form is not None:
            return form
    return find_form(task, kinds=(FormKind.LITERAL,))


def uniform_form(task: RequantizationTask) -> Form | None:
    """The literal form where all channels have one scale and it fits."""
    literal = find_form(task, kinds=(FormKind.LITERAL,))
    right = -task.shifts
    same = (task.multipliers == task.multipliers[0]).all() and (right == right[0]).all()
    largest = np.abs(np.stack([task.low, task.high]) + task.bias).max(initial=0)
    # A channel of one result has constants of its own, and none of these bounds, in `literal`.
    if literal is None or not same or not 1 <= right[0] <= _MOST_SHIFT or largest >= 2**30:
        return None
    return replace(
        literal,
        start=wrap_int32(task.offset + task.bias),
        multiplier=task.multipliers,
        step=(np.full_like(right, task.zero_point) << right) + (np.int64(1) << (right - 1)),
        shifts=right,
    )


def packs_badly(task: RequantizationTask, form: Form, weights: Array, channels: int) -> bool:
    """Whether pairs do not fit: weights beside a -128, or a sum that 2^8 times it is too large."""
    ends = np.stack([task.low, task.high]) + task.bias
    if form.kind is not FormKind.FLOOR and np.abs(ends).max(initial=0) >= 2**23:
        return True
    return not weights_pack(weights, channels)


def weights_pack(weights: Array, channels: int) -> bool:
    """Whether a pair's weights fit a half of a word."""
    if weights.min(initial=0) < -128 or weights.max(initial=0) > 127:
        return False
    pairs = _channel_order(len(weights), channels).reshape(-1, 2)
    # -128 in the high half, and less than nothing in the low one; a low half may be nobody's.
    high, low = pairs[pairs[:, 1] >= 0].transpose()
    return not ((weights[high] == -128) & (weights[low] < 0)).any()


def _channel_order(count: int, channels: int) -> Int64Array:
    """Channels by block; -1 is none."""
    if count < channels:
        return np.concatenate([np.arange(count), np.full(channels - count, -1)])
    whole = np.arange(count // channels * channels)
    last = np.arange(count - channels, count) if count % channels else np.arange(0)
    return np.concatenate([whole, last])


def _picked(values: Array, order: Int64Array) -> Array:
    """Along the first axis, zeros for -1."""
    chosen = (order >= 0).reshape(-1, *(1,) * (values.ndim - 1))
    return np.where(chosen, values[order], values.dtype.type(0))


def input_steps(weights: Array) -> Array:
    """Weights in the order of the widened inputs: (channels, steps, 2).

    Each four inputs are {0, 2}, {1, 3}; up to three more are {0, 1}, {2}.
    """
    count, depth = weights.shape
    fours = depth // 4 * 4
    quads = weights[:, :fours].reshape(count, -1, 4)[..., [0, 2, 1, 3]]
    rest = np.pad(weights[:, fours:], ((0, 0), (0, depth % 2)))
    return np.concatenate([quads.reshape(count, -1), rest], axis=1).reshape(count, -1, 2)


def _low_words(values: Array) -> npt.NDArray[np.uint32]:
    """Modulo 2^32."""
    return (values & 0xFFFFFFFF).astype(np.uint32)


def _form_words(
    form: Form, layout: BlockLayout, order: Int64Array
) -> tuple[Int64Array, Int64Array]:
    """What comes before and after the weights of each block."""
    start, addend, multiplier, step, shifts = (
        _picked(values, order).reshape(-1, layout.channels)
        for values in (form.start, form.addend, form.multiplier, form.step, form.shifts)
    )
    if form.kind is FormKind.LITERAL:
        constants = [multiplier, step, np.maximum(shifts, 1)]
    else:
        constants = [addend, multiplier, step][: layout.channel_words]
    tail = np.stack(constants, axis=2)[:, :, : 0 if layout.uniform else None]
    if layout.wide:
        return start, tail
    if not layout.started:
        # The high channels' addends are what their sums start from.
        pairs = tail.reshape(len(tail), -1, 2 * layout.channel_words)
        return addend[:, 0::2], pairs[:, :, 1:]
    high, low = start[:, 0::2], start[:, 1::2]
    return np.concatenate([PACKED_SCALE * high + low, low], axis=1), tail
