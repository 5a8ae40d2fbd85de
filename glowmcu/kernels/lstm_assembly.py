"""The Armv7E-M loop of `lstm.dsp`: products in front of the gates of two units at a time.

The loop is that of fully_connected_direct_assembly.py. Of its eight channels each two are one gate
of two units, so that they share constants; sums become int16 and are added, saturated, to what
memory holds. Constants of a gate are a multiplier and a shift to the left, plus 1, or a multiplier,
the half that a shift to the right drops, and that shift.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from glowmcu.kernels.dense_stream import BlockLayout
from glowmcu.kernels.fully_connected_direct_assembly import (
    OUT_PLACE,
    SIXTH_PLACE,
    pair_sums,
    row_with,
)


def products_assembly(
    layout: BlockLayout, shifts: Sequence[int], built_in: bool
) -> tuple[str, ...]:
    """The whole function. Of `shifts`, one a gate, the side matters, left from 0 on; where they are
    `built_in` nothing else is computed.
    """
    return row_with(layout, _results(layout, shifts, built_in))


def _results(layout: BlockLayout, shifts: Sequence[int], built_in: bool) -> Iterator[str]:
    yield "/* sums to int16 */"
    yield f"ldr r5, [sp, #{SIXTH_PLACE}]"
    pairs = pair_sums(layout)
    for (a, b), shift in zip(pairs, shifts, strict=True):
        yield "ldm r5!, {r2, r3}" if shift >= 0 else "ldm r5!, {r2, r3, r4}"
        if not built_in:
            yield from _left(layout, a, b) if shift >= 0 else _right(layout, a, b)
            yield from (f"ssat {a}, #16, {a}", f"ssat {b}, #16, {b}")
        else:
            yield from _at_once(layout, a, b, shift)
        yield f"pkhbt {a}, {a}, {b}, lsl #16"
    made, free = ([pair[side] for pair in pairs] for side in (0, 1))
    yield from ("ldr r2, [r1], #4", f"ldr r0, [sp, #{OUT_PLACE}]", "add r0, r2")
    yield f"ldm r0, {{{', '.join(free)}}}"
    yield from (f"qadd16 {x}, {x}, {old}" for x, old in zip(made, free, strict=True))
    yield from ("cmp r2, #0", f"stm r0, {{{', '.join(made)}}}")


def _left(layout: BlockLayout, a: str, b: str) -> Iterator[str]:
    if not layout.wide:
        yield from (f"sub {a}, {a}, {b}", f"asr {a}, {a}, #8")
    for x in (a, b):
        yield from (f"lsl {x}, {x}, r3", f"smmulr {x}, {x}, r2")


def _right(layout: BlockLayout, a: str, b: str) -> Iterator[str]:
    yield from _twice(layout, a, b, 1)
    for x in (a, b):
        yield from (f"smmlar r0, {x}, r2, r3", f"add {x}, r0, {x}, asr #31", f"asr {x}, {x}, r4")


def _at_once(layout: BlockLayout, a: str, b: str, shift: int) -> Iterator[str]:
    """With the shifts in the code."""
    yield from _twice(layout, a, b, max(shift, 0) + 1)
    for x in (a, b):
        if shift >= 0:
            yield from (f"smmulr {x}, {x}, r2", f"ssat {x}, #16, {x}")
            continue
        yield from (f"smmlar r0, {x}, r2, r3", f"add {x}, r0, {x}, asr #31")
        yield f"ssat {x}, #16, {x}, asr #{-shift}"


def _twice(layout: BlockLayout, a: str, b: str, left: int) -> Iterator[str]:
    """Both sums, shifted to the left; a packed one is 256 times too large."""
    if layout.wide:
        yield f"lsl {a}, {a}, #{left}"
    else:
        yield f"sub {a}, {a}, {b}"
        if left != 8:
            yield f"asr {a}, {a}, #{8 - left}" if left < 8 else f"lsl {a}, {a}, #{left - 8}"
    yield f"lsl {b}, {b}, #{left}"
