"""A model's graph with a stage that learns in fixed point.

Layers that learn stay int8. Their parameters are kept with more bits, which layers read rounded;
gradients are int16 with an exponent each, by what is stored, so that quantization-aware scaling is
a factor of each step. inputs, outputs and states are those of `training_graph.py`, but that the
kept parameters are integers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from glowmcu.errors import ExitCode, error
from glowmcu.gradient.fixed.builder import FixedBuilder, FixedGradient, is_stored
from glowmcu.gradient.fixed.layers import (
    LAYERS,
    Pace,
    bias_step,
    by_input,
    by_sums,
    layer_shape,
    weights_step,
)
from glowmcu.gradient.fixed.movement import as_slices
from glowmcu.gradient.fixed.rules import fixed_rule_of
from glowmcu.gradient.rules import NoGradient
from glowmcu.ir.graph import Graph, Node, State, Value
from glowmcu.ir.operation import constant
from glowmcu.ir.shared_constants import origin_of
from glowmcu.ir.types import ElementType, Shape, TensorType
from glowmcu.learning.fixed_loss import FixedLoss, fixed_loss
from glowmcu.learning.layers import TrainedLayer, help_behind
from glowmcu.learning.stage import (
    MEMORY,
    ONE,
    STAGE,
    Names,
    called,
    expect_no_state,
    learning_graph,
    setting,
    told,
)
from glowmcu.ops.assign import Assign
from glowmcu.ops.convolution import DepthwiseConv2D
from glowmcu.ops.parameter_step import BIAS_LIMIT, WEIGHT_SHIFT, StoredParameter
from glowmcu.training import Loss, Training

#: Bits of a bias behind those that the layer reads, and what it should have room for.
_BIAS_SHIFT, _LEAST_ROOM = 10, 2**20


class _Parameter:
    """A constant that learns: its state, what it is from now on, and what layers read of it."""

    def __init__(self, graph: Graph, value: Value, name: str, axis: int, percent: int) -> None:
        """`percent` of the channels along `axis` learn, the first ones."""
        data = graph.constant_data(value)
        assert data is not None
        self.value, self.is_bias = value, value.type.rank == 1
        self.shift = WEIGHT_SHIFT
        if self.is_bias:
            most = max(4 * int(np.abs(data.astype(np.int64)).max(initial=0)), _LEAST_ROOM)
            self.shift = max(1, min(_BIAS_SHIFT, (BIAS_LIMIT // most).bit_length() - 1))
        shape = data.shape if value.type.rank != 2 else (data.shape[0], 1, 1, data.shape[1])
        self.axis, learning = axis, max(1, -(-shape[axis] * percent // 100))
        data = data.reshape(shape)
        #: Channels that do not learn.
        self._others = np.split(data, [learning], axis)[1]
        kept = np.left_shift(np.split(data.astype(np.int64), [learning], axis)[0], self.shift)
        element = ElementType.I32 if self.is_bias else ElementType.I16
        self.fits = bool(np.abs(kept).max(initial=0) <= BIAS_LIMIT)
        state = Value(TensorType(kept.shape, element), name)
        self.state = State(state, kept.astype(element.numpy), True)
        #: Of the state's shape, and of the constant's.
        self.stored = Value(replace(value.type, shape=shape), f"{name}/stored")
        self.kept, self.read = state, self.stored
        memory = Value(TensorType(kept.shape, ElementType.I32), f"{name}{MEMORY}")
        #: The velocity, where there is momentum, and what it becomes.
        self.memory = State(memory, np.zeros(kept.shape, np.int32), True)
        self.velocity = memory

    @property
    def units(self) -> tuple[float, ...]:
        """Scales of biases, channel by channel."""
        quantization = self.value.type.quantization
        assert quantization is not None
        scales = quantization.scales
        return scales if len(scales) > 1 else scales * self.value.type.element_count

    def pace(self, rate: Value, momentum: Value | None) -> Pace:
        """How fast it moves."""
        return Pace(rate, momentum, None if momentum is None else self.velocity)

    def move(self, results: Sequence[Value]) -> None:
        """It becomes the first of these, and its velocity the second, if there is one."""
        self.kept, *memories = results
        self.velocity = memories[0] if memories else self.velocity

    def readable(self) -> list[Node]:
        """Nodes that make what layers read."""
        build = FixedBuilder(self.state.value.name)
        op = StoredParameter(self.shift)
        inputs: tuple[Value, ...] = (self.state.value,)
        if self._others.size:
            op, type_ = StoredParameter(self.shift, self.axis), self.stored.type
            others = Value(_of_shape(type_, self._others.shape), f"{self.stored.name}/others")
            made = constant(np.ascontiguousarray(self._others))
            build.nodes.append(Node(made, (), (others,), others.name, "learning"))
            inputs = (*inputs, others)
        build.nodes.append(Node(op, inputs, (self.stored,), self.stored.name, "learning"))
        self.read = build.typed_reshape(self.stored, self.value.type.shape)
        return build.nodes


def _of_shape(type_: TensorType, shape: Shape) -> TensorType:
    """The last channels of a type, plain: how they are meant the whole says."""
    return TensorType(shape, type_.element)


def with_fixed_point(
    graph: Graph,
    layers: tuple[TrainedLayer, ...],
    result: Value,
    training: Training,
    file_name: str,
) -> Graph:
    """`graph`, whose `layers` learn by the loss of `result`. Raises GM361, GM362."""
    parameters = _parameters(graph, layers, training, file_name)
    names = Names(value.name for value in (*graph.inputs, *graph.outputs))
    build = FixedBuilder("learning", STAGE)
    rate = setting("learning_rate", training.learning_rate)
    momentum = setting("momentum", training.momentum) if training.momentum else None
    begun = fixed_loss(build, graph, result, training, names, file_name)
    nodes = _forward(graph, parameters)
    keeps = None if momentum is None else momentum.value
    descent = _Descent(graph, build, parameters, rate.value, keeps)
    expect_no_state(graph, descent.inner, file_name)
    descent.run(begun, training, file_name)
    loss = State(Value(ONE, names.new("last loss")), np.zeros(1, np.float32), True)
    shown = called(begun.loss, names.new("loss"), build)
    found = {item.state: item.kept for item in parameters.values()}
    settings = [item for item in (rate, momentum) if item is not None]
    memories = [item for item in parameters.values() if momentum is not None]
    assigned = {
        **found, **{item.memory: item.velocity for item in memories},
        **{item: build.add(Assign(), item.value) for item in settings}, loss: shown,
    }  # fmt: skip
    end = result.type.shape[-1] if training.loss is Loss.CROSS_ENTROPY else 1
    entry = told(training.loss.value, begun.arguments, shown, found, assigned, "fixed")
    return learning_graph(
        graph, (*nodes, *build.nodes), graph.outputs, begun.arguments, shown, assigned, entry, end
    )


def _refusal(why: str, where: str, help_behind: str = "") -> Exception:
    return error(
        "GM361",
        f"learning in fixed point does not go through {why}",
        where,
        "--train-numbers float32 learns in real numbers" + (help_behind and f"; or {help_behind}"),
        ExitCode.UNSUPPORTED,
    )


def _parameters(
    graph: Graph, layers: tuple[TrainedLayer, ...], training: Training, file_name: str
) -> dict[Value, _Parameter]:
    """Of the last layer, which tells classes apart, all channels learn."""
    found: dict[Value, _Parameter] = {}
    for layer in layers:
        node, where = layer.node, f"{file_name}, {layer.node.name!r}"
        helps = help_behind(graph, training, node.name)
        if not isinstance(node.op, LAYERS):
            raise _refusal(f"{node.op.name} with weights that learn", where, helps)
        if not (is_stored(node.inputs[0]) and is_stored(node.output)):
            raise _refusal(f"{node.op.name} of {node.inputs[0].type}", where, helps)
        try:
            layer_shape(node)
        except NoGradient as cause:
            raise _refusal(str(cause), where, helps) from cause
        for value, word in layer.parameters:
            if value not in found:
                percent = 100 if layer is layers[-1] else training.channels
                axis = 3 if word == "weights" and isinstance(node.op, DepthwiseConv2D) else 0
                found[value] = _Parameter(graph, value, f"{node.name}/{word}", axis, percent)
            if not found[value].fits:
                raise _refusal("biases of more than 29 bits", where, helps)
    return found


def _forward(graph: Graph, parameters: Mapping[Value, _Parameter]) -> list[Node]:
    """The model's nodes, with what is read of parameters in front of who reads it first."""
    nodes, ready = list[Node](), set[Value]()
    for node in graph.nodes:
        if not any(value in parameters for value in node.inputs):
            if not any(value in parameters for value in node.outputs):
                nodes.append(node)
            continue
        for value in node.inputs:
            if value in parameters and value not in ready:
                ready.add(value)
                nodes += parameters[value].readable()
        inputs = tuple(parameters[v].read if v in parameters else v for v in node.inputs)
        nodes.append(replace(node, inputs=inputs))
    return nodes


class _Descent:
    """Back through the nodes of the model; each parameter moves as soon as that is known."""

    def __init__(
        self, graph: Graph, build: FixedBuilder, parameters: Mapping[Value, _Parameter],
        rate: Value, momentum: Value | None,
    ) -> None:  # fmt: skip
        self._graph, self._build, self._rate, self._momentum = graph, build, rate, momentum
        self._parameters = parameters
        self._found: dict[Value, FixedGradient] = {}
        #: Values that a parameter has influence on.
        self.inner = set[Value]()
        for node in graph.nodes:
            if any(value in parameters or value in self.inner for value in node.inputs):
                self.inner.update(node.outputs)

    def run(self, begun: FixedLoss, training: Training, file_name: str) -> None:
        """Raises GM361."""
        self._found = {begun.of: begun.gradient}
        for node in (part for each in reversed(self._graph.nodes) for part in as_slices(each)):
            given = self._found.pop(node.outputs[0], None)
            if given is None or node.outputs[0] not in self.inner:
                continue
            where = f"{file_name}, {node.name!r}"
            try:
                if isinstance(node.op, LAYERS):
                    self._layer(node, given)
                else:
                    self._through(node, given)
            except NoGradient as cause:
                helps = help_behind(self._graph, training, node.name)
                raise _refusal(str(cause), where, helps) from cause
        for item in self._parameters.values():
            if item.kept is item.state.value:
                raise _refusal(
                    f"what is behind {item.kept.name}, to which no gradient comes", file_name
                )

    def _through(self, node: Node, given: FixedGradient) -> None:
        passed = [value for value in node.inputs if value in self.inner]
        if not all(is_stored(value) for value in (*passed, *node.outputs)):
            raise NoGradient(f"{node.op.name} of {node.inputs[0].type}")
        parts = fixed_rule_of(node.op)(self._build, node, given)
        for value, part in zip(node.inputs, parts, strict=True):
            if part is not None and value in self.inner:
                self._add(value, part)

    def _layer(self, node: Node, given: FixedGradient) -> None:
        build = self._build
        x, weights, bias = node.inputs
        sums = by_sums(build, node, given)
        for item in self._biases(bias):
            units = None if item.value is bias else item.units
            pace = item.pace(self._rate, self._momentum)
            item.move(bias_step(build, node, sums, item.kept, pace, item.shift, units))
        if weights in self._parameters:
            item = self._parameters[weights]
            pace = item.pace(self._rate, self._momentum)
            item.move(weights_step(build, node, sums, item.kept, pace))
        # Last: what it makes may lie where the gradient by the sums was.
        if x in self.inner:
            self._add(x, by_input(build, node, sums, self._weights(node)))

    def _biases(self, bias: Value) -> list[_Parameter]:
        """What a layer's biases are kept as, and those of other layers that were one with them: all
        of them move by the gradients of all.
        """
        if bias not in self._parameters:
            return []
        origin = origin_of(self._graph, bias)
        items = self._parameters.items()
        return [item for value, item in items if origin_of(self._graph, value) == origin]

    def _weights(self, node: Node) -> Value:
        """What the layer reads, of four axes."""
        weights = node.inputs[1]
        if weights in self._parameters:
            return self._parameters[weights].stored
        shape = layer_shape(node).weights
        if weights.type.shape == shape:
            return weights
        data = self._graph.constant_data(weights)
        if data is None:
            raise NoGradient(f"{node.op.name} with weights that are computed")
        value = Value(replace(weights.type, shape=shape), f"{node.name}/weights of gradients")
        self._build.nodes.append(
            Node(constant(data.reshape(shape)), (), (value,), value.name, "learning", STAGE)
        )
        return value

    def _add(self, value: Value, part: FixedGradient) -> None:
        before = self._found.get(value)
        if before is not None:
            part = self._build.total(before, part, value)
        self._found[value] = part
