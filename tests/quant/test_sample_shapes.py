"""Which shapes are one sample or a batch, how many there are, and what is said of others."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from glowmcu.errors import GlowmcuError
from glowmcu.ir.graph import Graph
from glowmcu.ops.joining import Concatenation
from glowmcu.ops.shape import Reshape
from glowmcu.quant.sample_files import read_samples
from glowmcu.quant.samples import Samples, joined, samples_of
from tests.ir.graphs import GraphBuilder
from tests.quant.networks import real


def of_shape(*shape: int) -> Graph:
    graph = GraphBuilder()
    x = graph.input(real(*shape), "x")
    return graph.finish(graph.add(Reshape((int(np.prod(shape)),)), x))


@pytest.mark.parametrize(
    ("shape", "given", "count"),
    [
        ((1, 3), (1, 3), 1), ((1, 3), (5, 3), 5), ((1, 3), (5, 1, 3), 5), ((1, 3), (3,), None),
        ((1, 3), (3, 1), None), ((1, 3), (5, 2, 3), None), ((2, 3), (2, 3), 1),
        ((2, 3), (5, 2, 3), 5), ((2, 3), (1, 2, 3), 1), ((2, 3), (4, 3), None),
        ((3,), (3,), 1), ((3,), (5, 3), 5), ((3,), (5,), None), ((3,), (5, 1, 3), None),
        ((1,), (1,), 1), ((1,), (5,), 5), ((1,), (5, 1), 5), ((1, 1), (1, 1), 1),
    ],
    ids=str,
)  # fmt: skip
def test_an_array_is_a_sample_or_a_batch_by_its_shape(
    shape: tuple[int, ...], given: tuple[int, ...], count: int | None
) -> None:
    graph = of_shape(*shape)
    data = np.arange(np.prod(given), dtype=np.float32).reshape(given) / 100
    if count is None:
        tail = shape[1:] if shape[:1] == (1,) else shape
        batch = str(("N", *tail)).replace("'", "")
        with pytest.raises(GlowmcuError) as caught:
            samples_of(graph, data)
        assert caught.value.code == "GM304"
        assert f"must be {shape}, or a batch {batch}; got {given}" in str(caught.value)
        return
    samples = samples_of(graph, data)
    assert samples.count == count
    arrays = [array for (array,) in samples]
    assert {array.shape for array in arrays} == {shape}
    assert np.array_equal(np.stack(arrays).reshape(-1), data.reshape(-1))


@pytest.mark.parametrize(
    ("shape", "given", "fits"),
    [((1, 3), (3,), True), ((1, 3), (1, 3), True), ((1, 3), (4,), False), ((2, 3), (3,), False)],
)  # fmt: skip
def test_one_of_a_list_is_a_sample_with_or_without_a_leading_axis(
    shape: tuple[int, ...], given: tuple[int, ...], fits: bool
) -> None:
    made = samples_of(of_shape(*shape), [[np.zeros(given, np.float32)]] * 3)
    if fits:
        assert [array.shape for (array,) in made] == [shape] * 3
        return
    with pytest.raises(GlowmcuError) as caught:
        list(made)
    assert f"must be {shape}; got {given}" in str(caught.value)


@pytest.mark.parametrize(
    ("count", "most", "left"), [(3, 2, 2), (3, 3, 3), (3, 5, 3), (3, 0, 0), (None, 2, None)]
)
def test_the_first_few_are_no_more_than_there_are(
    count: int | None, most: int, left: int | None
) -> None:
    arrays = [(np.array(number),) for number in range(3)]
    some = Samples(lambda: iter(arrays), count, ("a note",)).first(most)
    assert (some.count, some.notes) == (left, ("a note",))
    assert [int(array) for (array,) in some] == [0, 1, 2][:most]


def test_what_is_said_of_several_parts_is_said_once() -> None:
    parts = [
        Samples(lambda: iter(()), number, notes)
        for number, notes in ((1, ("a", "b")), (2, ("b",)), (3, ("c", "a")))
    ]
    assert joined(parts).notes == ("a", "b", "c")
    assert joined(parts).count == 6
    assert joined([]).count == 0
    assert parts[0].with_notes(("c",)).notes == ("a", "b", "c")


def test_of_named_arrays_the_one_that_fits_is_taken_and_that_is_said() -> None:
    graph, data = of_shape(1, 3), np.ones((4, 3), np.float32)
    for names, notes in (
        ({"x": data, "labels": np.zeros(4)}, ()), ({"other": data}, ()),
        ({"inputs": data, "labels": np.zeros(4)}, ()),
        ({"other": data, "labels": np.zeros(4)},
         ("s: of 'other' (4, 3), 'labels' (4,), 'other' is the samples",)),
    ):  # fmt: skip
        samples = samples_of(graph, names, "s")
        assert (samples.count, samples.notes) == (4, notes)


def test_samples_of_several_inputs_name_all_that_are_missing() -> None:
    builder = GraphBuilder()
    a, b = builder.input(real(1, 3), "a"), builder.input(real(1, 3), "b")
    graph = builder.finish(builder.add(Concatenation(0), a, b))
    three = np.zeros(3, np.float32)
    for data, words in (
        ([{"a": three}], "a sample without input 'b'"),
        ([[three]], "expected 2 arrays a sample, got 1"),
        (np.zeros((4, 3)), "one array for 2 inputs; expected one each of: a, b"),
        ({"a": np.zeros((4, 3))}, "no samples for input 'b'; got 'a' (4, 3)"),
        ({"a": np.zeros((4, 3)), "b": np.zeros((5, 3))}, "'a' 4, 'b' 5"),
    ):
        with pytest.raises(GlowmcuError) as caught:
            list(samples_of(graph, data))  # type: ignore[arg-type]
        assert caught.value.code == "GM304"
        assert words in str(caught.value)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("none.npy", "No such file"), ("none.txt", "no such file or folder"),
        ("there.odd", "expected a folder or one of .npy, .npz, .bin, .raw, .csv, .tsv, .wav"),
        ("there.h5", "numpy.save('samples.npy', x)"), ("there.PARQUET", "pandas.read_parquet"),
        ("there.mp3", "ffmpeg"), ("there.zip", "unpack it"), ("none.mp3", "no such file or folder"),
        ("there.npy", "hint: a .npy file holds one array"),
        ("there.npz", "hint: a .npz file holds arrays"),
        ("none.npz", "hint: check the path"),
    ],
)  # fmt: skip
def test_a_file_that_cannot_be_read_says_what_it_should_be(
    name: str, words: str, tmp_path: Path
) -> None:
    path = tmp_path / name
    if name.startswith("there"):
        path.write_bytes(b"nothing")
    with pytest.raises(GlowmcuError) as caught:
        read_samples(of_shape(1, 3), path)
    assert caught.value.code == "GM307"
    assert words in str(caught.value)


def test_a_folder_is_read_in_the_order_of_names_whatever_kind_of_array(tmp_path: Path) -> None:
    np.save(tmp_path / "b.npy", np.full(3, 2, np.float32))
    np.savez(tmp_path / "a.npz", x=np.full(3, 1, np.float32))
    (tmp_path / "c.raw").write_bytes(np.full(3, 3, "<f4").tobytes())
    (tmp_path / "notes.md").write_text("none of them")
    found: list[Any] = [array.tolist() for (array,) in read_samples(of_shape(1, 3), tmp_path)]
    assert found == [[[float(number)] * 3] for number in (1, 2, 3)]


@pytest.mark.parametrize("suffix", [".txt", ".dat"])
def test_numbers_as_numpy_saves_them_are_a_table(suffix: str, tmp_path: Path) -> None:
    path = (tmp_path / "x").with_suffix(suffix)
    np.savetxt(path, np.arange(6).reshape(2, 3), header="three numbers")
    found: list[Any] = [array.tolist() for (array,) in read_samples(of_shape(1, 3), path)]
    assert found == [[[0.0, 1.0, 2.0]], [[3.0, 4.0, 5.0]]]


def test_what_systems_and_tools_put_beside_samples_is_none(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.ones(3, np.float32))
    for name in (
        "._a.npy",
        ".ipynb_checkpoints/a-checkpoint.png",
        "__MACOSX/._a.wav",
        "x/.b.csv",
        "__MACOSX/b.wav",
    ):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(b"\0\5\26\7")
    found: list[Any] = [array.tolist() for (array,) in read_samples(of_shape(1, 3), tmp_path)]
    assert found == [[[1.0] * 3]]
