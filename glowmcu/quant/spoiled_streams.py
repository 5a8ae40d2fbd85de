"""What a layer's own error does along sequences: in a model with states it goes on from run to run.

Each site has a lane: a stream from the beginning of a sequence in which it alone is spoiled, with
states of its own, and all else is float. Lanes run at once where the graph allows it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from glowmcu.ir.graph import Graph, Value
from glowmcu.ir.interpreter import bind_inputs
from glowmcu.ir.operation import Array
from glowmcu.quant.batching import batched, batches_agree
from glowmcu.quant.own_errors import Site, alone, masked_of, sites_of
from glowmcu.quant.ranges import Range
from glowmcu.quant.samples import Sample, Samples
from glowmcu.quant.side_by_side import (
    SideBySide,
    Tensors,
    node_results,
    real_values,
    run_tensors,
    stored_values,
)


class SpoiledRun(NamedTuple):
    """Results of float, and those of each site's lane."""

    wanted: list[Array]
    spoiled: list[list[Array]]


def spoiled_runs(both: SideBySide, sequences: Sequence[Samples], most: int) -> Iterator[SpoiledRun]:
    """Sequence by sequence from their beginnings, at most so many runs in all; the sites are in the
    order of `sites_of`.
    """
    groups, runs, reference = list[_Lanes](), 0, both.reference
    for sequence in sequences:
        states = [state.initial for state in reference.states]
        for lanes in groups:
            lanes.begin()
        for sample in sequence.first(most - runs):
            runs += 1
            inputs = [*sample, *states]
            real = run_tensors(reference, inputs)
            if not groups:
                groups = _grouped(both, sequence, inputs)
            masked = masked_of(both, real)
            spoiled = [lane for lanes in groups for lane in lanes.run(sample, masked)]
            yield SpoiledRun([real[value] for value in reference.results], spoiled)
            states = [real[value] for value in reference.assigned]


def _grouped(both: SideBySide, sequence: Samples, inputs: Sequence[Array]) -> list[_Lanes]:
    """All lanes in one where samples can be run at once, else each by itself."""
    sites, first = sites_of(both), list(sequence.first(2))
    stored = run_tensors(both.quantized, both.quantized_inputs(inputs))
    probe = [(*sample, *inputs[len(sample) :]) for sample in first]
    if len(probe) == 2 and batches_agree(both.reference, probe):
        return [_Lanes(both, sites, stored)]
    return [_Lanes(both, [site], stored) for site in sites]


class _Lanes:
    """Streams of some sites, next to each other. `stored` has the constants of integers."""

    def __init__(self, both: SideBySide, sites: Sequence[Site], stored: Tensors) -> None:
        self._both, self._stored, self._count = both, stored, len(sites)
        many = batched(both.reference, len(sites)) if len(sites) > 1 else None
        self._graph: Graph = both.reference if many is None else many[0]
        self._of: dict[Value, Value] = {} if many is None else many[1]
        self._lanes: dict[Value, list[tuple[int, Site]]] = {}
        for lane, site in enumerate(sites):
            self._lanes.setdefault(self._here(site[0]), []).append((lane, site))
        self.begin()

    def begin(self) -> None:
        """Another sequence."""
        self._states = [self._repeated(state.initial) for state in self._both.reference.states]

    def run(self, sample: Sample, masked: dict[Value, Range]) -> list[list[Array]]:
        """Results of each lane."""
        graph, results = self._graph, self._both.reference.results
        tensors = bind_inputs(graph, [*map(self._repeated, sample), *self._states])
        for value in graph.inputs:
            self._spoil(value, tensors, masked)
        for node in graph.nodes:
            tensors.update(zip(node.outputs, node_results(graph, node, tensors), strict=True))
            for value in node.outputs:
                self._spoil(value, tensors, masked)
        self._states = [tensors[value] for value in graph.assigned]
        return [[self._lane(v, tensors, lane) for v in results] for lane in range(self._count)]

    def _spoil(self, value: Value, tensors: Tensors, masked: dict[Value, Range]) -> None:
        for lane, (origin, made, node) in self._lanes.get(value, ()):
            now = self._lane(origin, tensors, lane)
            if node is None:
                now = real_values(stored_values(now, made.type), made.type)
            else:
                counterpart = self._both.reference.producers[origin]
                real = {v: self._lane(v, tensors, lane) for v in counterpart.inputs}
                own = alone(self._both, node, real, self._stored, masked)
                now = now + own[node.outputs.index(made)][1]
            tensors[value] = self._with_lane(origin, tensors[value], lane, now)

    def _here(self, value: Value) -> Value:
        """What a tensor of the float graph is where all lanes run at once."""
        return self._of.get(value, value)

    def _axis(self, value: Value) -> int | None:
        """Where the lanes of a tensor are; None of what they share, or have for themselves."""
        pairs = zip(value.type.shape, self._here(value).type.shape, strict=True)
        return next((axis for axis, (one, many) in enumerate(pairs) if one != many), None)

    def _lane(self, value: Value, tensors: Tensors, lane: int) -> Array:
        array, axis = tensors[self._here(value)], self._axis(value)
        return array if axis is None else array.take([lane], axis)

    def _with_lane(self, value: Value, array: Array, lane: int, now: Array) -> Array:
        axis = self._axis(value)
        if axis is None:
            return now
        changed = np.array(array)
        changed[(slice(None),) * axis + (slice(lane, lane + 1),)] = now
        return changed

    def _repeated(self, array: Array) -> Array:
        return array if self._count == 1 else np.concatenate([array] * self._count)
