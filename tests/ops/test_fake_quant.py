"""FAKE_QUANT rounds as LiteRT does, constants and what is computed.

LiteRT refuses narrow ranges, which TensorFlow means for weights: a function stands for it there.
"""

from __future__ import annotations

import numpy as np
import pytest

from glowmcu.errors import GlowmcuError
from glowmcu.frontend.tflite.writer import ModelBuilder
from glowmcu.ir.interpreter import run_graph
from glowmcu.ir.operation import Array
from glowmcu.pipeline import reference_graph
from tests.support.check_model import check_model
from tests.support.oracle import run_litert_reference
from tests.support.single_op import Tensor, single_op_model

RANGES = {
    "eight bits": (-1.0, 1.0, 8, False),
    "narrow": (-1.0, 1.0, 8, True),
    "0 moves": (-0.9, 2.2, 8, False),
    "no negative numbers": (0.0, 6.0, 8, False),
    "above 0": (1.0, 3.0, 8, False),
    "four bits": (-1.3, 2.0, 4, False),
    "two bits, narrow": (-1.0, 1.0, 2, True),
    "twelve bits": (-3.0, 1.0, 12, False),
    "sixteen bits": (-4.0, 3.9, 16, False),
    "sixteen bits, narrow": (-4.0, 4.0, 16, True),
}


def options(low: float, high: float, bits: int, narrow: bool) -> dict[str, float]:
    return {"min": low, "max": high, "num_bits": bits, "narrow_range": narrow}


def expected(data: bytes, x: Array, low: float, high: float, bits: int, narrow: bool) -> Array:
    """What LiteRT gives, or TensorFlow's rule."""
    if not narrow:
        return run_litert_reference(data, [x])[0]
    last = 2**bits - 1
    scale = (high - low) / (last - narrow)
    point = np.clip(np.floor(narrow - low / scale + 0.5), narrow, last)
    first, end = (narrow - point) * scale, (last - point) * scale
    steps = np.floor((np.clip(x.astype(np.float64), first, end) - first) / scale + 0.5)
    return (steps * scale + first).astype(np.float32)


@pytest.mark.parametrize("name", RANGES)
def test_numbers_are_rounded_to_the_steps_of_litert(name: str) -> None:
    x = Tensor((7, 40), "float32")
    data = single_op_model("FAKE_QUANT", [x], [x], options(*RANGES[name]))
    inputs = np.random.default_rng(3).normal(0, 2, x.shape).astype(np.float32)
    graph = check_model(data, [[inputs]]).imported
    wanted = expected(data, inputs, *RANGES[name])
    np.testing.assert_allclose(run_graph(graph, [inputs])[0], wanted, atol=1e-5)


@pytest.mark.parametrize("name", RANGES)
def test_weights_are_rounded_at_compile_time(name: str) -> None:
    low, high = RANGES[name][:2]
    weights = np.linspace(low - 1, high + 1, 64, dtype=np.float32)
    model = ModelBuilder()
    x, stored = model.input("x", (64,), "float32"), model.constant("w", weights)
    rounded, y = model.tensor("r", (64,), "float32"), model.tensor("y", (64,), "float32")
    model.op("FAKE_QUANT", [stored], [rounded], options(*RANGES[name]))
    model.op("MUL", [x, rounded], [y], {})
    model.output(y)
    data = model.finish()
    ones = np.ones(64, np.float32)
    graph = check_model(data, [[ones]]).imported
    assert {node.op.name for node in graph.nodes} == {"constant", "mul"}
    single = single_op_model("FAKE_QUANT", [Tensor((64,), "float32")], [Tensor((64,), "float32")],
                             options(*RANGES[name]))  # fmt: skip
    wanted = expected(single, weights, *RANGES[name])
    np.testing.assert_allclose(run_graph(graph, [ones])[0], wanted, atol=1e-5)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ((-1.0, 1.0, 1, False), "1 bits; expected 2 to 16"),
        ((-1.0, 1.0, 17, False), "17 bits; expected 2 to 16"),
        ((1.0, 1.0, 8, False), "no steps between 1 and 1"),
        ((1.0, -1.0, 8, False), "no steps between 1 and -1"),
        ((-np.inf, 1.0, 8, False), "no steps between -inf and 1"),
        ((-3e38, 3e38, 8, False), "no steps between"),
    ],
)
def test_ranges_without_steps_are_refused(given: tuple[float, float, int, bool], said: str) -> None:
    x = Tensor((2,), "float32")
    with pytest.raises(GlowmcuError, match=f"FAKE_QUANT: {said}"):
        reference_graph(single_op_model("FAKE_QUANT", [x], [x], options(*given)), "m.tflite")


def test_stored_integers_are_refused() -> None:
    data = single_op_model(
        "FAKE_QUANT", [Tensor((2,))], [Tensor((2,))], options(-1.0, 1.0, 8, False)
    )
    with pytest.raises(GlowmcuError, match="FAKE_QUANT takes float32"):
        reference_graph(data, "m.tflite")
