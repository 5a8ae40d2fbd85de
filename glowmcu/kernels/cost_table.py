"""What a variant's work costs on a core: `cost_table.json`, which `benchmarks.calibrate` makes.

    cycles = sum over the work's names of coefficient * amount

Coefficients are fitted to runs of sample layers; nothing here is written by hand.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from glowmcu.cores import core, core_names
from glowmcu.lazy_dataclass import dataclass

TABLE_FILE = Path(__file__).with_name("cost_table.json")

#: Cores without unit costs of their own, and those whose they take. The same instructions at nearly
#: the same cost; for RISC-V the portable C of the same kernels, which M3 computes without DSP, too.
COSTS_AS = {
    "cortex-m0": "cortex-m0plus",
    "cortex-m85": "cortex-m55",
    "generic": "cortex-m0plus",
    "rv32imac": "cortex-m3",
    "rv32imc": "rv32imac",
    "hazard3": "rv32imac",
}


@cache
def costs_as(core_name: str) -> str:
    """The core whose unit costs it takes where it has none; empty where it takes no others."""
    if core_name in COSTS_AS or core_name not in core_names():
        return COSTS_AS.get(core_name, "")
    known = core(core_name)
    return known.costs_as if known.is_foreign else ""


@dataclass(frozen=True)
class UnitCosts:
    """Of one variant on one core. `error` is the largest relative misfit of the sample layers."""

    coefficients: Mapping[str, float]
    code_bytes: int
    error: float = 0.0

    def covers(self, work: Mapping[str, float]) -> bool:
        """Whether all of `work` was there already when the unit costs were found."""
        return bool(work) and work.keys() <= self.coefficients.keys()

    def can_estimate(self, work: Mapping[str, float]) -> bool:
        """Whether all of `work` has a unit cost or is of a kind that has: "step wide" a "step"."""
        return bool(work) and all(map(self._kin, work))

    def cycles(self, work: Mapping[str, float]) -> float:
        """Estimate for `work`, which `can_estimate`; without a unit cost as the dearest of its
        kind.
        """
        return sum(max(self._kin(name)) * amount for name, amount in work.items())

    def _kin(self, name: str) -> list[float]:
        """The unit cost, or those of names that begin with the same word."""
        if name in self.coefficients:
            return [self.coefficients[name]]
        kind = name.partition(" ")[0]
        unit_costs = self.coefficients.items()
        return [unit_cost for other, unit_cost in unit_costs if other.partition(" ")[0] == kind]


@dataclass(frozen=True)
class CostTable:
    """All unit costs, by variant and core."""

    variants: Mapping[str, Mapping[str, UnitCosts]]

    def unit_costs(self, variant: str, core_name: str) -> UnitCosts | None:
        """None for a variant that was not calibrated on the core."""
        rows = self.variants.get(variant, {})
        while core_name not in rows and costs_as(core_name):
            core_name = costs_as(core_name)
        return rows.get(core_name)


def read_cost_table(text: str) -> CostTable:
    """The table in the JSON `text`."""
    stored = json.loads(text)["variants"]
    return CostTable(
        {
            variant: {
                core: UnitCosts(row["cycles"], row["code_bytes"], row["error"])
                for core, row in cores.items()
            }
            for variant, cores in stored.items()
        }
    )


@cache
def cost_table() -> CostTable:
    """The table that ships with the package."""
    return read_cost_table(TABLE_FILE.read_text(encoding="utf-8"))
