"""An input and an output of a model that are one state: what goes out comes in again.

Exporters that know no state (ONNX, and TFLite's without variables) leave it to the application to
hand the hidden state, a cache or a buffer from one run to the next. Here both become a state of the
graph: where the user says so, or where names make it plain (`h0` and `hn`, `state_in` and
`state_out`, `past_k` and `present_k`, `state` and `stateN`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

import numpy as np

from glowmcu.errors import ExitCode, GlowmcuError, Problem
from glowmcu.input_options import InputOptions
from glowmcu.ir.graph import Graph, Node, State, Value
from glowmcu.ir.operation import Array
from glowmcu.ir.types import ElementType, TensorType
from glowmcu.name_lists import pairs_text, read_pairs
from glowmcu.ops.quantization import Requantize
from glowmcu.ops.shape import Reshape
from glowmcu.paired_names import are_paired, words_of

#: One of these must be in both, or be what tells them apart: an input and an output of the same
#: shape are no state by that alone.
_STATEFUL = {
    "state", "states", "hidden", "cell", "cache", "memory", "mem", "h", "c", "h0", "c0", "past",
    "buffer", "context", "ctx", "carry", "hx", "cx", "ring", "delay",
}  # fmt: skip
#: Where the graph says which pairs became states.
PAIRS = "states"


def with_states(graph: Graph, options: InputOptions, file_name: str) -> Graph:
    """The graph with pairs of inputs and outputs as states. Raises GM129.

    What an input is bound to is what its state begins with, else zeros. A quantized output in
    another scale is requantized to that of the input.
    """
    pairs = dict(options.states)
    problems = [
        Problem("GM129", text, file_name, _names(graph))
        for name, result in pairs.items()
        if (text := _problem(graph, name, result))
    ]
    if len(set(pairs.values())) < len(pairs):
        text = "two states cannot become the same output"
        problems.append(Problem("GM129", text, file_name, _names(graph)))
    if problems:
        raise GlowmcuError(problems, ExitCode.USAGE)
    if options.finds_states and not pairs:
        pairs = found_pairs(graph)
    if not pairs:
        return graph
    return _paired(graph, pairs, options.bind, file_name)


def state_notes(graph: Graph, options: InputOptions) -> tuple[str, ...]:
    """A sentence where names alone made states."""
    if options.states or PAIRS not in graph.metadata:
        return ()
    pairs = read_pairs(graph.metadata[PAIRS])
    listed = ", ".join(f"{name}={result}" for name, result in pairs.items())
    return (
        f"inputs and outputs that are one state by their names: {listed}; the bundle keeps them "
        "from run to run. `--state none` leaves them to the application",
    )


def found_pairs(graph: Graph) -> dict[str, str]:
    """Inputs and the outputs that are the same a run later, by their names and types alone."""
    found: dict[str, str] = {}
    for value in graph.arguments:
        if _STATEFUL.isdisjoint(words_of(value.name)):
            continue
        named = [
            result.name
            for result in graph.results
            if result.type.shape == value.type.shape
            and result.type.element is value.type.element
            and are_paired(value.name, result.name)
            and _handed_on(graph, result) is not value
        ]
        if len(named) == 1:
            found[value.name] = named[0]
    results = list(found.values())
    only = {name: result for name, result in found.items() if results.count(result) == 1}
    # Without another input and output there would be nothing that the application gives or gets.
    return only if len(only) < min(len(graph.arguments), len(graph.results)) else {}


def _problem(graph: Graph, name: str, result: str) -> str:
    given = {value.name: value for value in graph.arguments}
    got = {value.name: value for value in graph.results}
    if name not in given:
        return f"no input is named {name!r}"
    if result not in got:
        return f"nothing assigns the state {name!r}: no output is named {result!r}"
    one, other = given[name].type, got[result].type
    if (one.shape, one.element) != (other.shape, other.element) or (
        (one.quantization is None) != (other.quantization is None)
    ):
        return f"the state {name!r} is {one}, and {result!r}, which it is to become, {other}"
    if _handed_on(graph, got[result]) is given[name]:
        return f"nothing assigns the state {name!r}: {result!r} is it as it came; --bind fixes it"
    return ""


def _names(graph: Graph) -> str:
    given, got = (", ".join(v.name for v in values) for values in (graph.arguments, graph.results))
    return f"--state takes INPUT=OUTPUT of one shape and type; inputs: {given}; outputs: {got}"


def _paired(
    graph: Graph, pairs: Mapping[str, str], initial: Mapping[str, Array], file_name: str
) -> Graph:
    values = {value.name: value for value in graph.arguments if value.name in pairs}
    results = {value.name: value for value in graph.results}
    nodes = list(graph.nodes)
    states, assigned = [], []
    for name, result in pairs.items():
        value = values[name]
        states.append(State(value, _initial(value, initial.get(name), file_name)))
        assigned.append(_as_type(_handed_on(graph, results[result]), value.type, nodes))
    given = [value for value in graph.arguments if value not in values.values()]
    got = [value for value in graph.results if value.name not in pairs.values()]
    _expect_some(given, got, file_name)
    before = (state.value for state in graph.states)
    return replace(
        graph,
        inputs=(*given, *before, *(state.value for state in states)),
        nodes=tuple(nodes),
        outputs=(*got, *graph.assigned, *assigned),
        states=(*graph.states, *states),
        metadata={**graph.metadata, PAIRS: pairs_text(pairs)},
    )


def _handed_on(graph: Graph, value: Value) -> Value:
    """The value itself if `value` is only another name of it: states have none."""
    maker = graph.producers.get(value)
    while (
        maker is not None and isinstance(maker.op, Reshape) and maker.inputs[0].type == value.type
    ):
        value = maker.inputs[0]
        maker = graph.producers.get(value)
    return value


def _expect_some(given: Iterable[Value], got: Iterable[Value], file_name: str) -> None:
    for role, values in (("input", given), ("output", got)):
        if not list(values):
            text = f"with these states the model has no {role} any more"
            hint = "leave the one that the application handles out of --state"
            raise GlowmcuError([Problem("GM129", text, file_name, hint)], ExitCode.USAGE)


def _initial(value: Value, given: Array | None, file_name: str) -> Array:
    type_ = value.type
    if given is None:
        quantized = type_.quantization is not None and type_.element is not ElementType.I32
        return np.full(type_.shape, type_.zero_point if quantized else 0, type_.element.numpy)
    if (given.shape, given.dtype) != (type_.shape, type_.element.numpy):
        text = f"the state {value.name!r} is {type_}; --bind gives {given.dtype}{given.shape}"
        hint = "give an array of the input's shape and type, or leave it out: a state begins with 0"
        raise GlowmcuError([Problem("GM129", text, file_name, hint)], ExitCode.USAGE)
    return np.ascontiguousarray(given)


def _as_type(value: Value, type_: TensorType, nodes: list[Node]) -> Value:
    """The value in the scale of its state: one scale, whatever the exporter gave the output."""
    if value.type == type_:
        return value
    result = Value(type_, f"{value.name}/state")
    nodes.append(Node(Requantize(), (value,), (result,), result.name, "state"))
    return result
