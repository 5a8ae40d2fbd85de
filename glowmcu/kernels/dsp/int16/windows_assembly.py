"""The Armv7E-M loop of `wide.windows_dsp`: four channels of a pixel, int16 inputs where they lie.

A word of weights has two inputs of two channels. Packed its halves are 256 * H + L: SMLALD adds
their products to a sum of 64 bits, SXTB16 leaves L, which SMLAD adds to one of 32; that is 3
instructions for 4 products where widening both takes 4. H is (sum - L) / 256 in the end. Registers:
r0 inputs, r1 weights, r2 r3 r12 lr what is loaded, the others sums.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from glowmcu.kernels.dsp.int16.results_assembly import Clamp, clamped, scaled
from glowmcu.lazy_dataclass import dataclass

#: Fours of inputs in a round of the loop, and channels of a block.
ROUND_FOURS = 4
CHANNELS = 4

#: Bytes of 32-bit instructions.
_LONG = 4
#: The stack frame: arguments, the end of a run's rounds, what is left of runs, parts, channels.
_IN, _OUT, _JOB, _END, _RUNS, _PARTS, _LEFT, _FRAME = range(0, 32, 4)
#: Of single runs: where a round is entered, and by how much the stream pointer is behind then.
_ENTERED, _BEHIND = _RUNS, _PARTS
#: Places in `glowmcu_wide_job`.
(
    _STREAM, _CHANNELS, _LENGTH, _BACK, _ENTRY, _REST, _IN_STEP, _W_STEP, _BEFORE, _JOB_RUNS,
    _AFTER, _JOB_PARTS, _IN_ROW, _W_ROW, _CLAMP_MIN, _, _FRONT,
) = range(0, 68, 4)  # fmt: skip


@dataclass(frozen=True)
class WindowCode:
    """What of a layer is part of the code.

    `packed`: words of weights are 256 * H + L, else bytes. `wide`: sums have 64 bits. `doubled`:
    multipliers are Q31 and TensorFlow Lite rounds twice. `rest`: runs may have inputs that fill no
    four. `parts`: a row of a window is several runs. `single`: all windows are one run of the same
    length. `front`: runs may begin at the second input of a word. `loads`: constants come by
    LDR, not by LDM.
    """

    packed: bool
    wide: bool
    doubled: bool
    clamp: Clamp
    rest: bool
    parts: bool
    single: bool = False
    front: bool = False
    loads: bool = False

    @property
    def facts(self) -> tuple[str, ...]:
        """What tells functions apart (`specialized`)."""
        return (
            "packed" if self.packed else "bytes",
            "wide" * self.wide,
            "doubled" * self.doubled,
            self.clamp.fact,
            "rest" * self.rest,
            "parts" * self.parts,
            "single" * self.single,
            "front" * self.front,
        )

    @property
    def start_words(self) -> int:
        """What the sums of a block start from."""
        return 8 if self.wide else 6 if self.packed else 4

    @property
    def scale_words(self) -> int:
        """Constants of a block's results."""
        return 3 * CHANNELS if self.doubled else CHANNELS

    @property
    def entered(self) -> str:
        """What the line begins with before which a round is entered."""
        return f"ldr.w {'r4' if self.packed and not self.wide else 'r2'}, [r0, "

    @property
    def four_bytes(self) -> int:
        """Code of four inputs: where a round is entered is a multiple of it."""
        return _LONG * len(_four(self, 0))


#: Sums of 32 bits of packed words: what both channels have in common in 64 bits, and L.
_NARROW_PACKED = (("r6", "r7", "r8"), ("r9", "r10", "r11"))
#: Sums of bytes, which leave r10 and r11.
_NARROW_BYTES = (("r6", "r7"), ("r8", "r9"))
_WIDE = (("r4", "r5", "r6", "r7"), ("r8", "r9", "r10", "r11"))


def window_assembly(code: WindowCode) -> tuple[str, ...]:
    """The whole function: r0 is the job, r1 the inputs, r2 the results."""
    return (
        *_enter(code),
        *_block(code),
        *_runs(code),
        *_results(code),
        "bne 8b",
        f"9: add sp, #{_FRAME}",
        "pop {r4-r11, pc}",
        *_last_results(code),
        "b 9b",
    )


def _enter(code: WindowCode) -> Iterator[str]:
    yield ".p2align 2 /* for adr */"
    yield from ("push {r4-r11, lr}", f"sub sp, #{_FRAME}")
    yield from (f"str r1, [sp, #{_IN}]", f"str r2, [sp, #{_OUT}]", f"str r0, [sp, #{_JOB}]")
    yield from (f"ldr r1, [r0, #{_STREAM}]", f"ldr r3, [r0, #{_CHANNELS}]")
    yield f"str r3, [sp, #{_LEFT}]"
    if code.single:
        yield from _only_run(code)


def _only_run(code: WindowCode) -> Iterator[str]:
    """Where all blocks begin and end."""
    yield from (f"ldr r3, [r0, #{_LENGTH}]", f"ldr r2, [r0, #{_BACK}]", f"ldr lr, [r0, #{_ENTRY}]")
    yield from ("adr.w r12, 5f", "add r12, lr", "ldr r0, [sp]", "add lr, r0, r3", "sub r0, r0, r2")
    if code.loads:
        yield from ("lsl r2, r2, #1", f"str r2, [sp, #{_BEHIND}]")
    if code.rest:
        yield from ("cbnz r3, 7f", "adr.w r12, 4f", "add r12, r12, #1", "7:")
    yield from (f"str r0, [sp, #{_IN}]", f"str lr, [sp, #{_END}]", f"str r12, [sp, #{_ENTERED}]")


def _sums(code: WindowCode) -> tuple[str, ...]:
    """Registers of all sums in the order of what they start from."""
    pairs = _WIDE if code.wide else _NARROW_PACKED if code.packed else _NARROW_BYTES
    return tuple(register for pair in pairs for register in pair)


def _block(code: WindowCode) -> Iterator[str]:
    yield "8: /* a block of four channels */"
    yield f"ldm r1!, {{{', '.join(_sums(code))}}}"
    if code.single:
        yield from (f"ldr r0, [sp, #{_IN}]", f"ldr r2, [sp, #{_ENTERED}]")
        if code.loads:
            yield from (f"ldr r3, [sp, #{_BEHIND}]", "sub r1, r1, r3")
        yield "bx r2"
        return
    yield from (f"ldr r2, [sp, #{_JOB}]", f"ldr r0, [sp, #{_IN}]")
    yield from (f"ldr r3, [r2, #{_BEFORE}]", f"ldr r12, [r2, #{_JOB_RUNS}]")
    yield from ("add r1, r3", f"str r12, [sp, #{_RUNS}]")


def _runs(code: WindowCode) -> Iterator[str]:
    """All runs of a window."""
    if code.single:
        yield from _rounds(code)
        return
    if code.parts:
        yield from ("7: /* a row of the window */", f"ldr r3, [r2, #{_JOB_PARTS}]")
        yield f"str r3, [sp, #{_PARTS}]"
    yield "6: /* a run of neighbours */"
    if code.front:
        yield from (f"ldr r3, [r2, #{_FRONT}]", "cmp r3, #0", "beq 3f")
        yield from _pair(code, "ldrh r2, [r0], #2", "lsl r2, r2, #16")
        yield from (f"ldr r2, [sp, #{_JOB}]", "3:")
    yield f"ldr r3, [r2, #{_LENGTH}]"
    if code.rest:
        yield from ("cmp r3, #0", "beq 4f")
    yield from (f"ldr r12, [r2, #{_BACK}]", f"ldr lr, [r2, #{_ENTRY}]")
    yield from ("adr.w r2, 5f", "add r3, r0", "sub r0, r0, r12")
    if code.loads:
        yield "sub r1, r1, r12, lsl #1"
    yield from (f"str r3, [sp, #{_END}]", "add r2, lr", "bx r2")
    yield from _rounds(code)
    yield from _next_run(code)


def _rounds(code: WindowCode) -> Iterator[str]:
    """All inputs of a run."""
    yield "5: /* a round */"
    for four in range(ROUND_FOURS):
        yield from _four(code, four)
    yield from (f"ldr r2, [sp, #{_END}]", f"adds r0, #{8 * ROUND_FOURS}")
    if code.loads:
        yield f"add r1, r1, #{16 * ROUND_FOURS}"
    yield from ("cmp r0, r2", "bne 5b")
    if code.rest:
        yield from _rest(code)


def _next_run(code: WindowCode) -> Iterator[str]:
    left = _PARTS if code.parts else _RUNS
    yield from (f"ldr r2, [sp, #{_JOB}]", f"ldr lr, [sp, #{left}]")
    yield from (f"ldr r3, [r2, #{_IN_STEP}]", f"ldr r12, [r2, #{_W_STEP}]")
    yield from ("subs lr, lr, #1", "add r0, r3", "add r1, r12", f"str lr, [sp, #{left}]", "bne 6b")
    if code.parts:
        yield from (f"ldr lr, [sp, #{_RUNS}]", f"ldr r3, [r2, #{_IN_ROW}]")
        yield from (f"ldr r12, [r2, #{_W_ROW}]", "subs lr, lr, #1", "add r0, r3", "add r1, r12")
        yield from (f"str lr, [sp, #{_RUNS}]", "bne 7b")


def _rest(code: WindowCode) -> Iterator[str]:
    """Inputs of a run that fill no four: two, one, or both."""
    yield "4: /* what fills no four */"
    yield from (f"ldr r2, [sp, #{_JOB}]", f"ldr r3, [r2, #{_REST}]", "tst r3, #2", "beq 3f")
    yield from _pair(code, "ldr r2, [r0], #4")
    yield "3:"
    yield from (f"ldr r2, [sp, #{_JOB}]", f"ldr r3, [r2, #{_REST}]", "tst r3, #1", "beq 2f")
    yield from _pair(code, "ldrh r2, [r0], #2")
    yield "2:"


def _pair(code: WindowCode, *load: str) -> Iterator[str]:
    """Two inputs that are loaded so, or one beside a zero."""
    yield from (*load, "ldm r1!, {r12, lr}")
    yield from _products(code, "r2", ("r12", "lr"))


def _four(code: WindowCode, place: int) -> tuple[str, ...]:
    """Four inputs of a round; each instruction has 32 bits."""
    if not code.packed:
        return (*_two(code, place, 0), *_two(code, place, 1))
    halves = ("r2", "r3") if code.wide else ("r4", "r5")
    words = ("r12", "lr", "r12", "lr") if code.wide else ("r2", "r3", "r12", "lr")
    lines = [f"ldr.w {x}, [r0, #{8 * place + 4 * n}]" for n, x in enumerate(halves)]
    if not code.wide:
        lines += _constants(code, words, 16 * place)
    for first, x in zip((0, 2), halves, strict=True):
        if code.wide:
            lines += _constants(code, words[first : first + 2], 16 * place + 4 * first)
        lines += _products(code, x, words[first : first + 2])
    return tuple(lines)


def _two(code: WindowCode, place: int, half: int) -> tuple[str, ...]:
    """Two inputs of a four where words of weights are bytes."""
    lines = [f"ldr.w r2, [r0, #{8 * place + 4 * half}]"]
    lines += _constants(code, ("r12", "lr"), 16 * place + 8 * half)
    lines += _products(code, "r2", ("r12", "lr"))
    return tuple(lines)


def _constants(code: WindowCode, words: tuple[str, ...], offset: int) -> list[str]:
    if code.loads:
        return [f"ldr.w {word}, [r1, #{offset + 4 * n}]" for n, word in enumerate(words)]
    return [f"ldm.w r1!, {{{', '.join(words)}}}"]


def _products(code: WindowCode, x: str, words: tuple[str, ...]) -> Iterator[str]:
    """Two inputs with the weights of both pairs of channels; nothing uses what was just widened."""
    if code.packed:
        pairs = _WIDE if code.wide else _NARROW_PACKED
        for (low, high, *_), word in zip(pairs, words, strict=True):
            yield f"smlald {low}, {high}, {x}, {word}"
        yield from (f"sxtb16 {word}, {word}" for word in words)
        for (_, _, *second), word in zip(pairs, words, strict=True):
            yield _sum(second, x, word)
        return
    for (one, other), word in zip(_byte_sums(code), words, strict=True):
        yield from (f"sxtb16 r3, {word}, ror #8", f"sxtb16 {word}, {word}")
        yield from (_sum(one, x, "r3"), _sum(other, x, word))


def _byte_sums(code: WindowCode) -> Iterator[tuple[Sequence[str], Sequence[str]]]:
    """Of both channels of each pair."""
    for pair in _WIDE if code.wide else _NARROW_BYTES:
        yield pair[: len(pair) // 2], pair[len(pair) // 2 :]


def _sum(register: Sequence[str], x: str, word: str) -> str:
    if len(register) == 2:
        return f"smlald {register[0]}, {register[1]}, {x}, {word}"
    return f"smlad {register[0]}, {x}, {word}, {register[0]}"


def _results(code: WindowCode) -> Iterator[str]:
    """Sums to int16 in memory; flags tell whether there are more channels."""
    yield "/* sums to int16 */"
    if not code.single:
        yield from (f"ldr r3, [r2, #{_AFTER}]", "add r1, r3")
    if code.packed:
        yield from _parted(code)
    channels = _channels(code)
    if code.wide:
        for low, high in channels:
            yield from _wide_result(low, high)
    elif code.doubled:
        for (x,) in channels:
            yield "ldm r1!, {r2, r3, r12}"
            yield from (f"lsl {x}, {x}, #1", f"smmlar lr, {x}, r2, r3")
            yield from (f"add {x}, lr, {x}, asr #31", f"asr {x}, {x}, r12")
    else:
        scales = ("r2", "r3", "r12", "lr")
        yield f"ldm r1!, {{{', '.join(scales)}}}"
        yield from scaled([x for (x,) in channels], scales)
    results = [channel[0] for channel in channels]
    yield from clamped(code.clamp, results, _JOB, _CLAMP_MIN)
    a, b, c, d = results
    yield from (f"ldr r0, [sp, #{_OUT}]", f"ldr r2, [sp, #{_LEFT}]")
    yield from (f"pkhbt {a}, {a}, {b}, lsl #16", f"pkhbt {c}, {c}, {d}, lsl #16")
    yield from (f"subs r2, #{CHANNELS}", "blt 1f")
    yield from (f"str {a}, [r0], #4", f"str {c}, [r0], #4")
    yield from (f"str r0, [sp, #{_OUT}]", f"str r2, [sp, #{_LEFT}]")


def _last_results(code: WindowCode) -> Iterator[str]:
    """One to three channels; r2 says how many less four."""
    a, _, c, _ = (channel[0] for channel in _channels(code))
    yield "1: /* fewer than four channels */"
    yield from (f"strh {a}, [r0]", f"adds r2, #{CHANNELS - 1}", "beq 9b")
    yield from (f"lsr {a}, {a}, #16", f"strh {a}, [r0, #2]", "cmp r2, #1", "beq 9b")
    yield f"strh {c}, [r0, #4]"


def _channels(code: WindowCode) -> tuple[tuple[str, ...], ...]:
    """Registers of each channel's sum."""
    if code.wide:
        return tuple(part for pair in _WIDE for part in (pair[:2], pair[2:]))
    if code.packed:
        return tuple((pair[place],) for pair in _NARROW_PACKED for place in (0, 2))
    return tuple((x,) for pair in _NARROW_BYTES for x in pair)


def _parted(code: WindowCode) -> Iterator[str]:
    """H of each pair of channels: (sum - L) / 256."""
    for low, high, *second in _WIDE if code.wide else _NARROW_PACKED:
        sign = second[1] if code.wide else f"{second[0]}, asr #31"
        yield from (f"subs {low}, {low}, {second[0]}", f"sbc {high}, {high}, {sign}")
        yield from (f"lsr {low}, {low}, #8", f"orr {low}, {low}, {high}, lsl #24")
        if code.wide:
            yield f"asr {high}, {high}, #8"


def _wide_result(low: str, high: str) -> Iterator[str]:
    """A sum of less than 48 bits times 15 bits, to the right; what is left fits 32."""
    yield from ("ldr r2, [r1], #4", "lsr r3, r2, #16", f"umull r12, lr, {low}, r3")
    yield from (f"mla {high}, {high}, r3, lr", f"lsr {low}, r12, #16")
    yield from (f"orr {low}, {low}, {high}, lsl #16", f"asr {high}, {high}, #16")
    yield from ("rsb r3, r2, #32", f"lsl {high}, {high}, r3", f"lsrs {low}, {low}, r2")
    yield from (f"orr {low}, {low}, {high}", f"adc {low}, {low}, #0")
