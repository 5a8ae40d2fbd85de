"""Layers that are written out row by row, as Keras' TimeDistributed does, become one."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from glowmcu.frontend.tflite.writer import ModelBuilder, TensorRef
from glowmcu.lowering import merge_repeated_layers
from glowmcu.pipeline import reference_graph
from tests.support.check_model import check_model
from tests.support.oracle import run_litert_reference, run_tflm

ROWS, DEPTH, UNITS = 6, 5, 3
NONE = {"fused_activation_function": 0}


class Repeated:
    """A dense layer, and RELU behind it, on each row; `change` makes one row another."""

    def __init__(self, dtype: str = "float32", change: str = "") -> None:
        self.dtype, self.change = dtype, change
        self.b = ModelBuilder()

    def _type(self) -> tuple[float, int] | tuple[()]:
        return (0.1, 3) if self.dtype == "int8" else ()

    def _tensor(self, name: str, shape: tuple[int, ...]) -> TensorRef:
        return self.b.tensor(name, shape, self.dtype, *self._type())

    def _weights(self, seed: int) -> list[TensorRef]:
        random = np.random.default_rng(seed)
        if self.dtype == "int8":
            weights = random.integers(-127, 128, (UNITS, DEPTH)).astype(np.int8)
            bias = random.integers(-900, 900, UNITS).astype(np.int32)
            scale = np.float32(0.1) * np.float32(0.01)
            return [
                self.b.constant(f"w{seed}", weights, 0.01),
                self.b.constant(f"b{seed}", bias, scale),
            ]
        numbers = random.normal(0, 1, (UNITS, DEPTH + 1)).astype(np.float32)
        weights = np.ascontiguousarray(numbers[:, 1:])
        bias = np.ascontiguousarray(numbers[:, 0])
        return [self.b.constant(f"w{seed}", weights), self.b.constant(f"b{seed}", bias)]

    def model(self) -> bytes:
        b = self.b
        x = b.input("x", (ROWS, 1, DEPTH), self.dtype, *self._type())
        shared, results = self._weights(1), []
        shape = b.constant("shape", np.array([1, 1, UNITS], np.int32))
        flat = b.constant("flat", np.array([1, DEPTH], np.int32))
        for row in range(ROWS):
            begin = b.constant(f"begin{row}", np.array([self._place(row), 0, 0], np.int32))
            size = b.constant(f"size{row}", np.array([1, 1, DEPTH], np.int32))
            taken, line = (
                self._tensor(f"s{row}", (1, 1, DEPTH)),
                self._tensor(f"l{row}", (1, DEPTH)),
            )
            b.op("SLICE", [x, begin, size], [taken])
            if self.change == "no slices":
                taken = b.input(f"x{row}", (1, 1, DEPTH), self.dtype, *self._type())
            b.op("RESHAPE", [taken, flat], [line])
            if self.change == "a constant" and row == 3:
                line = b.constant("c", np.ones((1, DEPTH), np.float32))
            dense = self._tensor(f"d{row}", (1, UNITS))
            constants = self._weights(2) if self.change == "weights" and row == 2 else shared
            b.op("FULLY_CONNECTED", [line, *constants], [dense], NONE)
            result = self._tensor(f"r{row}", (1, UNITS))
            b.op("NEG" if self.change == "function" and row == 4 else "RELU", [dense], [result])
            if self.change == "read by others" and row == 1:
                b.output(result)
            if self.change == "two layers":
                second = b.constant(f"v{row}", np.eye(UNITS, dtype=np.float32))
                result, first = self._tensor(f"q{row}", (1, UNITS)), result
                b.op("FULLY_CONNECTED", [first, second, None], [result], NONE)
            results.append(self._tensor(f"p{row}", (1, 1, UNITS)))
            b.op("RESHAPE", [result, shape], [results[-1]])
        y = self._tensor("y", (ROWS, 1, UNITS))
        b.op("CONCATENATION", results, [y], {"axis": 0, **NONE})
        b.output(y)
        return b.finish()

    def _place(self, row: int) -> int:
        return ROWS - 1 - row if self.change == "order" else row


def counted(data: bytes) -> Counter[str]:
    graph = merge_repeated_layers.run(reference_graph(data, "m.tflite"))
    graph.verify()
    return Counter(node.op.name for node in graph.nodes)


@pytest.mark.parametrize("dtype", ["float32", "int8"])
def test_one_layer_stands_for_all_rows(dtype: str) -> None:
    data = Repeated(dtype).model()
    found = counted(data)
    assert (found["fully_connected"], found["relu"]) == (1, 1)
    assert not found["slice"] + found["concatenation"]
    check_model(data, oracle=run_tflm if dtype == "int8" else run_litert_reference)


@pytest.mark.parametrize(
    "change", ["weights", "function", "read by others", "a constant", "no slices", "two layers"]
)
def test_rows_that_differ_stay_apart(change: str) -> None:
    data = Repeated(change=change).model()
    # What a constant becomes is computed at compile time.
    count = {"a constant": ROWS - 1, "two layers": 2 * ROWS}.get(change, ROWS)
    assert counted(data)["fully_connected"] == count
    check_model(data, oracle=run_litert_reference)


def test_rows_in_another_order_are_joined_as_they_are() -> None:
    data = Repeated(change="order").model()
    found = counted(data)
    assert (found["fully_connected"], found["slice"]) == (1, ROWS)
    check_model(data, oracle=run_litert_reference)
