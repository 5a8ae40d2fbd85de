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
