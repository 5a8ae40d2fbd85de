"""What is known of the M7's and the M33's timing, as data. Arm publishes no tables of theirs.

Nearly all of it is what [jnk0le] measured on silicon (see costs.py), doc/cortex_m7.md on an
STM32H743, doc/cortex_m33.md on an RP2350; sections of these in parentheses.
"""

from __future__ import annotations

from glowmcu.verify.cortex_m.cost_model import Sureness
from glowmcu.verify.cortex_m.dual_issue import DualIssue, Result, latency
from glowmcu.verify.cortex_m.kinds import Kind
from glowmcu.verify.cortex_m.pairing import Pairing, Unit

_SIMD = frozenset((Unit.SIMD,))
_APART = frozenset((Unit.SIMD, Unit.SHIFTER))
_PORTS = frozenset((Unit.MULTIPLIER_OR_STORE,))

# The late ALU is one stage behind the early one, products' sums another; stores take all at the end
# (overall; multiplication, MAC; stores).
_LATE = latency(1, early=2, address=2, sum=0, stored=0)

CORTEX_M7 = DualIssue(
    source="[jnk0le] cortex_m7.md; divisions mid-range; returns one cycle, as nobody published "
    "them; Cortex-M7 Technical Reference Manual, ARM DDI 0489, which gives no cycle table",
    sureness=Sureness(
        0.75,
        1.15,
        "extensions and other DSP instructions may go second in a pair; alignment of code, returns",
    ),
    latencies={
        Result.ARITHMETIC: _LATE,
        # (overall) forwarded to the late ALU in no cycle, to the early one in the next
        Result.EARLY: latency(0, early=1, address=1),
        Result.BASE: latency(0, early=1, address=1),
        # (multiplication, MAC) one more cycle; sums follow every cycle
        Result.PRODUCT: latency(2, early=3, address=3, sum=1, stored=1),
        # (loads) words are there for the late ALU in the next cycle, for factors and for what
        # is shifted one later; bytes and half-words one later
        Result.WORD: latency(1, early=2, address=2, product=2, sum=1, stored=0),
        Result.NARROW: latency(2, early=3, address=3, sum=1, stored=0),
        # (fpu, single precision), the table of result latencies
        Result.FLOAT: latency(3, stored=1),
        Result.FLOAT_SUM_OF_PRODUCTS: latency(5, sum=3, stored=3),
        Result.FLOAT_LOADED: latency(1, sum=3),
        Result.FLOAT_MOVED: latency(3),
        Result.FLOAT_UNIT: latency(1),
    },
    pairing=Pairing(
        units={
            Kind.MULTIPLY: _PORTS,
            Kind.MULTIPLY_ADD: _PORTS,
            Kind.MULTIPLY_LONG: _PORTS,
            Kind.MULTIPLY_ADD_LONG: _PORTS,
            Kind.STORE: _PORTS,
            # (bitfield and DSP) none of them with another; those that shift first with no shift
            Kind.SIMD: _SIMD,
            Kind.EXTEND: _SIMD,
            Kind.EXTEND_ADD: _APART,
            Kind.PACK: _APART,
            Kind.INSERT: _APART,
            Kind.EXTRACT: _APART,
            Kind.REVERSE: _APART,
            Kind.SHIFT: frozenset((Unit.SHIFTER,)),
            Kind.FLOAT: frozenset((Unit.FLOAT,)),
            Kind.FLOAT_DIVIDE: frozenset((Unit.FLOAT,)),
            Kind.FLOAT_MULTIPLY_ADD: frozenset((Unit.FLOAT, Unit.FLOAT_MOVES)),
            Kind.FLOAT_LOAD: frozenset((Unit.FLOAT_MOVES,)),
            Kind.FLOAT_STORE: frozenset((Unit.FLOAT_MOVES,)),
            Kind.FLOAT_MOVE: frozenset((Unit.FLOAT_MOVES,)),
        },
        shifted=frozenset((Unit.SHIFTER,)),  # (operand2) the matrix
        first_only=frozenset(
            (
                Kind.SIMD,
                Kind.EXTEND,
                Kind.EXTEND_ADD,
                Kind.PACK,
                Kind.INSERT,
                Kind.EXTRACT,
                Kind.REVERSE,
            )
        ),
        banks=2,  # (loads) even and odd words
    ),
    busy={Kind.DIVIDE: 7, Kind.FLOAT_DIVIDE: 16, Kind.BARRIER: 6, Kind.SYSTEM: 2},
    words_per_cycle=2,  # (load/store pair/multiple)
    early_arithmetic=True,
    taken={
        Kind.BRANCH: 0,  # the template's loop: 40 instructions in 20 cycles
        Kind.BRANCH_LINK: 0,
        Kind.BRANCH_REGISTER: 1,
        Kind.TABLE_BRANCH: 2,
    },
    refill=1,
    unaligned=3,  # (loads)
    store_buffer=5,  # (stores)
    store_cycles={1: 2.4, 2: 2.0, 4: 1.0},
    mispredicted=(6, 8),  # (branching/cmp)
)

# (overall) what takes two stages gives its result a cycle later, but for sums of products
_SECOND_STAGE = latency(2, sum=1, extended_sum=1, stored=1)

CORTEX_M33 = DualIssue(
    source="[jnk0le] cortex_m33.md; loads of words across a boundary one more, divisions "
    "mid-range, returns by POP two; Cortex-M33 Technical Reference Manual, ARM 100230, which gives "
    "no cycle table",
    sureness=Sureness(0.97, 1.05, "divisions 2 to 11, returns, fetch unit"),
    latencies={
        Result.ARITHMETIC: latency(1),
        Result.SHIFTED: _SECOND_STAGE,
        Result.EXTENDED_SUM: _SECOND_STAGE,
        Result.PRODUCT: _SECOND_STAGE,
        Result.SIMD: latency(2, stored=1),
        # (load/store) sums of products take them after one cycle, extended ones do not
        Result.WORD: latency(2, sum=1, stored=1),
        Result.NARROW: latency(2, sum=1, stored=1),
        # (fpu)
        Result.FLOAT: latency(2),
        Result.FLOAT_SUM_OF_PRODUCTS: latency(4, sum=3),
        Result.FLOAT_LOADED: latency(1),
        Result.FLOAT_MOVED: latency(2),
        Result.FLOAT_UNIT: latency(3),
    },
    pairing=Pairing(
        narrow_second=True,  # ("limited dual issue" and branching)
        second=frozenset((Kind.BRANCH, Kind.BRANCH_REGISTER, Kind.IF_THEN, Kind.NOP)),
    ),
    busy={Kind.DIVIDE: 6, Kind.FLOAT_DIVIDE: 14, Kind.BARRIER: 3, Kind.SYSTEM: 2},
    two_stage_flags=True,
    taken={
        Kind.BRANCH: 1,
        Kind.BRANCH_LINK: 1,
        Kind.BRANCH_REGISTER: 1,
        Kind.TABLE_BRANCH: 3,
    },
    refill=2,
    paired_taken=1,
    unaligned=1,
)
