"""Models with states of their own: what is behind the states learns, and they go on."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import glowmcu
from glowmcu.errors import GlowmcuError
from glowmcu.ir.graph import Graph
from glowmcu.ir.interpreter import Session
from glowmcu.ir.operation import Array
from glowmcu.learning.training_graph import with_training
from glowmcu.pipeline import application_graph
from glowmcu.training import training_of
from tests.support.stream_models import StreamModel


def stream(remembers: bool = False) -> bytes:
    """The newest four rows, two convolutions; what the last one gives may be remembered."""
    model = StreamModel(1)
    made = model.conv(model.conv(model.queue(model.input(1, 4), 3), 4, 6), 1, 5)
    if remembers:
        made = model.delayed(made)
    model.builder.output(made.ref)
    return model.finish()


def learning(data: bytes, what: str, **options: object) -> Graph:
    training = training_of(what, **options)  # type: ignore[arg-type]
    return with_training(application_graph(data, "stream.tflite")[0], training, "stream.tflite")


def rows(count: int) -> list[Array]:
    random = np.random.default_rng(2)
    return [random.integers(-128, 128, (1, 1, 1, 4)).astype(np.int8) for _ in range(count)]


def label(number: int) -> Array:
    return np.array([number], np.int32)


@pytest.mark.parametrize("numbers", ["fixed", "float32"])
@pytest.mark.parametrize("what", ["last=1", "last=2"])
def test_the_head_learns_and_the_queue_goes_on(numbers: str, what: str, tmp_path: Path) -> None:
    path = tmp_path / "stream.tflite"
    path.write_bytes(stream())
    options = {"train": what, "learning_rate": 0.1, "train_numbers": numbers}
    folder = tmp_path / "net"
    bundle = glowmcu.compile(path, "nrf52", folder, "net", **options)  # type: ignore[arg-type]
    session = bundle.session()
    meaning = Session(learning(stream(), what, learning_rate=0.1, numbers=numbers))
    for number, x in enumerate(rows(12)):
        if number % 3:
            loss = session.train([x], number % 5)
            want = meaning.run([x, label(number % 5)])[1][0]
            np.testing.assert_allclose(loss, want, rtol=0 if numbers == "fixed" else 1e-4)
        else:
            step = 0 if numbers == "fixed" else 1
            got, wanted = session.run([x])[0], meaning.run([x, label(-1)])[0]
            assert np.abs(got.astype(int) - wanted).max() <= step


def test_without_a_label_it_streams_as_the_model_does() -> None:
    plain = Session(application_graph(stream(), "stream.tflite")[0])
    session = Session(learning(stream(), "last=1", numbers="fixed"))
    for x in rows(8):
        np.testing.assert_array_equal(session.run([x, label(-1)])[0], plain.run([x])[0])


@pytest.mark.parametrize("numbers", ["fixed", "float32"])
def test_what_learns_in_front_of_a_state_is_refused(numbers: str) -> None:
    with pytest.raises(GlowmcuError, match="GM363") as found:
        learning(stream(remembers=True), "last=1", numbers=numbers)
    assert "has influence on the state" in str(found.value)
