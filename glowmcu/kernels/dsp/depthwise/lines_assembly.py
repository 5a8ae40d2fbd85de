"""The Armv7E-M loop of `depthwise_conv_2d.lines_dsp`, as instructions.

A word of the scratch holds two neighbours of a line, {x0, x1}. Two outputs of a 3x3 window are, for
each of its three lines with weights {k0, k1} and {k1, k2},

    stride 1    a0 = {x0, x1}.{k0, k1} + x2 * k2      a1 = x1 * k0 + {x2, x3}.{k1, k2}
    stride 2    a0 = {x0, x1}.{k0, k1} + x2 * k2      a1 = {x2, x3}.{k0, k1} + x4 * k2

so 12 multiply-accumulates are 18 products. All 14 registers are taken: r0 in, r1 out, r2 step from
output to output with the rounds left above it, r3 multiplier, r4-r9 weights, r10 and r11 the sums,
r12 and lr words. Rounds are unrolled, the first one is entered in the middle, and every second
block takes the lines in reverse order: so it finds a word of the block before in lr.
"""

from __future__ import annotations

from collections.abc import Iterator

from glowmcu.kernels.requantization.forms import FormKind
from glowmcu.lazy_dataclass import dataclass

#: Bytes from a word of a line to its next, for all four channels, and from channel to channel.
WORD_STEP, CHANNEL_STEP = 128, 32

#: Steps from output to output that fit a round's offsets.
MOST_KNOWN_STEP = 4095 // 8

#: Offsets in the stack frame; five words from `FRAME_NEXT_LINE` on begin the pass as well.
FRAME_START, FRAME_NEXT_LINE, FRAME_ENTRY, FRAME_ENTRY_WORD, FRAME_ROUNDS = 0, 4, 12, 16, 20
FRAME_LINES_LEFT, FRAME_STEP, FRAME_MULTIPLIER = 24, 56, 60
_CHANNEL, _CHANNELS_LEFT, _PASS, _SHIFT, _FRAME = 28, 44, 48, 52, 64
#: Offsets in `glowmcu_depthwise_pass`, the first ones in `glowmcu_depthwise_pair_pass` as well.
_PASS_LINES, _PASS_SKIP, _PASS_OUT_SKIP, _PASS_CLAMP, _PASS_ROUNDING = 20, 24, 28, 32, 40


@dataclass(frozen=True)
class PassShape:
    """What the loop is made for: steps along a line, and how sums become int8.

    `out_step` is the one number of bytes from output to output, 0 for any: then r2 has it.
    `carried`: a block finds what sums start from in r10, where the one before has loaded it while
    it waited for its own results.
    """

    stride: int
    kind: FormKind
    postshift: int
    clamped: bool
    out_step: int = 0
    carried: bool = False

    @property
    def keeps_word(self) -> bool:
        """Whether lr survives from block to block: the short epilogue needs no register."""
        return self.kind is FormKind.FLOOR and not self.clamped

    @property
    def unrolled(self) -> int:
        """Blocks of two outputs in a round."""
        return 4 if self.keeps_word else 2


def pass_assembly(shape: PassShape) -> tuple[str, ...]:
    """The whole function: arguments words, out, weights, pass in r0 to r3."""
    return (*enter_pass(), *load_channel(shape), *_lines(shape))


def enter_pass() -> Iterator[str]:
    """Saved registers and a frame with what all channels need."""
    yield "push {r4-r11, lr}"
    yield f"sub sp, #{_FRAME}"
    yield f"add r12, sp, #{FRAME_NEXT_LINE}"
    yield "ldm r3, {r4-r8}"
    yield "stm r12, {r4-r8}"
    yield f"ldr r4, [r3, #{_PASS_SKIP}]"
    yield f"str r3, [sp, #{_PASS}]"
    yield "subs r0, r0, r4"
    yield f"ldr r4, [r3, #{_PASS_OUT_SKIP}]"
    yield "add r3, r2, #36"
    yield "subs r1, r1, r4"
    yield "movs r4, #4"
    yield f"str r4, [sp, #{_CHANNELS_LEFT}]"


def load_channel(shape: PassShape) -> Iterator[str]:
    """Weights of a channel into r4-r9, its other constants into the frame."""
    yield "1: /* channel: r0 in, r1 out, r2 weights, r3 constants */"
    yield from ("ldr r4, [r2]", "ldr r6, [r2, #3]", "ldr r8, [r2, #6]")
    yield f"ldr r12, [sp, #{_PASS}]"
    yield "mov lr, #0xFF00FF00"
    yield f"ldr r12, [r12, #{_PASS_LINES}]"
    yield f"str r12, [sp, #{FRAME_LINES_LEFT}]"
    for k01, k12 in (("r4", "r5"), ("r6", "r7"), ("r8", "r9")):
        yield f"and {k12}, lr, {k01}, lsl #8"
        yield f"and {k01}, {k01}, lr"
        yield f"pkhbt {k01}, {k01}, {k12}, lsl #16"
    if shape.stride == 2:
        yield "pkhtb r5, r5, r7, asr #16 /* k2 of the second line below k2 of the first */"
    yield from ("adds r2, #9", "ldm r3!, {r10, r11}")
    yield f"str r10, [sp, #{FRAME_START}]"
    if shape.kind is FormKind.LITERAL:
        yield from _unpack_literal()
    elif shape.clamped:
        yield f"str r11, [sp, #{FRAME_MULTIPLIER}]"
    yield f"strd r2, r3, [sp, #{_CHANNEL + 8}]"
    if shape.keeps_word:
        yield "mov r3, r11"
    yield f"add r10, r0, #{CHANNEL_STEP}"
    yield "add r11, r1, #1"
    yield f"strd r10, r11, [sp, #{_CHANNEL}]"


def _unpack_literal() -> Iterator[str]:
    """r10 = start << 5 | (shift - 1), r11 = multiplier: the step follows from the shift."""
    yield f"ldr r12, [sp, #{_PASS}]"
    yield f"str r11, [sp, #{FRAME_MULTIPLIER}]"
    yield f"ldr r12, [r12, #{_PASS_ROUNDING}]"
    yield "bic lr, r10, #31"
    yield "and r10, r10, #31"
    yield "lsl lr, lr, #3"
    yield "lsl r11, r12, r10"
    yield f"str lr, [sp, #{FRAME_START}]"
    yield f"strd r10, r11, [sp, #{_SHIFT}]"


def _lines(shape: PassShape) -> Iterator[str]:
    """All outputs of a channel, line after line; then the next channel."""
    tail = 10 + shape.unrolled
    yield "2: /* line: r0 in, r1 out */"
    yield f"ldr lr, [sp, #{FRAME_ENTRY_WORD}]"
    yield f"ldr r12, [sp, #{FRAME_ENTRY}]"
    yield f"ldr r2, [sp, #{FRAME_ROUNDS}]"
    yield "ldr lr, [r0, lr]"
    if shape.carried:
        yield f"ldr r10, [sp, #{FRAME_START}]"
    yield "tbh [pc, r12, lsl #1]"
    yield "3: /* where the first round is entered */"
    for target in range(10, tail + 1):
        yield f".hword ({target}f - 3b) / 2"
    for number in range(shape.unrolled):
        yield f"{10 + number}: /* two outputs */"
        yield from _block(shape, number)
    yield f"add r0, #{shape.unrolled * shape.stride * WORD_STEP}"
    if shape.out_step:
        yield f"addw r1, r1, #{2 * shape.unrolled * shape.out_step}"
    yield "subs r2, #0x20000"
    yield "bcs 10b"
    yield "lsls r12, r2, #15"
    yield f"bmi {tail}f"
    yield "4: /* the next line */"
    yield f"ldrd r10, r11, [sp, #{FRAME_NEXT_LINE}]"
    yield f"ldr r12, [sp, #{FRAME_LINES_LEFT}]"
    yield from ("add r0, r10", "add r1, r11", "subs r12, #1")
    yield f"str r12, [sp, #{FRAME_LINES_LEFT}]"
    yield "bne 2b"
    yield from next_channel()
    yield f"{tail}: /* the last of an odd number */"
    yield from _single(shape)
    yield "b 4b"


def next_channel() -> Iterator[str]:
    """Back to the start for another channel, or out of the function."""
    yield "/* the next channel */"
    yield f"add r12, sp, #{_CHANNEL}"
    yield "ldm r12, {r0-r4}"
    yield "subs r4, #1"
    yield f"str r4, [sp, #{_CHANNELS_LEFT}]"
    yield "bne 1b"
    yield f"add sp, #{_FRAME}"
    yield "pop {r4-r11, pc}"


def _block(shape: PassShape, number: int) -> Iterator[str]:
    """Two outputs. The lines go up in even blocks, down in odd ones."""
    at = number * shape.stride * WORD_STEP
    order = (0, 1, 2) if number % 2 == 0 else (2, 1, 0)
    for place, line in enumerate(order):
        words = [at + 4 * line + word * WORD_STEP for word in range(shape.stride + 1)]
        registers = _word_registers(shape, place)
        if place == 0 and not shape.carried:
            yield f"ldr r11, [sp, #{FRAME_START}]"
        for index, (register, offset) in enumerate(zip(registers, words, strict=True)):
            if place or index or not shape.keeps_word:
                yield f"ldr {register}, [r0, #{offset}]"
        multiply = _multiply_1 if shape.stride == 1 else _multiply_2
        if shape.carried:
            yield from _carried_products(shape, place, line, registers)
        else:
            yield from multiply(line, registers, "r11" if place == 0 else "r10")
    yield from _finish(shape, 2, 2 * number * shape.out_step)


def _word_registers(shape: PassShape, place: int) -> tuple[str, ...]:
    """Where a line's words go: the first line finds its first word in lr, the last leaves one."""
    if shape.stride == 1:
        return ("r12", "lr") if place == 2 else ("lr", "r12")
    return ("r12", "r7", "lr") if place == 2 else ("lr", "r12", "r7")


def _carried_products(
    shape: PassShape, place: int, line: int, words: tuple[str, ...]
) -> Iterator[str]:
    """Both sums begin with r10; of the last line the word that is there first goes first."""
    if shape.stride == 2:
        yield from ("mov r11, r10",) * (place == 0)
        yield from _multiply_2(line, words, "r10")
        return
    (x01, x23), (k01, k12) = words, (f"r{4 + 2 * line}", f"r{5 + 2 * line}")
    start = "r10" if place == 0 else "r11"
    first = (f"smlatb r11, {x01}, {k01}, {start}", f"smlad r10, {x01}, {k01}, r10")
    second = (f"smlabt r10, {x23}, {k12}, r10", f"smlad r11, {x23}, {k12}, r11")
    yield from (*second, *first[::-1]) if place == 2 else (*first, *second)


def _multiply_1(line: int, words: tuple[str, ...], start: str) -> Iterator[str]:
    (x01, x23), (k01, k12) = words, (f"r{4 + 2 * line}", f"r{5 + 2 * line}")
    yield f"smlad r10, {x01}, {k01}, {start}"
    yield f"smlatb r11, {x01}, {k01}, r11"
    yield f"smlabt r10, {x23}, {k12}, r10"
    yield f"smlad r11, {x23}, {k12}, r11"


def _multiply_2(line: int, words: tuple[str, ...], start: str) -> Iterator[str]:
    (x01, x23, x4), k01 = words, f"r{4 + 2 * line}"
    half, k2 = (("t", "r5"), ("b", "r5"), ("t", "r9"))[line]
    yield f"smlad r10, {x01}, {k01}, {start}"
    yield f"smlad r11, {x23}, {k01}, r11"
    yield f"smlab{half} r10, {x23}, {k2}, r10"
    yield f"smlab{half} r11, {x4}, {k2}, r11"


def _single(shape: PassShape) -> Iterator[str]:
    """One output."""
    yield f"ldr r10, [sp, #{FRAME_START}]"
    for line in range(3):
        k01 = f"r{4 + 2 * line}"
        half, k2 = "t", f"r{5 + 2 * line}"
        if shape.stride == 2:
            half, k2 = (("t", "r5"), ("b", "r5"), ("t", "r9"))[line]
        if line or not shape.keeps_word:
            yield f"ldr lr, [r0, #{4 * line}]"
        yield f"ldr r12, [r0, #{4 * line + WORD_STEP}]"
        yield f"smlad r10, lr, {k01}, r10"
        yield f"smlab{half} r10, r12, {k2}, r10"
    yield from _finish(shape, 1, 0)


def _finish(shape: PassShape, outputs: int, at: int) -> Iterator[str]:
    """Sums in r10, r11 to int8 in memory; `at` is where in a round with a known step."""
    sums = ("r10", "r11")[:outputs]
    yield "/* to int8 */"
    if shape.keeps_word:
        yield from (f"smmul {a}, {a}, r3" for a in sums)
        yield f"ssat r10, #8, r10, asr #{shape.postshift}"
    else:
        yield from _scale(shape, sums)
    if shape.clamped:
        yield from _clamp(sums)
    if outputs == 2 and shape.carried and shape.keeps_word:
        yield from _carried_end(shape, at)
        return
    yield f"strb r10, [r1, #{at}]"
    if outputs == 2 and shape.carried:
        yield f"ldr r10, [sp, #{FRAME_START}]"
    if outputs == 2:
        if not shape.out_step:
            yield "uxtah r1, r1, r2"
        if shape.keeps_word:
            yield f"ssat r11, #8, r11, asr #{shape.postshift}"
        yield f"strb r11, [r1, #{at + shape.out_step}]"
        if not shape.out_step:
            yield "uxtah r1, r1, r2"


def _carried_end(shape: PassShape, at: int) -> Iterator[str]:
    """Both results, the second one's place being known early; r12 is free."""
    second = f"[r1, #{at + shape.out_step}]" if shape.out_step else "[r12]"
    if not shape.out_step:
        yield "uxtah r12, r1, r2"
    yield from (f"strb r10, [r1, #{at}]", f"ldr r10, [sp, #{FRAME_START}]")
    yield from (f"ssat r11, #8, r11, asr #{shape.postshift}", f"strb r11, {second}")
    if not shape.out_step:
        yield "uxtah r1, r12, r2"


def _scale(shape: PassShape, sums: tuple[str, ...]) -> Iterator[str]:
    """All but storing and clamping, with constants from the frame."""
    yield f"ldr r3, [sp, #{FRAME_MULTIPLIER}]"
    if shape.kind is FormKind.FLOOR:
        for a in sums:
            yield f"smmul {a}, {a}, r3"
            yield f"ssat {a}, #8, {a}, asr #{shape.postshift}"
        return
    yield f"ldr lr, [sp, #{FRAME_STEP}]"
    for a in sums:
        yield f"asrs {a}, {a}, #7"
        yield f"smmlar r12, {a}, r3, lr"
        yield f"add {a}, r12, {a}, asr #31"
    yield f"ldr r12, [sp, #{_SHIFT}]"
    for a in sums:
        yield f"asr {a}, {a}, r12"
        yield f"ssat {a}, #8, {a}, asr #1"


def _clamp(sums: tuple[str, ...]) -> Iterator[str]:
    """Into the range of a fused activation, from the pass."""
    yield f"ldr r3, [sp, #{_PASS}]"
    yield f"ldrd r12, lr, [r3, #{_PASS_CLAMP}]"
    for a in sums:
        yield f"cmp {a}, r12"
        yield "it lt"
        yield f"movlt {a}, r12"
        yield f"cmp {a}, lr"
        yield "it gt"
        yield f"movgt {a}, lr"
