"""The Armv7E-M loop of `conv_2d.straight_dsp`: that of pointwise_assembly.py for one depth.

All steps of a block stand in a row: nothing is entered in the middle and nothing counts them.
"""

from __future__ import annotations

from collections.abc import Iterator

from glowmcu.ir.assembly_macros import Assembly, AssemblyLine, Macro, MacroCall
from glowmcu.kernels.dsp.dense.pixel_pair_assembly import (
    EXTENDED,
    FRAME,
    HIGH,
    IN,
    IN_STEP,
    LOADED,
    LOW,
    RUN_PAIRS,
    SCRATCH,
    STREAM,
    extend,
    multiply_weights,
    next_pair,
    preload,
    requantize,
    starts,
    store,
    without_preloaded,
)
from glowmcu.kernels.dsp.dense.stream import BlockLayout

#: Up to this many inputs are widened without a loop.
_MOST_UNROLLED = 24


def straight_assembly(
    layout: BlockLayout, depth: int, postshift: int, carried: bool = False
) -> Assembly:
    """The whole function: r0 is the layer, r1 the run of pixels.

    `carried`: what a block begins with is loaded where the one before waits for its results.
    """
    steps = (depth + 1) // 2
    block = 4 * layout.words(steps)
    return (
        *_enter(),
        "b 1f",
        *next_pair(),
        *_expand(depth),
        *(preload(4 * layout.before) if carried else ()),
        *_steps(layout, steps, carried),
        *requantize(layout, postshift, 4 * layout.before + steps * layout.step_bytes),
        *(preload(block + 4 * layout.before) if carried else ()),
        *store(layout),
        f"add r1, r1, #{block}",
        "bne 8b",
        "b 9b",
        "10: /* no pair left */",
        f"add sp, #{FRAME}",
        "pop {r4-r11, pc}",
    )


def _enter() -> Iterator[str]:
    yield from ("push {r4-r11, lr}", f"sub sp, #{FRAME}", "ldr r2, [r0]")
    yield from ("ldm r1, {r9-r12, lr}", f"ldr r1, [r1, #{RUN_PAIRS}]", "stm sp, {r1-r12, lr}")


def _expand(depth: int) -> Iterator[AssemblyLine]:
    """Two pixels, r6 and r7, to words of {x0, x2}, {x1, x3}, alternating."""
    yield "1: /* inputs to words {x0, x2}, {x1, x3}, of both pixels in turn */"
    yield from (f"ldr r6, [sp, #{IN}]", f"ldr r8, [sp, #{IN_STEP}]", f"ldr r0, [sp, #{SCRATCH}]")
    yield from ("add r7, r6, r8", "add r8, r7", f"str r8, [sp, #{IN}]")
    at = 0
    if depth <= _MOST_UNROLLED:
        for at in range(0, depth - 7, 8):
            yield _eight(at)
        at = depth // 8 * 8
    else:
        yield from (f"add r1, r6, #{depth // 8 * 8}", "2: /* eight inputs of each */", _eight(0))
        yield from ("adds r6, #8", "adds r7, #8", "cmp r6, r1", "bne 2b")
    yield f"ldr r1, [sp, #{STREAM}]"
    if depth & 4:
        yield from (f"ldr r2, [r6, #{at}]", f"ldr r3, [r7, #{at}]")
        yield from (*extend(("r2", "r3"), LOADED), "stm r0!, {r2-r5}")
        at += 4
    if depth & 2:
        yield from (f"ldrsb r2, [r6, #{at}]", f"ldrsb r3, [r7, #{at}]")
        yield from (f"ldrsb r4, [r6, #{at + 1}]", f"ldrsb r5, [r7, #{at + 1}]")
        yield from ("pkhbt r2, r2, r4, lsl #16", "pkhbt r3, r3, r5, lsl #16", "stm r0!, {r2, r3}")
        at += 2
    if depth & 1:
        yield from (f"ldrsb r2, [r6, #{at}]", f"ldrsb r3, [r7, #{at}]", "stm r0!, {r2, r3}")


_EIGHT = Macro(
    "GLOWMCU_TWO_PIXELS_WIDEN",
    "Eight inputs of both pixels, four `x` and four `y` behind r6 and r7, to words at r0.",
    ("x", "y"),
    (
        *(r"ldr r2, [r6, #\x]", r"ldr r3, [r7, #\x]"),
        *(r"ldr r12, [r6, #\y]", r"ldr lr, [r7, #\y]"),
        *(*extend(("r2", "r3"), LOADED), *extend(("r12", "lr"), EXTENDED)),
        "stm r0!, {r2-r5, r8-r11}",
    ),
)


def _eight(at: int) -> MacroCall:
    """Eight inputs of both pixels."""
    return _EIGHT(at, at + 4)


def _steps(layout: BlockLayout, steps: int, carried: bool) -> Iterator[str]:
    """The sums of a block; r1 is its first word."""
    places, high, low = starts(layout)
    weights = 4 * layout.before
    yield "8: /* a block of four channels */"
    yield f"ldr r0, [sp, #{SCRATCH}]"
    yield from (f"ldr {place}, [r1, #{4 * i}]" for i, place in enumerate(places))
    first = ("ldr r2, [r0]", "ldr r3, [r0, #4]", *multiply_weights(weights, layout, high, low))
    yield from without_preloaded(first) if carried else first
    if steps > 1:
        yield f"/* steps 1 to {steps - 1}, as the first one */"
        yield f".irp i, {', '.join(map(str, range(1, steps)))}"
        yield from ("ldr r2, [r0, #8 * \\i]", "ldr r3, [r0, #8 * \\i + 4]")
        at = f"{layout.step_bytes} * \\i + {weights}"
        yield from multiply_weights(at, layout, HIGH, LOW)
        yield ".endr"
