"""Blocks of the Helium loop of direct_assembly.py: registers of weights, orders of instructions.

Weights of four bits: a byte has those of two channels for one input, the even one's in its low
half. VSHL #4 makes 16 times that, VSHR #4 the odd one, so that a block of four channels has two
loads and four shifts where bytes have four loads, and every second instruction is a product all the
same. Sums of even channels are 16 times what they should be, which scaling takes back.
"""

from __future__ import annotations

from glowmcu.lazy_dataclass import dataclass


@dataclass(frozen=True)
class Orders:
    """Orders of a block, as `benchmarks.helium_schedule` finds them.

    Products a0 to b3 of windows a and b with channels 0 to 3, loads x1, x2 of inputs and w0 to w4
    of weights, p0 to p4 that part weights of four bits (p4 the next block's first), and what is
    left of the four channels before, for which a dot stands. s0 to s3 are the step to the next turn
    in the last two blocks; s1 sets the carry.
    """

    first: str
    alone: str
    beside_floor: str
    beside_literal: str
    step_in_last_but_one: str
    step_in_last: str
    step_in_one: str

    def beside(self, is_literal: bool) -> str:
        """Of a first block with what is left of scaling."""
        return self.beside_literal if is_literal else self.beside_floor


BYTES = Orders(
    first="a0 x1 b0 w1 a1 w2 b1 a2 w3 b2 w4 a3 x2 b3",
    alone="a0 x1 b0 w1 a1 w2 b1 a2 w3 b2 w4 a3 x2 b3",
    beside_floor="w0 . x1 . w1 . a0 . b0 w2 a1 . . b1 . a2 . b2 w3 a3 w4 b3 x2",
    beside_literal="w0 . x1 . a0 w1 b0 . a1 . w2 a2 . . b1 b2 w3 b3 w4 a3 x2",
    step_in_last_but_one="a0 x1 b0 w1 a1 w2 b1 s0 a2 w3 b2 w4 a3 x2 b3 s1",
    step_in_last="a0 x1 b0 w1 a1 w2 b1 s2 a2 w3 b2 w4 a3 x2 b3 s3",
    step_in_one="a0 x1 b0 w1 s0 a1 w2 b1 s1 s2 a2 w3 b2 w4 a3 x2 b3 s3",
)
NIBBLES = Orders(
    first="p0 p1 a0 x1 b0 w2 a1 b1 p2 a2 p3 b2 w4 a3 p4 x2 b3",
    alone="p1 a0 x1 b0 w2 a1 p2 b1 w4 a2 p3 b2 p4 a3 x2 b3",
    beside_floor="w0 p0 . x1 a0 p1 . . b0 . b1 . w2 a1 p2 . . a2 . p3 b2 w4 a3 x2 p4 b3",
    beside_literal=". w0 p0 x1 b0 . a0 p1 . . b1 . a1 w2 p2 . b2 p3 a2 w4 a3 p4 x2 b3",
    step_in_last_but_one="p1 a0 x1 b0 w2 a1 p2 b1 w4 a2 p3 b2 s0 p4 a3 x2 b3 s1",
    step_in_last="p1 a0 x1 b0 w2 a1 p2 b1 w4 a2 p3 b2 s2 p4 a3 s3 x2 b3",
    step_in_one="p1 a0 x1 b0 w2 s0 a1 p2 b1 w4 s1 a2 s2 p3 b2 p4 a3 x2 b3 s3",
)

#: What even channels' sums of weights of four bits are shifted by.
EXTRA_BITS = 4

#: Where a block has weights of channels 0 to 3. Results of the four channels before are in q4 and
#: q5 until they are stored, beside the first block.
_BYTES_PARTS = ("q2", "q3", "q2", "q3")
_FIRST_PARTS = ("q3", "q2", "q2", "q3")
_PARTS = ("q4", "q2", "q5", "q3")


def part_registers(nibbles: bool, is_first: bool) -> tuple[str, ...]:
    """Those of the weights of channels 0 to 3."""
    if not nibbles:
        return _BYTES_PARTS
    return _FIRST_PARTS if is_first else _PARTS


def weight_lines(nibbles: bool, is_first: bool) -> dict[str, str]:
    """Loads of weights, and what parts those of four bits."""
    load = "vldrb.8 {}, [r5], #16".format
    if not nibbles:
        return {f"w{number}": load(f"q{2 + number % 2}") for number in range(5)}
    pairs = ("q2", "q2", "q3", "q3", "q2")
    parts = (*part_registers(nibbles, is_first), _PARTS[0])
    shifts = ("vshl.i8", "vshr.s8")
    parting = {
        f"p{number}": f"{shifts[number % 2]} {part}, {pair}, #{EXTRA_BITS}"
        for number, (part, pair) in enumerate(zip(parts, pairs, strict=True))
    }
    return {"w0": load("q2"), "w2": load("q3"), "w4": load("q2"), **parting}
