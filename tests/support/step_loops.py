"""Recurrent layers as Keras 3 exports them: a WHILE over steps, which takes row i of the sequence
and puts the hidden state in the place of row i of another.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from glowmcu.frontend.tflite.writer import ModelBuilder, TensorRef

_NO_ACTIVATION = {"fused_activation_function": 0}


@dataclass(frozen=True)
class StepLoop:
    """A layer of `kind` LSTM, GRU or RNN. `sequence`: all hidden states are results, else the last
    one. `swapped`: operands of sums and products stand the other way round, and gates are slices.
    `start`: states begin with numbers. `change` makes the body another one.
    """

    kind: str
    steps: int = 9
    depth: int = 5
    units: int = 4
    sequence: bool = True
    swapped: bool = False
    start: bool = False
    change: str = ""

    @property
    def gates(self) -> int:
        return {"LSTM": 4, "GRU": 3, "RNN": 1}[self.kind]

    def model(self) -> bytes:
        """The file; its input is float32 (steps, 1, depth)."""
        b = ModelBuilder()
        x = b.input("x", (self.steps, 1, self.depth), "float32")
        rows = self.steps if self.sequence else 1
        zero = b.constant("zero", np.zeros((), np.int32))
        states = [
            b.constant(f"start{i}", self._numbers(7 + i, (1, self.units)) * self.start)
            for i in range(2 if self.kind == "LSTM" else 1)
        ]
        collected = b.constant("rows", np.zeros((rows, 1, self.units), np.float32))
        results = [b.tensor(f"end{i}", (), "int32") for i in range(2)]
        results.append(b.tensor("all", (rows, 1, self.units), "float32"))
        results += [b.tensor(f"state{i}", (1, self.units), "float32") for i in range(len(states))]
        results.append(b.tensor("same", (self.steps, 1, self.depth), "float32"))
        options = {"cond_subgraph_index": 1, "body_subgraph_index": 2}
        b.op("WHILE", [zero, zero, collected, *states, x], results, options)
        self._condition(b.subgraph("cond")[0])
        self._body(b.subgraph("body")[0])
        for result in results[1:-1]:
            b.output(result)
        return b.finish()

    def _numbers(self, seed: int, shape: tuple[int, ...]) -> np.ndarray:
        return np.random.default_rng(seed).normal(0, 0.5, shape).astype(np.float32)

    def _inputs(self, b: ModelBuilder) -> list[TensorRef]:
        rows = self.steps if self.sequence else 1
        given = [b.input("loop", (), "int32"), b.input("time", (), "int32"),
                 b.input("rows", (rows, 1, self.units), "float32")]  # fmt: skip
        count = 2 if self.kind == "LSTM" else 1
        given += [b.input(f"h{i}", (1, self.units), "float32") for i in range(count)]
        return [*given, b.input("x", (self.steps, 1, self.depth), "float32")]

    def _condition(self, b: ModelBuilder) -> None:
        _, time, *_ = self._inputs(b)
        again = b.tensor("again", (), "bool")
        most = self.steps - 2 * (self.change == "fewer steps")
        b.op("LESS", [time, b.constant("most", np.array(most, np.int32))], [again])
        b.output(again)

    def _body(self, b: ModelBuilder) -> None:
        _Body(b, self).write(self._inputs(b))


class _Body:
    def __init__(self, b: ModelBuilder, case: StepLoop) -> None:
        self._b, self._case, self._count = b, case, 0

    def _made(
        self, kind: str, inputs: list[TensorRef], shape: tuple[int, ...],
        options: dict[str, int] | None = None, dtype: str = "float32",
    ) -> TensorRef:  # fmt: skip
        self._count += 1
        # How many rows are in front of a row, and behind it, depends on the step.
        signature = (-1, *shape[1:]) if kind == "SLICE" and len(shape) == 3 else ()
        result = self._b.tensor(f"t{self._count}", shape, dtype, shape_signature=signature)
        self._b.op(kind, inputs, [result], options)
        return result

    def _pair(self, kind: str, a: TensorRef, b: TensorRef, size: int) -> TensorRef:
        operands = [b, a] if self._case.swapped and kind != "SUB" else [a, b]
        return self._made(kind, operands, (1, size), _NO_ACTIVATION)

    def _ints(self, *numbers: int) -> TensorRef:
        self._count += 1
        return self._b.constant(f"i{self._count}", np.array(numbers, np.int32))

    def _product(self, x: TensorRef, seed: int, depth: int) -> TensorRef:
        case = self._case
        rows = case.gates * case.units
        weights = self._b.constant(f"w{seed}", case._numbers(seed, (rows, depth)))
        bias = self._b.constant(f"b{seed}", case._numbers(seed + 1, (rows,)))
        return self._made("FULLY_CONNECTED", [x, weights, bias], (1, rows), _NO_ACTIVATION)

    def _parts(self, value: TensorRef) -> list[TensorRef]:
        """One for each gate."""
        units, gates = self._case.units, self._case.gates
        if self._case.swapped:
            return [
                self._made("SLICE", [value, self._ints(0, units * gate), self._ints(1, units)],
                           (1, units)) for gate in range(gates)
            ]  # fmt: skip
        parts = [self._b.tensor(f"p{self._count}_{gate}", (1, units), "float32")
                 for gate in range(gates)]  # fmt: skip
        self._b.op("SPLIT", [self._b.constant(f"a{self._count}", np.array(1, np.int32)), value],
                   parts, {"num_splits": gates})  # fmt: skip
        return parts

    def write(self, inputs: list[TensorRef]) -> None:
        case, b = self._case, self._b
        loop, time, rows, *states, x = inputs
        row = self._made("GATHER", [x, time], (1, case.depth), {"axis": 0})
        products = self._product(row, 1, case.depth), self._product(states[0], 3, case.units)
        cells: dict[str, Callable[..., list[TensorRef]]] = {
            "LSTM": self._lstm, "GRU": self._gru, "RNN": self._plain,
        }  # fmt: skip
        after = cells[case.kind](*products, states)
        one = b.constant("one", np.array(2 if case.change == "two rows a step" else 1, np.int32))
        next_loop, next_time = (
            self._made("ADD", [at, one], (), _NO_ACTIVATION, "int32") for at in (loop, time)
        )
        hidden = self._made("RESHAPE", [after[0], self._ints(1, 1, case.units)], (1, 1, case.units))
        if case.sequence:
            hidden = self._row_written(rows, hidden, time, next_time)
        if case.change == "rows are added up":
            hidden = self._made("ADD", [hidden, rows], (case.steps, 1, case.units), _NO_ACTIVATION)
        for result in (next_loop, next_time, hidden, *after, x):
            b.output(result)

    def _row_written(
        self, rows: TensorRef, row: TensorRef, time: TensorRef, following: TensorRef
    ) -> TensorRef:
        units, steps = self._case.units, self._case.steps
        first, second = (
            self._made("RESHAPE", [at, self._ints(1)], (1,), None, "int32")
            for at in (time, following)
        )
        size = self._made("CONCATENATION", [first, self._ints(-1, -1)], (3,), {"axis": 0}, "int32")
        begin = self._made("CONCATENATION", [second, self._ints(0, 0)], (3,), {"axis": 0}, "int32")
        before = self._made("SLICE", [rows, self._ints(0, 0, 0), size], (1, 1, units))
        behind = self._made("SLICE", [rows, begin, self._ints(-1, -1, -1)], (1, 1, units))
        return self._made("CONCATENATION", [before, row, behind], (steps, 1, units), {"axis": 0})

    def _plain(
        self, given: TensorRef, recurrent: TensorRef, states: list[TensorRef]
    ) -> list[TensorRef]:
        units = self._case.units
        total = self._pair("ADD", given, recurrent, units)
        if self._case.change == "sums of sums":
            for _ in range(70):
                total = self._pair("ADD", total, total, units)
        if self._case.change == "a bound in the sum":
            total = self._made("RELU6", [total], (1, units))
        function = "LOGISTIC" if self._case.change == "another function" else "TANH"
        return [self._made(function, [total], (1, units))]

    def _lstm(
        self, given: TensorRef, recurrent: TensorRef, states: list[TensorRef]
    ) -> list[TensorRef]:
        units = self._case.units
        total = self._pair("ADD", given, recurrent, 4 * units)
        more = self._b.constant("more", self._case._numbers(9, (4 * units,)))
        i, f, g, o = self._parts(self._pair("ADD", total, more, 4 * units))
        gates = {name: self._made("LOGISTIC", [part], (1, units))
                 for name, part in (("i", i), ("f", f), ("o", o))}  # fmt: skip
        kept = self._pair("MUL", gates["f"], states[1], units)
        new = self._pair("MUL", gates["i"], self._made("TANH", [g], (1, units)), units)
        cell = self._pair("ADD", kept, new, units)
        shown = self._made("TANH", [cell], (1, units))
        return [self._pair("MUL", gates["o"], shown, units), cell]

    def _gru(
        self, given: TensorRef, recurrent: TensorRef, states: list[TensorRef]
    ) -> list[TensorRef]:
        units = self._case.units
        (xz, xr, xn), (hz, hr, hn) = self._parts(given), self._parts(recurrent)
        z, r = (
            self._made("LOGISTIC", [self._pair("ADD", a, b, units)], (1, units))
            for a, b in ((xz, hz), (xr, hr))
        )
        new = self._pair("ADD", xn, self._pair("MUL", r, hn, units), units)
        rest = self._pair("SUB", self._b.constant("full", np.ones((), np.float32)), z, units)
        fresh = self._pair("MUL", rest, self._made("TANH", [new], (1, units)), units)
        return [self._pair("ADD", self._pair("MUL", z, states[0], units), fresh, units)]
