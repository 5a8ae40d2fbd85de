"""DequantizeLinear -> operator -> QuantizeLinear becomes the operator on integers, by its own rule.

Quantized ONNX files say in pairs around float operators how tensors are stored. An operator whose
operands all come from such pairs and whose result goes into one is computed on integers; whatever
lacks a pair stays float, but for operators that only move or choose elements. `pair_forms.py` says
how a tensor is stored here; where operands or results have 16 bits, all of them get 16.
Results may differ from onnxruntime's by a step: it rounds halves to even.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace

import numpy as np

from glowmcu.frontend.onnx.averages_of_pairs import average_between
from glowmcu.frontend.onnx.normalization_chains import find_chains
from glowmcu.frontend.onnx.pair_forms import PAIRED, Form, form_of, is_as_fine, moved_operands
from glowmcu.frontend.onnx.weights_of_pairs import PairConstants, Refused
from glowmcu.ir.graph import Graph, Node, Value
from glowmcu.ir.operation import Array, Operation, OperationError, Signature, constant
from glowmcu.ir.quantization_rule import QuantizationRule, ResultRange
from glowmcu.ir.rewriting import remove_dead_nodes
from glowmcu.ir.shared_constants import no_bias
from glowmcu.ir.types import ElementType, Quantization, TensorType, element_type_of
from glowmcu.ops.activation import Clip, Relu
from glowmcu.ops.lookup import Lookup, all_values
from glowmcu.ops.matmul import FullyConnected
from glowmcu.ops.pooling import AveragePool2D
from glowmcu.ops.quantization import Dequantize, Quantize, Requantize
from glowmcu.ops.resize import ResizeBilinear
from glowmcu.ops.stored_attributes import stored_bound, with_stored_attributes
from glowmcu.ops.wide import fixed_wide_parameters


def fold_qdq(graph: Graph) -> Graph:
    """The graph with as many operators on integers as its pairs allow."""
    if not any(isinstance(node.op, Quantize | Dequantize) for node in graph.nodes):
        return graph
    return remove_dead_nodes(_Folding(graph).run())


def _is_real(value: Value) -> bool:
    return value.type.element is ElementType.F32


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


def _expect_one_scale(operands: Iterable[Value]) -> None:
    """Refused where stored numbers could compare otherwise than the real ones."""
    if len({value.type.quantization for value in operands}) > 1:
        raise Refused


def _wanted(graph: Graph) -> dict[Value, Form | None]:
    """The form in which all readers of a real tensor take it; None if they disagree."""
    wanted: dict[Value, Form | None] = dict.fromkeys(graph.outputs)

    def vote(value: Value, choice: Form | None) -> None:
        wanted[value] = choice if wanted.get(value, choice) == choice else None

    for node in reversed(graph.nodes):
        if isinstance(node.op, Quantize) and node.output.type.element in PAIRED:
            vote(node.inputs[0], form_of(node.output.type))
            continue
        passes = isinstance(node.op, Relu) or _keeps_values(node)
        choices = {wanted.get(value) for value in node.outputs}
        choice = choices.pop() if passes and len(choices) == 1 else None
        for value in node.inputs:
            vote(value, choice)
    return wanted


def _fixed_form(rule: QuantizationRule, wanted: Form, wide: bool) -> Form:
    """An operator's own form: of 8 bits where the pair has the same, else the finer one if there
    is any, which is rounded once more but hardly seen.
    """
    assert rule.fixed is not None
    if wide:
        return Form(ElementType.I16, fixed_wide_parameters(rule.fixed))
    scale, point = rule.fixed
    narrow = Form(ElementType.I8, Quantization((scale,), (point,)))
    if rule.finer is None or wanted == narrow:
        return narrow
    scale, point = rule.finer
    return Form(ElementType.I16, Quantization((scale,), (point,)))


class _Folding:
    """The new graph in the making: what each tensor of the old one is as float32 and stored."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._wanted = _wanted(graph)
        self._nodes: list[Node] = []
        self._real: dict[Value, Value] = {value: value for value in graph.inputs}
        self._stored: dict[Value, Value] = {}
        #: New values that are inside the clamp of a form.
        self._clamped: dict[Value, Form] = {}
        self._constants = PairConstants(graph)
        self._chains = find_chains(graph, self._wanted, self._constants)
        self._wanted.update(self._chains.forms)

    def run(self) -> Graph:
        for node in self._graph.nodes:
            if isinstance(node.op, Quantize) and node.output.type.element in PAIRED:
                self._add_quantize(node)
            elif isinstance(node.op, Dequantize) and node.inputs[0].type.element in PAIRED:
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
        is_real = all(value.type.element not in PAIRED for value in node.outputs)
        is_stored = is_real and any(value in self._stored for value in node.inputs)
        rule = node.op.quantization_rule(node.signature) if is_stored else None
        if rule is not None:
            try:
                if self._is_table(node):
                    self._add_table(node)
                elif not self._add_average(node):
                    self._add_stored(node, rule)
                return
            except (Refused, OperationError):
                self._forget(before)
        inputs = tuple(self._real_form(value) for value in node.inputs)
        self._nodes.append(replace(node, inputs=inputs))
        self._real.update((value, value) for value in node.outputs)

    def _forget(self, start: int) -> None:
        """Leave out the nodes from `start` on, and the real forms that they made."""
        gone = {value for node in self._nodes[start:] for value in node.outputs}
        del self._nodes[start:]
        self._real = {old: value for old, value in self._real.items() if value not in gone}

    def _moves_stored(self, node: Node) -> bool:
        """Whether integers that stand for real numbers are moved or chosen: QOperator files do."""
        moved = node.inputs[: moved_operands(node.op, len(node.inputs))]
        type_ = node.outputs[0].type
        return (
            len(moved) > 0
            and all(value in self._stored for value in moved)
            and type_.element in PAIRED
            and type_.quantization is not None
            and not _has_fill(node.op)
        )

    def _move(self, node: Node) -> None:
        count = moved_operands(node.op, len(node.inputs))
        moved = tuple(self._stored[value] for value in node.inputs[:count])
        others = tuple(self._real_form(value) for value in node.inputs[count:])
        outputs = tuple(
            self._own_value(value, form_of(value.type).of(value.type.shape))
            if value.type.element in PAIRED
            else value
            for value in node.outputs
        )
        new = replace(node, inputs=(*moved, *others), outputs=outputs)
        new.op.verify(new.signature)
        self._nodes.append(new)
        for old, value in zip(node.outputs, outputs, strict=True):
            self._keep_clamp(moved, value)
            (self._stored if old.type.element in PAIRED else self._real)[old] = value

    def _add_quantize(self, node: Node) -> None:
        """Nothing, a rescaling, or a quantization."""
        x = node.inputs[0]
        form = form_of(node.output.type)
        if x in self._stored:
            with suppress(OperationError):  # scales that no multiplier lies between
                self._stored[node.output] = self._rescaled(self._stored[x], form)
                return
        value = self._own_value(node.output, form.of(x.type.shape))
        operands = (self._real_form(x),)
        self._nodes.append(replace(node, inputs=operands, outputs=(value,)))
        self._stored[node.output] = self._within(value, form)

    def _own_value(self, old: Value, type_: TensorType) -> Value:
        """A new value; an output's name is left for the form that the application sees."""
        is_output = old in self._graph.outputs and old.type != type_
        return Value(type_, f"{old.name}/{type_.element.numpy}" if is_output else old.name)

    def _add_dequantize(self, node: Node) -> None:
        """Nothing for activations; weights keep the node, for those who read them as float32."""
        x = node.inputs[0]
        if self._graph.constant_data(x) is not None:
            self._nodes.append(node)
            self._real[node.output] = node.output
            return
        if x not in self._stored:
            self._stored[x] = self._rescaled(self._real_form(x), form_of(x.type))
        self._stored[node.output] = self._stored[x]

    def _rescaled(self, stored: Value, form: Form) -> Value:
        """`stored` in another form."""
        type_ = form.of(stored.type.shape)
        if stored.type != type_:
            stored = self._append(Requantize(), stored, type_, f"{stored.name}/rescaled")
        return self._within(stored, form)

    def _within(self, stored: Value, form: Form) -> Value:
        """`stored`, which has the type of `form`, inside its clamp."""
        if form.clamp is None or self._clamped.get(stored) == form:
            return stored
        value = self._append(Clip(form.clamp), stored, stored.type, f"{stored.name}/clamped")
        self._clamped[value] = form
        return value

    def _keep_clamp(self, operands: tuple[Value, ...], value: Value) -> None:
        """Elements of one tensor are inside the clamp that it is inside of."""
        if len(operands) == 1 and operands[0] in self._clamped:
            self._clamped[value] = self._clamped[operands[0]]

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
        """Whether it is a function of 8 bits; clamps are left for the layer in front."""
        alone = len(node.inputs) == 1 and node.op.elementwise and not isinstance(node.op, Relu)
        stored = self._stored.get(node.inputs[0])
        is_byte = stored is not None and stored.type.element is ElementType.I8
        return alone and is_byte and self._wanted.get(node.output) is not None

    def _add_table(self, node: Node) -> None:
        """The pair's own meaning at each of the 256 stored values."""
        x, form = self._stored[node.inputs[0]], self._wanted[node.output]
        assert form is not None
        stored = all_values(ElementType.I8)
        real = TensorType(stored.shape, ElementType.F32)
        for op, before, after in (
            (Dequantize(), x.type.with_shape(stored.shape), real),
            (node.op, real, real),
            (Quantize(half_even=True), real, form.of(stored.shape)),
        ):
            signature = Signature((before,), (after,))
            (stored,) = op.evaluate([stored], signature, self._graph.rounding)
        limits = form.clamp or form.element.limits
        table = Lookup(np.clip(stored, *limits).astype(stored.dtype))
        value = self._own_value(node.output, form.of(x.type.shape))
        self._nodes.append(replace(node, op=table, inputs=(x,), outputs=(value,)))
        self._stored[node.output] = value
        self._clamped[value] = form

    def _add_average(self, node: Node) -> bool:
        """Whether it is an average with a scale of its own, which is then there."""
        x, form = self._stored.get(node.inputs[0]), self._wanted.get(node.output)
        if not isinstance(node.op, AveragePool2D) or x is None or form is None:
            return False
        found = average_between(node.op, x.type, form)
        if found is None:
            return False
        named = zip(found.constants, ("ones", "zeros"), strict=False)
        constants = [self._constant(*each, f"{node.name}/{name}") for each, name in named]
        value = self._own_value(node.output, form.of(node.output.type.shape))
        new = replace(node, op=found.op, inputs=(x, *constants), outputs=(value,))
        new.op.verify(new.signature)
        self._nodes.append(new)
        self._stored[node.output] = value
        return True

    # --- one operator on integers --------------------------------------------------------------

    def _add_stored(self, node: Node, rule: QuantizationRule) -> None:
        stored = {i: self._stored_operand(node, i) for i in rule.activations}
        wide = any(value.type.element is ElementType.I16 for value in stored.values())
        wide |= any(
            form is not None and form.is_wide for form in map(self._wanted.get, node.outputs)
        )
        if wide:
            forms = {i: form_of(value.type).widened() for i, value in stored.items()}
            stored = {i: self._rescaled(value, forms[i]) for i, value in stored.items()}
        result = self._result(node, rule, stored[rule.activations[0]].type, wide)
        if result is None:
            _expect_one_scale(stored.values())
        inputs = dict(stored)
        if rule.unified and result is not None:
            inputs = {i: self._rescaled(value, result) for i, value in stored.items()}
        around_zero = wide or not isinstance(node.op, FullyConnected)
        for position, axis in rule.weights.items():
            value = node.inputs[position]
            found = self._constants.weights(value, axis, around_zero)
            inputs[position] = self._constant(*found, value.name)
        for position, (x, weights) in rule.biases.items():
            value = node.inputs[position]
            found = self._constants.bias(value, inputs[x].type, inputs[weights].type)
            inputs[position] = self._constant(*found, value.name, no_bias(self._graph, value))
        for position, value in enumerate(node.inputs):
            if position not in inputs:
                inputs[position] = self._real_form(value)
        self._emit(node, tuple(inputs[i] for i in range(len(node.inputs))), rule, result)
        if result is not None and result.is_wide and not wide:
            self._narrow(node)

    def _emit(
        self, node: Node, inputs: tuple[Value, ...], rule: QuantizationRule, result: Form | None
    ) -> None:
        outputs = node.outputs
        if result is not None:
            # Positions beside elements (top_k) are no real numbers.
            outputs = tuple(
                self._own_value(value, result.of(value.type.shape)) if _is_real(value) else value
                for value in outputs
            )
        reference = outputs[0].type if _is_real(node.output) else inputs[rule.activations[0]].type
        op = with_stored_attributes(node.op, reference)
        new = replace(node, op=op, inputs=inputs, outputs=outputs)
        op.verify(new.signature)
        op.verify_accuracy(new.signature)
        self._nodes.append(new)
        for old, value in zip(node.outputs, outputs, strict=True):
            if _keeps_values(node):
                self._keep_clamp(inputs, value)
            # A pair that follows says where its type ends.
            self._stored[old] = value

    def _narrow(self, node: Node) -> None:
        """The results, finer than their pair, in its form at once: what follows reads 8 bits."""
        for value in node.outputs:
            form = self._wanted[value]
            assert form is not None
            self._stored[value] = self._rescaled(self._stored[value], form)

    def _result(
        self, node: Node, rule: QuantizationRule, first: TensorType, wide: bool
    ) -> Form | None:
        """How the results are stored, `first` an operand; None if they are no real numbers."""
        if not any(map(_is_real, node.outputs)):
            return None
        same = rule.result is ResultRange.SAME and not rule.unified
        if same and not _holds_padding(node.op, first):
            raise Refused
        if _keeps_values(node):
            return form_of(first)
        choices = {self._wanted.get(value) for value in node.outputs}
        wanted = choices.pop()
        if choices or wanted is None:
            raise Refused
        wanted = wanted.refined() if wide else wanted
        if rule.fixed is not None:
            fixed = _fixed_form(rule, wanted, wide)
            if not is_as_fine(fixed, wanted, node.op):
                raise Refused
            return fixed
        return form_of(first) if same else wanted

    def _stored_operand(self, node: Node, position: int) -> Value:
        """An activation as the file stores it; a constant from its own pair, or int16."""
        value = node.inputs[position]
        if value in self._stored:
            return self._stored[value]
        if node in self._chains.nodes:
            return self._constant(*self._constants.wide(value), value.name)
        return self._constant(*self._constants.activation(value), value.name)

    def _constant(self, data: Array, form: Quantization, name: str, source: str = "") -> Value:
        value = Value(TensorType(data.shape, element_type_of(data.dtype), form), name)
        self._nodes.append(Node(constant(data), (), (value,), name, source))
        return value
