"""Inputs that stay in memory of the application's (`--outside-input`): which values they are."""

from __future__ import annotations

from glowmcu.errors import GlowmcuError, Problem
from glowmcu.input_options import InputOptions
from glowmcu.ir.graph import Graph, Value


def external_inputs(graph: Graph, imported: Graph, options: InputOptions) -> frozenset[Value]:
    """The inputs of `graph` that the options name; `imported` has the model's names for them.

    Raises GM408 for an input that is a constant by now or that is streamed, and for one whose bytes
    are an output too: outputs lie in the arena.
    """
    names = [value.name for value in imported.arguments]
    problems = [
        _cannot(graph, name, "it was bound to a constant", "leave out --bind or --outside-input")
        for name in options.external
        if name not in names
    ]
    if options.external and options.streamed:
        why = f"the bundle streams {options.streamed[0]!r}, and takes inputs in one way only"
        problems.append(
            _cannot(graph, options.external[0], why, "leave out --stream-input or --outside-input")
        )
    pairs = zip(graph.arguments, names, strict=True)
    found = [value for value, name in pairs if name in options.external]
    for output in graph.results:
        source = _aliased(graph, output)
        if source in found:
            why = (
                f"output {output.name!r} is the same bytes in another shape, and outputs lie in it"
            )
            problems.append(_cannot(graph, source.name, why, "leave out --outside-input"))
    if problems:
        raise GlowmcuError(problems)
    return frozenset(found)


def _aliased(graph: Graph, value: Value) -> Value:
    """The value whose bytes this one is a view of; itself if it is none."""
    while value in graph.producers:
        node = graph.producers[value]
        aliases = node.op.aliases(node.signature)
        result = node.outputs.index(value)
        if result not in aliases:
            return value
        value = node.inputs[aliases[result]]
    return value


def _cannot(graph: Graph, name: str, why: str, hint: str) -> Problem:
    message = f"input {name!r} cannot stay outside the arena: {why}"
    return Problem("GM408", message, graph.name, f"{hint} for it")
