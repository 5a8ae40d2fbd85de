"""RNN, and RNN and LSTM in both directions, equal LiteRT, run after run, and so does their C."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import glowmcu
from glowmcu.errors import GlowmcuError
from glowmcu.frontend.tflite.writer import ModelBuilder
from glowmcu.frontend.tflite.writer_tables import TensorRef
from glowmcu.ir.interpreter import Session
from glowmcu.pipeline import reference_graph
from tests.support.check_model import expect_close
from tests.support.oracle import open_litert_reference

STEPS, BATCH, DEPTH, UNITS = 4, 2, 5, 3
TANH, RELU, RELU6, NONE, SIGN_BIT = "TANH", "RELU", "RELU6", "NONE", "SIGN_BIT"


class Layer:
    """A model of one operator in the making."""

    def __init__(self, time_major: bool, seed: int = 0) -> None:
        self.model = ModelBuilder()
        self.random = np.random.default_rng(seed)
        self.first = (STEPS, BATCH) if time_major else (BATCH, STEPS)
        self.count = 0

    def constant(self, *shape: int) -> TensorRef:
        self.count += 1
        data = self.random.normal(0, 0.4, shape).astype(np.float32)
        return self.model.constant(f"c{self.count}", data)

    def state(self, variable: bool = True) -> TensorRef:
        self.count += 1
        return self.model.tensor(f"s{self.count}", (BATCH, UNITS), "float32", is_variable=variable)

    def rnn(self) -> list[TensorRef]:
        """Operands of one direction."""
        shapes = [(UNITS, DEPTH), (UNITS, UNITS), (UNITS,)]
        return [*(self.constant(*shape) for shape in shapes), self.state()]

    def lstm(self) -> list[TensorRef | None]:
        """Weights of one direction."""
        return [
            *(self.constant(UNITS, DEPTH) for _ in range(4)),
            *(self.constant(UNITS, UNITS) for _ in range(4)),
            *(None,) * 3, *(self.constant(UNITS) for _ in range(4)), *(None,) * 2,
        ]  # fmt: skip

    def finish(self, kind: str, operands: list[Any], results: list[tuple[int, ...]],
               options: dict[str, Any], x: tuple[int, ...] = ()) -> bytes:  # fmt: skip
        given = self.model.input("x", x or (*self.first, DEPTH), "float32")
        outs = [self.model.tensor(f"y{i}", s, "float32") for i, s in enumerate(results)]
        self.model.op(kind, [given, *operands], outs, options)
        for out in outs:
            self.model.output(out)
        return self.model.finish()


def rnn_model(activation: str = TANH, time_major: bool = False) -> bytes:
    layer = Layer(time_major)
    options = {"fused_activation_function": activation, "time_major": time_major}
    return layer.finish(
        "UNIDIRECTIONAL_SEQUENCE_RNN", layer.rnn(), [(*layer.first, UNITS)], options
    )


def one_step_model(activation: str) -> bytes:
    layer = Layer(False)
    options = {"fused_activation_function": activation}
    return layer.finish("RNN", layer.rnn(), [(BATCH, UNITS)], options, (BATCH, DEPTH))


def both_rnn_model(merge: bool, time_major: bool, auxiliary: bool = False) -> bytes:
    layer = Layer(time_major)
    options = {
        "fused_activation_function": TANH, "time_major": time_major, "merge_outputs": merge,
    }  # fmt: skip
    rest = [layer.constant(*layer.first, DEPTH) if auxiliary else None, None, None]
    results = [(*layer.first, 2 * UNITS)] if merge else [(*layer.first, UNITS)] * 2
    operands = [*layer.rnn(), *layer.rnn(), *rest]
    return layer.finish("BIDIRECTIONAL_SEQUENCE_RNN", operands, results, options)


def both_lstm_model(
    merge: bool, time_major: bool, clip: float = 0.0, activation: str = TANH,
    extra: dict[int, Any] | None = None, state: bool = True,
) -> bytes:  # fmt: skip
    layer = Layer(time_major)
    options = {
        "fused_activation_function": activation, "time_major": time_major, "merge_outputs": merge,
        "cell_clip": clip, "proj_clip": 0.0,
    }  # fmt: skip
    operands = [
        *layer.lstm(), *layer.lstm(), *(layer.state(state) for _ in range(4)), *(None,) * 9,
    ]  # fmt: skip
    for place, shape in (extra or {}).items():
        operands[place - 1] = layer.constant(*shape)
    results = [(*layer.first, 2 * UNITS)] if merge else [(*layer.first, UNITS)] * 2
    return layer.finish("BIDIRECTIONAL_SEQUENCE_LSTM", operands, results, options)


MODELS = {
    "tanh": rnn_model(),
    "time first": rnn_model(time_major=True),
    "relu": rnn_model(RELU),
    "relu6": rnn_model(RELU6),
    "one step": one_step_model(TANH),
    "one step, relu": one_step_model(RELU),
    "both directions, joined": both_rnn_model(merge=True, time_major=False),
    "both directions, time first": both_rnn_model(merge=False, time_major=True),
    "LSTM in both directions, joined": both_lstm_model(merge=True, time_major=False),
    "LSTM in both directions, two results": both_lstm_model(merge=False, time_major=False),
    "LSTM in both directions, time first": both_lstm_model(merge=True, time_major=True, clip=0.2),
}


#: LiteRT's joined results of several batches, one behind the other, are wrong (docs/oracles.md).
_JOINED = "LSTM in both directions, joined"


@pytest.mark.parametrize("name", [name for name in MODELS if name != _JOINED])
def test_every_run_is_that_of_litert(name: str, tmp_path: Path) -> None:
    data = MODELS[name]
    graph = reference_graph(data, "m.tflite")
    session, oracle = Session(graph), open_litert_reference(data)
    (tmp_path / "m.tflite").write_bytes(data)
    compiled = glowmcu.compile(tmp_path / "m.tflite", output=tmp_path / "net").session()
    random = np.random.default_rng(1)
    for _ in range(4):
        x = random.normal(0, 1, graph.arguments[0].type.shape).astype(np.float32)
        wanted = oracle([x])
        for found in (session.run([x]), compiled.run([x])):
            for got, want in zip(found, wanted, strict=True):
                expect_close(got, want, name, atol=1e-5)


def test_joined_results_are_the_two_beside_each_other() -> None:
    joined, apart = (
        Session(reference_graph(MODELS[name], "m.tflite"))
        for name in (_JOINED, "LSTM in both directions, two results")
    )
    random = np.random.default_rng(1)
    for _ in range(3):
        x = random.normal(0, 1, (BATCH, STEPS, DEPTH)).astype(np.float32)
        np.testing.assert_array_equal(joined.run([x])[0], np.concatenate(apart.run([x]), axis=-1))


@pytest.mark.parametrize("name", ["tanh", "both directions, joined", _JOINED])
def test_layers_become_integers_by_samples(name: str, tmp_path: Path) -> None:
    (tmp_path / "m.tflite").write_bytes(MODELS[name])
    shape = reference_graph(MODELS[name], "m.tflite").arguments[0].type.shape
    samples = np.random.default_rng(2).normal(0, 1, (40, *shape)).astype(np.float32)
    glowmcu.compile(
        tmp_path / "m.tflite", output=tmp_path / "net", samples=samples, require_sqnr=25.0
    )
    manifest = (tmp_path / "net" / "manifest.json").read_text()
    assert "stays float" not in manifest


REFUSED = {
    "a sign": (rnn_model(SIGN_BIT), "its activation SIGN_BIT is not supported"),
    "another input": (both_rnn_model(True, False, auxiliary=True), "with an auxiliary input"),
    "another activation": (both_lstm_model(True, False, activation=RELU), "must be TANH"),
    "peepholes": (both_lstm_model(True, False, extra={9: (UNITS,)}), "with peephole weights"),
    "a projection": (
        both_lstm_model(True, False, extra={33: (UNITS, UNITS)}), "with a projection",
    ),
    "another input of LSTM": (
        both_lstm_model(True, False, extra={39: (BATCH, STEPS, DEPTH)}), "with an auxiliary input",
    ),
    "a state that is none": (both_lstm_model(True, False, state=False), "no variable tensor"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_variants_are_refused(name: str) -> None:
    data, said = REFUSED[name]
    with pytest.raises(GlowmcuError, match=said):
        reference_graph(data, "m.tflite")
