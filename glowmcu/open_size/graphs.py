"""One model at all sizes: graphs of the same nodes, in which shapes and attributes differ."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import field, replace
from typing import TypeVar

import numpy as np

from glowmcu.errors import ExitCode, GlowmcuError, error
from glowmcu.ir.equality import operation_key
from glowmcu.ir.graph import Graph, Node, Value, VerificationError
from glowmcu.ir.interpreter import run_graph
from glowmcu.ir.operation import Constant, OperationError, constant
from glowmcu.lazy_dataclass import dataclass
from glowmcu.open_size.blending import Irregular, blended
from glowmcu.open_size.sliced_constants import with_slices
from glowmcu.ops.copy import Copy
from glowmcu.size_forms import OpenSize

#: Sizes at which the model itself is read and lowered: the first, the last, and others between.
_FIRST, _LAST, _BETWEEN = 4, 3, 9
#: The largest and another.
_LEAST = 2
#: By how much a float result may differ where lowering computes in another order.
_FLOAT_TOLERANCE = 1e-5

_T = TypeVar("_T")
#: The model at one size: what its numbers are defined by, and what kernels are chosen for.
Sized = Callable[[int], tuple[Graph, Graph]]


@dataclass(frozen=True, eq=False)
class OpenGraphs:
    """`largest` and the graph of every other size, node for node."""

    size: OpenSize
    by_size: Mapping[int, Graph] = field(repr=False)

    @property
    def largest(self) -> Graph:
        """The one that memory is planned for."""
        return self.by_size[self.size.largest]

    def open_nodes(self) -> list[int]:
        """Places of the nodes that are not the same at all sizes."""
        return [
            index
            for index, node in enumerate(self.largest.nodes)
            if len({_node_key(graph.nodes[index]) for graph in self.by_size.values()}) > 1
            and not isinstance(node.op, Constant)
        ]


def open_graphs(size: OpenSize, sized: Sized, file_name: str, quantized: bool) -> OpenGraphs:
    """Graphs of all sizes from the model at some of them. Raises GM144 if there is no rule.

    Where lowering finds another form of the network at a size (of one step a transpose is none),
    the form of the largest is tried there, and has to give the same results. A model that is
    `quantized` by a profile is so once, at the largest size: constants are those.
    """
    read = _read(size, _sharing(sized, size))
    lowered = _family({at: graphs[1] for at, graphs in read.items()}, quantized)
    imported = _family({at: graphs[0] for at, graphs in read.items()}, quantized)
    if len(lowered) < _LEAST:
        raise _no_rule(size, file_name, "the network has another form at each size")
    by_size = {}
    for at in size.sizes:
        try:
            by_size[at] = _graph_at(lowered, at)
            if at in read and at not in lowered:
                meant = _graph_at(imported, at) if quantized else read[at][0]
                _expect_same(meant, by_size[at], size, at, file_name)
        except Irregular as cause:
            # What follows no rule is read at every size.
            own = _family({at: sized(at)[1], size.largest: lowered[size.largest]}, quantized)
            if at not in own:
                raise _no_rule(size, file_name, f"{cause} (at {size.symbol}={at})") from cause
            by_size[at] = own[at]
        except (VerificationError, OperationError) as cause:
            raise _no_rule(size, file_name, f"{cause} (at {size.symbol}={at})") from cause
    return OpenGraphs(size, _with_outputs_in_place(with_slices(by_size)))


def _with_outputs_in_place(graphs: Mapping[int, Graph]) -> dict[int, Graph]:
    """Results that would begin somewhere else at each size (the last of the rows) are copied."""
    outputs = next(iter(graphs.values())).outputs
    moving = [
        number
        for number in range(len(outputs))
        if len({_start(graph, graph.outputs[number]) for graph in graphs.values()}) > 1
    ]
    return {at: _with_copies(graph, moving) for at, graph in graphs.items()}


def _start(graph: Graph, value: Value) -> int:
    """The byte at which it begins, of the value whose memory it shares."""
    start = 0
    while (node := graph.producers.get(value)) is not None:
        aliases = node.op.aliases(node.signature)
        if not aliases:
            break
        result = node.outputs.index(value)
        start += node.op.alias_offset(node.signature, result)
        value = node.inputs[aliases[result]]
    return start


def _with_copies(graph: Graph, results: list[int]) -> Graph:
    outputs, copies = list(graph.outputs), list[Node]()
    for number in results:
        value = outputs[number]
        outputs[number] = Value(value.type, value.name)
        copies.append(Node(Copy(), (value,), (outputs[number],), value.name, "output"))
    return graph.replace((*graph.nodes, *copies), outputs)


def _sharing(sized: Sized, size: OpenSize) -> Sized:
    """The same, with the arrays of the largest for constants that are no others."""
    largest = sized(size.largest)

    def shared(at: int) -> tuple[Graph, Graph]:
        if at == size.largest:
            return largest
        imported, lowered = sized(at)
        return _with_arrays(imported, largest[0]), _with_arrays(lowered, largest[1])

    return shared


def _with_arrays(graph: Graph, largest: Graph) -> Graph:
    known = {node.op: node.op for node in largest.nodes if isinstance(node.op, Constant)}
    return graph.replace(
        nodes=[
            replace(node, op=known.get(node.op, node.op)) if isinstance(node.op, Constant) else node
            for node in graph.nodes
        ]
    )


def references(size: OpenSize, imported: Callable[[int], Graph]) -> Callable[[int], Graph]:
    """What a model that is quantized by a profile means at any size."""
    found = _family(_read(size, imported), quantized=True)
    return lambda at: _graph_at(found, at)


def _family(graphs: Mapping[int, Graph], quantized: bool) -> dict[int, Graph]:
    """Those of the same form as the largest."""
    largest = graphs[max(graphs)]
    found = {at: graph for at, graph in graphs.items() if _same_form(graph, largest)}
    if not quantized:
        return found
    return {at: _with_constants(graph, largest) for at, graph in found.items()}


def _with_constants(graph: Graph, largest: Graph) -> Graph:
    """`graph` with constants, scales and zero points of the largest."""
    made: dict[Value, Value] = {}

    def value(mine: Value, other: Value) -> Value:
        if mine not in made:
            quantization = other.type.quantization
            made[mine] = replace(mine, type=replace(mine.type, quantization=quantization))
        return made[mine]

    pairs = zip(graph.inputs, largest.inputs, strict=True)
    inputs = tuple(value(mine, other) for mine, other in pairs)
    nodes = []
    for node, other in zip(graph.nodes, largest.nodes, strict=True):
        op = node.op
        if isinstance(op, Constant) and isinstance(other.op, Constant):
            op = _beginning(op, other.op)
        outputs = zip(node.outputs, other.outputs, strict=True)
        nodes.append(
            replace(
                node,
                op=op,
                inputs=tuple(made[each] for each in node.inputs),
                outputs=tuple(value(mine, theirs) for mine, theirs in outputs),
            )
        )
    return replace(
        graph,
        inputs=inputs,
        nodes=tuple(nodes),
        outputs=tuple(made[each] for each in graph.outputs),
        kept=tuple(made[each] for each in graph.kept),
        states=tuple(replace(state, value=made[state.value]) for state in graph.states),
    )


def _beginning(op: Constant, largest: Constant) -> Constant:
    """The constant of the largest size, as far as this size has it."""
    shape, most = op.data.shape, largest.data.shape
    if len(shape) != len(most) or any(a > b for a, b in zip(shape, most, strict=True)):
        return op
    return constant(largest.data[tuple(map(slice, shape))])


def _read(size: OpenSize, sized: Callable[[int], _T]) -> dict[int, _T]:
    """The model if it can be read so: at its smallest sizes a network may be none."""
    found, cause = {}, None
    for at in sorted(_asked(size), reverse=True):
        try:
            found[at] = sized(at)
        except GlowmcuError as problem:
            cause = problem
    if cause is not None and len(found) < 2:
        raise cause
    return found


def _asked(size: OpenSize) -> list[int]:
    sizes = size.sizes
    places = np.linspace(0, len(sizes) - 1, _BETWEEN + 2).round().astype(int).tolist()
    # Odd and even ones both.
    between = [sizes[place] for one in places for place in (one, one + 1) if place < len(sizes)]
    return sorted({*sizes[:_FIRST], *sizes[-_LAST:], *between})


def _node_key(node: Node) -> Hashable:
    return operation_key(node.op), node.signature


def _same_form(graph: Graph, largest: Graph) -> bool:
    """Whether operators and wiring agree, whatever sizes are."""
    return _form(graph) == _form(largest)


def _form(graph: Graph) -> Hashable:
    places: dict[Value, int] = {value: place for place, value in enumerate(graph.inputs)}
    nodes = []
    for node in graph.nodes:
        inputs = tuple(places[value] for value in node.inputs)
        for value in node.outputs:
            places[value] = len(places)
        ranks = tuple((value.type.element, len(value.type.shape)) for value in node.outputs)
        nodes.append((type(node.op), inputs, ranks))
    return tuple(nodes), tuple(places[value] for value in graph.outputs)


def _graph_at(known: Mapping[int, Graph], at: int) -> Graph:
    """Raises Irregular, VerificationError."""
    if at in known:
        return known[at]
    largest = known[max(known)]
    made: dict[Value, Value] = {}

    def values(of: Callable[[Graph], tuple[Value, ...]]) -> None:
        for number, value in enumerate(of(largest)):
            types = {size: of(graph)[number].type for size, graph in known.items()}
            made[value] = Value(_named(value.name, types, at), value.name)

    values(lambda graph: graph.inputs)
    nodes = []
    for index, node in enumerate(largest.nodes):
        values(lambda graph, index=index: graph.nodes[index].outputs)  # type: ignore[misc]
        ops = {size: graph.nodes[index].op for size, graph in known.items()}
        inputs = tuple(made[value] for value in node.inputs)
        outputs = tuple(made[value] for value in node.outputs)
        nodes.append(replace(node, op=_named(node.name, ops, at), inputs=inputs, outputs=outputs))
    graph = replace(
        largest,
        inputs=tuple(made[value] for value in largest.inputs),
        nodes=tuple(nodes),
        outputs=tuple(made[value] for value in largest.outputs),
        kept=tuple(made[value] for value in largest.kept),
        states=tuple(replace(state, value=made[state.value]) for state in largest.states),
    )
    graph.verify()
    return graph


def _named(name: str, known: Mapping[int, _T], at: int) -> _T:
    try:
        return blended(known, at)
    except Irregular as cause:
        raise Irregular(f"{name!r} is {cause}") from cause


def _expect_same(reference: Graph, graph: Graph, size: OpenSize, at: int, file_name: str) -> None:
    """Raise GM144 unless both give the same results for some inputs."""
    generator = np.random.default_rng(at)
    for _ in range(2):
        inputs = [
            generator.integers(-99, 99, value.type.shape).astype(value.type.element.numpy)
            if np.issubdtype(value.type.element.numpy, np.integer)
            else generator.normal(size=value.type.shape).astype(value.type.element.numpy)
            for value in reference.arguments
        ]
        states = [state.initial for state in reference.states]
        for want, got in zip(
            run_graph(reference, [*inputs, *states]),
            run_graph(graph, [*inputs, *states]),
            strict=True,
        ):
            same = (
                np.allclose(want, got, _FLOAT_TOLERANCE, _FLOAT_TOLERANCE * np.abs(want).max())
                if want.dtype.kind == "f"
                else np.array_equal(want, got)
            )
            if want.shape != got.shape or not same:
                what = f"the network has another form at {size.symbol}={at}"
                raise _no_rule(size, file_name, what)


def _no_rule(size: OpenSize, file_name: str, what: str) -> GlowmcuError:
    return error(
        "GM144",
        f"{size}: {what}; expected the same layers at every size, with shapes that follow from it",
        file_name,
        f"give a fixed size (--define {size.symbol}={size.largest}) or a narrower range",
        ExitCode.UNSUPPORTED,
    )
