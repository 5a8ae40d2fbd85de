"""The Armv7E-M loop of `wide_depthwise.dsp`: four channels of a pixel, a word of weights a tap.

Two SXTB16 make two words of a tap's four weights, each beside two channels of the image as they
lie. Registers: r0 image, r1 stream, r2 step to the next tap, r4-r7 sums, r12 row of the image.
"""

from __future__ import annotations

from collections.abc import Iterator

from glowmcu.kernels.dsp.int16.results_assembly import Clamp, clamped, scaled

#: The stack frame: arguments, rows and blocks that are left.
_IN, _OUT, _JOB, _ROWS, _LEFT, _FRAME = range(0, 24, 4)
#: Places in `glowmcu_wide_depthwise_job`.
(
    _STREAM, _BLOCKS, _TAPS, _STEP, _LINE, _BEFORE, _BETWEEN, _AFTER, _JOB_ROWS, _CLAMP_MIN,
) = range(0, 40, 4)  # fmt: skip
_SUMS = ("r4", "r5", "r6", "r7")
_SCALES = ("r0", "r8", "r9", "r10")
#: Taps of a row that are done without a loop.
_UNROLLED = 3


def depthwise_assembly(clamp: Clamp) -> tuple[str, ...]:
    """The whole function: r0 is the job, r1 the image, r2 the results."""
    return (
        *_enter(),
        *_block(),
        *_rows(),
        *_results(clamp),
        "bne 8b",
        f"add sp, #{_FRAME}",
        "pop {r4-r11, pc}",
    )


def _enter() -> Iterator[str]:
    yield from ("push {r4-r11, lr}", f"sub sp, #{_FRAME}")
    yield from (f"str r1, [sp, #{_IN}]", f"str r2, [sp, #{_OUT}]", f"str r0, [sp, #{_JOB}]")
    yield from (f"ldr r1, [r0, #{_STREAM}]", f"ldr r3, [r0, #{_BLOCKS}]")
    yield f"str r3, [sp, #{_LEFT}]"


def _block() -> Iterator[str]:
    yield "8: /* a block of four channels */"
    yield f"ldm r1!, {{{', '.join(_SUMS)}}}"
    yield from (f"ldr r3, [sp, #{_JOB}]", f"ldr r12, [sp, #{_IN}]", f"ldr r2, [r3, #{_STEP}]")
    yield from (f"ldr r8, [r3, #{_BEFORE}]", f"ldr r9, [r3, #{_JOB_ROWS}]")
    yield from ("add r1, r8", "cmp r9, #0", "beq 3f", f"str r9, [sp, #{_ROWS}]")


def _rows() -> Iterator[str]:
    yield "7: /* a row of the window */"
    yield from (f"ldr r3, [r3, #{_TAPS}]", "mov r0, r12", f"cmp r3, #{_UNROLLED}", "beq 5f")
    yield "6: /* a tap */"
    yield from ("ldr r8, [r1], #4", *_tap("r8"), "subs r3, #1", "bne 6b", "b 4f")
    yield "5: /* three taps */"
    yield "ldm r1!, {r3, r8, lr}"
    for weights in ("r3", "r8", "lr"):
        yield from _tap(weights)
    yield "4:"
    yield from (f"ldr r3, [sp, #{_JOB}]", f"ldr r0, [sp, #{_ROWS}]", f"ldr r8, [r3, #{_LINE}]")
    yield from (f"ldr r9, [r3, #{_BETWEEN}]", "add r12, r8", "add r1, r9", "subs r0, #1")
    yield from (f"str r0, [sp, #{_ROWS}]", "bne 7b")


def _tap(weights: str) -> Iterator[str]:
    """Four products; r0 goes to the next tap."""
    yield from ("ldr r9, [r0]", "ldr r10, [r0, #4]", f"sxtb16 r11, {weights}")
    yield from (f"sxtb16 {weights}, {weights}, ror #8", "add r0, r2")
    yield from ("smlabb r4, r9, r11, r4", "smlatt r5, r9, r11, r5")
    yield from (f"smlabb r6, r10, {weights}, r6", f"smlatt r7, r10, {weights}, r7")


def _results(clamp: Clamp) -> Iterator[str]:
    """Sums to int16 in memory; flags tell whether there are more channels."""
    yield "3: /* sums to int16 */"
    yield from (f"ldr r8, [r3, #{_AFTER}]", "add r1, r8")
    yield f"ldm r1!, {{{', '.join(_SCALES)}}}"
    yield from scaled(_SUMS, _SCALES)
    yield from clamped(clamp, _SUMS, _JOB, _CLAMP_MIN)
    yield from (f"ldr r0, [sp, #{_OUT}]", f"ldr r8, [sp, #{_IN}]", f"ldr r9, [sp, #{_LEFT}]")
    yield from ("pkhbt r4, r4, r5, lsl #16", "pkhbt r6, r6, r7, lsl #16", "add r8, r8, #8")
    yield from ("str r4, [r0], #4", "str r6, [r0], #4", "subs r9, r9, #1")
    yield from (f"str r0, [sp, #{_OUT}]", f"str r8, [sp, #{_IN}]", f"str r9, [sp, #{_LEFT}]")
