"""The `.onnx` protobuf with texts alone where it says string: protobuf checks no encoding."""

from __future__ import annotations

from typing import Any

from glowmcu import installation
from glowmcu.errors import error


def import_onnx() -> Any:
    """The onnx package. Raises GM109."""
    try:
        import onnx
    except ImportError as cause:
        raise error(
            "GM109", "reading ONNX models needs the onnx package",
            hint=installation.extra("onnx"),
        ) from cause  # fmt: skip
    return onnx


def parsed_model(data: bytes, onnx: Any) -> Any:
    """The model in `data`; raises what the onnx package does of damaged files.

    A byte that is no UTF-8 reads as `\\xe4`, so that different names stay different.
    """
    model = onnx.load_model_from_string(data)
    _make_readable(model)
    return model


def _make_readable(message: Any) -> None:
    """Protobuf bounds how deep messages lie."""
    for field, value in message.ListFields():
        if field.type == field.TYPE_MESSAGE:
            for item in (value,) if hasattr(value, "ListFields") else value:
                _make_readable(item)
        elif field.type == field.TYPE_STRING:
            if isinstance(value, bytes):
                setattr(message, field.name, readable(value))
            elif not isinstance(value, str):
                value[:] = map(readable, value)


def readable(text: str | bytes) -> str:
    """A string of the file."""
    return text if isinstance(text, str) else text.decode("utf-8", "backslashreplace")
