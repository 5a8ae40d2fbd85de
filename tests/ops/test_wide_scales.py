"""Functions and pairs of int16 at random scales: what is float32 in a factor, and what is double,
shows in one element of thousands.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from glowmcu.frontend.tflite.reader import read_tflite
from glowmcu.frontend.tflite.writer import ModelBuilder
from glowmcu.ir.interpreter import run_graph
from tests.support.oracle import run_litert_reference, run_tflm

COUNT, DRAWS = 4096, 6
LARGEST = 2**15 - 1
Scales = list[float]
#: What the greatest result of operands with these scales is.
Reach = Callable[[Scales], float]
#: Reach, and the oracle.
KINDS: dict[str, tuple[Reach, Any]] = {
    "EXP": (lambda s: np.exp(min(LARGEST * s[0], 60.0)), run_litert_reference),
    "LOG": (lambda s: 12.0, run_litert_reference),
    "GELU": (lambda s: LARGEST * s[0], run_litert_reference),
    "SQRT": (lambda s: np.sqrt(LARGEST * s[0]), run_litert_reference),
    "RSQRT": (lambda s: 1 / np.sqrt(s[0]), run_tflm),
    "DIV": (lambda s: LARGEST * s[0] / s[1] / 8, run_litert_reference),
    "SQUARED_DIFFERENCE": (lambda s: (2 * LARGEST * max(s)) ** 2, run_tflm),
}
PAIRS = ("DIV", "SQUARED_DIFFERENCE")
ROOTS = ("SQRT", "RSQRT")
#: Beyond, exponentials leave float32, and LiteRT's table is arbitrary.
MOST_EXPONENT = 80.0


def model(kind: str, scales: Scales, out_scale: float) -> bytes:
    b = ModelBuilder()
    operands = [b.input(f"x{i}", (1, COUNT), "int16", s) for i, s in enumerate(scales)]
    y = b.tensor("y", (1, COUNT), "int16", out_scale)
    b.op(kind, operands, [y])
    b.output(y)
    return b.finish()


@pytest.mark.parametrize("kind", KINDS)
def test_results_at_random_scales_are_the_oracles(kind: str) -> None:
    reach, oracle = KINDS[kind]
    generator = np.random.default_rng(zlib.crc32(kind.encode()))
    for _ in range(DRAWS):
        scales = [float(np.float32(2.0 ** generator.uniform(-16, -4))) for _ in range(2)]
        scales = scales[: 1 + (kind in PAIRS)]
        if kind == "EXP":
            scales[0] = min(scales[0], MOST_EXPONENT / LARGEST)
        out_scale = reach(scales) / LARGEST * 2.0 ** generator.uniform(-3, 2)
        data = model(kind, scales, float(np.float32(out_scale)))
        arrays = [generator.integers(-LARGEST, LARGEST + 1, (1, COUNT)) for _ in scales]
        stored = [(abs(x) if kind in ROOTS else x).astype(np.int16) for x in arrays]
        if kind == "DIV":
            # Quotients of at least one step: below, LiteRT shifts by more than a word has.
            stored[0] = (np.sign(stored[0]) * np.maximum(abs(stored[0]), 2**12)).astype(np.int16)
            stored[1] = (np.sign(arrays[1]) * (1 + abs(arrays[1]) % 8)).astype(np.int16)
            stored[1][stored[1] == 0] = 1
        (want,) = oracle(data, stored)
        (got,) = run_graph(read_tflite(data, "m"), stored)
        np.testing.assert_array_equal(got, want, err_msg=f"{kind} {scales} {out_scale}")
