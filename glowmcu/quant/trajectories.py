"""Samples of a model with states: what states hold is what the runs before left.

A sequence of samples is run from the beginning, and each of its samples goes with the states that
the float model has at that point. So profiling, comparison and rounding see trajectories, and need
not know that an input is a state.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from glowmcu.ir.graph import Graph
from glowmcu.ir.interpreter import run_graph
from glowmcu.quant.samples import Sample, Samples


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
    return Samples(make, sum(known) if len(known) == len(counts) else None)
