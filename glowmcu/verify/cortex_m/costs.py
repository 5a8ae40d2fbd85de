"""What each core's documentation says an instruction costs, as data; `Flash` adds wait states.

`InOrder` is for the single-issue cores with published tables: costs add up, with the few overlaps
that the manuals describe. `Scoreboard` is for cores whose timing Arm does not publish: issue
slots and result latencies, an approximation. README.md lists what neither knows.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from glowmcu.verify.cortex_m.decode import Kind


@dataclass(frozen=True)
class InOrder:
    """Costs that add up.

    `cycles` by kind, 1 where not listed; memory kinds that move several words cost 1 + words.
    Whatever continues elsewhere pays `refill` on top, unless its kind's cost already is a branch's.
    `pipelined_loads`: a load right after a load whose result is not its address takes 1 cycle; a
    store with an immediate offset always does. `address_stall`: an address computed by the
    instruction before waits 1 cycle. `folds_it`: IT is free after a 16-bit instruction.
    `float_latency`: 1 cycle more when the next instruction reads a float result.
    """

    source: str
    cycles: dict[Kind, int]
    refill: int
    pipelined_loads: bool = False
    address_stall: bool = False
    folds_it: bool = False
    float_latency: bool = False


@dataclass(frozen=True)
class Scoreboard:
    """In-order issue of up to `width` instructions a cycle.

    `latency` = cycles until another instruction can read the result (1 unless listed); `busy` =
    cycles in which nothing else issues (1 unless listed). At most `memory_slots` loads and one
    store or multiply or branch or shifted operand go together. Multi-word accesses take
    `1 + n / words_per_cycle`. Branches are taken as predicted: `taken` cycles of refill.
    """

    source: str
    width: int
    latency: dict[Kind, int]
    busy: dict[Kind, int] = field(default_factory=dict)
    memory_slots: int = 1
    words_per_cycle: int = 1
    taken: int = 1


@dataclass(frozen=True)
class Flash:
    """A flash with wait states, for code and constants; simple on purpose, for every chip differs.

    Fetches in a straight line are prefetched and free. A jump waits, and so does a read of data (a
    literal, a weight) from another line than the last read's. A chip's caches would hide a part.
    `elsewhere` are addresses (first, end) with wait states of their own: other memories.
    """

    wait_states: int = 0
    line_bytes: int = 16
    elsewhere: tuple[tuple[int, int, int], ...] = ()

    @property
    def waits(self) -> bool:
        """Whether anything does."""
        return self.wait_states > 0 or any(states for *_, states in self.elsewhere)

    def waits_at(self, address: int) -> int:
        """Wait states of the memory at `address`."""
        for first, end, states in self.elsewhere:
            if first <= address < end:
                return states
        return self.wait_states


CORTEX_M0 = InOrder(
    source="Cortex-M0 Technical Reference Manual, ARM DDI 0432, table 3-1; 1-cycle multiplier",
    cycles={
        Kind.LOAD: 2,
        Kind.STORE: 2,
        Kind.BRANCH: 3,
        Kind.BRANCH_LINK: 4,
        Kind.BRANCH_REGISTER: 3,
        Kind.BARRIER: 4,
        Kind.SYSTEM: 4,
    },
    refill=2,
)

CORTEX_M0PLUS = InOrder(
    source="Cortex-M0+ Technical Reference Manual, ARM DDI 0484, table 3-1; 1-cycle multiplier",
    cycles={
        Kind.LOAD: 2,
        Kind.STORE: 2,
        Kind.BRANCH: 2,
        Kind.BRANCH_LINK: 3,
        Kind.BRANCH_REGISTER: 2,
        Kind.BARRIER: 3,
        Kind.SYSTEM: 3,
    },
    refill=1,
)

SLOW_MULTIPLIER_CYCLES = 32
"""MULS on an M0 or M0+ that was synthesized with the small multiplier."""

_REFILL = 2
"""P of the Cortex-M3 and M4 tables, 1 to 3 cycles depending on alignment and prefetch."""

CORTEX_M3 = InOrder(
    source="Cortex-M3 Technical Reference Manual, ARM DDI 0337, table 3-1 and load/store timings; "
    "long products and divisions by the middle of their published range",
    cycles={
        Kind.MULTIPLY_ADD: 2,
        Kind.MULTIPLY_LONG: 4,
        Kind.MULTIPLY_ADD_LONG: 5,
        Kind.DIVIDE: 6,
        Kind.LOAD: 2,
        Kind.STORE: 2,
        Kind.BRANCH: 1 + _REFILL,
        Kind.BRANCH_LINK: 1 + _REFILL,
        Kind.BRANCH_REGISTER: 1 + _REFILL,
        Kind.TABLE_BRANCH: 2 + _REFILL,
        Kind.BARRIER: 3,
        Kind.SYSTEM: 2,
    },
    refill=_REFILL,
    pipelined_loads=True,
    address_stall=True,
    folds_it=True,
)

CORTEX_M4 = InOrder(
    source="Cortex-M4 Technical Reference Manual, ARM DDI 0439 / 100166, tables 3-1 and 7-1 and "
    "load/store timings; divisions by the middle of their published range",
    cycles={
        Kind.DIVIDE: 6,
        Kind.LOAD: 2,
        Kind.STORE: 2,
        Kind.BRANCH: 1 + _REFILL,
        Kind.BRANCH_LINK: 1 + _REFILL,
        Kind.BRANCH_REGISTER: 1 + _REFILL,
        Kind.TABLE_BRANCH: 2 + _REFILL,
        Kind.BARRIER: 3,
        Kind.SYSTEM: 2,
        Kind.FLOAT_MULTIPLY_ADD: 3,
        Kind.FLOAT_DIVIDE: 14,
    },
    refill=_REFILL,
    pipelined_loads=True,
    address_stall=True,
    folds_it=True,
    float_latency=True,
)

CORTEX_M7 = Scoreboard(
    source="approximation: Cortex-M7 Technical Reference Manual, ARM DDI 0489 (six-stage, "
    "dual-issue, 64-bit load path, branch predictor), which gives no cycle table",
    width=2,
    latency={
        Kind.LOAD: 2,
        Kind.LOAD_MULTIPLE: 2,
        Kind.MULTIPLY: 2,
        Kind.MULTIPLY_ADD: 2,
        Kind.MULTIPLY_LONG: 2,
        Kind.MULTIPLY_ADD_LONG: 2,
        Kind.FLOAT: 3,
        Kind.FLOAT_MULTIPLY_ADD: 5,
        Kind.FLOAT_LOAD: 2,
    },
    busy={Kind.DIVIDE: 7, Kind.FLOAT_DIVIDE: 14, Kind.BARRIER: 6, Kind.SYSTEM: 2},
    memory_slots=2,
    words_per_cycle=2,
)

CORTEX_M33 = Scoreboard(
    source="approximation: Cortex-M33 Technical Reference Manual, ARM 100230 (three-stage, "
    "in-order), which gives no cycle table; its limited dual issue is left out",
    width=1,
    latency={
        Kind.LOAD: 2,
        Kind.LOAD_MULTIPLE: 2,
        Kind.FLOAT: 2,
        Kind.FLOAT_MULTIPLY_ADD: 3,
        Kind.FLOAT_LOAD: 2,
    },
    busy={Kind.DIVIDE: 6, Kind.FLOAT_DIVIDE: 14, Kind.BARRIER: 3, Kind.SYSTEM: 2},
)

_CORES: dict[str, InOrder | Scoreboard] = {
    "cortex-m0": CORTEX_M0,
    "cortex-m0plus": CORTEX_M0PLUS,
    "cortex-m3": CORTEX_M3,
    "cortex-m4": CORTEX_M4,
    "cortex-m7": CORTEX_M7,
    "cortex-m33": CORTEX_M33,
    "generic": CORTEX_M0PLUS,
}


def cost_table(core_name: str, slow_multiplier: bool = False) -> InOrder | Scoreboard:
    """The costs of an emulated core; `slow_multiplier` concerns the M0 and M0+ only."""
    table = _CORES[core_name]
    if slow_multiplier and table in (CORTEX_M0, CORTEX_M0PLUS):
        assert isinstance(table, InOrder)
        return replace(table, cycles={**table.cycles, Kind.MULTIPLY: SLOW_MULTIPLIER_CYCLES})
    return table
