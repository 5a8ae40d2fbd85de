"""Cheap requantization that is proved equal to TensorFlow Lite's, channel by channel.

With raw = sum(w * x), true accumulator = raw + offset + bias, and hi32 the high word of a product:

    floor      out = ssat8(hi32((addend + (raw << k)) * multiplier) >> s)
    two-sided  v = start + raw
               out = ssat8((hi32((addend + (v << k)) * multiplier) + (v < 0 ? step : 0)) >> s)
    literal    v = start + raw; x = hi32(2 * v * multiplier + 2^31) + step + (v >> 31)
               out = ssat8(x >> shift)

They take 3, 4 and 5 instructions. `floor` needs one line through all thresholds, so an output zero
point of -128 or single rounding;
`two-sided` has a line for each sign, as rounding away from zero does; `literal` needs no proof.
Sums of constants are modulo 2^32: only the final operand of the product must fit 32 bits.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import fields
from enum import Enum
from functools import cached_property
from typing import TypeVar

import numpy as np

from glowmcu.ir.operation import Rounding
from glowmcu.ir.value_range import Int64Array, ValueRange, full_range
from glowmcu.kernels.common.layer_fields import is_padded
from glowmcu.kernels.kernel import Site, once_a_site
from glowmcu.kernels.requantization.thresholds import LineProblem, Staircase, solve_lines, staircase
from glowmcu.lazy_dataclass import dataclass
from glowmcu.ops.accumulator_range import (
    conv_2d_range,
    depthwise_conv_2d_range,
    fully_connected_range,
)
from glowmcu.ops.convolution import Conv2D, DepthwiseConv2D
from glowmcu.ops.fixed_point import (
    Requantization,
    multiply_by_quantized_multiplier,
    rises,
    wrap_int32,
)
from glowmcu.ops.matmul import FullyConnected


class FormKind(Enum):
    """Which of the three sequences."""

    FLOOR = "floor"
    TWO_SIDED = "two_sided"
    LITERAL = "literal"

    @property
    def fact(self) -> str:
        """As functions are known by it (`glowmcu.ir.function_names`)."""
        return f"{self.value.replace('_', '-')} requantization"


@dataclass(frozen=True, eq=False)
class RequantizationTask:
    """What a layer's requantization must compute; arrays have one entry a channel.

    True accumulator without bias = raw + offset, and lies in [low, high] for every input.
    """

    multipliers: Int64Array
    shifts: Int64Array
    bias: Int64Array
    offset: Int64Array
    low: Int64Array
    high: Int64Array
    zero_point: int
    clamp: tuple[int, int]
    rounding: Rounding

    def outputs(self, accumulators: Int64Array) -> Int64Array:
        """What TensorFlow Lite makes of true accumulators (without bias), not yet clamped.

        The first axis is the channel.
        """
        extra = (1,) * (accumulators.ndim - 1)
        scaled = multiply_by_quantized_multiplier(
            wrap_int32(accumulators + self.bias.reshape(-1, *extra)),
            self.multipliers.reshape(-1, *extra),
            self.shifts.reshape(-1, *extra),
            self.rounding,
        )
        return scaled + self.zero_point

    @cached_property
    def ends(self) -> Int64Array:
        """Clamped outputs at both ends of the accumulator range, (channels, 2): outputs rise in
        between.
        """
        return np.clip(self._free_ends, *self.clamp)

    @cached_property
    def _free_ends(self) -> Int64Array:
        return self.outputs(np.stack([self.low, self.high], axis=1))

    @cached_property
    def needed_clamp(self) -> tuple[int, int] | None:
        """The clamp where some accumulator exceeds it within int8."""
        lowest, highest = self.clamp
        below = lowest > -128 and bool((self._free_ends < lowest).any())
        above = highest < 127 and bool((self._free_ends > highest).any())
        return self.clamp if below or above else None

    @cached_property
    def stairs(self) -> Staircase:
        """How outputs rise before anything but int8 and the clamp that is needed saturates them."""
        return self.stairs_to(self.needed_clamp or (-128, 127))

    def stairs_to(self, clamp: tuple[int, int]) -> Staircase:
        """The same within another clamp."""
        return staircase(
            self.multipliers, self.shifts, self.bias, (self.low, self.high), self.zero_point,
            clamp, self.rounding,
        )  # fmt: skip

    @cached_property
    def has_halves(self) -> bool:
        """Whether outputs fit 16 bits before they are saturated to int8, their only clamp."""
        return self.needed_clamp is None and bool((np.abs(self._free_ends) < 1 << 15).all())

    @property
    def wraps(self) -> bool:
        """Whether something can exceed int32, so that outputs do not rise with accumulators."""
        most = np.maximum(np.abs(self.low + self.bias), np.abs(self.high + self.bias))
        return not rises(most, self.multipliers, self.shifts, self.rounding).all()

    @cached_property
    def key(self) -> tuple[object, ...]:
        """Equal for equal tasks."""
        values = [getattr(self, field.name) for field in fields(self)]
        return tuple(v.tobytes() if isinstance(v, np.ndarray) else v for v in values)


@dataclass(frozen=True, eq=False)
class Form:
    """Constants of one sequence for all channels of a layer. Unused arrays are zeros.

    `preshift` is k, `postshift` s (one a layer), `shifts` the literal form's own, one a channel.
    `clamp`: what is still to be clamped to after saturation to int8; None when that is enough.
    """

    kind: FormKind
    preshift: int
    postshift: int
    start: Int64Array
    addend: Int64Array
    multiplier: Int64Array
    step: Int64Array
    shifts: Int64Array
    clamp: tuple[int, int] | None


@once_a_site
def requantization_task(site: Site) -> RequantizationTask:
    """The task of an int8 conv_2d, depthwise_conv_2d or fully_connected with known weights."""
    op = site.node.op
    assert isinstance(op, Conv2D | DepthwiseConv2D | FullyConnected)
    x, weights_type, _ = site.signature.inputs
    weights, bias = site.constants[1], site.constants[2]
    assert weights is not None
    assert bias is not None
    inputs = site.input_ranges[0] if site.input_ranges else None
    inputs = inputs or full_range(x)
    assert inputs is not None
    if isinstance(op, FullyConnected):
        assert weights_type.quantization is not None
        points = np.array(weights_type.quantization.zero_points, np.int16)
        weights = weights - points[:, np.newaxis]
        rows = inputs_of_rows(inputs, weights.shape[1])
        low, high = fully_connected_range(weights, rows, x.zero_point)
        total = weights.sum(axis=1, dtype=np.int64)
    elif isinstance(op, Conv2D):
        low, high = conv_2d_range(weights, inputs, x.zero_point, is_padded(site))
        total = weights.sum(axis=(1, 2, 3), dtype=np.int64)
    else:
        low, high = depthwise_conv_2d_range(weights, inputs, x.zero_point, is_padded(site))
        total = weights.sum(axis=(0, 1, 2), dtype=np.int64)
    scale: Requantization = op.requantization(site.signature)
    channels = len(total)
    return RequantizationTask(
        multipliers=np.broadcast_to(scale.multipliers.astype(np.int64), channels).copy(),
        shifts=np.broadcast_to(scale.shifts.astype(np.int64), channels).copy(),
        bias=bias.astype(np.int64),
        offset=-x.zero_point * total,
        low=low,
        high=high,
        zero_point=site.signature.output.zero_point,
        clamp=op.clamp_range(site.signature),
        rounding=site.rounding,
    )


def inputs_of_rows(inputs: ValueRange, length: int) -> ValueRange:
    """Ranges of a matrix row's elements: those of the last axis."""
    assert inputs.low.size == length
    return inputs


_Found = TypeVar("_Found")
_CACHE: OrderedDict[tuple[object, ...], Form | None] = OrderedDict()
#: Lines, or that there are none: requests for several kinds ask for the same ones.
_LINES: OrderedDict[tuple[object, ...], Form | None] = OrderedDict()
_MOST_CACHED = 8192
#: The literal form's second shift and the other forms' shifts stay where nothing overflows.
_MOST_SHIFT = 22


def find_form(
    task: RequantizationTask,
    preshifts: Sequence[int] = (8,),
    postshifts: Sequence[int] | None = None,
    kinds: Sequence[FormKind] = tuple(FormKind),
) -> Form | None:
    """The cheapest of `kinds` that is exact for all channels, None when none is.

    `preshifts` and `postshifts` are tried in order; None tries the largest few post shifts, which
    have the finest multipliers.
    """
    key = (task.key, tuple(preshifts), tuple(postshifts or ()), tuple(kinds))
    return remembered(_CACHE, key, lambda: _find_form(task, preshifts, postshifts, kinds))


def remembered(
    cache: OrderedDict[tuple[object, ...], _Found],
    key: tuple[object, ...],
    find: Callable[[], _Found],
) -> _Found:
    """What is found for a key, once; the oldest is forgotten where there are too many."""
    if key not in cache:
        cache[key] = find()
        if len(cache) > _MOST_CACHED:
            cache.popitem(last=False)
    return cache[key]


def _find_form(
    task: RequantizationTask,
    preshifts: Sequence[int],
    postshifts: Sequence[int] | None,
    kinds: Sequence[FormKind],
) -> Form | None:
    if task.wraps:
        return None
    for kind in kinds:
        if kind is FormKind.LITERAL:
            form = literal_form(task)
            if form is not None:
                return form
            continue
        for preshift in preshifts:
            form = _first_line_form(task, kind, preshift, postshifts)
            if form is not None:
                return form
    return None


def _first_line_form(
    task: RequantizationTask, kind: FormKind, preshift: int, postshifts: Sequence[int] | None
) -> Form | None:
    """With the first of the post shifts that has lines.

    A line of one post shift is one of the next, with twice the multiplier: what has none at the
    largest has none at all, which ends the search.
    """
    most = largest_postshift(task, preshift)
    order = [s for s in postshifts or range(most, most - 2, -1) if 0 < s <= most]
    for postshift in order:
        form = _line_form(task, kind, preshift, postshift)
        if form is not None:
            return form
        if postshift < most and not _line_form(task, kind, preshift, most):
            return None
    return None


def largest_postshift(task: RequantizationTask, preshift: int) -> int:
    """The greatest s for which every channel's multiplier stays below 2^31."""
    ends = task.ends
    scales = np.where(ends[:, 0] == ends[:, 1], 0, task.multipliers) * 2.0 ** (task.shifts - 31.0)
    scale = float(scales.max(initial=0.0))
    most = _MOST_SHIFT
    while most > 0 and scale * 2.0 ** (32 + most - preshift) >= 2**31 - 2**12:
        most -= 1
    return most


def _line_form(
    task: RequantizationTask, kind: FormKind, preshift: int, postshift: int
) -> Form | None:
    key = (task.key, kind, preshift, postshift)
    return remembered(_LINES, key, lambda: _new_line_form(task, kind, preshift, postshift))


def _new_line_form(
    task: RequantizationTask, kind: FormKind, preshift: int, postshift: int
) -> Form | None:
    two_sided = kind is FormKind.TWO_SIDED
    if two_sided and task.rounding is Rounding.SINGLE:
        return None
    solved = solve_lines(LineProblem(task.stairs, preshift, postshift), two_sided)
    if solved is None:
        return None
    addend, multiplier, step = solved
    zeros = np.zeros_like(task.bias)
    start = task.offset + task.bias if two_sided else zeros
    if not two_sided:
        addend = addend + (task.offset << preshift)
    return Form(
        kind,
        preshift,
        postshift,
        wrap_int32(start),
        wrap_int32(addend),
        multiplier,
        -step,
        zeros,
        task.needed_clamp,
    )


def literal_form(task: RequantizationTask, unshifted: bool = False) -> Form | None:
    """TensorFlow Lite's own arithmetic with both roundings folded; right shifts of 1 at least.

    A channel whose output is always the same gets the multiplier 0. `unshifted` allows right shifts
    of 0, too, where no output is below the zero point: what the form takes off there is 1 too much.
    """
    ends = task.ends
    constant = ends[:, 0] == ends[:, 1]
    right = np.where(constant, 1, -task.shifts)
    bias = np.where(constant, 0, task.bias)
    most = np.maximum(np.abs(task.low + bias), np.abs(task.high + bias)).max(initial=0)
    least = (task.needed_clamp or (-128, 127))[0]
    least_shift = 0 if unshifted and task.zero_point <= least else 1
    fits = (right >= least_shift).all() and (right <= _MOST_SHIFT).all() and most < 2**30
    if task.rounding is not Rounding.DOUBLE or not fits:
        return None
    middle = np.where(constant, ends[:, 0], task.zero_point)
    return Form(
        FormKind.LITERAL,
        0,
        0,
        wrap_int32(task.offset + bias),
        np.zeros_like(bias),
        np.where(constant, 0, task.multipliers),
        (middle << right) + (np.int64(1) << right >> 1),
        right,
        task.needed_clamp,
    )
