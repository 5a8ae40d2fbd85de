"""Enums of TensorFlow Lite's schema."""

from __future__ import annotations

import subprocess
import sys

import pytest
from tflite.TensorType import TensorType

from glowmcu.frontend.tflite.schema import schema_enum, schema_names, tflite


def test_what_python_notes_of_a_class_is_no_member(monkeypatch: pytest.MonkeyPatch) -> None:
    """From 3.13 on a class knows the line that it begins on."""
    monkeypatch.setattr(TensorType, "__firstlineno__", 9, raising=False)
    assert not [name for name in schema_enum("TensorType") if name.startswith("_")]
    assert schema_names("TensorType")[9] == "INT8"


#: What a process finds, by what it has done before.
_BEHIND = {
    "a class of ours": "from glowmcu.frontend.tflite.schema import tflite as ours; ours.Model",
    "an enum of ours": "import glowmcu.frontend.tflite.schema as s; s.schema_enum('TensorType')",
    "a file read": "import glowmcu.frontend.tflite.writer, glowmcu.frontend.tflite.container",
    "the package first": "import tflite; from glowmcu.frontend.tflite.schema import tflite",
}
_WAYS = {
    "names": "import tflite; print(tflite.Model.__name__, tflite.TensorType.INT8)",
    "a star": "from tflite import *; print(Model.__name__, TensorType.INT8)",
    "a module": "from tflite.Model import Model; import tflite; print(Model.__name__, "
    "tflite.TensorType.INT8)",
    "a function": "import tflite; tflite.TensorAddShape; print('Model', tflite.TensorType().INT8)",
}


def printed(code: str) -> str:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


@pytest.mark.parametrize("way", _WAYS)
@pytest.mark.parametrize("before", _BEHIND)
def test_whoever_imports_the_package_too_finds_all_of_it(before: str, way: str) -> None:
    assert printed(f"{_BEHIND[before]}\n{_WAYS[way]}") == "Model 9"


def test_few_of_the_packages_modules_are_imported_for_a_name() -> None:
    code = "import sys\nfrom glowmcu.frontend.tflite.schema import tflite as ours\n"
    code += "ours.OperatorCodeAddVersion, ours.Conv2DOptions\n"
    code += "print(*sorted(name for name in sys.modules if name.startswith('tflite.')))"
    assert printed(code) == "tflite.Conv2DOptions tflite.OperatorCode"


def test_a_name_that_the_schema_has_not_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="NoSuchOptions"):
        _ = tflite.NoSuchOptions
