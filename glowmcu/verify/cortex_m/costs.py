"""What an instruction costs on each core, as data; `Flash` adds wait states.

Facts come from Arm's manuals and from what others measured on silicon, above all [jnk0le]
(github.com/jnk0le/random, "pipeline cycle test", doc/cortex_*.md). `in_order.py` and
`dual_issue.py` read the tables; README.md lists what neither knows.
"""

from __future__ import annotations

from dataclasses import replace

from glowmcu.lazy_dataclass import dataclass
from glowmcu.verify.cortex_m.cost_model import Core, Sureness
from glowmcu.verify.cortex_m.dual_issue_cores import CORTEX_M7, CORTEX_M33
from glowmcu.verify.cortex_m.in_order import Bus, InOrder
from glowmcu.verify.cortex_m.kinds import Kind


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
    sureness=Sureness(0.99, 1.01, "the manual's table is complete"),
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
    sureness=Sureness(0.99, 1.01, "the manual's table is complete"),
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
"""P of the Cortex-M3 and M4 tables, 1 to 3 cycles, for branches to an address in a register: those
to a label are known early and take 1 ([jnk0le], the template's loop), words loaded into the program
counter take 3 (the manuals' load/store timings)."""

_UNALIGNED = {1: 2, 2: 1, 3: 2}
"""A word at an odd address takes three accesses, at a half-word's two (the manuals)."""

_M3_M4 = {
    Kind.DIVIDE: 6,
    Kind.LOAD: 2,
    Kind.STORE: 2,
    Kind.BRANCH: 2,
    Kind.BRANCH_LINK: 2,
    Kind.BRANCH_REGISTER: 1 + _REFILL,
    Kind.TABLE_BRANCH: 6,
    Kind.BARRIER: 3,
    Kind.SYSTEM: 2,
}

CORTEX_M3 = InOrder(
    source="Cortex-M3 Technical Reference Manual, ARM DDI 0337, table 3-1 and load/store timings; "
    "overlaps of loads and stores by [jnk0le] cortex_m3m4.md; 32-bit instructions in two words by "
    "compendium.i-0.nl, instruction alignment; long products and divisions mid-range",
    sureness=Sureness(0.96, 1.04, "fetch unit, refills, long products 3 to 7, divisions 2 to 12"),
    cycles={
        **_M3_M4,
        Kind.MULTIPLY_ADD: 2,
        Kind.MULTIPLY_LONG: 4,
        Kind.MULTIPLY_ADD_LONG: 5,
    },
    refill=3,
    wide_target=1,
    wide_group=3,
    bus=Bus(unaligned=_UNALIGNED),
    address_stall=True,
    folds_it=True,
)

CORTEX_M4 = InOrder(
    source="Cortex-M4 Technical Reference Manual, ARM DDI 0439 / 100166, tables 3-1 and 7-1 and "
    "load/store timings; overlaps of loads and stores by [jnk0le] cortex_m3m4.md; 32-bit "
    "instructions in two words by compendium.i-0.nl, instruction alignment; divisions mid-range",
    sureness=Sureness(0.96, 1.02, "fetch unit, refills, divisions 2 to 12"),
    cycles={**_M3_M4, Kind.FLOAT_MULTIPLY_ADD: 3, Kind.FLOAT_DIVIDE: 14},
    refill=3,
    wide_target=1,
    wide_group=3,
    bus=Bus(indexed_joins=True, unaligned=_UNALIGNED),
    address_stall=True,
    folds_it=True,
    float_latency=True,
)

_CORES: dict[str, Core] = {
    "cortex-m0": CORTEX_M0,
    "cortex-m0plus": CORTEX_M0PLUS,
    "cortex-m3": CORTEX_M3,
    "cortex-m4": CORTEX_M4,
    "cortex-m7": CORTEX_M7,
    "cortex-m33": CORTEX_M33,
    "generic": CORTEX_M0PLUS,
}


def cost_table(core_name: str, slow_multiplier: bool = False) -> Core:
    """The costs of an emulated core; `slow_multiplier` concerns the M0 and M0+ only."""
    table = _CORES[core_name]
    if slow_multiplier and table in (CORTEX_M0, CORTEX_M0PLUS):
        assert isinstance(table, InOrder)
        return replace(table, cycles={**table.cycles, Kind.MULTIPLY: SLOW_MULTIPLIER_CYCLES})
    return table
