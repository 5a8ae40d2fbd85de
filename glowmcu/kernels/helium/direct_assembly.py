"""The Helium loop of `matrix.direct_mve`: two windows by four channels, inputs where they lie.

A turn has some blocks of 16 neighbours of both windows; eight sums fill the even registers, where
VMLADAVA wants them. What is left of scaling four channels stands beside the products of the next
four, and what a block loads first stands in the block before it.

r1, r11 windows; r5 stream; r7, r3 results (narrowing stores take low ones); r9 steps between turns,
r3 one of them; q0, q1 inputs; q2, q3 weights; q4, q5 results; q6 multipliers, or with q7 the clamp
of the literal form.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest

#: Bytes of a vector, and channels of a tile.
BLOCK = 16
TILE = 4
#: Blocks whose distance an immediate holds.
MOST_BLOCKS = 8

#: The stack frame; LDM takes its first words.
_PRESHIFT, _END, _CHANNELS, _RESULTS_END, _STEPS, _APART, _LEFT, _STREAM, _FRAME = range(0, 36, 4)
#: Places in `glowmcu_direct_mve`.
_P_CHANNELS, _P_PRESHIFT, _P_CLAMP, _, _P_STREAM, _P_BYTES, _P_STEPS, _P_APART = range(0, 32, 4)

_SUMS = (("r0", "r2", "r4", "r6"), ("r8", "r10", "r12", "lr"))


@dataclass(frozen=True)
class DirectCode:
    """What of a layer is part of the code.

    `blocks` of a turn. `is_once`: a window is one turn, so that there is no table of steps.
    `is_partial`: channels are no multiple of four, so that the last results of a window are masked.
    """

    blocks: int
    is_once: bool
    is_literal: bool
    is_partial: bool

    @property
    def suffix(self) -> str:
        """What tells functions apart."""
        letters = "o" * self.is_once + "l" * self.is_literal + "p" * self.is_partial
        return f"{self.blocks}{letters}"

    @property
    def size_bytes(self) -> int:
        """About what the function takes."""
        turns = self.blocks * (1 if self.is_once else 2) + 1
        return 56 * turns + (280 if self.is_literal else 240)


def direct_assembly(code: DirectCode) -> tuple[str, ...]:
    """The whole function: r0 the layer, r1 the first window, r2 results, r3 how many windows."""
    return (
        *_enter(code),
        *_pair(),
        "vldrb.8 q0, [r1]",
        "vldrb.8 q2, [r5], #16",
        *_block(code, 0, is_first=True),
        "b 2f",
        "1: /* four more channels */",
        "vldrb.8 q2, [r5], #16",
        *_beside(_block(code, 0, is_first=True), _late(code)),
        "2:",
        *_rest_of_window(code),
        *_scale(code),
        "bne 1b",
        *_beside(_late(code), ()),
        f"ldrd r4, r6, [sp, #{_APART}]",
        f"ldrd r2, r7, [sp, #{_CHANNELS}]",
        "add r1, r1, r4, lsl #1",
        "add r7, r7, r2",
        "cmp r6, #0",
        "bgt 8b",
        f"add sp, #{_FRAME}",
        f"vpop {{d8-d{_last_saved(code)}}}",
        "pop {r4-r11, pc}",
    )


def _last_saved(code: DirectCode) -> int:
    return 15 if code.is_literal else 13


def _enter(code: DirectCode) -> Iterator[str]:
    yield from ("push {r4-r11, lr}", f"vpush {{d8-d{_last_saved(code)}}}", f"sub sp, #{_FRAME}")
    yield from (f"ldrd r4, r6, [r0, #{_P_CHANNELS}]", f"ldrd r8, r10, [r0, #{_P_STREAM}]")
    yield from (f"ldrd r9, r12, [r0, #{_P_STEPS}]", "add r10, r8")
    yield from (f"strd r6, r10, [sp, #{_PRESHIFT}]", f"str r4, [sp, #{_CHANNELS}]")
    yield f"str r9, [sp, #{_STEPS}]"
    yield from (f"strd r12, r3, [sp, #{_APART}]", f"str r8, [sp, #{_STREAM}]", "mov r7, r2")
    if code.is_literal:
        yield f"ldrd r4, r6, [r0, #{_P_CLAMP}]"
        yield from ("vdup.32 q6, r4", "vdup.32 q7, r6")


def _pair() -> Iterator[str]:
    yield "8: /* two windows; of the last one alone, that one twice */"
    yield from (f"ldrd r4, r6, [sp, #{_APART}]", f"ldr r5, [sp, #{_STREAM}]")
    yield from (f"ldr r2, [sp, #{_CHANNELS}]", "add r2, r7", f"str r2, [sp, #{_RESULTS_END}]")
    yield from ("subs r6, r6, #2", f"str r6, [sp, #{_LEFT}]")
    yield from ("itt mi", "movmi r4, #0", f"strmi r4, [sp, #{_CHANNELS}]")
    yield from ("add r11, r1, r4", f"ldr r9, [sp, #{_STEPS}]")


def _block(code: DirectCode, number: int, is_first: bool) -> list[str]:
    """A block of a turn, of which q0 and q2 are loaded; loads those of the next one."""
    a = "" if is_first else "a"
    (a0, a1, a2, a3), (b0, b1, b2, b3) = _SUMS
    is_last = number + 1 == code.blocks
    ahead = 0 if is_last else BLOCK * (number + 1)
    has_step = is_last and not code.is_once
    # r3 is where results are, until they are stored beside the first block.
    is_late = has_step and is_first
    step = ["ldr r3, [r9], #4"] * (has_step and not is_late)
    move = ["asrs r3, r3, #1", "add r1, r3"] * (has_step and not is_late)
    end = [f"vldrb.8 q0, {_at('r1', ahead)}"], ["add r11, r3"] * has_step
    if is_late:
        end = [], ["ldr r3, [r9], #4", "asrs r3, r3, #1", "add r1, r3", "add r11, r3", *end[0]]
    return [
        f"vmladav{a}.s8 {a0}, q0, q2", f"vldrb.8 q1, {_at('r11', BLOCK * number)}",
        f"vmladav{a}.s8 {b0}, q1, q2", "vldrb.8 q3, [r5], #16", *step,
        f"vmladav{a}.s8 {a1}, q0, q3", "vldrb.8 q2, [r5], #16",
        f"vmladav{a}.s8 {b1}, q1, q3", *move,
        f"vmladav{a}.s8 {a2}, q0, q2", "vldrb.8 q3, [r5], #16",
        f"vmladav{a}.s8 {b2}, q1, q2", "vldrb.8 q2, [r5], #16",
        f"vmladav{a}.s8 {a3}, q0, q3", *end[0],
        f"vmladav{a}.s8 {b3}, q1, q3", *end[1],
    ]  # fmt: skip


def _at(register: str, offset: int) -> str:
    return f"[{register}, #{offset}]" if offset else f"[{register}]"


def _beside(first: Sequence[str], second: Sequence[str]) -> list[str]:
    """One of `second` behind each of `first`, as long as there are any."""
    merged = zip_longest(first, second)
    return [line for pair in merged for part in pair if part for line in part.splitlines()]


def _rest_of_window(code: DirectCode) -> Iterator[str]:
    """All blocks but the first one."""
    for number in range(1, code.blocks):
        yield from _block(code, number, is_first=False)
    if code.is_once:
        return
    yield from ("bcs 4f", "3: /* a turn */")
    for number in range(code.blocks):
        yield from _block(code, number, is_first=False)
    yield from ("bcc 3b", "4:")


def _scale(code: DirectCode) -> Iterator[str]:
    """The first half of scaling, q2 is loaded; flags tell whether there are more channels."""
    for vector, (a, b, c, d) in zip(("q4", "q5"), _SUMS, strict=True):
        yield from (f"vmov {vector}[2], {vector}[0], {a}, {c}",)
        yield from (f"vmov {vector}[3], {vector}[1], {b}, {d}",)
    yield "ldm sp, {r0, r2, r3, r4, r9}"
    if code.is_partial:
        yield from ("sub r4, r4, r7", "vctp.32 r4")
    if code.is_literal:
        yield from ("vadd.i32 q4, q4, q2", "vldrw.32 q1, [r5], #16", "vadd.i32 q5, q5, q2")
        yield from ("vqrdmulh.s32 q2, q4, q1", "vshr.s32 q4, q4, #31", "vqrdmulh.s32 q3, q5, q1")
        yield from ("vldrw.32 q1, [r5], #16", "vshr.s32 q5, q5, #31", "vadd.i32 q4, q4, q2")
        yield from ("vldrw.32 q2, [r5], #16", "vadd.i32 q5, q5, q3", "add r3, r7")
        yield from ("vadd.i32 q4, q4, q1", "vadd.i32 q5, q5, q1", "cmp r5, r2")
        yield from ("vshl.s32 q4, q4, q2", "vshl.s32 q5, q5, q2")
    else:
        yield from ("vshl.s32 q4, r0", "vldrw.32 q6, [r5], #16", "vshl.s32 q5, r0")
        yield from ("vadd.i32 q4, q4, q2", "add r3, r7", "cmp r5, r2", "vadd.i32 q5, q5, q2")


def _late(code: DirectCode) -> tuple[str, ...]:
    """The second half, beside other sums."""
    stores: tuple[str, ...] = ("vstrb.32 q4, [r7], #4", "vstrb.32 q5, [r3]")
    if code.is_partial:
        stores = ("\n".join(("vpstt", "vstrbt.32 q4, [r7], #4", "vstrbt.32 q5, [r3]")),)
    if code.is_literal:
        return (
            "vmax.s32 q4, q4, q6", "vmax.s32 q5, q5, q6", "vmin.s32 q4, q4, q7",
            "vmin.s32 q5, q5, q7", *stores,
        )  # fmt: skip
    return (
        "vmulh.s32 q4, q4, q6", "vmulh.s32 q5, q5, q6", "vshrnb.i32 q4, q4, #16",
        "vshrnb.i32 q5, q5, #16", "vqmovnb.s16 q4, q4", "vqmovnb.s16 q5, q5", *stores,
    )  # fmt: skip
