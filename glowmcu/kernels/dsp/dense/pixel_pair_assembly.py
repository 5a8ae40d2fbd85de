"""What the Armv7E-M loops for two pixels by four channels have in common, as instructions.

Registers: r0 scratch, r1 stream, r2 and r3 words of the pixels, r4 and r5 words of weights, the
others sums. Labels: 1 a pair of pixels, 8 a block of channels, 9 the next pair, 10 the end.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from glowmcu.ir.assembly_macros import AssemblyLine, Macro, MacroCall
from glowmcu.kernels.dsp.dense.nibbles import MASKS
from glowmcu.kernels.dsp.dense.requantization_assembly import (
    floor_pair,
    one_channel,
    parted_sums,
)
from glowmcu.kernels.dsp.dense.stream import BlockLayout
from glowmcu.kernels.requantization.forms import FormKind

#: Sums by pair of channels, of both pixels.
HIGH = (("r6", "r7"), ("r10", "r11"))
LOW = (("r8", "r9"), ("r12", "lr"))
#: And by channel.
_CHANNELS = (HIGH[0], LOW[0], HIGH[1], LOW[1])

#: Registers of widened words.
LOADED, EXTENDED = ("r2", "r3", "r4", "r5"), ("r8", "r9", "r10", "r11")

#: The stack frame, in the order of the registers that fill it.
PAIRS, STREAM, REST, EIGHTS, FIRST, LAST, ENTRY, JUMP = range(0, 32, 4)
SCRATCH, IN, IN_STEP, OUT, OUT_STEP, FRAME = range(32, 56, 4)
RUN_PAIRS = 20  # in glowmcu_pointwise_run
#: Above the frame, where weights have four bits: 8 times the sum of either pixel's inputs.
EIGHTFOLD = (FRAME, FRAME + 4)


def frame(layout: BlockLayout) -> int:
    """Bytes of the stack frame."""
    return FRAME + 4 * len(EIGHTFOLD) * layout.nibbles


_NEXT = Macro(
    "GLOWMCU_TWO_PIXELS_NEXT",
    "Where the next two pixels go; to 10 if there are none.",
    (),
    (
        *(f"ldr r0, [sp, #{OUT}]", f"ldr r1, [sp, #{OUT_STEP}]", f"ldr r2, [sp, #{PAIRS}]"),
        *("add r0, r0, r1, lsl #1", f"str r0, [sp, #{OUT}]"),
        *("subs r2, #1", f"str r2, [sp, #{PAIRS}]", "beq 10f"),
    ),
)
_STORE = Macro(
    "GLOWMCU_TWO_PIXELS_STORE",
    "Four channels of both pixels, which are r5 apart, from r0 on.",
    (),
    (
        "add r5, r0",
        *(
            f"strb {sums[pixel]}, [{out}, #{i}]"
            for pixel, out in enumerate(("r0", "r5"))
            for i, sums in enumerate(_CHANNELS)
        ),
    ),
)


def next_pair() -> Iterator[AssemblyLine]:
    yield "9: /* the next two pixels */"
    yield _NEXT()


def extend(inputs: tuple[str, str], outputs: Sequence[str]) -> Iterator[str]:
    """Four bytes of each pixel; `outputs` may begin with `inputs`."""
    for half in (1, 0):
        for place, source in enumerate(inputs):
            turned = ", ror #8" if half else ""
            yield f"sxtb16 {outputs[2 * half + place]}, {source}{turned}"


Registers = tuple[tuple[str, str], tuple[str, str]]


def multiply_weights(
    at: int | str, layout: BlockLayout, high: Registers, low: Registers, size: str = ""
) -> Iterator[str]:
    """The weights `at` from r1 times the inputs r2 and r3, on top of `high` and `low`.

    `size` of the loads is ".n" or ".w" where the code must have a known length.
    """
    if layout.nibbles:
        yield f"ldr{size} r4, [r1, #{at}]"
        yield from _multiply_nibbles((high[0], low[0], high[1], low[1]))
        return
    yield from (f"ldr{size} r4, [r1, #{at}]", f"ldr{size} r5, [r1, #{at} + 4]")
    if not layout.wide:
        yield from _multiply(HIGH, high)
        yield from ("sxtb16 r4, r4", "sxtb16 r5, r5")
        yield from _multiply(LOW, low)
        return
    yield from _multiply((HIGH[0], LOW[0]), (high[0], low[0]))
    yield from (f"ldr{size} r4, [r1, #{at} + 8]", f"ldr{size} r5, [r1, #{at} + 12]")
    yield from _multiply((HIGH[1], LOW[1]), (high[1], low[1]))


def _multiply(sums: Registers, starts: Registers) -> Iterator[str]:
    """Both pixels, r2 and r3, times r4 and r5."""
    for place, weights in enumerate(("r4", "r5")):
        for pixel, inputs in enumerate(("r2", "r3")):
            start = starts[place][pixel]
            name, end = ("smlad", f", {start}") if start else ("smuad", "")
            yield f"{name} {sums[place][pixel]}, {inputs}, {weights}{end}"


def _multiply_nibbles(starts: Sequence[tuple[str, str]]) -> Iterator[str]:
    """Both pixels times four channels of r4: the last one's word as it is, of the others a part."""
    yield f"and r5, r4, #0x{MASKS[2]:08X}"
    yield from _channel_products(3, "r4", starts)
    for channel in (2, 1, 0):
        yield from _channel_products(channel, "r5", starts)
        if channel:
            yield f"and r5, r4, #0x{MASKS[channel - 1]:08X}"


def carried_nibbles(
    starts: Sequence[tuple[str, str]] = _CHANNELS,
    word: str = "r5",
) -> tuple[str, ...]:
    """The same as they issue two at a time, of a word in r5, in the first step of a block in r4.
    r5 is free before the last channel, which is what is left of r4: the next word comes there.
    """
    (a, b), (c, d), (e, f), last = (
        tuple(_channel_products(channel, weights, starts))
        for channel, weights in ((3, word), (2, "r5"), (1, "r5"), (0, "r4"))
    )
    moved = ("mov r4, r5",) if word == "r5" else ()
    third, second, first = (f"r4, #0x{mask:08X}" for mask in reversed(MASKS))
    return (
        *(a, *moved, b, f"and r5, {third}", c, d, f"and r5, {second}"),
        *(e, f"and r4, {first}", f, *last),
    )


def _channel_products(
    channel: int, weights: str, starts: Sequence[tuple[str, str]]
) -> Iterator[str]:
    for sum_, inputs, start in zip(_CHANNELS[channel], ("r2", "r3"), starts[channel], strict=True):
        yield f"smlad {sum_}, {inputs}, {weights}, {start}"


def inputs_sums(layout: BlockLayout) -> Iterator[str]:
    """8 times the sum of the inputs that are widened up to r0, of both pixels.

    Carry at its end is as `_expand` in pointwise_assembly.py leaves it.
    """
    assert layout.nibbles
    yield from (f"ldr r2, [sp, #{SCRATCH}]", "movs r6, #0", "movs r7, #0", "mov r8, #0x00080008")
    yield from ("subs r3, r0, r2", "lsls r3, r3, #28", "bpl 12f /* steps are even */")
    yield from ("ldm r2!, {r3, r4}", "smuad r6, r3, r8", "smuad r7, r4, r8")
    yield from ("cmp r2, r0", "beq 13f", "12: /* two steps */", "ldm r2!, {r3-r5, r9}")
    for sum_, word in (("r6", "r3"), ("r7", "r4"), ("r6", "r5"), ("r7", "r9")):
        yield f"smlad {sum_}, {word}, r8, {sum_}"
    yield from ("cmp r2, r0", "bne 12b", "13:")
    yield from (f"strd r6, r7, [sp, #{EIGHTFOLD[0]}]", f"ldr r12, [sp, #{REST}]")
    yield "lsls r12, r12, #29"


def part_sums(layout: BlockLayout) -> Iterator[str]:
    """The sums of four channels apart, where weights have four bits."""
    if layout.nibbles:
        yield "/* sums of four channels apart */"
        yield f"ldrd r2, r3, [sp, #{EIGHTFOLD[0]}]"
        for pixel, eightfold in enumerate(("r2", "r3")):
            yield from parted_sums([sums[pixel] for sums in _CHANNELS], eightfold)


def starts(layout: BlockLayout) -> tuple[tuple[str, ...], Registers, Registers]:
    """Where a block's starts are loaded, and what high and low sums of the first step begin with.

    They are where they are not written before they are read; r10 is the last sum to be written.
    """
    if layout.wide:
        places = ("r7", "r9", "r11", "lr")
        return places, (("r7", "r7"), ("r11", "r11")), (("r9", "r9"), ("lr", "lr"))
    high = (("r8", "r8"), ("r12", "r12"))
    if layout.started:
        return ("r8", "r12", "r9", "lr"), high, (("r9", "r9"), ("lr", "lr"))
    return ("r8", "r12"), high, (("", ""), ("", ""))


def requantize(layout: BlockLayout, postshift: int, at: int) -> Iterator[AssemblyLine]:
    """Sums to int8; r0 becomes the first pixel's channels. The constants are `at` from r1.

    The place sets zero in the last block, and carry where the flag is set.
    """
    yield "/* sums to int8 */"
    yield from (f"ldr r5, [r1, #{at}]", f"ldr r0, [sp, #{OUT}]")
    at += 4
    parts = list(_parts(layout, postshift))
    for number, (words, lines) in enumerate(parts):
        yield from (f"ldr r{2 + i}, [r1, #{at + 4 * i}]" for i in range(words))
        at += 4 * words
        if number == 0:
            yield from ("lsrs r5, r5, #1", "add r0, r5")
        if number == len(parts) - 1 and layout.kind is FormKind.FLOOR:
            yield f"ldr r5, [sp, #{OUT_STEP}]"
        yield from lines


def _parts(layout: BlockLayout, postshift: int) -> Iterator[tuple[int, Iterator[MacroCall]]]:
    """Of the four channels: how many constants, and what happens with them."""
    for high, low in zip(HIGH, LOW, strict=True):
        if not layout.started:
            yield 3, floor_pair(high, low, postshift)
            continue
        packed = () if layout.wide else low
        yield layout.channel_words, one_channel(layout.kind, postshift, high, packed)
        yield layout.channel_words, one_channel(layout.kind, postshift, low)


def preload(weights: int) -> Iterator[str]:
    """What a block's first step begins with, before its label: inputs and `weights` from r1."""
    yield from (f"ldr r2, [sp, #{SCRATCH}]", f"ldr r4, [r1, #{weights}]")
    yield from ("ldr r3, [r2, #4]", "ldr r2, [r2]")


def without_preloaded(step: Iterable[str]) -> Iterator[str]:
    """A first step that finds its inputs and first weights loaded."""
    return (
        line for line in step if not line.startswith(("ldr r2, [r0]", "ldr r3, [r0, #4]", "ldr r4"))
    )


def store(layout: BlockLayout) -> Iterator[AssemblyLine]:
    """Four channels of both pixels."""
    yield "/* four channels of both pixels */"
    if layout.kind is not FormKind.FLOOR:
        yield f"ldr r5, [sp, #{OUT_STEP}]"
    yield _STORE()
