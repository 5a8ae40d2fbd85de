"""RNN, GRU and LSTM of ONNX against onnxruntime: loops, and single steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import glowmcu
from glowmcu.errors import GlowmcuError
from glowmcu.ir.graph import Graph
from glowmcu.ir.operation import OperationError
from glowmcu.ir.types import ElementType, TensorType
from glowmcu.ops.elementwise import Add
from glowmcu.ops.recurrence import CellKind, Recurrence
from glowmcu.ops.recurrence_cells import CellFunction
from glowmcu.ops.transcendental import Tanh
from glowmcu.pipeline import reference_graph
from tests.support.check_model import check_model
from tests.support.onnx_models import (
    Operand,
    onnx_model,
    run_onnxruntime,
    skip_before_onnxruntime_1_24,
)

Array = npt.NDArray[Any]
GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}
STEPS, BATCH, DEPTH, HIDDEN = 4, 2, 3, 5


def draw(seed: int, *shape: int) -> Array:
    return np.random.default_rng(seed).normal(0, 0.5, shape).astype(np.float32)


def recurrent(
    kind: str,
    attributes: Mapping[str, Any] | None = None,
    *,
    steps: int = STEPS,
    batch: int = BATCH,
    without: Sequence[str] = (),
    computed: Sequence[str] = (),
    lengths: Sequence[int] | None = None,
    initial: bool = False,
    peepholes: bool = False,
    outputs: int = 3,
) -> bytes:
    """One operator; operands named in `computed` are inputs of the model."""
    attributes = dict(attributes or {})
    directions = 2 if attributes.get("direction") == "bidirectional" else 1
    rows = GATES[kind] * HIDDEN
    state = (directions, batch, HIDDEN)
    values: dict[str, Array | None] = {
        "W": draw(1, directions, rows, DEPTH),
        "R": draw(2, directions, rows, HIDDEN),
        "B": None if "B" in without else draw(3, directions, 2 * rows),
        "lengths": None if lengths is None else np.array(lengths, np.int32),
        "h": draw(4, *state) if initial else None,
    }
    if kind == "LSTM":
        values["c"] = draw(5, *state) if initial else None
        values["P"] = draw(6, directions, 3 * HIDDEN) if peepholes else None
    operands: list[Operand | None] = [("x", "float32", (steps, batch, DEPTH))]
    for name, data in values.items():
        named = name in computed and data is not None
        operands.append((name, str(data.dtype), data.shape) if named and data is not None else data)
    outputs = min(outputs, 3 if kind == "LSTM" else 2)
    attributes.setdefault("hidden_size", HIDDEN)
    return onnx_model(kind, operands, attributes, outputs=outputs, opset=14)


CASES: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "rnn": ("RNN", {}, {}),
    "rnn, reverse, relu": ("RNN", {"direction": "reverse", "activations": ["Relu"]}, {}),
    "rnn, both ways, other functions": (
        "RNN", {"direction": "bidirectional", "activations": ["Softsign", "Softplus"]}, {}
    ),
    "rnn, affine": (
        "RNN",
        {"activations": ["Affine"], "activation_alpha": [0.7], "activation_beta": [0.1]},
        {},
    ),
    "rnn, both ways, alpha and beta only for those that take them": (
        "RNN",
        {"direction": "bidirectional", "activations": ["LeakyRelu", "ScaledTanh"],
         "activation_alpha": [0.3, 1.7], "activation_beta": [0.6]},
        {},
    ),
    "gru": ("GRU", {}, {}),
    "gru, no bias": ("GRU", {}, {"without": ["B"]}),
    "gru, no bias, reset after": ("GRU", {"linear_before_reset": 1}, {"without": ["B"]}),
    "gru, both ways, reset after": (
        "GRU", {"direction": "bidirectional", "linear_before_reset": 1}, {"initial": True}
    ),
    "gru, reverse, initial state": ("GRU", {"direction": "reverse"}, {"initial": True}),
    "gru, elu and hard sigmoid": (
        "GRU", {"activations": ["HardSigmoid", "Elu"], "activation_alpha": [0.3, 0.5],
                "activation_beta": [0.4]}, {},
    ),
    "gru, short sequences": ("GRU", {"direction": "bidirectional"}, {"lengths": [2, 4]}),
    "gru, clip": ("GRU", {"clip": 0.3}, {"initial": True}),
    "lstm": ("LSTM", {}, {}),
    "lstm, one step": ("LSTM", {}, {"steps": 1, "batch": 1}),
    "lstm, only the last state": ("LSTM", {}, {"outputs": 2}),
    "lstm, no bias": ("LSTM", {}, {"without": ["B"]}),
    "lstm, both ways, initial states": ("LSTM", {"direction": "bidirectional"}, {"initial": True}),
    "lstm, reverse, short sequences, initial states": (
        "LSTM", {"direction": "reverse"}, {"lengths": [3, 1], "initial": True}
    ),
    "lstm, lengths at run time": (
        "LSTM", {"direction": "bidirectional"}, {"lengths": [3, 4], "computed": ["lengths"]}
    ),
    "lstm, whole sequences": ("LSTM", {}, {"lengths": [4, 4]}),
    "lstm, peepholes": ("LSTM", {}, {"peepholes": True}),
    "lstm, peepholes, initial states": ("LSTM", {}, {"peepholes": True, "initial": True}),
    "lstm, clip": ("LSTM", {"clip": 0.25}, {"initial": True}),
    "lstm, input and forget gate coupled": ("LSTM", {"input_forget": 1}, {"initial": True}),
    "lstm, other functions": (
        "LSTM", {"activations": ["HardSigmoid", "Relu", "ThresholdedRelu"],
                 "activation_alpha": [0.25, 0.1], "activation_beta": [0.45]}, {"initial": True},
    ),
    "weights at run time": (
        "LSTM", {}, {"computed": ["W", "R", "B", "h", "c", "P"], "initial": True,
                     "peepholes": True},
    ),
    "gru, weights at run time": (
        "GRU", {"linear_before_reset": 1}, {"computed": ["W", "R", "B", "h"], "initial": True}
    ),
    "gru, bias at run time": ("GRU", {}, {"computed": ["B"], "batch": 1}),
    "gru, reset after, initial state at run time": (
        "GRU", {"linear_before_reset": 1, "direction": "bidirectional"},
        {"computed": ["h"], "initial": True, "lengths": [4, 1]},
    ),
    "gru, initial state at run time": ("GRU", {}, {"computed": ["h"], "initial": True}),
    "gru, short sequences from an initial state": (
        "GRU", {"direction": "reverse"}, {"initial": True, "lengths": [1, 3]}
    ),
    "lstm, states at run time, short sequences": (
        "LSTM", {"direction": "bidirectional"},
        {"computed": ["h", "c"], "initial": True, "lengths": [1, 2]},
    ),
    "gru, no step of one sequence": ("GRU", {"direction": "reverse"}, {"lengths": [0, 3]}),
    "lstm, no step of one sequence": ("LSTM", {}, {"lengths": [2, 0]}),
    "lstm, two ways with functions of their own": (
        "LSTM", {"direction": "bidirectional", "clip": 0.4,
                 "activations": ["Sigmoid", "Tanh", "Tanh", "HardSigmoid", "Elu", "Affine"],
                 "activation_alpha": [0.3, 0.7, 1.2], "activation_beta": [0.45, 0.1]},
        {"peepholes": True},
    ),
    "one step of rnn, both ways": ("RNN", {"direction": "bidirectional"}, {"steps": 1}),
    "one step of gru, states at run time": (
        "GRU", {"linear_before_reset": 1}, {"steps": 1, "computed": ["h"], "initial": True}
    ),
    "one step of lstm, lengths at run time": (
        "LSTM", {}, {"steps": 1, "lengths": [1, 1], "computed": ["lengths"], "initial": True}
    ),
    "one step of lstm, peepholes and weights at run time": (
        "LSTM", {"direction": "reverse"},
        {"steps": 1, "peepholes": True, "computed": ["W", "R", "B", "P"]},
    ),
}  # fmt: skip


ABORTING = ("rnn, both ways, alpha and beta only for those that take them",)


@pytest.mark.parametrize("name", CASES)
def test_recurrent_operators_give_what_onnxruntime_gives(name: str) -> None:
    if name in ABORTING:
        skip_before_onnxruntime_1_24("aborts")
    kind, attributes, options = CASES[name]
    data = recurrent(kind, attributes, **options)
    graph = reference_graph(data, "model.onnx")
    check_model(data, inputs=[_inputs(graph, seed) for seed in range(2)], oracle=run_onnxruntime)


def _steps(graph: Graph) -> int:
    """Steps of the sequence."""
    return graph.inputs[0].type.shape[0]


def _inputs(graph: Graph, seed: int) -> list[Array]:
    """Real numbers; of lengths those that fit."""
    return [
        draw(50 + seed + i, *value.type.shape)
        if value.type.element.is_float
        else np.array([_steps(graph), min(1 + seed, _steps(graph))], np.int32)
        for i, value in enumerate(graph.inputs)
    ]


@pytest.mark.parametrize("kind", ["RNN", "GRU", "LSTM"])
def test_batch_first_is_the_same_with_axes_exchanged(kind: str) -> None:
    attributes = {"direction": "bidirectional"}
    plain = recurrent(kind, attributes, initial=True)
    x = draw(9, STEPS, BATCH, DEPTH)
    wanted = run_onnxruntime(plain, [x])
    orders = [(2, 0, 1, 3), (1, 0, 2), (1, 0, 2)]

    def oracle(data: bytes, inputs: Sequence[Array]) -> list[Array]:
        return [y.transpose(order) for y, order in zip(wanted, orders, strict=False)]

    check_model(_batch_first(plain), inputs=[[x.transpose(1, 0, 2).copy()]], oracle=oracle)


def _batch_first(data: bytes) -> bytes:
    onnx = pytest.importorskip("onnx", reason="pip install onnx")
    model = onnx.load_model_from_string(data)
    model.graph.node[0].attribute.append(onnx.helper.make_attribute("layout", 1))
    for item in model.graph.initializer:
        if item.name in ("c5", "c6"):
            state = onnx.numpy_helper.to_array(item).transpose(1, 0, 2).copy()
            item.CopyFrom(onnx.numpy_helper.from_array(state, item.name))
    sizes = model.graph.input[0].type.tensor_type.shape.dim
    sizes[0].dim_value, sizes[1].dim_value = sizes[1].dim_value, sizes[0].dim_value
    for value in model.graph.output:
        value.type.tensor_type.ClearField("shape")
    unshaped: bytes = model.SerializeToString()
    return unshaped


@pytest.mark.arm
@pytest.mark.parametrize(
    ("kind", "attributes", "many"),
    [
        ("RNN", {"direction": "bidirectional"}, 300),
        ("GRU", {"linear_before_reset": 1}, 100_000),
        ("GRU", {"direction": "reverse"}, 300),
        ("LSTM", {"direction": "bidirectional"}, 300),
    ],
)
def test_neither_code_nor_constants_grow_with_the_steps(
    kind: str, attributes: dict[str, Any], many: int, tmp_path: Path
) -> None:
    sizes = list[tuple[int, int]]()
    for steps in (8, 300, many):
        folder = tmp_path / str(steps)
        folder.mkdir(exist_ok=True)
        (folder / "m.onnx").write_bytes(recurrent(kind, attributes, steps=steps, batch=1))
        bundle = glowmcu.compile(folder / "m.onnx", board="mps2-an386", output=folder / "net")
        assert bundle.report.code_bytes is not None
        sizes.append((bundle.report.weights_bytes, bundle.report.code_bytes))
    for weights, code in sizes[1:]:
        assert weights == sizes[0][0]
        # Larger sizes and places are larger literals.
        assert abs(code - sizes[0][1]) < 64


@pytest.mark.parametrize("kind", ["RNN", "GRU", "LSTM"])
def test_a_length_outside_the_sequence_is_the_nearest_end(kind: str, tmp_path: Path) -> None:
    data = recurrent(kind, lengths=[3, 4], computed=["lengths", "h"], initial=True)
    (tmp_path / "m.onnx").write_bytes(data)
    bundle = glowmcu.compile(tmp_path / "m.onnx", output=tmp_path / "net")
    x, h = draw(1, STEPS, BATCH, DEPTH), draw(2, 1, BATCH, HIDDEN)
    outside, inside = ([x, np.array(n, np.int32), h] for n in ([-5, 2**31 - 1], [0, STEPS]))
    got, want = bundle.run(outside), bundle.run(inside)
    for a, b in zip(got, want, strict=True):
        assert np.array_equal(a, b)
    # No step leaves the state as it was.
    assert np.array_equal(got[1][0, 0], h[0, 0])
    assert not got[0][:, :, 0].any()


def test_a_hundred_thousand_steps_give_what_onnxruntime_gives() -> None:
    data = recurrent("RNN", {"direction": "bidirectional"}, steps=100_000, batch=1, initial=True)
    check_model(data, inputs=[[draw(7, 100_000, 1, DEPTH)]], oracle=run_onnxruntime)


@pytest.mark.parametrize(
    ("attributes", "code", "text"),
    [
        ({"activations": ["Swoosh"]}, "GM105", "the activation 'Swoosh' is unknown"),
        ({"activations": ["Tanh", "Tanh"]}, "GM106", "expected 1 activations, got 2"),
        ({"direction": "sideways"}, "GM105", "direction 'sideways' is unknown"),
        ({"clip": float("nan")}, "GM106", "rnn has no such clip"),
        ({"hidden_size": 99}, "GM106", "hidden_size is 99, but R is"),
    ],
)
def test_what_is_unknown_is_refused(attributes: dict[str, Any], code: str, text: str) -> None:
    with pytest.raises(GlowmcuError) as caught:
        reference_graph(recurrent("RNN", attributes), "model.onnx")
    assert caught.value.code == code
    assert text in str(caught.value)


def test_lengths_are_int32_and_steps_are_not_without_end() -> None:
    operands: list[Operand | None] = [
        ("x", "float32", (3, 1, 4)), draw(0, 1, 5, 4), draw(0, 1, 5, 5), None,
        ("lengths", "int64", (1,)),
    ]  # fmt: skip
    data = onnx_model("RNN", operands, {"hidden_size": 5}, opset=14)
    with pytest.raises(GlowmcuError, match=r"GM105.*expected i32 sequence_lens"):
        reference_graph(data, "model.onnx")
    operands = [("x", "float32", (2**17 + 1, 1, 1)), draw(0, 1, 1, 1), draw(0, 1, 1, 1)]
    data = onnx_model("RNN", operands, {"hidden_size": 1}, opset=14)
    with pytest.raises(GlowmcuError, match="131073 time steps; expected 1 to 131072"):
        reference_graph(data, "model.onnx")


def test_functions_that_do_not_fit_a_layer_are_refused() -> None:
    types = [TensorType(shape, ElementType.F32) for shape in ((2, 1, 3), (4, 3), (4, 4), (4,))]
    good = Recurrence(CellKind.RNN, (CellFunction(Tanh()),))
    assert good.infer(types) == ((2, 1, 1, 4), (1, 1, 4))
    for changes in (
        {"functions": ()},
        {"functions": (CellFunction(Add()),)},
        {"reversed": ()},
        {"resets_after": True},
        {"has_peepholes": True},
        {"has_initial": True},
    ):
        with pytest.raises(OperationError):
            replace(good, **changes).infer(types)


def test_operands_that_do_not_fit_are_refused() -> None:
    operands: list[Operand | None] = [
        ("x", "float32", (3, 1, 4)),
        draw(0, 1, 20, 4),
        draw(0, 1, 16, 5),
    ]
    data = onnx_model("LSTM", operands, {"hidden_size": 5}, opset=14)
    with pytest.raises(GlowmcuError, match=r"expected R to be \(1, 20, 5\), got \(1, 16, 5\)"):
        reference_graph(data, "model.onnx")
