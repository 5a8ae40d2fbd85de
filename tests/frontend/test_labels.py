"""Names of classes from model files and from files beside them: conventions and hostile ones."""

from __future__ import annotations

import io
import json
import struct
import zipfile
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import glowmcu
from glowmcu import limits
from glowmcu.emit_c.c_text import c_literal
from glowmcu.errors import GlowmcuError
from glowmcu.frontend.labels import labels_of, labels_of_model
from glowmcu.frontend.read_model import read_model
from glowmcu.interface_options import InterfaceOptions
from glowmcu.ir.graph import Graph
from glowmcu.ir.interpreter import run_graph
from glowmcu.labels import labels_of_text, read_labels
from tests.bundle.models import digits, one_element
from tests.bundle.test_use import build, run_program

DIGITS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")


def with_files(model: bytes, files: dict[str, bytes]) -> bytes:
    """As `tflite_support` attaches files: a zip archive behind the flatbuffer."""
    file = io.BytesIO(model)
    file.seek(0, io.SEEK_END)
    with zipfile.ZipFile(file, "a", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return file.getvalue()


def lines(*labels: str) -> bytes:
    return "".join(f"{label}\n" for label in labels).encode()


def onnx_model(
    properties: dict[str, str],
    classes: tuple[str, ...] = (),
    keys: tuple[str, ...] = (),
) -> bytes:
    """`keys` are strings of another meaning, in front of the classes."""
    node = helper.make_node("Relu", ["x"], ["y"])
    for name, strings in (("keys_strings", keys), ("classlabels_strings", classes)):
        if strings:
            node.attribute.append(helper.make_attribute(name, strings))
    types = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 3]) for name in "xy"]
    model = helper.make_model(helper.make_graph([node], "g", types[:1], types[1:]))
    helper.set_model_props(model, properties)
    return bytes(model.SerializeToString())


@pytest.mark.parametrize(
    ("files", "wanted"),
    [
        ({"labels.txt": lines(*DIGITS)}, DIGITS),
        ({"LABELMAP.TXT": b"\xef\xbb\xbf" + lines(*DIGITS).replace(b"\n", b"\r\n")}, DIGITS),
        ({"labels-fr.txt": lines("un"), "labels.txt": lines(*DIGITS)}, DIGITS),
        ({"classes.txt": lines(*DIGITS)}, DIGITS),
        ({"vocab.txt": lines("a", "b")}, ()),
        ({"labels.txt": lines("a", "b")}, ("a", "b")),
        ({"labels.txt": b""}, ()),
        ({"notes.md": b"# a model"}, ()),
        ({"labels.txt": lines("a", "", "c", "", "")}, ("a", "", "c")),
    ],
)
def test_labels_come_from_the_files_attached_to_a_tflite_model(
    files: dict[str, bytes], wanted: tuple[str, ...]
) -> None:
    assert labels_of_model(with_files(digits(), files), "m.tflite", {10}) == wanted


def test_a_model_without_attached_files_has_no_labels() -> None:
    assert labels_of_model(digits(), "m.tflite", {10}) == ()


@pytest.mark.parametrize(
    ("properties", "wanted"),
    [
        ({"names": "{0: 'person', 1: \"dog's\", 2: 'b'}"}, ("person", "dog's", "b")),
        ({"id2label": json.dumps({"2": "c", "0": "a", "1": "b"})}, ("a", "b", "c")),
        ({"classes": '["a", "b", "c"]'}, ("a", "b", "c")),
        ({"class_names": "a, b,c"}, ("a", "b", "c")),
        ({"author": "['x']"}, ()),
    ],
)
def test_labels_come_from_the_properties_of_an_onnx_model(
    properties: dict[str, str], wanted: tuple[str, ...]
) -> None:
    assert labels_of_model(onnx_model(properties), "m.onnx", {3}) == wanted


def test_labels_come_from_a_classifier_in_an_onnx_model() -> None:
    assert labels_of_model(onnx_model({}, ("a", "b")), "m.onnx", {2}) == ("a", "b")
    assert labels_of_model(onnx_model({}, ("a", "b"), ("k", "l")), "m.onnx", {2}) == ("a", "b")
    assert labels_of_model(onnx_model({}, (), ("k", "l")), "m.onnx", {2}) == ()


def classified(*lists: tuple[str, str, tuple[str, ...]]) -> bytes:
    """Operators, each with a list of strings as an attribute."""
    real = TensorProto.FLOAT
    nodes = [
        helper.make_node(kind, ["x"], [f"y{i}"], domain="ai.onnx.ml", **{attribute: names})
        for i, (kind, attribute, names) in enumerate(lists)
    ]
    x, y = (helper.make_tensor_value_info(name, real, [1, 2]) for name in ("x", "y0"))
    data: bytes = helper.make_model(helper.make_graph(nodes, "g", [x], [y])).SerializeToString()
    return data


def classifier(*names: str) -> tuple[str, str, tuple[str, ...]]:
    return "LinearClassifier", "classlabels_strings", names


def test_categories_of_features_are_no_classes() -> None:
    """A pipeline of a table with strings had the strings of its first column as labels."""
    encoder = "OneHotEncoder", "cats_strings", ("attic", "cellar")
    assert labels_of_model(classified(encoder, classifier("low", "off")), "m.onnx", {2}) == (
        "low", "off",
    )  # fmt: skip
    mapper = "CategoryMapper", "cats_strings", ("low", "off")
    assert labels_of_model(classified(encoder, mapper), "m.onnx", {2}) == ("low", "off")


def test_parts_of_a_classifier_know_some_of_its_classes() -> None:
    parts = classifier("a", "b"), classifier("a", "c"), classifier("a", "b", "c")
    assert labels_of_model(classified(*parts), "m.onnx", {3}) == ("a", "b", "c")


def test_the_name_of_a_class_is_its_number() -> None:
    """Taken from names by a number, it is that number, for one row."""
    node = helper.make_node("ArrayFeatureExtractor", ["names", "x"], ["y"], domain="ai.onnx.ml")
    names = helper.make_tensor("names", TensorProto.STRING, [3], [b"a", b"b", b"c"])
    x = helper.make_tensor_value_info("x", TensorProto.INT32, [2])
    y = helper.make_tensor_value_info("y", TensorProto.STRING, [1, 2])
    model = helper.make_model(helper.make_graph([node], "g", [x], [y], [names]))
    graph = read_model(model.SerializeToString(), "m.onnx")
    (found,) = run_graph(graph, [np.int32([2, 0])])
    assert (found.dtype, found.tolist()) == (np.int64, [[2, 0]])
    model.graph.initializer[0].CopyFrom(
        onnx.numpy_helper.from_array(np.float32([4, 5, 6]), "names")
    )
    with pytest.raises(GlowmcuError, match="output 'y' is STRING"):
        read_model(model.SerializeToString(), "m.onnx")


def test_several_classifiers_have_no_labels_in_common() -> None:
    data = classified(classifier("cat", "dog"), classifier("r", "g", "b"))
    graph = Graph("main", (), (), ())
    labels, notes = labels_of(data, "m.onnx", graph, InterfaceOptions())
    assert labels == ()
    assert notes[0].endswith("none is the bundle's labels: cat, dog; r, g, b")


@pytest.mark.parametrize(
    "names",
    ["{0: 'a', 2: 'b'}", "{0: 1}", "[1, 2]", "[" * 100_000, "{'a': 'b'}", "{0: 'a', '0': 'b'}",
     "__import__('os')", "(lambda: 0)()", "['a' for _ in range(9)]"],
)  # fmt: skip
def test_properties_that_are_no_names_are_refused_or_text(names: str) -> None:
    data = onnx_model({"names": names})
    if names[0] not in "[{(":
        assert labels_of_model(data, "m.onnx", {3}) == (names,)
        return
    with pytest.raises(GlowmcuError, match="GM127"):
        labels_of_model(data, "m.onnx", {3})


def bomb() -> bytes:
    """A kilobyte that unpacks to more than any labels, and says so."""
    return with_files(digits(), {"labels.txt": b"\n" * (limits.label_bytes() + 1)})


def lying_bomb() -> bytes:
    """The same, with a size that passes."""
    data = bytearray(bomb())
    size = struct.pack("<I", limits.label_bytes() + 1)
    assert data.count(size) >= 1
    return bytes(data.replace(size, struct.pack("<I", 100)))


def encrypted() -> bytes:
    data = bytearray(with_files(digits(), {"labels.txt": lines("a")}))
    for mark, at in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        data[data.rindex(mark) + at] |= 1
    return bytes(data)


def huge_dictionary() -> bytes:
    """Packed by LZMA, which would be given 4 GiB before the first byte is read."""
    file = io.BytesIO(digits())
    file.seek(0, io.SEEK_END)
    with zipfile.ZipFile(file, "a", zipfile.ZIP_LZMA) as archive:
        archive.writestr("labels.txt", lines(*DIGITS))
    data = bytearray(file.getvalue())
    at = data.rindex(b"PK\x03\x04") + 30 + len("labels.txt") + 5
    data[at : at + 4] = b"\xff\xff\xff\xff"
    return bytes(data)


def damaged() -> bytes:
    data = bytearray(with_files(digits(), {"labels.txt": lines(*DIGITS)}))
    at = data.rindex(b"PK\x03\x04") + 30 + len("labels.txt")
    data[at : at + 4] = b"\xff\xff\xff\xff"
    return bytes(data)


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (bomb, "GM125"),
        (lying_bomb, "GM12[45]"),
        (encrypted, "GM124"),
        (huge_dictionary, "GM124"),
        (damaged, "GM124"),
        (lambda: with_files(digits(), {f"{i}.txt": b"" for i in range(300)}), "GM125"),
        (lambda: with_files(digits(), {"labels.txt": b"x" * 257}), "GM125"),
        (lambda: with_files(digits(), {"labels.txt": b"a\n" * 70_000}), "GM125"),
        (lambda: with_files(digits(), {"labels.txt": b"\xff\xfe"}), "GM126"),
        (lambda: with_files(digits(), {"labels.txt": b"a\0b"}), "GM126"),
    ],
    ids=[
        "bomb",
        "lying bomb",
        "encrypted",
        "huge dictionary",
        "damaged",
        "many files",
        "long",
        "many",
        "bytes",
        "nul",
    ],
)
def test_hostile_attachments_are_refused(data: object, code: str) -> None:
    assert callable(data)
    with pytest.raises(GlowmcuError, match=code) as caught:
        labels_of_model(data(), "m.tflite", {10})
    assert "labels='none'" in str(caught.value) or code == "GM126"


def test_a_file_of_labels_is_bounded_and_told_apart() -> None:
    with pytest.raises(GlowmcuError, match="GM124"):
        read_labels("/nowhere/labels.txt")
    with pytest.raises(GlowmcuError, match="GM125"), glowmcu.memory_limit(1 << 13):
        labels_of_text(b"a\n" * 10, "labels.txt")
    assert read_labels("none") == ()
    assert read_labels(None) is None
    assert read_labels(["a", "b"]) == ("a", "b")


NASTY = ('"); system("x', "back\\slash", "end\\", "??/", "*/ /*", "tab\there", "größe", "日本 7",
         "\u202e", "%s%n", "x" * 200, "")  # fmt: skip


def test_nasty_labels_reach_c_byte_by_byte(tmp_path: Path) -> None:
    """Through a whole bundle, compiled with trigraphs on and every warning an error."""
    model = tmp_path / "one.tflite"
    model.write_bytes(one_element())
    bundle = glowmcu.compile(model, output=tmp_path / "one", name="one", labels=NASTY)
    assert any("12 labels" in note for note in bundle.notes)
    main = """#include <stdio.h>
#include "one.h"
static const char *const copy[] = ONE_LABELS;
int main(void)
{
    for (int32_t i = 0; i < ONE_LABEL_COUNT; ++i) {
        fwrite(one_label(i), 1, sizeof "" - 1, stdout);
        puts(one_label(i));
    }
    return one_label(-1) != NULL || one_label(ONE_LABEL_COUNT) != NULL || copy[0][0] != '"';
}
"""
    done = build(tmp_path, main, [bundle.path], ["-trigraphs"])
    assert done.returncode == 0, done.stderr
    said = run_program(tmp_path)
    assert said.returncode == 0
    assert said.stdout.decode().split("\n")[:-1] == list(NASTY)
    assert max(map(len, (bundle.path / "one.h").read_text().splitlines())) <= 400


def test_a_literal_has_no_byte_that_means_something_else() -> None:
    literal = c_literal("".join(map(chr, range(1, 256))))
    assert literal.isascii()
    assert literal.isprintable()
    assert c_literal("a?") == r'"a\077"'
    assert c_literal("é1") == r'"\303\2511"'
    assert c_literal("") == '""'


def test_compile_takes_the_labels_of_the_model_or_leaves_them_out(tmp_path: Path) -> None:
    model = tmp_path / "digits.tflite"
    model.write_bytes(with_files(digits(), {"labels.txt": lines(*DIGITS)}))
    header = glowmcu.compile(model, output=tmp_path / "a").path / "digits.h"
    assert "#define DIGITS_LABEL_COUNT 10\n" in header.read_text()
    header = glowmcu.compile(model, output=tmp_path / "b", labels="none").path / "digits.h"
    assert "LABEL" not in header.read_text()
    file = tmp_path / "classes.txt"
    file.write_bytes(lines("rien", *DIGITS[1:]))
    header = glowmcu.compile(model, output=tmp_path / "c", labels=file).path / "digits.h"
    assert '"rien"' in header.read_text()


@pytest.mark.parametrize("data", [b"\x93NUMPY\x01\x00v\x00{", b"PK\x03\x04\x14\x00"])
def test_classes_of_samples_are_no_names_of_classes(data: bytes) -> None:
    with pytest.raises(GlowmcuError, match="expected their names") as caught:
        labels_of_text(data, "labels.npy")
    assert caught.value.code == "GM126"
