"""Helium's loop of `matrix.direct_mve` for windows of few vectors: straight code, no turns.

Two windows by four channels, as in direct_assembly.py. Results of four channels are scaled beside
the products of the next four, those of a pair of windows' last ones beside the next pair's first:
the stream has constants of scales in front of the weights beside which they are read. Before the
first results there is nothing to scale, which then goes to the stack frame.

Windows of up to four vectors have eight channels a turn: results of the even ones wait for those of
the odd ones, with which they are narrowed and stored together. That takes both registers that
weights and shifts would have; a product still issues every second cycle.

r1 window a; r11 window b or, where an immediate tells them apart, the bytes between two rows; r5
stream; r7, r3 results; r9 channels left; q0, q1 inputs; q2, q3 weights; q4, q5 results; q6
constants; q3, q7 results of even channels.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from glowmcu.ir.assembly_macros import Assembly, AssemblyLine, Macro, folded
from glowmcu.kernels.helium.direct_assembly import (
    BLOCK,
    P_CLAMP,
    SUMS,
    TILE,
)
from glowmcu.kernels.helium.slots import Slot, ordered
from glowmcu.kernels.helium.straight_macros import (
    CLAMP,
    ENTER,
    FEATURE,
    NEXT_PAIR,
    NEXT_WINDOWS,
    NOWHERE,
    PRODUCTS,
    RESULTS,
    STREAM,
)
from glowmcu.lazy_dataclass import dataclass

#: Vectors of a window that are written out.
MOST_BLOCKS = 36
#: The same where they are one row.
MOST_IN_A_ROW = 8
#: Those that have eight channels a turn.
MOST_PAIRED = 4
#: What the offset of a load of bytes reaches.
_FARTHEST = 127

_FRAME, _FRAME_CLAMPED = 32, 64
_CONSTANTS = re.compile(r"@(\d)")
#: Results of windows a and b, of each four channels of a turn.
_SINGLE = (("q4", "q5"),)
_PAIRED = (("q3", "q7"), ("q4", "q5"))

#: Orders of a block: products a0 to b3 of windows a and b with channels 0 to 3, loads x1, x2 of
#: inputs and w0 to w4 of weights, m0 to m3 that move the sums before, and s, a step of rows.
_FIRST = "w0 m0 a0 x1 m2 b0 w1 m1 a1 m3 b1 w2 a2 w3 b2 w4 a3 s x2 b3"
_OTHER = "a0 x1 b0 w1 a1 w2 b1 a2 w3 b2 w4 a3 s x2 b3"
#: The same with weights in one register.
_FIRST_PAIRED = "w0 m0 a0 x1 m2 b0 w1 m1 a1 m3 b1 w2 a2 b2 w3 a3 s x2 b3 w4"
_OTHER_PAIRED = "a0 x1 b0 w1 a1 b1 w2 a2 b2 w3 a3 s x2 b3 w4"


@dataclass(frozen=True)
class StraightCode:
    """What of a layer is part of the code: `row_blocks` vectors in each of `rows` rows.

    `apart`: bytes between windows that come in pairs, else 0 and a register tells. `preshift` of
    the floor form, below 0 for the literal one, with a clamp if 16 bits or int8 are not enough.
    `is_partial`: channels are no multiple of those of a turn, so that results are masked.
    """

    rows: int
    row_blocks: int
    apart: int
    preshift: int
    is_clamped: bool
    is_partial: bool

    @property
    def blocks(self) -> int:
        """Of a turn as the table of steps has it."""
        return self.row_blocks

    @property
    def facts(self) -> tuple[str, ...]:
        """What tells functions apart (`specialized`)."""
        return (
            f"{self.rows} rows of {self.row_blocks}",
            f"{self.apart} apart" * bool(self.apart),
            "literal" if self.is_literal else f"shifted by {self.preshift}",
            "clamped" * self.is_clamped,
            "partial" * self.is_partial,
        )

    @property
    def size_bytes(self) -> int:
        """What the function takes, to a few bytes: gcc's for a Cortex-M55."""
        each = 50 if self.shares else 56
        body = 15 + each * self.rows * self.row_blocks + 46 * self.is_literal + 38 * self.is_clamped
        return 360 + 30 * self.is_paired + body * (3 if self.is_paired else 1)

    @property
    def is_literal(self) -> bool:
        """Whether it scales by the literal form."""
        return self.preshift < 0

    @property
    def is_paired(self) -> bool:
        """Whether a turn has eight channels, the first of which of a pair have their own code."""
        return is_paired(self.rows, self.row_blocks)

    @property
    def results(self) -> tuple[tuple[str, str], ...]:
        """Registers of results of windows a and b, of each four channels of a turn."""
        return _PAIRED if self.is_paired else _SINGLE

    @property
    def shares(self) -> bool:
        """Whether a vector of window b is the next one of window a."""
        return self.apart == BLOCK and (self.row_blocks - 1) * self.rows % 2 == 0

    @property
    def walked(self) -> tuple[int, ...]:
        """How far the pointer to a row has come at each of its blocks, so that loads reach."""
        found = [0]
        for block in range(1, self.row_blocks):
            last = self.apart + BLOCK * block
            found.append(last - last % BLOCK if last - found[-1] > _FARTHEST else found[-1])
        return tuple(found)

    @property
    def constants_bytes(self) -> int:
        """Of four channels."""
        return 64 if self.is_literal else 32

    @property
    def stored(self) -> tuple[str, str]:
        """Registers of results that are narrowed: halves above others stay where they are."""
        return self.results[0 if self.is_literal else -1]

    @property
    def channels(self) -> int:
        """Of a turn."""
        return TILE * len(self.results)


def fits(rows: int, row_blocks: int, apart: int) -> bool:
    """Whether windows of several rows, `apart`, or of one row are written out."""
    if rows == 1:
        return row_blocks <= MOST_IN_A_ROW
    return rows * row_blocks <= MOST_BLOCKS and apart <= _FARTHEST


def is_paired(rows: int, row_blocks: int) -> bool:
    """Whether a turn has the even ones of eight channels, and then the odd ones."""
    return rows * row_blocks <= MOST_PAIRED


def straight_assembly(code: StraightCode) -> Assembly:
    """The whole function: r0 the layer, r1 the first window, r2 results, r3 how many windows."""
    return (
        *_enter(code),
        *_pair(code),
        *(_eights(code) if code.is_paired else _fours(code)),
        "9: /* the last results */",
        _last(code)(*((code.preshift,) if code.preshift > 0 else ()), _frame(code)),
    )


def _last(code: StraightCode) -> Macro:
    """Sums of the last channels of all to results, and the function's end."""
    form = "LITERAL" if code.is_literal else "FLOOR" if code.preshift else "WHOLE"
    shift = r"\shift" if code.preshift else ""
    return Macro(
        f"GLOWMCU_LAST_{form}_{code.channels}"
        f"{'_CLAMPED' * code.is_clamped}{'_PARTIAL' * code.is_partial}",
        "The last results of both windows; then it leaves the function.",
        (*(("shift",) if form == "FLOOR" else ()), "bytes"),
        (
            *(_moves(code.results[-1])[f"m{number}"] for number in range(4)),
            f"ldr r5, [sp, #{STREAM}]",
            *(_placed(line, -BLOCK) for lines in _scale(code, -1, shift) for line in lines),
            *(r"add sp, #\bytes", "vpop {d8-d15}", "pop {r4-r11, pc}"),
        ),
        FEATURE,
    )


def _eights(code: StraightCode) -> Iterator[str]:
    yield from (*_body(code, 0, True), "3: /* the odd ones of eight channels */")
    yield from (*_body(code, 1, False), "ble 7b")
    yield from (*_body(code, 0, False), "le 3b")


def _fours(code: StraightCode) -> Iterator[AssemblyLine]:
    """The first channels of a pair count down from the least number, which overflows: results have
    to go on elsewhere.
    """
    body = folded(_body(code, 0, False), PRODUCTS)
    yield from ("mov r9, #0x80000000", "1: /* four channels */", *body)
    yield from ("ble 2f", "le 1b", "2: bvc 7b")
    yield RESULTS()
    yield from (line for lines in _count(code) for line in lines)
    yield from ("bgt 1b", "b 7b")


def _frame(code: StraightCode) -> int:
    return _FRAME_CLAMPED if code.is_clamped else _FRAME


def _enter(code: StraightCode) -> Iterator[AssemblyLine]:
    yield ENTER(_frame(code))
    if code.apart:
        yield from ("ldr r11, [r9]", "asr r11, r11, #1")
        if code.walked[-1]:
            yield f"sub r11, #{code.walked[-1]}"
    yield from (f"add r7, sp, #{NOWHERE}", "mov r3, r7")
    if code.is_clamped:
        yield from (f"ldrd r4, r6, [r0, #{P_CLAMP}]", "vdup.32 q6, r4", "vdup.32 q7, r6")
        yield from (f"vstrw.32 q6, [sp, #{CLAMP}]", f"vstrw.32 q7, [sp, #{CLAMP + BLOCK}]")


def _pair(code: StraightCode) -> Iterator[AssemblyLine]:
    yield "7: /* two windows; of the last one alone, that one twice */"
    yield NEXT_WINDOWS(2 * code.apart) if code.apart else NEXT_PAIR()
    if code.rows * code.row_blocks == 1:
        yield "vldrb.8 q1, [r11]"


def _results(code: StraightCode) -> Iterator[tuple[str, ...]]:
    """Where those of a pair of windows are, from its second four channels on; their count."""
    yield from ((line,) for line in RESULTS.lines)
    yield from _count(code)


@cache
def _body(code: StraightCode, part: int, is_first: bool) -> tuple[str, ...]:
    """Products of a window with the four channels that are `part` of a turn, and between them what
    is left of scaling; and what comes behind the results of the last pair.
    """
    count = code.rows * code.row_blocks
    first, *others = [[Slot((line,)) for line in _block(code, part, n)] for n in range(count)]
    counted = () if part else _results(code) if is_first else _count(code)
    late = [Slot(lines, is_late=True) for lines in (*_scale(code, part - 1), *counted)]
    found: list[str] = []
    behind = code.constants_bytes - BLOCK
    for slot in ordered([*first, *late, *(slot for block in others for slot in block)]):
        for line in slot.lines:
            if line.startswith("vldrb.8") and line.endswith("]!"):
                behind += BLOCK
            found.append(_placed(line, behind))
    return tuple(found)


def _placed(line: str, behind: int) -> str:
    """With the address of constants, which begin `behind` bytes before where r5 is."""
    return _CONSTANTS.sub(lambda match: f"[r5, #{BLOCK * int(match[1]) - behind}]", line)


def _block(code: StraightCode, part: int, number: int) -> Iterator[str]:
    """A block, whose first input and, but in the first block, weights are there."""
    row, place = divmod(number, code.row_blocks)
    is_row_end, is_end = place + 1 == code.row_blocks, number + 1 == code.rows * code.row_blocks
    a, b = ("q0", "q1")
    if code.shares and (row * (code.row_blocks - 1) + place) % 2:
        a, b = b, a
    name = "vmladav.s8" if number == 0 else "vmladava.s8"
    weights = ("q2", "q2" if code.is_paired else "q3")
    lines = {
        f"{'ab'[window]}{channel}": f"{name} {sum_}, {(a, b)[window]}, {weights[channel % 2]}"
        for window, sums in enumerate(SUMS)
        for channel, sum_ in enumerate(sums)
    }
    lines |= {f"w{load}": f"vldrb.8 {weights[load % 2]}, [r5, #{BLOCK}]!" for load in range(1, 5)}
    lines["w0"] = f"vldrb.8 q2, [r5, #{code.constants_bytes + BLOCK}]!"
    lines |= _moves(code.results[part - 1])
    if code.rows * code.row_blocks > 1:
        from_ = ("r1", code.apart) if code.apart else ("r11", 0)
        walked = code.walked[place]
        lines["x1"] = f"vldrb.8 {b}, {_at(from_[0], from_[1] + BLOCK * place - walked)}"
        if is_row_end or not code.shares:
            ahead = 0 if is_row_end else BLOCK * (place + 1) - walked
            lines["x2"] = f"vldrb.8 {a}, {_at('r1', ahead)}"
        if step := walked - code.walked[place - 1] if place else 0:
            yield f"add r1, #{step}"
    if is_end:
        del lines["w4"]
    steps = _back(code) if is_end else ("add r1, r11",)
    orders = (_FIRST_PAIRED, _OTHER_PAIRED) if code.is_paired else (_FIRST, _OTHER)
    for key in orders[number > 0].split():
        if key == "s" and is_row_end and code.rows > 1:
            yield from steps
        elif key in lines:
            yield lines[key]


def _back(code: StraightCode) -> Iterator[str]:
    """To the first row of the window."""
    rows = code.rows - 1
    for bit in range(rows.bit_length()):
        if rows >> bit & 1:
            yield "sub r1, r1, r11" + f", lsl #{bit}" * bool(bit)
    if code.walked[-1]:
        yield f"sub r1, #{code.walked[-1] * code.rows}"


def _at(register: str, offset: int) -> str:
    return f"[{register}, #{offset}]"


def _moves(results: tuple[str, str]) -> dict[str, str]:
    """Sums to vectors."""
    return {
        f"m{2 * window + odd}": f"vmov {q}[{2 + odd}], {q}[{odd}], {sums[odd]}, {sums[2 + odd]}"
        for window, (q, sums) in enumerate(zip(results, SUMS, strict=True))
        for odd in (0, 1)
    }


def _scale(code: StraightCode, part: int, shift: str = "") -> Iterator[tuple[str, ...]]:
    """From sums of a part of a turn, the last one for -1, to what is stored if it is the last; by
    what stays together. `shift`: a macro's word for the preshift.
    """
    results = code.results[part]
    preshift = shift or str(code.preshift or "")
    scale = _literal(code, results) if code.is_literal else _floor(preshift, results)
    yield from ((line,) for line in scale)
    if results != code.results[-1]:
        return
    yield from ((line,) for line in _narrowed(code))
    stores = tuple(
        f"vstrb.{16 if code.is_paired else 32} {q}, [{out}], #{code.channels}"
        for q, out in zip(code.stored, ("r7", "r3"), strict=True)
    )
    if code.is_partial:
        yield ("vpstt", *(line.replace("vstrb", "vstrbt") for line in stores))
    else:
        yield from ((line,) for line in stores)


def _count(code: StraightCode) -> Iterator[tuple[str, ...]]:
    """Of channels; flags and the mask are for those whose products are under way."""
    if code.is_partial:
        yield (f"vctp.{16 if code.is_paired else 32} r9",)
    yield (f"subs r9, #{code.channels}",)


def _each(line: str, results: tuple[str, str]) -> Iterator[str]:
    return (line.format(q) for q in results)


def _floor(preshift: str, results: tuple[str, str]) -> Iterator[str]:
    if preshift:
        yield from _each(f"vshl.i32 {{0}}, {{0}}, #{preshift}", results)
    for number, line in enumerate(("vadd.i32 {0}, {0}, q6", "vmulh.s32 {0}, {0}, q6")):
        yield f"vldrw.32 q6, @{number}"
        yield from _each(line, results)


def _literal(code: StraightCode, results: tuple[str, str]) -> Iterator[str]:
    for number, line in enumerate(("vadd.i32 {0}, {0}, q6", "vqrdmulh.s32 {0}, {0}, q6")):
        yield f"vldrw.32 q6, @{number}"
        yield from _each(line, results)
    for q in results:
        yield from (f"vshr.s32 q6, {q}, #31", f"vadd.i32 {q}, {q}, q6")
    steps = [("vadd.i32", "@2"), ("vshl.s32", "@3")]
    if code.is_clamped:
        steps += [("vmax.s32", f"[sp, #{CLAMP}]"), ("vmin.s32", f"[sp, #{CLAMP + BLOCK}]")]
    for name, place in steps:
        yield f"vldrw.32 q6, {place}"
        yield from _each(name + " {0}, {0}, q6", results)


def _narrowed(code: StraightCode) -> Iterator[str]:
    """To bytes; of eight channels even ones go to lower halves, odd ones to upper halves."""
    if code.is_paired:
        for even, odd in zip(*code.results, strict=True):
            joined = f"vmovnt.i32 {even}, {odd}", f"vshrnb.i32 {odd}, {even}, #16"
            yield joined[not code.is_literal]
    elif not code.is_literal:
        yield from _each("vshrnb.i32 {0}, {0}, #16", code.stored)
    if not code.is_clamped:
        yield from _each("vqmovnb.s16 {0}, {0}", code.stored)
