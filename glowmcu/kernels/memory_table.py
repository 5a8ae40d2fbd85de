"""What a variant's work reads and fetches: `memory_table.json`, from `benchmarks.calibrate_memory`.

    misses = sum over the work's names of coefficient * amount

Each kind of `Traffic` counts what one size of cache misses. No board is in the table: what its
memories add to a layer follows from the misses of caches like its own (`common/memory_waits.py`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from enum import Enum
from functools import cache
from pathlib import Path

from glowmcu.kernels.cost_table import UnitCosts, costs_as
from glowmcu.lazy_dataclass import dataclass

TABLE_FILE = Path(__file__).with_name("memory_table.json")
#: Of the caches that misses were counted with, which replaced the line used least recently.
LINE_BYTES = 16

#: Cores without rows of their own, and those whose they take beside `costs_as`: the same loops.
_TRAFFIC_AS = {"cortex-m7": "cortex-m4", "cortex-m33": "cortex-m4"}


class Traffic(Enum):
    """What is counted: reads of constants where no cache is, or lines that a cache misses.

    `JUMPS` are lines of code that are waited for though the line behind each is read ahead.
    """

    READS = "reads"
    CODE_2K = "code lines of 2048"
    JUMPS_256 = "jumps of 256"
    JUMPS_1K = "jumps of 1024"

    @property
    def cache_bytes(self) -> int:
        """Size of the cache; 0 without one."""
        word = self.value.rpartition(" ")[2]
        return int(word) if word.isdigit() else 0

    @property
    def is_data(self) -> bool:
        """Whether it is about constants, not code."""
        return self is Traffic.READS

    @property
    def is_prefetched(self) -> bool:
        """Whether the next line of code is read meanwhile."""
        return self.value.startswith("jumps")


@dataclass(frozen=True)
class UnitMisses:
    """Of one variant on one core: misses a unit of work. `read_bytes`: how far one read of
    constants is from the next, on average: a word or a byte.
    """

    units: Mapping[Traffic, UnitCosts]
    read_bytes: float

    def of(self, work: Mapping[str, float]) -> Misses | None:
        """Those of this work; None for work that no unit is known of."""
        if not all(unit.can_estimate(work) for unit in self.units.values()):
            return None
        counts = {traffic: unit.cycles(work) for traffic, unit in self.units.items()}
        return Misses(counts, counts[Traffic.READS] * self.read_bytes)


@dataclass(frozen=True)
class Misses:
    """Of one layer, by traffic; `bytes_read` of constants."""

    counts: Mapping[Traffic, float]
    bytes_read: float


@dataclass(frozen=True)
class MemoryTable:
    """Misses a unit of work, by variant and core."""

    variants: Mapping[str, Mapping[str, UnitMisses]]

    def unit_misses(self, variant: str, core: str) -> UnitMisses | None:
        """None for a variant that was not calibrated on the core."""
        rows = self.variants.get(variant, {})
        while core not in rows and (other := _TRAFFIC_AS.get(core) or costs_as(core)):
            core = other
        return rows.get(core)


def read_memory_table(text: str) -> MemoryTable:
    """The table in the JSON `text`."""
    stored = json.loads(text)["variants"]
    return MemoryTable(
        {
            variant: {
                core: UnitMisses(
                    {
                        traffic: UnitCosts(
                            row["misses"][traffic.value], 0, row["error"][traffic.value]
                        )
                        for traffic in Traffic
                    },
                    row["read_bytes"],
                )
                for core, row in cores.items()
            }
            for variant, cores in stored.items()
        }
    )


@cache
def memory_table() -> MemoryTable:
    """The table that ships with the package."""
    return read_memory_table(TABLE_FILE.read_text(encoding="utf-8"))
