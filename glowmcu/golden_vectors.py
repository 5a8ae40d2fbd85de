"""What the self test of a bundle knows to be right: outputs of the meaning for inputs that show
most of the model's constants.
"""

from __future__ import annotations

from dataclasses import replace

from glowmcu.compilation import Prepared
from glowmcu.emit_c.golden_text import GoldenVector
from glowmcu.given_size import golden_vectors_at_sizes
from glowmcu.ir.exactness import exact_outputs
from glowmcu.ir.leeway import Run, leeway
from glowmcu.ir.vector_search import pattern_inputs, vector_runs

#: How many a bundle has at most; a stream has as many at a time.
_VECTORS = 4


def golden_vectors(model: Prepared) -> tuple[GoldenVector, ...]:
    """Of a model, or of each of its sizes, with how far float outputs may be off."""
    sizes, runs = model.sizes, []
    if sizes is None:
        chosen = vector_runs(model.imported, _VECTORS)
        found = tuple(GoldenVector(seed, outputs) for seed, outputs in chosen)
    else:
        found = golden_vectors_at_sizes(sizes, exact_outputs(model.imported))
    for vector in found:
        graph = model.imported
        if sizes is not None and vector.size is not None:
            graph = sizes.by_size[vector.size]
        runs.append(Run(graph, pattern_inputs(graph, vector.seed), vector.outputs))
    pairs = zip(found, leeway(runs), strict=True)
    return tuple(replace(vector, leeway=within) for vector, within in pairs)
