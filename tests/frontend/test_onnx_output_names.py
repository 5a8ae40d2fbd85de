"""An output is called as in the file, for that is the name of its C function."""

from __future__ import annotations

import pytest

from glowmcu.frontend.onnx.reader import read_onnx
from tests.conftest import REPO


@pytest.mark.parametrize(
    ("model", "name"),
    [
        ("digits/digits.onnx", "scores"),
        ("gestures/model.onnx", "scores"),
        # A Gemm that becomes several nodes.
        ("vowels/model.onnx", "logits"),
    ],
)
def test_an_output_has_the_name_that_the_file_gives_it(model: str, name: str) -> None:
    path = REPO / "examples" / model
    graph = read_onnx(path.read_bytes(), path.name)
    graph.verify()
    assert [value.name for value in graph.outputs] == [name]
