"""Small models with branches and loops, as the exporters write them: subgraphs, graphs in nodes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from glowmcu.frontend.tflite.writer import ModelBuilder
from glowmcu.frontend.tflite.writer_tables import TensorRef

Array = npt.NDArray[Any]
SHAPE = (1, 6)
SCALE = 0.5
#: Adds operators to a subgraph: what it makes of its inputs.
Part = Callable[[ModelBuilder, list[TensorRef]], list[TensorRef]]


def whole(builder: ModelBuilder, name: str, shape: Sequence[int] = SHAPE) -> TensorRef:
    """A tensor of int8."""
    return builder.tensor(name, shape, "int8", SCALE, 0)


def added(builder: ModelBuilder, name: str, x: TensorRef, data: Array) -> TensorRef:
    """`x` and int8 data of its scale."""
    constant = builder.constant(f"{name}/data", data.astype(np.int8), SCALE, 0)
    y = whole(builder, name)
    builder.op("ADD", [x, constant], [y], {"fused_activation_function": "NONE"})
    return y


def counted_up(builder: ModelBuilder, counter: TensorRef, step: int = 1) -> TensorRef:
    """`counter` + `step`, int32[1]."""
    one = builder.constant("step", np.array([step], np.int32))
    following = builder.tensor("following", (1,), "int32")
    builder.op("ADD", [counter, one], [following], {})
    return following


def compared(builder: ModelBuilder, kind: str, x: TensorRef, limit: Array) -> TensorRef:
    """LESS and the like against a constant."""
    bound = builder.constant("limit", limit)
    result = builder.tensor("result", np.broadcast_shapes((1,), limit.shape), "bool")
    builder.op(kind, [x, bound], [result])
    return result


def counted_loop(trips: int, body: Part, start: int = 0) -> bytes:
    """WHILE of so many trips that are known: a counter, and int8[1, 6] that the body changes."""
    model = ModelBuilder()
    x = model.input("x", SHAPE, "int8", SCALE, 0)
    first = model.constant("first", np.array([start], np.int32))
    last, y = model.tensor("last", (1,), "int32"), whole(model, "y")
    limit = np.array([start + trips], np.int32)
    add_loop(
        model, [first, x], [last, y], lambda b, i: [compared(b, "LESS", i[0], limit)],
        lambda b, i: [counted_up(b, i[0]), *body(b, [i[1]])],
    )  # fmt: skip
    model.output(y)
    return model.finish()


def add_loop(
    model: ModelBuilder, inputs: list[TensorRef], outputs: list[TensorRef], cond: Part, body: Part
) -> None:
    """A WHILE over `inputs`; inner tensors are as those are."""
    numbers = [add_part(model, name, inputs, part) for name, part in (("c", cond), ("b", body))]
    options = {"cond_subgraph_index": numbers[0], "body_subgraph_index": numbers[1]}
    model.op("WHILE", inputs, outputs, options)


def add_branches(
    model: ModelBuilder, condition: TensorRef, inputs: list[TensorRef], outputs: list[TensorRef],
    parts: Sequence[Part],
) -> None:  # fmt: skip
    """An IF over `inputs`."""
    numbers = [add_part(model, f"branch{i}", inputs, part) for i, part in enumerate(parts)]
    options = {"then_subgraph_index": numbers[0], "else_subgraph_index": numbers[1]}
    model.op("IF", [condition, *inputs], outputs, options)


def add_part(model: ModelBuilder, name: str, inputs: Sequence[TensorRef], part: Part) -> int:
    """A subgraph with inputs like these; its number."""
    inner, number = model.subgraph(name)
    given = [
        inner.input(f"{name}_{place}", item.shape, item.dtype, item.scale or None, item.zero_point)
        for place, item in enumerate(inputs)
    ]
    for result in part(inner, given):
        inner.output(result)
    return number


class RandomModel:
    """A network of branches and loops inside of each other, that data decide or that are known.

    Inputs: int8[1, 6], int32[1] that counts, bool[1]. Every loop has a counter of its own.
    """

    def __init__(self, seed: int, with_variables: bool = False) -> None:
        self.random = np.random.default_rng([7, seed])
        self.root = ModelBuilder()
        self.with_variables = with_variables
        self._names = 0

    def data(self) -> bytes:
        """The file."""
        model = self.root
        x = model.input("x", SHAPE, "int8", SCALE, 0)
        count = model.input("count", (1,), "int32")
        flag = model.input("flag", (1,), "bool")
        values = [x, count, flag]
        for _ in range(int(self.random.integers(1, 4))):
            values = self.statement(model, values, 2)
        for value in values[:2]:
            model.output(self.unlike_inputs(model, value))
        return model.finish()

    def unlike_inputs(self, b: ModelBuilder, value: TensorRef) -> TensorRef:
        """Something computed, in any case."""
        if value.dtype == "int32":
            return self.counted(b, value, 1)
        return self.layer(b, value)

    def name(self, word: str) -> str:
        self._names += 1
        return f"{word}{self._names}"

    def statement(self, b: ModelBuilder, values: list[TensorRef], depth: int) -> list[TensorRef]:
        """`values` after a layer, a branch or a loop."""
        kind = self.random.choice(["layer", "branch", "loop", "variable"], p=[0.3, 0.3, 0.3, 0.1])
        if kind == "branch" and depth:
            return self.branch(b, values, depth - 1)
        if kind == "loop" and depth:
            return self.loop(b, values, depth - 1)
        if kind == "variable" and self.with_variables:
            return [self.remembered(b, values[0]), *values[1:]]
        return [self.layer(b, values[0]), *values[1:]]

    def layer(self, b: ModelBuilder, x: TensorRef) -> TensorRef:
        y = whole(b, self.name("y"))
        kind = self.random.choice(["ADD", "MUL", "FULLY_CONNECTED", "LOGISTIC", "MAXIMUM"])
        data = self.random.integers(-128, 128, SHAPE).astype(np.int8)
        if kind == "FULLY_CONNECTED":
            weights = self.random.integers(-127, 128, (6, 6)).astype(np.int8)
            w = b.constant(self.name("w"), weights, 0.01, 0)
            bias = self.random.integers(-400, 400, 6).astype(np.int32)
            c = b.constant(self.name("bias"), bias, 0.005, 0)
            b.op(kind, [x, w, c], [y], {"fused_activation_function": "NONE"})
        elif kind == "LOGISTIC":
            narrow = b.tensor(self.name("s"), SHAPE, "int8", 1 / 256, -128)
            b.op(kind, [x], [narrow])
            b.op("QUANTIZE", [narrow], [y])
        else:
            c = b.constant(self.name("c"), data, SCALE, 0)
            b.op(kind, [x, c], [y], {})
        return y

    def counted(self, b: ModelBuilder, count: TensorRef, step: int) -> TensorRef:
        one = b.constant(self.name("step"), np.array([step], np.int32))
        following = b.tensor(self.name("count"), (1,), "int32")
        b.op("ADD", [count, one], [following], {})
        return following

    def condition(self, b: ModelBuilder, values: list[TensorRef]) -> TensorRef:
        """Of a branch."""
        kind = self.random.choice(["flag", "count", "not"])
        result = b.tensor(self.name("is"), (1,), "bool")
        if kind == "count":
            limit = b.constant(self.name("l"), self.random.integers(0, 6, 1).astype(np.int32))
            b.op(str(self.random.choice(["LESS", "EQUAL", "GREATER_EQUAL"])), [values[1], limit],
                 [result])  # fmt: skip
            return result
        b.op("LOGICAL_NOT", [values[2]], [result])
        return result if kind == "not" else values[2]

    def branch(self, b: ModelBuilder, values: list[TensorRef], depth: int) -> list[TensorRef]:
        count = int(self.random.integers(1, 4))
        results = [self.like(b, value) for value in values[:count]]
        parts = [lambda b, v: self.part(b, v, depth)[:count] for _ in range(2)]
        condition = self.condition(b, values)
        numbers = [add_part(self.root, self.name("br"), values, part) for part in parts]
        options = {"then_subgraph_index": numbers[0], "else_subgraph_index": numbers[1]}
        b.op("IF", [condition, *values], results, options)
        return [*results, *values[count:]]

    def part(self, b: ModelBuilder, values: list[TensorRef], depth: int) -> list[TensorRef]:
        for _ in range(int(self.random.integers(0, 3))):
            values = self.statement(b, values, depth)
        return values

    def loop(self, b: ModelBuilder, values: list[TensorRef], depth: int) -> list[TensorRef]:
        """Up to a limit that is known, from a beginning that may be."""
        begin = values[1]
        if self.random.integers(2):
            begin = b.constant(self.name("begin"), self.random.integers(0, 4, 1).astype(np.int32))
        given = [begin, *values]
        limit = self.random.integers(3, 9, 1).astype(np.int32)
        step = int(self.random.integers(1, 3))
        numbers = [
            add_part(self.root, self.name("c"), given, lambda b, v: [self.below(b, v[0], limit)]),
            add_part(self.root, self.name("b"), given, lambda b, v: [
                self.counted(b, v[0], step), *self.part(b, v[1:], depth)]),
        ]  # fmt: skip
        options = {"cond_subgraph_index": numbers[0], "body_subgraph_index": numbers[1]}
        results = [self.like(b, value) for value in given]
        b.op("WHILE", given, results, options)
        return results[1:]

    def below(self, b: ModelBuilder, count: TensorRef, limit: Array) -> TensorRef:
        bound = b.constant(self.name("limit"), limit)
        result = b.tensor(self.name("more"), (1,), "bool")
        b.op("LESS", [count, bound], [result])
        return result

    def like(self, b: ModelBuilder, value: TensorRef) -> TensorRef:
        scale = value.scale or None
        return b.tensor(self.name("r"), value.shape, value.dtype, scale, value.zero_point)

    def remembered(self, b: ModelBuilder, x: TensorRef) -> TensorRef:
        """A sum over time: a variable that is read, added to and assigned."""
        handle = b.tensor(self.name("handle"), (), "resource")
        b.op("VAR_HANDLE", [], [handle], {"shared_name": str(self.random.choice(["one", "two"]))})
        before, after = whole(b, self.name("before")), whole(b, self.name("after"))
        b.op("READ_VARIABLE", [handle], [before])
        b.op("ADD", [before, x], [after], {"fused_activation_function": "NONE"})
        b.op("ASSIGN_VARIABLE", [handle, after], [])
        return after
