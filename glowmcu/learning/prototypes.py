"""Classes by the nearest mean of what was seen of them: learning without gradients.

The last layer with weights goes; what it read are features. Of each class the mean of its features
is kept and their number, and a score is the distance to the mean, squared and negative.

mean += (features - mean) / count
Source: Welford, 1962; Snell et al., Prototypical Networks, 2017.
"""

from __future__ import annotations

import numpy as np

from glowmcu.errors import ExitCode, error
from glowmcu.gradient.builder import Builder
from glowmcu.ir.graph import Graph, State, Value
from glowmcu.ir.types import ElementType, TensorType
from glowmcu.learning.layers import trained_layers
from glowmcu.learning.stage import FLAG, ONE, STAGE, Names, called, learning_graph, told
from glowmcu.ops.comparison import Equal, Select
from glowmcu.ops.division import Div
from glowmcu.ops.elementwise import Maximum
from glowmcu.ops.matmul import BatchMatMul, FullyConnected
from glowmcu.ops.multiply_add import MultiplyAdd
from glowmcu.ops.quantization import Dequantize
from glowmcu.ops.reduction import ReduceSumSquare
from glowmcu.training import Training

#: The score of a class that nothing was seen of.
_UNSEEN = -1e30


def with_prototypes(graph: Graph, classes: int, file_name: str) -> Graph:
    """`graph` with `classes` prototypes for its last layer. Raises GM360, GM362."""
    (layer,) = trained_layers(graph, Training(1), file_name)
    (result,), features = graph.results, layer.node.inputs[0]
    if not isinstance(layer.node.op, FullyConnected | BatchMatMul) or not _is_row(features):
        raise error(
            "GM362",
            f"prototypes take the place of a last fully connected layer, and {layer.node.name!r} "
            f"is {layer.node.op.name} of {features.type}",
            file_name,
            "let that layer learn: --train last=1",
            ExitCode.UNSUPPORTED,
        )
    names = Names(value.name for value in (*graph.inputs, *graph.outputs))
    infer, learn = Builder("prototypes"), Builder("learning", STAGE)
    length = features.type.element_count
    x = features
    if features.type.quantization is not None:
        x = infer.add(Dequantize(), features)
    x = infer.reshape(x, (1, length))
    means = _state("prototypes/means", (classes, length))
    counts = _state("prototypes/counts", (classes, 1))
    apart = infer.minus(x, means.value)
    squares = infer.add(ReduceSumSquare((1,), True), apart)
    zero, unseen = infer.number(0.0), infer.number(_UNSEEN)
    is_seen = infer.greater(counts.value, zero)
    scores = infer.add(Select(), is_seen, infer.scaled(squares, -1.0), unseen)
    output = called(infer, infer.reshape(scores, (1, classes)), result.name)
    label = Value(FLAG, names.new("label"))
    is_it = _is_class(learn, label, classes)
    counted = learn.plus(counts.value, is_it)
    share = learn.add(Div(), is_it, learn.add(Maximum(), counted, learn.number(1.0)))
    moved = learn.add(MultiplyAdd(2), share, learn.minus(x, means.value), means.value)
    near = learn.times(is_it, learn.where(learn.greater(counts.value, learn.number(0.0)), squares))
    loss = State(Value(ONE, names.new("last loss")), np.zeros(1, np.float32), True)
    shown = called(learn, learn.reshape(learn.sum(near, (0, 1)), (1,)), names.new("loss"))
    assigned = {means: moved, counts: counted, loss: shown}
    outputs = [output if value is result else value for value in graph.outputs]
    entry = told("distance", (label,), shown, (means, counts), assigned)
    nodes = (*graph.nodes, *infer.nodes, *learn.nodes)
    return learning_graph(graph, nodes, outputs, (label,), shown, assigned, entry, classes)


def _is_row(features: Value) -> bool:
    return features.type.rank > 0 and features.type.element_count == features.type.shape[-1]


def _state(name: str, shape: tuple[int, ...]) -> State:
    return State(Value(TensorType(shape, ElementType.F32), name), np.zeros(shape, np.float32), True)


def _is_class(build: Builder, label: Value, classes: int) -> Value:
    """1 in the row of the label's class, else 0: (classes, 1)."""
    numbers = build.constant(np.arange(classes, dtype=np.int32).reshape(classes, 1))
    is_it = build.add(Equal(), numbers, label, element=ElementType.BOOL)
    return build.add(Select(), is_it, build.number(1.0), build.number(0.0))
