"""What learning without gradients has in common: features are what the last layer reads."""

from __future__ import annotations

import numpy as np

from glowmcu.errors import ExitCode, error
from glowmcu.gradient.builder import Builder
from glowmcu.ir.graph import Graph, State, Value
from glowmcu.ir.operation import Array
from glowmcu.ir.types import ElementType, TensorType, element_type_of
from glowmcu.lazy_dataclass import dataclass
from glowmcu.learning.layers import trained_layers
from glowmcu.learning.stage import (
    FLAG,
    ONE,
    STAGE,
    Names,
    called,
    expect_no_state,
    learning_graph,
    told,
)
from glowmcu.ops.comparison import Equal, Select
from glowmcu.ops.matmul import BatchMatMul, FullyConnected
from glowmcu.ops.quantization import Dequantize
from glowmcu.training import Training

#: The score of a class that nothing was seen of.
UNSEEN = -1e30


@dataclass
class Head:
    """What takes the last layer's place: `infer` and `learn` collect the nodes of both stages,
    `features` are f32 (1, L), `label` asks for learning.
    """

    graph: Graph
    infer: Builder
    learn: Builder
    features: Value
    label: Value
    names: Names
    #: As the graph has them.
    graph_features: Value

    @property
    def length(self) -> int:
        """L."""
        return self.features.type.shape[1]

    def is_class(self, classes: int, hit: Value, miss: Value) -> Value:
        """`hit` in the row of the label's class, else `miss`: (classes, 1)."""
        numbers = self.learn.constant(np.arange(classes, dtype=np.int32).reshape(classes, 1))
        is_it = self.learn.add(Equal(), numbers, self.label, element=ElementType.BOOL)
        return self.learn.add(Select(), is_it, hit, miss, element=hit.type.element)

    def finished(
        self, kind: str, scores: Value, loss: Value, states: dict[State, Value], classes: int
    ) -> Graph:
        """`scores`, the result of the last node of `infer`, are the output."""
        (result,) = self.graph.results
        output = called(scores, result.name, self.infer, self.learn)
        state = State(Value(ONE, self.names.new("last loss")), np.zeros(1, np.float32), True)
        shown = called(loss, self.names.new("loss"), self.learn)
        assigned = {**states, state: shown}
        outputs = [output if value is result else value for value in self.graph.outputs]
        entry = told(kind, (self.label,), shown, tuple(states), assigned)
        nodes = (*self.graph.nodes, *self.infer.nodes, *self.learn.nodes)
        return learning_graph(
            self.graph, nodes, outputs, (self.label,), shown, assigned, entry, classes
        )


def head_of(graph: Graph, what: str, file_name: str) -> Head:
    """In the place of the last layer. Raises GM360, GM362."""
    *_, layer = trained_layers(graph, Training(1), file_name)
    features = layer.node.inputs[0]
    is_row = features.type.rank > 0 and features.type.element_count == features.type.shape[-1]
    if not isinstance(layer.node.op, FullyConnected | BatchMatMul) or not is_row:
        raise error(
            "GM362",
            f"{what} takes the place of a last fully connected layer, and {layer.node.name!r} "
            f"is {layer.node.op.name} of {features.type}",
            file_name,
            "let that layer learn: --train last=1",
            ExitCode.UNSUPPORTED,
        )
    expect_no_state(graph, {layer.node.output}, file_name)
    names = Names(value.name for value in (*graph.inputs, *graph.outputs))
    infer, learn = Builder(what), Builder("learning", STAGE)
    x = features
    if features.type.quantization is not None:
        x = infer.add(Dequantize(), features)
    x = infer.reshape(x, (1, features.type.element_count))
    return Head(graph, infer, learn, x, Value(FLAG, names.new("label")), names, features)


def state_of(name: str, data: Array) -> State:
    """That begins as `data`."""
    type_ = TensorType(data.shape, element_type_of(data.dtype))
    return State(Value(type_, name), data, True)
