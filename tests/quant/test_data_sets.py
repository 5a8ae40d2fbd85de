"""Samples out of people's data sets: loaders of frameworks, archives, tables, sound, images."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from glowmcu.errors import GlowmcuError
from glowmcu.ir.graph import Graph
from glowmcu.ir.operation import Array
from glowmcu.limits import memory_limit
from glowmcu.ops.activation import Abs
from glowmcu.ops.elementwise import Add
from glowmcu.quant import data_sets
from glowmcu.quant.data_sets import as_array, described, samples_in
from glowmcu.quant.images import Preprocessing, read_image
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
        [{"features": x.tolist(), "label": 1} for x in BATCH], {"mfcc": BATCH, "label": BATCH[0]},
        [{"audio": {"array": x, "sampling_rate": 16000}, "label": "yes"} for x in BATCH],
        [{**dict(zip(map(str, range(24)), x.tolist(), strict=True)), "label": 1} for x in BATCH],
    ],
    ids=[
        "tensor", "data set", "loader", "frame", "pairs", "pairs with numpy's numbers", "rows",
        "rows with another name", "one batch with labels", "Keras' pairs of mappings", "lists",
        "batches as lists", "training data", "only one fits", "the usual name", "another case",
        "what was always meant", "rows of lists", "labels as long as a sample",
        "decoded sound", "a column a number",
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


class Made(Dataset):
    """Makes its items up, whatever number it is asked for."""

    def __getitem__(self, index: int) -> tuple[Tensor, int]:
        return super().__getitem__(index % len(BATCH))


def test_a_data_set_ends_where_its_length_says() -> None:
    samples = samples_of(perceptron(), Made())
    # One more than there should be, instead of a test without an end.
    found = list(itertools.islice(samples, len(BATCH) + 1))
    assert len(found) == samples.count == len(BATCH)


class Endless(Loader):
    """As TensorFlow's `repeat`."""

    def cardinality(self) -> int:
        return -1

    def __iter__(self) -> Iterator[list[Tensor]]:
        raise AssertionError("it is read although it has no end")


def test_a_data_set_that_says_it_has_no_end_is_not_read() -> None:
    with pytest.raises(GlowmcuError, match="islice") as caught:
        samples_of(perceptron(), Endless())
    assert caught.value.code == "GM306"


def test_small_items_without_an_end_are_refused_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(data_sets, "_MOST_ITEMS", 100)
    with pytest.raises(GlowmcuError, match="100 and no end"):
        samples_of(perceptron(), itertools.repeat((BATCH[0], 0)))
    assert samples_of(perceptron(), iter([BATCH[0]] * 100)).count == 100


class Bfloat16(Tensor):
    """As PyTorch's, which NumPy has no type for."""

    dtype = "torch.bfloat16"

    def numpy(self) -> Array:
        raise TypeError("Got unsupported ScalarType BFloat16")

    def float(self) -> Tensor:
        return Tensor(self.array)


class Sparse(Tensor):
    """As PyTorch's."""

    dtype = "torch.float32"

    def numpy(self) -> Array:
        raise TypeError("can't convert Sparse layout tensor to numpy.")


def test_tensors_that_numpy_has_no_type_for_are_widened_and_others_refused() -> None:
    assert np.array_equal(arrays_of(samples_of(perceptron(), Bfloat16(BATCH))), BATCH)
    with pytest.raises(GlowmcuError, match=r"no array: can't convert Sparse") as caught:
        samples_of(perceptron(), Sparse(BATCH))
    assert caught.value.code == "GM305"


def test_several_data_sets_by_name_are_refused_with_one_to_take() -> None:
    with pytest.raises(GlowmcuError, match="by name: 'train', 'test'"):
        samples_of(perceptron(), {"train": Dataset(), "test": Dataset()})


@pytest.mark.parametrize(
    "holds",
    [lambda x: x, lambda x: (x, 1), lambda x: {"image": x, "label": 1}],
    ids=["images", "pairs", "rows"],
)
def test_images_of_a_data_set_become_what_the_preprocessing_says(
    holds: Callable[[Any], Any], tmp_path: Path
) -> None:
    image = pytest.importorskip("PIL.Image", reason="pip install pillow")
    graph = convolutions()
    height, width, channels = graph.inputs[0].type.shape[1:]
    how = Preprocessing((height, width), (1.0,), (2.0,), color="gray" if channels == 1 else "rgb")
    pictures = [image.fromarray(np.full((9, 7, 3), 40 * at, np.uint8)) for at in range(3)]
    for at, picture in enumerate(pictures):
        picture.save(tmp_path / f"{at}.png")
    found = SampleSource([holds(picture) for picture in pictures], how).read(graph)
    wanted = SampleSource(tmp_path, how).read(graph)
    assert np.array_equal(arrays_of(found), arrays_of(wanted))


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


def test_rows_of_plain_numbers_are_of_one_input_only() -> None:
    graph = GraphBuilder()
    one, two = (graph.input(real(1, 2), name) for name in ("one", "two"))
    both = graph.finish(graph.add(Add(), one, two))
    single = GraphBuilder()
    alone = single.finish(single.add(Abs(), single.input(real(1, 2))))
    rows = [[1.0, 2.0], [3.0, 4.0]]
    assert [len(each) for each in samples_in(alone, rows)] == [1, 1]
    assert list(samples_in(both, rows)) == [rows]
    arrays = [np.array(row, np.float32) for row in rows]
    assert [len(each) for each in samples_in(both, arrays)] == [2]


def test_what_stands_behind_a_sample_is_left_out_even_if_it_looks_like_one() -> None:
    """As what an autoencoder is to give."""
    x, target = np.zeros(24, np.float32), np.ones(24, np.float32)
    for item in ((x, target), [x, target]):
        ((found,),) = samples_in(perceptron(), item)
        assert found is x
    assert list(samples_in(perceptron(), [])) == [[]]


class WithoutLength:
    """Gives items by number, and nobody knows how many."""

    def __getitem__(self, index: int) -> Array:
        if index == 5:
            raise IndexError
        return BATCH[index : index + 1]


@pytest.mark.parametrize("way", ["__array__", "__array_interface__"])
def test_what_says_of_itself_that_it_is_an_array_is_one(way: str) -> None:
    """By either of NumPy's protocols."""
    given: Any = type("Given", (), {})
    numbers = BATCH.copy()
    if way == "__array__":
        given.__array__ = lambda *_, **__: numbers
    else:
        given.__array_interface__ = property(lambda _: numbers.__array_interface__)
    found = as_array(given())
    assert isinstance(found, np.ndarray)
    assert np.array_equal(found, BATCH)
    thing = object()
    assert as_array(thing) is thing


def test_a_data_set_without_a_length_is_read_to_its_end() -> None:
    found = samples_of(perceptron(), WithoutLength())  # type: ignore[arg-type]
    assert found.count == 5
    assert np.array_equal(arrays_of(found), BATCH)


def test_a_data_set_of_tensorflow_that_ends_is_read() -> None:
    class Finite:
        def __iter__(self) -> Iterator[Array]:
            return iter(BATCH[:, np.newaxis])

        def cardinality(self) -> int:
            return 5

    assert samples_of(perceptron(), Finite()).count == 5


@pytest.mark.parametrize(
    "row",
    [
        {f"x{i}": 0.5 for i in range(23)}, {f"x{i}": 0.5 for i in range(25)},
        {f"x{i}": "a" if i == 7 else 0.5 for i in range(24)},
    ],
    ids=["too few", "too many", "a word"],
)  # fmt: skip
def test_columns_that_are_not_as_many_numbers_are_no_sample(row: dict[str, object]) -> None:
    good = {f"x{i}": float(i) for i in range(24)} | {"label": 3}
    (sample,) = samples_of(perceptron(), [good])
    assert sample[0].tolist() == [list(range(24))]
    with pytest.raises(GlowmcuError) as caught:
        list(samples_of(perceptron(), [row]))
    assert caught.value.code == "GM304"


def test_an_item_of_nothing_is_called_so() -> None:
    assert (described({}), described([])) == ("nothing", "nothing")
    assert described([x := np.zeros((2, 3), np.float32), 5]) == f"{x.shape} float32, int"
    assert described({"a": "text"}) == "'a' str"


def test_a_number_alone_is_no_batch_of_vectors() -> None:
    graph = GraphBuilder()
    vector = graph.finish(graph.add(Abs(), graph.input(real(2))))
    with pytest.raises(GlowmcuError) as caught:
        samples_of(vector, np.array(3.0, np.float32))
    assert caught.value.code == "GM304"
    assert samples_of(vector, np.ones((3, 2), np.float32)).count == 3


@pytest.mark.parametrize("shape", [(), (1,), (1, 1)])
def test_a_number_alone_is_a_sample_of_an_input_of_one(shape: tuple[int, ...]) -> None:
    graph = GraphBuilder()
    number = graph.finish(graph.add(Abs(), graph.input(real(*shape))))
    assert samples_of(number, np.array(3.0, np.float32)).count == 1
    assert samples_of(number, np.ones(3, np.float32)).count == 3


def notes_of(data: Mapping[str, Array] | Array | list[Any], graph: Graph) -> str:
    return " ".join(samples_of(graph, data, "file.npz").notes)


def test_a_name_that_was_guessed_is_told() -> None:
    assert "'x_train' is the samples" in notes_of({"x_train": BATCH, "y": LABELS}, perceptron())
    assert notes_of({"inputs": BATCH, "labels": LABELS}, perceptron()) == ""
    assert notes_of({"anything": BATCH}, perceptron()) == ""
    labels_first = {"y": LABELS, "x_train": BATCH}
    assert "'x_train' is the samples" in notes_of(labels_first, perceptron())
    assert [len(each) for each in samples_of(perceptron(), labels_first)] == [1] * len(BATCH)


def test_pixels_for_a_float_input_are_asked_about() -> None:
    pixels = np.zeros((5, 9, 7, 3), np.uint8)
    for data in (pixels, {"images": pixels}, list(pixels), [(pixel, 1) for pixel in pixels]):
        assert "uint8 and the input is float" in notes_of(data, convolutions())
    assert notes_of(pixels.astype(np.float32), convolutions()) == ""
    assert notes_of(pixels.astype(np.int16), convolutions()) == ""


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


def test_items_take_their_arrays_and_a_word_for_all_else() -> None:
    number, array = 5, np.zeros(3, np.float32)
    assert data_sets._size_bytes(number) == data_sets._size_bytes(np.int8(1)) == 8
    assert data_sets._size_bytes(array) == 12
    assert data_sets._size_bytes((array, [number, "text"])) == 8 + 12 + (8 + 8 + 8)
    assert data_sets._size_bytes({"x": array, "y": number}) == 12 + 8
