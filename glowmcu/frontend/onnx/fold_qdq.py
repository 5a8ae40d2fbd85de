"""DequantizeLinear -> operator -> QuantizeLinear becomes the operator on int8, by its own rule.

Quantized ONNX files say in pairs around float operators how tensors are stored. An operator whose
operands all come from such pairs and whose result goes into one is computed on integers; whatever
lacks a pair stays float, but for operators that only move or choose elements. uint8 becomes int8
with a zero point 128 lower, but at the model's border.
Results may differ from onnxruntime's by a step: it rounds halves to even.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from glowmcu.frontend.onnx.weights_of_pairs import centred, recovered
from glowmcu.ir.graph import Graph, Node, Value
from glowmcu.ir.operation import Array, Operation, OperationError, Signature, constant
from glowmcu.ir.quantization_rule import QuantizationRule, ResultRange
from glowmcu.ir.rewriting import remove_dead_nodes
from glowmcu.ir.types import ElementType, Quantization, TensorType
from glowmcu.ops.activation import Relu
from glowmcu.ops.lookup import Lookup, all_values
from glowmcu.ops.matmul import FullyConnected
from glowmcu.ops.movement import Movement
from glowmcu.ops.normalization import LogSoftmax
from glowmcu.ops.pooling import AveragePool2D, MaxPool2D
from glowmcu.ops.quantization import Dequantize, Quantize, Requantize
from glowmcu.ops.resize import ResizeBilinear
from glowmcu.ops.shape import Reshape
from glowmcu.ops.stored_attributes import stored_bound, with_stored_attributes

_BYTES = (ElementType.I8, ElementType.UI8)


class _Refused(Exception):
    """The operator stays float."""


def fold_qdq(graph: Graph) -> Graph:
    """The graph with as many operators on int8 as its pairs allow."""
    if not any(isinstance(node.op, Quantize | Dequantize) for node in graph.nodes):
        return graph
    return remove_dead_nodes(_Folding(graph).run())


def _as_int8(type_: TensorType) -> Quantization:
    """Parameters of the same real numbers as int8."""
    assert type_.quantization is not None
    shift = 128 if type_.element is ElementType.UI8 else 0
    points = tuple(point - shift for point in type_.quantization.zero_points)
    return replace(type_.quantization, zero_points=points)


def _is_real(value: Value) -> bool:
    return value.type.element is ElementType.F32


def _stands_for_real(value: Value) -> bool:
    return value.type.element in _BYTES and value.type.quantization is not None


def _has_fill(op: Operation) -> bool:
    """Padding is a stored number, which another zero point changes; a pool's limits, too."""
    return hasattr(op, "value") or getattr(op, "clamp", None) is not None


def _keeps_values(node: Node) -> bool:
    """Whether results are elements of the first operand, so that its parameters do for them."""
    rule = node.op.quantization_rule(node.signature) if _is_real(node.output) else None
    moves = rule is not None and rule.result is ResultRange.SAME and not rule.unified
    return moves and not isinstance(node.op, AveragePool2D | ResizeBilinear)


def _holds_padding(op: Operation, type_: TensorType) -> bool:
    """Whether what `op` pads with, if anything, is a number of the stored type."""
    real = np.float32(getattr(op, "value", 0.0))
    offset = np.float32(stored_bound(float(real), type_) - type_.zero_point)
    return bool(offset * np.float32(type_.scale) == real)


def _is_coarser(wanted: Quantization, fixed: Quantization, op: Operation) -> bool:
    """Whether `fixed`, an operator's own parameters, lose nothing that `wanted` could tell."""
    lowest = (ElementType.I8.limits[0] - wanted.zero_points[0]) * wanted.scales[0]
    cut = (ElementType.I8.limits[0] - fixed.zero_points[0]) * fixed.scales[0]
    # All other functions of fixed parameters have no values beyond them.
    is_cut = isinstance(op, LogSoftmax) and lowest < cut - wanted.scales[0]
    return bool(wanted.scales[0] >= np.float32(fixed.scales[0])) and not is_cut


def _wanted(graph: Graph) -> dict[Value, Quantization | None]:
    """Parameters in which all readers of a real tensor take it; None if they disagree."""
    wanted: dict[Value, Quantization | None] = dict.fromkeys(graph.outputs)

    def vote(value: Value, choice: Quantization | None) -> None:
        wanted[value] = choice if wanted.get(value, choice) == choice else None

    for node in reversed(graph.nodes):
        if isinstance(node.op, Quantize) and node.output.type.element in _BYTES:
            vote(node.inputs[0], _as_int8(node.output.type))
            continue
        passes = isinstance(node.op, Relu) or _keeps_values(node)
        choices = {wanted.get(value) for value in node.outputs}
        choice = choices.pop() if passes and len(choices) == 1 else None
        for value in node.inputs:
            vote(value, choice)
    return wanted


class _Folding:
    """The new graph in the making: what each tensor of the old one is as float32 and as int8."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._wanted = _wanted(graph)
        self._nodes: list[Node] = []
        self._real: dict[Value, Value] = {value: value for value in graph.inputs}
        self._stored: dict[Value, Value] = {}
        self._constants = {
            node.output.name: node
            for node in graph.nodes
            if isinstance(node.op, Dequantize) and graph.constant_data(node.inputs[0]) is not None
        }

    def run(self) -> Graph:
        for node in self._graph.nodes:
            if isinstance(node.op, Quantize) and node.output.type.element in _BYTES:
                self._add_quantize(node)
            elif isinstance(node.op, Dequantize) and node.inputs[0].type.element in _BYTES:
                self._add_dequantize(node)
            else:
                self._add(node)
        outputs = tuple(self._real_form(value) for value in self._graph.outputs)
        return self._graph.replace(self._nodes, outputs)

    def _add(self, node: Node) -> None:
        if self._moves_stored(node):
            self._move(node)
            return
        before = len(self._nodes)
        rule = node.op.quantization_rule(node.signature) if self._touches_int8(node) else None
        if rule is not None:
            try:
                if self._is_table(node):
                    self._add_table(node)
                else:
                    self._add_stored(node, rule)
                return
            except (_Refused, OperationError):
                del self._nodes[before:]
        inputs = tuple(self._real_form(value) for value in node.inputs)
        self._nodes.append(replace(node, inputs=inputs))
        self._real.update((value, value) for value in node.outputs)

    def _moves_stored(self, node: Node) -> bool:
        """Whether bytes that stand for real numbers are moved or chosen: QOperator files do."""
        return (
            isinstance(node.op, Movement | Reshape | MaxPool2D)
            and all(value in self._stored for value in node.inputs)
            and _stands_for_real(node.outputs[0])
            and not _has_fill(node.op)
        )

    def _move(self, node: Node) -> None:
        inputs = tuple(self._stored[value] for value in node.inputs)
        outputs = tuple(
            self._own_value(
                value, TensorType(value.type.shape, ElementType.I8, _as_int8(value.type))
            )
            for value in node.outputs
        )
        new = replace(node, inputs=inputs, outputs=outputs)
        new.op.verify(new.signature)
        self._nodes.append(new)
        self._stored.update(zip(node.outputs, outputs, strict=True))

    def _touches_int8(self, node: Node) -> bool:
        return any(value in self._stored for value in node.inputs)

    def _add_quantize(self, node: Node) -> None:
        """Nothing, a rescaling, or a quantization to int8."""
        x = node.inputs[0]
        quantization = _as_int8(node.output.type)
        if x in self._stored:
            self._stored[node.output] = self._rescaled(self._stored[x], quantization)
            return
        type_ = TensorType(x.type.shape, ElementType.I8, quantization)
        value = self._own_value(node.output, type_)
        operands = (self._real_form(x),)
        self._nodes.append(replace(node, inputs=operands, outputs=(value,)))
        self._stored[node.output] = value

    def _own_value(self, old: Value, type_: TensorType) -> Value:
        """A new value; an output's name is left for the form that the application sees."""
        is_output = old in self._graph.outputs and old.type != type_
        return Value(type_, f"{old.name}/int8" if is_output else old.name)

    def _add_dequantize(self, node: Node) -> None:
        """Nothing for activations; weights keep the node, for those who read them as float32."""
        x = node.inputs[0]
        if self._graph.constant_data(x) is not None:
            self._nodes.append(node)
            self._real[node.output] = node.output
            return
        if x not in self._stored:
            self._stored[x] = self._rescaled(self._real_form(x), _as_int8(x.type))
        self._stored[node.output] = self._stored[x]

    def _rescaled(self, stored: Value, quantization: Quantization) -> Value:
        """`stored` as int8 in `quantization`."""
        type_ = TensorType(stored.type.shape, ElementType.I8, quantization)
        if stored.type == type_:
            return stored
        return self._append(Requantize(), stored, type_, f"{stored.name}/rescaled")

    def _append(self, op: Operation, x: Value, type_: TensorType, name: str) -> Value:
        value = Value(type_, name)
        node = Node(op, (x,), (value,), name, "a pair of the file")
        op.verify(node.signature)
        self._nodes.append(node)
        return value

    def _real_form(self, value: Value) -> Value:
        """`value` in the type that it has in the file."""
        if value not in self._real:
            stored = self._stored[value]
            op = Dequantize() if _is_real(value) else Requantize()
            if stored.type == value.type:
                self._real[value] = stored
            else:
                self._real[value] = self._append(op, stored, value.type, value.name)
        return self._real[value]

    # --- functions of one tensor ---------------------------------------------------------------

    def _is_table(self, node: Node) -> bool:
        """Whether it is a function of one tensor; clamps are left for the layer in front."""
        alone = len(node.inputs) == 1 and node.op.elementwise and not isinstance(node.op, Relu)
        return alone and self._wanted.get(node.output) is not None

    def _add_table(self, node: Node) -> None:
        """The pair's own meaning at each of the 256 stored values."""
        x = self._stored_operand(node.inputs[0])
        type_ = TensorType(x.type.shape, ElementType.I8, self._wanted[node.output])
        stored = all_values(ElementType.I8)
        real = TensorType(stored.shape, ElementType.F32)
        first, last = (value.with_shape(stored.shape) for value in (x.type, type_))
        for op, before, after in (
            (Dequantize(), first, real),
            (node.op, real, real),
            (Quantize(half_even=True), real, last),
        ):
            signature = Signature((before,), (after,))
            (stored,) = op.evaluate([stored], signature, self._graph.rounding)
        value = self._own_value(node.output, type_)
        self._nodes.append(replace(node, op=Lookup(stored), inputs=(x,), outputs=(value,)))
        self._stored[node.output] = value

    # --- one operator on int8 ----------------------------------------------------------------

    def _add_stored(self, node: Node, rule: QuantizationRule) -> None:
        result = self._result(node, rule)
        inputs = {i: self._activation(node, rule, i, result) for i in rule.activations}
        for position, axis in rule.weights.items():
            inputs[position] = self._weights(node, position, axis)
        for position, (x, weights) in rule.biases.items():
            inputs[position] = self._bias(node.inputs[position], inputs[x], inputs[weights])
        for position, value in enumerate(node.inputs):
            if position not in inputs:
                inputs[position] = self._real_form(value)
        outputs = tuple(self._result_value(value, result) for value in node.outputs)
        reference = outputs[0].type if _is_real(node.output) else inputs[rule.activations[0]].type
        op = with_stored_attributes(node.op, reference)
        new = replace(
            node, op=op, inputs=tuple(inputs[i] for i in range(len(node.inputs))), outputs=outputs
        )
        op.verify(new.signature)
        self._nodes.append(new)
        self._stored.update(zip(node.outputs, outputs, strict=True))

    def _result(self, node: Node, rule: QuantizationRule) -> Quantization | None:
        """Parameters of the results; None if they are no real numbers."""
        if not any(map(_is_real, node.outputs)):
            self._expect_one_scale(node, rule)
            return None
        same = rule.result is ResultRange.SAME and not rule.unified
        first = self._stored_operand(node.inputs[rule.activations[0]]).type
        if same and not _holds_padding(node.op, first):
            raise _Refused
        if _keeps_values(node):
            return first.quantization
        choices = {self._wanted.get(value) for value in node.outputs}
        wanted = choices.pop()
        if choices or wanted is None:
            raise _Refused
        if rule.fixed is not None:
            fixed = Quantization((rule.fixed[0],), (rule.fixed[1],))
            if not _is_coarser(wanted, fixed, node.op):
                raise _Refused
            return fixed
        return first.quantization if same else wanted

    def _expect_one_scale(self, node: Node, rule: QuantizationRule) -> None:
        """_Refused where stored numbers could compare otherwise than the real ones."""
        operands = [self._stored_operand(node.inputs[i]) for i in rule.activations]
        if any(value.type.quantization != operands[0].type.quantization for value in operands):
            raise _Refused

    def _result_value(self, old: Value, result: Quantization | None) -> Value:
        if not _is_real(old):
            return old
        return self._own_value(old, TensorType(old.type.shape, ElementType.I8, result))

    def _stored_operand(self, value: Value) -> Value:
        """An activation as the file stores it; a constant from its own pair."""
        if value not in self._stored:
            source = self._constants.get(value.name)
            if source is None or source.output is not value:
                raise _Refused
            x = source.inputs[0]
            assert x.type.quantization is not None
            if x.type.element not in _BYTES:
                raise _Refused
            data = self._graph.constant_data(x)
            assert data is not None
            shift = 128 if x.type.element is ElementType.UI8 else 0
            stored = (data.astype(np.int64) - shift).astype(np.int8)
            return self._constant(stored, _as_int8(x.type), value.name)
        return self._stored[value]

    def _activation(
        self, node: Node, rule: QuantizationRule, position: int, result: Quantization | None
    ) -> Value:
        stored = self._stored_operand(node.inputs[position])
        if rule.unified and result is not None:
            return self._rescaled(stored, result)
        return stored

    def _constant(self, data: Array, quantization: Quantization, name: str) -> Value:
        element = ElementType.I8 if data.dtype == np.int8 else ElementType.I32
        value = Value(TensorType(data.shape, element, quantization), name)
        self._nodes.append(Node(constant(data), (), (value,), name))
        return value

    def _weights(self, node: Node, position: int, axis: int | None) -> Value:
        """Weights by the parameters of their pair, however the importer has turned them."""
        value = node.inputs[position]
        source, real = self._constants.get(value.name), self._real_data(value)
        if source is None or real is None or source.inputs[0].type.element not in _BYTES:
            raise _Refused
        quantization = _as_int8(source.inputs[0].type)
        if quantization.per_channel:
            if axis is None or real.shape[axis] != len(quantization.scales):
                raise _Refused
            quantization = replace(quantization, axis=axis)
        if any(quantization.zero_points) and not isinstance(node.op, FullyConnected):
            found = None if axis is None else centred(real, quantization, axis)
            if found is None:
                raise _Refused
            return self._constant(*found, value.name)
        stored, exact = recovered(real, quantization)
        if not exact:
            raise _Refused
        return self._constant(stored, quantization, value.name)

    def _real_data(self, value: Value) -> Array | None:
        """Data of a float constant, be it the result of its own pair; None for anything else."""
        source = self._constants.get(value.name)
        if source is None or source.output is not value:
            return self._graph.constant_data(value)
        data = self._graph.constant_data(source.inputs[0])
        assert data is not None
        (real,) = source.op.evaluate([data], source.signature, self._graph.rounding)
        return real

    def _bias(self, value: Value, x: Value, weights: Value) -> Value:
        """int32 at the product of the scales of operand and weights."""
        real = self._real_data(value)
        assert weights.type.quantization is not None
        scales = np.array(weights.type.quantization.scales) * x.type.scale
        if real is None:
            raise _Refused
        stored = np.rint(real.astype(np.float64) / scales)
        if np.abs(stored).max(initial=0.0) > 2**30:
            raise _Refused
        numbers = tuple(float(np.float32(scale)) for scale in scales)
        axis = 0 if len(numbers) > 1 else None
        quantization = Quantization(numbers, (0,) * len(numbers), axis)
        return self._constant(stored.astype(np.int32), quantization, value.name)
