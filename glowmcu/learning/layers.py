"""Which layers of a graph have parameters, and which of them are to learn."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import replace

from glowmcu.errors import ExitCode, error
from glowmcu.ir.graph import Graph, Node, Value
from glowmcu.ir.shared_constants import no_bias, origin_of, stands_for_several
from glowmcu.lazy_dataclass import dataclass
from glowmcu.ops.convolution import Conv2D, DepthwiseConv2D
from glowmcu.ops.matmul import BatchMatMul, FullyConnected
from glowmcu.ops.transpose_conv import TransposeConv2D
from glowmcu.training import Training

#: Operator to its operands that are parameters: weights, and bias if there is one.
_PARAMETERS = {
    FullyConnected: (1, 2),
    Conv2D: (1, 2),
    DepthwiseConv2D: (1, 2),
    TransposeConv2D: (1, 2),
    BatchMatMul: (1,),
}


def with_own_constants(graph: Graph) -> Graph:
    """The graph in which a constant that stands for several is one for each layer that reads it as
    a parameter.
    """
    nodes, taken = list[Node](), set[Value]()
    for node in graph.nodes:
        inputs = list(node.inputs)
        for at in _PARAMETERS.get(type(node.op), ()):
            value = inputs[at]
            if graph.constant_data(value) is None or not stands_for_several(graph, value):
                continue
            if value in taken:
                inputs[at] = Value(value.type, value.name)
                nodes.append(replace(graph.producers[value], outputs=(inputs[at],)))
            taken.add(value)
        nodes.append(replace(node, inputs=tuple(inputs)) if inputs != list(node.inputs) else node)
    return graph.replace(nodes)


@dataclass(frozen=True)
class TrainedLayer:
    """A layer and those of its operands that learn, constants, with a word for each."""

    node: Node
    parameters: tuple[tuple[Value, str], ...]


def trained_layers(graph: Graph, training: Training, file_name: str) -> tuple[TrainedLayer, ...]:
    """The layers that learn, in order, and such that share weights with these. Raises GM360."""
    layers = [node for node in graph.nodes if _constants(graph, node)]
    if not layers:
        raise error(
            "GM360",
            "no layer of this model has weights that could learn",
            file_name,
            "fully connected layers, convolutions, also transposed, and products with a constant "
            "matrix do",
            ExitCode.UNSUPPORTED,
        )
    chosen = layers
    if training.layers:
        known = {node.name for node in layers}
        names = _joined(training.layers, known)
        chosen = [node for node in layers if node.name in names]
        for name in names:
            if name not in known:
                raise _unknown(graph, name, [node.name for node in layers], file_name)
        for node in chosen:
            if training.biases_only and len(_parameters(graph, node)) < 2:
                raise error("GM360", f"{node.name!r} has no bias", file_name, "leave out its name")
    elif training.last > len(layers):
        raise error(
            "GM360",
            f"the last {training.last} layers cannot learn: {len(layers)} have weights that can",
            file_name,
            f"--train {replace(training, last=len(layers)).what}, or fewer",
        )
    elif training.last:
        chosen = layers[-training.last :]
    learnt = {
        origin_of(graph, value)
        for node in chosen
        for value, word in _parameters(graph, node)
        if word == "bias" or not training.biases_only
    }
    if not learnt:
        raise error("GM360", "these layers have no biases", file_name, "leave out bias")
    found = [
        TrainedLayer(
            node,
            tuple(i for i in _parameters(graph, node) if origin_of(graph, i[0]) in learnt),
        )
        for node in layers
    ]
    return tuple(layer for layer in found if layer.parameters)


def _joined(words: Sequence[str], known: Iterable[str]) -> list[str]:
    """Names of layers, which may have commas themselves: the longest that there is of each."""
    by_words = {",".join(map(str.strip, name.split(","))): name for name in known}
    names, left = list[str](), list(words)
    while left:
        ends = range(len(left), 0, -1)
        end = next((end for end in ends if ",".join(left[:end]) in by_words), 1)
        name = ",".join(left[:end])
        names.append(by_words.get(name, name))
        del left[:end]
    return names


def _parameters(graph: Graph, node: Node) -> tuple[tuple[Value, str], ...]:
    """Those that the model has, each with its word."""
    pairs = zip(_constants(graph, node), ("weights", "bias"), strict=False)
    return tuple(pair for pair in pairs if not no_bias(graph, pair[0]))


def _constants(graph: Graph, node: Node) -> tuple[Value, ...]:
    """The operands that parameters are or would be; none if any of them is computed."""
    values = tuple(node.inputs[at] for at in _PARAMETERS.get(type(node.op), ()))
    return values if all(graph.constant_data(value) is not None for value in values) else ()


def _unknown(graph: Graph, name: str, names: list[str], file_name: str) -> Exception:
    near = difflib.get_close_matches(name, names, n=1)
    shown = ", ".join(names[-8:])
    hint = f"did you mean {near[0]!r}? " if near else ""
    found = next((node for node in graph.nodes if node.name == name), None)
    message = f"no layer with weights is called {name!r}"
    if found is not None:
        message, hint = f"{name!r} cannot learn: {found.op.name} has no weights that do", ""
    said = f"{hint}the last ones are: {shown}"
    return error("GM360", message, file_name, said)


def help_behind(graph: Graph, training: Training, name: str) -> str:
    """What helps where the node that is called so is in the way of what learns."""
    at = [node.name for node in graph.nodes].index(name)
    count = sum(bool(_constants(graph, node)) for node in graph.nodes[at + 1 :])
    if not count:
        return "export the model with an output in front of it: no layer with weights is behind it"
    what = replace(training, last=count, layers=()).what
    return f"let only layers behind it learn: --train {what}"
