"""The passes that a float graph goes through before it is profiled and quantized.

All are exact in real numbers, but for the digits that exporters give of a square root;
`bound_masks` is where a softmax gives any. What they fold away needs no scale of its own: a ReLU
behind its layer costs nothing, and a range is measured where int8 will really stand.
"""

from __future__ import annotations

from glowmcu.ir.graph import Graph
from glowmcu.lowering import (
    bound_masks,
    expand_definitions,
    fold_activation_float,
    fold_batch_norm,
    fold_constants,
    fold_gain_into_readers,
    fold_padding,
    forward_parts,
    merge_common_subexpressions,
    merge_repeated_layers,
    merge_transposes,
    recognize_dense_layers,
    recognize_functions,
    recognize_recurrences,
    remove_dead_nodes,
    remove_identities,
    sink_reshapes,
    sink_transposes,
    split_recurrences,
)
from glowmcu.lowering.passes import NamedPass, PassObserver

FLOAT_PASSES: tuple[NamedPass, ...] = (
    ("remove_dead_nodes", remove_dead_nodes.run),
    ("fold_constants", fold_constants.run),
    ("recognize_dense_layers", recognize_dense_layers.run),
    ("expand_definitions", expand_definitions.run),
    ("bound_masks", bound_masks.run),
    ("recognize_recurrences", recognize_recurrences.run),
    ("split_recurrences", split_recurrences.run),
    ("remove_identities", remove_identities.run),
    ("merge_common_subexpressions", merge_common_subexpressions.run),
    ("merge_repeated_layers", merge_repeated_layers.run),
    ("recognize_functions", recognize_functions.run),
    ("merge_transposes", merge_transposes.run),
    ("sink_transposes", sink_transposes.run),
    ("sink_reshapes", sink_reshapes.run),
    ("forward_parts", forward_parts.run),
    ("fold_batch_norm", fold_batch_norm.run),
    ("fold_gain_into_readers", fold_gain_into_readers.run),
    ("fold_activation_float", fold_activation_float.run),
    ("fold_padding", fold_padding.run),
)


def prepare_for_quantization(graph: Graph, observer: PassObserver | None = None) -> Graph:
    """Run every pass, verifying after each. The same graph always gives the same names."""
    for name, run in FLOAT_PASSES:
        graph = run(graph)
        graph.verify()
        if observer is not None:
            observer(name, graph)
    return graph
