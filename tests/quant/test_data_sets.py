"""Samples out of people's data sets: loaders of frameworks, archives, tables, sound, images."""

from __future__ import annotations

import errno
import itertools
import os
import re
import wave
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from glowmcu.errors import GlowmcuError
from glowmcu.ir.graph import Graph
from glowmcu.ir.operation import Array
from glowmcu.limits import memory_limit
from glowmcu.ops.matmul import FullyConnected
from glowmcu.quant.images import Preprocessing, read_image
from glowmcu.quant.recordings import read_sound
from glowmcu.quant.sample_files import read_samples
from glowmcu.quant.sample_source import SampleSource
from glowmcu.quant.samples import Samples, samples_of
from tests.ir.graphs import GraphBuilder
from tests.quant.networks import convolutions, draw, perceptron, real
from tests.quant.test_samples import two_inputs

BATCH = draw(0, 5, 24)
LABELS = np.arange(5)


class Tensor:
    """As PyTorch's: an array after `detach`, `cpu` and `numpy`."""

    def __init__(self, array: Array) -> None:
        self.array = array

    def detach(self) -> Tensor:
        return self

    def cpu(self) -> Tensor:
        return self

    def numpy(self) -> Array:
        return self.array


class Dataset:
    """As PyTorch's: items by number, without an end that Python would know."""

    def __len__(self) -> int:
        return len(BATCH)

    def __getitem__(self, index: int) -> tuple[Tensor, int]:
        return Tensor(BATCH[index]), int(LABELS[index])


class Loader:
    """As PyTorch's: batches of items with their labels, in another order each time."""

    def __init__(self) -> None:
        self.passes = 0

    def __len__(self) -> int:
        return 3

    def __iter__(self) -> Iterator[list[Tensor]]:
        self.passes += 1
        for start in (0, 2, 4):
            yield [Tensor(BATCH[start : start + 2]), Tensor(LABELS[start : start + 2])]


class Frame:
    """As pandas'."""

    def to_numpy(self) -> Array:
        return BATCH


def arrays_of(samples: Samples) -> Array:
    assert samples.count == len(list(samples))
    return np.concatenate([sample[0] for sample in samples])


@pytest.mark.parametrize(
    "data",
    [
        Tensor(BATCH), Dataset(), Loader(), Frame(), [(x, 3) for x in BATCH],
        list(zip(BATCH, LABELS, strict=True)), [{"features": x, "label": 1} for x in BATCH],
        [{"wave": Tensor(x), "label": 1} for x in BATCH], ((Tensor(BATCH), Tensor(LABELS)),),
        [({"features": Tensor(BATCH)}, LABELS)], BATCH.tolist(), [BATCH[:3].tolist(), BATCH[3:]],
        {"x_train": BATCH, "y_train": LABELS}, {"data": BATCH, "mask": BATCH[:, :3]},
        {"x": BATCH, "x_test": BATCH[:2]}, {"X": BATCH, "y": BATCH},
        {"inputs": BATCH, "features_mean": BATCH[0]},
    ],
    ids=[
        "tensor", "data set", "loader", "frame", "pairs", "pairs with numpy's numbers", "rows",
        "rows with another name", "one batch with labels", "Keras' pairs of mappings", "lists",
        "batches as lists", "training data", "only one fits", "the usual name", "another case",
        "what was always meant",
    ],
)  # fmt: skip
def test_five_samples_come_out_of_all_that_holds_them(data: Any) -> None:
    assert np.array_equal(arrays_of(samples_of(perceptron(), data)), BATCH)


def test_a_loader_that_shuffles_is_read_once() -> None:
    loader = Loader()
    samples = samples_of(perceptron(), loader)
    assert np.array_equal(arrays_of(samples), arrays_of(samples))
    assert loader.passes == 1


def test_a_data_set_is_not_read_before_its_samples_are_asked_for() -> None:
    asked = list[int]()

    class Watched(Dataset):
        def __getitem__(self, index: int) -> tuple[Tensor, int]:
            asked.append(index)
            return super().__getitem__(index)

    samples = samples_of(perceptron(), Watched())
    assert set(asked) <= {0}, "the first tells what an item is"
    assert samples.count == 5


def test_a_loader_without_an_end_is_refused() -> None:
    endless = itertools.repeat((Tensor(np.zeros((64, 24), np.float32)), 0))
    with memory_limit(1 << 20), pytest.raises(GlowmcuError, match="islice") as caught:
        samples_of(perceptron(), endless)
    assert caught.value.code == "GM306"


def test_inputs_of_a_pair_are_taken_by_their_names_or_in_their_order() -> None:
    a, b = np.zeros((4, 3), np.float32), np.ones((4, 3), np.float32)
    for data in ([({"b": b, "a": a}, LABELS[:4])], [((a, b), LABELS[:4])], [(a, b, LABELS[:4])]):
        found = samples_of(two_inputs(), data)
        assert found.count == 4
        assert [[array.max() for array in sample] for sample in found] == [[0.0, 1.0]] * 4


@pytest.mark.parametrize(
    ("data", "text"),
    [
        ({"a": BATCH, "b": BATCH}, "got 'a' (5, 24), 'b' (5, 24)"),
        ({"a": BATCH[:, :3], "b": LABELS}, "'a' (5, 3)"),
        ([[1.0, 2.0, 3.0]] * 5, "expected 1 arrays"),
    ],
    ids=["two that fit", "none that fits", "too short"],
)
def test_what_is_not_clear_is_refused_with_what_there_is(data: Any, text: str) -> None:
    with pytest.raises(GlowmcuError) as caught:
        list(samples_of(perceptron(), data))
    assert caught.value.code == "GM304"
    assert text in str(caught.value)


def notes_of(data: Mapping[str, Array] | Array | list[Any], graph: Graph) -> str:
    return " ".join(samples_of(graph, data, "file.npz").notes)


def test_a_name_that_was_guessed_is_told() -> None:
    assert "'x_train' is the samples" in notes_of({"x_train": BATCH, "y": LABELS}, perceptron())
    assert notes_of({"inputs": BATCH, "labels": LABELS}, perceptron()) == ""
    assert notes_of({"anything": BATCH}, perceptron()) == ""


def test_pixels_for_a_float_input_are_asked_about() -> None:
    pixels = np.zeros((5, 9, 7, 3), np.uint8)
    for data in (pixels, {"images": pixels}, list(pixels), [(pixel, 1) for pixel in pixels]):
        assert "uint8 and the input is float" in notes_of(data, convolutions())
    assert notes_of(pixels.astype(np.float32), convolutions()) == ""
    assert notes_of(pixels.astype(np.int16), convolutions()) == ""


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def table(separator: str = ",", head: str = "", aside: str = "") -> str:
    rows = [separator.join([*map(str, row.tolist()), *([aside] if aside else [])]) for row in BATCH]
    return "\n".join([*([head] if head else []), *rows]) + "\n"


NAMES = [f"f{index}" for index in range(24)]


@pytest.mark.parametrize(
    ("text", "note"),
    [
        (table(), ""), (table(";"), ""), (table("\t"), ""), ("\ufeff" + table(), ""),
        (table(head=",".join(NAMES)), ""),
        (table(head=",".join([*NAMES, "label"]), aside="walking"), "'label' left out"),
        (table(head=",".join([*NAMES, "Class"]), aside="3"), "'Class' left out"),
        (table() + "\n\n", ""),
    ],
    ids=["commas", "semicolons", "tabs", "a mark at the beginning", "names", "a label in words",
         "a label as a number", "empty lines"],
)  # fmt: skip
def test_a_row_of_a_table_is_a_sample(text: str, note: str, tmp_path: Path) -> None:
    samples = read_samples(perceptron(), write(tmp_path / "data.csv", text))
    assert np.array_equal(arrays_of(samples), BATCH)
    assert note in " ".join(samples.notes)
    assert bool(samples.notes) == bool(note)


def signal_network() -> Graph:
    """Of 4 moments of 3 channels."""
    graph = GraphBuilder()
    x = graph.input(real(1, 4, 3), "motion")
    w = graph.constant(draw(1, 2, 3), name="w")
    return graph.finish(graph.add(FullyConnected(), x, w, graph.constant(draw(2, 2)), name="fc"))


def test_a_row_of_a_table_is_a_moment_where_it_has_a_number_a_channel(tmp_path: Path) -> None:
    moments = draw(7, 14, 3)
    rows = "\n".join(f"{at / 100},{','.join(map(str, row.tolist()))}" for at, row in
                     enumerate(moments))  # fmt: skip
    file = write(tmp_path / "motion.csv", f"time,x,y,z\n{rows}\n".replace("x,y,z", "ax,ay,az"))
    samples = read_samples(signal_network(), file)
    assert np.array_equal(arrays_of(samples), moments[:12].reshape(3, 4, 3))
    assert "'time' left out" in samples.notes[0]


def named() -> str:
    return ",".join(f"x{index}" for index in range(24))


@pytest.mark.parametrize(
    ("text", "code", "words"),
    [
        ("1,2,3\n4,5,6\n", "GM304", "a row has 3 numbers; expected 24"),
        (table() + "1,2\n", "GM307", "row 6 has 2 columns, the first 24"),
        (f"{named()}\n1,2\n", "GM307", "row 2 has 2 columns, the first 24"),
        (f"{named()}\n{table()}1,2\n", "GM307", "row 7 has 2 columns, the first 24"),
        (table() + table().split("\n")[0].replace(".", "x"), "GM307", "row 6"),
        (table().replace(str(BATCH.tolist()[0][0]), "nan", 1), "GM305", "nan"),
        ("", "GM306", "no rows"), ("a,b\n", "GM306", "no rows"),
        ("\x00\x01", "GM306", "no rows"),
    ],
    ids=["too narrow", "a short row", "rows shorter than names", "a short row below names",
         "a word", "no number", "nothing", "names alone", "no table"],
)  # fmt: skip
def test_a_table_that_fits_no_input_is_refused(
    text: str, code: str, words: str, tmp_path: Path
) -> None:
    with pytest.raises(GlowmcuError) as caught:
        list(read_samples(perceptron(), write(tmp_path / "data.csv", text)))
    assert (caught.value.code, words in str(caught.value)) == (code, True), caught.value


def sound_network(length: int = 8) -> Graph:
    graph = GraphBuilder()
    x = graph.input(real(1, length), "sound")
    w = graph.constant(draw(1, 2, length), name="w")
    return graph.finish(graph.add(FullyConnected(), x, w, graph.constant(draw(2, 2)), name="fc"))


def record(path: Path, numbers: Array) -> Path:
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(16000)
        file.writeframes(numbers.astype("<i2").tobytes())
    return path


def test_sound_is_cut_into_samples_between_minus_one_and_one(tmp_path: Path) -> None:
    numbers = np.linspace(-32768, 32767, 20).astype(np.int16)
    record(tmp_path / "a.wav", numbers)
    samples = read_samples(sound_network(), tmp_path / "a.wav")
    assert np.array_equal(arrays_of(samples), (numbers[:16] / 32768).reshape(2, 8))
    (tmp_path / "yes").mkdir()
    record(tmp_path / "yes" / "b.wav", numbers[::-1])
    both = SampleSource(tmp_path).read(sound_network())
    assert both.count == 4, "clips lie in folders by class"


@pytest.mark.parametrize(
    ("graph", "words"),
    [(sound_network(64), "20 moments are less than a sample"), (signal_network(), "one number")],
    ids=["too short", "features"],
)
def test_sound_that_fits_no_input_is_refused(graph: Graph, words: str, tmp_path: Path) -> None:
    file = record(tmp_path / "a.wav", np.zeros(20, np.int16))
    with pytest.raises(GlowmcuError, match=words) as caught:
        read_samples(graph, file)
    assert caught.value.code == "GM304"


def test_sound_that_cannot_be_read_is_refused_with_what_the_computer_says(tmp_path: Path) -> None:
    """Its words for a reason, without the number and the path around them."""
    (tmp_path / "damaged.wav").write_bytes(b"RIFF")
    reasons = {"damaged": "not a WAV file of plain samples: .*", "gone": os.strerror(errno.ENOENT)}
    for name, words in reasons.items():
        path = tmp_path / f"{name}.wav"
        text = rf"error\[GM307\]: cannot read samples: {words}\n  --> {re.escape(str(path))}"
        with pytest.raises(GlowmcuError) as caught:
            read_sound(sound_network(), path)
        assert re.fullmatch(text, str(caught.value)), caught.value


def test_a_folder_of_two_kinds_is_refused(tmp_path: Path) -> None:
    record(tmp_path / "a.wav", np.zeros(20, np.int16))
    np.save(tmp_path / "b.npy", np.zeros(8, np.float32))
    with pytest.raises(GlowmcuError, match=r"arrays and recordings: b\.npy, a\.wav"):
        read_samples(sound_network(), tmp_path)


def test_a_camera_that_was_turned_is_turned_back(tmp_path: Path) -> None:
    image = pytest.importorskip("PIL.Image", reason="pip install pillow")
    pixels = np.zeros((4, 8, 3), np.uint8)
    pixels[:, :4] = 200
    picture, turned = image.fromarray(pixels), image.fromarray(pixels.transpose(1, 0, 2)[::-1])
    exif = turned.getexif()
    exif[0x0112] = 6  # to be turned by a quarter, clockwise
    settings = Preprocessing((4, 8), (0.0,), (1.0,))
    picture.save(tmp_path / "upright.png")
    turned.save(tmp_path / "turned.png", exif=exif)
    first, second = (
        read_image(tmp_path / name, settings) for name in ("upright.png", "turned.png")
    )
    assert np.array_equal(first, second)
