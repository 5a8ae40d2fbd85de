"""The Armv7E-M loop of `conv_2d.few_inputs_dsp`: 2 pixels x 1 channel, inputs stay in registers.

Up to eight inputs of two pixels are eight words, widened once a pair and never stored. Each channel
is start, weights scaled by 2^8 and multiplier, read once in a row; what it ends with is SMMUL and
SSAT, with nothing to unpack. r0 out, r1 stream, r2 and r3 sums, r4 to r12 and lr constants, then
the words of both pixels.

Where two instructions issue in a cycle, LDM keeps products waiting: there each constant is loaded
by itself beside a product, twice where registers are few (`single_loads`).
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from glowmcu.ir.assembly_macros import Assembly, AssemblyLine, Macro
from glowmcu.lazy_dataclass import dataclass

#: Words of two inputs that fit the registers twice.
MOST_WORDS = 4
_POOL = ("r4", "r5", "r6", "r7", "r8", "r9", "r10", "r11", "r12", "lr")
#: The stack frame: arguments, saved registers, the argument that came in memory.
_IN, _STREAM, _OUT, _IN_STEP, _PAIRS, _ARGUMENTS = 0, 4, 8, 12, 52, 16
#: Bytes that short loads reach.
_SHORT_REACH = 128


@dataclass(frozen=True)
class FewShape:
    """What the loop is made for: inputs, bytes from pixel to pixel of the output, a block's size.

    `looped`: there are more blocks of `channels` than one; the stream has the way between them.
    `single_loads`: constants come one by one.
    """

    depth: int
    out_step: int
    channels: int
    looped: bool
    postshift: int
    single_loads: bool = False

    @property
    def words(self) -> int:
        return (self.depth + 1) // 2

    @property
    def pixels(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The registers of both pixels' words."""
        return _words(self.words)

    @property
    def free(self) -> tuple[str, ...]:
        """Registers for constants."""
        return _POOL[: -2 * self.words]


def _words(count: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
    words = _POOL[-2 * count :]
    return words[:count], words[count:]


def few_inputs_assembly(shape: FewShape) -> Assembly:
    """The whole function: in, stream, out, bytes from pixel to pixel, and in memory the pairs."""
    return (
        "push {r4-r11, lr}",
        "push {r0-r3}",
        "1: /* a pair of pixels */",
        *_load(shape),
        "2: /* a block of channels */",
        *_channels(shape),
        *_next_block(shape),
        f"ldr r4, [sp, #{_PAIRS}]",
        "subs r4, #1",
        f"str r4, [sp, #{_PAIRS}]",
        "bne 1b",
        f"add sp, #{_ARGUMENTS}",
        "pop {r4-r11, pc}",
    )


def _load(shape: FewShape) -> Iterator[str]:
    """Both pixels: words {0, 2}, {1, 3} of each four inputs, then {0, 1}, {2}."""
    yield from (f"ldr r0, [sp, #{_IN}]", f"ldr r3, [sp, #{_IN_STEP}]", f"ldr r1, [sp, #{_STREAM}]")
    yield "add r2, r0, r3"
    yield "add r3, r2"
    yield f"str r3, [sp, #{_IN}]"
    fours = shape.depth // 4
    places = list(zip(("r0", "r2"), shape.pixels, strict=True))
    for base, words in places:
        yield from (f"ldr {words[2 * i]}, [{base}, #{4 * i}]" for i in range(fours))
    for _, words in places:
        for i in range(fours):
            yield f"sxtb16 {words[2 * i + 1]}, {words[2 * i]}, ror #8"
            yield f"sxtb16 {words[2 * i]}, {words[2 * i]}"
    for base, words in places:
        yield from _load_rest(base, words[2 * fours :], 4 * fours, shape.depth % 4)
    yield f"ldr r0, [sp, #{_OUT}]"
    yield f"add r2, r0, #{2 * shape.out_step}"
    yield f"str r2, [sp, #{_OUT}]"


def _load_rest(base: str, words: tuple[str, ...], at: int, count: int) -> Iterator[str]:
    """Up to three inputs a byte at a time: nothing behind the tensor is read. r3 is free."""
    if count == 0:
        return
    yield f"ldrsb {words[0]}, [{base}, #{at}]"
    if count > 1:
        yield f"ldrsb r3, [{base}, #{at + 1}]"
    if count > 2:
        yield f"ldrsb {words[1]}, [{base}, #{at + 2}]"
    if count > 1:
        yield f"pkhbt {words[0]}, {words[0]}, r3, lsl #16"


def _channels(shape: FewShape) -> Iterator[AssemblyLine]:
    """A block of channels; the stream's pointer ends behind it."""
    if not shape.single_loads:
        for channel in range(shape.channels):
            numbers = channel, channel + shape.out_step, shape.postshift
            yield _channel(shape.words)(*numbers, title=f"channel {channel}")
        return
    size, at = 4 * (shape.words + 2), 0
    for channel in range(shape.channels):
        if at + size > _SHORT_REACH:
            yield f"adds r1, #{at}"
            at = 0
        yield from _channel_singly(shape, channel, at)
        at += size
    yield f"adds r1, #{at}"


def _channel_singly(shape: FewShape, channel: int, at: int) -> Iterator[str]:
    """One channel of both pixels, its constants `at` from r1.

    The second pixel's products hide what the first one waits for.
    """
    yield f"/* channel {channel} */"
    start, last = f"[r1, #{at}]", f"[r1, #{at + 4 + 4 * shape.words}]"
    weights = [f"[r1, #{at + 4 + 4 * word}]" for word in range(shape.words)]
    yield from (f"ldr r2, {start}", f"ldr r3, {start}")
    if len(shape.free) > shape.words:
        *registers, multiplier = shape.free[: shape.words + 1]
        for register, place in zip(registers, weights, strict=True):
            yield f"ldr {register}, {place}"
        yield f"ldr {multiplier}, {last}"
        for total, words in zip(("r2", "r3"), shape.pixels, strict=True):
            for word, register in zip(words, registers, strict=True):
                yield f"smlad {total}, {word}, {register}, {total}"
        yield from (f"smmul {total}, {total}, {multiplier}" for total in ("r2", "r3"))
    else:
        yield from _in_turns(shape, weights, last)
    for total, to in (("r2", channel), ("r3", channel + shape.out_step)):
        yield f"ssat {total}, #8, {total}, asr #{shape.postshift}"
        yield f"strb {total}, [r0, #{to}]"


def _in_turns(shape: FewShape, weights: list[str], last: str) -> Iterator[str]:
    """Products of both pixels and their ends, with constants in the free registers in turn."""
    first, second = (
        [(total, words[i], place) for i, place in enumerate(weights)]
        for total, words in zip(("r2", "r3"), shape.pixels, strict=True)
    )
    half = len(second) // 2
    order = [*first, *second[:half], ("r2", "", last), *second[half:], ("r3", "", last)]
    for number, (total, word, place) in enumerate(order):
        register = shape.free[number % len(shape.free)]
        yield f"ldr {register}, {place}"
        if word:
            yield f"smlad {total}, {word}, {register}, {total}"
        else:
            yield f"smmul {total}, {total}, {register}"


@cache
def _channel(count: int) -> Macro:
    """One channel of both pixels of `count` words."""
    return Macro(
        f"GLOWMCU_FEW_INPUTS_{2 * count}",
        f"A channel of both pixels, of {2 * count} inputs, to int8 at `x` and `y` behind r0.",
        ("x", "y", "shift"),
        (
            *_sums(count),
            *(
                line
                for total, at in (("r2", "x"), ("r3", "y"))
                for line in (
                    rf"ssat {total}, #8, {total}, asr #\shift",
                    rf"strb {total}, [r0, #\{at}]",
                )
            ),
        ),
    )


def _sums(count: int) -> Iterator[str]:
    """The channel's start comes into r3, which then is the second pixel's sum."""
    free, pixels, first = _POOL[: -2 * count], _words(count), "r3"
    left = [*range(count), -1]  # of its constants: weights, then the multiplier
    multiplier = ""
    while left:
        now, left = left[: len(free)], left[len(free) :]
        registers = dict(zip(now, free, strict=False))
        names = [*(["r3"] if first else []), *registers.values()]
        yield f"ldm r1!, {{{', '.join(names)}}}" if names[1:] else f"ldr {names[0]}, [r1], #4"
        for index, register in registers.items():
            if index < 0:
                multiplier = register
                continue
            for total, words in zip(("r2", "r3"), pixels, strict=True):
                yield f"smlad {total}, {words[index]}, {register}, {first or total}"
            first = ""
    yield from (f"smmul {total}, {total}, {multiplier}" for total in ("r2", "r3"))


def _next_block(shape: FewShape) -> Iterator[str]:
    """The way to the next block's channels, 0 after the last one."""
    if shape.looped:
        yield from ("ldr r4, [r1], #4", "cmp r4, #0", "add r0, r4", "bne 2b")
