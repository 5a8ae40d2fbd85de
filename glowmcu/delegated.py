"""What a bundle says of an accelerator: which layers it computes, at what estimated cost, and why
the others stay with the core.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from glowmcu.lazy_dataclass import dataclass
from glowmcu.number_text import count as count_text


@dataclass(frozen=True)
class RegionEntry:
    """A region: `layer` is its turn in a run, `names` and `ops` those of the layers in it.

    `cycles` are estimated on the accelerator, `transfer_cycles` for operands and results, and
    `core_cycles` for the same layers on the core; all of the core's clock.
    """

    layer: int
    names: tuple[str, ...]
    ops: tuple[str, ...]
    cycles: int
    transfer_cycles: int
    core_cycles: int


@dataclass(frozen=True)
class StayEntry:
    """A layer of the core's, by its turn, and why."""

    layer: int
    reason: str


@dataclass(frozen=True)
class DelegationEntry:
    """`device` is what was asked for, `use_macro` hands regions to it; without, the core computes
    the same bytes. `estimated_by` says whose figures its cycles are.
    """

    device: str
    prefix: str
    use_macro: str
    estimated_by: str
    regions: tuple[RegionEntry, ...] = ()
    stays: tuple[StayEntry, ...] = ()
    #: All delegated layers in the order of the run, as `GLOWMCU_DELEGATED` numbers them.
    layers: tuple[str, ...] = ()
    #: Functions that the firmware has, by name.
    hooks: tuple[str, ...] = ()

    @property
    def summary(self) -> str:
        """How much went, in a sentence."""
        count = sum(len(region.names) for region in self.regions)
        if not count:
            return f"{self.device} computes nothing of this model"
        cycles = sum(region.cycles + region.transfer_cycles for region in self.regions)
        core = sum(region.core_cycles for region in self.regions)
        regions = "1 region" if len(self.regions) == 1 else f"{len(self.regions)} regions"
        return (
            f"{self.device} computes {count} layers in {regions}: about {count_text(cycles)} "
            f"cycles in place of {count_text(core)}, estimated by {self.estimated_by}"
        )


@dataclass(frozen=True)
class RegionNote:
    """What is known of a region before its place in the run is."""

    names: tuple[str, ...]
    ops: tuple[str, ...]
    cycles: int
    transfer_cycles: int
    core_cycles: int


@dataclass(frozen=True)
class DelegationNotes:
    """A division, by names of nodes; `places` are rules of placement that follow from it."""

    device: str
    estimated_by: str
    regions: Mapping[str, RegionNote] = field(default_factory=dict)
    stays: Mapping[str, str] = field(default_factory=dict)
    places: Mapping[str, str] = field(default_factory=dict)
