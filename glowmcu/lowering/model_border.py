"""What the application sees of a graph: stored numbers instead of real ones, NHWC instead of NCHW.

A float input that is only quantized becomes what QUANTIZE would have made of it, and a float output
that was only dequantized what DEQUANTIZE read: the same bytes inside, and no float at the border.
Operators that only move elements may stand between, since moving and quantizing may change places.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import field, fields, replace

import numpy as np

from glowmcu.errors import ExitCode, GlowmcuError, Problem, error
from glowmcu.input_options import InputOptions
from glowmcu.ir.graph import Graph, Node, Value
from glowmcu.ir.operation import Operation, Rounding, Signature
from glowmcu.ir.rewriting import remove_dead_nodes
from glowmcu.ir.types import ElementType, Quantization, TensorType
from glowmcu.lazy_dataclass import dataclass
from glowmcu.ops.movement import Movement
from glowmcu.ops.quantization import Dequantize, Quantize, Requantize
from glowmcu.ops.shape import Reshape
from glowmcu.ops.transpose import Transpose

_ELEMENTS = {"int8": ElementType.I8, "uint8": ElementType.UI8}
_TO_NHWC, _TO_NCHW = (0, 2, 3, 1), (0, 3, 1, 2)


def with_border(graph: Graph, options: InputOptions, file_name: str) -> Graph:
    """The graph with the border that is asked for.

    Raises GM120 for a layout that a tensor cannot have, GM317 if there is nothing quantized at
    the border that int8 or uint8 asks for, GM318 for another word than these and float.
    """
    if options.nhwc:
        graph = _channels_last(graph, options.nhwc, file_name)
    if not options.io:
        return graph
    if options.io == "float":
        return _with_real_border(graph)
    if options.io not in _ELEMENTS:
        raise error("GM318", f"io must be one of int8, uint8, float; got {options.io!r}", file_name)
    element = _ELEMENTS[options.io]
    stored = remove_dead_nodes(_with_stored_outputs(_with_stored_inputs(graph, element), element))
    if not any(_is_byte(value) for value in (*stored.inputs, *stored.outputs)):
        raise error(
            "GM317",
            f"--io {options.io}: the model has no input that it only quantizes, and no output that "
            "it only dequantizes",
            file_name,
            "quantize a float model: glowmcu profile MODEL --samples DATA -o FILE, then --profile "
            "FILE; or --samples DATA at once",
        )
    stored.verify()
    return stored


def border_notes(graph: Graph, options: InputOptions) -> tuple[str, ...]:
    """Which inputs and outputs are real numbers although `io` asked for others."""
    if options.io in ("", "float"):
        return ()
    return tuple(
        f"--io {options.io}: {role} {value.name!r} stays float32, {reason}"
        for role, values, reason in (
            ("input", graph.arguments, "since it is not only quantized, in one way"),
            ("output", graph.results, "since it is computed in float"),
        )
        for value in values
        if value.type.element is ElementType.F32
    )


def _with_real_border(graph: Graph) -> Graph:
    """Float inputs that are quantized first, float outputs that are dequantized last; what has no
    scale stays.
    """
    inputs, before, after = list(graph.inputs), [], []
    renamed: dict[Value, Value] = {}
    for index, value in enumerate(graph.arguments):
        if _is_scaled(value):
            inputs[index] = _real(value)
            renamed[value] = Value(value.type, f"{value.name}/{value.type.element.numpy}")
            before.append(_at_border(Quantize(), inputs[index], renamed[value]))
    nodes = [
        replace(node, inputs=tuple(renamed.get(value, value) for value in node.inputs))
        for node in graph.nodes
    ]
    outputs = [renamed.get(value, value) for value in graph.outputs]
    for index, value in enumerate(graph.results):
        if _is_scaled(value):
            result = _real(value)
            after.append(_at_border(Dequantize(), outputs[index], result))
            outputs[index] = result
    bordered = _with(graph, inputs, (*before, *nodes, *after), outputs)
    bordered.verify()
    return bordered


def _is_scaled(value: Value) -> bool:
    quantization = value.type.quantization
    is_stored = value.type.element in (*_ELEMENTS.values(), ElementType.I16)
    return is_stored and quantization is not None and len(quantization.scales) == 1


def _real(value: Value) -> Value:
    return Value(TensorType(value.type.shape, ElementType.F32), value.name)


def _at_border(op: Operation, x: Value, result: Value) -> Node:
    return Node(op, (x,), (result,), f"{result.name}/border", "border")


def _is_byte(value: Value) -> bool:
    return value.type.element in _ELEMENTS.values() and value.type.quantization is not None


def _with(
    graph: Graph, inputs: Iterable[Value], nodes: Iterable[Node], outputs: Iterable[Value]
) -> Graph:
    return replace(graph, inputs=tuple(inputs), nodes=tuple(nodes), outputs=tuple(outputs))


# --- layout ------------------------------------------------------------------------------------


def _channels_last(graph: Graph, names: Iterable[str], file_name: str) -> Graph:
    """Inputs and outputs called `names` are NHWC outside, with a transposition behind them."""
    wanted = dict.fromkeys(names)
    border = {value.name: value for value in (*graph.arguments, *graph.results)}
    problems = [
        Problem("GM120", text, file_name, f"inputs and outputs are: {', '.join(border)}")
        for name in wanted
        if (text := _layout_problem(name, border.get(name)))
    ]
    if problems:
        raise GlowmcuError(problems, ExitCode.USAGE)
    inputs, before, after = list(graph.inputs), [], []
    for index, value in enumerate(graph.arguments):
        if value.name in wanted:
            inputs[index] = _permuted(value, _TO_NHWC, value.name)
            before.append(_transposition(_TO_NCHW, inputs[index], value))
    outputs = list(graph.outputs)
    for index, value in enumerate(graph.results):
        if value.name in wanted and value not in graph.inputs:
            outputs[index] = _permuted(value, _TO_NHWC, value.name)
            after.append(_transposition(_TO_NHWC, value, outputs[index]))
    return _with(graph, inputs, (*before, *graph.nodes, *after), outputs)


def _layout_problem(name: str, value: Value | None) -> str:
    if value is None:
        return f"no input or output is named {name!r}"
    if value.type.rank != 4:
        return f"{name!r} is {value.type}: only tensors of rank 4 have a layout"
    return ""


def _permuted(value: Value, order: tuple[int, ...], name: str) -> Value:
    shape = tuple(value.type.shape[axis] for axis in order)
    return Value(value.type.with_shape(shape), name)


def _transposition(order: tuple[int, ...], x: Value, result: Value) -> Node:
    return Node(Transpose(order), (x,), (result,), f"{x.name}/layout", "layout")


# --- stored inputs -----------------------------------------------------------------------------


@dataclass
class _Border:
    """Where an input goes before it is quantized: moving nodes, then QUANTIZE nodes of one kind."""

    moving: list[Node] = field(default_factory=list)
    quantizing: list[Node] = field(default_factory=list)

    @property
    def stored(self) -> TensorType | None:
        types = {
            (node.output.type.element, node.output.type.quantization, node.op)
            for node in self.quantizing
        }
        return self.quantizing[0].output.type if len(types) == 1 else None


def _moves(node: Node) -> bool:
    alone = len(node.inputs) == 1 and isinstance(node.op, Movement | Reshape)
    return alone and all(math.isfinite(getattr(node.op, name)) for name in _fills(node.op))


def _fills(op: Operation) -> list[str]:
    return [item.name for item in fields(op) if item.name == "value"]


def _border(graph: Graph, value: Value) -> _Border | None:
    """None if something reads the input otherwise."""
    found, todo = _Border(), [value]
    while todo:
        current = todo.pop()
        if current in graph.outputs:
            return None
        for node in graph.users.get(current, ()):
            if isinstance(node.op, Quantize) and _is_byte(node.output):
                found.quantizing.append(node)
            elif _moves(node):
                found.moving.append(node)
                todo += node.outputs
            else:
                return None
    ends = any(node.output in graph.outputs for node in found.quantizing)
    return None if ends or found.stored is None else found


def _with_stored_inputs(graph: Graph, element: ElementType) -> Graph:
    inputs = list(graph.inputs)
    before: list[Node] = []
    changed: dict[Node, Node] = {}
    renamed: dict[Value, Value] = {}
    for index, value in enumerate(graph.arguments):
        if _is_byte(value):
            inputs[index] = _in_element(value, element, value.type, before, renamed)
            continue
        border = _border(graph, value) if value.type.element is ElementType.F32 else None
        if border is None or border.stored is None:
            continue
        type_ = border.stored
        inputs[index] = _in_element(value, element, type_, before, renamed)
        quantize = border.quantizing[0].op
        for node in border.moving:
            renamed.update((out, Value(_as(type_, out), out.name)) for out in node.outputs)
            changed[node] = replace(node, op=_filled(node.op, quantize, type_))
        renamed.update((node.output, node.inputs[0]) for node in border.quantizing)
    nodes = [
        replace(
            changed.get(node, node),
            inputs=tuple(_renamed(value, renamed) for value in node.inputs),
            outputs=tuple(renamed.get(value, value) for value in node.outputs),
        )
        for node in graph.nodes
        if not (isinstance(node.op, Quantize) and node.output in renamed)
    ]
    outputs = [_renamed(value, renamed) for value in graph.outputs]
    return _with(graph, inputs, [*before, *nodes], outputs)


def _renamed(value: Value, renamed: dict[Value, Value]) -> Value:
    while value in renamed:
        value = renamed[value]
    return value


def _as(type_: TensorType, value: Value) -> TensorType:
    return type_.with_shape(value.type.shape)


def _in_element(
    value: Value,
    element: ElementType,
    stored: TensorType,
    before: list[Node],
    renamed: dict[Value, Value],
) -> Value:
    """The input that the application writes; what the graph reads goes to `renamed`."""
    inner = _as(stored, value)
    if stored.element is element:
        result = value if value.type == inner else Value(inner, value.name)
        if result is not value:
            renamed[value] = result
        return result
    outer = Value(_in_bytes(inner, element), value.name)
    read = Value(inner, f"{value.name}/{inner.element.numpy}")
    before.append(Node(Requantize(), (outer,), (read,), read.name, "border"))
    renamed[value] = read
    return outer


def _in_bytes(type_: TensorType, element: ElementType) -> TensorType:
    """The same real numbers as int8 or uint8: the zero point moves with the limits."""
    assert type_.quantization is not None
    shift = element.limits[0] - type_.element.limits[0]
    points = tuple(point + shift for point in type_.quantization.zero_points)
    return TensorType(type_.shape, element, Quantization(type_.quantization.scales, points))


def _filled(op: Operation, quantize: Operation, type_: TensorType) -> Operation:
    """A moving operator with what it fills with quantized, as it would be behind it."""
    changed = {}
    for name in _fills(op):
        signature = Signature((TensorType((1,), ElementType.F32),), (type_.with_shape((1,)),))
        real = np.array([getattr(op, name)], np.float32)
        (stored,) = quantize.evaluate([real], signature, rounding=Rounding.DOUBLE)
        changed[name] = int(stored[0])
    return replace(op, **changed)


# --- stored outputs ----------------------------------------------------------------------------


def _with_stored_outputs(graph: Graph, element: ElementType) -> Graph:
    outputs = list(graph.outputs)
    after: list[Node] = []
    for index, value in enumerate(graph.results):
        if _is_byte(value):
            if value.type.element is not element and graph.results.count(value) == 1:
                outputs[index] = _last(value, value, element, after)
            continue
        read = value in graph.users or graph.outputs.count(value) > 1
        stored = None if read else _before_dequantize(graph, value, after)
        if stored is not None:
            outputs[index] = _last(stored, value, element, after)
    return _with(graph, graph.inputs, [*graph.nodes, *after], outputs)


def _before_dequantize(graph: Graph, value: Value, after: list[Node]) -> Value | None:
    """What the float output `value` is in stored numbers, moved as it was; None if it has none."""
    chain: list[Node] = []
    node = graph.producers.get(value)
    while node is not None and _moves(node) and not _fills(node.op) and len(node.outputs) == 1:
        chain.append(node)
        node = graph.producers.get(node.inputs[0])
    if node is None or not isinstance(node.op, Dequantize) or not _is_byte(node.inputs[0]):
        return None
    current = node.inputs[0]
    for moving in reversed(chain):
        result = Value(_as(current.type, moving.output), f"{moving.output.name}/stored")
        after.append(replace(moving, inputs=(current,), outputs=(result,)))
        current = result
    return current


def _last(stored: Value, output: Value, element: ElementType, after: list[Node]) -> Value:
    """`stored` under the output's name, in the type that is asked for."""
    type_ = stored.type if stored.type.element is element else _in_bytes(stored.type, element)
    result = Value(type_, output.name)
    op = Reshape(type_.shape) if type_ == stored.type else Requantize()
    after.append(Node(op, (stored,), (result,), output.name, "border"))
    return result
