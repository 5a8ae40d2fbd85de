"""Operators and graphs that only planning looks at: every result byte depends on its operands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from glowmcu.ir.graph import Graph, Node, Value
from glowmcu.ir.kernel_code import Overlap, RowSupport
from glowmcu.ir.operation import Array, Operation, Rounding, Signature
from glowmcu.ir.program import Program
from glowmcu.ir.types import ElementType, Shape, TensorType
from glowmcu.memplan.build_program import build_program


def i8(*shape: int) -> TensorType:
    return TensorType(shape, ElementType.I8)


@dataclass(frozen=True)
class Mix(Operation):
    """Any operands to `shapes`; each result element depends on all operands (a convolution)."""

    name = "mix"
    shapes: tuple[Shape, ...] = ((8,),)

    def infer(self, inputs: Sequence[TensorType]) -> tuple[Shape, ...]:
        return self.shapes

    def evaluate(
        self, inputs: Sequence[Array], signature: Signature, rounding: Rounding
    ) -> tuple[Array, ...]:
        seed = 17
        for array in inputs:
            weights = np.arange(1, array.size + 1, dtype=np.int64) % 251 + 1
            seed = (seed * 31 + int((array.astype(np.int64).ravel() * weights).sum())) % 65_521
        return tuple(
            ((np.arange(out.element_count) * 7 + seed * (i + 3)) % 251 - 125)
            .reshape(out.shape)
            .astype(out.element.numpy)
            for i, out in enumerate(signature.outputs)
        )


@dataclass(frozen=True)
class Mingle(Operation):
    """Element-wise on operands of one shape; may overwrite any of them."""

    name = "mingle"
    elementwise = True

    def infer(self, inputs: Sequence[TensorType]) -> tuple[Shape, ...]:
        return (inputs[0].shape,)

    def evaluate(
        self, inputs: Sequence[Array], signature: Signature, rounding: Rounding
    ) -> tuple[Array, ...]:
        total = sum(array.astype(np.int64) * (i + 2) for i, array in enumerate(inputs))
        return (((total * 3 + 1) % 251 - 125).astype(signature.output.element.numpy),)

    def in_place(self, signature: Signature) -> tuple[int, ...]:
        return tuple(range(len(signature.inputs)))


@dataclass(frozen=True)
class Join(Operation):
    """Concatenation of 1-D tensors."""

    name = "join"

    def infer(self, inputs: Sequence[TensorType]) -> tuple[Shape, ...]:
        return ((sum(type_.shape[0] for type_ in inputs),),)

    def evaluate(
        self, inputs: Sequence[Array], signature: Signature, rounding: Rounding
    ) -> tuple[Array, ...]:
        return (np.concatenate(inputs),)

    def contained_operands(self, signature: Signature) -> Mapping[int, int]:
        ends = np.cumsum([0, *(type_.size_bytes for type_ in signature.inputs)])
        return {index: int(ends[index]) for index in range(len(signature.inputs))}


@dataclass(frozen=True)
class Cut(Operation):
    """A 1-D tensor in pieces of `sizes` elements: views."""

    name = "cut"
    sizes: tuple[int, ...] = ()

    def infer(self, inputs: Sequence[TensorType]) -> tuple[Shape, ...]:
        return tuple((size,) for size in self.sizes)

    def evaluate(
        self, inputs: Sequence[Array], signature: Signature, rounding: Rounding
    ) -> tuple[Array, ...]:
        return tuple(np.split(inputs[0], np.cumsum(self.sizes)[:-1]))

    def aliases(self, signature: Signature) -> Mapping[int, int]:
        return dict.fromkeys(range(len(self.sizes)), 0)

    def alias_offset(self, signature: Signature, result: int) -> int:
        return sum(self.sizes[:result]) * signature.inputs[0].element.size_bytes


@dataclass(frozen=True)
class Choice:
    """A kernel as `build_program` sees it."""

    operands: tuple[int, ...]
    scratch_bytes: int = 0
    kernel_name: str = "test"
    operand_align: int = 1
    holds_pointers: bool = False
    prefetches: bool = False
    overlaps: Mapping[int, Overlap] = field(default_factory=dict)
    rows: RowSupport | None = None


class Builder:
    """Builds a graph of 1-D tensors and the program of it."""

    def __init__(self) -> None:
        self.inputs: list[Value] = []
        self.nodes: list[Node] = []
        self.scratch: dict[Node, int] = {}
        self.align: dict[Node, int] = {}

    def input(self, count: int, element: ElementType = ElementType.I8) -> Value:
        value = Value(TensorType((count,), element), f"in{len(self.inputs)}")
        self.inputs.append(value)
        return value

    def add(
        self, op: Operation, *inputs: Value, scratch: int = 0, align: int = 1
    ) -> tuple[Value, ...]:
        shapes = op.infer([value.type for value in inputs])
        number = len(self.nodes)
        element = inputs[0].type.element
        outputs = tuple(
            Value(TensorType(shape, element), f"t{number}_{i}") for i, shape in enumerate(shapes)
        )
        node = Node(op, inputs, outputs, f"n{number}")
        self.nodes.append(node)
        self.scratch[node], self.align[node] = scratch, align
        return outputs

    def mix(self, count: int, *inputs: Value, scratch: int = 0, align: int = 1) -> Value:
        return self.add(Mix(((count,),)), *inputs, scratch=scratch, align=align)[0]

    def mingle(self, *inputs: Value) -> Value:
        return self.add(Mingle(), *inputs)[0]

    def join(self, *inputs: Value) -> Value:
        return self.add(Join(), *inputs)[0]

    def cut(self, value: Value, *sizes: int) -> tuple[Value, ...]:
        return self.add(Cut(sizes), value)

    def graph(self, *outputs: Value) -> Graph:
        graph = Graph("g", tuple(self.inputs), tuple(self.nodes), outputs)
        graph.verify()
        return graph

    def program(self, graph: Graph) -> Program:
        return self.program_with_streamed_input(graph, None)

    def program_with_streamed_input(self, graph: Graph, name: str | None) -> Program:
        """The program to which the application hands over rows of the input of that name."""
        choices = {
            node: Choice(
                tuple(range(len(node.inputs))), self.scratch[node], operand_align=self.align[node]
            )
            for node in graph.nodes
            if not node.op.aliases(node.signature)
        }
        return build_program(graph, choices, streamed_input=name)


def random_inputs(graph: Graph, seed: int = 0) -> list[Array]:
    generator = np.random.default_rng(seed)
    return [
        generator.integers(-100, 100, value.type.shape).astype(value.type.element.numpy)
        for value in graph.inputs
    ]
