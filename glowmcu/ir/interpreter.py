"""Reference executor: runs any graph from the operators' Python meanings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from glowmcu.ir.graph import Graph, Node, Value, evaluate_node
from glowmcu.ir.operation import Array, Constant


class Session:
    """A stream of invocations: what the graph's states hold lives from one to the next."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._states: list[Array] = []
        self._runs = 0
        self.reset()

    def reset(self) -> None:
        """A new stream: states are what they begin as."""
        self._states = [state.initial for state in self._graph.states]
        self._runs = 0

    def go_on_with(self, graph: Graph) -> None:
        """The stream goes on in a graph that has the same states, as one of another size has."""
        self._graph = graph

    def run(self, arguments: Sequence[Array]) -> list[Array]:
        """Results of one invocation; arrays in the order of the graph's arguments and results."""
        graph = self._graph
        inputs = [*arguments, *self._states]
        if graph.rates:
            values = _run_due(graph, inputs, self._runs)
            self._states = [values[value] for value in graph.assigned]
            self._runs += 1
            return [values[value] for value in graph.results]
        outputs = run_graph(graph, inputs)
        count = len(graph.results)
        self._states = outputs[count:]
        return outputs[:count]


def _run_due(graph: Graph, inputs: Sequence[Array], run: int) -> dict[Value, Array]:
    """Values after a run in which only the stages that are due compute."""
    values = bind_inputs(graph, inputs)
    for _ in step_graph(graph, values, stages_due(graph, values, run)):
        pass
    for state, value in zip(graph.states, graph.assigned, strict=True):
        values.setdefault(value, values[state.value])
    return values


def stages_due(graph: Graph, values: dict[Value, Array], run: int) -> list[bool]:
    """Whether each stage computes in this run of a stream, in which inputs have these values."""
    arguments = {value.name: values[value] for value in graph.arguments}
    return [rate.is_due(run, arguments) for rate in graph.rates]


def run_graph(graph: Graph, inputs: Sequence[Array]) -> list[Array]:
    """Outputs for one inference; arrays in the order of the graph's inputs and outputs.

    Those of states are among them: `Session` takes care of them.
    """
    values = bind_inputs(graph, inputs)
    for _ in step_forgetting(graph, values):
        pass
    return [values[value] for value in graph.outputs]


def run_graph_tensors(graph: Graph, inputs: Sequence[Array]) -> dict[str, Array]:
    """Every tensor of one inference by name, constants included."""
    values = bind_inputs(graph, inputs)
    for _ in step_graph(graph, values):
        pass
    return {value.name: array for value, array in values.items()}


def bind_inputs(graph: Graph, inputs: Sequence[Array]) -> dict[Value, Array]:
    """The environment before the first node. Asserts shapes and dtypes."""
    values: dict[Value, Array] = {}
    for value, array in zip(graph.inputs, inputs, strict=True):
        expected = (value.type.shape, value.type.element.numpy)
        assert (array.shape, array.dtype) == expected, (
            f"input {value.name!r}: expected {expected}, got {array.shape} {array.dtype}"
        )
        values[value] = array
    return values


def step_graph(
    graph: Graph, values: dict[Value, Array], due: Sequence[bool] = ()
) -> Iterator[tuple[Node, list[Array]]]:
    """Run node by node, adding results to `values`; yields each node and its results.

    `due`: whether the nodes of each stage compute, constants always do.
    """
    for node in graph.nodes:
        if due and not due[node.stage] and not isinstance(node.op, Constant):
            continue
        results = evaluate_node(node, [values[value] for value in node.inputs], graph.rounding)
        values.update(zip(node.outputs, results, strict=True))
        yield node, list(results)


def step_forgetting(graph: Graph, values: dict[Value, Array]) -> Iterator[tuple[Node, list[Array]]]:
    """As `step_graph`; of `values` only those stay that a later node reads, or the caller."""
    readers = Counter(value for node in graph.nodes for value in set(node.inputs))
    readers.update(graph.outputs)
    for node, results in step_graph(graph, values):
        yield node, results
        for value in set(node.inputs):
            readers[value] -= 1
        for value in (*node.inputs, *node.outputs):
            if not readers[value]:
                values.pop(value, None)


def nodes_inside(graph: Graph) -> int:
    """Nodes of bodies that one run interprets, as far as numbers of trips are known."""
    return sum(
        node.op.evaluations * (len(inner.nodes) + nodes_inside(inner))
        for node in graph.nodes
        for inner in node.op.inner_graphs()
    )
