"""The Armv7E-M loop of `depthwise_conv_2d.near_taps_dsp`, as instructions: all channels of a pixel.

r0 four channels of the window's first tap, r1 their results, r2 weights, r4-r7 sums, the rest for
words. Distances of taps are immediates of loads.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache

from glowmcu.ir.assembly_macros import Assembly, AssemblyLine, Macro
from glowmcu.kernels.requantization.forms import Form, FormKind

#: Offsets in the stack frame: channels left, pointer to the members.
_LEFT, _MEMBERS, _FRAME = 0, 4, 8
#: Offsets in `glowmcu_depthwise_near_taps`.
_ROUNDING, _CLAMPS = 4, 8
_SUMS = ("r4", "r5", "r6", "r7")


def window_assembly(form: Form, distances: Sequence[int]) -> Assembly:
    """The whole function: arguments in, out, blocks, p in r0 to r3.

    `distances` of the taps from the first one, in bytes; an even number of them.
    """
    return (*_enter(), *_sums(distances), *_finish(form), *_next_block())


def _enter() -> Iterator[str]:
    yield "push {r4-r11, lr}"
    yield "ldr r4, [r3]"
    yield f"sub sp, #{_FRAME}"
    yield f"strd r4, r3, [sp, #{_LEFT}]"


def _sums(distances: Sequence[int]) -> Iterator[AssemblyLine]:
    yield "1: /* four channels */"
    for first in range(0, len(distances), 2):
        yield _two_taps(first == 0)(distances[first], distances[first + 1])


@cache
def _two_taps(is_first: bool) -> Macro:
    return Macro(
        f"GLOWMCU_TWO_TAPS{'_FIRST' * is_first}",
        f"Products of four channels with two taps, `x` and `y` behind r0{', begin' * is_first}.",
        ("x", "y"),
        tuple(_products(is_first)),
    )


def _products(is_first: bool) -> Iterator[str]:
    yield "ldrd r10, r11, [r2], #8"
    yield from (r"ldr r8, [r0, #\x]", r"ldr r9, [r0, #\y]")
    yield "pkhbt r12, r8, r9, lsl #16"
    yield "pkhtb r8, r9, r8, asr #16"
    words = (("r12", "r10", ""), ("r12", "r10", ", ror #8"), ("r8", "r11", ""),
             ("r8", "r11", ", ror #8"))  # fmt: skip
    for sum_, (values, weights, ror) in zip(_SUMS, words, strict=True):
        yield f"sxtb16 r9, {values}{ror}"
        yield f"sxtb16 lr, {weights}{ror}"
        yield f"smuad {sum_}, r9, lr" if is_first else f"smlad {sum_}, r9, lr, {sum_}"


def _finish(form: Form) -> Iterator[AssemblyLine]:
    """Four sums to int8 in memory; r2 moves past the constants."""
    if form.kind is FormKind.LITERAL:
        yield f"ldr r3, [sp, #{_MEMBERS}]"
        yield f"ldr r3, [r3, #{_ROUNDING}]"
    if form.clamp is not None:
        yield f"ldr r12, [sp, #{_MEMBERS}]"
        yield f"ldrd r12, lr, [r12, #{_CLAMPS}]"
    for channel, sum_ in enumerate(_SUMS):
        shifts = (form.preshift, form.postshift) if form.kind is FormKind.FLOOR else ()
        yield _result(form.kind, form.clamp is not None)(sum_, *shifts, channel)


@cache
def _result(kind: FormKind, clamped: bool) -> Macro:
    shifts = ("left", "right") if kind is FormKind.FLOOR else ()
    clamp = (*("cmp r8, r12", "it lt", "movlt r8, r12"), *("cmp r8, lr", "it gt", "movgt r8, lr"))
    return Macro(
        f"GLOWMCU_TAPS_{kind.name}{'_CLAMPED' * clamped}",
        "A sum to int8, which is stored at `o`; its constants are next in the stream.",
        ("sum", *shifts, "o"),
        (*_to_int8(kind, r"\sum"), *clamp[: 6 * clamped], r"strb r8, [r1, #\o]"),
    )


def _to_int8(kind: FormKind, sum_: str) -> Iterator[str]:
    """A sum to r8. Literal: r3 = 2 * zero_point + 1; r8 begins as start << 5 | (shift - 1)."""
    yield "ldm r2!, {r8, r9}"
    if kind is FormKind.FLOOR:
        yield rf"add r8, r8, {sum_}, lsl #\left"
        yield "smmul r8, r8, r9"
        yield r"ssat r8, #8, r8, asr #\right"
        return
    yield f"add {sum_}, {sum_}, r8, asr #5"
    yield "and r8, r8, #31"
    yield f"lsl r10, {sum_}, #1"
    yield "lsl r11, r3, r8"
    yield "smmlar r10, r10, r9, r11"
    yield f"add r10, r10, {sum_}, asr #31"
    yield "asr r10, r10, r8"
    yield "ssat r8, #8, r10, asr #1"


def _next_block() -> Iterator[str]:
    """The last block starts earlier where channels are no multiple of four."""
    yield f"ldr r8, [sp, #{_LEFT}]"
    yield "movs r9, #4"
    yield "subs r8, #4"
    yield "ble 3f"
    yield "cmp r8, #4"
    yield "itt lt"
    yield "movlt r9, r8"
    yield "movlt r8, #4"
    yield f"str r8, [sp, #{_LEFT}]"
    yield from ("add r0, r9", "add r1, r9", "b 1b")
    yield "3:"
    yield f"add sp, #{_FRAME}"
    yield "pop {r4-r11, pc}"
