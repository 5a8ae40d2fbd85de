"""A graph for one sample as the same graph for many: the outermost axis 1 becomes n.

Which operators allow that is not written down anywhere: shapes are inferred anew with the longer
axis, which may move on the way, as in front of a recurrent layer; operators that say a shape keep
it in front; and `batches_agree` compares a batch with its samples run one by one. A graph that
fails either is run sample by sample.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from glowmcu.ir.graph import Graph, Node, Value
from glowmcu.ir.interpreter import run_graph
from glowmcu.ir.operation import Array, Constant, Operation, OperationError, Rounding, Signature
from glowmcu.ir.types import Shape, TensorType
from glowmcu.lazy_dataclass import dataclass
from glowmcu.ops.lstm import Lstm
from glowmcu.ops.shape import Reshape
from glowmcu.ops.slicing import Slice
from glowmcu.ops.tiling import BroadcastTo

_RELATIVE_TOLERANCE = 1e-3
#: Structures of graphs whose batches gave what samples give.
_AGREED = set[bytes]()
_MOST_AGREED = 10_000


def batched(graph: Graph, count: int) -> tuple[Graph, dict[Value, Value]] | None:
    """The graph on `count` samples at once, and its values by those of `graph`.

    None if an input, output or operator does not go along.
    """
    values: dict[Value, Value] = {}
    for value in graph.inputs:
        if value.type.shape[:1] != (1,):
            return None
        values[value] = _longer(value, count)
    nodes: list[Node] = []
    for node in graph.nodes:
        batch = _batched_node(node, values, count)
        if batch is None:
            return None
        nodes.append(batch)
        values.update(zip(node.outputs, batch.outputs, strict=True))
    if any(v.type.shape[:1] != (1,) for v in graph.outputs):
        return None  # a sum over all of a sample, or a constant
    if any(values[v].type != _longer(v, count).type for v in graph.outputs):
        return None
    outputs = tuple(values[value] for value in graph.outputs)
    inputs = tuple(values[value] for value in graph.inputs)
    return replace(graph, inputs=inputs, nodes=tuple(nodes), outputs=outputs), values


def _longer(value: Value, count: int) -> Value:
    return Value(_longer_type(value.type, count), value.name)


def _longer_type(type_: TensorType, count: int) -> TensorType:
    return type_.with_shape((count, *type_.shape[1:])) if type_.shape[:1] == (1,) else type_


def _batched_node(node: Node, values: dict[Value, Value], count: int) -> Node | None:
    inputs = tuple(values[value] for value in node.inputs)
    if inputs == node.inputs:
        return node  # a constant, or made of constants
    first = next(i for i, many in enumerate(inputs) if many is not node.inputs[i])
    before = node.inputs[first].type.shape
    axis = _axis(before, inputs[first].type.shape)
    op = _with_more(node.op, before, axis, count)
    if op is None:
        return None
    try:
        shapes = op.infer([value.type for value in inputs])
    except OperationError:
        return None
    pairs = list(zip(node.outputs, shapes, strict=True))
    if not all(_is_longer(value.type.shape, shape, count) for value, shape in pairs):
        return None
    outputs = tuple(Value(value.type.with_shape(shape), value.name) for value, shape in pairs)
    return replace(node, op=op, inputs=inputs, outputs=outputs)


def _axis(alone: Shape, together: Shape) -> int:
    """Where the samples are."""
    return next(axis for axis, size in enumerate(alone) if size != together[axis])


def _is_longer(alone: Shape, together: Shape, count: int) -> bool:
    """Whether one axis 1 became `count`: the first one, or where it was moved."""
    pairs = [(one, many) for one, many in zip(alone, together, strict=False) if one != many]
    return len(alone) == len(together) and pairs == [(1, count)]


@dataclass(frozen=True)
class _Reshaped(Reshape):
    """A reshape of many samples: theirs is axis `axis` of the operand, and `to` of the result."""

    axis: int = 0
    to: int = 0

    def infer(self, inputs: Sequence[TensorType]) -> tuple[Shape, ...]:
        return (self.shape,)

    def evaluate(
        self, inputs: Sequence[Array], signature: Signature, rounding: Rounding
    ) -> tuple[Array, ...]:
        count, rest = self.shape[self.to], (*self.shape[: self.to], *self.shape[self.to + 1 :])
        samples = np.moveaxis(inputs[0], self.axis, 0).reshape(count, *rest)
        return (np.ascontiguousarray(np.moveaxis(samples, 0, self.to)),)


@dataclass(frozen=True)
class _Lstms(Lstm):
    """An LSTM whose states begin alike for `count` samples."""

    count: int = 1

    def infer(self, inputs: Sequence[TensorType]) -> tuple[Shape, ...]:
        states = (type_.with_shape(self._many(type_.shape)) for type_ in inputs[4:])
        return super().infer([*inputs[:4], *states])

    def evaluate(
        self, inputs: Sequence[Array], signature: Signature, rounding: Rounding
    ) -> tuple[Array, ...]:
        return super().evaluate(self._operands(inputs), signature, rounding)

    def trajectories(
        self, inputs: Sequence[Array], results: Sequence[Array], signature: Signature
    ) -> Mapping[int, Array]:
        return super().trajectories(self._operands(inputs), results, signature)

    def _operands(self, inputs: Sequence[Array]) -> list[Array]:
        states = (np.broadcast_to(array, self._many(array.shape)) for array in inputs[4:])
        return [*inputs[:4], *states]

    def _many(self, shape: Shape) -> Shape:
        return (*shape[:-2], self.count, shape[-1])


def _place(shape: Shape, before: Shape, axis: int) -> int:
    """Which axis 1 of a reshape's result is the samples': of those behind as many elements as there
    were before the last one, as of directions and samples the samples; else the first one.
    """
    ones = [number for number, size in enumerate(shape) if size == 1]
    alike = [at for at in ones if math.prod(shape[:at]) == math.prod(before[:axis])]
    return alike[-1] if axis and alike else ones[0]


def _with_more(op: Operation, before: Shape, axis: int, count: int) -> Operation | None:
    """An operator that says the shape of its result, 1 at `axis`, with `count` there."""
    if isinstance(op, Reshape):
        if 1 not in op.shape:
            return None
        to = _place(op.shape, before, axis)
        return _Reshaped(_with_count(op.shape, to, count), axis, to)
    if isinstance(op, Lstm):
        return _Lstms(op.time_major, op.cell_clip, count)
    if isinstance(op, BroadcastTo):
        return replace(op, shape=_with_count(op.shape, axis, count))
    if isinstance(op, Slice) and (op.begin[axis], op.size[axis]) == (0, 1):
        return replace(op, size=_with_count(op.size, axis, count))
    return op


def _with_count(sizes: tuple[int, ...], axis: int, count: int) -> tuple[int, ...]:
    return (*sizes[:axis], count, *sizes[axis + 1 :])


def stacked(samples: Sequence[Sequence[Array]]) -> list[Array]:
    """Samples (a list of arrays each) as one array an input, joined along the outermost axis; one
    sample as it is, which may have no axis.
    """
    if len(samples) == 1:
        return list(samples[0])
    return [np.concatenate(arrays, axis=0) for arrays in zip(*samples, strict=True)]


def batches_agree(graph: Graph, samples: Sequence[Sequence[Array]]) -> bool:
    """Whether the batched graph gives on `samples` what the graph gives on each of them.

    Asked once of graphs that differ in weights and scales alone, as candidates of a search do.
    """
    batch = batched(graph, len(samples))
    if batch is None:
        return False
    structure = _structure(graph)
    if structure in _AGREED:
        return True
    # What overflows does so alike; profiling says so by the tensor's name.
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        together = run_graph(batch[0], stacked(samples))
        alone = [run_graph(graph, sample) for sample in samples]
    agree = all(
        _near(one, many[index : index + 1])
        for index, outputs in enumerate(alone)
        for one, many in zip(outputs, together, strict=True)
    )
    if agree and len(_AGREED) < _MOST_AGREED:
        _AGREED.add(structure)
    return agree


def _structure(graph: Graph) -> bytes:
    """A digest of operators, shapes, wiring, and integers that are no weights."""
    number = {value: at for at, value in enumerate(graph.inputs)}
    digest = hashlib.sha256(repr([value.type.shape for value in graph.inputs]).encode())
    for node in graph.nodes:
        for value in node.outputs:
            number[value] = len(number)
        kind: object = node.op
        if isinstance(node.op, Constant):
            type_ = node.output.type
            is_plain = type_.quantization is None and not type_.element.is_float
            kind = node.op.data.tobytes() if is_plain else "weights"
        made = [(value.type.shape, value.type.element) for value in node.outputs]
        operands = [number[value] for value in node.inputs]
        digest.update(repr((kind, operands, made)).encode())
    digest.update(repr([number[value] for value in graph.outputs]).encode())
    return digest.digest()


def _near(one: Array, other: Array) -> bool:
    if not np.issubdtype(one.dtype, np.floating):
        return bool(np.array_equal(one, other))
    reach = float(np.abs(one[np.isfinite(one)]).max(initial=0.0))
    tolerance = _RELATIVE_TOLERANCE * reach
    return bool(np.allclose(one, other, _RELATIVE_TOLERANCE, tolerance, equal_nan=True))
