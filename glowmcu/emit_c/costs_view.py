"""What a bundle says of its stack, time and code, and how that was found."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from glowmcu.emit_c.build_views import Chosen, Layers
from glowmcu.emit_c.stack_bound import StackBounds, stack_bounds
from glowmcu.instrument import Instrument
from glowmcu.ir.graph import Node
from glowmcu.ir.program import Program
from glowmcu.lazy_dataclass import dataclass
from glowmcu.manifest import CostEntry
from glowmcu.stack_use import KnownCosts

_VERSION = re.compile(r"^(\S+) .*?(\d+\.\d+\.\d+)")
#: Digits of an estimate that mean something.
_DIGITS = 3


@dataclass(frozen=True)
class StackView:
    """A C function of the bundle and the bytes of stack that it takes at most; `macro` says so."""

    function: str
    macro: str
    bytes: int


@dataclass(frozen=True)
class CostsView:
    """`stacks` of the header's functions and `selftest`; without any `why` is the reason.
    `cycles` and `code_bytes` are 0 if they are not known.
    """

    core: str
    optimization: str
    compiler: str
    stacks: tuple[StackView, ...] = ()
    selftest: StackView | None = None
    why: str = ""
    cycles: int = 0
    code_bytes: int = 0

    @property
    def stack_found(self) -> str:
        """How stacks were found, in a clause; empty if they were not."""
        if not self.stacks:
            return ""
        return f"walked in the machine code of {self.compiler} {self.optimization} for {self.core}"

    @property
    def all_stacks(self) -> tuple[StackView, ...]:
        """Of the header and of the self test."""
        return self.stacks + ((self.selftest,) if self.selftest else ())


def costs_view(
    known: KnownCosts | None,
    names: Mapping[str, str],
    program: Program,
    chosen: Mapping[Node, Chosen],
    body: Layers,
    instrument: Instrument,
    for_size: bool,
) -> CostsView:
    """`names` are the C functions of the bundle's entry points, the one that infers first."""
    if known is None:
        known = KnownCosts("")
    bounds = _bounds(known, names, program, chosen, body, instrument)
    prefix = names["infer"].rpartition("_")[0].upper()
    stacks = [
        StackView(names[entry], _macro(prefix, entry, names), size)
        for entry, size in bounds.entries.items()
    ]
    found = _VERSION.match(bounds.compiler)
    return CostsView(
        core=known.core,
        optimization="-Os" if for_size else "-O2",
        compiler=f"{found[1]} {found[2]}" if found else bounds.compiler,
        stacks=tuple(item for item in stacks if item.function != names["selftest"]),
        selftest=next((item for item in stacks if item.function == names["selftest"]), None),
        why=bounds.why,
        cycles=_rounded(known.cycles),
        code_bytes=_rounded(known.code_bytes),
    )


def cost_entry(view: CostsView | None) -> CostEntry:
    """The same for the manifest."""
    if view is None:
        return CostEntry()
    return CostEntry(
        stack_bytes={item.function: item.bytes for item in view.all_stacks},
        stack_found=view.stack_found or view.why,
        cycles_estimate=view.cycles or None,
        code_bytes_estimate=view.code_bytes or None,
    )


def _bounds(
    known: KnownCosts,
    names: Mapping[str, str],
    program: Program,
    chosen: Mapping[Node, Chosen],
    body: Layers,
    instrument: Instrument,
) -> StackBounds:
    if known.stacks is None:
        named = known.core not in ("", "generic")
        why = f"it was not measured on {known.core}" if named else "the board names no core"
        return StackBounds({}, why=why)
    if instrument is not Instrument.OFF:
        return StackBounds({}, why="an observer may take any")
    bounds = stack_bounds(program, chosen, body, known.stacks, names)
    if known.second_stacks is None or bounds.why or "help" not in names:
        return bounds
    # The second core's compiler may take more of the stack for the same function.
    second = stack_bounds(program, chosen, body, known.second_stacks, names)
    if second.why:
        return second
    more = max(bounds.entries["help"], second.entries["help"])
    return replace(bounds, entries={**bounds.entries, "help": more})


def _macro(prefix: str, entry: str, names: Mapping[str, str]) -> str:
    """`KWS_STACK_BYTES` of the function that infers, else with the entry's name in it."""
    if entry == next(iter(names)):
        return f"{prefix}_STACK_BYTES"
    return f"{prefix}_{'RUN_STEPS' if entry == 'steps' else entry.upper()}_STACK_BYTES"


def _rounded(number: int) -> int:
    """What of an estimate may be said."""
    digits = len(str(number)) - _DIGITS
    return round(number, -digits) if digits > 0 else number
