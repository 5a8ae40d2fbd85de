"""Enums of TensorFlow Lite's schema."""

from __future__ import annotations

import pytest
from tflite.TensorType import TensorType

from glowmcu.frontend.tflite.schema import schema_enum, schema_names


def test_what_python_notes_of_a_class_is_no_member(monkeypatch: pytest.MonkeyPatch) -> None:
    """From 3.13 on a class knows the line that it begins on."""
    monkeypatch.setattr(TensorType, "__firstlineno__", 9, raising=False)
    assert not [name for name in schema_enum("TensorType") if name.startswith("_")]
    assert schema_names("TensorType")[9] == "INT8"
