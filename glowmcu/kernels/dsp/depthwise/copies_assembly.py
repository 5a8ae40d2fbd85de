"""The Armv7E-M loop of `depthwise_conv_2d.copies_dsp`, as instructions: all rows of a channel.

Four outputs of a row at a time, from words {x(2k), x(2k + 1)} of the channel's copy. With stride 1
outputs begin at even and odd columns by turns: each row of the window has its weights in words
E(k) = {w(2k), w(2k + 1)} for the even ones, and O(k) = {w(2k - 1), w(2k)} for the odd ones, which
are a column further:

    sum0 += x(k).E(k), sum1 += x(k).O(k), sum2 += x(k).E(k - 1), sum3 += x(k).O(k - 1)

With stride 2 all of them begin at even columns: sum(j) += x(k).E(k - j). Words are loaded as their
turn comes, and stay as long as a sum needs them.

r0 the copy, r1 weights, then a word of its own, r2-r5 sums, the rest what is loaded.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import zip_longest

from glowmcu.kernels.requantization.forms import Form, FormKind
from glowmcu.lazy_dataclass import dataclass

#: Results at a time, and registers for what is loaded.
OUTPUTS, _POOL = 4, ("r6", "r7", "r8", "r9", "r10", "r11", "r12", "lr")
_SUMS = ("r2", "r3", "r4", "r5")
#: A word by its kind and number: of the copy, of weights, or how far the next row is.
_Word = tuple[str, int]
_STEP: _Word = ("step", 0)
_MOST_AT_ONCE = 4
#: Offsets in the stack frame, and its size.
_WEIGHTS, _OUT, _LEFT, _ROWS, _NEXT, _DOWN, _WIDTH, _FRAME = 0, 4, 8, 12, 16, 20, 24, 28
#: The fifth argument, behind the registers that are saved.
_PUSHED = 36


@dataclass(frozen=True)
class CopiesShape:
    """What the function is made for; `kernel` is height and width, which is odd."""

    kernel: tuple[int, int]
    stride: int

    @property
    def even_words(self) -> int:
        """Words E of a row of the window."""
        return (self.kernel[1] + 1) // 2

    @property
    def weight_words(self) -> int:
        """All words of weights of a row; one more follows, how far the next row is."""
        return self.even_words * (2 if self.stride == 1 else 1)

    @property
    def input_words(self) -> int:
        """Words of the copy under a row of the windows of four outputs."""
        return self.even_words + (OUTPUTS // 2 if self.stride == 1 else OUTPUTS) - 1

    @property
    def products(self) -> int:
        """Multiply-accumulates of two products each, for a row of the windows of four outputs."""
        return OUTPUTS * self.even_words


class _Row:
    """One row of the window: what is loaded, and where it is."""

    def __init__(self, shape: CopiesShape, is_first: bool) -> None:
        self._shape = shape
        #: Words by kind and number, as long as a sum needs them.
        self._registers: dict[_Word, str] = {}
        self._begun = set[str]() if is_first else set(_SUMS)

    def instructions(self) -> Iterator[str]:
        """As many words at a time as there are registers for them and the weights they need."""
        at, pending = 0, self._weights()
        while at < self._shape.input_words:
            free = len(_POOL) - len(self._registers)
            most = min(_MOST_AT_ONCE, self._shape.input_words - at)
            count, some = next(
                (count, words)
                for count in range(most, 0, -1)
                for words in (self._needed(pending, at + count),)
                if count + len(words) <= free
            )
            if pending[len(some) :] == [_STEP] and count + len(some) < free:
                some = pending
            pending = pending[len(some) :]
            yield from self._load("r0", [("x", at + i) for i in range(count)])
            yield from self._load("r1", some)
            yield from self._products(at, at + count)
            at += count
        yield from self._load("r1", pending)
        yield f"add r0, {self._registers[_STEP]}"

    def _weights(self) -> list[_Word]:
        """In the order of memory."""
        kinds = ("E", "O") if self._shape.stride == 1 else ("E",)
        return [(kind, k) for k in range(self._shape.even_words) for kind in kinds] + [_STEP]

    def _needed(self, pending: Sequence[_Word], end: int) -> list[_Word]:
        """Those of `pending` that words of the copy before `end` need."""
        return [word for word in pending if word != _STEP and word[1] < end]

    def _load(self, base: str, words: Sequence[_Word]) -> Iterator[str]:
        used = set(self._registers.values())
        free = [register for register in _POOL if register not in used][: len(words)]
        assert len(free) == len(words)
        self._registers.update(zip(words, free, strict=True))
        if len(words) == 1:
            yield f"ldr {free[0]}, [{base}], #4"
        elif words:
            yield f"ldm {base}!, {{{', '.join(free)}}}"

    def _products(self, at: int, end: int) -> Iterator[str]:
        """All that read words `at` to `end` of the copy, the sums by turns."""
        turns = [[self._product(sum_, k) for k in range(at, end)] for sum_ in range(OUTPUTS)]
        of_sums = [[product for product in turn if product] for turn in turns]
        for together in zip_longest(*of_sums):
            yield from (product for product in together if product)
        behind = 1 if self._shape.stride == 1 else OUTPUTS - 1
        for k in range(at, end):
            del self._registers["x", k]
            for kind in "EO":
                self._registers.pop((kind, k - behind), None)

    def _product(self, number: int, k: int) -> str:
        """What word `k` of the copy adds to a sum, if anything."""
        weight = ("EO"[number % 2], k - number // 2)
        if self._shape.stride == 2:
            weight = ("E", k - number)
        if not 0 <= weight[1] < self._shape.even_words:
            return ""
        sum_ = _SUMS[number]
        operands = f"{self._registers['x', k]}, {self._registers[weight]}"
        if sum_ in self._begun:
            return f"smlad {sum_}, {operands}, {sum_}"
        self._begun.add(sum_)
        return f"smuad {sum_}, {operands}"


def copies_assembly(shape: CopiesShape, form: Form) -> tuple[str, ...]:
    """The whole function: arguments copy, out, weights, parameters in r0 to r3, rows in memory."""
    return (
        *_enter(),
        "1: /* four results */",
        *(line for row in range(shape.kernel[0]) for line in _Row(shape, row == 0).instructions()),
        *_finish(form),
        *_next_results(),
        *_last_results(form),
    )


def _enter() -> Iterator[str]:
    yield "push {r4-r11, lr}"
    yield f"ldr r7, [sp, #{_PUSHED}]"
    yield "ldm r3, {r4-r6}"
    yield f"sub sp, #{_FRAME}"
    yield f"strd r2, r1, [sp, #{_WEIGHTS}]"
    yield f"strd r4, r7, [sp, #{_LEFT}]"
    yield f"strd r5, r6, [sp, #{_NEXT}]"
    yield f"str r4, [sp, #{_WIDTH}]"
    yield "mov r1, r2"


#: What lies behind the weights, in the order of memory; floors need no step and shift.
_FINISH = ("step", "shift", "start", "multiplier", "pixel", "least", "most")
_OF_LITERALS, _OF_CLAMPS = _FINISH[:2], _FINISH[-2:]


def _finish_registers(form: Form) -> dict[str, str]:
    """Registers of the words that the form needs."""
    words = [
        word
        for word in _FINISH
        if (word not in _OF_LITERALS or form.kind is FormKind.LITERAL)
        and (word not in _OF_CLAMPS or form.clamp is not None)
    ]
    return dict(zip(words, _POOL, strict=False))


def _finish(form: Form) -> Iterator[str]:
    """Sums to int8 in memory: four, or those that are left of the row."""
    registers = _finish_registers(form)
    yield f"ldr r6, [sp, #{_LEFT}]"
    if form.kind is not FormKind.LITERAL:
        yield f"add r1, #{4 * len(_OF_LITERALS)}"
    yield f"subs r6, #{OUTPUTS}"
    yield f"str r6, [sp, #{_LEFT}]"
    yield f"ldm r1, {{{', '.join(registers.values())}}}"
    yield f"ldr lr, [sp, #{_OUT}]"
    yield "bmi 3f"
    for number, sum_ in enumerate(_SUMS):
        yield from _byte_of(form, sum_, registers)
        if number % 2 == 0:
            yield f"strb {sum_}, [lr]"
        else:
            yield f"strb {sum_}, [lr, {registers['pixel']}]"
            yield f"add lr, lr, {registers['pixel']}, lsl #1"
    yield "2: /* the next results */"


def _byte_of(form: Form, sum_: str, registers: dict[str, str]) -> Iterator[str]:
    """One sum to int8."""
    if form.kind is FormKind.FLOOR:
        yield f"add {sum_}, {registers['start']}, {sum_}, lsl #{form.preshift}"
        yield f"smmul {sum_}, {sum_}, {registers['multiplier']}"
        yield f"ssat {sum_}, #8, {sum_}, asr #{form.postshift}"
    else:
        yield f"add {sum_}, {registers['start']}"
        yield f"lsl r1, {sum_}, #1"
        yield f"smmlar r1, r1, {registers['multiplier']}, {registers['step']}"
        yield f"add r1, r1, {sum_}, asr #31"
        yield f"asr r1, r1, {registers['shift']}"
        yield f"ssat {sum_}, #8, r1, asr #1"
    if form.clamp is not None:
        least, most = registers["least"], registers["most"]
        yield from (f"cmp {sum_}, {least}", "it lt", f"movlt {sum_}, {least}")
        yield from (f"cmp {sum_}, {most}", "it gt", f"movgt {sum_}, {most}")


def _next_results() -> Iterator[str]:
    """Behind label 2; what ends a row with fewer than four results begins at label 3."""
    yield f"str lr, [sp, #{_OUT}]"
    yield f"ldrd r6, r7, [sp, #{_LEFT}]"
    yield f"ldrd r8, r9, [sp, #{_NEXT}]"
    yield f"ldr r1, [sp, #{_WEIGHTS}]"
    yield "add r0, r8"
    yield "cmp r6, #0"
    yield "bgt 1b"
    yield "/* the next row */"
    yield f"ldr r6, [sp, #{_WIDTH}]"
    yield "add r0, r9"
    yield "subs r7, #1"
    yield f"strd r6, r7, [sp, #{_LEFT}]"
    yield "bne 1b"
    yield f"add sp, #{_FRAME}"
    yield "pop {r4-r11, pc}"


def _last_results(form: Form) -> Iterator[str]:
    """Fewer than four, one after the other, so that the last sum's register counts them."""
    registers = _finish_registers(form)
    yield "3: /* fewer than four */"
    yield f"ldr r5, [sp, #{_LEFT}]"
    yield f"adds r5, #{OUTPUTS}"
    yield "4:"
    yield from _byte_of(form, "r2", registers)
    yield from ("strb r2, [lr]", f"add lr, {registers['pixel']}")
    yield from ("mov r2, r3", "mov r3, r4", "subs r5, #1", "bne 4b", "b 2b")
