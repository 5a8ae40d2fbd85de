"""The Armv7E-M loop of `depthwise_conv_2d.strip_dsp`, as instructions: four channels of a line.

A word x_j of the scratch holds two neighbours of the line, {x[2j], x[2j + 1]}. With the weights
A_j = {k[2j], k[2j + 1]} and B_j = {k[2j - 1], k[2j]}, both times 2^8, four outputs are

    y0 = sum x_j.A_j    y1 = sum x_j.B_j    y2 = sum x_j.A_(j-1)    y3 = sum x_j.B_(j-1)

r0 words, r1 out, r2 weights, r3 weights left, r4-r7 sums, r8 x_j, r9 and r10 A_j and B_j, r11 first
word of the next four outputs, r12 bytes from output to output, lr outputs left.
"""

from __future__ import annotations

from collections.abc import Iterator

from glowmcu.kernels.requantization.forms import FormKind
from glowmcu.lazy_dataclass import dataclass

_SUMS = ("r4", "r5", "r6", "r7")
#: Offsets in the stack frame. In the order of the arguments: scratch, out, block, pass.
_SCRATCH, _OUT, _WEIGHTS, _PASS, _CONSTANTS, _CHANNELS_LEFT = 0, 4, 8, 12, 16, 20
_LINE, _START, _MULTIPLIER, _COUNT, _FRAME = 24, 28, 32, 44, 48
#: Offsets in `glowmcu_depthwise_strip`.
_OUTPUTS, _OUT_STEP, _WORDS, _WEIGHTS_STEP, _ROUNDING, _CLAMP = 0, 4, 8, 12, 16, 20


@dataclass(frozen=True)
class StripShape:
    """How sums become int8 (`postshift` is unused by the literal form), for how many words of
    weights: 0 for any number. `overlaps`: sums are rounded in two registers in turn.
    """

    kind: FormKind
    postshift: int
    clamped: bool
    words: int = 0
    overlaps: bool = False


def strip_assembly(shape: StripShape) -> tuple[str, ...]:
    """The whole function: arguments scratch, out, block, pass in r0 to r3."""
    sums = _four_outputs_of(shape.words) if shape.words else _four_outputs()
    return (*_enter(), *_channel(shape), *sums, *_finish(shape), *_leave())


def _enter() -> Iterator[str]:
    yield "push {r4-r11, lr}"
    yield f"sub sp, #{_FRAME}"
    yield "stm sp, {r0-r3}"
    yield f"ldrd r4, r5, [r3, #{_WORDS}]"
    yield "add r6, r0, r4, lsl #3"
    yield f"str r4, [sp, #{_COUNT}]"
    yield f"str r6, [sp, #{_LINE}]"
    yield "add r2, r2, r5, lsl #2"
    yield "adds r2, #4 /* a zero, to a whole word */"
    yield "movs r4, #4"
    yield f"strd r2, r4, [sp, #{_CONSTANTS}]"


def _channel(shape: StripShape) -> Iterator[str]:
    """Weights of a channel expanded into the scratch, its other constants into the frame."""
    yield "1: /* channel */"
    yield "ldm sp, {r0-r3}"
    yield f"ldrd r4, r5, [r3, #{_WORDS}]"
    yield "mov r12, #0xFF00FF00"
    yield "add r5, r5, r2"
    yield f"str r5, [sp, #{_WEIGHTS}]"
    yield "2: /* bytes k[2j - 1], k[2j], k[2j + 1] */"
    yield "ldr r8, [r2]"
    yield "adds r2, #2"
    yield "subs r4, #1"
    yield "and r9, r12, r8"
    yield "and r10, r12, r8, lsl #8"
    yield "pkhbt r8, r9, r10"
    yield "pkhbt r9, r10, r9, lsl #16"
    yield "strd r8, r9, [r0], #8"
    yield "bne 2b"
    yield f"ldr r2, [sp, #{_CONSTANTS}]"
    yield "ldm r2!, {r4, r5}"
    yield f"str r2, [sp, #{_CONSTANTS}]"
    if shape.kind is FormKind.LITERAL:
        yield f"ldr r8, [r3, #{_ROUNDING}]"
        yield "and r7, r4, #31"
        yield "bic r4, r4, #31"
        yield "lsls r4, r4, #3"
        yield "lsl r6, r8, r7"
    yield f"add r2, sp, #{_START}"
    yield "stm r2, {r4-r7}"
    yield f"ldr r11, [sp, #{_LINE}]"
    yield f"ldr r2, [sp, #{_SCRATCH}]"
    yield f"ldrd lr, r12, [r3, #{_OUTPUTS}]"


def _four_outputs_of(words: int) -> Iterator[str]:
    """Sums of four outputs, unrolled; r2 stays, weights alternate between pairs of registers."""
    yield "3: /* four outputs */"
    yield f"ldr r7, [sp, #{_START}]"
    yield from ("ldr r8, [r11]", "ldr r9, [r2]", "ldr r10, [r2, #4]")
    yield from ("mov r6, r7", "smlad r4, r8, r9, r7", "smlad r5, r8, r10, r7")
    before, now = ("r9", "r10"), ("r0", "r3")
    for word in range(1, words):
        yield f"ldr r8, [r11, #{16 * word}]"
        yield f"ldr {now[0]}, [r2, #{8 * word}]"
        yield f"ldr {now[1]}, [r2, #{8 * word + 4}]"
        yield from _multiply(_SUMS[2:], before)
        yield from _multiply(_SUMS[:2], now)
        before, now = now, before
    yield f"ldr r8, [r11, #{16 * words}]"
    yield "adds r11, #32"
    yield from _multiply(_SUMS[2:], before)


def _four_outputs() -> Iterator[str]:
    """Sums of four outputs; two words a round, the first round may be half of one."""
    yield "3: /* four outputs */"
    yield f"ldr r7, [sp, #{_START}]"
    yield f"ldr r3, [sp, #{_COUNT}]"
    yield f"ldr r2, [sp, #{_SCRATCH}]"
    yield "ldr r8, [r11]"
    yield "add r0, r11, #16"
    yield "ldrd r9, r10, [r2], #8"
    yield from ("adds r11, #32", "mov r6, r7")
    yield from ("smlad r4, r8, r9, r7", "smlad r5, r8, r10, r7")
    yield "lsrs r3, r3, #1"
    yield "bcc 5f"
    for label in ("4:", "5:"):
        yield label
        yield "ldr r8, [r0], #16"
        yield from _multiply(_SUMS[2:])
        yield "ldrd r9, r10, [r2], #8"
        yield from _multiply(_SUMS[:2])
    yield "subs r3, #1"
    yield "bne 4b"
    yield "ldr r8, [r0]"
    yield from _multiply(_SUMS[2:])


def _multiply(sums: tuple[str, ...], weights: tuple[str, str] = ("r9", "r10")) -> Iterator[str]:
    for sum_, weight in zip(sums, weights, strict=True):
        yield f"smlad {sum_}, r8, {weight}, {sum_}"


def _finish(shape: StripShape) -> Iterator[str]:
    """Four sums to int8 in memory, fewer at the end."""
    yield "/* four sums to int8 */"
    yield f"add r3, sp, #{_MULTIPLIER}"
    yield "ldm r3, {r8, r9, r10}"
    for number, sum_ in enumerate(_SUMS):
        rounded = "r0" if shape.overlaps and number % 2 else "r3"
        if shape.kind is FormKind.FLOOR:
            yield f"smmul {sum_}, {sum_}, r8"
            yield f"ssat {sum_}, #8, {sum_}, asr #{shape.postshift}"
        else:
            yield f"asrs {sum_}, {sum_}, #7"
            yield f"smmlar {rounded}, {sum_}, r8, r9"
            yield f"add {sum_}, {rounded}, {sum_}, asr #31"
            yield f"asrs {sum_}, r10"
            yield f"ssat {sum_}, #8, {sum_}, asr #1"
    if shape.clamped:
        yield from _clamp()
    yield "subs lr, #4"
    yield "blt 6f"
    for sum_ in _SUMS:
        yield f"strb {sum_}, [r1]"
        yield "add r1, r12"
    yield "bne 3b"
    yield "b 7f"
    yield "6: /* -3 to -1 are missing */"
    yield "strb r4, [r1]"
    for sum_, missing in (("r5", 3), ("r6", 2)):
        yield "add r1, r12"
        yield f"cmn lr, #{missing}"
        yield "it gt"
        yield f"strbgt {sum_}, [r1]"
    yield "7: /* the next channel */"


def _clamp() -> Iterator[str]:
    yield f"ldr r3, [sp, #{_PASS}]"
    yield f"ldrd r9, r10, [r3, #{_CLAMP}]"
    for sum_ in _SUMS:
        yield from (f"cmp {sum_}, r9", "it lt", f"movlt {sum_}, r9")
        yield from (f"cmp {sum_}, r10", "it gt", f"movgt {sum_}, r10")


def _leave() -> Iterator[str]:
    """The next channel, a byte further in the output and a word further in the line."""
    yield f"ldr r4, [sp, #{_LINE}]"
    yield f"ldr r5, [sp, #{_OUT}]"
    yield f"ldr r6, [sp, #{_CHANNELS_LEFT}]"
    yield from ("adds r4, #4", "adds r5, #1")
    yield f"str r4, [sp, #{_LINE}]"
    yield f"str r5, [sp, #{_OUT}]"
    yield "subs r6, #1"
    yield f"str r6, [sp, #{_CHANNELS_LEFT}]"
    yield "bne 1b"
    yield f"add sp, #{_FRAME}"
    yield "pop {r4-r11, pc}"
