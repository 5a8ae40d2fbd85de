"""The Armv7E-M loop of `conv_2d.pointwise_dsp`, as instructions: 2 pixels x 4 channels at a time.

SMLAD of packed weights and two inputs gives 256 * H + L, SXTB16 and another SMLAD give L: 14
instructions for 16 products (see stream.py). The scratch has two inputs of the first pixel,
two of the second, and so on. Registers: r0 scratch, r1 stream, r2-r5 words, the others sums.
A block's first step starts the sums, the next one enters the round (of 16, say) in its middle.

Where two instructions issue in a cycle, a step's inputs and first weights are loaded by the step
before (`carried`): 8 cycles, one for each SMLAD, and all else beside them.
"""

from __future__ import annotations

from collections.abc import Iterator

from glowmcu.ir.assembly_macros import Assembly
from glowmcu.kernels.dsp.dense.pixel_pair_assembly import (
    EIGHTS,
    ENTRY,
    EXTENDED,
    FIRST,
    HIGH,
    IN,
    IN_STEP,
    JUMP,
    LAST,
    LOADED,
    LOW,
    REST,
    RUN_PAIRS,
    SCRATCH,
    STREAM,
    carried_nibbles,
    extend,
    frame,
    inputs_sums,
    multiply_weights,
    next_pair,
    part_sums,
    preload,
    requantize,
    starts,
    store,
    without_preloaded,
)
from glowmcu.kernels.dsp.dense.stream import BlockLayout
from glowmcu.lazy_dataclass import dataclass

#: Steps of a round, and the bytes of scratch that one takes.
ROUND_STEPS, STEP_BYTES = 16, 8


#: Bytes of code by which the last step of a round is shorter that loads nothing for another.
_LAST_SHORTER = 6


@dataclass(frozen=True)
class Walk:
    """How a block goes through the round: `glowmcu_conv_2d_pointwise` has it for the assembly."""

    #: 1 if all but the first step are in one round.
    is_single: int
    #: Where the scratch pointer is in the first and in the last round.
    first_round: int
    last_round: int
    #: Where the code is entered, and what the stream pointer moves by then.
    entry: int
    jump: int


def walk(
    steps: int, layout: BlockLayout, round_steps: int = ROUND_STEPS, carried: bool = False
) -> Walk:
    """The way of a block of `steps`."""
    rest = steps - 1
    entered = (rest - 1) % round_steps + 1 if rest else 0
    skipped = round_steps - entered
    constants = 4 * (layout.after + layout.before)
    return Walk(
        int(rest <= round_steps),
        STEP_BYTES * (1 - skipped),
        STEP_BYTES * (steps - round_steps),
        skipped * _step_code(layout, carried) + 1 - _LAST_SHORTER * (carried and not entered),
        round_steps * layout.step_bytes + constants + (1 - skipped) * layout.step_bytes,
    )


def _step_code(layout: BlockLayout, carried: bool) -> int:
    """Bytes of code of a step."""
    if layout.nibbles:
        return 52 if carried else 50
    return 52 if layout.wide else 48


def pairs_assembly(
    layout: BlockLayout, postshift: int, round_steps: int = ROUND_STEPS, carried: bool = False
) -> Assembly:
    """The whole function: r0 is the layer, r1 the run of pixels. Wide weights are not `carried`."""
    assert not carried or layout.nibbles or not layout.wide
    weights = round_steps * layout.step_bytes
    first_block = "11f" if carried or layout.nibbles else "8f"
    first_weights = weights + 4 * (layout.after + layout.before)
    return (
        *_enter(layout, weights),
        "b 1f",
        *next_pair(),
        *_expand(first_block),
        *(_carried_rounds if carried else _rounds)(layout, round_steps),
        *part_sums(layout),
        *requantize(layout, postshift, weights),
        *(preload(first_weights) if carried else ()),
        *store(layout),
        "beq 9b",
        *(_carried_first_step if carried else _first_step)(layout, weights),
        "10: /* no pair left */",
        f"add sp, #{frame(layout)}",
        "pop {r4-r11, pc}",
        *(() if first_block == "8f" else _first_block(layout, first_weights, carried)),
    )


def _first_block(layout: BlockLayout, first_weights: int, carried: bool) -> Iterator[str]:
    """What the first block of a pair needs beside its inputs."""
    yield "11: /* the first block of a pair */"
    if layout.nibbles:
        yield from inputs_sums(layout)
    if carried:
        yield from preload(first_weights)
    yield "b 8b"


def _enter(layout: BlockLayout, round_bytes: int) -> Iterator[str]:
    yield ".p2align 2 /* for adr */"
    yield "push {r4-r11, lr}"
    yield f"sub sp, #{frame(layout)}"
    yield "ldm r0, {r2-r8}"
    yield "ldm r1, {r9-r12, lr}"
    yield f"ldr r1, [r1, #{RUN_PAIRS}]"
    yield f"sub r2, #{round_bytes + 4 * layout.after}"
    yield from (f"add {offset}, r9" for offset in ("r4", "r5", "r6"))
    yield from ("adr.w r0, 7f", "add r7, r0", "stm sp, {r1-r12, lr}")


def _expand(done: str) -> Iterator[str]:
    """Two pixels, r6 and r7, to words of {x0, x2}, {x1, x3}, alternating; then the label `done`.

    Carry: a single round.
    """
    yield "1: /* inputs to words {x0, x2}, {x1, x3}, of both pixels in turn */"
    yield from (f"ldr r6, [sp, #{IN}]", f"ldr r8, [sp, #{IN_STEP}]")
    yield from (f"ldr r0, [sp, #{SCRATCH}]", f"ldr r1, [sp, #{EIGHTS}]")
    yield from ("add r7, r6, r8", "add r8, r7", f"str r8, [sp, #{IN}]")
    yield from ("cmp r0, r1", "beq 3f")
    yield "2: /* eight inputs of each */"
    yield from ("ldr r2, [r6]", "ldr r3, [r7]", "ldr.w r12, [r6, #4]", "ldr.w lr, [r7, #4]")
    yield from ("adds r6, #8", "adds r7, #8")
    yield from (*extend(("r2", "r3"), LOADED), *extend(("r12", "lr"), EXTENDED))
    yield from ("stm r0!, {r2-r5, r8-r11}", "cmp r0, r1", "bne 2b")
    yield from ("3:", f"ldr r1, [sp, #{STREAM}]", f"ldr r12, [sp, #{REST}]")
    yield from ("lsls r12, r12, #29", f"beq {done}", "bpl 4f /* four more? */")
    yield from ("ldr r2, [r6]", "ldr r3, [r7]", "adds r6, #4", "adds r7, #4")
    yield from (*extend(("r2", "r3"), LOADED), "stm r0!, {r2-r5}")
    yield from ("4:", "lsls r12, r12, #1", "beq 5f /* and up to three */")
    yield from ("ldrsb r2, [r6]", "ldrsb r3, [r7]", "itttt mi")
    yield from ("ldrsbmi r4, [r6, #1]", "ldrsbmi r5, [r7, #1]")
    yield from ("pkhbtmi r2, r2, r4, lsl #16", "pkhbtmi r3, r3, r5, lsl #16")
    yield from ("stm r0!, {r2, r3}", "lsls r12, r12, #1", "bpl 5f", "bcc 5f")
    yield from ("ldrsb r2, [r6, #2]", "ldrsb r3, [r7, #2]", "stm r0!, {r2, r3}")
    yield from ("5:", f"ldr r12, [sp, #{REST}]", "lsls r12, r12, #29", f"b {done}")


def _rounds(layout: BlockLayout, round_steps: int) -> Iterator[str]:
    """Clear carry: another round follows."""
    yield from ("6: /* the next round */", f"adds r0, #{round_steps * STEP_BYTES}")
    yield f"add r1, #{round_steps * layout.step_bytes}"
    yield from (f"ldr r2, [sp, #{LAST}]", "cmp r0, r2")
    yield "7: /* a round */"
    steps = ", ".join(str(step * STEP_BYTES) for step in range(round_steps))
    yield f".irp x, {steps}"
    # Steps have the same length: the code is entered between them.
    at, size = ("\\x * 2", ".w") if layout.wide else ("\\x", ".n")
    if layout.nibbles:
        at, size = "\\x / 2", ".n"
    weights = list(multiply_weights(at, layout, HIGH, LOW, size))
    first = int(layout.nibbles)  # what is loaded last is not used at once
    yield from (*weights[:first], "ldr.n r2, [r0, #\\x]", "ldr.n r3, [r0, #\\x + 4]")
    yield from weights[first:]
    yield from (".endr", "bcc 6b")


def _carried_rounds(layout: BlockLayout, round_steps: int) -> Iterator[str]:
    """The same; a step finds r2, r3 and r4 (r5 of nibbles) loaded and loads them for the next."""
    yield from ("6: /* the next round */", f"adds r0, #{round_steps * STEP_BYTES}")
    yield f"add r1, #{round_steps * layout.step_bytes}"
    yield from (f"ldr r2, [sp, #{LAST}]", "cmp r0, r2")
    word = "r5" if layout.nibbles else "r4"
    yield from ("ldr r2, [r0]", "ldr r3, [r0, #4]", f"ldr {word}, [r1]")
    yield "7: /* a round */"
    steps = ", ".join(str(step * STEP_BYTES) for step in range(round_steps - 1))
    yield f".irp x, {steps}"
    step = _carried_step(layout, "\\x + 4")
    weights = "\\x / 2 + 4" if layout.nibbles else "\\x + 8"
    following = (
        f"ldr.n {word}, [r1, #{weights}]",
        "ldr.n r2, [r0, #\\x + 8]",
        "ldr.n r3, [r0, #\\x + 12]",
    )
    for place, line in enumerate(step):
        yield line
        if place >= len(step) - len(following):
            yield following[place - len(step)]
    yield ".endr"
    yield from _carried_step(layout, (round_steps - 1) * STEP_BYTES + 4)
    yield "bcc 6b"


def _carried_step(layout: BlockLayout, at: int | str) -> tuple[str, ...]:
    """Pairs as they issue: a product with a load behind it, or with an extension before it."""
    if layout.nibbles:
        return carried_nibbles()
    (a, b), (c, d) = HIGH
    (e, f), (g, h) = LOW
    return (
        *(f"smlad {a}, r2, r4, {a}", f"ldr.n r5, [r1, #{at}]", f"smlad {b}, r3, r4, {b}"),
        *("sxtb16 r4, r4", f"smlad {c}, r2, r5, {c}", f"smlad {d}, r3, r5, {d}"),
        *("sxtb16 r5, r5", f"smlad {e}, r2, r4, {e}", f"smlad {f}, r3, r4, {f}"),
        *(f"smlad {g}, r2, r5, {g}", f"smlad {h}, r3, r5, {h}"),
    )


def _carried_first_step(layout: BlockLayout, round_bytes: int) -> Iterator[str]:
    """The same, which loads for the step behind it; of a single one nothing uses what it finds."""
    at = round_bytes + 4 * layout.after
    places, high, low = starts(layout)
    yield "8: /* a block of four channels */"
    yield f"ldr r0, [sp, #{SCRATCH}]"
    yield from (f"ldr {place}, [r1, #{at + 4 * i}]" for i, place in enumerate(places))
    if layout.nibbles:
        yield from carried_nibbles((high[0], low[0], high[1], low[1]), "r4")
    else:
        yield from without_preloaded(multiply_weights(at + 4 * layout.before, layout, high, low))
    word = "r5" if layout.nibbles else "r4"
    yield f"ldr {word}, [r1, #{at + 4 * layout.before + layout.step_bytes}]"
    yield from (f"ldr r2, [r0, #{STEP_BYTES}]", f"ldr r3, [r0, #{STEP_BYTES + 4}]")
    yield from (f"ldr r0, [sp, #{JUMP}]", "add r1, r0", f"ldr r0, [sp, #{FIRST}]")
    yield f"ldr pc, [sp, #{ENTRY}]"


def _first_step(layout: BlockLayout, round_bytes: int) -> Iterator[str]:
    """A block's first step, from the stream behind the block before."""
    at = round_bytes + 4 * layout.after
    places, high, low = starts(layout)
    yield "8: /* a block of four channels */"
    yield f"ldr r0, [sp, #{SCRATCH}]"
    yield from (f"ldr {place}, [r1, #{at + 4 * i}]" for i, place in enumerate(places))
    yield from ("ldr r2, [r0]", "ldr r3, [r0, #4]", f"ldr r0, [sp, #{FIRST}]")
    yield f"ldr r10, [sp, #{JUMP}]"
    step = list(multiply_weights(at + 4 * layout.before, layout, high, low))
    loaded = 1 + max(i for i, line in enumerate(step) if line.startswith("ldr"))
    yield from step[:loaded]
    yield "add r1, r10"
    yield from step[loaded:]
    yield f"ldr pc, [sp, #{ENTRY}]"
