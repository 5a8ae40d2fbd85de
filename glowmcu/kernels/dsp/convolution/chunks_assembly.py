"""The Armv7E-M loop of `conv_2d.chunks_dsp`: two pixels x four channels from int8 values in place.

Each word of four values is loaded twice, once to widen its even ones and once its odd ones: that
costs two instructions more a step than values that were widened before
(dsp/dense/pointwise_assembly.py), but no scratch and no turn over the image. Registers: r0 values,
r1 stream, see dsp/dense/pixel_pair_assembly.py.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache

from glowmcu.ir.assembly_macros import Assembly, AssemblyLine, Macro
from glowmcu.kernels.dsp.dense.pixel_pair_assembly import (
    EIGHTS,
    FRAME,
    HIGH,
    IN,
    IN_STEP,
    LOW,
    REST,
    SCRATCH,
    STREAM,
    multiply_weights,
    next_pair,
    requantize,
    store,
)
from glowmcu.kernels.dsp.dense.stream import BlockLayout

#: In the frame: the list of places, and where it goes on.
_PLACES, _NEXT = REST, EIGHTS
_RUN_PAIRS = 24  # in glowmcu_chunks_run


def chunks_assembly(
    layout: BlockLayout, distance: int, offsets: Sequence[int], postshift: int
) -> Assembly:
    """The whole function: r0 is the layer, r1 the run of pixels.

    A pair's second pixel is `distance` bytes behind the first, a chunk's fours are at `offsets`.
    """
    return (
        *_enter(),
        *next_pair(),
        *(f"ldr r0, [sp, #{IN}]", f"ldr r1, [sp, #{IN_STEP}]"),
        *("add r0, r1", f"str r0, [sp, #{IN}]"),
        *("1: /* all channels of a pair */", f"ldr r1, [sp, #{STREAM}]"),
        *_start(layout),
        *_chunks(layout, distance, offsets),
        *requantize(layout, postshift, 0),
        *store(layout),
        *(f"add r1, r1, #{4 * layout.after}", "bne 8b", "b 9b"),
        *("10: /* no pair left */", f"add sp, #{FRAME}", "pop {r4-r11, pc}"),
    )


def _enter() -> Iterator[str]:
    yield from ("push {r4-r11, lr}", f"sub sp, #{FRAME}", "ldr r2, [r0]")
    yield from ("ldm r1, {r3, r9-r12, lr}", f"ldr r1, [r1, #{_RUN_PAIRS}]", "stm sp, {r1-r12, lr}")
    yield "b 1f"


def _start(layout: BlockLayout) -> Iterator[str]:
    """What sums start from, and the first place."""
    yield "8: /* a block of four channels */"
    yield from (f"ldr r2, [sp, #{_PLACES}]", f"ldr r0, [sp, #{IN}]")
    high, low = [first for first, _ in HIGH], [first for first, _ in LOW]
    started = high if not layout.started else high + low
    if layout.wide:
        started = [high[0], low[0], high[1], low[1]]
    yield from (f"ldr {sum_}, [r1, #{4 * i}]" for i, sum_ in enumerate(started))
    yield f"adds r1, #{4 * layout.before}"
    for pair in (*HIGH, *LOW):
        if pair[0] in started:
            yield f"mov {pair[1]}, {pair[0]}"
        else:
            yield from (f"mov {sum_}, #0" for sum_ in pair)
    yield "b 6f"


@cache
def _step(layout: BlockLayout, turned: str) -> Macro:
    """Two of four values of both pixels times the weights of four channels."""
    weights = list(multiply_weights(r"\w", layout, HIGH, LOW))
    loads = 2
    return Macro(
        f"GLOWMCU_CHUNK_{'ODD' if turned else 'EVEN'}{'_WIDE' * layout.wide}",
        f"Values {'1 and 3' if turned else '0 and 2'} of four of both pixels, `x` and `y` behind"
        " r0, times weights `w` behind r1.",
        ("x", "y", "w"),
        (
            *(r"ldr r2, [r0, #\x]", r"ldr r3, [r0, #\y]", *weights[:loads]),
            *(f"sxtb16 r2, r2{turned}", f"sxtb16 r3, r3{turned}", *weights[loads:]),
        ),
    )


def _chunks(layout: BlockLayout, distance: int, offsets: Sequence[int]) -> Iterator[AssemblyLine]:
    """Sums on top of the sums, place after place: odd ones are in the patch, -1 is the end."""
    yield "7: /* a chunk */"
    steps = [(offset, turned) for offset in offsets for turned in ("", ", ror #8")]
    for number, (offset, turned) in enumerate(steps):
        yield _step(layout, turned)(offset, offset + distance, layout.step_bytes * number)
    yield from (f"ldr r2, [sp, #{_NEXT}]", f"ldr r0, [sp, #{IN}]")
    yield f"add r1, r1, #{layout.step_bytes * len(steps)}"
    yield "6: /* the next chunk */"
    yield from ("ldr r3, [r2], #4", f"str r2, [sp, #{_NEXT}]", "asrs r3, r3, #1")
    yield from ("it cs", f"ldrcs r0, [sp, #{SCRATCH}]", "add r0, r3", "bpl 7b")
