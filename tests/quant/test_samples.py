"""Samples from whatever a user has, and clear refusals of what fits no input."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from glowmcu.errors import GlowmcuError
from glowmcu.ir.graph import Graph, Value
from glowmcu.ir.types import ElementType, TensorType
from glowmcu.ops.joining import Concatenation
from glowmcu.ops.shape import Reshape
from glowmcu.quant.images import Preprocessing, read_preprocessing
from glowmcu.quant.sample_files import read_samples
from glowmcu.quant.sample_source import _files
from glowmcu.quant.samples import _integer_array, samples_of
from tests.ir.graphs import GraphBuilder
from tests.quant.networks import convolutions, draw, perceptron, real

BATCH = draw(0, 5, 24)


def two_inputs() -> Graph:
    graph = GraphBuilder()
    a, b = graph.input(real(1, 3), "a"), graph.input(real(1, 3), "b")
    return graph.finish(graph.add(Concatenation(0), a, b))


@pytest.mark.parametrize(
    "data",
    [BATCH, BATCH.astype(np.float64), BATCH[:, None], list(BATCH), [[row] for row in BATCH],
     iter(BATCH), {"features": BATCH}, {"any name": BATCH}, ({"features": x} for x in BATCH)],
    ids=["batch", "doubles", "with leading 1", "list", "lists of arrays", "iterator", "by name",
         "by another name", "generator of mappings"],
)  # fmt: skip
def test_all_ways_to_hand_over_five_samples_give_the_same(data: Any) -> None:
    samples = samples_of(perceptron(), data)
    for _ in range(2):  # can be gone through again
        found = list(samples)
        assert [len(sample) for sample in found] == [1] * 5
        assert np.array_equal(np.concatenate([sample[0] for sample in found]), BATCH)
        assert all(sample[0].dtype == np.float32 for sample in found)


def test_a_data_set_has_inputs_beside_its_labels() -> None:
    labels = np.zeros(5)
    for data in ({"inputs": BATCH, "labels": labels}, {"features": BATCH, "inputs": labels}):
        samples = samples_of(perceptron(), data)
        assert samples.count == 5
        assert np.array_equal(np.concatenate([sample[0] for sample in samples]), BATCH)
    for wrong in ({"first": labels, "labels": labels}, {"a": BATCH, "b": BATCH}, {}):
        with pytest.raises(GlowmcuError, match="no samples for input 'features'") as caught:
            samples_of(perceptron(), wrong)
        assert "or call it 'inputs'" in str(caught.value)


def integers(element: ElementType) -> Graph:
    graph = GraphBuilder()
    x = graph.input(TensorType((1, 2), element), "x")
    return graph.finish(graph.add(Reshape((2,)), x))


def test_no_integers_are_of_any_type() -> None:
    value = Value(TensorType((0,), ElementType.I8), "x")
    assert _integer_array(np.zeros(0, np.int64), value, "").dtype == np.int8


@pytest.mark.parametrize(
    ("element", "data", "fits"),
    [
        (ElementType.I32, [[5, -7]], True), (ElementType.I32, [[2**31 - 1, -(2**31)]], True),
        (ElementType.I32, [[2**31, 0]], False), (ElementType.I32, [[0, -(2**31) - 1]], False),
        (ElementType.I32, [[5.0, 7.0]], False), (ElementType.UI8, [[0, 255]], True),
        (ElementType.UI8, [[-1, 255]], False), (ElementType.UI8, [[0, 256]], False),
        (ElementType.I32, [[True, False]], True),
    ],
)  # fmt: skip
def test_inputs_of_integers_take_those_of_their_type(
    element: ElementType, data: Any, fits: bool
) -> None:
    made = np.asarray(data)[np.newaxis]
    if not fits:
        with pytest.raises(GlowmcuError, match="expected integers from") as caught:
            list(samples_of(integers(element), list(made)))
        assert caught.value.code == "GM305"
        return
    ((found,),) = samples_of(integers(element), list(made))
    assert found.dtype == element.numpy
    assert found.tolist() == [[int(number) for number in data[0]]]


def test_a_number_that_is_none_is_told_with_its_place() -> None:
    rows = np.zeros((3, 24))
    rows[1, 7] = rows[1, 9] = np.nan
    with pytest.raises(GlowmcuError, match=r"nan at \(0, 7\)") as caught:
        list(samples_of(perceptron(), rows, "data"))
    assert "data, sample 1" in str(caught.value)


def test_a_single_sample_is_one_sample() -> None:
    assert samples_of(perceptron(), BATCH[:1]).count == 1


def test_the_first_few_of_many() -> None:
    samples = samples_of(perceptron(), BATCH).first(2)
    assert samples.count == 2
    assert len(list(samples)) == 2


def test_several_inputs_come_by_name() -> None:
    data = {"b": np.ones((4, 3)), "a": np.zeros((4, 3))}
    first = next(iter(samples_of(two_inputs(), data)))
    assert [array.max() for array in first] == [0.0, 1.0]


@pytest.mark.parametrize(
    ("graph", "data", "code", "text"),
    [
        (perceptron, np.zeros((5, 23)), "GM304", "(1, 24), or a batch (N, 24)"),
        (convolutions, np.zeros((5, 3, 9, 7)), "GM304", "layout"),
        (perceptron, [np.zeros(24), np.zeros(25)], "GM304", "sample 1"),
        (perceptron, np.array(3.0), "GM304", "features"),
        (two_inputs, np.zeros((5, 3)), "GM304", "2 inputs"),
        (two_inputs, {"a": np.zeros((5, 3))}, "GM304", "'b'"),
        (two_inputs, {"a": np.zeros((5, 3)), "b": np.zeros((4, 3))}, "GM304", "'a' 5, 'b' 4"),
        (perceptron, [[np.zeros(23), np.zeros(24)]], "GM304", "expected 1 arrays"),
        (perceptron, [np.full(24, np.nan)], "GM305", "nan"),
        (perceptron, [np.full(24, np.inf)], "GM305", "inf"),
        (perceptron, [np.full(24, 1e300)], "GM305", "inf"),
        (perceptron, [np.array(["x"] * 24)], "GM305", "no number"),
        (perceptron, np.zeros((0, 24)), "GM306", "no samples"),
        (perceptron, [], "GM306", "no samples"),
    ],
)
def test_what_fits_no_input_is_refused(
    graph: Callable[[], Graph], data: Any, code: str, text: str
) -> None:
    with pytest.raises(GlowmcuError) as caught:
        list(samples_of(graph(), data))
    assert caught.value.code == code
    assert text in str(caught.value)


def test_files_and_folders_of_arrays(tmp_path: Path) -> None:
    graph = perceptron()
    np.save(tmp_path / "all.npy", BATCH)
    np.savez(tmp_path / "all.npz", features=BATCH)
    arrays, raw = tmp_path / "arrays", tmp_path / "raw"
    arrays.mkdir()
    raw.mkdir()
    for index, row in enumerate(BATCH):
        np.save(arrays / f"{index}.npy", row)
        (raw / f"{index}.bin").write_bytes(row.astype("<f4").tobytes())
    for source in (tmp_path / "all.npy", tmp_path / "all.npz", arrays, raw):
        found = np.concatenate([sample[0] for sample in read_samples(graph, source)])
        assert np.array_equal(found, BATCH), source


def test_folders_of_archives_hold_a_sample_each(tmp_path: Path) -> None:
    for index, row in enumerate(BATCH):
        np.savez(tmp_path / f"{index}.npz", any_name=row)
    found = np.concatenate([sample[0] for sample in read_samples(perceptron(), tmp_path)])
    assert np.array_equal(found, BATCH)
    pairs = tmp_path / "pairs"
    pairs.mkdir()
    for index in range(3):
        np.savez(pairs / f"{index}.npz", b=np.full(3, 10.0), a=np.full(3, index))
    firsts = [[int(array[0, 0]) for array in each] for each in read_samples(two_inputs(), pairs)]
    assert firsts == [[0, 10], [1, 10], [2, 10]]
    np.savez(tmp_path / "0.npz", labels=np.zeros(3), features=BATCH[2])
    first = next(iter(read_samples(perceptron(), tmp_path)))
    assert np.array_equal(first[0], BATCH[2:3])


def test_raw_files_have_the_size_of_the_input(tmp_path: Path) -> None:
    path = tmp_path / "0.bin"
    for size, fits in ((95, False), (96, True), (97, False), (5000, False)):
        path.write_bytes(BATCH[0].tobytes()[:size].ljust(size, b"\0"))
        if fits:
            ((found,),) = read_samples(perceptron(), tmp_path)
            assert np.array_equal(found, BATCH[:1])
            continue
        with pytest.raises(GlowmcuError, match=f"takes 96 bytes, got {size}") as caught:
            list(read_samples(perceptron(), tmp_path))
        assert caught.value.code == "GM307"
    with pytest.raises(GlowmcuError, match="cannot feed 2 inputs"):
        list(read_samples(two_inputs(), tmp_path))


@pytest.mark.parametrize(
    ("name", "content", "code"),
    [
        ("a.npy", b"no array", "GM307"),
        ("a.npz", b"no archive", "GM307"),
        ("a.bin", b"12345", "GM307"),
        ("a.csv", b"1,2", "GM304"),
        ("a.txt", b"1,2", "GM304"),
        ("a.json", b"[1, 2]", "GM307"),
        (None, b"", "GM307"),
        ("empty", None, "GM306"),
    ],
)
def test_unreadable_files_are_refused(
    tmp_path: Path, name: str | None, content: bytes | None, code: str
) -> None:
    path = tmp_path / (name or "missing")
    if name and content is not None:
        path.write_bytes(content)
    elif name:
        path.mkdir()
    with pytest.raises(GlowmcuError) as caught:
        list(read_samples(perceptron(), path))
    assert caught.value.code == code
    assert str(path) in str(caught.value)


def test_images_become_what_the_settings_say(tmp_path: Path) -> None:
    image = pytest.importorskip("PIL.Image", reason="pip install pillow")
    pixels = np.zeros((9, 7, 3), np.uint8)
    pixels[..., 0], pixels[..., 2] = 255, 51
    image.fromarray(pixels).save(tmp_path / "a.png")
    settings = tmp_path / "settings.toml"
    settings.write_text("size = [9, 7]\nmean = [0, 0, 51.0]\nscale = 255\n")
    (sample,) = read_samples(convolutions(), tmp_path, read_preprocessing(settings))
    assert sample[0].shape == (1, 9, 7, 3)
    assert sample[0][0, 4, 3].tolist() == [1.0, 0.0, 0.0]


def test_images_without_settings_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(b"")
    with pytest.raises(GlowmcuError) as caught:
        read_samples(convolutions(), tmp_path)
    assert caught.value.code == "GM308"


def test_a_file_that_is_no_image_is_refused(tmp_path: Path) -> None:
    pytest.importorskip("PIL.Image", reason="pip install pillow")
    (tmp_path / "a.png").write_bytes(b"no image")
    settings = Preprocessing((9, 7), (0.0,), (1.0,))
    with pytest.raises(GlowmcuError) as caught:
        list(read_samples(convolutions(), tmp_path, settings))
    assert caught.value.code == "GM307"


@pytest.mark.parametrize(
    "text",
    ["size = [9, 7]\nmean = 0", "size = 9\nmean = 0\nscale = 1",
     "size = [9, 7]\nmean = 0\nscale = 0",
     "size = [9, 7]\nmean = [1, 2]\nscale = 1", "size = [9, 7]\nmean = 0\nscale = 1\nmeen = 1",
     "size = [9, 7]\nmean = 0\nscale = 1\nlayout = 'HWC'", "size = ["],
    ids=["no scale", "one size", "scale 0", "two means for three channels", "a misspelt setting",
         "an unknown layout", "no TOML"],
)  # fmt: skip
def test_wrong_settings_are_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "settings.toml"
    path.write_text(text)
    with pytest.raises(GlowmcuError) as caught:
        read_preprocessing(path)
    assert caught.value.code == "GM308"


def test_a_scalar_input_takes_scalars() -> None:
    graph = GraphBuilder()
    scalar = graph.input(real(), "scalar")
    finished = graph.finish(scalar)
    shapes = [sample[0].shape for sample in samples_of(finished, [np.float64(1.5), 2, 3.0])]
    assert shapes == [(), (), ()]


def test_a_folder_is_its_arrays_and_recordings_by_name_or_itself(tmp_path: Path) -> None:
    """Whatever else lies beside them, and in folders below."""
    for name in ("b.npy", "a.WAV", "notes.txt", "c.csv"):
        (tmp_path / name).touch()
    (tmp_path / "more.npy").mkdir()
    assert _files(tmp_path) == [tmp_path / name for name in ("a.WAV", "b.npy", "c.csv")]
    assert _files(tmp_path / "more.npy") == [tmp_path / "more.npy"]
    assert _files(tmp_path / "notes.txt") == [tmp_path / "notes.txt"]


@pytest.mark.parametrize("suffix", [".bin", ".raw", ".RAW"])
def test_a_raw_file_is_one_sample_byte_by_byte(suffix: str, tmp_path: Path) -> None:
    """Little-endian; of another size it is refused."""
    x = np.arange(24, dtype="<f4").reshape(1, 24)
    file = tmp_path / f"x{suffix}"
    file.write_bytes(x.tobytes())
    ((got,),) = read_samples(perceptron(), file)
    assert np.array_equal(got, x)
    for data, size in ((x.tobytes()[:-1], 95), (x.tobytes() + b"\0", 97), (b"", 0)):
        file.write_bytes(data)
        with pytest.raises(GlowmcuError, match=f"takes 96 bytes, got {size}") as caught:
            list(read_samples(perceptron(), file))
        assert caught.value.code == "GM307"


def test_what_is_called_inputs_is_meant_whatever_else_would_fit() -> None:
    fits, other = np.zeros((5, 24), np.float32), np.ones((5, 24), np.float32)
    chosen = samples_of(perceptron(), {"x": other, "inputs": fits})
    assert [float(sample[0].max()) for sample in chosen] == [0.0] * 5
    assert chosen.notes == ()
    with pytest.raises(GlowmcuError) as caught:
        samples_of(perceptron(), {"x": other, "inputs": fits[:, :3]})
    assert caught.value.code == "GM304"
