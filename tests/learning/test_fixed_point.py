"""Learning in fixed point: C against the Python meaning, against real numbers, what is refused."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest

import glowmcu
from glowmcu.errors import GlowmcuError
from glowmcu.ir.graph import Graph
from glowmcu.ir.interpreter import Session
from glowmcu.ir.operation import Array
from glowmcu.ir.text import parse_graph, print_graph
from glowmcu.learning.training_graph import with_training
from glowmcu.ops.registry import load_operations
from glowmcu.pipeline import application_graph
from glowmcu.training import training_of
from glowmcu.verify.executors import executor
from glowmcu.verify.host import HostSession
from tests.learning.fixed_models import (
    decoder,
    dilated,
    gated,
    moving,
    pooled,
    regression,
    repeated,
    resized,
    separable,
    windows,
)
from tests.learning.test_learning_bundles import DIGITS, GESTURES, learnt, samples
from tests.learning.test_training_graph import onnx_graph
from tests.support.forced_variant import SANITIZED

MODELS = {
    "windows": windows,
    "dilated": dilated,
    "digits": DIGITS.read_bytes,
    "regression": regression,
    "pooled": pooled,
    "separable": separable,
    "decoder": decoder,
    "resized": resized,
    "moving": moving,
    "repeated": repeated,
    "gated": gated,
}


@cache
def plain(name: str) -> Graph:
    return application_graph(MODELS[name](), f"{name}.tflite")[0]


def learning(name: str, what: str, numbers: str = "fixed", **options: object) -> Graph:
    training = training_of(what, numbers=numbers, **options)  # type: ignore[arg-type]
    return with_training(plain(name), training, name)


def compiled(
    folder: Path, name: str, what: str, board: str = "nrf52", **options: object
) -> glowmcu.Bundle:
    folder.mkdir(exist_ok=True)
    path = folder / f"{name}.tflite"
    path.write_bytes(MODELS[name]())
    options.setdefault("train_numbers", "fixed")
    asked = {"train": what, **options}
    return glowmcu.compile(path, board, folder / "net", "net", **asked)  # type: ignore[arg-type]


def label(number: int) -> Array:
    return np.array([number], np.int32)


CASES = [
    ("windows", "last=1"), ("windows", "last=4"), ("windows", "bias"), ("windows", "last=2,bias"),
    ("dilated", "last=5"), ("dilated", "last=3"), ("digits", "last=3"), ("pooled", "last=4"),
    ("pooled", "last=4,bias"), ("separable", "last=7"), ("separable", "last=6,bias"),
    ("decoder", "last=5"), ("decoder", "last=3,bias"), ("resized", "last=5"), ("moving", "last=5"),
    ("repeated", "last=4"), ("gated", "last=4"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "what"), CASES)
def test_c_learns_what_the_graph_learns_to_the_bit(name: str, what: str, tmp_path: Path) -> None:
    bundle = compiled(tmp_path, name, what, learning_rate=0.05)
    session = Session(learning(name, what, learning_rate=0.05))
    data = samples(bundle, 10)
    for (x, number), (loss, output) in zip(data, learnt(bundle, data, "host"), strict=True):
        assert loss == session.run([x, label(number)])[1][0]
        np.testing.assert_array_equal(output, session.run([x, label(-1)])[0])


@pytest.mark.parametrize("core", ["cortex-m4", "cortex-m0plus"])
@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("windows", "last=4"), ("dilated", "last=5"), ("pooled", "last=4"), ("separable", "last=7"),
        ("decoder", "last=5"), ("resized", "last=5"), ("moving", "last=5"),
        ("repeated", "last=4"), ("gated", "last=4"),
    ],
)  # fmt: skip
@pytest.mark.arm
def test_cores_learn_the_same_bits(core: str, name: str, what: str, tmp_path: Path) -> None:
    bundle = compiled(tmp_path, name, what, learning_rate=0.05)
    if (missing := executor("cortex-m", bundle.board, core).missing()) is not None:
        pytest.skip(missing)
    data = samples(bundle, 3)
    host, there = learnt(bundle, data, "host"), learnt(bundle, data, "cortex-m", core)
    for (loss, output), (other_loss, other) in zip(host, there, strict=True):
        assert loss == other_loss
        np.testing.assert_array_equal(output, other)


def drawn(name: str, count: int) -> list[Array]:
    random, type_ = np.random.default_rng(3), plain(name).arguments[0].type
    return [random.integers(-128, 128, type_.shape).astype(np.int8) for _ in range(count)]


@pytest.mark.parametrize("name", MODELS)
def test_before_learning_the_model_says_what_it_says_without(name: str) -> None:
    session, before = Session(learning(name, "last=2")), Session(plain(name))
    for x in drawn(name, 4):
        np.testing.assert_array_equal(session.run([x, label(-1)])[0], before.run([x])[0])


def states_of(graph: Graph, session: Session) -> dict[str, Array]:
    names = [state.value.name for state in graph.states]
    return dict(zip(names, session._states, strict=True))


def real_steps(name: str, what: str, x: Array, number: int) -> dict[str, Array]:
    """How far each parameter moves in real numbers."""
    graph = learning(name, what, "float32", learning_rate=0.02)
    session = Session(graph)
    session.run([x, label(number)])
    after = states_of(graph, session)
    return {s.value.name: after[s.value.name] - s.initial for s in graph.states}


def fixed_steps(name: str, what: str, x: Array, number: int) -> dict[str, Array]:
    """The same in fixed point, in real units by the scales of the layers."""
    graph = learning(name, what, learning_rate=0.02)
    session = Session(graph)
    session.run([x, label(number)])
    after, found = states_of(graph, session), {}
    units = {}
    for node in graph.nodes:
        if node.op.name == "stored_parameter":
            shift = getattr(node.op, "shift")  # noqa: B009 - of this operator alone
            units[node.inputs[0].name] = node.output.type.quantization, shift
    for state in graph.states:
        if state.value.name not in units:
            continue
        quantization, shift = units[state.value.name]
        assert quantization is not None
        moved = (after[state.value.name].astype(float) - state.initial) / 2**shift
        shape = [1] * moved.ndim
        if quantization.axis is not None:
            shape[quantization.axis] = -1
        found[state.value.name] = moved * np.reshape(quantization.scales, shape)
    return found


@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("windows", "last=4"), ("dilated", "last=5"), ("pooled", "last=4"), ("decoder", "last=5"),
        ("resized", "last=5"), ("moving", "last=5"),
        ("repeated", "last=4"), ("gated", "last=4"),
    ],
)  # fmt: skip
def test_steps_are_those_of_real_numbers_in_direction_and_length(name: str, what: str) -> None:
    """Of several samples together, since each rounds on its way through the layers."""
    total: dict[str, tuple[float, float, float]] = {}
    for number, x in enumerate(drawn(name, 12)):
        real, fixed = (f(name, what, x, number % 3) for f in (real_steps, fixed_steps))
        assert set(fixed) <= set(real)
        for key, step in fixed.items():
            a, b = real[key].reshape(-1).astype(float), step.reshape(-1)
            sums = total.get(key, (0.0, 0.0, 0.0))
            total[key] = sums[0] + a @ b, sums[1] + a @ a, sums[2] + b @ b
    assert len(total) >= 8
    for key, (product, reals, fixeds) in total.items():
        assert product / np.sqrt(reals * fixeds) > 0.96, key
        assert 0.9 < np.sqrt(fixeds / reals) < 1.1, key


def test_the_loss_falls_and_what_was_shown_is_known(tmp_path: Path) -> None:
    graph = learning("windows", "last=4", learning_rate=0.01)
    session, data = Session(graph), [(x, n % 5) for n, x in enumerate(drawn("windows", 10))]
    losses = [sum(float(session.run([x, label(n)])[1][0]) for x, n in data) for _ in range(12)]
    assert losses[-1] < 0.5 * losses[0]
    right = [int(np.argmax(session.run([x, label(-1)])[0])) == n for x, n in data]
    assert sum(right) >= 9


@pytest.mark.parametrize("rate", [0.0, -1.0, float("nan"), float("inf"), 1e-45])
def test_a_rate_that_is_no_positive_number_moves_nothing(rate: float) -> None:
    graph = learning("windows", "last=4")
    session = Session(graph)
    at = [state.value.name for state in graph.states].index("learning_rate")
    session._states[at] = np.array([rate], np.float32)
    session.run([drawn("windows", 1)[0], label(1)])
    after = states_of(graph, session)
    for state in graph.states:
        if "/" in state.value.name:
            np.testing.assert_array_equal(after[state.value.name], state.initial)


@pytest.mark.parametrize("rate", [100.0, 1e30, 3e38])
def test_a_rate_beyond_all_measure_ends_at_the_limits(rate: float, tmp_path: Path) -> None:
    """In C under the sanitizers, too: no shift or sum overflows."""
    bundle = compiled(tmp_path, "windows", "last=4", learning_rate=100.0)
    session = Session(learning("windows", "last=4", learning_rate=100.0))
    host = bundle.session()
    for x, number in samples(bundle, 4):
        loss = host.train([x], number)
        assert loss == session.run([x, label(number)])[1][0]
        np.testing.assert_array_equal(host.run([x])[0], session.run([x, label(-1)])[0])


def test_it_is_the_default_of_a_core_without_an_fpu(tmp_path: Path) -> None:
    bundle = compiled(tmp_path, "digits", "last=1", "rp2040", train_numbers=None)
    assert bundle.manifest.training is not None
    assert bundle.manifest.training.numbers == "fixed"
    again = glowmcu.verify(bundle, on=["host"], model=DIGITS)
    assert again.passed
    assert again.checks[0].equality == "every byte equal, loss equal within 1e-05"
    with_fpu = compiled(tmp_path, "digits", "last=1", train_numbers=None)
    assert with_fpu.manifest.training is not None
    assert with_fpu.manifest.training.numbers == "float32"


@pytest.mark.parametrize(
    ("name", "options"),
    [("digits", {}), ("regression", {"loss": "squared-error", "learning_rate": 0.002})],
)
def test_uint8_at_the_border_learns_what_int8_learns(
    name: str, options: dict[str, object], tmp_path: Path
) -> None:
    """It was refused, and without --train-numbers a core without an FPU learnt in float32."""
    options = {**options, "train_numbers": None}
    stored = compiled(tmp_path / "i", name, "last=1", "rp2040", **options).session()
    bundle = compiled(tmp_path / "u", name, "last=1", "rp2040", io="uint8", **options)
    assert bundle.manifest.training is not None
    assert bundle.manifest.training.numbers == "fixed"
    session = bundle.session()
    x = drawn(name, 1)[0].astype(np.int8)
    as_bytes = (x.astype(np.int16) + 128).astype(np.uint8)
    shown: object = 4 if name == "digits" else np.zeros((1, 4), np.float32)
    for _ in range(3):
        assert session.train([as_bytes], shown) == stored.train([x], shown)  # type: ignore[arg-type]
        np.testing.assert_array_equal(
            session.run([as_bytes])[0].astype(np.int16), stored.run([x])[0].astype(np.int16) + 128
        )


def test_what_cannot_be_so_learns_in_real_numbers_there(tmp_path: Path) -> None:
    """A float model."""
    bundle = glowmcu.compile(GESTURES, "rp2040", tmp_path / "a", "net", train="last=1")
    assert bundle.manifest.training is not None
    assert bundle.manifest.training.numbers == "float32"


@pytest.mark.parametrize(
    ("options", "code", "text"),
    [
        ({"train_numbers": "int8"}, "GM735", "fixed or float32, not 'int8'"),
        ({"train": "prototypes=3"}, "GM735", "and numbers are float32"),
        ({"loss": "squared-error"}, "GM361", "fixed point does not go through softmax\n"),
    ],
)
def test_options_that_do_not_go_together(
    options: dict[str, object], code: str, text: str, tmp_path: Path
) -> None:
    asked = {"train": "last=1", "train_numbers": "fixed", **options}
    with pytest.raises(GlowmcuError, match=code) as found:
        glowmcu.compile(DIGITS, "nrf52", tmp_path / "net", "net", **asked)  # type: ignore[arg-type]
    assert text in str(found.value)


def test_a_float_model_is_refused_with_what_helps() -> None:
    graph = application_graph(GESTURES.read_bytes(), GESTURES.name)[0]
    with pytest.raises(GlowmcuError, match="GM361") as found:
        with_training(graph, training_of("last=1", numbers="fixed"), GESTURES.name)
    assert "train_numbers='float32'" in str(found.value)


def test_a_hint_does_not_name_layers_behind_where_there_are_none() -> None:
    """Behind the softmax of squared errors."""
    graph = application_graph(DIGITS.read_bytes(), DIGITS.name)[0]
    asked = training_of("last=1", "squared-error", numbers="fixed")
    assert asked is not None
    with pytest.raises(GlowmcuError, match="GM361") as found:
        with_training(graph, asked, DIGITS.name)
    assert "no layer with weights is behind it" in str(found.value)
    assert "last=" not in str(found.value)


def test_weights_that_layers_share_stay_shared_in_int8(tmp_path: Path) -> None:
    onnx = pytest.importorskip("onnx")
    make, random = onnx.helper.make_node, np.random.default_rng(1)
    (tmp_path / "m.onnx").write_bytes(onnx_graph(
        [make("Gemm", ["x", "w", "b"], ["h"]), make("Relu", ["h"], ["r"]),
         make("Gemm", ["r", "w", "b"], ["y"])],
        {"x": (np.float32, (1, 4))}, ["y"],
        {"w": random.standard_normal((4, 4)).astype(np.float32), "b": np.ones(4, np.float32)},
    ))  # fmt: skip
    bundle = glowmcu.compile(
        tmp_path / "m.onnx", "rp2040", tmp_path / "net", "net", train="last=2",
        train_numbers="fixed", samples=random.standard_normal((16, 1, 4)).astype(np.float32),
        quantization=glowmcu.Quantization(calibration="minmax"),
    )  # fmt: skip
    assert bundle.manifest.training is not None
    words = [name.rpartition("/")[2] for name in bundle.manifest.training.parameters]
    assert sorted(words) == ["bias", "bias", "weights"]
    assert glowmcu.verify(bundle, on=["host"]).passed


def test_graphs_in_fixed_point_are_text_and_come_back() -> None:
    graph = learning("dilated", "last=5")
    text = print_graph(graph)
    assert print_graph(parse_graph(text, load_operations())) == text


def test_squared_error_brings_results_to_their_targets(tmp_path: Path) -> None:
    options = {"loss": "squared-error", "learning_rate": 0.002}
    bundle = compiled(tmp_path, "regression", "last=2", **options)
    session, x = bundle.session(), drawn("regression", 1)[0]
    meaning = Session(learning("regression", "last=2", **options))
    type_ = plain("regression").results[0].type
    before = session.run([x])[0].astype(np.float64)
    wanted = before + np.array([[20, -15, 10, -5]])
    target = ((wanted - type_.zero_point) * type_.scale).astype(np.float32)
    losses = []
    for _ in range(25):
        losses.append(session.train([x], target))
        assert losses[-1] == meaning.run([x, target, label(0)])[1][0]
    assert losses[0] == pytest.approx(type_.scale**2 * (400 + 225 + 100 + 25) / 4, rel=1e-5)
    assert np.abs(session.run([x])[0] - wanted).max() <= 2


def test_the_sanitizers_find_nothing(tmp_path: Path) -> None:
    """Steps beyond all measure, images at both ends of what is stored."""
    for name in ("windows", "dilated"):
        what = "last=5" if name == "dilated" else "last=4"
        graph = learning(name, what, learning_rate=100.0)
        bundle = compiled(tmp_path / name, name, what, learning_rate=100.0)
        session, meaning = HostSession(bundle.path, SANITIZED), Session(graph)
        for value in (-128, 127, 3):
            x = np.full(graph.arguments[0].type.shape, value, np.int8)
            for number in (0, 2, -1):
                got = session.measure([x, label(number)]).outputs
                np.testing.assert_array_equal(got[0], meaning.run([x, label(number)])[0])


def test_parameters_that_were_loaded_may_be_anything(tmp_path: Path) -> None:
    """Biases beyond what learning leaves count as its limit, in C without overflow."""
    graph = learning("dilated", "last=5", learning_rate=1.0)
    biases = [at for at, state in enumerate(graph.states) if state.initial.dtype == np.int32]
    assert biases
    ends, far = Session(graph), Session(graph)
    for at in biases:
        shape = graph.states[at].initial.shape
        ends._states[at] = np.full(shape, 2**30 - 1, np.int32)
        far._states[at] = np.full(shape, 2**31 - 1, np.int32)
    x = drawn("dilated", 1)[0]
    for number in (-1, 1, -1):
        got, want = (session.run([x, label(number)]) for session in (far, ends))
        np.testing.assert_array_equal(got[0], want[0])
        np.testing.assert_array_equal(got[1], want[1])
