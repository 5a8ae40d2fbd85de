"""The stream of constants that libjit's glowmcu_pixel_pairs.h reads, four output channels a group.

A group: what the sums start from, weights chunk by chunk, constants of the requantization form.
Packed weights are 256 * high + low for two channels; `wide` ones, an int16 each, are for layers
that hold a -128 if that does not fit, or whose sums are too large to be told apart.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import numpy as np
import numpy.typing as npt

from glowmcu.ir.operation import Array
from glowmcu.ir.value_range import Int64Array
from glowmcu.kernels.requantization.forms import Form, FormKind, RequantizationTask, find_form
from glowmcu.lazy_dataclass import dataclass

Words = npt.NDArray[np.uint32]

#: The weights' scale of the high channels, so every form's preshift.
_PACKED_BITS = 8
#: Post shifts in the order of preference: layers that agree share a function.
_FLOOR_SHIFTS = (12, 15, 9, 18, 6, *range(22, 0, -1))
_TWO_SIDED_SHIFTS = (15, 12, 14, 13, *range(22, 0, -1))
#: What follows the last chunk in place of a way.
_END = 0xFFFFFFFF


@dataclass(frozen=True, eq=False)
class PairStream:
    """Constants in the inner loop's order, and what the function must be made for.

    `weights` are (channels, ...), of which `to_chunks` makes (channels, chunks, steps, 2); `ways`
    lead from chunk to chunk, in bytes. Nothing is packed before `words` is called: of many layers
    the size is asked alone.
    """

    form: Form
    wide: bool
    weights: Array
    to_chunks: Callable[[Array], Array]
    ways: tuple[int, ...]

    @property
    def kind(self) -> str:
        return self.form.kind.value

    @property
    def shift(self) -> int:
        return self.form.postshift

    @property
    def groups(self) -> int:
        """Of four channels."""
        return -(-len(self.weights) // 4)

    @cached_property
    def group_words(self) -> int:
        """Words of a group."""
        start, tail = _form_words(self.form, np.zeros(4, np.int64), self.wide)
        return int(start.size) + self._chunk_words * self._chunks_shape[0] + int(tail.size)

    @property
    def nbytes(self) -> int:
        """Bytes of `words`."""
        return 4 * self.groups * self.group_words

    @cached_property
    def _chunks_shape(self) -> tuple[int, ...]:
        """How many chunks a channel has, and steps a chunk."""
        return self.to_chunks(self.weights[:1]).shape[1:3]

    @property
    def _chunk_words(self) -> int:
        return (4 if self.wide else 2) * self._chunks_shape[1] + bool(self.ways)

    def words(self) -> Words:
        """All of them, one group after another."""
        order = channel_order(len(self.weights))
        start, tail = _form_words(self.form, order, self.wide)
        control = np.array([*self.ways, _END] if self.ways else [], np.uint32)
        weights_end = self.group_words - tail.shape[1]
        words = np.empty((self.groups, self.group_words), np.uint32)
        words[:, : start.shape[1]], words[:, weights_end:] = start, tail
        # A group at a time: a weight is a byte, and four on the way.
        for group, channels in zip(words, order.reshape(-1, 4), strict=True):
            chunks = self.to_chunks(self.weights[channels]).astype(np.int32)
            some = np.where((channels >= 0).reshape(-1, 1, 1, 1), chunks, 0)
            made = group[start.shape[1] : weights_end].reshape(-1, self._chunk_words)
            if self.ways:
                made[:, -1] = control
            packed = _wide_words(some) if self.wide else _packed_words(some)
            made[:, : self._chunk_words - bool(self.ways)] = packed.reshape(len(made), -1)
        return words.reshape(-1)


def pair_form(task: RequantizationTask) -> Form | None:
    """The cheapest exact form, with a post shift that other layers are likely to have too."""
    for kind, shifts in (
        (FormKind.FLOOR, _FLOOR_SHIFTS),
        (FormKind.TWO_SIDED, _TWO_SIDED_SHIFTS),
        (FormKind.LITERAL, None),
    ):
        form = find_form(task, (_PACKED_BITS,), shifts, (kind,))
        if form is not None:
            return form
    return None


def needs_wide(form: Form, task: RequantizationTask, weights: Array) -> bool:
    """Whether packed weights of these channels (the first axis) would not do."""
    ends = np.stack([task.low, task.high]) + task.bias
    if form.kind is not FormKind.FLOOR and np.abs(ends).max(initial=0) >= 2**23:
        return True
    order = channel_order(len(weights))
    pairs = np.where(order >= 0, order, 0).reshape(-1, 2)
    # -128 in the high half, and less than nothing in the low one.
    return any(bool(((weights[high] == -128) & (weights[low] < 0)).any()) for high, low in pairs)


def channel_order(channels: int) -> npt.NDArray[np.int64]:
    """Output channels in the stream's order: a last group overlaps, -1 fills a single one."""
    if channels < 4:
        return np.concatenate([np.arange(channels), np.full(4 - channels, -1)])
    whole = channels // 4 * 4
    last = np.arange(channels - 4, channels) if channels % 4 else np.arange(0)
    return np.concatenate([np.arange(whole), last])


def _packed_words(weights: Array) -> Words:
    """(groups, chunks, steps, 2 channel pairs) from weights in the stream's channel order."""
    packed = 256 * weights[0::2] + weights[1::2]
    assert np.abs(packed).max(initial=0) <= 2**15
    return _as_words(packed.reshape(-1, 2, *packed.shape[1:]))


def _wide_words(weights: Array) -> Words:
    """(groups, chunks, steps, 4 channels)."""
    return _as_words(weights.reshape(-1, 4, *weights.shape[1:]))


def _as_words(values: Array) -> Words:
    """(groups, n, chunks, steps, 2) to words of two halves, (groups, chunks, steps, n)."""
    halves = (values & 0xFFFF).astype(np.uint32)
    words: Words = halves[..., 0] | (halves[..., 1] << np.uint32(16))
    ordered: Words = words.transpose(0, 2, 3, 1)
    return ordered


def _form_words(form: Form, order: npt.NDArray[np.int64], wide: bool) -> tuple[Words, Words]:
    """What comes before and after the weights of each group."""
    is_floor = form.kind is FormKind.FLOOR
    start, addend, multiplier, step, shifts = (
        np.where(order >= 0, values[order], 0).reshape(-1, 4)
        for values in (form.start, form.addend, form.multiplier, form.step, form.shifts)
    )
    if form.kind is FormKind.LITERAL:
        ends = [multiplier, step, np.maximum(shifts, 1)]
    elif is_floor:
        ends = [addend, multiplier]
    else:
        ends = [addend, multiplier, step]
    tail = np.stack(ends, axis=2).reshape(len(start), -1)
    if wide:
        return _low_words(start), _low_words(tail)
    if is_floor:
        # The high channels' addends are what their sums start from.
        return _low_words(addend[:, 0::2]), _low_words(tail[:, [1, 2, 3, 5, 6, 7]])
    high = 256 * start[:, 0::2] + start[:, 1::2]
    return _low_words(np.concatenate([high, start[:, 1::2]], axis=1)), _low_words(tail)


def _low_words(values: Int64Array) -> Words:
    """Modulo 2^32."""
    return (values & 0xFFFFFFFF).astype(np.uint32)
