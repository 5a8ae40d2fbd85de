"""Samples out of recordings: tables of numbers, and sound."""

from __future__ import annotations

import errno
import os
import re
import wave
from pathlib import Path

import numpy as np
import pytest

from glowmcu.errors import GlowmcuError
from glowmcu.ir.graph import Graph
from glowmcu.ir.operation import Array
from glowmcu.ir.types import ElementType, Quantization, TensorType
from glowmcu.ops.matmul import FullyConnected
from glowmcu.ops.shape import Reshape
from glowmcu.quant.recordings import _with_points, read_sound
from glowmcu.quant.sample_files import read_samples
from glowmcu.quant.sample_source import SampleSource
from tests.ir.graphs import GraphBuilder
from tests.quant.networks import draw, perceptron, real
from tests.quant.test_data_sets import BATCH, arrays_of


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
        (table() + "\n\n", ""), (table() + "  \n", ""), ("# made by hand\n" + table(), ""),
        (table(" "), ""), (table(";").replace(".", ","), "decimal points"),
        (table("\t", head="\t".join(NAMES)).replace(".", ","), "decimal points"),
        (table(head='"a\nb",' + ",".join(NAMES[1:])), ""),
        (table(head=",".join(["1.000.0", *map(str, range(23))])), "row 1 of data.csv names the"),
    ],
    ids=["commas", "semicolons", "tabs", "a mark at the beginning", "names", "a label in words",
         "a label as a number", "empty lines", "a line of spaces", "a comment", "spaces",
         "decimal commas", "decimal commas and tabs", "a name of two lines",
         "one word among numbers"],
)  # fmt: skip
def test_a_row_of_a_table_is_a_sample(text: str, note: str, tmp_path: Path) -> None:
    samples = read_samples(perceptron(), write(tmp_path / "data.csv", text))
    assert np.array_equal(arrays_of(samples), BATCH)
    assert note in " ".join(samples.notes)
    assert bool(samples.notes) == bool(note)


COUNTED = ",".join(map(str, range(24)))
CALLED = "row 1 of data.csv names the columns, since it counts them from 0"


def indexed(head: str) -> str:
    """As `DataFrame(x).to_csv(file)` writes it, whose first column is an index."""
    rows = (f"{at},{row}" for at, row in enumerate(table().splitlines()))
    return "\n".join([f",{head}", *rows]) + "\n"


@pytest.mark.parametrize(
    ("text", "notes"),
    [
        (table(head=COUNTED), [CALLED]),
        (indexed(COUNTED), [CALLED, "'index' left out of the samples in tables"]),
        (indexed(",".join(NAMES)), ["'index' left out of the samples in tables"]),
    ],
    ids=["numbered columns", "numbered columns and rows", "names and numbered rows"],
)
def test_a_table_of_pandas_has_names_and_an_index(
    text: str, notes: list[str], tmp_path: Path
) -> None:
    samples = read_samples(perceptron(), write(tmp_path / "data.csv", text))
    assert np.array_equal(arrays_of(samples), BATCH)
    assert list(samples.notes) == notes


def test_a_ramp_is_a_sample_where_others_are_ramps(tmp_path: Path) -> None:
    ramps = np.arange(96, dtype=np.float32).reshape(4, 24)
    for rows in (ramps, ramps[:1], ramps[[0, 0]]):
        text = "\n".join(",".join(str(int(number)) for number in row) for row in rows)
        samples = read_samples(perceptron(), write(tmp_path / "data.csv", text))
        assert np.array_equal(arrays_of(samples), rows.reshape(-1, *BATCH.shape[1:]))
        assert samples.notes == ()


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
        (f"{named()}\n,{table()[table().index(',') + 1:]}", "GM307",
         "row 2, column 'x0' has no value ('')"),
        (f"NA,{table()[table().index(',') + 1:]}", "GM307", "row 1, column 1 has no value ('NA')"),
        (table(head=",".join([*NAMES, "kind"]), aside="walking"), "GM307",
         "row 2, column 'kind' is 'walking'"),
        ("", "GM306", "no rows"), ("a,b\n", "GM306", "no rows"),
        ("\x00\x01", "GM307", "no table of numbers: it has a character 0, which no text has"),
    ],
    ids=["too narrow", "a short row", "rows shorter than names", "a short row below names",
         "a word", "no number", "a missing value", "a missing value in the first row",
         "a column of words", "nothing", "names alone", "no table"],
)  # fmt: skip
def test_a_table_that_fits_no_input_is_refused(
    text: str, code: str, words: str, tmp_path: Path
) -> None:
    with pytest.raises(GlowmcuError) as caught:
        list(read_samples(perceptron(), write(tmp_path / "data.csv", text)))
    assert (caught.value.code, words in str(caught.value)) == (code, True), caught.value


@pytest.mark.parametrize(("text", "is_read"), [("1\n2\n", True), ("1,2\n3,4\n", False)])
def test_a_row_of_a_number_without_axes_is_one(text: str, is_read: bool, tmp_path: Path) -> None:
    graph = GraphBuilder()
    x = graph.input(TensorType((), ElementType.F32), "x")
    made = graph.finish(graph.add(Reshape((1,)), x))
    file = write(tmp_path / "data.csv", text)
    if is_read:
        assert [sample[0].item() for sample in read_samples(made, file)] == [1.0, 2.0]
    else:
        with pytest.raises(GlowmcuError, match="a row has 2 numbers; expected 1 of input 'x'"):
            list(read_samples(made, file))


def stored_sound_network(length: int = 4) -> Graph:
    graph = GraphBuilder()
    sound = TensorType((1, length), ElementType.I16, Quantization((2.0**-15,), (0,)))
    x = graph.input(sound, "sound")
    return graph.finish(graph.add(Reshape((length,)), x, like=sound, name="kept"))


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


def test_a_table_of_a_spreadsheet_in_utf_16_is_read(tmp_path: Path) -> None:
    (tmp_path / "data.csv").write_text(table("\t", "\t".join(NAMES)), encoding="utf-16")
    assert np.array_equal(arrays_of(read_samples(perceptron(), tmp_path / "data.csv")), BATCH)


def test_bytes_that_begin_like_utf_16_and_are_no_text_are_named(tmp_path: Path) -> None:
    (tmp_path / "data.csv").write_bytes("1,2\n".encode("utf-32"))
    with pytest.raises(GlowmcuError, match="no table of numbers: it has a character 0") as caught:
        list(read_samples(perceptron(), tmp_path / "data.csv"))
    assert caught.value.code == "GM307"


def test_a_table_of_a_spreadsheet_in_windows_1252_is_read(tmp_path: Path) -> None:
    names = [f"température {index} °C" for index in range(24)]
    text = table(";", ";".join(names)).replace(".", ",")
    (tmp_path / "data.csv").write_bytes(text.encode("cp1252"))
    assert np.array_equal(arrays_of(read_samples(perceptron(), tmp_path / "data.csv")), BATCH)


def test_bytes_that_are_no_text_are_no_table(tmp_path: Path) -> None:
    (tmp_path / "data.csv").write_bytes(b"\x89PNG\r\n\x1a\n\x00\x00" + bytes(range(256)))
    with pytest.raises(GlowmcuError, match="it is no table of numbers"):
        read_samples(perceptron(), tmp_path / "data.csv")


@pytest.mark.parametrize("separator", [";", ",", "\t", "|"])
def test_a_first_line_may_state_the_separator(separator: str, tmp_path: Path) -> None:
    path = write(tmp_path / "data.csv", f"sep={separator}\n{table(separator)}")
    assert np.array_equal(arrays_of(read_samples(perceptron(), path)), BATCH)
    with pytest.raises(GlowmcuError, match="row 7 has 1 columns, the first 24"):
        read_samples(perceptron(), write(path, f"{path.read_text()}1\n"))


@pytest.mark.parametrize(
    ("cells", "separator", "points"),
    [
        (["1,5", "2"], ";", True), (["1,5", "2"], ",", False), (["1,000.5", "2"], ";", False),
        (["1,5", "2.5"], "\t", False), (["15", "2"], ";", False),
    ],
)  # fmt: skip
def test_commas_are_points_where_nothing_else_is(
    cells: list[str], separator: str, points: bool
) -> None:
    lines = [(1, ["a,b", "c"]), (2, cells)]
    changed, notes = _with_points(lines, separator)
    assert len(notes) == points
    assert changed[1][1] == ([cell.replace(",", ".") for cell in cells] if points else cells)


def test_suffixes_may_be_in_capitals(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", BATCH)
    (tmp_path / "x.npy").rename(tmp_path / "X.NPY")
    assert np.array_equal(arrays_of(read_samples(perceptron(), tmp_path / "X.NPY")), BATCH)
    np.save(tmp_path / "y.npy", BATCH[0])
    (tmp_path / "X.NPY").unlink()
    (tmp_path / "y.npy").rename(tmp_path / "Y.NPY")
    assert np.array_equal(arrays_of(read_samples(perceptron(), tmp_path)), BATCH[:1])


def test_sound_is_cut_into_samples_between_minus_one_and_one(tmp_path: Path) -> None:
    numbers = np.linspace(-32768, 32767, 20).astype(np.int16)
    record(tmp_path / "a.wav", numbers)
    samples = read_samples(sound_network(), tmp_path / "a.wav")
    assert np.array_equal(arrays_of(samples), (numbers[:16] / 32768).reshape(2, 8))
    (tmp_path / "yes").mkdir()
    record(tmp_path / "yes" / "b.wav", numbers[::-1])
    both = SampleSource(tmp_path).read(sound_network())
    assert both.count == 4, "clips lie in folders by class"


def test_integers_take_sound_as_it_is_stored(tmp_path: Path) -> None:
    numbers = np.array([-32768, -32767, -1, 0, 1, 255, 32766, 32767], np.int16)
    record(tmp_path / "a.wav", numbers)
    got = arrays_of(read_samples(stored_sound_network(), tmp_path / "a.wav"))
    assert got.dtype == np.int16
    assert got.reshape(-1).tolist() == numbers.tolist()


def test_several_channels_are_averaged_and_a_note_says_so(tmp_path: Path) -> None:
    numbers = np.arange(16, dtype=np.int16) * 100
    with wave.open(str(tmp_path / "a.wav"), "wb") as file:
        file.setnchannels(2)
        file.setsampwidth(2)
        file.setframerate(16000)
        file.writeframes(np.stack([numbers, 0 * numbers], axis=1).astype("<i2").tobytes())
    samples = read_samples(sound_network(), tmp_path / "a.wav")
    assert np.array_equal(arrays_of(samples), (numbers / 65536).reshape(2, 8))
    assert samples.notes == ("of sound with 2 channels their mean is taken",)


def test_sound_of_several_rates_is_asked_about(tmp_path: Path) -> None:
    for name, rate in (("a", 16000), ("b", 16000), ("c", 8000)):
        with wave.open(str(tmp_path / f"{name}.wav"), "wb") as file:
            file.setnchannels(1)
            file.setsampwidth(2)
            file.setframerate(rate)
            file.writeframes(bytes(32))
    alike = SampleSource([tmp_path / "a.wav", tmp_path / "b.wav"]).read(sound_network())
    (note,) = SampleSource(tmp_path).read(sound_network()).notes
    assert alike.notes == ()
    assert note.startswith("sound of several rates, samples a second: 16000 (")
    assert f"16000 ({tmp_path / 'a.wav'})" in note
    assert f"8000 ({tmp_path / 'c.wav'})" in note


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
    reasons = {"damaged": "not a WAV file.*", "gone": os.strerror(errno.ENOENT)}
    for name, words in reasons.items():
        path = tmp_path / f"{name}.wav"
        text = rf"error\[GM307\]: cannot read samples: {words}\n  --> {re.escape(str(path))}"
        with pytest.raises(GlowmcuError) as caught:
            read_sound(sound_network(), path)
        assert re.match(text, str(caught.value)), caught.value


def test_a_folder_of_two_kinds_is_refused(tmp_path: Path) -> None:
    record(tmp_path / "a.wav", np.zeros(20, np.int16))
    np.save(tmp_path / "b.npy", np.zeros(8, np.float32))
    with pytest.raises(GlowmcuError, match=r"arrays and recordings: b\.npy, a\.wav"):
        read_samples(sound_network(), tmp_path)
