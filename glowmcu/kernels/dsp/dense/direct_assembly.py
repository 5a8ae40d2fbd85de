"""The Armv7E-M loop of `fully_connected.direct_dsp`: eight channels of one row, inputs as they are.

A four is a word of inputs, which two SXTB16 widen in registers for all eight channels; products are
as in fully_connected_assembly.py. Registers: r0 inputs, r1 stream, r2-r5 words, the others sums.
A block's fours come in rounds; the first is entered in its middle. Inputs that are no multiple of
four begin with their rest, a word that is in r4 already: it is entered behind that load. Weights of
four bits (nibbles.py) are four words a four, from which r5 takes parts.

Packed sums leave 32 bits where there are many inputs. Those of a section of `SECTION` inputs do
not, whatever inputs and weights are: 257 * 480 * 2^14 < 2^31. Behind each section they are parted
and added to the block's sums, which lie on the stack.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from glowmcu.ir.assembly_macros import Assembly, AssemblyLine, MacroCall
from glowmcu.kernels.dsp.dense.direct_even_assembly import even_entry, even_unit
from glowmcu.kernels.dsp.dense.nibbles import GROUP, MASKS
from glowmcu.kernels.dsp.dense.requantization_assembly import (
    floor_pair,
    one_channel,
    parted_sums,
)
from glowmcu.kernels.dsp.dense.stream import SECTION, BlockLayout
from glowmcu.lazy_dataclass import dataclass

#: What the loads begin with where a round is entered, before or behind them.
ENTERED = "ldr r4, [r0, "

#: Inputs of a word.
FOUR = 4
#: Fours of a round.
ROUND_FOURS = 8

#: What sums are in.
SUMS = ("r6", "r7", "r8", "r9", "r10", "r11", "r12", "lr")
#: Sums by pair of channels; wide ones are in the order of channels.
_HIGH, _LOW = SUMS[:4], SUMS[4:]

#: The stack frame, in the order of the registers that fill it.
_OUT, _REST, _FIRST, _END, _ENTRY, _JUMP, _MULTIPLIER, _STEP, _SHIFT, _FRAME = range(0, 40, 4)
#: In sections it goes on with the block's sums and where the section ends.
_TOTALS = _FRAME
_SECTION_END = _TOTALS + 4 * len(SUMS)
#: Registers below it, and behind them the fifth argument: 8 times the sum of the inputs (nibbles).
_SAVED_BYTES = 9 * 4

#: Bytes of instructions, and what short loads reach.
_SHORT, _LONG, _SHORT_REACH = 2, 4, 128


@dataclass(frozen=True)
class _Turn:
    """Words of `weights` that are loaded together, and which inputs each meets.

    Of a four r4 holds {x0, x2}, r3 {x1, x3}; `has_inputs`: the next four is loaded first.
    """

    weights: tuple[str, ...]
    halves: tuple[str, ...]
    has_inputs: bool = False


#: The loads of a turn take a cycle each and one more together, so that turns use all registers that
#: are free: r4 is when {x0, x2} are done. The second four comes while {x1, x3} of the first still
#: miss a product; where the code is entered there r3 is zero.
_PACKED_TURNS = (
    _Turn(("r2", "r5"), ("r4", "r4"), has_inputs=True),
    _Turn(("r2", "r5"), ("r4", "r4")),
    _Turn(("r2", "r4", "r5"), ("r3", "r3", "r3")),
    _Turn(("r2", "r5"), ("r3", "r4"), has_inputs=True),
    _Turn(("r2", "r5"), ("r4", "r4")),
    _Turn(("r2", "r5"), ("r4", "r3")),
    _Turn(("r2", "r4", "r5"), ("r3", "r3", "r3")),
)
_WIDE_TURNS = (
    _Turn(("r2", "r5"), ("r4", "r4"), has_inputs=True),
    *(_Turn(("r2", "r5"), ("r4", "r4")),) * 3,
    *(_Turn(("r2", "r4", "r5"), ("r3", "r3", "r3")),) * 2,
    _Turn(("r2", "r5"), ("r3", "r3")),
)
#: {x0, x2} of both groups of channels, then {x1, x3}.
_NIBBLE_TURNS = (
    _Turn(("r2",), ("r4",), has_inputs=True),
    _Turn(("r2",), ("r4",)),
    _Turn(("r2", "r4"), ("r3", "r3")),
)


@dataclass(frozen=True)
class Walk:
    """How a block goes through the rounds: in `glowmcu_fully_connected_direct` for the assembly."""

    #: Where the input pointer is in the first round and after the last one.
    first_round: int
    end_round: int
    #: Where the code is entered, and what the stream pointer moves by then.
    entry: int
    jump: int


def walk(
    depth: int, layout: BlockLayout, round_fours: int = ROUND_FOURS, even: bool = False
) -> Walk:
    """The way of a block through `depth` inputs; `even` in the code of direct_even_assembly.py."""
    fours, rest = -(-depth // FOUR), int(depth % FOUR > 0)
    skipped = -fours % round_fours
    return Walk(
        -FOUR * (skipped + rest),
        FOUR * (fours - rest),
        (even_entry(skipped) if even else _entry(layout, skipped)) + rest * _SHORT + 1,
        -skipped * _four_bytes(layout),
    )


def row_assembly(layout: BlockLayout, postshift: int, even: bool = False) -> Assembly:
    """The whole function: r0 is the layer, r1 the inputs, r2 the result, r3 the inputs' rest."""
    return (
        *_enter(layout),
        *_start(layout),
        *round_code(layout, _SECTION_END if layout.sections else _END, even=even),
        *(_section_sums() if layout.sections else ()),
        *_requantize(layout, postshift),
        "bne 8b",
        f"add sp, #{_frame(layout)}",
        "pop {r4-r11, pc}",
    )


def _frame(layout: BlockLayout) -> int:
    return _SECTION_END + 4 if layout.sections else _FRAME


def _enter(layout: BlockLayout) -> Iterator[str]:
    yield ".p2align 2 /* for adr */"
    yield from ("push {r4-r11, lr}", f"sub sp, #{_frame(layout)}", "ldm r0, {r4-r11}")
    yield from ("add r5, r1", "add r6, r1", "adr.w r0, 7f", "add r7, r0", "mov r1, r4")
    yield "stm sp, {r2, r3, r5-r11}"


def _start(layout: BlockLayout) -> Iterator[str]:
    """What a block's sums start from, behind the block before."""
    yield "8: /* a block of eight channels */"
    yield f"ldm r1!, {{{', '.join(SUMS[: layout.before])}}}"
    if layout.sections:
        yield from (f"add r0, sp, #{_TOTALS}", f"stm r0, {{{', '.join(SUMS)}}}")
    yield f"ldr r0, [sp, #{_FIRST}]"
    if layout.sections:
        yield from (f"ldr r2, [sp, #{_END}]", *_next_section(), *_cleared(SUMS))
    yield f"ldr r4, [sp, #{_REST}]"
    yield from (f"ldr r3, [sp, #{_JUMP}]", f"ldr r2, [sp, #{_ENTRY}]")
    yield from _cleared(SUMS[layout.before :])
    yield from ("add r1, r3", "movs r3, #0", "bx r2")


def _cleared(registers: Sequence[str]) -> Iterator[str]:
    return (f"mov {register}, #0" for register in registers)


def _next_section() -> Iterator[str]:
    """Its end: r0 are its first inputs, r2 the end of all."""
    yield from (f"add r5, r0, #{SECTION}", "cmp r5, r2", "it hi", "movhi r5, r2")
    yield f"str r5, [sp, #{_SECTION_END}]"


def _section_sums() -> Iterator[str]:
    """Behind a section; behind the last one the block's sums, each in its register."""
    yield "/* sums of a section to those of the block */"
    for pair, (high, low) in enumerate(zip(_HIGH, _LOW, strict=True)):
        place = _TOTALS + 8 * pair
        yield from (f"ldr r2, [sp, #{place}]", f"ldr r3, [sp, #{place + 4}]")
        yield from (f"sub {high}, {high}, {low}", f"add r2, r2, {high}, asr #8")
        yield from (f"add r3, r3, {low}", f"str r2, [sp, #{place}]", f"str r3, [sp, #{place + 4}]")
    yield from (f"ldr r2, [sp, #{_END}]", "cmp r0, r2", "beq 9f", *_next_section())
    yield from (*_cleared(SUMS), "b 7b")
    yield from ("9:", f"add r2, sp, #{_TOTALS}", f"ldm r2, {{{', '.join(SUMS)}}}")


def pair_sums(layout: BlockLayout) -> tuple[tuple[str, str], ...]:
    """The registers of each two channels' sums: 256 * H + L and L where weights are packed."""
    firsts, seconds = (SUMS[0::2], SUMS[1::2]) if layout.wide else (_HIGH, _LOW)
    return tuple(zip(firsts, seconds, strict=True))


def _four_bytes(layout: BlockLayout) -> int:
    """Weights of a four: two steps."""
    return 2 * layout.step_bytes


def _turns(layout: BlockLayout) -> tuple[_Turn, ...]:
    """Of a unit."""
    if layout.nibbles:
        return _NIBBLE_TURNS
    return _PACKED_TURNS if layout.packed else _WIDE_TURNS


def _unit_fours(layout: BlockLayout) -> int:
    """How many fours a unit of code has: two share turns where weights are packed."""
    return sum(turn.has_inputs for turn in _turns(layout))


def _short_units(layout: BlockLayout) -> int:
    """How many of a round load their weights with short instructions."""
    return _SHORT_REACH // (_four_bytes(layout) * _unit_fours(layout))


def _entry(layout: BlockLayout, skipped: int) -> int:
    """Where in the code of a round the 4-byte group after `skipped` others is loaded."""
    fours = _unit_fours(layout)
    whole, part = skipped // fours, skipped % fours
    turns = list(_turns(layout))
    starts = [at for at, turn in enumerate(turns) if turn.has_inputs]
    code = sum(_turns_code(layout, turns, unit) for unit in range(whole))
    return code + _turns_code(layout, turns[: starts[part]], whole)


def _turns_code(layout: BlockLayout, turns: Sequence[_Turn], unit: int) -> int:
    """Bytes of code of these turns of a unit."""
    fours = sum(turn.has_inputs for turn in turns)
    words = sum(len(turn.weights) for turn in turns)
    load = _SHORT if unit < _short_units(layout) else _LONG
    products = words * (2 * GROUP - 1 if layout.nibbles else 3 if layout.packed else 1)
    return _SHORT * fours + load * words + _LONG * (2 * fours + products)


def round_code(
    layout: BlockLayout, end_place: int, round_fours: int = ROUND_FOURS, even: bool = False
) -> Iterator[str]:
    """Rounds until the input pointer is what the stack has at `end_place`."""
    units = round_fours // _unit_fours(layout)
    yield from ("7: /* a round */", f".irp x, {', '.join(map(str, range(units)))}")
    yield from even_unit(_HIGH, _LOW) if even else _unit(layout)
    yield from (".endr", f"ldr r2, [sp, #{end_place}]")
    yield f"add r1, r1, #{_four_bytes(layout) * round_fours}"
    yield from (f"adds r0, #{FOUR * round_fours}", "cmp r0, r2", "bne 7b")


def _unit(layout: BlockLayout) -> Iterator[str]:
    """Unit x of a round: all turns. Assemblers take the short form of a load where it reaches."""
    fours = _unit_fours(layout)
    inputs, weights = f"{FOUR * fours} * \\x", f"{_four_bytes(layout) * fours} * \\x"
    four = word = 0
    for turn in _turns(layout):
        if turn.has_inputs:
            yield f"ldr r4, [r0, #{inputs} + {FOUR * four}]"
            four += 1
        for place, register in enumerate(turn.weights, word):
            yield f"ldr {register}, [r1, #{weights} + {4 * place}]"
        is_packed = turn.has_inputs
        for place, (register, half) in enumerate(zip(turn.weights, turn.halves, strict=True), word):
            if is_packed and half == "r4":
                yield from ("sxtb16 r3, r4, ror #8", "sxtb16 r4, r4")
                is_packed = False
            yield from _products(layout, half, place, register)
        word += len(turn.weights)


def _products(layout: BlockLayout, half: str, place: int, weights: str) -> Iterator[str]:
    """Two inputs with word `place` of their weights."""
    if layout.nibbles:
        sums = SUMS[place % 2 * GROUP :][:GROUP]
        yield f"smlad {sums[3]}, {half}, {weights}, {sums[3]}"
        for mask, sum_ in zip(reversed(MASKS), sums[2::-1], strict=True):
            yield f"and r5, {weights}, #0x{mask:08X}"
            yield f"smlad {sum_}, {half}, r5, {sum_}"
        return
    if not layout.packed:
        sum_ = SUMS[place % 8]
        yield f"smlad {sum_}, {half}, {weights}, {sum_}"
        return
    high, low = _HIGH[place % 4], _LOW[place % 4]
    yield f"smlad {high}, {half}, {weights}, {high}"
    yield f"sxtb16 {weights}, {weights}"
    yield f"smlad {low}, {half}, {weights}, {low}"


def _requantize(layout: BlockLayout, postshift: int) -> Iterator[AssemblyLine]:
    """Sums to int8 in memory; the place sets zero in the last block."""
    if layout.nibbles:
        yield from _parted_sums()
    yield "/* sums to int8 */"
    yield from ("ldr r5, [r1]", f"ldr r0, [sp, #{_OUT}]")
    if layout.uniform:
        yield f"ldr r2, [sp, #{_MULTIPLIER}]"
        yield from (f"ldr r3, [sp, #{_STEP}]", f"ldr r4, [sp, #{_SHIFT}]")
    yield from ("adds r1, #4", "lsrs r5, r5, #1", "add r0, r5")
    for pair, (high, low) in enumerate(pair_sums(layout)):
        for words, lines in _parts(layout, postshift, high, low):
            if words:
                yield f"ldm r1!, {{{', '.join(('r2', 'r3', 'r4')[:words])}}}"
            yield from lines
        yield from (f"strb {high}, [r0, #{2 * pair}]", f"strb {low}, [r0, #{2 * pair + 1}]")


def _parted_sums() -> Iterator[str]:
    """Those of each four channels, see nibbles.py."""
    yield "/* sums of four channels apart */"
    yield f"ldr r2, [sp, #{_FRAME + _SAVED_BYTES}]"
    for first in range(0, len(SUMS), GROUP):
        yield from parted_sums(SUMS[first : first + GROUP], "r2")


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
