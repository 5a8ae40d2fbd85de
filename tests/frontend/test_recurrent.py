"""What of UNIDIRECTIONAL_SEQUENCE_LSTM and SVDF is refused, and by which words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from glowmcu.errors import GlowmcuError
from glowmcu.frontend.tflite.writer import ModelBuilder
from glowmcu.pipeline import reference_graph
from tests.support.lstm_models import LstmCase, SvdfCase, lstm_model, svdf_model
from tests.support.oracle import OracleRefused, open_tflm

Change = Callable[[ModelBuilder, list[Any]], None]


def changed(monkeypatch: pytest.MonkeyPatch, make: Callable[[], bytes], change: Change) -> bytes:
    """The file of a layer whose operands `change` has altered."""
    real = ModelBuilder.op

    def op(self: ModelBuilder, kind: str, inputs: Any, *rest: Any, **named: Any) -> None:
        operands = list(inputs)
        change(self, operands)
        real(self, kind, operands, *rest, **named)

    with monkeypatch.context() as patch:
        patch.setattr(ModelBuilder, "op", op)
        return make()


def absent(position: int) -> Change:
    def change(_: ModelBuilder, operands: list[Any]) -> None:
        operands[position] = None

    return change


def constant(position: int, data: Any, scale: float | None = 0.01, zero_point: int = 0) -> Change:
    def change(model: ModelBuilder, operands: list[Any]) -> None:
        operands[position] = model.constant("other", data, scale, zero_point)

    return change


def same(position: int, other: int) -> Change:
    def change(_: ModelBuilder, operands: list[Any]) -> None:
        operands[position] = operands[other]

    return change


def variable(position: int, shape: tuple[int, ...], dtype: str, scale: float, point: int) -> Change:
    def change(model: ModelBuilder, operands: list[Any]) -> None:
        operands[position] = model.tensor("other", shape, dtype, scale, point, is_variable=True)

    return change


def plain(position: int) -> Change:
    def change(model: ModelBuilder, operands: list[Any]) -> None:
        operands[position] = model.input("other", [1, 4], "int8", 0.1)

    return change


ONES = np.ones((4, 5), np.int8)
LSTM: dict[str, tuple[Change, str, str]] = {
    "no input gate": (absent(1), "GM105", "lacks the weights of the input gate"),
    "no bias": (absent(14), "GM105", "lacks the bias of the cell gate"),
    "peephole": (constant(10, np.ones(4, np.int16)), "GM105", "peephole weights"),
    "projection": (constant(16, np.ones((4, 4), np.int8)), "GM105", "a projection"),
    "layer normalization": (constant(21, np.ones(4, np.int16)), "GM105", "layer normalization"),
    "state that is no variable": (plain(18), "GM105", "hidden state (operand 18) is no variable"),
    "no cell state": (absent(19), "GM105", "cell state (operand 19) is no variable"),
    "both states are one": (same(18, 19), "GM105", "two of its states are one tensor"),
    "weights of another size": (
        constant(2, np.ones((4, 6), np.int8)), "GM106", "weights of its gates differ",
    ),
    "weights that are no constant": (plain(2), "GM105", "must be a constant"),
    "weights of int16": (constant(2, ONES.astype(np.int16)), "GM105", "are INT16, not INT8"),
    "weights with a zero point": (constant(2, ONES, 0.01, 3), "GM106", "must have zero point 0"),
    "weights without a scale": (constant(2, ONES, None), "GM106", "one scale a gate"),
    "weights of an absurd scale": (constant(2, ONES, 1e30), "GM106", "is too large"),
    "cell state of int8": (variable(19, (1, 4), "int8", 0.1, 0), "GM106", "expected quantized i16"),
    "cell state with a zero point": (
        variable(19, (1, 4), "int16", 2**-11, 5), "GM106", "zero point 0",
    ),
    "cell state of an absurd scale": (
        variable(19, (1, 4), "int16", 64.0, 0), "GM106", "must be from 2^-43 to 4",
    ),
    "cell state for three": (
        variable(19, (3, 4), "int16", 2**-11, 0), "GM106", "cell state must be (1, 4)",
    ),
    "hidden state of int16": (
        variable(18, (1, 4), "int16", 0.1, 0), "GM106", "expected i8 throughout",
    ),
    "hidden state of an absurd scale": (
        variable(18, (1, 4), "int8", 1e-30, 0), "GM106", "is too small",
    ),
    "bias of int64": (constant(12, np.ones(4, np.int64)), "GM106", "bias of its gates differ"),
}  # fmt: skip
SVDF: dict[str, tuple[Change, str, str]] = {
    "no state": (absent(4), "GM105", "state (operand 4) is no variable"),
    "weights that are no constant": (plain(1), "GM112", "feature weights"),
    "state of another size": (
        variable(4, (1, 19), "int8", 0.015, 0), "GM106", "state must be (1, 20)",
    ),
    "state of int16": (variable(4, (1, 20), "int16", 0.015, 0), "GM106", "weights and state"),
    "bias of another scale": (constant(3, np.ones(5, np.int32), 0.5), "GM106", "has scale 0.5"),
    "features with a zero point": (
        constant(1, np.ones((5, 6), np.int8), 0.01, 3), "GM106", "zero point 0",
    ),
    "features of an absurd scale": (
        constant(1, np.ones((5, 6), np.int8), 1e30), "GM106", "are too large",
    ),
}  # fmt: skip


def expect_refusal(data: bytes, code: str, text: str) -> None:
    with pytest.raises(GlowmcuError) as caught:
        reference_graph(data, "m.tflite")
    (problem,) = caught.value.problems
    assert (problem.code, text in problem.message) == (code, True), problem.message


@pytest.mark.parametrize("name", LSTM)
def test_lstm_that_is_not_supported_is_refused(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    change, code, text = LSTM[name]
    expect_refusal(changed(monkeypatch, lambda: lstm_model(LstmCase()), change), code, text)


@pytest.mark.parametrize("name", SVDF)
def test_svdf_that_is_not_supported_is_refused(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    change, code, text = SVDF[name]
    expect_refusal(changed(monkeypatch, lambda: svdf_model(SvdfCase()), change), code, text)


@pytest.mark.parametrize(
    "name", ["no input gate", "no bias", "peephole", "projection", "layer normalization"]
)
def test_tflm_refuses_the_same_variants(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    data = changed(monkeypatch, lambda: lstm_model(LstmCase()), LSTM[name][0])
    with pytest.raises(OracleRefused):
        open_tflm(data)


def test_another_activation_and_rank_are_refused() -> None:
    case = LstmCase(options={"fused_activation_function": "RELU"})
    expect_refusal(lstm_model(case), "GM105", "activation must be TANH")
    expect_refusal(lstm_model(LstmCase(cell_clip=float("nan"))), "GM106", "is no number")
    expect_refusal(svdf_model(SvdfCase(), rank=2), "GM106", "svdf: 5 filters are no multiple of 2")
    expect_refusal(svdf_model(SvdfCase(), rank=0), "GM106", "svdf: rank 0")
