"""Samples of a model with states: what states hold is what the runs before left.

A sequence of samples is run from the beginning, and each of its samples goes with the states that
the float model has at that point. So profiling, comparison and rounding see trajectories, and need
not know that an input is a state.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from glowmcu.ir.graph import Graph
from glowmcu.ir.interpreter import Session, run_graph
from glowmcu.ir.operation import Array
from glowmcu.quant.real_outputs import stored_samples
from glowmcu.quant.samples import Sample, Samples
from glowmcu.quant.side_by_side import real_values

#: Runs of sequences, of which none can be run beside another.
MOST_STREAMED = 2000


def without_states(graph: Graph) -> Graph:
    """What samples are read for: the inputs that the application writes."""
    return replace(graph, inputs=graph.arguments, outputs=graph.results, states=())


def along_trajectories(graph: Graph, sequences: Sequence[Samples]) -> Samples:
    """The samples of all sequences, each with the states of `graph` behind its arguments."""

    def make() -> Iterator[Sample]:
        for sequence in sequences:
            states = [state.initial for state in graph.states]
            for sample in sequence:
                complete = (*sample, *states)
                yield complete
                # What overflows is for the profile to name.
                with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
                    states = run_graph(graph, complete)[len(graph.results) :]

    counts = [sequence.count for sequence in sequences]
    known = [count for count in counts if count is not None]
    count = sum(known) if len(known) == len(counts) else None
    return Samples(make, count, sequences=tuple(sequences))


def in_memory(graph: Graph, samples: Sequence[Sample], lengths: Sequence[int]) -> Samples:
    """Samples that were read, of a model with states from sequences of these lengths."""
    alone = [sample[: len(graph.arguments)] for sample in samples]
    ends = itertools.accumulate(lengths)
    parts = (alone[end - long : end] for end, long in zip(ends, lengths, strict=True))
    return replace(_repeatable(samples), sequences=tuple(map(_repeatable, parts)))


def _repeatable(samples: Sequence[Sample]) -> Samples:
    return Samples(lambda: iter(samples), len(samples))


def streamed_outputs(graph: Graph, sequences: Sequence[Samples], most: int) -> list[Array]:
    """Results of `graph` with states of its own, `(runs, *shape)` in real numbers: sequence by
    sequence from their beginnings, at most so many runs in all.
    """
    found: list[list[Array]] = [[] for _ in graph.results]
    runs = 0
    for sequence in sequences:
        session = Session(graph)
        for sample in stored_samples(without_states(graph), sequence.first(most - runs)):
            runs += 1
            with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
                results = session.run(sample)
            for parts, value, array in zip(found, graph.results, results, strict=True):
                parts.append(real_values(array, value.type))
    return [np.stack(parts) for parts in found]
