"""How much of the inference a model that learns keeps for its gradient: plans compared.

Nothing between the first value and the last two that the gradient reads, or some; or not even the
first, so that the layers in front of those that learn come again, too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Protocol, TypeVar

from glowmcu.compilation import Options, Prepared
from glowmcu.goals import Goal
from glowmcu.ir.graph import Graph, Value
from glowmcu.learning.recompute import Recomputation, read_by_gradient, recomputed
from glowmcu.memory_fit import FittedPlan

#: Those that the gradient reads first: they would be made again at once.
_LAST = 2
#: How many times the cycles of the quickest plan, for all that a run with a label does, the least
#: arena may take.
MOST_TIMES = {Goal.BALANCED: 1.6, Goal.RAM: 2.0}
#: Products that are done a second time, of all, beyond which no plan would be.
_MOST_AGAIN = 1.5


class Fitted(Protocol):
    """What a fit gives."""

    @property
    def fit(self) -> FittedPlan:
        """The plan."""


_Found = TypeVar("_Found", bound=Fitted)


def fit_learning(
    model: Prepared, options: Options, fit: Callable[[Prepared, Options], _Found]
) -> _Found:
    """The plan for the goal of a model that learns: the least arena within its share of cycles; for
    others, or with an arena budget, the fewest cycles. Ways are compared by plans for `balanced`,
    which are made quickly. Raises what `fit` does.
    """
    if model.inference is None or not model.lowered.rates or options.kernels is not None:
        return fit(model, options)
    goal, most = options.goal, options.budgets.arena_bytes
    ways = [recomputed(model.lowered, ())]
    if most is not None or goal in MOST_TIMES:
        ways += _ways(model.lowered)
    models = {way: replace(model, lowered=way.graph) for way in ways}
    if len(ways) == 1:
        return fit(models[ways[0]], options)
    free = replace(options, goal=Goal.BALANCED, budgets=replace(options.budgets, arena_bytes=None))
    found = {way: fit(item, free) for way, item in models.items()}
    chosen = _within(found, most) if most is not None else _least(found, MOST_TIMES[goal])
    return found[chosen] if free == options else fit(models[chosen], options)


def _least(found: Mapping[Recomputation, Fitted], times: float) -> Recomputation:
    """The least arena that takes at most so many times the fewest cycles."""
    most = times * min(item.fit.cycles for item in found.values())
    quick = (way for way in found if found[way].fit.cycles <= most)
    return min(quick, key=lambda way: (found[way].fit.arena_bytes, found[way].fit.cycles))


def _within(found: Mapping[Recomputation, Fitted], most: int) -> Recomputation:
    """The quickest within a budget; if there is none, the least arena."""
    fitting = [way for way in found if found[way].fit.arena_bytes <= most]
    if not fitting:
        return min(found, key=lambda way: found[way].fit.arena_bytes)
    return min(fitting, key=lambda way: found[way].fit.cycles)


def _ways(graph: Graph) -> list[Recomputation]:
    """Graphs to plan, from the one that computes least again."""
    most = _MOST_AGAIN * sum(node.macs for node in graph.nodes)
    ways = [recomputed(graph, dropped) for dropped in _dropped(graph)]
    return sorted((way for way in ways if way.again <= most), key=lambda way: way.again)


def _dropped(graph: Graph) -> list[set[Value]]:
    """Sets of values that are not kept, each once."""
    values = read_by_gradient(graph)
    early = values[:-_LAST]
    # Of many, every so many-th kept: a segment is computed again from there.
    steps = sorted({2, 3, round(len(early) ** 0.5), max(len(early), 1)})
    ways = [{value for at, value in enumerate(early) if at % step} for step in steps if step > 1]
    unique = {frozenset(way): way for way in (*ways, set(early)) if way}
    return list(unique.values())
