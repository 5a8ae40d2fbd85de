"""Requantization on Armv7E-M: sums in registers become int8, as instructions.

The constants are in r2, r3, r4, in the order of the stream (see stream.py); r5 is free except
for `floor`. A packed high sum is 256 * H + L: subtracting its low sum leaves 256 * H.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from glowmcu.kernels.requantization.forms import FormKind


def floor_pair(high: Sequence[str], low: Sequence[str], postshift: int) -> Iterator[str]:
    """Packed sums of two channels, a register a pixel. r2: high multiplier, r3, r4: the low's."""
    yield from (f"sub {h}, {h}, {x}" for h, x in zip(high, low, strict=True))
    yield from (f"add {x}, r3, {x}, lsl #8" for x in low)
    yield from (f"smmul {h}, {h}, r2" for h in high)
    yield from (f"smmul {x}, {x}, r4" for x in low)
    yield from (f"ssat {x}, #8, {x}, asr #{postshift}" for x in (*high, *low))


def one_channel(
    kind: FormKind, postshift: int, sums: Sequence[str], low: Sequence[str] = ()
) -> Iterator[str]:
    """Sums of a channel, a register a pixel; with `low` they are packed high ones."""
    for pixel, x in enumerate(sums):
        if low:
            yield f"sub {x}, {x}, {low[pixel]}"
        if kind is FormKind.LITERAL:
            yield f"asr {x}, {x}, #7" if low else f"lsl {x}, {x}, #1"
            yield from (f"smmlar r5, {x}, r2, r3", f"add {x}, r5, {x}, asr #31")
            yield from (f"asr {x}, {x}, r4", f"ssat {x}, #8, {x}")
            continue
        if kind is FormKind.TWO_SIDED:
            yield f"and r5, r4, {x}, asr #31"
        yield f"add {x}, r2, {x}" if low else f"add {x}, r2, {x}, lsl #8"
        yield f"smmul {x}, {x}, r3" if kind is FormKind.FLOOR else f"smmla {x}, {x}, r3, r5"
        yield f"ssat {x}, #8, {x}, asr #{postshift}"


def parted_sums(sums: Sequence[str], eightfold: str) -> Iterator[str]:
    """Sums of four channels from those of their parts, see nibbles.py; `eightfold`: 8 times X."""
    p0, p1, p2, p3 = sums
    yield from (f"sub {p3}, {p3}, {part}" for part in (p2, p1, p0))
    yield f"rsb {p2}, {eightfold}, {p2}, asr #8"
    yield f"rsb {p1}, {eightfold}, {p1}, asr #4"
    yield from (f"sub {p0}, {p0}, {eightfold}", f"asr {p3}, {p3}, #12")
