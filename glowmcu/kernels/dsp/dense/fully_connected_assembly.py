"""The Armv7E-M loop of `fully_connected.dsp`, as instructions: eight channels of one row at a time.

SMLAD of packed weights and two inputs gives 256 * H + L, SXTB16 and another SMLAD give L (see
stream.py): 17 instructions for 16 products. Registers: r0 inputs, r1 stream, r2-r5 words,
the others sums. A block's steps come in rounds, of 16 say; the first is entered in its middle.
"""

from __future__ import annotations

from collections.abc import Iterator

from glowmcu.ir.assembly_macros import Assembly, AssemblyLine, MacroCall
from glowmcu.kernels.dsp.dense.requantization_assembly import floor_pair, one_channel
from glowmcu.kernels.dsp.dense.stream import BlockLayout
from glowmcu.lazy_dataclass import dataclass

#: Steps of a round, and the bytes of inputs that one takes.
ROUND_STEPS, STEP_BYTES = 16, 4
#: One short instruction, 16 long ones; packed or wide.
_STEP_CODE = 66

#: Sums by pair of channels.
_HIGH = ("r6", "r8", "r10", "r12")
_LOW = ("r7", "r9", "r11", "lr")

#: The stack frame, in the order of the registers that fill it.
_FIRST, _LAST, _ENTRY, _JUMP, _MULTIPLIER, _STEP, _SHIFT, _OUT, _FRAME = range(0, 36, 4)


@dataclass(frozen=True)
class Walk:
    """How a block goes through the rounds: in `glowmcu_fully_connected_dsp` for the assembly."""

    #: Where the input pointer is in the first and in the last round.
    first_round: int
    last_round: int
    #: Where the code is entered, and what the stream pointer moves by then.
    entry: int
    jump: int


def walk(steps: int, layout: BlockLayout, round_steps: int = ROUND_STEPS) -> Walk:
    """The way of a block of `steps`."""
    skipped = -steps % round_steps
    return Walk(
        -STEP_BYTES * skipped,
        STEP_BYTES * (steps - round_steps),
        skipped * _STEP_CODE + 1,
        round_steps * layout.step_bytes
        + 4 * (layout.after + layout.before)
        - skipped * layout.step_bytes,
    )


def row_assembly(layout: BlockLayout, postshift: int, round_steps: int = ROUND_STEPS) -> Assembly:
    """The whole function: r0 is the layer, r1 the widened inputs, r2 the result."""
    weights = round_steps * layout.step_bytes
    return (
        *_enter(layout, weights),
        "b 8f",
        *_rounds(layout, round_steps),
        *_requantize(layout, postshift, weights),
        "beq 9f",
        *_start(layout, weights),
        "9:",
        f"add sp, #{_FRAME}",
        "pop {r4-r11, pc}",
    )


def _enter(layout: BlockLayout, round_bytes: int) -> Iterator[str]:
    yield ".p2align 2 /* for adr */"
    yield "push {r4-r11, lr}"
    yield f"sub sp, #{_FRAME}"
    yield from ("mov r11, r2", "ldm r0, {r3-r10}", "add r4, r1", "add r5, r1")
    yield from ("adr.w r0, 7f", "add r6, r0", "stm sp, {r4-r11}")
    yield f"sub r1, r3, #{round_bytes + 4 * layout.after}"


def _rounds(layout: BlockLayout, round_steps: int) -> Iterator[str]:
    """Clear carry: another round follows."""
    steps = ", ".join(str(step * STEP_BYTES) for step in range(round_steps))
    yield from ("6: /* the next round */", f"adds r0, #{round_steps * STEP_BYTES}")
    yield f"add r1, #{round_steps * layout.step_bytes}"
    yield from (f"ldr r2, [sp, #{_LAST}]", "cmp r0, r2")
    yield from ("7: /* a round */", f".irp x, {steps}", "ldr.n r2, [r0, #\\x]")
    yield from _wide_step() if layout.wide else _packed_step()
    yield from (".endr", "bcc 6b")


def _packed_step() -> Iterator[str]:
    for pair, weights in enumerate(("r3", "r4", "r5")):
        yield f"ldr.w {weights}, [r1, #\\x * 4 + {4 * pair}]"
    for pair, weights in enumerate(("r3", "r4", "r5", "r3")):
        if pair == 2:
            yield "ldr.w r3, [r1, #\\x * 4 + 12]"
        yield f"smlad {_HIGH[pair]}, r2, {weights}, {_HIGH[pair]}"
        yield f"sxtb16 {weights}, {weights}"
        yield f"smlad {_LOW[pair]}, r2, {weights}, {_LOW[pair]}"


def _wide_step() -> Iterator[str]:
    sums = [register for pair in zip(_HIGH, _LOW, strict=True) for register in pair]
    for first in (0, 3, 6):
        chosen = list(zip(("r3", "r4", "r5"), sums[first : first + 3], strict=False))
        for place, (weights, _) in enumerate(chosen):
            yield f"ldr.w {weights}, [r1, #\\x * 8 + {4 * (first + place)}]"
        for weights, sum_ in chosen:
            yield f"smlad {sum_}, r2, {weights}, {sum_}"


def _requantize(layout: BlockLayout, postshift: int, round_bytes: int) -> Iterator[AssemblyLine]:
    """Sums to int8 in memory; the place sets zero in the last block."""
    at = round_bytes
    yield "/* sums to int8 */"
    yield from (f"ldr r5, [r1, #{at}]", f"ldr r0, [sp, #{_OUT}]")
    yield from ("lsrs r5, r5, #1", "add r0, r5")
    at += 4
    if layout.uniform:
        yield f"ldr r2, [sp, #{_MULTIPLIER}]"
        yield from (f"ldr r3, [sp, #{_STEP}]", f"ldr r4, [sp, #{_SHIFT}]")
    for pair, (high, low) in enumerate(zip(_HIGH, _LOW, strict=True)):
        for words, lines in _parts(layout, postshift, high, low):
            yield from (f"ldr r{2 + i}, [r1, #{at + 4 * i}]" for i in range(words))
            yield from lines
            at += 4 * words
        yield from (f"strb {high}, [r0, #{2 * pair}]", f"strb {low}, [r0, #{2 * pair + 1}]")


def _parts(
    layout: BlockLayout, postshift: int, high: str, low: str
) -> Iterator[tuple[int, Iterator[MacroCall]]]:
    """Of two channels: how many constants, and what happens with them."""
    if not layout.started:
        yield 3, floor_pair((high,), (low,), postshift)
        return
    words = 0 if layout.uniform else layout.channel_words
    yield words, one_channel(layout.kind, postshift, (high,), () if layout.wide else (low,))
    yield words, one_channel(layout.kind, postshift, (low,))


def _start(layout: BlockLayout, round_bytes: int) -> Iterator[str]:
    """What a block's sums start from, behind the block before."""
    at = round_bytes + 4 * layout.after
    if layout.wide:
        places = [register for pair in zip(_HIGH, _LOW, strict=True) for register in pair]
    else:
        places = [*_HIGH, *_LOW][: layout.before]
    yield "8: /* a block of eight channels */"
    yield from (f"ldr {register}, [r1, #{at + 4 * i}]" for i, register in enumerate(places))
    yield from (f"ldr r0, [sp, #{_FIRST}]", f"ldr r2, [sp, #{_LAST}]", f"ldr r3, [sp, #{_JUMP}]")
    if not layout.started:
        yield from (f"mov {register}, #0" for register in _LOW)
    yield from ("cmp r0, r2", "add r1, r3", f"ldr pc, [sp, #{_ENTRY}]")
