"""What a graph gives for many samples, in real numbers: by its operators' meaning, in batches."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from glowmcu.ir.graph import Graph
from glowmcu.ir.interpreter import run_graph
from glowmcu.ir.operation import Array
from glowmcu.quant.profiling import in_batches
from glowmcu.quant.samples import Sample, Samples
from glowmcu.quant.side_by_side import real_values, stored_values


def stored_samples(graph: Graph, samples: Samples) -> Samples:
    """Real samples as the inputs of `graph` store them."""

    def make() -> Iterator[Sample]:
        for sample in samples:
            yield tuple(
                stored_values(array, value.type) if array.dtype == np.float32 else array
                for array, value in zip(sample, graph.inputs, strict=True)
            )

    return Samples(make, samples.count)


def real_outputs(graph: Graph, samples: Samples) -> list[Array]:
    """Each output over all samples, `(samples, *shape)`, as real numbers."""
    found: list[list[Array]] = [[] for _ in graph.outputs]
    for lanes, _, inputs, count in in_batches(graph, samples):
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            outputs = run_graph(lanes, inputs)
        for parts, value, array in zip(found, graph.outputs, outputs, strict=True):
            parts.append(real_values(array, value.type).reshape(count, *value.type.shape))
    return [np.concatenate(parts) for parts in found]
