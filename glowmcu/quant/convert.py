"""A float graph and the parameters of its tensors become an int8 graph, node by node.

An int8 node reads each operand in the parameters chosen for it, as a node with int16 activations
does in others; a float node reads real numbers. `_Tensors` keeps all forms of every tensor and adds
QUANTIZE, DEQUANTIZE and requantization once, where another form is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from glowmcu.ir.equality import content
from glowmcu.ir.graph import Graph, Node, State, Value
from glowmcu.ir.operation import Array, Constant, Operation, OperationError, constant
from glowmcu.ir.quantization_rule import QuantizationRule
from glowmcu.ir.shared_constants import source_of_stored
from glowmcu.ir.types import ElementType, Quantization, TensorType, element_type_of
from glowmcu.lazy_dataclass import dataclass
from glowmcu.ops.quantization import Dequantize, Quantize, Requantize
from glowmcu.ops.stored_attributes import with_stored_attributes
from glowmcu.quant.formats import Formats
from glowmcu.quant.int8_partition import is_conversion
from glowmcu.quant.options import Interface, QuantizationOptions
from glowmcu.quant.schemas import INT4_MAX, INT8_MAX, Schema, quantize_array
from glowmcu.quant.weights import (
    Floats,
    quantize_bias,
    quantize_weights,
    scales_for_bias,
    weight_quantization,
    weight_scales,
)


@dataclass(frozen=True, eq=False)
class LayerConstants:
    """A layer's weights on their way to int8: `axis` counts channels, None is one scale in all.

    Stored they are at most `most`, at scales of `least_scales` or more (None: any): the bias fits.
    """

    weights: Array
    scales: Floats
    axis: int | None
    bias: Array | None
    most: int = INT8_MAX
    least_scales: Floats | None = None


#: Stored weights, and the layer with the scales and the bias (real) that go with them; `nearest` is
#: the plain one.
Refinement = Callable[[Node, LayerConstants], tuple[Array, LayerConstants]]


def nearest(node: Node, layer: LayerConstants) -> tuple[Array, LayerConstants]:
    """Every weight rounded by itself."""
    return quantize_weights(layer.weights, layer.scales, layer.axis, layer.most), layer


@dataclass(frozen=True)
class Conversion:
    """The int8 graph, and the nodes of the float graph that refused their int8 types, with why."""

    graph: Graph
    refused: Mapping[Node, str]


def convert_graph(
    graph: Graph,
    rules: Mapping[Node, QuantizationRule],
    formats: Formats,
    options: QuantizationOptions,
    refinement: Refinement = nearest,
) -> Conversion:
    """The nodes of `rules` stored as `formats` say, all others as they are."""
    tensors = _Tensors(graph, formats, options)
    refused: dict[Node, str] = {}
    for node in graph.nodes:
        if isinstance(node.op, Constant):
            tensors.add_constant(node)
        elif node in rules:
            layer = _Layer(tensors, node, rules[node], options, refinement)
            try:
                layer.emit()
            except OperationError as cause:
                refused[node] = str(cause)
                tensors.add_real(node)
        elif not tensors.takes_stored(node):
            tensors.add_real(node)
    return Conversion(tensors.finish(), refused)


class _Tensors:
    """The new graph in the making: real and stored forms of each tensor of the old one."""

    def __init__(self, graph: Graph, formats: Formats, options: QuantizationOptions) -> None:
        self._graph = graph
        self.formats = formats
        self._int8_interface = options.interface is Interface.INT8
        self._real: dict[Value, Value] = {}
        self._stored: dict[tuple[Value, TensorType], Value] = {}
        self._constants: dict[tuple[Value, TensorType, bytes], Value] = {}
        #: Values as the node or the application that makes them stores them.
        self._own: dict[Value, Value] = {}
        self._outputs = set(graph.results)
        arguments = map(self._add_input, graph.arguments)
        states = (self._add_state(state.value) for state in graph.states)
        self._inputs = (*arguments, *states)
        self.nodes: list[Node] = []

    def _add_input(self, value: Value) -> Value:
        if value.type.element is not ElementType.F32 or not self._int8_interface:
            self._real[value] = value
            return value
        type_ = self.formats.type_of(value, wide=value in self.formats.raw)
        self._own[value] = self._stored[value, type_] = Value(type_, value.name)
        return self._own[value]

    def _add_state(self, value: Value) -> Value:
        """A state is stored as those store it that compute with it; real if nobody does."""
        type_ = self._state_type(value)
        if type_ == value.type:
            self._real[value] = value
            return value
        self._own[value] = self._stored[value, type_] = Value(type_, value.name)
        return self._own[value]

    def _state_type(self, value: Value) -> TensorType:
        """16 bits where any reader or maker has them: a state is rounded again in every run."""
        if value in self.formats.wide:
            return self.formats.type_of(value, wide=True)
        return (
            self.formats.type_of(value, wide=False) if value in self.formats.narrow else value.type
        )

    def data(self, value: Value) -> Array:
        """Data of a constant."""
        data = self._graph.constant_data(value)
        assert data is not None
        return data

    def add_constant(self, node: Node) -> None:
        """Constants of real numbers are written when somebody asks for them."""
        if node.output.type.element is not ElementType.F32:
            self._real[node.output] = node.output
            self.nodes.append(node)

    def add_real(self, node: Node) -> None:
        """A node that stays as it is."""
        inputs = tuple(self.real(value) for value in node.inputs)
        outputs = tuple(self._own_value(value, value.type, "real") for value in node.outputs)
        self.nodes.append(replace(node, inputs=inputs, outputs=outputs))
        self._real.update(zip(node.outputs, outputs, strict=True))

    def takes_stored(self, node: Node) -> bool:
        """Whether it is a border of the model's own int8 tensors that needs no node: int8 is on
        both sides, or will be where somebody reads it.
        """
        if not is_conversion(self._graph, node) or not self._outputs.isdisjoint(node.outputs):
            return False
        (x,), out = node.inputs, node.output
        if isinstance(node.op, Dequantize):
            self._own[out] = self._stored[out, x.type] = self._real[x]
        elif x in self._own:
            self._real[out] = self.stored(x, out.type)
        return out in self._own or out in self._real

    def add_stored(self, node: Node, op: Operation, inputs: tuple[Value, ...]) -> None:
        """A node on stored values. Raises OperationError where the operator refuses its types."""
        outputs = []
        for value in node.outputs:
            wide = node in self.formats.wide_nodes or value in self.formats.wide_states
            is_real = value.type.element is ElementType.F32
            type_ = self.formats.type_of(value, wide) if is_real else value.type
            outputs.append(self._own_value(value, type_, "int16" if wide else "int8"))
        new = replace(node, op=op, inputs=inputs, outputs=tuple(outputs))
        op.verify(new.signature)
        op.verify_accuracy(new.signature)
        self.nodes.append(new)
        for value, made in zip(node.outputs, outputs, strict=True):
            if value.type.element is ElementType.F32:
                self._own[value] = self._stored[value, made.type] = made
            else:
                self._real[value] = made

    def _own_value(self, value: Value, type_: TensorType, form: str) -> Value:
        """A node's result. Outputs keep their name for the form that the application sees."""
        seen = "int8" if self._int8_interface else "real"
        is_plain = value.type.element is not ElementType.F32
        if value not in self._outputs or is_plain or form == seen:
            return value if type_ == value.type else Value(type_, value.name)
        return Value(type_, f"{value.name}/{form}")

    def real(self, value: Value) -> Value:
        """`value` as it is in the float graph."""
        if value not in self._real:
            self._real[value] = self._make_real(value)
        return self._real[value]

    def _make_real(self, value: Value) -> Value:
        producer = self._graph.producers.get(value)
        if producer is not None and isinstance(producer.op, Constant):
            self.nodes.append(producer)
            return value
        stored = self._own[value]
        is_output = value in self._outputs and not self._int8_interface
        name = value.name if is_output else f"{value.name}/real"
        return self._append(Dequantize(), stored, TensorType(value.type.shape, ElementType.F32),
                            name)  # fmt: skip

    def stored(self, value: Value, type_: TensorType) -> Value:
        """`value` as integers of `type_`."""
        key = value, type_
        if key not in self._stored:
            self._stored[key] = self._make_stored(value, type_)
        return self._stored[key]

    def _make_stored(self, value: Value, type_: TensorType) -> Value:
        data = self._graph.constant_data(value)
        assert type_.quantization is not None
        if data is not None:
            stored = quantize_array(data, type_.quantization, type_.element)
            return self.constant(stored, type_.quantization, value)
        # Stored integers are rescaled where the value has them of itself.
        source, form = self._own.get(value), str(type_.element.numpy)
        is_output = value in self._outputs and self._int8_interface
        if is_output and type_ == self.formats.type_of(value, wide=False):
            name = value.name
        else:
            name = f"{value.name}/{form if source is None else 'rescaled'}"
        if source is None:
            return self._append(Quantize(), self._real[value], type_, name)
        try:
            return self._append(Requantize(), source, type_, name)
        except OperationError:  # scales too far apart for integers to go from one to the other
            return self._append(Quantize(), self.real(value), type_, name)

    def constant(self, data: Array, quantization: Quantization, real: Value) -> Value:
        """What is stored of a constant: once where it is the same for several nodes."""
        type_ = TensorType(data.shape, element_type_of(data.dtype), quantization)
        key = real, type_, content(data)
        if key not in self._constants:
            self._constants[key] = value = Value(type_, real.name)
            source = source_of_stored(self._graph, real)
            self.nodes.append(Node(constant(data), (), (value,), real.name, source))
        return self._constants[key]

    def _append(self, op: Operation, x: Value, type_: TensorType, name: str) -> Value:
        """A conversion. Raises OperationError where the operator refuses its types."""
        value = Value(type_, name)
        node = Node(op, (x,), (value,), name, "quantization")
        op.verify(node.signature)
        self.nodes.append(node)
        return value

    def finish(self) -> Graph:
        outputs = [self._output(value) for value in self._graph.results]
        pairs = zip(self._graph.states, self._graph.assigned, strict=True)
        outputs += [self._assigned(state.value, value) for state, value in pairs]
        count = len(self._graph.states)
        states = zip(self._graph.states, self._inputs[len(self._inputs) - count :], strict=True)
        return replace(
            self._graph,
            inputs=self._inputs,
            nodes=tuple(self.nodes),
            outputs=tuple(outputs),
            states=tuple(_stored_state(state, value) for state, value in states),
        )

    def _assigned(self, state: Value, value: Value) -> Value:
        """What a state becomes, stored as the state is."""
        type_ = self._state_type(state)
        return self.real(value) if type_ == value.type else self.stored(value, type_)

    def _output(self, value: Value) -> Value:
        if value.type.element is ElementType.F32 and self._int8_interface:
            return self.stored(value, self.formats.type_of(value, wide=False))
        return self.real(value)


def _stored_state(state: State, value: Value) -> State:
    quantization = value.type.quantization
    if quantization is None:
        return State(value, state.initial)
    return State(value, quantize_array(state.initial, quantization, value.type.element))


class _Layer:
    """One node on its way to int8."""

    def __init__(
        self,
        tensors: _Tensors,
        node: Node,
        rule: QuantizationRule,
        options: QuantizationOptions,
        refinement: Refinement,
    ) -> None:
        self._tensors = tensors
        self._node = node
        self._rule = rule
        self._options = options
        self._refinement = refinement
        self._wide = node in tensors.formats.wide_nodes

    def emit(self) -> None:
        """Operands, then the node. Raises OperationError."""
        node, rule = self._node, self._rule
        inputs: dict[int, Value] = {}
        for position in rule.activations:
            inputs[position] = self._activation(position)
        for position in rule.weights:
            inputs.update(self._constants(position))
        for position, value in enumerate(node.inputs):
            if position not in inputs:
                inputs[position] = self._tensors.real(value)
        real = [value for value in node.outputs if value.type.element is ElementType.F32]
        # An operator with other results (a comparison, say) has its attributes in operand units.
        reference = real[0] if real else node.inputs[rule.activations[0]]
        wide = self._wide or bool(real and reference in self._tensors.formats.wide_states)
        type_ = self._tensors.formats.type_of(reference, wide)
        op = with_stored_attributes(node.op, type_)
        self._tensors.add_stored(node, op, tuple(inputs[i] for i in range(len(node.inputs))))

    def _type_of(self, value: Value) -> TensorType:
        return self._tensors.formats.type_of(value, self._wide)

    def _activation(self, position: int) -> Value:
        value = self._node.inputs[position]
        type_ = self._operand_type(position)
        if self._rule.unified:
            type_ = replace(type_, quantization=self._type_of(self._node.output).quantization)
        return self._tensors.stored(value, type_)

    def _operand_type(self, position: int) -> TensorType:
        """Of an operand, or behind them of a result: a state is stored as the node leaves it."""
        node, formats = self._node, self._tensors.formats
        results = [s.result for s in self._rule.states if s.operand == position]
        if position >= len(node.inputs):
            results = [position - len(node.inputs)]
        if position in self._rule.samples:
            return formats.type_of(node.inputs[position], wide=True)
        if not results:
            return self._type_of(node.inputs[position])
        (result,) = (node.outputs[place] for place in results)
        return formats.type_of(result, self._wide or result in formats.wide_states)

    def _constants(self, position: int) -> dict[int, Value]:
        """The weights at `position` and the biases at their scale."""
        node, rule, tensors = self._node, self._rule, self._tensors
        biases = {b: pair[0] for b, pair in rule.biases.items() if pair[1] == position}
        assert len(biases) <= 1, f"{node.op.name}: two biases for one weights operand"
        place, activation = next(iter(biases.items()), (None, rule.activations[0]))
        bias = None if place is None else tensors.data(node.inputs[place])
        weights = node.inputs[position]
        scale = self._operand_type(activation).scale
        layer = self._layer_constants(tensors.data(weights), rule.weights[position], bias, scale)
        stored, layer = self._refinement(node, layer)
        bias = layer.bias
        quantization = weight_quantization(layer.scales, layer.axis)
        found = {position: tensors.constant(stored, quantization, weights)}
        if place is not None:
            assert bias is not None
            data, bias_quantization = quantize_bias(bias, scale, layer.scales, self._bias_element)
            found[place] = tensors.constant(data, bias_quantization, node.inputs[place])
        return found

    @property
    def _bias_element(self) -> ElementType:
        return ElementType.I64 if self._wide else ElementType.I32

    def _layer_constants(
        self, weights: Array, axis: int | None, bias: Array | None, scale: float
    ) -> LayerConstants:
        # Weights of rank 2 are those of a fully connected layer.
        axis = axis if self._options.per_channel or weights.ndim != 2 else None
        schema = self._options.calibration.schema
        power2 = schema is Schema.SYMMETRIC_WITH_POWER2_SCALE
        schema = schema if power2 else Schema.SYMMETRIC
        element = self._bias_element
        most = INT4_MAX if self._node in self._tensors.formats.four_bit_nodes else INT8_MAX
        scales = weight_scales(weights, axis, bias, scale, schema, element, most)
        least = scales_for_bias(bias, len(scales), scale, element).astype(np.float32)
        return LayerConstants(np.asarray(weights), scales, axis, bias, most, least)
