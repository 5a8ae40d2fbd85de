"""The plan that takes the least flash: arrays of constants by the code that is shortest, decoded to
the arena while their layer runs.

    flash = constants as stored + functions + decoders

Plans for little code and for balanced kernels are coded, and the smaller one is taken: kernels with
more code may store weights as they are, which codes better. So do those that store a byte for a
weight of four bits, of which a code of bytes may need less than half. What an array saves is known
before; where the arena has no room for all, those stay coded that save most for a byte of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field, replace

from glowmcu.goals import Budgets
from glowmcu.ir.graph import Node, Value
from glowmcu.ir.kernel_code import Coding, KernelCode
from glowmcu.kernels.kernel import Cost, Kernel
from glowmcu.kernels.selection.choices import Candidates
from glowmcu.kernels.selection.search import SIZE_SLOWDOWN, least_flash_set
from glowmcu.kernels.selection.select import Selection, code_bytes
from glowmcu.lazy_dataclass import dataclass
from glowmcu.memory_fit.coded_weights import coded, decoding_cycles
from glowmcu.memory_fit.fitted_plan import FittedPlan
from glowmcu.memory_fit.staging import Copy, largest_array, replanned, with_copies

#: Sets of codings that a bundle may use together.
_CODINGS = ((), (Coding.ENTROPY,), (Coding.NIBBLES,), (Coding.NIBBLES, Coding.ENTROPY))
#: Bytes of code that a call of a decoded layer has more than that of another, measured.
_CALL_BYTES = 28
#: Bytes of arena that are given for a byte of flash at most, and shares of the growth that all
#: layers would need at which plans are made.
_ARENA_FOR_FLASH, _SHARES = 8, (0.0, 0.25, 0.5)
#: Plans for one limit of the arena, each with a layer less that is coded.
_MOST_PLANS = 48
_ENDLESS = 1 << 40


@dataclass(frozen=True, eq=False)
class FlashSaver:
    """Codes plans for a core and for the bytes that the arena may take: the board's, None if
    nothing is known of it, and the budget's.
    """

    core_name: str
    budgets: Budgets
    room_bytes: int | None = None
    streamed_input: str | None = None
    external: frozenset[Value] = frozenset()
    #: Coded forms by layer and coding; the key keeps its code alive.
    _known: dict[tuple[KernelCode, Coding], KernelCode | None] = field(
        default_factory=dict, repr=False
    )

    def best(self, fits: Sequence[FittedPlan]) -> FittedPlan:
        """The plan with the least flash, coded; `fits` are of graphs that compute the same."""
        most = SIZE_SLOWDOWN * min(fit.cycles for fit in fits)
        found = [*fits, *(self.with_small_kernels(fit, most) for fit in fits)]
        found += [self._without_four_bits(fit, most) for fit in fits if _has_four_bits(fit)]
        return min(map(self.coded, found), key=_weighted_flash)

    def with_small_kernels(self, fit: FittedPlan, most_cycles: float) -> FittedPlan:
        """The plan with the kernels of least flash for layers of whole tensors, constants as they
        are; `fit` itself if that is smaller.
        """
        found = self._with_least_flash(fit, _candidates(fit), most_cycles)
        return found if _weighted_flash(found) < _weighted_flash(fit) else fit

    def _without_four_bits(self, fit: FittedPlan, most_cycles: float) -> FittedPlan:
        """The plan with kernels of least flash that store a byte for a weight of four bits."""
        candidates = {
            node: {k: cost for k, cost in found.items() if not k.stores_four_bits} or found
            for node, found in _candidates(fit).items()
        }
        return self._with_least_flash(fit, candidates, most_cycles)

    def _with_least_flash(
        self, fit: FittedPlan, candidates: Candidates, most_cycles: float
    ) -> FittedPlan:
        """The plan with the best of `candidates`; `fit` itself if that has no room or time."""
        rest = sum(
            chosen.row_cycles for node, chosen in fit.selections.items() if node not in candidates
        )
        small = least_flash_set(candidates, most_cycles - rest)
        exchanged = {}
        for node, kernel in small.items():
            chosen = fit.selections[node]
            if kernel is not chosen.kernel:
                other = chosen.exchanged(kernel)
                if other.code.operands == chosen.code.operands:
                    exchanged[node] = other
        if not exchanged:
            return fit
        found = replanned(fit, exchanged, self.streamed_input, self.external)
        is_larger = found.arena_bytes > self._most(fit) or found.cycles > most_cycles
        return fit if is_larger else found

    def coded(self, fit: FittedPlan) -> FittedPlan:
        """The plan with arrays in fewer bytes of flash; `fit` itself if that does not pay."""
        most = self._most(fit)
        copies = self._promising(fit)
        if not copies:
            return fit
        large = self._planned(fit, copies, most)
        growth = large.arena_bytes - fit.arena_bytes
        limits = {fit.arena_bytes + int(growth * share) for share in _SHARES if growth > 0}
        plans = [fit, large, *(self._planned(fit, copies, limit) for limit in sorted(limits))]
        return min(plans, key=_weighted_flash)

    def could_save(self, fit: FittedPlan) -> dict[Node, int]:
        """Bytes of flash that layers of whole tensors would save beside those that are coded."""
        return {node: int(copy.saved) for node, copy in self._promising(fit).items()}

    def _planned(self, fit: FittedPlan, copies: Mapping[Node, Copy], most: int) -> FittedPlan:
        return with_copies(fit, copies, most, self.streamed_input, self.external, _MOST_PLANS)

    def _most(self, fit: FittedPlan) -> int:
        limits = [_ENDLESS, *filter(None, (self.budgets.arena_bytes, self.room_bytes))]
        return max(min(limits), fit.arena_bytes)

    def _promising(self, fit: FittedPlan) -> dict[Node, Copy]:
        """By the set of codings that saves most, decoders counted."""
        sets = [self._copies(fit, codings) for codings in _CODINGS]
        return min(sets, key=lambda copies: _saved(fit, copies))

    def _copies(self, fit: FittedPlan, codings: Sequence[Coding]) -> dict[Node, Copy]:
        found = {}
        for node, chosen in fit.selections.items():
            if node in fit.cascaded:
                continue
            copies = [copy for coding in codings if (copy := self._copy(chosen, coding))]
            if copies:
                found[node] = max(copies, key=lambda copy: copy.saved)
        return found

    def _copy(self, chosen: Selection, coding: Coding) -> Copy | None:
        """The layer by this coding; None if that saves nothing."""
        key = chosen.code, coding
        if key not in self._known:
            self._known[key] = coded(chosen.code, coding)
        code = self._known[key]
        if code is None or code.staged is None:
            return None
        size, stored = array_bytes(chosen.code), code.staged.stored_bytes
        saved = size - stored - _CALL_BYTES
        if saved <= 0:
            return None
        own = chosen.cost
        cost = replace(
            own,
            cycles=own.cycles + decoding_cycles(coding, code.staged.size_bytes, self.core_name),
            flash_bytes=own.flash_bytes - (size - stored),
            layer_code_bytes=own.layer_code_bytes + _CALL_BYTES,
            scratch_bytes=code.scratch_bytes,
        )
        size_bytes = code.scratch_bytes - chosen.code.scratch_bytes
        return Copy(replace(chosen, code=code, cost=cost), float(saved), size_bytes)


def _candidates(fit: FittedPlan) -> Candidates:
    """Of layers of whole tensors."""
    return {
        node: _costs(chosen)
        for node, chosen in fit.selections.items()
        if node not in fit.cascaded and not chosen.bodies
    }


def _has_four_bits(fit: FittedPlan) -> bool:
    return any(chosen.kernel.stores_four_bits for chosen in fit.selections.values())


def _costs(chosen: Selection) -> dict[Kernel, Cost]:
    """Costs by variant that may compute a layer; of the chosen one alone if its scratch is
    limited.
    """
    known = {chosen.kernel_name: chosen.cost, **dict(chosen.alternatives)}
    limited = chosen.site is None or chosen.site.scratch_limit is not None
    variants = () if limited else chosen.possible
    return {chosen.kernel: chosen.cost} | {
        variant: known[variant.name] for variant in variants if variant.name in known
    }


def array_bytes(code: KernelCode) -> int:
    """Bytes of the largest array of a layer's parameters; 0 without one."""
    assert code.parameters is not None
    _, array = largest_array(code.parameters)
    return 0 if array is None else int(array.data.nbytes)


def _saved(fit: FittedPlan, copies: Mapping[Node, Copy]) -> float:
    """Bytes of flash more with these, negative if they pay."""
    chosen = {**fit.selections, **{node: copy.selection for node, copy in copies.items()}}
    more = code_bytes(chosen.values()) - code_bytes(fit.selections.values())
    return more + sum(
        copy.selection.cost.flash_bytes - fit.selections[node].cost.flash_bytes
        for node, copy in copies.items()
    )


def _weighted_flash(fit: FittedPlan) -> float:
    """Bytes of flash, with those that its arena is worth."""
    return fit.flash_bytes + fit.arena_bytes / _ARENA_FOR_FLASH
