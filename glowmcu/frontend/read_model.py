"""A model file of any format becomes a graph: the content decides, then the file's name."""

from __future__ import annotations

from glowmcu.frontend.onnx.reader import read_onnx
from glowmcu.frontend.tflite.reader import read_tflite
from glowmcu.input_options import InputOptions
from glowmcu.ir.graph import Graph


def is_onnx(data: bytes, file_name: str) -> bool:
    """Protobuf has no identifier, so what is not TFLite's flatbuffer goes by its name."""
    return data[4:8] != b"TFL3" and file_name.lower().endswith(".onnx")


def read_model(
    data: bytes,
    file_name: str,
    options: InputOptions | None = None,
) -> Graph:
    """Import a `.tflite` or `.onnx` model.

    Raises GlowmcuError (GM1xx) as the readers do.
    """
    if is_onnx(data, file_name):
        return read_onnx(data, file_name, options)
    return read_tflite(data, file_name, options.shapes if options else None)
