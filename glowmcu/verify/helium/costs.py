"""What an instruction costs on a core with Helium, as data.

Arm publishes no table. The figures are those of SLOTHY, a scheduler of assembly
(github.com/slothy-optimizer/slothy, slothy/targets/arm_v81m/cortex_m55r1.py and cortex_m85r1.py,
both "approximate" in their own words); `least` and `most` span what it leaves open.

Elements with addresses of their own, gathered or scattered, are charged one by one: SLOTHY and
LLVM's schedule of the Cortex-M55 (ARMScheduleM55.td) give such a load the two cycles of a
contiguous one, which holds where its words lie in memories beside each other; LLVM's vectorizer
(ARMTargetTransformInfo.cpp) takes all of them to be serialised, at the cost of scalar loads.
Interleaving loads and stores move 16 bytes in two cycles in both; SLOTHY waits longer for what a
VST4 stores.
"""

from __future__ import annotations

from dataclasses import field, replace

from glowmcu.lazy_dataclass import dataclass
from glowmcu.verify.cortex_m.cost_model import Sureness
from glowmcu.verify.helium.instructions import Kind

MEMORY = "load and store"
LOADS = "loads"
STORES = "stores"
INTEGER = "integers"
MULTIPLIER = "multiplier"
SCALARS = "scalars"

_ASSUMED = Sureness(
    0.9,
    1.1,
    "jumps, pairs of scalars, unaligned vectors, divisions and gathered elements are assumed",
)


@dataclass(frozen=True)
class HeliumCosts:
    """In-order issue of one instruction a cycle to units that work beside each other.

    `units` = which can do it, `busy` = cycles in which a unit takes nothing else (1 if not
    listed), `latency` = cycles until another instruction can read the result (1 if not listed).
    A product is stored `store_early` cycles before others can read it. `load_after_store`: a vector
    load two cycles behind a vector store waits one more. `shifted_result`, `shifted_operand`: the
    cycle more of a shift on the way comes after it, or before it. `sum_forwarded` = cycles until
    the same sum goes on. `taken` = cycles of a jump; a low-overhead loop's end costs them once.
    `words_per_cycle` of instructions that move several. A gathered or scattered vector is busy for
    `element_cycles` each, at least as long as another one. What is interleaved is read
    `interleave_early` cycles before it would be for another store.
    """

    source: str
    units: dict[Kind, tuple[str, ...]]
    latency: dict[Kind, int]
    busy: dict[Kind, int] = field(default_factory=dict)
    store_early: int = 1
    load_after_store: bool = False
    shifted_result: bool = False
    shifted_operand: bool = False
    sum_forwarded: int = 2
    taken: int = 2
    words_per_cycle: int = 2
    element_cycles: float = 1.0
    interleave_early: int = 2
    sureness: Sureness = _ASSUMED


_BEATS = dict.fromkeys(
    (
        Kind.VECTOR_LOAD,
        Kind.VECTOR_STORE,
        Kind.GATHER,
        Kind.SCATTER,
        Kind.DEINTERLEAVE,
        Kind.INTERLEAVE,
        Kind.VECTOR_INTEGER,
        Kind.VECTOR_SHIFT,
        Kind.VECTOR_BITS,
        Kind.VECTOR_MOVE,
        Kind.VECTOR_MULTIPLY,
        Kind.VECTOR_SUM,
        Kind.VECTOR_FLOAT,
    ),
    2,
)
"""Two beats of 32 bits a cycle: a vector takes two cycles of its unit."""

CORTEX_M55 = HeliumCosts(
    source="SLOTHY's model of the Cortex-M55 r1; divisions, scalar floats, jumps, how a sum goes "
    "on and a cycle for each gathered or scattered element are assumptions",
    units={
        Kind.LOAD: (MEMORY,),
        Kind.NARROW_LOAD: (MEMORY,),
        Kind.LOAD_SEVERAL: (MEMORY,),
        Kind.STORE: (MEMORY,),
        Kind.VECTOR_LOAD: (MEMORY,),
        Kind.VECTOR_STORE: (MEMORY,),
        Kind.GATHER: (MEMORY,),
        Kind.SCATTER: (MEMORY,),
        Kind.DEINTERLEAVE: (MEMORY,),
        Kind.INTERLEAVE: (MEMORY,),
        Kind.VECTOR_INTEGER: (INTEGER,),
        Kind.VECTOR_SHIFT: (INTEGER,),
        Kind.VECTOR_BITS: (INTEGER,),
        Kind.VECTOR_MOVE: (INTEGER, MULTIPLIER),
        Kind.VECTOR_MULTIPLY: (MULTIPLIER,),
        Kind.VECTOR_SUM: (MULTIPLIER,),
        Kind.VECTOR_FLOAT: (MULTIPLIER,),
        Kind.FLOAT: (MULTIPLIER,),
        Kind.FLOAT_MULTIPLY_ADD: (MULTIPLIER,),
    },
    latency={
        Kind.NARROW_LOAD: 2,
        Kind.LOAD_SEVERAL: 2,
        Kind.DEINTERLEAVE: 2,
        Kind.MULTIPLY: 2,
        Kind.DIVIDE: 6,
        Kind.FLOAT: 2,
        Kind.FLOAT_MULTIPLY_ADD: 3,
        Kind.VECTOR_SHIFT: 2,
        Kind.VECTOR_MULTIPLY: 2,
        Kind.VECTOR_FLOAT: 2,
        Kind.VECTOR_SUM: 3,
    },
    busy={**_BEATS, Kind.DIVIDE: 6},
    load_after_store=True,
    shifted_result=True,
)

CORTEX_M85 = HeliumCosts(
    source="SLOTHY's model of the Cortex-M85 r1, which issues scalars one by one; divisions, "
    "scalar floats, jumps, how a sum goes on and a cycle for each gathered or scattered element "
    "are assumptions",
    units={
        **CORTEX_M55.units,
        **dict.fromkeys((Kind.LOAD, Kind.NARROW_LOAD, Kind.LOAD_SEVERAL), (LOADS,)),
        **dict.fromkeys((Kind.GATHER, Kind.DEINTERLEAVE), (LOADS,)),
        **dict.fromkeys((Kind.STORE, Kind.SCATTER, Kind.INTERLEAVE), (STORES,)),
        Kind.VECTOR_LOAD: (LOADS,),
        Kind.VECTOR_STORE: (STORES,),
        Kind.VECTOR_BITS: (INTEGER, MULTIPLIER),
    },
    latency={
        **CORTEX_M55.latency,
        Kind.NARROW_LOAD: 3,
        Kind.FLOAT_MULTIPLY_ADD: 4,
        Kind.VECTOR_FLOAT: 3,
        Kind.VECTOR_SUM: 2,
    },
    busy={**_BEATS, Kind.DIVIDE: 6},
    shifted_operand=True,
)

HELIUM_COSTS = {"cortex-m55": CORTEX_M55, "cortex-m85": CORTEX_M85}


def least(costs: HeliumCosts) -> HeliumCosts:
    """What is assumed at its cheapest: jumps of one cycle, no wait of a load behind a store, two
    elements a cycle.
    """
    return replace(costs, taken=1, load_after_store=False, element_cycles=0.5, interleave_early=0)


def most(costs: HeliumCosts) -> HeliumCosts:
    """What is assumed at its dearest: jumps of three cycles, sums that go on with their latency,
    two cycles an element and four of 16 bytes that are interleaved.
    """
    late = {**costs.latency, Kind.LOAD: 2, Kind.FLOAT: 3, Kind.FLOAT_MULTIPLY_ADD: 5}
    busy = {**costs.busy, Kind.DIVIDE: 12, Kind.INTERLEAVE: 4, Kind.DEINTERLEAVE: 4}
    return replace(costs, taken=3, sum_forwarded=3, latency=late, busy=busy, element_cycles=2.0)
