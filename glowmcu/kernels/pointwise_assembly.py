"""The Armv7E-M loop of `conv_2d.pointwise_dsp`, as instructions: 2 pixels x 4 channels at a time.

SMLAD of packed weights and two inputs gives 256 * H + L, SXTB16 and another SMLAD give L: 14
instructions for 16 products (see dense_stream.py). The scratch has two inputs of the first pixel,
two of the second, and so on. Registers: r0 scratch, r1 stream, r2-r5 words, the others sums.
A block's first step starts the sums, the next one enters the round (of 16, say) in its middle.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from glowmcu.kernels.dense_stream import BlockLayout
from glowmcu.kernels.requantization import FormKind
from glowmcu.kernels.requantization_assembly import floor_pair, one_channel

#: Steps of a round, and the bytes of scratch that one takes.
ROUND_STEPS, STEP_BYTES = 16, 8

#: Sums by pair of channels, of both pixels.
_HIGH = (("r6", "r7"), ("r10", "r11"))
_LOW = (("r8", "r9"), ("r12", "lr"))

#: Registers of widened words.
_LOADED, _EXTENDED = ("r2", "r3", "r4", "r5"), ("r8", "r9", "r10", "r11")

#: The stack frame, in the order of the registers that fill it.
_PAIRS, _STREAM, _REST, _EIGHTS, _FIRST, _LAST, _ENTRY, _JUMP = range(0, 32, 4)
_SCRATCH, _IN, _IN_STEP, _OUT, _OUT_STEP, _FRAME = range(32, 56, 4)
_RUN_PAIRS = 20  # in glowmcu_pointwise_run


@dataclass(frozen=True)
class Walk:
    """How a block goes through the round: `glowmcu_conv_2d_pointwise` has it for the assembly."""

    #: 1 where all but the first step are in one round.
    is_single: int
    #: Where the scratch pointer is in the first and in the last round.
    first_round: int
    last_round: int
    #: Where the code is entered, and what the stream pointer moves by then.
    entry: int
    jump: int


def walk(steps: int, layout: BlockLayout, round_steps: int = ROUND_STEPS) -> Walk:
    """The way of a block of `steps`."""
    rest = steps - 1
    entered = (rest - 1) % round_steps + 1 if rest else 0
    skipped = round_steps - entered
    constants = 4 * (layout.after + layout.before)
    return Walk(
        int(rest <= round_steps),
        STEP_BYTES * (1 - skipped),
        STEP_BYTES * (steps - round_steps),
        skipped * (52 if layout.wide else 48) + 1,
        round_steps * layout.step_bytes + constants + (1 - skipped) * layout.step_bytes,
    )


def pairs_assembly(
    layout: BlockLayout, postshift: int, round_steps: int = ROUND_STEPS
) -> tuple[str, ...]:
    """The whole function: r0 is the layer, r1 the run of pixels."""
    weights = round_steps * layout.step_bytes
    return (
        *_enter(layout, weights),
        "b 1f",
        *_next_pair(),
        *_expand(),
        *_rounds(layout, round_steps),
        *_requantize(layout, postshift, weights),
        *_store(layout),
        "beq 9b",
        *_first_step(layout, weights),
        "10:",
        f"add sp, #{_FRAME}",
        "pop {r4-r11, pc}",
    )


def _enter(layout: BlockLayout, round_bytes: int) -> Iterator[str]:
    yield ".p2align 2 /* for adr */"
    yield "push {r4-r11, lr}"
    yield f"sub sp, #{_FRAME}"
    yield "ldm r0, {r2-r8}"
    yield "ldm r1, {r9-r12, lr}"
    yield f"ldr r1, [r1, #{_RUN_PAIRS}]"
    yield f"sub r2, #{round_bytes + 4 * layout.after}"
    yield from (f"add {offset}, r9" for offset in ("r4", "r5", "r6"))
    yield from ("adr.w r0, 7f", "add r7, r0", "stm sp, {r1-r12, lr}")


def _next_pair() -> Iterator[str]:
    yield "9: /* the next two pixels */"
    yield from (f"ldr r0, [sp, #{_OUT}]", f"ldr r1, [sp, #{_OUT_STEP}]")
    yield from (f"ldr r2, [sp, #{_PAIRS}]", "add r0, r0, r1, lsl #1", f"str r0, [sp, #{_OUT}]")
    yield from ("subs r2, #1", f"str r2, [sp, #{_PAIRS}]", "beq 10f")


def _expand() -> Iterator[str]:
    """Two pixels, r6 and r7, to words of {x0, x2}, {x1, x3}, alternating. Carry: a single round."""
    yield "1:"
    yield from (f"ldr r6, [sp, #{_IN}]", f"ldr r8, [sp, #{_IN_STEP}]")
    yield from (f"ldr r0, [sp, #{_SCRATCH}]", f"ldr r1, [sp, #{_EIGHTS}]")
    yield from ("add r7, r6, r8", "add r8, r7", f"str r8, [sp, #{_IN}]")
    yield from ("cmp r0, r1", "beq 3f")
    yield "2: /* eight inputs of each */"
    yield from ("ldr r2, [r6]", "ldr r3, [r7]", "ldr.w r12, [r6, #4]", "ldr.w lr, [r7, #4]")
    yield from ("adds r6, #8", "adds r7, #8")
    yield from (*_extend(("r2", "r3"), _LOADED), *_extend(("r12", "lr"), _EXTENDED))
    yield from ("stm r0!, {r2-r5, r8-r11}", "cmp r0, r1", "bne 2b")
    yield from ("3:", f"ldr r1, [sp, #{_STREAM}]", f"ldr r12, [sp, #{_REST}]")
    yield from ("lsls r12, r12, #29", "beq 8f", "bpl 4f /* four more? */")
    yield from ("ldr r2, [r6]", "ldr r3, [r7]", "adds r6, #4", "adds r7, #4")
    yield from (*_extend(("r2", "r3"), _LOADED), "stm r0!, {r2-r5}")
    yield from ("4:", "lsls r12, r12, #1", "beq 5f /* and up to three */")
    yield from ("ldrsb r2, [r6]", "ldrsb r3, [r7]", "itttt mi")
    yield from ("ldrsbmi r4, [r6, #1]", "ldrsbmi r5, [r7, #1]")
    yield from ("pkhbtmi r2, r2, r4, lsl #16", "pkhbtmi r3, r3, r5, lsl #16")
    yield from ("stm r0!, {r2, r3}", "lsls r12, r12, #1", "bpl 5f", "bcc 5f")
    yield from ("ldrsb r2, [r6, #2]", "ldrsb r3, [r7, #2]", "stm r0!, {r2, r3}")
    yield from ("5:", f"ldr r12, [sp, #{_REST}]", "lsls r12, r12, #29", "b 8f")


def _extend(inputs: tuple[str, str], outputs: Sequence[str]) -> Iterator[str]:
    """Four bytes of each pixel; `outputs` may begin with `inputs`."""
    for half in (1, 0):
        for place, source in enumerate(inputs):
            turned = ", ror #8" if half else ""
            yield f"sxtb16 {outputs[2 * half + place]}, {source}{turned}"


def _rounds(layout: BlockLayout, round_steps: int) -> Iterator[str]:
    """Clear carry: another round follows."""
    yield f"6: adds r0, #{round_steps * STEP_BYTES}"
    yield f"add r1, #{round_steps * layout.step_bytes}"
    yield from (f"ldr r2, [sp, #{_LAST}]", "cmp r0, r2")
    yield "7: /* a round */"
    steps = ", ".join(str(step * STEP_BYTES) for step in range(round_steps))
    yield f".irp x, {steps}"
    yield from ("ldr.n r2, [r0, #\\x]", "ldr.n r3, [r0, #\\x + 4]")
    yield from _weights("\\x * 2" if layout.wide else "\\x", layout, _HIGH, _LOW)
    yield from (".endr", "bcc 6b")


_Registers = tuple[tuple[str, str], tuple[str, str]]


def _weights(
    at: int | str, layout: BlockLayout, high: _Registers, low: _Registers
) -> Iterator[str]:
    """The weights at r1 times the inputs r2 and r3, on top of `high` and `low`."""
    # Steps of a round have the same length: the code is entered between them.
    size = "" if isinstance(at, int) else ".w" if layout.wide else ".n"
    yield from (f"ldr{size} r4, [r1, #{at}]", f"ldr{size} r5, [r1, #{at} + 4]")
    if not layout.wide:
        yield from _multiply(_HIGH, high)
        yield from ("sxtb16 r4, r4", "sxtb16 r5, r5")
        yield from _multiply(_LOW, low)
        return
    yield from _multiply((_HIGH[0], _LOW[0]), (high[0], low[0]))
    yield from (f"ldr.w r4, [r1, #{at} + 8]", f"ldr.w r5, [r1, #{at} + 12]")
    yield from _multiply((_HIGH[1], _LOW[1]), (high[1], low[1]))


def _multiply(sums: _Registers, starts: _Registers) -> Iterator[str]:
    """Both pixels, r2 and r3, times r4 and r5."""
    for place, weights in enumerate(("r4", "r5")):
        for pixel, inputs in enumerate(("r2", "r3")):
            start = starts[place][pixel]
            name, end = ("smlad", f", {start}") if start else ("smuad", "")
            yield f"{name} {sums[place][pixel]}, {inputs}, {weights}{end}"


def _first_step(layout: BlockLayout, round_bytes: int) -> Iterator[str]:
    """A block's first step, from the stream behind the block before.

    Starts are where they are not written before they are read, r10 is the last sum to be written.
    """
    at = round_bytes + 4 * layout.after
    places: tuple[str, ...]
    if layout.wide:
        places = ("r7", "r9", "r11", "lr")
        high, low = (("r7", "r7"), ("r11", "r11")), (("r9", "r9"), ("lr", "lr"))
    else:
        places = ("r8", "r12", "r9", "lr")[: layout.before]
        high = (("r8", "r8"), ("r12", "r12"))
        low = (("r9", "r9"), ("lr", "lr")) if layout.started else (("", ""), ("", ""))
    yield "8: /* a block of four channels */"
    yield f"ldr r0, [sp, #{_SCRATCH}]"
    yield from (f"ldr {place}, [r1, #{at + 4 * i}]" for i, place in enumerate(places))
    yield from ("ldr r2, [r0]", "ldr r3, [r0, #4]", f"ldr r0, [sp, #{_FIRST}]")
    yield f"ldr r10, [sp, #{_JUMP}]"
    step = list(_weights(at + 4 * layout.before, layout, high, low))
    loaded = 1 + max(i for i, line in enumerate(step) if line.startswith("ldr"))
    yield from step[:loaded]
    yield "add r1, r10"
    yield from step[loaded:]
    yield f"ldr pc, [sp, #{_ENTRY}]"


def _requantize(layout: BlockLayout, postshift: int, round_bytes: int) -> Iterator[str]:
    """Sums to int8; r0 becomes the first pixel's channels.

    The place sets zero in the last block, and carry before a single round.
    """
    at = round_bytes
    yield from (f"ldr r5, [r1, #{at}]", f"ldr r0, [sp, #{_OUT}]")
    at += 4
    parts = list(_parts(layout, postshift))
    for number, (words, lines) in enumerate(parts):
        yield from (f"ldr r{2 + i}, [r1, #{at + 4 * i}]" for i in range(words))
        at += 4 * words
        if number == 0:
            yield from ("lsrs r5, r5, #1", "add r0, r5")
        if number == len(parts) - 1 and layout.kind is FormKind.FLOOR:
            yield f"ldr r5, [sp, #{_OUT_STEP}]"
        yield from lines


def _parts(layout: BlockLayout, postshift: int) -> Iterator[tuple[int, Iterator[str]]]:
    """Of the four channels: how many constants, and what happens with them."""
    for high, low in zip(_HIGH, _LOW, strict=True):
        if not layout.started:
            yield 3, floor_pair(high, low, postshift)
            continue
        packed = () if layout.wide else low
        yield layout.channel_words, one_channel(layout.kind, postshift, high, packed)
        yield layout.channel_words, one_channel(layout.kind, postshift, low)


def _store(layout: BlockLayout) -> Iterator[str]:
    """Four channels of both pixels."""
    if layout.kind is not FormKind.FLOOR:
        yield f"ldr r5, [sp, #{_OUT_STEP}]"
    yield "add r5, r0"
    for pixel, out in enumerate(("r0", "r5")):
        channels = (_HIGH[0], _LOW[0], _HIGH[1], _LOW[1])
        yield from (f"strb {sums[pixel]}, [{out}, #{i}]" for i, sums in enumerate(channels))
