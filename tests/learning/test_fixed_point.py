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
from glowmcu.ir.operation import Array, Rounding, Signature
from glowmcu.ir.text import parse_graph, print_graph
from glowmcu.ir.types import ElementType, TensorType
from glowmcu.learning.training_graph import with_training
from glowmcu.ops.parameter_step import BiasStep, channel_factors, momentum_part
from glowmcu.ops.registry import load_operations
from glowmcu.pipeline import application_graph
from glowmcu.training import training_of
from glowmcu.verify.executors import executor
from glowmcu.verify.host import HostSession
from tests.learning.fixed_models import dilated, pooled, regression, windows
from tests.learning.test_learning_bundles import DIGITS, GESTURES, learnt, samples
from tests.support.forced_variant import SANITIZED

MODELS = {
    "windows": windows,
    "dilated": dilated,
    "digits": DIGITS.read_bytes,
    "regression": regression,
    "pooled": pooled,
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
    ("pooled", "last=4,bias"),
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
    ("name", "what"), [("windows", "last=4"), ("dilated", "last=5"), ("pooled", "last=4")]
)
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
    ("name", "what"), [("windows", "last=4"), ("dilated", "last=5"), ("pooled", "last=4")]
)
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
    with_fpu = compiled(tmp_path, "digits", "last=1", train_numbers=None)
    assert with_fpu.manifest.training is not None
    assert with_fpu.manifest.training.numbers == "float32"


def test_what_cannot_be_so_learns_in_real_numbers_there(tmp_path: Path) -> None:
    """A float model."""
    bundle = glowmcu.compile(GESTURES, "rp2040", tmp_path / "a", "net", train="last=1")
    assert bundle.manifest.training is not None
    assert bundle.manifest.training.numbers == "float32"


def test_momentum_goes_on_with_the_steps_before() -> None:
    """v2 = 0.5 v1 + step, on two inputs whose steps are the same: 1.5 of a step, then 1.75."""
    with_it = learning("digits", "last=1,bias", learning_rate=0.5, momentum=0.5)
    without = learning("digits", "last=1,bias", learning_rate=0.5)
    (x,) = drawn("digits", 1)
    one, other = Session(with_it), Session(without)
    (name,) = (state.value.name for state in without.states if state.value.name.endswith("bias"))
    biases = [states_of(without, other)[name].astype(np.int64)]
    for _ in range(2):
        other.run([x, label(1)])
        biases.append(states_of(without, other)[name].astype(np.int64))
    one.run([x, label(1)])
    np.testing.assert_array_equal(states_of(with_it, one)[name], biases[1])
    one.run([x, label(1)])
    first, second = biases[1] - biases[0], biases[2] - biases[1]
    assert np.abs(first).max() > 100
    moved = states_of(with_it, one)[name] - biases[1]
    np.testing.assert_allclose(moved, second + 0.5 * first, atol=1)
    velocity = states_of(with_it, one)[f"{name}/momentum"]
    np.testing.assert_allclose(-velocity / 256, moved, atol=1)


def test_small_steps_add_up_to_what_a_weight_can_show() -> None:
    """Of 1/3 of a step of what is kept none would ever be made without the bits of a velocity."""
    op = BiasStep(has_momentum=True)
    kept, velocity = np.zeros(1, np.int32), np.zeros(1, np.int32)
    gradient, common = np.full((1, 1, 1, 1), 1, np.int16), np.array([0, 1], np.int32)
    types = [
        TensorType((1,), ElementType.I32), TensorType((1, 1, 1, 1), ElementType.I16),
        TensorType((2,), ElementType.I32), TensorType((1, 2), ElementType.I32),
        TensorType((1,), ElementType.F32), TensorType((1,), ElementType.I32),
        TensorType((1,), ElementType.F32),
    ]  # fmt: skip
    signature = Signature(tuple(types), (types[0], types[0]))
    op.verify(signature)
    factors, rate = channel_factors([1.0]), np.array([1 / 3], np.float32)
    for _ in range(30):
        inputs = [kept, gradient * 1000, common, factors, rate * 1e-3, velocity]
        kept, velocity = op.evaluate(
            [*inputs, np.array([0.9], np.float32)], signature, Rounding.DOUBLE
        )
    # 1/3 after 1/3, each of which goes on to 10/3 in the end.
    assert -30 / 3 * 10 < kept[0] < -30 / 3 * 5


@pytest.mark.parametrize(
    ("momentum", "part"),
    [(0.5, 16384), (0.9, 29491), (0.999999, 32767), (1.0, 32767), (np.inf, 0), (np.nan, 0),
     (0.0, 0), (-0.5, 0), (1e-9, 0), (1e-38, 0), (2.0**-15, 1)],
)  # fmt: skip
def test_momentum_is_a_part_of_two_to_the_fifteenth(momentum: float, part: int) -> None:
    assert momentum_part(np.array([momentum], np.float32)) == part


SHARES = [
    ("windows", "last=4,channels=30%", {}), ("dilated", "last=5,channels=50%", {}),
    ("dilated", "last=4,bias,channels=25%", {}), ("pooled", "last=4,channels=1%", {}),
    ("windows", "last=4,channels=60%", {"momentum": 0.7}),
]  # fmt: skip


@pytest.mark.parametrize(("name", "what", "more"), SHARES)
def test_of_a_share_of_the_channels_the_others_stay(
    name: str, what: str, more: dict[str, float], tmp_path: Path
) -> None:
    """C, the graph, and steps that are those of the same channels where all learn."""
    options = {"learning_rate": 0.05, **more}
    bundle = compiled(tmp_path, name, what, **options)
    session = Session(learning(name, what, **options))
    data = samples(bundle, 6)
    for (x, number), (loss, output) in zip(data, learnt(bundle, data, "host"), strict=True):
        assert loss == session.run([x, label(number)])[1][0]
        np.testing.assert_array_equal(output, session.run([x, label(-1)])[0])
    share = learning(name, what, **options)
    whole = learning(name, what.rpartition(",")[0], **options)
    some, every = Session(share), Session(whole)
    for each in (some, every):
        each.run([drawn(name, 1)[0], label(1)])
    all_of = states_of(whole, every)
    smaller = 0
    for key, kept in states_of(share, some).items():
        others = all_of[key]
        assert kept.ndim == others.ndim
        smaller += kept.size < others.size
        np.testing.assert_array_equal(kept, others[tuple(map(slice, kept.shape))])
    assert smaller >= 3
    assert bundle.manifest.training is not None
    assert bundle.manifest.training.parameter_bytes < sum(
        all_of[key].nbytes for key in bundle.manifest.training.parameters
    )


def test_before_learning_a_model_with_a_share_says_what_it_says() -> None:
    session, before = Session(learning("dilated", "last=5,channels=40%")), Session(plain("dilated"))
    for x in drawn("dilated", 3):
        np.testing.assert_array_equal(session.run([x, label(-1)])[0], before.run([x])[0])


@pytest.mark.parametrize(
    ("options", "code", "text"),
    [
        ({"train": "last=1,channels=0%"}, "GM734", "does not take 'channels=0%'"),
        ({"train": "last=1,channels=5"}, "GM734", "does not take 'channels=5'"),
        ({"train": "last=1,channels=5%,channels=6%"}, "GM734", "says twice how many channels"),
        (
            {"train": "last=1,channels=5%", "train_numbers": "float32"}, "GM735",
            "a share of the channels learns in fixed point, not in float32",
        ),
    ],
)  # fmt: skip
def test_shares_that_cannot_be(options: dict[str, object], code: str, text: str) -> None:
    with pytest.raises(GlowmcuError, match=code) as found:
        training_of(numbers=options.get("train_numbers"), train=options["train"])  # type: ignore[arg-type]
    assert text in str(found.value)


@pytest.mark.parametrize("momentum", [0.9, 0.3])
@pytest.mark.parametrize(("name", "what"), [("windows", "last=4"), ("dilated", "last=5")])
def test_c_goes_on_with_momentum_to_the_bit(
    name: str, what: str, momentum: float, tmp_path: Path
) -> None:
    options = {"learning_rate": 0.05, "momentum": momentum}
    bundle = compiled(tmp_path, name, what, **options)
    session = Session(learning(name, what, **options))
    data = samples(bundle, 8)
    for (x, number), (loss, output) in zip(data, learnt(bundle, data, "host"), strict=True):
        assert loss == session.run([x, label(number)])[1][0]
        np.testing.assert_array_equal(output, session.run([x, label(-1)])[0])


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
