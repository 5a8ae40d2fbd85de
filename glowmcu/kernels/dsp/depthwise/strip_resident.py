"""Lines of `depthwise_conv_2d.strip_dsp` with few taps: weights of a channel stay in registers.

Words x rotate through their registers, so that a round is as many pairs of outputs as there are
such words. Outputs that do not fill a round follow one by one, with the words that are there.

r0 in, r1 out, from r2 on constants, weights and words, r12 and lr sum and temporary.
"""

from __future__ import annotations

from collections.abc import Iterator

from glowmcu.kernels.dsp.depthwise.strip_assembly import (
    COUNT,
    IN,
    LEFT,
    SPILLED,
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

_SUM, _TEMPORARY = "r12", "lr"
#: What waits in memory where registers do not suffice, see `strip_assembly.products`.
_LAST = ("A", 1)


class _Registers:
    """Which is what: constants, words of weights by name, words of the line in turn."""

    def __init__(self, shape: StripShape) -> None:
        even, odd = products(shape.taps)
        names = dict.fromkeys(product.weights for product in (*even, *odd))
        free = [f"r{number}" for number in range(2, 12)]
        self.constants = [free.pop(0) for _ in range(shape.constants)]
        words = shape.half + 1
        self.spills = len(names) + words > len(free)
        if self.spills:
            del names[_LAST]
        # What is loaded packed comes in the order of memory.
        self.weights = {name: free.pop(0) for name in sorted(names)}
        self.words = free[:words]

    def word(self, number: int) -> str:
        return self.words[number % len(self.words)]


def resident_assembly(shape: StripShape) -> tuple[str, ...]:
    """The whole function."""
    line = _Line(shape)
    return (*enter(), *line.load_channel(), *line.rounds(), *line.rest(), *next_channel())


class _Line:
    def __init__(self, shape: StripShape) -> None:
        self.shape, self.at = shape, _Registers(shape)
        self.even, self.odd = products(shape.taps)

    def load_channel(self) -> Iterator[str]:
        """Constants, weights, and the words of the line that are there before the first output."""
        at = self.at
        packed = [at.weights.get(("A", j), _TEMPORARY) for j in range(self.shape.half)]
        yield "1: /* channel */"
        yield "ldm sp, {r0, r1, r12}"
        yield f"ldm r12!, {{{', '.join((*at.constants, *packed))}}}"
        yield from (f"adds {at.words[0]}, r0, #1", f"adds {at.words[1]}, r1, #1")
        yield f"strd {at.words[0]}, {at.words[1]}, [sp, #{IN}]"
        yield f"str r12, [sp, #{IN + 8}]"
        for j, register in enumerate(packed):
            if ("B", j + 1) in at.weights:
                yield f"sxtb16 {at.weights['B', j + 1]}, {register}, ror #8"
            yield f"sxtb16 {register}, {register}"
        if at.spills:
            yield f"str {_TEMPORARY}, [sp, #{SPILLED}]"
        for position in range(self.shape.taps - 1):
            yield from self._load(position)

    def _load(self, position: int) -> list[str]:
        """A position of the round; the second one of a word is packed into it."""
        word, is_second = self.at.word(position // 2), position % 2
        register = _TEMPORARY if is_second else word
        lines = [f"ldrsb {register}, [r0, #{position * self.shape.in_step}]"]
        return lines + [f"pkhbt {word}, {word}, {_TEMPORARY}, lsl #16"] * is_second

    def rounds(self) -> Iterator[str]:
        shape = self.shape
        yield from (f"ldr r12, [sp, #{COUNT}]", f"subs r12, #{shape.outputs}")
        yield from (f"str r12, [sp, #{LEFT}]", "blo 3f")
        yield from begin_round()
        for even in range(0, shape.outputs, 2):
            position = even + shape.taps - 1
            loads = [*self._load(position), *self._load(position + 1), *self._spilled(even)]
            # Packing does not come between loads.
            yield from sorted(loads, key=lambda line: line.startswith("pkhbt"))
            yield from self._output(even)
            yield from self._output(even + 1)
        yield f"addw r0, r0, #{shape.outputs * shape.in_step}"
        yield f"ldr r12, [sp, #{LEFT}]"
        yield f"subs r12, #{shape.outputs}"
        yield f"str r12, [sp, #{LEFT}]"
        yield from move_out(shape, shape.outputs)
        yield "bhs 2b"

    def rest(self) -> Iterator[str]:
        """Less than a round, r12 outputs less."""
        yield "3: /* a part of a round */"
        for output in range(self.shape.outputs - 1):
            if output:
                yield f"ldr r12, [sp, #{LEFT}]"
            yield f"cmn r12, #{self.shape.outputs - output}"
            yield "ble 4f"
            yield from self._load(output + self.shape.taps - 1)
            yield from self._spilled(output)
            yield from self._output(output)
        yield "4: /* the next channel */"

    def _spilled(self, output: int) -> list[str]:
        """The weights in memory, which even outputs need, go where their sum does not."""
        return [f"ldr {_SUM}, [sp, #{SPILLED}]"] * (self.at.spills and output % 2 == 0)

    def _output(self, number: int) -> Iterator[str]:
        pair, is_odd = divmod(number, 2)
        sum_, other = _SUM, _TEMPORARY
        begin = self.at.constants[0] if self.shape.has_start else ""
        ordered = list(self.odd if is_odd else self.even)
        if self.at.spills and not is_odd:
            sum_, other = other, sum_
            ordered.sort(key=lambda product: product.weights != _LAST)
        for product in ordered:
            weights = self.at.weights.get(product.weights, other)
            yield multiply(product, sum_, self.at.word(pair + product.word), weights, begin)
            begin = sum_
        yield from finish(self.shape, sum_, other, self.at.constants[-3:])
        yield from store(self.shape, sum_, number)
