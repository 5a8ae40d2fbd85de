"""The Armv7E-M loop of `depthwise_conv_2d.strip_dsp`, as instructions: a line, channel by channel.

A word x_p is two neighbours of the line, {x[2p], x[2p + 1]}. With the words of weights
A_j = {k[2j], k[2j + 1]} and B_j = {k[2j - 1], k[2j]}, two outputs are made of the same x:

    y[2i] = sum x_(i+j).A_j        y[2i + 1] = sum x_(i+j).B_j

What lacks half a word multiplies half of another. Up to five taps stay in registers with the
x of two outputs, of which each next two outputs need one more word (`strip_resident.py`). More are
loaded for six outputs at a time (`strip_streamed.py`), and so are all where two instructions
may issue in a cycle, as six sums do not wait for each other.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from glowmcu.kernels.requantization.forms import FormKind
from glowmcu.lazy_dataclass import dataclass

#: Farthest byte that a load or store reaches from its pointer.
MOST_OFFSET = 4095
#: Offsets in the stack frame; the first three words change from channel to channel.
IN, COUNT, CHANNELS, LEFT, OUT_NOW, SPILLED = 0, 12, 16, 20, 24, 28
_CLAMP, FRAME = 32, 40
#: Most taps of which weights can stay in registers.
MOST_RESIDENT = 5


@dataclass(frozen=True)
class StripShape:
    """What the function is made for: taps, bytes from position to position, how sums become int8
    (shifts are unused by the literal form). `is_resident`: weights stay in registers.
    `is_gathered`: lines are copied first.
    """

    taps: int
    in_step: int
    out_step: int
    kind: FormKind
    preshift: int
    postshift: int
    clamped: bool
    is_resident: bool
    is_gathered: bool = False

    @property
    def half(self) -> int:
        """Packed words of weights: A_j and B_(j+1) in bytes."""
        return self.taps // 2

    @property
    def has_start(self) -> bool:
        """Whether sums start from a constant."""
        return self.kind is not FormKind.FLOOR

    @property
    def constants(self) -> int:
        """Words of constants that a channel's weights follow."""
        return 4 if self.has_start else 2

    @property
    def outputs(self) -> int:
        """Of a round of the loop."""
        return 2 * (self.half + 1) if self.is_resident else 6

    @property
    def reaches_in(self) -> bool:
        """Whether a round reads within reach of its pointer."""
        return (self.outputs + self.taps) * self.in_step <= MOST_OFFSET

    @property
    def reaches_out(self) -> bool:
        """Whether a round writes within reach."""
        return self.outputs * self.out_step <= MOST_OFFSET


@dataclass(frozen=True)
class Product:
    """x_(i+word) times a word of weights, `weights` "A" or "B" and its number."""

    instruction: str
    word: int
    weights: tuple[str, int]


def products(taps: int) -> tuple[list[Product], list[Product]]:
    """Of an even output, and of the odd one behind it."""
    half, odd = divmod(taps, 2)
    even = [Product("smlad", j, ("A", j)) for j in range(half)]
    later = [Product("smlatb", 0, ("A", 0))]
    later += [Product("smlad", j, ("B", j)) for j in range(1, half + odd)]
    if odd:
        even.append(Product("smlabt", half, ("B", half)))
    else:
        later.append(Product("smlabt", half, ("A", half - 1)))
    return even, later


def multiply(product: Product, sum_: str, x: str, weights: str, begin: str) -> str:
    """Onto `begin`, a register or nothing."""
    if begin:
        return f"{product.instruction} {sum_}, {x}, {weights}, {begin}"
    plain = {"smlad": "smuad", "smlatb": "smultb", "smlabt": "smulbt"}[product.instruction]
    return f"{plain} {sum_}, {x}, {weights}"


def enter() -> Iterator[str]:
    """The frame, of arguments in, out, blocks, line in r0 to r3."""
    yield "push {r4-r11, lr}"
    yield f"sub sp, #{FRAME}"
    yield "ldm r3, {r4-r7} /* outputs, channels, clamp */"
    yield f"strd r6, r7, [sp, #{_CLAMP}]"
    yield "mov r3, r4"
    yield "mov r4, r5"
    yield "stm sp, {r0-r4}"


def begin_round() -> Iterator[str]:
    """Where the loop goes back to: at a whole word, as almost all of its instructions are one."""
    yield from (".p2align 2", "2: /* a round */")


def next_channel() -> Iterator[str]:
    """Ends the function after the last channel."""
    yield f"ldr r2, [sp, #{CHANNELS}]"
    yield "subs r2, #1"
    yield f"str r2, [sp, #{CHANNELS}]"
    yield "bne 1b"
    yield f"add sp, #{FRAME}"
    yield "pop {r4-r11, pc}"


def finish(shape: StripShape, sum_: str, temporary: str, constants: Sequence[str]) -> list[str]:
    """A sum to int8; `constants` are those behind the start."""
    lines = []
    if shape.kind is FormKind.FLOOR:
        addend, multiplier = constants
        lines += [f"add {sum_}, {addend}, {sum_}, lsl #{shape.preshift}"]
        lines += [f"smmul {sum_}, {sum_}, {multiplier}"]
    elif shape.kind is FormKind.TWO_SIDED:
        addend, multiplier, step = constants
        lines += [f"and {temporary}, {step}, {sum_}, asr #31"]
        lines += [f"add {sum_}, {addend}, {sum_}, lsl #{shape.preshift}"]
        lines += [f"smmla {sum_}, {sum_}, {multiplier}, {temporary}"]
    else:
        step, multiplier, shift = constants
        lines += [f"lsl {sum_}, {sum_}, #1"]
        lines += [f"smmlar {temporary}, {sum_}, {multiplier}, {step}"]
        lines += [f"add {sum_}, {temporary}, {sum_}, asr #31", f"asr {sum_}, {sum_}, {shift}"]
    shifted = "" if shape.kind is FormKind.LITERAL else f", asr #{shape.postshift}"
    lines.append(f"ssat {sum_}, #8, {sum_}{shifted}")
    if shape.clamped:
        for place, condition in enumerate(("lt", "gt")):
            lines.append(f"ldr {temporary}, [sp, #{_CLAMP + 4 * place}]")
            lines += [f"cmp {sum_}, {temporary}", f"it {condition}"]
            lines.append(f"mov{condition} {sum_}, {temporary}")
    return lines


def store(shape: StripShape, sum_: str, output: int, condition: str = "") -> list[str]:
    """Output number `output` of the round; r1 moves along if that is out of reach."""
    if shape.reaches_out:
        return [f"strb{condition} {sum_}, [r1, #{output * shape.out_step}]"]
    return [f"strb{condition} {sum_}, [r1]", f"addw{condition} r1, r1, #{shape.out_step}"]


def move_out(shape: StripShape, outputs: int) -> list[str]:
    """r1 to the next round, where stores have not moved it."""
    return [f"addw r1, r1, #{outputs * shape.out_step}"] * shape.reaches_out
