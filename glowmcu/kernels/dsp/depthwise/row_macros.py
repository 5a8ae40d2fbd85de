"""What rows of a depthwise 3x3 convolution do in many places, as macros.

Registers, sums and the frame are those of row_assembly.py.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from itertools import zip_longest

from glowmcu.ir.assembly_macros import Macro
from glowmcu.kernels.dsp.depthwise.row_shape import RowShape
from glowmcu.kernels.requantization.forms import FormKind

#: Offsets in the stack frame, and its size; the first four words change from channel to channel.
IN, WEIGHTS, END, ZERO_POINTS, FRAME_ROWS = 0, 8, 16, 20, 24
SHIFT, STEP, MULTIPLIER, CLAMP, ROUNDING, FRAME_BYTES = 28, 32, 36, 40, 48, 52
#: Offsets in `glowmcu_depthwise_row`.
P_CHANNELS, P_ROUNDING, P_CLAMP, P_BLOCKS = 0, 8, 12, 20

_JOIN = "pkhbt r2, r2, r3, lsl #16"
_ROWS = {2: "two", 3: "three"}

NEAR_COLUMN = {
    3: Macro(
        "GLOWMCU_COLUMN_3",
        "A column of three rows, `x`, `y` and `z` behind r0: r2 = {x, y}, lr = z.",
        ("x", "y", "z"),
        (r"ldrsb r2, [r0, #\x]", r"ldrsb r3, [r0, #\y]", r"ldrsb lr, [r0, #\z]", _JOIN),
    ),
    2: Macro(
        "GLOWMCU_COLUMN_2",
        "A column of two rows, `x` and `y` behind r0: r2 = {y, x}.",
        ("x", "y"),
        (r"ldrsb r2, [r0, #\y]", r"ldrsb r3, [r0, #\x]", _JOIN),
    ),
}
FAR_COLUMN = {
    3: Macro(
        "GLOWMCU_FAR_COLUMN_3",
        "A column of three rows, r10 apart: r2 = {x, y}, lr = z; r0 to the next one.",
        ("step",),
        (
            *("ldrsb r2, [r0]", "ldrsb r3, [r0, r10]", "ldrsb lr, [r0, r10, lsl #1]", _JOIN),
            r"addw r0, r0, #\step",
        ),
    ),
    2: Macro(
        "GLOWMCU_FAR_COLUMN_2",
        "A column of two rows, r10 apart: r2 = {y, x}; r0 to the next one.",
        ("step",),
        ("ldrsb r2, [r0, r10]", "ldrsb r3, [r0]", _JOIN, r"addw r0, r0, #\step"),
    ),
}
ENTER = Macro(
    "GLOWMCU_ROWS_ENTER",
    "Saves registers; the frame of `bytes` gets where channels begin, their end and what is to do.",
    ("bytes",),
    (
        "push {r4-r11, lr}",
        r"sub sp, #\bytes",
        f"ldr r4, [r2, #{P_BLOCKS}]",
        f"ldrd r5, r6, [r2, #{P_CHANNELS}]",
        "add r5, r4, r5, lsl #4 /* last weights follow the words */",
        f"strd r0, r1, [sp, #{IN}]",
        f"strd r4, r5, [sp, #{WEIGHTS}]",
        f"strd r5, r6, [sp, #{END}]",
        f"str r3, [sp, #{FRAME_ROWS}]",
    ),
)
_LOAD = ("ldm sp, {r0-r3}", "mov lr, #0xFF00FF00", "ldm r2!, {r4, r6, r9, r10}", "ldrsb r8, [r3]")
_TAKE_APART = (
    *("adds r12, r1, #1", "adds r3, #1", f"strd r11, r12, [sp, #{IN}]"),
    *(f"strd r2, r3, [sp, #{WEIGHTS}]", "and r5, lr, r4, lsl #8", "and r4, r4, lr"),
    *("and r7, lr, r6, lsl #8", "and r6, r6, lr", "lsl r8, r8, #8"),
)
CHANNEL = Macro(
    "GLOWMCU_ROWS_CHANNEL",
    "Pointers, weights and constants of a channel; the frame goes to the next one.",
    (),
    (*_LOAD, "adds r11, r0, #1", *_TAKE_APART),
)
#: The same where several channels of the result have one of the image: what r11 is comes between.
LOAD_CHANNEL, TAKE_CHANNEL_APART = (
    Macro("GLOWMCU_ROWS_LOAD", "Pointers, weights and constants of a channel.", (), _LOAD),
    Macro(
        "GLOWMCU_ROWS_TAKE_APART",
        "Halves of a channel's weights; the frame goes to the next one, whose input is r11.",
        (),
        _TAKE_APART,
    ),
)
NEXT_CHANNEL = Macro(
    "GLOWMCU_ROWS_NEXT",
    "To the next channel, at 1; after the last one it leaves the function.",
    ("bytes",),
    (
        *(f"ldr r2, [sp, #{WEIGHTS}]", f"ldr r3, [sp, #{END}]", "cmp r2, r3", "bne 1b"),
        *(r"add sp, #\bytes", "pop {r4-r11, pc}"),
    ),
)
WITHOUT_LOWER_ROW = Macro(
    "GLOWMCU_ROWS_LACK_LOWER",
    "Weights and start of two rows, where the third is below the image. Flags stay.",
    (),
    (
        f"ldr r2, [sp, #{ZERO_POINTS}]",
        *("smlabb r9, r2, r7, r9", "smlabt r9, r2, r7, r9", "smlabb r9, r2, r8, r9"),
        *(f"ror {weights}, {weights}, #16" for weights in ("r4", "r5", "r6")),
    ),
)
WITHOUT_UPPER_ROW = Macro(
    "GLOWMCU_ROWS_LACK_UPPER",
    "Weights and start of two rows, where the first is above the image.",
    (),
    (
        f"ldr r2, [sp, #{ZERO_POINTS}]",
        *(f"smlabb r9, r2, {weights}, r9" for weights in ("r4", "r5", "r6")),
        *("pkhbt r4, r7, r4", "pkhtb r5, r5, r7, asr #16", "pkhbt r6, r8, r6"),
    ),
)


@cache
def sums(shape: RowShape, rows: int, met: str, inside: bool) -> Macro:
    """A column's products, of which `met` are the columns of the kernel that it meets: the last one
    finishes a sum, which is a result if words are kept.
    """
    steps = shape.stride == 2 and met != "2"
    stored = "2" in met and shape.keeps_words
    edge = () if inside else (f"ldr r2, [sp, #{ZERO_POINTS}]",)
    finish = tuple(_finish(shape))
    ending, others = _products(rows, met, "lr" if inside else "r2", "r11" if steps else "r12")
    return Macro(
        f"GLOWMCU_{'SUMS' if inside else 'EDGE'}_{met}_OF_{rows}{'_S2' * steps}"
        f"{'_FLOOR' * stored}{'_CLAMPED' * (stored and shape.clamped)}",
        f"{'The column' if inside else 'Zero points of a column beside the image'} times"
        f" column{'s' * bool(met[1:])} {', '.join(met)} of the kernel, {_ROWS[rows]} rows"
        f"{', stride 2' * steps}{'; the finished sum to int8, to `o`' * stored}.",
        result_parameters(shape) if stored else (),
        (*edge, *_in_turns((*ending, *finish[:stored]), others), *(finish[1:] if stored else ())),
    )


def _products(rows: int, met: str, z: str, new: str) -> tuple[Sequence[str], Sequence[str]]:
    """Of the sum that ends, and of the others."""
    ending: list[str] = []
    others: list[str] = []
    if "2" in met:
        ending = ["smlad r3, r2, r6, r11", f"smlabb r3, {z}, r8, r3"][: rows - 1]
    if "1" in met:
        others += [f"smlad r11, r2, r5, {new}", f"smlabt r11, {z}, r7, r11"][: rows - 1]
    if "0" in met:
        others += [f"smlad {new}, r2, r4, r9", f"smlabb {new}, {z}, r7, {new}"][: rows - 1]
    return ending, others[::2] + others[1::2] if rows == 3 else others


def _in_turns(ending: Sequence[str], others: Sequence[str]) -> Iterator[str]:
    """Alternately, so that sums are not waited for."""
    for pair in zip_longest(ending, others):
        yield from (line for line in pair if line)


def result_parameters(shape: RowShape) -> tuple[str, ...]:
    """Of what makes a result."""
    return ("shift", "o") if shape.kind is FormKind.FLOOR else ("o",)


@cache
def result(shape: RowShape) -> Macro:
    """The sum in r3 to int8, where words are not kept."""
    return Macro(
        f"GLOWMCU_ROWS_{shape.kind.name}{'_FAR' * shape.is_far}{'_CLAMPED' * shape.clamped}",
        "The finished sum to int8, to `o`.",
        result_parameters(shape),
        tuple(_finish(shape)),
    )


def _finish(shape: RowShape) -> Iterator[str]:
    """The sum in r3 to int8; r2 and lr are free but in the first line of words that are kept."""
    if shape.kind is FormKind.FLOOR:
        if shape.is_far:
            yield f"ldr lr, [sp, #{MULTIPLIER}]"
        yield f"smmul r3, r3, {'lr' if shape.is_far else 'r10'}"
        yield r"ssat r3, #8, r3, asr #\shift"
    else:
        if shape.is_far:
            yield f"ldrd r2, lr, [sp, #{STEP}] /* the multiplier follows */"
        else:
            yield f"ldrd lr, r2, [sp, #{SHIFT}] /* the step follows */"
        yield "asrs r3, r3, #7"
        yield f"smmlar r2, r3, {'lr' if shape.is_far else 'r10'}, r2"
        if shape.is_far:
            yield f"ldr lr, [sp, #{SHIFT}]"
        yield "add r3, r2, r3, asr #31"
        yield "asr r3, r3, lr"
        yield "ssat r3, #8, r3, asr #1"
    if shape.clamped:
        yield f"ldrd r2, lr, [sp, #{CLAMP}]"
        yield from ("cmp r3, r2", "it lt", "movlt r3, r2")
        yield from ("cmp r3, lr", "it gt", "movgt r3, lr")
    yield r"strb r3, [r1, #\o]"
