"""What a user should know about a model file besides what it computes: read from its records."""

from __future__ import annotations

from glowmcu.asked_in_python import in_python, is_in_memory
from glowmcu.frontend.formats import format_of_package
from glowmcu.frontend.read_model import is_onnx
from glowmcu.input_options import InputOptions


def notes_on_file(
    data: bytes, file_name: str, options: InputOptions | None = None, quantizing: bool = False
) -> tuple[str, ...]:
    """Sentences for whoever compiles, inspects or profiles the model; `quantizing` says that float
    layers are going to be int8. Raises GM101, GM103.
    """
    options = options or InputOptions()
    if format_of_package(data, file_name) is not None:
        return ()
    if is_onnx(data, file_name):
        from glowmcu.frontend.onnx.notes import notes_on_onnx

        notes = notes_on_onnx(data, file_name, options, quantizing)
    else:
        from glowmcu.frontend.tflite.notes import notes_on_tflite

        notes = notes_on_tflite(data, file_name, options, quantizing)
    return tuple(map(in_python, notes)) if is_in_memory(file_name) else notes
