"""Lines of `depthwise_conv_2d.strip_dsp` with many taps: six sums at a time, weights from memory.

Each word of weights is loaded once for three words of the line, and each of these once a round.
Outputs that do not fill a round are up to four at a time, of which some may be missing.

r0 in, r2 the channel's constants and weights, r1 packed weights and then out, r12 and lr the words
of weights, r9 to r11 words of the line and then constants, sums below; r3 what is left at the end.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from glowmcu.kernels.dsp.depthwise.strip_assembly import (
    IN,
    LEFT,
    OUT_NOW,
    StripShape,
    begin_round,
    enter,
    finish,
    move_out,
    multiply,
    next_channel,
    products,
    store,
)

_WORDS, _A, _B, _PACKED = ("r9", "r10", "r11"), "r12", "lr", "r1"
_SUMS = ("r3", "r4", "r5", "r6", "r7", "r8")
#: Outputs of a round, and of what follows the rounds.
_ROUND, _REST = 6, 4


def streamed_assembly(shape: StripShape) -> tuple[str, ...]:
    """The whole function."""
    return (*enter(), *_load_channel(shape), *_rounds(shape), *_rest(shape), *next_channel())


def _load_channel(shape: StripShape) -> Iterator[str]:
    yield "1: /* channel */"
    yield "ldm sp, {r0-r3} /* the count follows */"
    yield from ("adds r4, r0, #1", "adds r5, r1, #1")
    yield f"addw r6, r2, #{4 * (shape.constants + shape.half)}"
    yield f"add r7, sp, #{IN}"
    yield "stm r7, {r4-r6}"
    yield f"str r1, [sp, #{OUT_NOW}]"
    yield f"subs r3, #{_ROUND}"
    yield f"str r3, [sp, #{LEFT}]"
    yield "blo 3f"


def _rounds(shape: StripShape) -> Iterator[str]:
    yield from begin_round()
    yield from _sums(shape, _SUMS, _WORDS)
    yield from _finish(shape, _SUMS)
    yield f"addw r0, r0, #{_ROUND * shape.in_step}"
    yield f"ldr r3, [sp, #{LEFT}]"
    yield from move_out(shape, _ROUND)
    yield f"subs r3, #{_ROUND}"
    yield from (f"str r1, [sp, #{OUT_NOW}]", f"str r3, [sp, #{LEFT}]")
    yield "bhs 2b"


def _rest(shape: StripShape) -> Iterator[str]:
    """Less than a round."""
    sums = _SUMS[1 : 1 + _REST]
    yield "3: /* a part of a round */"
    yield f"adds r3, #{_ROUND}"
    yield "ble 5f"
    yield "4: /* up to four outputs */"
    yield from _sums(shape, sums, _WORDS[:2], counted=True)
    yield from _finish(shape, sums, counted=True)
    yield f"addw r0, r0, #{_REST * shape.in_step}"
    yield from move_out(shape, _REST)
    yield f"str r1, [sp, #{OUT_NOW}]"
    yield f"subs r3, #{_REST}"
    yield "bgt 4b"
    yield "5: /* the next channel */"


def _sums(
    shape: StripShape, sums: Sequence[str], words: Sequence[str], counted: bool = False
) -> Iterator[str]:
    """All products of `words` pairs of outputs; `counted`: r3 says how many outputs there are."""
    even, odd = ({product.word: product for product in found} for found in products(shape.taps))
    start = ""
    for number in range(len(words) - 1):
        yield from _load(shape, words[number], number, counted)
    if shape.has_start:
        yield f"ldr {_B}, [r2]"
        start = _B
    for j in range(shape.half + 1):
        if j and (j < shape.half or shape.taps % 2):
            yield f"sxtb16 {_B}, {_PACKED}, ror #8"
        if j < shape.half:
            yield f"ldr.w {_PACKED}, [r2, #{4 * (shape.constants + j)}]"
        newest = j + len(words) - 1
        yield from _load(shape, words[newest % len(words)], newest, counted)
        if j < shape.half:
            yield f"sxtb16 {_A}, {_PACKED}"
        for pair in range(len(words)):
            x = words[(j + pair) % len(words)]
            for found, sum_ in ((even, sums[2 * pair]), (odd, sums[2 * pair + 1])):
                if j in found:
                    weights = _A if found[j].weights[0] == "A" else _B
                    yield multiply(found[j], sum_, x, weights, sum_ if j else start)


def _load(shape: StripShape, word: str, number: int, counted: bool) -> Iterator[str]:
    """Both positions of a word as far as an output needs them. Packed weights' A is free."""
    last = (_REST if counted else _ROUND) + shape.taps - 2
    for position, register in ((2 * number, word), (2 * number + 1, _A)):
        condition = ""
        if position > last:
            return
        if counted and position >= shape.taps:
            yield from (f"cmp r3, #{position - shape.taps + 2}", "it ge")
            condition = "ge"
        yield f"ldrsb{condition} {register}, [r0, #{position * shape.in_step}]"
    yield f"pkhbt {word}, {word}, {_A}, lsl #16"


def _finish(shape: StripShape, sums: Sequence[str], counted: bool = False) -> Iterator[str]:
    """Sums to int8 in memory. In what is counted, the first is always there."""
    behind = 4 * shape.has_start
    constants = _WORDS[: shape.constants - shape.has_start]
    for place, constant in enumerate(constants):
        yield f"ldr {constant}, [r2, #{behind + 4 * place}]"
    yield f"ldr r1, [sp, #{OUT_NOW}]"
    for number, sum_ in enumerate(sums):
        yield from finish(shape, sum_, (_A, _B)[number % 2], constants)
        condition = ""
        if counted and number:
            yield f"cmp r3, #{number + 1}"
            condition = "ge"
        yield from _conditional(store(shape, sum_, number, condition), condition)


def _conditional(lines: list[str], condition: str) -> list[str]:
    if not condition:
        return lines
    return [f"i{'t' * len(lines)} {condition}", *lines]
