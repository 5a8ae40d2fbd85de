"""What is given for a model and is none: each is named, with the way to a model."""

from __future__ import annotations

import io
import pickle
import zipfile
from pathlib import Path

import pytest

from glowmcu.api.model_file import read_model_file
from glowmcu.errors import GlowmcuError
from glowmcu.frontend.read_model import read_model
from glowmcu.frontend.summary import summarize_model
from tests.conftest import REPO

DIGITS = (REPO / "examples" / "digits" / "digits_int8.tflite").read_bytes()


def archive(*names: str) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as writer:
        for name in names:
            writer.writestr(name, bytes(100))
    return file.getvalue()


FILES = {
    "model.h5": (b"\x89HDF\r\n\x1a\n" + bytes(100), "Keras", "from_keras_model"),
    "model.keras": (archive("metadata.json", "model.weights.h5"), "Keras", "from_keras_model"),
    "model.pt": (archive("model/data.pkl", "model/version"), "PyTorch", "torch.onnx.export"),
    "old.pth": (pickle.dumps({"weights": 1}, 2), "pickle", "torch.onnx.export"),
    "forest.pkl": (pickle.dumps({"trees": 1}, 5), "pickle", "skl2onnx"),
    "export.zip": (archive("trained.tflite"), "ZIP", "unpack"),
    "model.tflite.gz": (b"\x1f\x8b\x08" + bytes(60), "gzip", "gunzip"),
    "model.ort": (b"\x20\0\0\0ORTM" + bytes(60), "ONNX Runtime", "pass the .onnx"),
    "model.pte": (b"\x20\0\0\0ET12" + bytes(60), "ExecuTorch", "torch.onnx.export"),
    "lfs.tflite": (b"version https://git-lfs.github.com/spec/v1\n", "Git LFS", "git lfs pull"),
    "lfs.onnx": (b"version https://git-lfs.github.com/spec/v1\n", "Git LFS", "git lfs pull"),
    "page.tflite": (b"\n\n<!DOCTYPE html>\n<html>", "a web page", "Download raw file"),
    "page.onnx": (b"<html><body>", "a web page", "Download raw file"),
    "model.cc": (b"const unsigned char g_model[] = {\n  0x1c,", "in an array", "xxd -i"),
    "saved_model.pb": (b"\x08\x01\x12\x84\x0c" + bytes(60), "TensorFlow", "from_saved_model"),
    "frozen.pb": (b"\n\x13\n\x05input\x12\x0bPlaceholder", "TensorFlow", "from_saved_model"),
    "picture.onnx": (b"\x89PNG\r\n\x1a\n" + bytes(60), "a picture", "--samples"),
    "photo.tflite": (b"\xff\xd8\xff\xe0\0\x10JFIF" + bytes(60), "a picture", "--samples"),
    "yes.wav": (b"RIFF\x24\0\0\0WAVEfmt ", "a recording", "--samples"),
    "x.npy": (b"\x93NUMPY\x01\0v\0{'descr'", "array of numpy", "--samples"),
    "w.safetensors": (b"\x02\0\0\0\0\0\0\0" + b'{"' + bytes(9), "weights", "torch.onnx"),
    "m.gguf": (b"GGUF\x03\0\0\0" + bytes(60), "GGUF", "pass what it was converted from"),
    "m.xml": (b"<?xml version='1.0'?><net name='m'>", "OpenVINO", "pass what it was converted"),
    "m.param": (b"7767517\n75 83\n", "ncnn", "pass what it was converted"),
    "model.json": (b'{"format": "layers-model", ', "TensorFlow.js", "from_keras_model"),
    "firmware.elf": (b"\x7fELF\x01\x01\x01" + bytes(60), "ELF", "built into it"),
    "paper.tflite": (b"%PDF-1.4" + bytes(60), "PDF", "Download raw file"),
    "model_data.h": (b"unsigned char a_tflite[]={0x1c,", "in an array", "xxd -i"),
}


@pytest.mark.parametrize("name", FILES)
def test_another_format_is_named_with_the_way_to_a_model(name: str) -> None:
    data, what, hint = FILES[name]
    with pytest.raises(GlowmcuError, match=r"not a \.tflite or \.onnx model") as caught:
        read_model(data, name)
    (problem,) = caught.value.problems
    assert caught.value.code == "GM101"
    assert what in problem.message
    assert hint in problem.hint
    with pytest.raises(GlowmcuError) as shown:
        summarize_model(data, name)
    assert shown.value.problems == caught.value.problems


@pytest.mark.parametrize("name", ["noise", "half a model", "text"])
def test_what_is_not_known_is_no_model_in_the_old_words(name: str) -> None:
    data = {"noise": bytes(range(100)), "half a model": DIGITS[:6], "text": b"a model, perhaps"}
    with pytest.raises(GlowmcuError, match="expected the identifier TFL3") as caught:
        read_model(data[name], name)
    assert ".onnx" in caught.value.problems[0].hint


def test_a_model_that_holds_the_beginnings_of_others_is_read() -> None:
    """An archive behind a model holds its metadata; TensorFlow Lite's tools put it there."""
    assert read_model(DIGITS + archive("labels.txt"), "digits.h5").inputs


def test_an_onnx_model_is_known_without_its_name() -> None:
    onnx = pytest.importorskip("onnx")
    x, y = (onnx.helper.make_tensor_value_info(name, 1, [1, 4]) for name in "xy")
    graph = onnx.helper.make_graph([onnx.helper.make_node("Relu", ["x"], ["y"])], "g", [x], [y])
    for producer in ("", "pytorch", "char code[] = {};"):
        model = onnx.helper.make_model(graph, producer_name=producer).SerializeToString()
        for name in ("download", "model.pb"):
            assert read_model(model, name).inputs[0].type.shape == (1, 4)


def test_a_saved_model_is_named(tmp_path: Path) -> None:
    (tmp_path / "saved_model.pb").touch()
    with pytest.raises(GlowmcuError, match="SavedModel") as caught:
        read_model_file(tmp_path)
    assert "from_saved_model" in caught.value.problems[0].hint
