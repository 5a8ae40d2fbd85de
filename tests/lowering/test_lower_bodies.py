"""What a loop carries and nobody needs is not carried."""

from __future__ import annotations

import numpy as np
import pytest

from glowmcu.frontend.tflite.writer import ModelBuilder
from glowmcu.frontend.tflite.writer_tables import TensorRef
from tests.ops.test_control_flow import loop_of
from tests.support.check_model import check_model
from tests.support.control_flow_models import (
    SCALE,
    SHAPE,
    add_loop,
    added,
    compared,
    counted_up,
    whole,
)
from tests.support.oracle import run_tflm

TRIPS = 40


def step_model(read: str) -> bytes:
    """A loop over a counter, a number of steps, the steps before the last one, and a tensor.
    `read`: who reads the steps besides themselves: nobody, the tensor, or the application.
    """
    model = ModelBuilder()
    x = model.input("x", SHAPE, "int8", SCALE, 0)
    first = [model.constant(name, np.array([0], np.int32)) for name in ("first", "steps", "before")]
    last = [model.tensor(name, (1,), "int32") for name in ("last", "step", "late")]
    y = whole(model, "y")

    def body(builder: ModelBuilder, inputs: list[TensorRef]) -> list[TensorRef]:
        counter, steps, _, value = inputs
        following = added(builder, "sum", value, np.arange(6).reshape(SHAPE))
        if read == "tensor":
            stored = builder.tensor("stored", (1,), "float32")
            builder.op("CAST", [steps], [stored])
            whole_step = whole(builder, "whole step", (1,))
            builder.op("QUANTIZE", [stored], [whole_step])
            total = whole(builder, "total")
            builder.op(
                "ADD", [following, whole_step], [total], {"fused_activation_function": "NONE"}
            )
            following = total
        return [counted_up(builder, counter), counted_up(builder, steps, 2), steps, following]

    def goes_on(builder: ModelBuilder, inputs: list[TensorRef]) -> list[TensorRef]:
        return [compared(builder, "LESS", inputs[0], np.array([TRIPS], np.int32))]

    add_loop(model, [*first, x], [*last, y], goes_on, body)
    model.output(y)
    if read == "application":
        model.output(last[2])
    return model.finish()


@pytest.mark.parametrize(("read", "carried"), [("nobody", 1), ("tensor", 2), ("application", 3)])
def test_a_loop_carries_what_somebody_needs(read: str, carried: int) -> None:
    compilation = check_model(step_model(read), oracle=run_tflm)
    loop = loop_of(compilation.graph)
    assert loop.carried == carried
    if read == "nobody":
        assert [node.op.name for node in loop.body.graph.nodes if node.inputs] == ["add", "assign"]
