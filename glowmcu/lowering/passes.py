"""The lowering passes, in order, and those that other packages add.

A package adds a pass by an entry point in the group `glowmcu.passes` that loads to a function from
graph to graph. It runs before all others, or after the pass that the decorator `after` names.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import TypeGuard

from glowmcu.discovery import Plugin, load_plugins, name_taken, wrong_type
from glowmcu.errors import GlowmcuError, error
from glowmcu.ir.graph import Graph, VerificationError
from glowmcu.lowering import (
    compare_features_as_stored,
    drop_biases_without_effect,
    expand_running_sums,
    fold_clamp_into_producer,
    fold_constants,
    fold_fixed_states,
    fold_padding,
    fold_transposes_into_weights,
    forward_parts,
    lower_bodies,
    lower_to_tables,
    map_time_to_height,
    materialize_outputs,
    materialize_states,
    merge_common_subexpressions,
    merge_concatenations,
    merge_depthwise_parts,
    merge_repeated_layers,
    merge_transposes,
    narrow_states,
    recognize_dense_layers,
    remove_dead_nodes,
    remove_dead_states,
    remove_identities,
    simplify,
    simplify_positions,
    sink_padding,
    sink_reshapes,
    sink_transposes,
    stack_elementwise,
    turn_depthwise_into_convolutions,
)

Pass = Callable[[Graph], Graph]
NamedPass = tuple[str, Pass]
#: Called with a pass's name and the graph that it left, changed or not.
PassObserver = Callable[[str, Graph], None]

#: The pass that `simplify=False` leaves out.
SIMPLIFY = "simplify"
#: The last passes, which see to memory that a graph has for its outputs and states.
MATERIALIZE = ("materialize_outputs", "materialize_states")

PASSES: tuple[NamedPass, ...] = (
    ("remove_dead_nodes", remove_dead_nodes.run),
    ("fold_constants", fold_constants.run),
    ("recognize_dense_layers", recognize_dense_layers.run),
    ("drop_biases_without_effect", drop_biases_without_effect.run),
    ("expand_running_sums", expand_running_sums.run),
    ("narrow_states", narrow_states.run),
    ("simplify_positions", simplify_positions.run),
    ("remove_identities", remove_identities.run),
    ("merge_common_subexpressions", merge_common_subexpressions.run),
    ("merge_repeated_layers", merge_repeated_layers.run),
    ("merge_transposes", merge_transposes.run),
    ("sink_transposes", sink_transposes.run),
    ("sink_padding", sink_padding.run),
    ("fold_transposes_into_weights", fold_transposes_into_weights.run),
    ("map_time_to_height", map_time_to_height.run),
    ("sink_reshapes", sink_reshapes.run),
    ("forward_parts", forward_parts.run),
    ("fold_fixed_states", fold_fixed_states.run),
    ("remove_dead_states", remove_dead_states.run),
    ("merge_concatenations", merge_concatenations.run),
    ("fold_padding", fold_padding.run),
    ("merge_depthwise_parts", merge_depthwise_parts.run),
    ("turn_depthwise_into_convolutions", turn_depthwise_into_convolutions.run),
    ("compare_features_as_stored", compare_features_as_stored.run),
    ("lower_to_tables", lower_to_tables.run),
    ("fold_clamp_into_producer", fold_clamp_into_producer.run),
    ("remove_identity_tables", remove_identities.run),
    (SIMPLIFY, simplify.run),
    ("stack_elementwise", stack_elementwise.run),
    ("materialize_outputs", materialize_outputs.run),
    ("materialize_states", materialize_states.run),
)


def after(name: str) -> Callable[[Pass], Pass]:
    """Decorator of a package's pass: it runs after the one called `name`."""

    def placed(run: Pass) -> Pass:
        vars(run)["after"] = name
        return run

    return placed


def lower(graph: Graph, observer: PassObserver | None = None, simplified: bool = True) -> Graph:
    """Run every pass, verifying after each; `simplify` only if the graph is to be `simplified`.

    Bodies of branches and loops are lowered first, by the same passes.
    """
    left_out = () if simplified else (SIMPLIFY,)
    graph = lower_bodies.run(graph, partial(_lower_body, left_out=left_out))
    return _run_passes(graph, observer, left_out)


def _lower_body(graph: Graph, left_out: tuple[str, ...]) -> Graph:
    graph = lower_bodies.run(graph, partial(_lower_body, left_out=left_out))
    return _run_passes(graph, None, (*left_out, *MATERIALIZE))


def _run_passes(graph: Graph, observer: PassObserver | None, left_out: Sequence[str]) -> Graph:
    for name, run in all_passes():
        if name in left_out:
            continue
        graph = run(graph)
        graph.verify()
        if observer is not None:
            observer(name, graph)
    return graph


@cache
def all_passes() -> tuple[NamedPass, ...]:
    """The project's passes with those of plug-ins in their places.

    Raises GM221 for a plug-in whose `after` names no pass, GM750 to GM753.
    """
    passes = list(PASSES)
    first = 0
    for plugin, run in load_plugins("glowmcu.passes", _is_pass, "a function from graph to graph"):
        after: str | None = getattr(run, "after", None)
        names = [name for name, _ in passes]
        if plugin.name in names:
            raise GlowmcuError([name_taken(plugin, f"there is another pass {plugin.name!r}")])
        if after is None:
            passes.insert(first, (plugin.name, _checked(plugin, run)))
            first += 1
            continue
        if after not in names:
            raise error(
                "GM221",
                f"the pass {plugin.name!r} is to run after {after!r}, which is no pass",
                plugin.place,
                f"the passes are: {', '.join(names)}",
            )
        passes.insert(names.index(after) + 1, (plugin.name, _checked(plugin, run)))
    return tuple(passes)


def _is_pass(given: object) -> TypeGuard[Pass]:
    return callable(given)


def _checked(plugin: Plugin, run: Pass) -> Pass:
    """The pass; where what it makes is no graph, or a wrong one, that is said of the plug-in."""

    def checked(graph: Graph) -> Graph:
        made: object = run(graph)
        if not isinstance(made, Graph):
            raise GlowmcuError([wrong_type(plugin, made, "a graph from its pass")])
        try:
            made.verify()
        except VerificationError as cause:
            problem = plugin.problem("GM754", f"a plug-in's pass makes a wrong graph: {cause}")
            raise GlowmcuError([problem]) from cause
        return made

    return checked
