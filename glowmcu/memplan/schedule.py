"""The order of runs with the least peak: best-first search over sets of runs, then beam search.

Two orders with the same set of runs done need the same from there on, so each set is expanded once,
sets with the least peak so far first; the first complete one is optimal. A ready run that lowers
(or keeps) the bytes alive without passing the peak is taken at once: done later it frees no more,
and what comes between has no more room. The given order stays where it is as good as any.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Hashable
from dataclasses import field
from typing import NamedTuple

from glowmcu.ir.program import Program
from glowmcu.lazy_dataclass import dataclass
from glowmcu.memplan.instructions import arranged
from glowmcu.memplan.order_model import OrderModel, indices

#: Ready runs that the exact search may look at: MLPerf-size graphs need a few dozen. Many sets of
#: runs have as many ready ones as a graph has branches, so a budget of sets would bound nothing.
SEARCH_BUDGET = 20_000
#: Ready runs that the beam search may look at, of which each place in the order has a like part.
BEAM_BUDGET = 100_000
BEAM_WIDTH = 16
#: Both where the model learns: so many of its runs may come at any time that a search would take
#: long to find what a narrow one does, too.
_LEARNING_BUDGET, _LEARNING_BEAM = 4_000, 4


@dataclass(frozen=True)
class Schedule:
    """Peaks, here and in the given order, count results in place if the order allows it."""

    program: Program
    peak_bytes: int
    given_peak_bytes: int
    proved: bool
    states: int


@dataclass(frozen=True, eq=False)
class OrderMemory:
    """Orders found, by all that a search looks at: plans of one network often ask the same."""

    found: dict[Hashable, _Found] = field(default_factory=dict, repr=False)


class _Found(NamedTuple):
    """`order`: None if the given one is as good as any."""

    order: list[int] | None
    proved: bool
    states: int


def schedule(
    program: Program,
    search_budget: int = SEARCH_BUDGET,
    beam_width: int = BEAM_WIDTH,
    memory: OrderMemory | None = None,
) -> Schedule:
    """The program in the best order found."""
    if any(rate.argument for rate in program.rates):
        search_budget = min(search_budget, _LEARNING_BUDGET)
        beam_width = min(beam_width, _LEARNING_BEAM)
    model = OrderModel(program)
    given = list(range(model.count))
    given_peak = model.peak(given)
    if given_peak == model.bound_bytes:
        return Schedule(program, given_peak, given_peak, True, 0)
    known = memory.found if memory is not None else {}
    key = (model.key, given_peak, search_budget, beam_width)
    if key not in known:
        known[key] = _order(model, given_peak, search_budget, beam_width)
    found, proved, states = known[key]
    if found is None:
        return Schedule(program, given_peak, given_peak, proved, states)
    runs = [program.runs[index] for index in found]
    ordered = arranged(program, runs, program.views.values())
    return Schedule(ordered, model.peak(found), given_peak, proved, states)


class _Path(NamedTuple):
    """The last run of an order and what went before: shared tails instead of lists."""

    run: int
    before: _Path | None

    def order(self) -> list[int]:
        found, path = [], self
        while True:
            found.append(path.run)
            if path.before is None:
                return found[::-1]
            path = path.before


class _State(NamedTuple):
    done: int
    ready: int
    alive_bytes: int
    peak_bytes: int
    path: _Path | None

    @property
    def sort_key(self) -> tuple[int, int, int]:
        """Least peak, then most runs done, then fewest bytes alive."""
        return self.peak_bytes, -self.done.bit_count(), self.alive_bytes


def _first(model: OrderModel) -> _State:
    peak = max(model.start_bytes, model.end_bytes)
    return _State(0, model.ready(0), model.first_bytes, peak, None)


def _step(model: OrderModel, state: _State, index: int) -> _State:
    step = model.transition(state.done, state.alive_bytes, index)
    done = state.done | model.runs[index].bit
    peak = max(state.peak_bytes, step.during_bytes)
    ready = model.ready_after(state.ready, done, index)
    return _State(done, ready, step.after_bytes, peak, _Path(index, state.path))


def _tried(model: OrderModel, state: _State, most: int | None) -> list[int]:
    """Ready runs; of more than `most` those first that need the last one: they may free memory."""
    if most is None or state.path is None or state.ready.bit_count() <= most:
        return indices(state.ready)[:most]
    near = state.ready & model.followers[state.path.run]
    return (indices(near) + indices(state.ready & ~near))[:most]


def _successors(
    model: OrderModel, state: _State, below_bytes: int, most: int | None = None
) -> list[_State]:
    """States after one more run whose peak stays below the limit; a safe run stands alone."""
    found = []
    for index in _tried(model, state, most):
        after = _step(model, state, index)
        if after.alive_bytes <= state.alive_bytes and after.peak_bytes == state.peak_bytes:
            return [after]
        if after.peak_bytes < below_bytes:
            found.append(after)
    return found


def _order(model: OrderModel, below_bytes: int, budget: int, beam_width: int) -> _Found:
    found = _search(model, below_bytes, budget)
    return found if found.proved else found._replace(order=_beam(model, below_bytes, beam_width))


def _search(model: OrderModel, below_bytes: int, budget: int) -> _Found:
    """An order with the least peak below the limit, whether that is proved, states expanded."""
    first = _first(model)
    turns = itertools.count()
    queue = [(first.sort_key, next(turns), first)]
    seen = {first.done: first.peak_bytes}
    expanded = tried = 0
    while queue:
        _, _, state = heapq.heappop(queue)
        if state.path is not None and state.done == model.all_done:
            return _Found(state.path.order(), True, expanded)
        tried += state.ready.bit_count()
        if tried > budget:
            return _Found(None, False, expanded)
        expanded += 1
        for after in _successors(model, state, below_bytes):
            if after.peak_bytes < seen.get(after.done, below_bytes):
                seen[after.done] = after.peak_bytes
                heapq.heappush(queue, (after.sort_key, next(turns), after))
    return _Found(None, True, expanded)


def _beam(model: OrderModel, below_bytes: int, width: int) -> list[int] | None:
    """A good order below the limit, or None: the `width` best sets of each size survive."""
    states = [_first(model)]
    for _ in range(model.count):
        best: dict[int, _State] = {}
        left = max(1, BEAM_BUDGET // model.count)
        for state in states:
            for after in _successors(model, state, below_bytes, left):
                other = best.get(after.done)
                if other is None or after.sort_key < other.sort_key:
                    best[after.done] = after
            left -= state.ready.bit_count()
            if left <= 0:
                break
        states = sorted(best.values(), key=lambda state: (*state.sort_key, state.done))[:width]
        if not states:
            return None
    path = states[0].path
    return path.order() if path is not None else None
