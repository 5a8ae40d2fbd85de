"""Steps of learning in fixed point: momentum, and a share of the channels."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from glowmcu.errors import GlowmcuError
from glowmcu.ir.interpreter import Session
from glowmcu.ir.operation import Rounding, Signature
from glowmcu.ir.types import ElementType, TensorType
from glowmcu.ops.parameter_step import BiasStep, channel_factors, momentum_part
from glowmcu.training import training_of
from glowmcu.verify.executors import executor
from tests.learning.test_fixed_point import compiled, drawn, label, learning, plain, states_of
from tests.learning.test_learning_bundles import learnt, samples


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
    ("separable", "last=6,channels=40%", {}),
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
def test_shares_that_cannot_be(options: dict[str, str], code: str, text: str) -> None:
    with pytest.raises(GlowmcuError, match=code) as found:
        training_of(options["train"], numbers=options.get("train_numbers"))
    assert text in str(found.value)


@pytest.mark.parametrize("momentum", [0.9, 0.3])
@pytest.mark.parametrize(
    ("name", "what"), [("windows", "last=4"), ("dilated", "last=5"), ("separable", "last=7")]
)
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


@pytest.mark.arm
def test_small_code_learns_the_same_bits(tmp_path: Path) -> None:
    """gcc for Armv6-M keeps no values in registers across calls, unless a pragma of optimization
    turns it on again: then a function's end spoils what its caller keeps.
    """
    options = {"learning_rate": 0.05, "momentum": 0.9, "optimize": "size"}
    bundle = compiled(tmp_path, "windows", "last=4", "rp2040", **options)
    if (missing := executor("cortex-m", bundle.board, "cortex-m0plus").missing()) is not None:
        pytest.skip(missing)
    data = samples(bundle, 4)
    host, there = learnt(bundle, data, "host"), learnt(bundle, data, "cortex-m", "cortex-m0plus")
    for (loss, output), (other_loss, other) in zip(host, there, strict=True):
        assert loss == other_loss
        np.testing.assert_array_equal(output, other)
