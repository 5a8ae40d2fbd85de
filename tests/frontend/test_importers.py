"""Importers stand under the names of their operators."""

from __future__ import annotations

from inspect import unwrap
from typing import Any

import pytest

from glowmcu.frontend.onnx import importer as of_onnx
from glowmcu.frontend.tflite import importer as of_tflite

ENTERED: dict[str, tuple[Any, dict[str, str], list[Any]]] = {
    "tflite": (of_tflite, {}, ["ONE", "OTHER"]),
    "onnx": (of_onnx, {}, [("ai.onnx", "ONE"), ("ai.onnx", "OTHER")]),
    "onnx, a domain": (of_onnx, {"domain": "mine"}, [("mine", "ONE"), ("mine", "OTHER")]),
}


@pytest.mark.parametrize(("module", "options", "keys"), ENTERED.values(), ids=ENTERED)
def test_an_importer_is_entered_under_each_of_its_names(
    module: Any, options: dict[str, str], keys: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def import_nothing(state: Any, op: Any) -> None:
        """Of no file."""

    monkeypatch.setattr(module, "_IMPORTERS", {})
    assert module.importer("ONE", "OTHER", **options)(import_nothing) is import_nothing
    assert [*module._IMPORTERS] == keys
    assert {unwrap(function) for function in module._IMPORTERS.values()} == {import_nothing}


@pytest.mark.parametrize("place", ["glowmcu.frontend.tflite.pooling", "glowmcu_acme", "acme"])
def test_operands_are_counted_for_importers_of_the_package_itself(
    place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def import_nothing(state: Any, op: Any) -> None:
        """Of no file."""

    monkeypatch.setattr(of_tflite, "_IMPORTERS", {})
    monkeypatch.setattr(import_nothing, "__module__", place)
    of_tflite.importer("ONE")(import_nothing)
    is_plain = of_tflite._IMPORTERS["ONE"] is import_nothing
    assert is_plain is not place.startswith("glowmcu.")
