"""Which outputs have the same bits wherever they are computed."""

from __future__ import annotations

import numpy as np

from glowmcu.frontend.tflite.writer import ModelBuilder
from glowmcu.ir.exactness import exact_outputs
from glowmcu.pipeline import reference_graph


def outputs(*kinds: str) -> tuple[bool, ...]:
    """Of a model with an output for each operator of one real number input."""
    model = ModelBuilder()
    x = model.input("x", (1, 4), "float32")
    shape = model.constant("shape", np.array([4, 1], np.int32))
    axes = model.constant("axes", np.array([1, 0], np.int32))
    for kind in kinds:
        result = {"RESHAPE": (4, 1), "TRANSPOSE": (4, 1)}.get(kind, (1, 4))
        is_stored = kind == "QUANTIZE"
        y = model.tensor(
            kind, result, "int8" if is_stored else "float32", 0.1 if is_stored else None
        )
        second = {"RESHAPE": [shape], "TRANSPOSE": [axes]}.get(kind, [])
        model.op(kind, [x, *second], [y])
        model.output(y)
    return exact_outputs(reference_graph(model.finish(), "m.tflite"))


def test_what_moves_or_is_rounded_once_is_exact() -> None:
    assert outputs("RESHAPE", "TRANSPOSE", "QUANTIZE") == (True, True, True)


def test_what_computes_with_real_numbers_is_not() -> None:
    assert outputs("TANH", "RESHAPE", "RELU") == (False, True, False)


def test_what_follows_it_is_not_either() -> None:
    model = ModelBuilder()
    x, real = model.input("x", (1, 4), "float32"), model.tensor("real", (1, 4), "float32")
    model.op("TANH", [x], [real])
    y = model.tensor("y", (1, 4), "int8", 0.1)
    model.op("QUANTIZE", [real], [y])
    model.output(y)
    assert exact_outputs(reference_graph(model.finish(), "m.tflite")) == (False,)
