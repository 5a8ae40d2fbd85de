"""The Armv7E-M loop of `depthwise_conv_2d.taps_dsp`, as instructions: all channels of one pixel.

r0 table, r1 channel, r2 weights, r3 pairs left, r4-r7 sums of four channels, the rest for words.
"""

from __future__ import annotations

from collections.abc import Iterator

from glowmcu.kernels.requantization.forms import Form, FormKind

#: Offsets in the stack frame.
_TABLE, _PAIRS, _LAST, _MEMBERS, _FRAME = 0, 8, 12, 16, 20
_OUT = _TABLE + 4
#: Offset in `glowmcu_depthwise_taps`.
_ROUNDING = 16


def pixel_assembly(form: Form) -> tuple[str, ...]:
    """The whole function: arguments table, out, blocks, p in r0 to r3."""
    return (*_enter(), *_sums(), *_finish(form), *_next_block())


def _enter() -> Iterator[str]:
    yield "push {r4-r11, lr}"
    yield f"sub sp, #{_FRAME}"
    yield "ldrd r4, r5, [r3]"
    yield "subs r5, #4"
    yield f"strd r0, r1, [sp, #{_TABLE}]"
    yield f"strd r4, r5, [sp, #{_PAIRS}]"
    yield f"str r3, [sp, #{_MEMBERS}]"
    yield "movs r1, #0"


def _sums() -> Iterator[str]:
    yield "1: /* four channels from r1 on */"
    yield f"ldr r0, [sp, #{_TABLE}]"
    yield f"ldr r3, [sp, #{_PAIRS}]"
    yield from (f"movs r{number}, #0" for number in range(4, 8))
    yield "2: /* two taps */"
    yield "ldm r0!, {r8, r9}"
    yield "ldrd r10, r11, [r2], #8"
    yield from ("ldr r8, [r8, r1]", "ldr r9, [r9, r1]")
    yield "subs r3, #1"
    yield "pkhbt r12, r8, r9, lsl #16"
    yield "pkhtb r8, r9, r8, asr #16"
    for sums, words, weights in ((("r4", "r5"), "r12", "r10"), (("r6", "r7"), "r8", "r11")):
        yield f"sxtb16 r9, {words}"
        yield f"sxtb16 lr, {weights}"
        yield f"smlad {sums[0]}, r9, lr, {sums[0]}"
        yield f"sxtb16 r9, {words}, ror #8"
        yield f"sxtb16 lr, {weights}, ror #8"
        yield f"smlad {sums[1]}, r9, lr, {sums[1]}"
    yield "bne 2b"


def _finish(form: Form) -> Iterator[str]:
    """Four sums to int8 in memory; r2 moves past the constants."""
    yield "/* four sums to int8 */"
    yield f"ldr r0, [sp, #{_OUT}]"
    if form.kind is FormKind.LITERAL:
        yield f"ldr r3, [sp, #{_MEMBERS}]"
        yield f"ldr r3, [r3, #{_ROUNDING}]"
    if form.clamp is not None:
        yield f"ldr r12, [sp, #{_MEMBERS}]"
        yield "ldrd r12, lr, [r12, #8]"
    yield "add r0, r1"
    for channel, sum_ in enumerate(("r4", "r5", "r6", "r7")):
        yield from _FINISH[form.kind](form, sum_)
        if form.clamp is not None:
            yield from ("cmp r8, r12", "it lt", "movlt r8, r12")
            yield from ("cmp r8, lr", "it gt", "movgt r8, lr")
        yield f"strb r8, [r0, #{channel}]"


def _finish_floor(form: Form, sum_: str) -> Iterator[str]:
    yield "ldm r2!, {r8, r9}"
    yield f"add r8, r8, {sum_}, lsl #{form.preshift}"
    yield "smmul r8, r8, r9"
    yield f"ssat r8, #8, r8, asr #{form.postshift}"


def _finish_literal(form: Form, sum_: str) -> Iterator[str]:
    """r3 = 2 * zero_point + 1; r8 = start << 5 | (shift - 1)."""
    yield "ldm r2!, {r8, r9}"
    yield f"add {sum_}, {sum_}, r8, asr #5"
    yield "and r8, r8, #31"
    yield f"lsl r10, {sum_}, #1"
    yield "lsl r11, r3, r8"
    yield "smmlar r10, r10, r9, r11"
    yield f"add r10, r10, {sum_}, asr #31"
    yield "asr r10, r10, r8"
    yield "ssat r8, #8, r10, asr #1"


_FINISH = {
    FormKind.FLOOR: _finish_floor,
    FormKind.LITERAL: _finish_literal,
}


def _next_block() -> Iterator[str]:
    """The last block starts earlier where channels are no multiple of four."""
    yield "/* the next four channels */"
    yield f"ldr r8, [sp, #{_LAST}]"
    yield "cmp r1, r8"
    yield "add r1, #4"
    yield "bge 3f"
    yield "cmp r1, r8"
    yield "it gt"
    yield "movgt r1, r8"
    yield "b 1b"
    yield "3:"
    yield f"add sp, #{_FRAME}"
    yield "pop {r4-r11, pc}"
