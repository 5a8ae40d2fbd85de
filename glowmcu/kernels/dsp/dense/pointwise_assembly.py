"""The Armv7E-M loop of `conv_2d.pointwise_dsp`, as instructions: 2 pixels x 4 channels at a time.

SMLAD of packed weights and two inputs gives 256 * H + L, SXTB16 and another SMLAD give L: 14
instructions for 16 products (see stream.py). The scratch has two inputs of the first pixel,
two of the second, and so on. Registers: r0 scratch, r1 stream, r2-r5 words, the others sums.
A block's first step starts the sums, the next one enters the round (of 16, say) in its middle.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from glowmcu.kernels.dsp.dense.pixel_pair_assembly import (
    EIGHTS,
    ENTRY,
    EXTENDED,
    FIRST,
    FRAME,
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
    extend,
    multiply_weights,
    next_pair,
    requantize,
    starts,
    store,
)
from glowmcu.kernels.dsp.dense.stream import BlockLayout

#: Steps of a round, and the bytes of scratch that one takes.
ROUND_STEPS, STEP_BYTES = 16, 8


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
        *next_pair(),
        *_expand(),
        *_rounds(layout, round_steps),
        *requantize(layout, postshift, weights),
        *store(layout),
        "beq 9b",
        *_first_step(layout, weights),
        "10: /* no pair left */",
        f"add sp, #{FRAME}",
        "pop {r4-r11, pc}",
    )


def _enter(layout: BlockLayout, round_bytes: int) -> Iterator[str]:
    yield ".p2align 2 /* for adr */"
    yield "push {r4-r11, lr}"
    yield f"sub sp, #{FRAME}"
    yield "ldm r0, {r2-r8}"
    yield "ldm r1, {r9-r12, lr}"
    yield f"ldr r1, [r1, #{RUN_PAIRS}]"
    yield f"sub r2, #{round_bytes + 4 * layout.after}"
    yield from (f"add {offset}, r9" for offset in ("r4", "r5", "r6"))
    yield from ("adr.w r0, 7f", "add r7, r0", "stm sp, {r1-r12, lr}")


def _expand() -> Iterator[str]:
    """Two pixels, r6 and r7, to words of {x0, x2}, {x1, x3}, alternating. Carry: a single round."""
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
    yield from ("lsls r12, r12, #29", "beq 8f", "bpl 4f /* four more? */")
    yield from ("ldr r2, [r6]", "ldr r3, [r7]", "adds r6, #4", "adds r7, #4")
    yield from (*extend(("r2", "r3"), LOADED), "stm r0!, {r2-r5}")
    yield from ("4:", "lsls r12, r12, #1", "beq 5f /* and up to three */")
    yield from ("ldrsb r2, [r6]", "ldrsb r3, [r7]", "itttt mi")
    yield from ("ldrsbmi r4, [r6, #1]", "ldrsbmi r5, [r7, #1]")
    yield from ("pkhbtmi r2, r2, r4, lsl #16", "pkhbtmi r3, r3, r5, lsl #16")
    yield from ("stm r0!, {r2, r3}", "lsls r12, r12, #1", "bpl 5f", "bcc 5f")
    yield from ("ldrsb r2, [r6, #2]", "ldrsb r3, [r7, #2]", "stm r0!, {r2, r3}")
    yield from ("5:", f"ldr r12, [sp, #{REST}]", "lsls r12, r12, #29", "b 8f")


def _rounds(layout: BlockLayout, round_steps: int) -> Iterator[str]:
    """Clear carry: another round follows."""
    yield from ("6: /* the next round */", f"adds r0, #{round_steps * STEP_BYTES}")
    yield f"add r1, #{round_steps * layout.step_bytes}"
    yield from (f"ldr r2, [sp, #{LAST}]", "cmp r0, r2")
    yield "7: /* a round */"
    steps = ", ".join(str(step * STEP_BYTES) for step in range(round_steps))
    yield f".irp x, {steps}"
    yield from ("ldr.n r2, [r0, #\\x]", "ldr.n r3, [r0, #\\x + 4]")
    # Steps have the same length: the code is entered between them.
    at, size = ("\\x * 2", ".w") if layout.wide else ("\\x", ".n")
    yield from multiply_weights(at, layout, HIGH, LOW, size)
    yield from (".endr", "bcc 6b")


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
