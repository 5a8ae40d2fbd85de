"""The Armv7E-M loop of `depthwise_conv_2d.line_pairs_dsp`: two outputs of two lines at a time.

Of four lines' words the two in the middle serve both outputs, so that 36 multiply-accumulates take
36 - 12 products and 8 loads. Registers: r0 in, r1 out, r2 and r3 words, r4-r9 weights, r10 and r11
the upper sums, r12 and lr the lower ones. Every second block takes the lines in reverse order: so
it finds a word of the block before in r3. The frame is that of lines_assembly.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from glowmcu.kernels.dsp.depthwise.lines_assembly import (
    FRAME_ENTRY,
    FRAME_ENTRY_WORD,
    FRAME_LINES_LEFT,
    FRAME_MULTIPLIER,
    FRAME_NEXT_LINE,
    FRAME_ROUNDS,
    FRAME_START,
    FRAME_STEP,
    WORD_STEP,
    PassShape,
    enter_pass,
    load_channel,
    next_channel,
)
from glowmcu.kernels.requantization.forms import FormKind

#: Stores reach so far, and what is added at once.
_MOST_OFFSET = 4095
_UPPER, _LOWER = ("r10", "r11"), ("r12", "lr")
#: The word of the frame that counts rounds; the literal form would keep its step there.
_ROUNDS_LEFT = FRAME_STEP


@dataclass(frozen=True)
class LinePairShape:
    """What the loop is made for: bytes from output to output and from line to line.

    `unrolled` blocks of two outputs are a round; an odd number only where a line is one round.
    """

    out_step: int
    line_step: int
    unrolled: int
    postshift: int

    @property
    def fits(self) -> bool:
        """Whether all of a round's outputs are within reach, and the next round's first one."""
        last = self.line_step + (2 * self.unrolled - 1) * self.out_step
        return max(last, 2 * self.unrolled * self.out_step) <= _MOST_OFFSET


def line_pairs_assembly(shape: LinePairShape) -> tuple[str, ...]:
    """The whole function: arguments words, out, weights, pass in r0 to r3."""
    # The multiplier goes to the frame as it does where sums are clamped.
    channel = PassShape(1, FormKind.FLOOR, shape.postshift, clamped=True)
    return (*enter_pass(), *load_channel(channel), *_lines(shape))


def _lines(shape: LinePairShape) -> Iterator[str]:
    """All outputs of a channel, two lines after two; then the next channel."""
    tail = 10 + shape.unrolled
    yield "2: /* two lines: r0 in, r1 out */"
    yield f"ldr r2, [sp, #{FRAME_ROUNDS}]"
    yield f"ldr r3, [sp, #{FRAME_ENTRY_WORD}]"
    yield f"ldr r12, [sp, #{FRAME_ENTRY}]"
    yield f"str r2, [sp, #{_ROUNDS_LEFT}]"
    yield "ldr r3, [r0, r3]"
    yield "tbh [pc, r12, lsl #1]"
    yield "3: /* where the first round is entered */"
    for target in range(10, tail + 1):
        yield f".hword ({target}f - 3b) / 2"
    for number in range(shape.unrolled):
        yield f"{10 + number}: /* two outputs of both lines */"
        yield from _block(shape, number)
    yield f"add r0, #{shape.unrolled * WORD_STEP}"
    yield f"addw r1, r1, #{2 * shape.unrolled * shape.out_step}"
    yield f"ldr r2, [sp, #{_ROUNDS_LEFT}]"
    yield "subs r2, #2"
    yield f"str r2, [sp, #{_ROUNDS_LEFT}]"
    yield "bcs 10b"
    yield "lsls r2, r2, #31"
    yield f"bmi {tail}f"
    yield "4: /* the next two lines */"
    yield f"ldrd r10, r11, [sp, #{FRAME_NEXT_LINE}]"
    yield f"ldr r12, [sp, #{FRAME_LINES_LEFT}]"
    yield from ("add r0, r10", "add r1, r11", "subs r12, #1")
    yield f"str r12, [sp, #{FRAME_LINES_LEFT}]"
    yield "bne 2b"
    yield from next_channel()
    yield f"{tail}: /* the last of an odd number */"
    yield from _single(shape)
    yield "b 4b"


def _block(shape: LinePairShape, number: int) -> Iterator[str]:
    """Two outputs of both lines. The lines go up in even blocks, down in odd ones."""
    at = number * WORD_STEP
    order = (0, 1, 2, 3) if number % 2 == 0 else (3, 2, 1, 0)
    start = _LOWER[1] if number % 2 == 0 else _UPPER[1]  # is needed until the third line
    fresh = {_UPPER, _LOWER}
    yield f"ldr {start}, [sp, #{FRAME_START}]"
    for place, line in enumerate(order):
        x01, x23 = ("r2", "r3") if place else ("r3", "r2")
        if place:
            yield f"ldr {x01}, [r0, #{at + 4 * line}]"
        yield f"ldr {x23}, [r0, #{at + 4 * line + WORD_STEP}]"
        for sums, k01, k12 in _users(line):
            from_0, from_1 = (start, start) if sums in fresh else sums
            fresh.discard(sums)
            yield f"smlad {sums[0]}, {x01}, {k01}, {from_0}"
            yield f"smlatb {sums[1]}, {x01}, {k01}, {from_1}"
            yield f"smlabt {sums[0]}, {x23}, {k12}, {sums[0]}"
            yield f"smlad {sums[1]}, {x23}, {k12}, {sums[1]}"
    yield from _finish(shape, 2, 2 * number * shape.out_step)


def _users(line: int) -> Iterator[tuple[tuple[str, str], str, str]]:
    """Sums that read a line, each with its weights."""
    for sums, place in ((_UPPER, line), (_LOWER, line - 1)):
        if 0 <= place < 3:
            yield sums, f"r{4 + 2 * place}", f"r{5 + 2 * place}"


def _single(shape: LinePairShape) -> Iterator[str]:
    """One output of both lines."""
    start = _LOWER[1]
    fresh = {_UPPER, _LOWER}
    yield f"ldr {start}, [sp, #{FRAME_START}]"
    for line in range(4):
        yield f"ldr r2, [r0, #{4 * line}]"
        yield f"ldr r3, [r0, #{4 * line + WORD_STEP}]"
        for sums, k01, k12 in _users(line):
            yield f"smlad {sums[0]}, r2, {k01}, {start if sums in fresh else sums[0]}"
            yield f"smlabt {sums[0]}, r3, {k12}, {sums[0]}"
            fresh.discard(sums)
    yield from _finish(shape, 1, 0)


def _finish(shape: LinePairShape, outputs: int, at: int) -> Iterator[str]:
    """Sums to int8 in memory; r3 stays."""
    yield "/* to int8 */"
    yield f"ldr r2, [sp, #{FRAME_MULTIPLIER}]"
    places = [
        (sums[i], at + line * shape.line_step + i * shape.out_step)
        for line, sums in enumerate((_UPPER, _LOWER))
        for i in range(outputs)
    ]
    yield from (f"smmul {register}, {register}, r2" for register, _ in places)
    for register, place in places:
        yield f"ssat {register}, #8, {register}, asr #{shape.postshift}"
        yield f"strb {register}, [r1, #{place}]"
