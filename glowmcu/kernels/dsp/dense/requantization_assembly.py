"""Requantization on Armv7E-M: sums in registers become int8, as macros.

The constants are in r2, r3, r4, in the order of the stream (see stream.py); r5 is free except
for `floor`. A packed high sum is 256 * H + L: subtracting its low sum leaves 256 * H.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache

from glowmcu.ir.assembly_macros import Macro, MacroCall
from glowmcu.kernels.requantization.forms import FormKind

#: What a macro's sums are called, a register a pixel: whole or packed high ones, their low ones.
_SUMS, _LOW = ("a", "b"), ("c", "d")
_PIXELS = {1: "a pixel", 2: "two pixels"}


def floor_pair(high: Sequence[str], low: Sequence[str], postshift: int) -> Iterator[MacroCall]:
    """Packed sums of two channels, a register a pixel. r2: high multiplier, r3, r4: the low's."""
    yield _floor_pair(len(high))(*high, *low, postshift)


@cache
def _floor_pair(pixels: int) -> Macro:
    high, low = ([f"\\{name}" for name in names[:pixels]] for names in (_SUMS, _LOW))
    return Macro(
        f"GLOWMCU_FLOOR_PACKED_{pixels}",
        f"Packed sums of two channels of {_PIXELS[pixels]} to int8: constants are r2, r3, r4.",
        (*_SUMS[:pixels], *_LOW[:pixels], "shift"),
        (
            *(f"sub {h}, {h}, {x}" for h, x in zip(high, low, strict=True)),
            *(f"add {x}, r3, {x}, lsl #8" for x in low),
            *(f"smmul {h}, {h}, r2" for h in high),
            *(f"smmul {x}, {x}, r4" for x in low),
            *(f"ssat {x}, #8, {x}, asr #\\shift" for x in (*high, *low)),
        ),
    )


def one_channel(
    kind: FormKind, postshift: int, sums: Sequence[str], low: Sequence[str] = ()
) -> Iterator[MacroCall]:
    """Sums of a channel, a register a pixel; with `low` they are packed high ones."""
    shift = () if kind is FormKind.LITERAL else (postshift,)
    yield _one_channel(kind, len(sums), bool(low))(*sums, *low, *shift)


@cache
def _one_channel(kind: FormKind, pixels: int, packed: bool) -> Macro:
    lows = _LOW[: pixels * packed]
    return Macro(
        f"GLOWMCU_{kind.name}_{'HIGH' if packed else 'LOW'}_{pixels}",
        f"{'Packed high sums' if packed else 'Sums'} of a channel of {_PIXELS[pixels]} to int8:"
        " constants are r2, r3, r4.",
        (*_SUMS[:pixels], *lows, *(() if kind is FormKind.LITERAL else ("shift",))),
        tuple(
            line
            for place in range(pixels)
            for line in _to_int8(kind, f"\\{_SUMS[place]}", f"\\{lows[place]}" if packed else "")
        ),
    )


def _to_int8(kind: FormKind, x: str, low: str) -> Iterator[str]:
    if low:
        yield f"sub {x}, {x}, {low}"
    if kind is FormKind.LITERAL:
        yield f"asr {x}, {x}, #7" if low else f"lsl {x}, {x}, #1"
        yield from (f"smmlar r5, {x}, r2, r3", f"add {x}, r5, {x}, asr #31")
        yield from (f"asr {x}, {x}, r4", f"ssat {x}, #8, {x}")
        return
    if kind is FormKind.TWO_SIDED:
        yield f"and r5, r4, {x}, asr #31"
    yield f"add {x}, r2, {x}" if low else f"add {x}, r2, {x}, lsl #8"
    yield f"smmul {x}, {x}, r3" if kind is FormKind.FLOOR else f"smmla {x}, {x}, r3, r5"
    yield f"ssat {x}, #8, {x}, asr #\\shift"


def parted_sums(sums: Sequence[str], eightfold: str) -> Iterator[str]:
    """Sums of four channels from those of their parts, see nibbles.py; `eightfold`: 8 times X."""
    p0, p1, p2, p3 = sums
    yield from (f"sub {p3}, {p3}, {part}" for part in (p2, p1, p0))
    yield f"rsb {p2}, {eightfold}, {p2}, asr #8"
    yield f"rsb {p1}, {eightfold}, {p1}, asr #4"
    yield from (f"sub {p0}, {p0}, {eightfold}", f"asr {p3}, {p3}, #12")
