"""What a variant's work costs on a core: `cost_table.json`, which `benchmarks.calibrate` makes.

    cycles = sum over the work's names of coefficient * amount

Coefficients are fitted to runs of sample layers; nothing here is written by hand.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

TABLE_FILE = Path(__file__).with_name("cost_table.json")

#: Cores without prices of their own: which one's they take. The same instructions at nearly the
#: same cost; for RISC-V the portable C of the same kernels, which M3 computes without DSP, too.
PRICED_AS = {
    "cortex-m0": "cortex-m0plus",
    "cortex-m85": "cortex-m55",
    "generic": "cortex-m0plus",
    "rv32imac": "cortex-m3",
    "rv32imc": "rv32imac",
    "hazard3": "rv32imac",
}


@dataclass(frozen=True)
class Prices:
    """Of one variant on one core. `error` is the largest relative misfit of the sample layers."""

    coefficients: Mapping[str, float]
    code_bytes: int
    error: float = 0.0

    def covers(self, work: Mapping[str, float]) -> bool:
        """Whether all of `work` was there already when the prices were found."""
        return bool(work) and work.keys() <= self.coefficients.keys()

    def reaches(self, work: Mapping[str, float]) -> bool:
        """Whether all of `work` has a price or is of a kind that has: "step wide" a "step"."""
        return bool(work) and all(map(self._kin, work))

    def cycles(self, work: Mapping[str, float]) -> float:
        """Estimate for `work`, which `reaches`; without a price as the dearest of its kind."""
        return sum(max(self._kin(name)) * amount for name, amount in work.items())

    def _kin(self, name: str) -> list[float]:
        """The price, or those of names that begin with the same word."""
        if name in self.coefficients:
            return [self.coefficients[name]]
        kind = name.partition(" ")[0]
        prices = self.coefficients.items()
        return [price for other, price in prices if other.partition(" ")[0] == kind]


@dataclass(frozen=True)
class CostTable:
    """All prices, by variant and core."""

    variants: Mapping[str, Mapping[str, Prices]]

    def prices(self, variant: str, core: str) -> Prices | None:
        """None for a variant that was not calibrated on the core."""
        rows = self.variants.get(variant, {})
        while core not in rows and core in PRICED_AS:
            core = PRICED_AS[core]
        return rows.get(core)


def read_cost_table(text: str) -> CostTable:
    """The table in the JSON `text`."""
    stored = json.loads(text)["variants"]
    return CostTable(
        {
            variant: {
                core: Prices(row["cycles"], row["code_bytes"], row["error"])
                for core, row in cores.items()
            }
            for variant, cores in stored.items()
        }
    )


@cache
def cost_table() -> CostTable:
    """The table that ships with the package."""
    return read_cost_table(TABLE_FILE.read_text(encoding="utf-8"))
