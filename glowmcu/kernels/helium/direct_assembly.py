"""The Helium loop of `matrix.direct_mve` by turns: two windows by four channels, inputs where they
lie. Windows of few vectors have straight_assembly.py.

A turn has some blocks of 16 neighbours of both windows; eight sums fill the even registers, where
VMLADAVA wants them. What is left of scaling four channels stands beside the products of the next
four, and what a block loads first stands in the block before it.

r1, r11 windows; r5 stream; r7, r3 results (narrowing stores take low ones); r9 steps between turns,
r3 one of them; q0, q1 inputs; q2, q3 weights; q4, q5 results; q6 multipliers, or with q7 the clamp
of the literal form. With weights of four bits (direct_blocks.py) q4 and q5 have weights, too, once
results are stored, and q7 of the floor form shifts.
"""

from __future__ import annotations

from collections.abc import Iterator

from glowmcu.kernels.helium.direct_blocks import (
    BYTES,
    EXTRA_BITS,
    NIBBLES,
    Orders,
    part_registers,
    weight_lines,
)
from glowmcu.lazy_dataclass import dataclass

#: Bytes of a vector, and channels of a tile.
BLOCK = 16
TILE = 4
#: Blocks whose distance an immediate holds.
MOST_BLOCKS = 8

#: The stack frame; LDM takes its first words.
_PRESHIFT, _END, _CHANNELS, _RESULTS_END, _STEPS, _APART, _LEFT, _STREAM, _FRAME = range(0, 36, 4)
#: Places in `glowmcu_direct_mve`.
P_CHANNELS, P_PRESHIFT, P_CLAMP, _, P_STREAM, P_BYTES, P_STEPS, P_APART = range(0, 32, 4)

SUMS = (("r0", "r2", "r4", "r6"), ("r8", "r10", "r12", "lr"))


@dataclass(frozen=True)
class DirectCode:
    """What of a layer is part of the code.

    `blocks` of a turn. `is_once`: a window is one turn, so that there is no table of steps.
    `is_partial`: channels are no multiple of four, so that the last results of a window are masked.
    `nibbles`: weights of four bits, two in a byte.
    """

    blocks: int
    is_once: bool
    is_literal: bool
    is_partial: bool
    nibbles: bool = False

    @property
    def orders(self) -> Orders:
        """Those of its blocks."""
        return NIBBLES if self.nibbles else BYTES

    @property
    def facts(self) -> tuple[str, ...]:
        """What tells functions apart (`specialized`)."""
        return (
            f"blocks of {self.blocks}",
            "once" * self.is_once,
            "literal" * self.is_literal,
            "partial" * self.is_partial,
            "nibbles" * self.nibbles,
        )

    @property
    def size_bytes(self) -> int:
        """What the function takes, to a few bytes: gcc's for a Cortex-M55."""
        walk = 282 + 57 * self.blocks if self.is_once else 322 + 108 * self.blocks
        parting = 8 * self.blocks * (2 - self.is_once) + 16 if self.nibbles else 0
        return walk + parting + 36 * self.is_literal - 36 * self.is_partial


def direct_assembly(code: DirectCode) -> tuple[str, ...]:
    """The whole function: r0 the layer, r1 the first window, r2 results, r3 how many windows."""
    return (
        *_enter(code),
        *_pair(),
        "vldrb.8 q0, [r1]",
        *_first_channels(code),
        "1: /* four more channels */",
        *_block(code, 0, True, code.orders.beside(code.is_literal)),
        *(() if code.is_partial else ("2:",)),
        *_window_and_scale(code),
        "bne 1b",
        *_late(code),
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


def _first_channels(code: DirectCode) -> tuple[str, ...]:
    """There are no results before them; those that masks hide may be anything."""
    if code.is_partial:
        return ("mov r2, #0", "vmsr p0, r2", "sub r7, r7, #4")
    return ("vldrb.8 q2, [r5], #16", *_block(code, 0, True, code.orders.first), "b 2f")


def _last_saved(code: DirectCode) -> int:
    return 15 if code.is_literal or code.nibbles else 13


def _enter(code: DirectCode) -> Iterator[str]:
    yield from ("push {r4-r11, lr}", f"vpush {{d8-d{_last_saved(code)}}}", f"sub sp, #{_FRAME}")
    yield from (f"ldrd r4, r6, [r0, #{P_CHANNELS}]", f"ldrd r8, r10, [r0, #{P_STREAM}]")
    yield from (f"ldrd r9, r12, [r0, #{P_STEPS}]", "add r10, r8")
    yield from (f"strd r6, r10, [sp, #{_PRESHIFT}]", f"str r4, [sp, #{_CHANNELS}]")
    yield f"str r9, [sp, #{_STEPS}]"
    yield from (f"strd r12, r3, [sp, #{_APART}]", f"str r8, [sp, #{_STREAM}]", "mov r7, r2")
    if code.is_literal:
        yield f"ldrd r4, r6, [r0, #{P_CLAMP}]"
        yield from ("vdup.32 q6, r4", "vdup.32 q7, r6")
    elif code.nibbles:  # shifts of even and of odd channels
        yield from ("vdup.32 q7, r6", f"sub r6, r6, #{EXTRA_BITS}", "vmov q7[2], q7[0], r6, r6")


def _pair() -> Iterator[str]:
    yield "8: /* two windows; of the last one alone, that one twice */"
    yield from (f"ldrd r4, r6, [sp, #{_APART}]", f"ldr r5, [sp, #{_STREAM}]")
    yield from (f"ldr r2, [sp, #{_CHANNELS}]", "add r2, r7", f"str r2, [sp, #{_RESULTS_END}]")
    yield from ("subs r6, r6, #2", f"str r6, [sp, #{_LEFT}]")
    yield from ("itt mi", "movmi r4, #0", f"strmi r4, [sp, #{_CHANNELS}]")
    yield from ("add r11, r1, r4", f"ldr r9, [sp, #{_STEPS}]")


def _block(code: DirectCode, number: int, is_first: bool, order: str) -> list[str]:
    """A block of a turn, of which q0 and q2 are loaded; loads those of the next one.

    In the first block of all, r3 is where results are until they are stored beside it.
    """
    is_last = number + 1 == code.blocks
    ahead = 0 if is_last else BLOCK * (number + 1)
    lines = {
        **_products(part_registers(code.nibbles, is_first), is_first),
        **weight_lines(code.nibbles, is_first),
        "x1": f"vldrb.8 q1, {_at('r11', BLOCK * number)}",
        "x2": f"vldrb.8 q0, {_at('r1', ahead)}",
        "s0": "ldr r3, [r9], #4",
        "s1": "asrs r3, r3, #1",
        "s2": "add r1, r3",
        "s3": "add r11, r3",
    }
    if code.is_once and is_last:
        order = order.replace("p4 ", "")
    if not code.is_once and number + 2 >= code.blocks:
        order = _with_step(code, number, is_first, order)
    late = iter(_late(code))
    found = []
    for key in order.split():
        found.append(lines[key] if key != "." else next(late, ""))
        if found[-1] == "vpstt":
            found += late
    return [line for line in found if line]


def _with_step(code: DirectCode, number: int, is_first: bool, order: str) -> str:
    """The order of one of the last two blocks of a turn."""
    is_last, orders = number + 1 == code.blocks, code.orders
    if is_first:  # r3 is used until the end
        return f"{order.replace(' x2', '')} s0 s1 s2 s3 x2" if is_last else f"{order} s0 s1"
    if code.blocks == 1:
        return orders.step_in_one
    return orders.step_in_last if is_last else orders.step_in_last_but_one


def _products(weights: tuple[str, ...], is_first: bool) -> dict[str, str]:
    """Sums of both windows, by letter and channel."""
    name = "vmladav.s8" if is_first else "vmladava.s8"
    return {
        f"{'ab'[window]}{channel}": f"{name} {sum_}, q{window}, {weights[channel]}"
        for window, sums in enumerate(SUMS)
        for channel, sum_ in enumerate(sums)
    }


def _at(register: str, offset: int) -> str:
    return f"[{register}, #{offset}]" if offset else f"[{register}]"


def _window_and_scale(code: DirectCode) -> list[str]:
    """All blocks but the first one, and the first half of scaling."""
    window, scale = list(_rest_of_window(code)), list(_scale(code))
    if code.is_once and window:
        window[-2:] = [window[-2], scale.pop(0), window[-1]]
    return window + scale


def _rest_of_window(code: DirectCode) -> Iterator[str]:
    """All blocks but the first one."""
    alone = code.orders.alone
    for number in range(1, code.blocks):
        yield from _block(code, number, False, alone)
    if code.is_once:
        return
    yield from ("bcs 4f", "3: /* a turn */")
    for number in range(code.blocks):
        yield from _block(code, number, False, alone)
    yield from ("bcc 3b", "4:")


def _scale(code: DirectCode) -> tuple[str, ...]:
    """The first half of scaling, q2 is loaded; flags tell whether there are more channels."""
    known = "ldm sp, {r0, r2, r3, r4, r9}"
    left = ("sub r4, r4, r7", "vctp.32 r4") if code.is_partial else ()
    evens = [sums[channel] for sums in SUMS for channel in (0, 2)] if code.nibbles else []
    parted = [f"asr {sum_}, {sum_}, #{EXTRA_BITS}" for sum_ in evens]
    if code.is_literal:
        return (
            *parted, "vmov q4[2], q4[0], r0, r4", "vmov q4[3], q4[1], r2, r6",
            "vadd.i32 q4, q4, q2", "vmov q5[2], q5[0], r8, r12", "vldrw.32 q1, [r5], #16",
            "vmov q5[3], q5[1], r10, lr",
            "vadd.i32 q5, q5, q2", "vqrdmulh.s32 q2, q4, q1", "vshr.s32 q4, q4, #31",
            "vqrdmulh.s32 q3, q5, q1", "vadd.i32 q4, q4, q2", "vshr.s32 q5, q5, #31", known,
            "vadd.i32 q5, q5, q3", "vldrw.32 q1, [r5], #16", *left, "vadd.i32 q4, q4, q1",
            "vldrw.32 q2, [r5], #16", "vshl.s32 q4, q4, q2", "add r3, r7", "vadd.i32 q5, q5, q1",
            "cmp r5, r2", "vshl.s32 q5, q5, q2",
        )  # fmt: skip
    shifted = "vshl.s32 {0}, {0}, q7" if code.nibbles else "vshl.s32 {0}, r0"
    return (
        "vmov q4[2], q4[0], r0, r4", "vmov q4[3], q4[1], r2, r6", "vmov q5[2], q5[0], r8, r12",
        "vmov q5[3], q5[1], r10, lr", known, shifted.format("q4"), "vldrw.32 q6, [r5], #16",
        shifted.format("q5"), "add r3, r7", "vadd.i32 q4, q4, q2", *left, "cmp r5, r2",
        "vadd.i32 q5, q5, q2",
    )  # fmt: skip


def _late(code: DirectCode) -> tuple[str, ...]:
    """The second half, beside other sums."""
    first: tuple[str, ...]
    if code.is_literal:
        first = ("vmax.s32 q4, q4, q6", "vmin.s32 q4, q4, q7")
        second: tuple[str, ...] = ("vmax.s32 q5, q5, q6", "vmin.s32 q5, q5, q7")
    else:
        first = (
            "vmulh.s32 q4, q4, q6", "vmulh.s32 q5, q5, q6", "vshrnb.i32 q4, q4, #16",
            "vqmovnb.s16 q4, q4", "vshrnb.i32 q5, q5, #16",
        )  # fmt: skip
        second = ("vqmovnb.s16 q5, q5",)
    if code.is_partial:
        return (*first, *second, "vpstt", "vstrbt.32 q4, [r7], #4", "vstrbt.32 q5, [r3]")
    return (*first, "vstrb.32 q4, [r7], #4", *second, "vstrb.32 q5, [r3]")
