"""Ways to say what a result can hold that several operators share, for `output_ranges`.

A monotone operator is extreme where its operands are: it is evaluated there, by its own meaning. A
function of one short integer is evaluated everywhere.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from glowmcu.ir.operation import Array, Operation, Rounding, Signature
from glowmcu.ir.types import ElementType, TensorType
from glowmcu.ir.value_range import Int64Array, ValueRange, full_range
from glowmcu.ops.fixed_point import Requantization

OutputRanges = tuple[ValueRange | None, ...]

#: Types with few enough values to try them all.
_ENUMERABLE = (ElementType.I8, ElementType.UI8, ElementType.I16, ElementType.BOOL)


def unrestricted(signature: Signature) -> OutputRanges:
    """All that the results' types can store."""
    return tuple(map(full_range, signature.outputs))


def over_channels(type_: TensorType, low: Array, high: Array) -> ValueRange:
    """`low` and `high`, one number or one a channel, as the range of every channel of `type_`."""
    channels = type_.shape[-1] if type_.shape else 1
    return ValueRange(_spread(low, channels), _spread(high, channels))


def _spread(values: Array, channels: int) -> Int64Array:
    spread: Int64Array = np.broadcast_to(np.asarray(values, np.int64), (channels,)).copy()
    return spread


def clamped(range_: ValueRange, lowest: int, highest: int) -> ValueRange:
    """The range of clip(x, lowest, highest)."""
    return ValueRange(np.clip(range_.low, lowest, highest), np.clip(range_.high, lowest, highest))


def united(range_: ValueRange, type_: TensorType) -> ValueRange:
    """What any channel of `range_` holds, for all channels of `type_`: channels were mixed."""
    if not range_.low.size:
        return _full(type_)
    return over_channels(
        type_, np.min(range_.low, keepdims=True), np.max(range_.high, keepdims=True)
    )


def joined(a: ValueRange, b: ValueRange, type_: TensorType) -> ValueRange:
    """What either holds, channels broadcast to those of `type_`."""
    return over_channels(type_, np.minimum(a.low, b.low), np.maximum(a.high, b.high))


def _full(type_: TensorType) -> ValueRange:
    range_ = full_range(type_)
    assert range_ is not None
    return range_


def requantized(
    accumulator_range: tuple[Int64Array, Int64Array],
    bias: Array,
    requantization: Requantization,
    limits: tuple[int, int],
    signature: Signature,
    rounding: Rounding,
) -> ValueRange:
    """Range of clip(requantize(sum + bias) + zero point), by the range of the channels' sums."""
    # Limited, a bias of 64 bits adds up in int64, and is still too far out to be taken for safe.
    low, high = (end + np.clip(bias.astype(np.int64), -(2**60), 2**60) for end in accumulator_range)
    ends = requantization.apply_to_range(low, high, rounding)
    least, most = (np.clip(end + signature.output.zero_point, *limits) for end in ends)
    return over_channels(signature.output, least, most)


Corner = Sequence[Int64Array]


def at_corners(
    op: Operation, corners: Sequence[Corner], signature: Signature, rounding: Rounding
) -> ValueRange:
    """Range of an element-wise operator that is extreme at some of `corners`.

    A corner has for each operand a value a channel.
    """
    results = []
    for corner in corners:
        operands = [_stored(v, t) for v, t in zip(corner, signature.inputs, strict=True)]
        results.append(op.evaluate(operands, signature, rounding)[0].astype(np.int64))
    lows = np.min(np.broadcast_arrays(*results), axis=0)
    return over_channels(signature.output, lows, np.max(np.broadcast_arrays(*results), axis=0))


def _stored(values: Array, type_: TensorType) -> Array:
    return values.astype(type_.element.numpy)


def at_extremes(
    op: Operation, operands: Sequence[ValueRange], signature: Signature, rounding: Rounding
) -> tuple[ValueRange, ...]:
    """Range of an operator whose every result rises with every operand, whatever its shape rule.

    Also for operators that only move elements, which rise trivially.
    """
    if not all(type_.element_count for type_ in (*signature.inputs, *signature.outputs)):
        return tuple(map(_full, signature.outputs))
    low, high = (
        op.evaluate(
            [_tensor(end, type_) for end, type_ in zip(ends, signature.inputs, strict=True)],
            signature,
            rounding,
        )
        for ends in ([r.low for r in operands], [r.high for r in operands])
    )
    return tuple(
        ValueRange(_rows(least).min(axis=0), _rows(most).max(axis=0))
        if least.size
        else _full(type_)
        for least, most, type_ in zip(low, high, signature.outputs, strict=True)
    )


def _tensor(channels: Int64Array, type_: TensorType) -> Array:
    """A tensor of `type_` with one value a channel."""
    shaped = channels if type_.shape else channels.reshape(())
    return np.broadcast_to(_stored(shaped, type_), type_.shape)


def _rows(tensor: Array) -> Int64Array:
    rows: Int64Array = tensor.reshape(-1, tensor.shape[-1] if tensor.ndim else 1).astype(np.int64)
    return rows


def is_enumerable(type_: TensorType) -> bool:
    """Whether all values of the type can be tried."""
    return type_.element in _ENUMERABLE


def enumerated(
    op: Operation,
    x: ValueRange,
    signature: Signature,
    rounding: Rounding,
    others: Sequence[Int64Array] = (),
) -> ValueRange:
    """Range of an element-wise operator, exactly, by its results on all values of operand 0.

    `others` are the other operands, known: a value a channel.
    """
    lowest, highest = signature.inputs[0].element.limits
    values = np.arange(lowest, highest + 1).reshape(-1, *([1] if others else []))
    operands = [
        _stored(values, type_)
        for values, type_ in zip((values, *others), signature.inputs, strict=True)
    ]
    results = op.evaluate(operands, signature, rounding)[0]
    table = results.reshape(len(values), results.size // len(values))
    channels = np.broadcast_shapes(x.low.shape, table.shape[1:])
    spans = zip(_spread(x.low, *channels), _spread(x.high, *channels), strict=True)
    found: dict[tuple[int, int, int], tuple[int, int]] = {}
    spans_found = []
    for channel, (low, high) in enumerate(spans):
        column = channel if table.shape[1] > 1 else 0
        key = int(low), int(high), column
        if key not in found:
            part = table[key[0] - lowest : key[1] - lowest + 1, column]
            found[key] = int(part.min()), int(part.max())
        spans_found.append(found[key])
    ends = np.array(spans_found, np.int64).reshape(-1, 2)
    return over_channels(signature.output, ends[:, 0], ends[:, 1])
