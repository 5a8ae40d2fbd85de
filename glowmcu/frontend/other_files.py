"""What people give for a model that is none: other formats, and what a failed download left.

Recognized by their first bytes, whatever their names; each with the way to a model that is read.
"""

from __future__ import annotations

from collections.abc import Iterator

from glowmcu.errors import error

_FROM_KERAS = (
    "in Python: `tf.lite.TFLiteConverter.from_keras_model(keras.models.load_model(FILE)).convert()`"
    " gives the bytes of a .tflite"
)
_FROM_TORCH = "in Python: `torch.onnx.export(model, example_inputs, 'model.onnx')` writes an .onnx"
FROM_SAVED_MODEL = (
    "in Python: `tf.lite.TFLiteConverter.from_saved_model(FOLDER).convert()` gives the bytes of a "
    ".tflite"
)
_SAMPLES = "pass the model; data to quantize it by go with `--samples`"
_OTHERS = "pass what it was converted from: an .onnx, or the .tflite"
_DOWNLOAD = "download the file itself: on GitHub that is the button `Download raw file`"
#: Identifiers of flatbuffers, at byte 4.
_FLATBUFFERS = {
    b"ORTM": ("a model in ONNX Runtime's own format", "pass the .onnx that it was made from"),
    b"ET12": ("an ExecuTorch program", _FROM_TORCH),
}
#: How files begin, in small letters if they are text.
_BEGINNINGS = {
    b"\x89hdf\r\n\x1a\n": ("a Keras model or weights (HDF5)", _FROM_KERAS),
    b"\x1f\x8b": ("compressed by gzip", "unpack it first: gunzip, or tar -xzf"),
    b"version https://git-lfs": ("a pointer of Git LFS, not the file", "run `git lfs pull`"),
    b"<!doctype html": ("a web page", _DOWNLOAD),
    b"<html": ("a web page", _DOWNLOAD),
    b"\x80\x02": ("a Python pickle", f"{_FROM_TORCH}; for scikit-learn there is skl2onnx"),
    b"\x80\x04": ("a Python pickle", f"{_FROM_TORCH}; for scikit-learn there is skl2onnx"),
    b"\x80\x05": ("a Python pickle", f"{_FROM_TORCH}; for scikit-learn there is skl2onnx"),
    b"\x89png\r\n\x1a\n": ("a picture (PNG)", _SAMPLES),
    b"\xff\xd8\xff": ("a picture (JPEG)", _SAMPLES),
    b"gif8": ("a picture (GIF)", _SAMPLES),
    b"riff": ("a recording or another RIFF file", _SAMPLES),
    b"\x93numpy": ("an array of numpy", _SAMPLES),
    b"%pdf": ("a PDF", _DOWNLOAD),
    b"\x7felf": ("a program or library (ELF)", "pass the model that was built into it"),
    b"gguf": ("weights of a language model (GGUF)", _OTHERS),
    b"7767517\n": ("a model of ncnn", _OTHERS),
    b"<?xml": ("XML, as OpenVINO writes its models", _OTHERS),
    b'{"format": "layers-model"': ("a model of TensorFlow.js", _FROM_KERAS),
    b'{"format":"layers-model"': ("a model of TensorFlow.js", _FROM_KERAS),
}
_ARCHIVES = {
    b"model.weights.h5": ("a Keras model", _FROM_KERAS),
    b"/data.pkl": ("a PyTorch model", _FROM_TORCH),
    b"": ("a ZIP archive", "unpack it first, and pass the .tflite or .onnx in it"),
}
#: How much of a text that may be C is looked at.
_TEXT_BYTES = 4096
#: A tab. What stands below it in a file is no text; every ONNX model begins with such a byte.
_LEAST_OF_TEXT = 9


def expect_no_other_format(data: bytes, file_name: str) -> None:
    """Raise GM101 if `data` is known to be something else than a model that is read here."""
    for what, hint in _found(data, file_name):
        raise error("GM101", f"not a .tflite or .onnx model: it is {what}", file_name, hint)


def _found(data: bytes, file_name: str) -> Iterator[tuple[str, str]]:
    if data[4:8] == b"TFL3":
        return
    if data[4:8] in _FLATBUFFERS:
        yield _FLATBUFFERS[data[4:8]]
    start = data[:32].lstrip().lower()
    yield from (found for beginning, found in _BEGINNINGS.items() if start.startswith(beginning))
    if file_name.lower().endswith(".pb") and not b"\x08\x02" <= data[:2] < b"\x08\x20":
        # An ONNX model begins with its version, which is above the 1 of a SavedModel.
        yield "a TensorFlow graph", FROM_SAVED_MODEL
    if data[8:10] == b'{"' and int.from_bytes(data[:8], "little") < len(data):
        yield "weights (safetensors)", _FROM_TORCH
    if data.startswith(b"PK\x03\x04"):
        # Names of members stand uncompressed at the beginning and again at the end.
        yield next(found for name, found in _ARCHIVES.items() if name in data)
    text = data[:_TEXT_BYTES]
    if min(text, default=0) >= _LEAST_OF_TEXT and (b"[] = {" in text or b"[]={" in text):
        yield (
            "C with the bytes of a model in an array",
            "pass the .tflite that it was made from (`xxd -i` or a script wrote this)",
        )
