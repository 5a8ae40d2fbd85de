"""One time step of RNN, GRU and LSTM as ordinary operators; weights are shared by all steps.

The gates of a cell are one fully connected layer of the input and one of the hidden state. A state
that is None is zeros: the first step needs no product for it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

import numpy as np

from glowmcu.frontend.onnx.container import NodeRecord
from glowmcu.frontend.onnx.importer import Import
from glowmcu.frontend.onnx.recurrent_activations import applied
from glowmcu.frontend.onnx.spatial import reshaped
from glowmcu.ir.graph import Value
from glowmcu.ir.operation import Operation
from glowmcu.ir.types import ElementType
from glowmcu.lazy_dataclass import dataclass
from glowmcu.ops.activation import Relu
from glowmcu.ops.elementwise import Add, Mul, Sub
from glowmcu.ops.matmul import BatchMatMul, FullyConnected
from glowmcu.ops.recurrence_cells import CellFunction
from glowmcu.ops.slicing import Slice, Split

States = tuple[Value | None, ...]


@dataclass(frozen=True)
class Weights:
    """Of one direction: W (gates * H, I), R (gates * H, H), B (2 * gates * H), P (3 * H)."""

    w: Value
    r: Value
    b: Value | None
    p: Value | None


class Emitter:
    """Nodes for one ONNX operator; what is constant is computed here, once.

    `place` says in names of results where in the unrolled operator they are.
    """

    def __init__(self, state: Import, op: NodeRecord) -> None:
        self.state = state
        self.op = op
        self.place = ""

    def add(
        self, operation: Operation, *values: Value, element: ElementType = ElementType.F32
    ) -> Value:
        """One node with one result."""
        return self.state.add(self.op, operation, values, element, name=self.named(operation))

    def add_all(self, operation: Operation, x: Value, names: Sequence[str]) -> tuple[Value, ...]:
        """One node with several results."""
        return self.state.add_all(replace(self.op, outputs=tuple(names)), operation, [x])

    def named(self, operation: Operation) -> str:
        """What a result of `operation` is called."""
        first = next((name for name in self.op.outputs if name), self.op.name or self.op.kind)
        return f"{first}{self.place}/{operation.name}"

    def part(self, x: Value, begin: int, size: int, axis: int = 0) -> Value:
        """Positions along an axis."""
        known = self.state.builder.known.get(x)
        if known is not None:
            taken = known.take(range(begin, begin + size), axis)
            return self.state.add_constant(taken, x.name)
        lengths = [(begin, size) if i == axis else (0, n) for i, n in enumerate(x.type.shape)]
        begins, sizes = (tuple(pair[i] for pair in lengths) for i in range(2))
        return self.add(Slice(begins, sizes, (1,) * x.type.rank), x)

    def entry(self, x: Value, index: int, axis: int = 0) -> Value:
        """A position along an axis, which is removed."""
        known = self.state.builder.known.get(x)
        if known is not None:
            return self.state.add_constant(known.take(index, axis), x.name)
        shape = x.type.shape
        return reshaped(
            self.state, self.op, self.part(x, index, 1, axis), shape[:axis] + shape[axis + 1 :]
        )

    def columns(self, x: Value, *sizes: int) -> tuple[Value, ...]:
        """Consecutive parts of (N, C) along the last axis."""
        split = Split(1, sizes)
        return self.add_all(split, x, [self.named(split)] * len(sizes))

    def sum(self, *values: Value | None) -> Value | None:
        """Of those that are not None; constants are summed here."""
        known = self.state.builder.known
        total: Value | None = None
        for value in values:
            if total is None or value is None:
                total = total if value is None else value
            elif total in known and value in known:
                total = self.state.add_constant(known[total] + known[value], total.name)
            else:
                total = self.add(Add(), total, value)
        return total

    def product(self, x: Value, weights: Value, bias: Value | None) -> Value:
        """x * weights^T + bias."""
        known = self.state.builder.known
        if weights not in known:
            product = self.add(BatchMatMul(adj_y=True), x, weights)
            return product if bias is None else self.add(Add(), product, bias)
        if bias is None or bias not in known:
            none = self.state.builder.add_no_bias(weights.type.shape[0])
            product = self.add(FullyConnected(), x, weights, none)
            return product if bias is None else self.add(Add(), product, bias)
        return self.add(FullyConnected(), x, weights, bias)

    def one_minus(self, x: Value) -> Value:
        """1 - x."""
        return self.add(Sub(), self.state.add_constant(np.ones((1, 1), np.float32), "one"), x)


class Cell(ABC):
    """A cell of one direction. Gates lie one behind the other in W, R and B, as in ONNX."""

    gates: ClassVar[int]
    state_count: ClassVar[int] = 1
    default_activations: ClassVar[tuple[str, ...]]

    def __init__(
        self, emitter: Emitter, weights: Weights, activations: tuple[CellFunction, ...]
    ) -> None:
        self.emit = emitter
        self.weights = weights
        self.functions = activations
        self.hidden = weights.r.type.shape[1]
        self.clip = emitter.op.number("clip", 0.0)
        width = self.gates * self.hidden
        self.input_bias, self.state_bias = (
            None if weights.b is None else emitter.part(weights.b, begin, width)
            for begin in (0, width)
        )

    @abstractmethod
    def step(self, x: Value, states: States) -> tuple[Value, ...]:
        """The states after input `x` (B, I); the first one is the hidden state, all (B, H)."""

    def activate(self, index: int, x: Value) -> Value:
        """Activation `index` of `x`, clipped before."""
        if self.clip > 0.0:
            x = self.emit.add(Relu((-self.clip, self.clip)), x)
        return applied(self.emit.state, self.emit.op, self.functions[index], x)

    def all_gates(self, x: Value, h: Value | None, bias: Value | None) -> Value:
        """x * W^T + h * R^T + bias."""
        own = self.emit.product(x, self.weights.w, bias)
        if h is None:
            return own
        return self.emit.add(Add(), own, self.emit.product(h, self.weights.r, None))


class RnnCell(Cell):
    """h' = f(x W + h R + b)."""

    gates = 1
    default_activations = ("Tanh",)

    def __init__(
        self, emitter: Emitter, weights: Weights, activations: tuple[CellFunction, ...]
    ) -> None:
        super().__init__(emitter, weights, activations)
        self.bias = emitter.sum(self.input_bias, self.state_bias)

    def step(self, x: Value, states: States) -> tuple[Value, ...]:
        return (self.activate(0, self.all_gates(x, states[0], self.bias)),)


class LstmCell(Cell):
    """Gates input, output, forget, cell: c' = forget * c + input * cell, h' = output * h(c')."""

    gates = 4
    state_count = 2
    default_activations = ("Sigmoid", "Tanh", "Tanh")

    def __init__(
        self, emitter: Emitter, weights: Weights, activations: tuple[CellFunction, ...]
    ) -> None:
        super().__init__(emitter, weights, activations)
        self.bias = emitter.sum(self.input_bias, self.state_bias)
        self.input_forget = emitter.op.flag("input_forget")
        self.peepholes = (
            None
            if weights.p is None
            else tuple(emitter.part(weights.p, i * self.hidden, self.hidden) for i in range(3))
        )

    def step(self, x: Value, states: States) -> tuple[Value, ...]:
        h, c = states
        gates = self.all_gates(x, h, self.bias)
        if self.peepholes is not None:
            return self._step_with_peepholes(gates, c, self.peepholes)
        size = self.hidden
        together, cell = self.emit.columns(gates, 3 * size, size)
        opened = self.activate(0, together)
        input_, output, forget = self.emit.columns(opened, size, size, size)
        return self._end(output, self._next_cell(input_, forget, cell, c))

    def _step_with_peepholes(
        self, gates: Value, c: Value | None, peepholes: tuple[Value, ...]
    ) -> tuple[Value, ...]:
        input_, output, forget, cell = self.emit.columns(gates, *(self.hidden,) * 4)
        input_ = self.activate(0, self._peep(input_, c, peepholes[0]))
        forget = self.activate(0, self._peep(forget, c, peepholes[2]))
        new = self._next_cell(input_, forget, cell, c)
        return self._end(self.activate(0, self._peep(output, new, peepholes[1])), new)

    def _peep(self, gate: Value, c: Value | None, peephole: Value) -> Value:
        if c is None:
            return gate
        return self.emit.add(Add(), gate, self.emit.add(Mul(), c, peephole))

    def _next_cell(self, input_: Value, forget: Value, cell: Value, c: Value | None) -> Value:
        fresh = self.emit.add(Mul(), input_, self.activate(1, cell))
        if c is None:
            return fresh
        if self.input_forget:
            forget = self.emit.one_minus(input_)
        return self.emit.add(Add(), self.emit.add(Mul(), forget, c), fresh)

    def _end(self, output: Value, c: Value) -> tuple[Value, ...]:
        shown = applied(self.emit.state, self.emit.op, self.functions[2], c)
        return self.emit.add(Mul(), output, shown), c


class GruCell(Cell):
    """Gates update z, reset r, hidden n: h' = n + z * (h - n).

    n = g(x W + (r * h) R + b), or with `linear_before_reset` g(x W + b + r * (h R + b')).
    """

    gates = 3
    default_activations = ("Sigmoid", "Tanh")

    def __init__(
        self, emitter: Emitter, weights: Weights, activations: tuple[CellFunction, ...]
    ) -> None:
        super().__init__(emitter, weights, activations)
        self.linear_before_reset = emitter.op.flag("linear_before_reset")
        size = self.hidden
        if not self.linear_before_reset:
            self.bias = emitter.sum(self.input_bias, self.state_bias)
            self.gate_weights = emitter.part(weights.r, 0, 2 * size)
            self.new_weights = emitter.part(weights.r, 2 * size, size)

    def step(self, x: Value, states: States) -> tuple[Value, ...]:
        (h,) = states
        update, new = self._after_reset(x, h) if self.linear_before_reset else self._before(x, h)
        if h is None:
            return (self.emit.add(Sub(), new, self.emit.add(Mul(), update, new)),)
        change = self.emit.add(Mul(), update, self.emit.add(Sub(), h, new))
        return (self.emit.add(Add(), new, change),)

    def _before(self, x: Value, h: Value | None) -> tuple[Value, Value]:
        """Update gate and new state where the reset gate acts on h."""
        size = self.hidden
        own = self.emit.product(x, self.weights.w, self.bias)
        gates, new = self.emit.columns(own, 2 * size, size)
        if h is None:
            update, _ = self.emit.columns(self.activate(0, gates), size, size)
            return update, self.activate(1, new)
        gates = self.emit.add(Add(), gates, self.emit.product(h, self.gate_weights, None))
        update, reset = self.emit.columns(self.activate(0, gates), size, size)
        kept = self.emit.product(self.emit.add(Mul(), reset, h), self.new_weights, None)
        return update, self.activate(1, self.emit.add(Add(), new, kept))

    def _after_reset(self, x: Value, h: Value | None) -> tuple[Value, Value]:
        """Update gate and new state where the reset gate acts on h * R + b."""
        size = self.hidden
        own = self.emit.product(x, self.weights.w, self.input_bias)
        if h is None:
            h = self.emit.state.add_constant(np.zeros((x.type.shape[0], size), np.float32), "zeros")
        kept = self.emit.product(h, self.weights.r, self.state_bias)
        gates, new = self.emit.columns(own, 2 * size, size)
        kept_gates, kept_new = self.emit.columns(kept, 2 * size, size)
        opened = self.activate(0, self.emit.add(Add(), gates, kept_gates))
        update, reset = self.emit.columns(opened, size, size)
        reset_new = self.emit.add(Mul(), reset, kept_new)
        return update, self.activate(1, self.emit.add(Add(), new, reset_new))


CELLS: dict[str, type[Cell]] = {"RNN": RnnCell, "GRU": GruCell, "LSTM": LstmCell}
