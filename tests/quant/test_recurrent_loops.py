"""RNN, GRU and LSTM of many steps, quantized by profile: integers throughout, one loop, and C that
equals the meaning.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import glowmcu
from glowmcu.ir.graph import Graph
from glowmcu.ir.interpreter import Session, run_graph
from glowmcu.ir.operation import Array
from glowmcu.ir.types import ElementType
from glowmcu.pipeline import float_graph, reference_graph
from glowmcu.quant.options import QuantizationOptions
from glowmcu.quant.profiling import profile_graph
from glowmcu.quant.quantizer import quantize_graph
from glowmcu.quant.sample_source import SampleSource
from glowmcu.verify.executors import executor

pytest.importorskip("onnx")
import onnx

from tests.support.lstm_models import LstmCase, lstm_model
from tests.support.recurrent_models import recurrent_sequence, smooth, smooth_sequence

#: Kind, attributes, batch.
CASES: dict[str, tuple[str, dict[str, Any], int]] = {
    "lstm": ("LSTM", {}, 1),
    "lstm, both ways": ("LSTM", {"direction": "bidirectional"}, 1),
    "lstm, batch of two first": ("LSTM", {"layout": 1}, 2),
    "lstm, reverse, batch of three": ("LSTM", {"direction": "reverse"}, 3),
    "gru": ("GRU", {}, 1),
    "gru, reset after, both ways": (
        "GRU",
        {"direction": "bidirectional", "linear_before_reset": 1},
        1,
    ),
    "gru, both ways, batch of two first": ("GRU", {"direction": "bidirectional", "layout": 1}, 2),
    "gru, reset after, reverse, batch of three": (
        "GRU",
        {"direction": "reverse", "linear_before_reset": 1},
        3,
    ),
    "gru, short sequences": ("GRU", {"direction": "bidirectional", "lengths": (9, 4, 1)}, 3),
    "rnn": ("RNN", {}, 1),
    "rnn, both ways, batch of two": ("RNN", {"direction": "bidirectional"}, 2),
    "rnn, short sequences, reverse": ("RNN", {"direction": "reverse", "lengths": (2, 7)}, 2),
}
KINDS = ("LSTM", "GRU", "RNN")
LEAST_DB = 30.0


def samples(steps: int, features: int, batch: int, attributes: Mapping[str, Any]) -> list[Array]:
    first = bool(attributes.get("layout"))
    return [smooth_sequence(steps, features, seed, batch, first) for seed in range(10, 16)]


@cache
def quantized(name: str, steps: int, features: int, hidden: int) -> tuple[bytes, Graph]:
    """The model of a case, and what it means in integers."""
    kind, attributes, batch = CASES[name]
    data = recurrent_sequence(kind, steps, features, hidden, batch, **attributes)
    graph = float_graph(data, "m.onnx")
    source = SampleSource({"x": np.stack(samples(steps, features, batch, attributes))})
    return data, quantize_graph(graph, profile_graph(graph, source.read(graph)))


def stored(x: Array, graph: Graph) -> Array:
    type_ = graph.inputs[0].type
    return np.clip(np.round(x / type_.scale) + type_.zero_point, -128, 127).astype(np.int8)


def sqnr_db(got: Array, want: Array) -> float:
    return float(10 * np.log10((want**2).sum() / ((got - want) ** 2).sum()))


@pytest.mark.parametrize("name", CASES)
def test_a_hundred_steps_lose_little(name: str) -> None:
    data, graph = quantized(name, 100, 32, 64)
    assert all(value.type.element is not ElementType.F32 for node in graph.nodes
               for value in (*node.inputs, *node.outputs))  # fmt: skip
    _, attributes, batch = CASES[name]
    x = smooth_sequence(100, 32, 1, batch, bool(attributes.get("layout")))
    wanted = run_graph(reference_graph(data, "m.onnx"), [x])
    results = run_graph(graph, [stored(x, graph)])
    for value, result, want in zip(graph.outputs, results, wanted, strict=True):
        real = (result.astype(np.float64) - value.type.zero_point) * value.type.scale
        assert sqnr_db(real, want.astype(np.float64)) >= LEAST_DB


PLACES = [
    pytest.param("nrf52", "host", id="host"),
    pytest.param("nrf52", "cortex-m", id="cortex-m4", marks=pytest.mark.arm),
    pytest.param("rp2040", "cortex-m", id="cortex-m0plus", marks=pytest.mark.arm),
    pytest.param("mps3-an547", "qemu", id="cortex-m55", marks=[pytest.mark.arm, pytest.mark.qemu]),
]


@pytest.mark.parametrize(("board", "on"), PLACES)
@pytest.mark.parametrize("name", CASES)
def test_the_c_is_the_meaning(name: str, board: str, on: str, tmp_path: Path) -> None:
    _, attributes, batch = CASES[name]
    data, graph = quantized(name, 9, 7, 5)
    (tmp_path / "m.onnx").write_bytes(data)
    calibration = {"x": np.stack(samples(9, 7, batch, attributes))}
    goal = ("balanced", "ram", "speed", "size")[list(CASES).index(name) % 4]
    bundle = glowmcu.compile(
        tmp_path / "m.onnx", board=board, output=tmp_path / "net", samples=calibration,
        optimize=goal,
    )  # fmt: skip
    shape = graph.inputs[0].type.shape
    random = np.random.default_rng(3)
    inputs = [random.integers(-128, 128, shape).astype(np.int8) for _ in range(3)]
    inputs += [np.full(shape, -128, np.int8), np.full(shape, 127, np.int8)]
    runner = executor(on, bundle.board, count=False)
    for x, measured in zip(inputs, runner.run(bundle.path, [[x] for x in inputs]), strict=True):
        for got, want in zip(measured.outputs, run_graph(graph, [x]), strict=True):
            assert np.array_equal(got, want)


def loud(data: bytes, name: str) -> bytes:
    """The model with weights that are all alike."""
    model = onnx.load_model_from_string(data)
    (item,) = (item for item in model.graph.initializer if item.name == name)
    alike = np.full(onnx.numpy_helper.to_array(item).shape, 1 / 40, np.float32)
    item.CopyFrom(onnx.numpy_helper.from_array(alike, name))
    return bytes(model.SerializeToString())


@pytest.mark.parametrize("board", ["mps2-an386", "rp2040"])
@pytest.mark.parametrize("kind", ["RNN", "GRU"])
def test_sums_of_many_loud_weights_do_not_wrap(kind: str, board: str, tmp_path: Path) -> None:
    """After some steps all of 600 units are 1: a sum is 127 * 32767 * 600 > 2^31."""
    data = loud(recurrent_sequence(kind, 9, 2, 600), "R")
    hidden = expect_equal(data, {"x": np.stack(samples(9, 2, 1, {}))}, tmp_path, board)[1]
    assert "glowmcu_recurrence_pair_wide(" in (tmp_path / "net" / "m.c").read_text()
    if kind == "RNN":
        assert abs(int(hidden.astype(int).sum())) > 120 * 600


@pytest.mark.parametrize("kind", ["GRU", "RNN", "LSTM"])
def test_one_scale_for_all_weights_is_fine(kind: str, tmp_path: Path) -> None:
    data = recurrent_sequence(kind, 4, 3, 6, direction="bidirectional")
    calibration = {"x": np.stack(samples(4, 3, 1, {}))}
    expect_equal(data, calibration, tmp_path, "nrf52", one_scale=True)


@pytest.mark.parametrize("board", ["nrf52", "rp2040"])
@pytest.mark.parametrize("kind", ["GRU", "RNN"])
def test_lengths_may_be_an_input(kind: str, board: str, tmp_path: Path) -> None:
    data = recurrent_sequence(kind, 5, 3, 4, 3, direction="bidirectional", lengths=None)
    calibration = {
        "x": np.stack(samples(5, 3, 3, {})), "lengths": np.array([[5, 3, 1]] * 6, np.int32),
    }  # fmt: skip
    lengths = [np.array(each, np.int32) for each in ([5, 1, 2], [0, -7, 2**31 - 1])]
    expect_equal(data, calibration, tmp_path, board, lengths)


def expect_equal(
    data: bytes,
    calibration: Mapping[str, Array],
    folder: Path,
    board: str,
    others: Sequence[Array] = (),
    one_scale: bool = False,
) -> list[Array]:
    """The C gives on this computer what the quantized graph means: that."""
    (folder / "m.onnx").write_bytes(data)
    bundle = glowmcu.compile(
        folder / "m.onnx", board=board, output=folder / "net", samples=calibration,
        quantization=glowmcu.Quantization(per_tensor_weights=one_scale),
    )  # fmt: skip
    graph = float_graph(data, "m.onnx")
    profile = profile_graph(graph, SampleSource(calibration).read(graph))
    graph = quantize_graph(graph, profile, QuantizationOptions(per_channel=not one_scale))
    random = np.random.default_rng(4)
    for other in others or [None]:
        x = random.integers(-128, 128, graph.inputs[0].type.shape).astype(np.int8)
        inputs = [x] if other is None else [x, other]
        results = bundle.run(inputs)
        for got, want in zip(results, run_graph(graph, inputs), strict=True):
            assert np.array_equal(got, want)
    return results


@pytest.mark.arm
@pytest.mark.parametrize("kind", KINDS)
def test_neither_code_nor_constants_grow_with_the_steps(kind: str, tmp_path: Path) -> None:
    sizes = list[tuple[int, int]]()
    for steps in (8, 300):
        folder = tmp_path / str(steps)
        folder.mkdir()
        (folder / "m.onnx").write_bytes(recurrent_sequence(kind, steps, 8, 16))
        calibration = {"x": np.stack(samples(steps, 8, 1, {}))}
        bundle = glowmcu.compile(
            folder / "m.onnx", board="nrf52", output=folder / "net", samples=calibration
        )
        assert bundle.report.code_bytes is not None
        sizes.append((bundle.report.weights_bytes, bundle.report.code_bytes))
    assert sizes[0][0] == sizes[1][0]
    # Scales, sizes and places are literals.
    assert abs(sizes[0][1] - sizes[1][1]) < 128


@pytest.mark.parametrize("kind", KINDS)
def test_states_go_on_from_run_to_run(kind: str, tmp_path: Path) -> None:
    """Ten steps a run: what outlives a run has 16 bits where it accumulates."""
    data = recurrent_sequence(kind, 10, 32, 64, states=True)
    (tmp_path / "m.onnx").write_bytes(data)
    for number in range(6):
        xs = smooth(60, 32, 10 + number).reshape(6, 10, 1, 32)
        np.savez(tmp_path / f"{number}.npz", x=xs)
    files = sorted(tmp_path.glob("*.npz"))
    bundle = glowmcu.compile(tmp_path / "m.onnx", output=tmp_path / "net", samples=files)
    widths = ["int8", "int16"] if kind == "LSTM" else ["int16"]
    assert [entry.dtype for entry in bundle.manifest.states[1:]] == widths
    session = Session(float_graph(data, "m.onnx"))
    compiled, (entry,), out = bundle.session(), bundle.manifest.inputs, bundle.manifest.outputs[0]
    wanted, results = [], []
    for x in smooth(100, 32, 1).reshape(10, 10, 1, 32):
        wanted.append(session.run([x])[0])
        given = np.clip(np.round(x / entry.scale) + entry.zero_point, -128, 127).astype(np.int8)
        results.append((compiled.run([given])[0].astype(np.float64) - out.zero_point) * out.scale)
    assert sqnr_db(np.stack(results), np.stack(wanted).astype(np.float64)) >= LEAST_DB


def test_an_lstm_of_keras_is_quantized_like_one_of_onnx(tmp_path: Path) -> None:
    case = LstmCase(steps=20, depth=16, units=24, dtype="float32", weight_scale=0.003)
    data = lstm_model(case)
    (tmp_path / "m.tflite").write_bytes(data)
    for number in range(4):
        np.savez(tmp_path / f"{number}.npz", x=smooth(100, 16, number).reshape(5, 1, 20, 16))
    bundle = glowmcu.compile(
        tmp_path / "m.tflite", output=tmp_path / "net", samples=sorted(tmp_path.glob("*.npz"))
    )
    assert [layer.op for layer in bundle.report.layers] == ["lstm"]
    assert [entry.dtype for entry in bundle.manifest.states[1:]] == ["int8", "int16"]
    session, compiled = Session(float_graph(data, "m.tflite")), bundle.session()
    (entry,), (out,) = bundle.manifest.inputs, bundle.manifest.outputs
    wanted, results = [], []
    for x in smooth(100, 16, 9).reshape(5, 1, 20, 16):
        wanted.append(session.run([x])[0])
        given = np.clip(np.round(x / entry.scale) + entry.zero_point, -128, 127).astype(np.int8)
        results.append((compiled.run([given])[0].astype(np.float64) - out.zero_point) * out.scale)
    assert sqnr_db(np.stack(results), np.stack(wanted).astype(np.float64)) >= LEAST_DB


@pytest.mark.parametrize(
    ("kind", "attributes", "said"),
    [
        ("LSTM", {"clip": 3.0}, "LSTM with a clip of 3"),
        ("LSTM", {"input_forget": 1, "lengths": (4,)},
         "LSTM with coupled gates and lengths of sequences"),
        ("GRU", {"activations": ["HardSigmoid", "Tanh"]},
         "GRU with other functions than sigmoid and tanh"),
        ("RNN", {"clip": 1.5, "activations": ["Relu"]},
         "RNN with a clip of 1.5 and other functions than sigmoid and tanh"),
    ],
)  # fmt: skip
def test_a_layer_that_stays_float_says_why(
    kind: str, attributes: dict[str, Any], said: str, tmp_path: Path
) -> None:
    (tmp_path / "m.onnx").write_bytes(recurrent_sequence(kind, 9, 7, 5, **attributes))
    calibration = {"x": np.stack(samples(9, 7, 1, {}))}
    bundle = glowmcu.compile(tmp_path / "m.onnx", output=tmp_path / "net", samples=calibration)
    assert f"stays float: y (recurrence: {said} has no int8 meaning)" in bundle.notes


@pytest.mark.parametrize(("kind", "clip"), [("LSTM", 17.0), ("LSTM", 50.0), ("GRU", 8.0)])
def test_a_clip_that_no_gate_sees_leaves_integers(kind: str, clip: float) -> None:
    data = recurrent_sequence(kind, 9, 7, 5, clip=clip)
    graph = float_graph(data, "m.onnx")
    source = SampleSource({"x": np.stack(samples(9, 7, 1, {}))})
    made = quantize_graph(graph, profile_graph(graph, source.read(graph)))
    assert all(value.type.element is not ElementType.F32 for node in made.nodes
               for value in (*node.inputs, *node.outputs))  # fmt: skip
