"""A step of `lstm.dsp` on Armv7E-M: all gates of two units at a time, then the two units.

The loop of products is that of dsp/dense/direct_assembly.py, for x and for the hidden state
in turn. Of its eight channels each two are one gate of two units, so that they share constants;
what becomes of x is on the stack while the hidden state goes through the loop. Both units are
computed from registers, side by side, so that no load waits for its address; the lines that stand
for sigmoid are in glowmcu_lstm_dsp.h.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from glowmcu.kernels.dsp.dense.direct_assembly import SUMS, pair_sums, round_code
from glowmcu.kernels.dsp.dense.stream import BlockLayout
from glowmcu.lazy_dataclass import dataclass

#: The stack frame. Of each walk: where the first round reads, the end, the entry, the jump, and the
#: rest of the inputs. `_SCALES` and what follows is in the order of `glowmcu_lstm_paired`.
_INPUT, _PAST, _END, _GATES, _SCALES = 0, 20, 40, 44, 60
_FIRST, _WALK_END, _ENTRY, _JUMP, _REST = range(0, 20, 4)
_INTERCEPTS, _ADDED, _RESULT, _ROOM = _SCALES + 4, _SCALES + 12, _SCALES + 20, _SCALES + 28
_CELL, _OUT = _SCALES + 32, _SCALES + 36
_FRAME = _SCALES + 40

#: Of rounds where inputs are many: the end of a round takes 8 cycles, one of its fours 38.
LONG_ROUND_FOURS = 16
#: Gates of a unit, and the registers in which both units' gates are: input, forget, cell, output.
GATES = 4
_INPUT_GATE, _FORGET_GATE, _CELL_GATE, _OUTPUT_GATE = "r6", "r7", "r8", "r9"
#: A shift of 3 * cell, 17 bits and a sign, that leaves no room in 32 bits for another.
_FARTHEST_CELL = 14


@dataclass(frozen=True)
class StepCode:
    """What is part of the code."""

    layout: BlockLayout
    #: To the left where not negative; a gate each.
    input_shifts: tuple[int, ...]
    past_shifts: tuple[int, ...]
    #: To the right, from 1 on.
    added_shift: int
    result_shift: int
    #: Of the cell state in front of tanh, to the left.
    cell_shift: int
    #: Whether the cell state is clipped.
    clips: bool
    #: Whether the last unit is alone.
    odd: bool
    #: Words of inputs of a round.
    round_fours: int

    @property
    def facts(self) -> tuple[str, ...]:
        """What tells functions apart (`specialized`): shifts to the left or right, and rounds."""
        return (
            f"inputs {_directed(*self.input_shifts)}",
            f"past {_directed(*self.past_shifts)}",
            f"added {self.added_shift}",
            f"result {self.result_shift}",
            f"cell {_directed(self.cell_shift)}",
            "wide" * self.layout.wide,
            "clipped" * self.clips,
            "odd" * self.odd,
            "long" * (self.round_fours == LONG_ROUND_FOURS),
        )


def _directed(*shifts: int) -> str:
    return "".join(f"{'l' if shift >= 0 else 'r'}{abs(shift)}" for shift in shifts)


def step_assembly(code: StepCode) -> tuple[str, ...]:
    """The whole function: r0 is the layer, r1 what it works on."""
    past_scales = 4 * sum(1 if shift >= 0 else 2 for shift in code.input_shifts)
    return (
        *_enter(),
        "8: /* two units */",
        *_start(code.layout, _INPUT),
        *round_code(code.layout, _END, code.round_fours),
        *("ldr r2, [r1], #4", "cmp r2, #0", "bne.w 5f"),
        "/* products of x to int16 */",
        *_shorten(code.layout, code.input_shifts, 0),
        *(f"str {x}, [sp, #{_GATES + 4 * n}]" for n, (x, _) in enumerate(pair_sums(code.layout))),
        *_start(code.layout, _PAST),
        "5: /* and of the hidden state */",
        *_shorten(code.layout, code.past_shifts, past_scales),
        *_add_gates(code.layout),
        *_units(code),
        "bgt.w 8b",
        f"add sp, #{_FRAME}",
        "pop {r4-r11, pc}",
    )


def _enter() -> Iterator[str]:
    yield ".p2align 2 /* for adr */"
    yield from ("push {r4-r11, lr}", f"sub sp, #{_FRAME}", "adr.w r12, 7f")
    yield from ("ldm r1, {r5-r10}", "ldr r1, [r0], #4")
    yield from (f"str r6, [sp, #{_INPUT + _REST}]", f"str r8, [sp, #{_PAST + _REST}]")
    yield from (f"str r9, [sp, #{_CELL}]", f"str r10, [sp, #{_OUT}]")
    for place, inputs in ((_INPUT, "r5"), (_PAST, "r7")):
        yield from ("ldm r0!, {r2, r3, r4, r6}", f"add r2, {inputs}", f"add r3, {inputs}")
        yield from ("add r4, r12", f"add r8, sp, #{place}", "stm r8, {r2, r3, r4, r6}")
    yield from ("ldm r0, {r2-r9}", "add.w r3, r3, #1024", "add.w r4, r4, #512")
    yield from (f"add r0, sp, #{_SCALES}", "stm r0, {r2-r9}")


def _start(layout: BlockLayout, place: int) -> Iterator[str]:
    """What a block's sums start from, then into the loop."""
    assert layout.before == len(SUMS)
    yield f"ldm r1!, {{{', '.join(SUMS)}}}"
    for register, what in (
        ("r0", _FIRST), ("r4", _REST), ("r5", _WALK_END), ("r3", _JUMP), ("r2", _ENTRY),
    ):  # fmt: skip
        yield f"ldr {register}, [sp, #{place + what}]"
    yield from (f"str r5, [sp, #{_END}]", "add r1, r3", "movs r3, #0", "bx r2")


def _shorten(layout: BlockLayout, shifts: Sequence[int], first_scale: int) -> Iterator[str]:
    """Sums to int16, both units' of a gate in one register."""
    yield f"ldr r5, [sp, #{_SCALES}]"
    if first_scale:
        yield f"adds r5, #{first_scale}"
    ready: list[str] = []
    for gate, ((a, b), shift) in enumerate(zip(pair_sums(layout), shifts, strict=True)):
        if not ready:
            ready = ["r2", "r3", "r4"][: _scale_words(shifts[gate:])]
            yield f"ldm r5!, {{{', '.join(ready)}}}"
        yield from _twice(layout, a, b, max(shift, 0) + 1)
        multiplier, step = ready.pop(0), "" if shift >= 0 else ready.pop(0)
        for x in (a, b):
            if shift >= 0:
                yield from (f"smmulr {x}, {x}, {multiplier}", f"ssat {x}, #16, {x}")
                continue
            yield f"smmlar r0, {x}, {multiplier}, {step}"
            yield from (f"add {x}, r0, {x}, asr #31", f"ssat {x}, #16, {x}, asr #{-shift}")
        yield f"pkhbt {a}, {a}, {b}, lsl #16"


def _scale_words(shifts: Sequence[int]) -> int:
    """How many words of the next gates, whole, three registers hold."""
    words = 0
    for shift in shifts:
        own = 1 if shift >= 0 else 2
        if words + own > 3:
            break
        words += own
    return words


def _twice(layout: BlockLayout, a: str, b: str, left: int) -> Iterator[str]:
    """Both sums, shifted to the left; a packed one is 256 times too large."""
    if layout.wide:
        yield f"lsl {a}, {a}, #{left}"
    else:
        yield f"sub {a}, {a}, {b}"
        if left != 8:
            yield f"asr {a}, {a}, #{8 - left}" if left < 8 else f"lsl {a}, {a}, #{left - 8}"
    yield f"lsl {b}, {b}, #{left}"


def _add_gates(layout: BlockLayout) -> Iterator[str]:
    """Gates of x on top, saturated, to where the units expect them."""
    pairs = pair_sums(layout)
    wanted = (_INPUT_GATE, _FORGET_GATE, _CELL_GATE, _OUTPUT_GATE)
    yield from (f"ldr {old}, [sp, #{_GATES + 4 * gate}]" for gate, (_, old) in enumerate(pairs))
    for result, (made, old) in zip(wanted, pairs, strict=True):
        yield f"qadd16 {result}, {made}, {old}"


def _units(code: StepCode) -> Iterator[str]:
    """Both units; flags tell whether others follow. r4, r5: the table; r3: factors."""
    yield "/* both units: what is new */"
    yield from (f"ldr r4, [sp, #{_INTERCEPTS}]", f"ldr r5, [sp, #{_INTERCEPTS + 4}]")
    yield from ("movw r3, #3", "movt r3, #2")
    yield from _lines(_INPUT_GATE, ("r0", "r2"), ("r10", "r11"), ("r12", "lr"))
    yield from _lines(_CELL_GATE, ("r10", "r11"), ("r12", "lr"), ("r6", "r8"), 1)
    yield "mov r12, #0x80008000"
    yield from (f"rsb {x}, r12, {x}, lsl #1" for x in ("r10", "r11"))
    yield from ("smultt r0, r0, r10", "smultt r2, r2, r11")
    yield from _rescaled(_ADDED, 16, code.added_shift, ("r6", "r8"))
    yield "/* the cell state */"
    yield from _lines(_FORGET_GATE, ("r10", "r11"), ("r6", "r8"), ("r7", "lr"))
    yield from (f"pkhtb {x}, {x}, r3, asr #16" for x in ("r10", "r11"))
    yield from (f"ldr r7, [sp, #{_CELL}]", "ldrsh r6, [r7]")
    yield from _of_second(code, "ldrsh", "r8, [r7, #2]")
    yield from ("movw lr, #16385", "smladx r10, r6, r10, lr", "smladx r11, r8, r11, lr")
    yield from ("pkhbt r0, r0, r2, lsl #16", "lsl r11, r11, #1")
    yield from ("pkhtb r10, r11, r10, asr #15", "qadd16 r0, r0, r10")
    if code.clips:
        yield from (f"ldr r10, [sp, #{_ROOM}]", "add r11, r10, #0x10001")
        yield from ("qadd16 r0, r0, r10", "qsub16 r0, r0, r10")
        yield from ("qsub16 r0, r0, r11", "qadd16 r0, r0, r11")
    if code.odd:
        yield from ("strh r0, [r7], #2", "lsr r2, r0, #16")
        yield from _of_second(code, "strh", "r2, [r7], #2")
    else:
        yield "str r0, [r7], #4"
    yield f"str r7, [sp, #{_CELL}]"
    yield "/* the hidden state */"
    yield from _cell_arguments(code.cell_shift)
    yield from _line_values(("r0", "r2"), ("r10", "r11"), ("r6", "r7"))
    yield from (f"rsb {x}, r12, {x}, lsl #1" for x in ("r0", "r2"))
    yield from _lines(_OUTPUT_GATE, ("r10", "r11"), ("r6", "r7"), ("r8", "lr"))
    yield from ("smultt r0, r0, r10", "smultt r2, r2, r11")
    yield from _rescaled(_RESULT, 8, code.result_shift, ("r6", "r7"))
    yield from (f"ldr r6, [sp, #{_OUT}]", "ldr r3, [r1, #-4]", "cmp r3, #0")
    yield "strb r0, [r6], #1"
    yield from ("it gt", "strbgt r2, [r6], #1") if code.odd else ("strb r2, [r6], #1",)
    yield f"str r6, [sp, #{_OUT}]"


def _lines(
    gate: str, values: Sequence[str], at: Sequence[str], intercepts: Sequence[str], left: int = 0
) -> Iterator[str]:
    """`values`: the line at three times a gate, of both units; twice that, saturated, for tanh."""
    yield from (f"smulbb {values[0]}, {gate}, r3", f"smultb {values[1]}, {gate}, r3")
    if left:
        yield from (f"ssat {x}, #18, {x}, lsl #{left}" for x in values)
    yield from _line_values(values, at, intercepts)


def _line_values(
    values: Sequence[str], at: Sequence[str], intercepts: Sequence[str]
) -> Iterator[str]:
    """The line at `values`."""
    yield from (f"asr {place}, {x}, #9" for place, x in zip(at, values, strict=True))
    for place, intercept in zip(at, intercepts, strict=True):
        yield f"ldr {intercept}, [r4, {place}, lsl #2]"
        yield f"ldrh {place}, [r5, {place}, lsl #1]"
    for x, slope, intercept in zip(values, at, intercepts, strict=True):
        yield f"mla {x}, {slope}, {x}, {intercept}"


def _rescaled(scale_place: int, bits: int, shift: int, scale: tuple[str, str]) -> Iterator[str]:
    """r0 and r2, products of int16, rescaled to `bits` bits."""
    yield from (f"ldr {x}, [sp, #{scale_place + 4 * n}]" for n, x in enumerate(scale))
    yield from ("lsl r10, r0, #1", "lsl r11, r2, #1")
    for x, made in (("r0", "r10"), ("r2", "r11")):
        yield f"smmlar {made}, {made}, {scale[0]}, {scale[1]}"
        yield from (f"add {x}, {made}, {x}, asr #31", f"ssat {x}, #{bits}, {x}, asr #{shift}")


def _of_second(code: StepCode, instruction: str, operands: str) -> Iterator[str]:
    """An access that the second unit has, if there is one."""
    if code.odd:
        yield from ("ldr lr, [r1, #-4]", "cmp lr, #0", "it gt")
        yield f"{instruction}gt {operands}"
    else:
        yield f"{instruction} {operands}"


def _cell_arguments(shift: int) -> Iterator[str]:
    """Both cell states of r0 to twice their steps of the table, saturated."""
    yield from ("smultb r2, r0, r3", "smulbb r0, r0, r3")
    for x in ("r0", "r2"):
        if shift < 0:
            yield from (f"add {x}, {x}, #{1 << (-shift - 1)}", f"asr {x}, {x}, #{-shift}")
        elif shift >= _FARTHEST_CELL:
            yield f"ssat {x}, #17, {x}"
        yield f"ssat {x}, #18, {x}, lsl #{max(shift, 0) + 1}"
