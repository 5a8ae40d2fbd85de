"""QuantizeLinear and DequantizeLinear in every form of operands, against ONNX's own meaning."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from glowmcu.frontend.read_model import read_model
from glowmcu.ir.interpreter import run_graph
from tests.support.onnx_models import onnx_model

reference = pytest.importorskip("onnx.reference", reason="pip install onnx")
SHAPE = (2, 4, 6)
#: Attributes, and the shape of scales and zero points that they go with.
FORMS: dict[str, tuple[dict[str, int], tuple[int, ...]]] = {
    "one scale": ({}, ()),
    "one scale in a vector": ({}, (1,)),
    "one scale in a matrix": ({}, (1, 1)),
    "a scale a row, by default": ({}, (4,)),
    "along the first axis": ({"axis": 0}, (2,)),
    "along the last axis": ({"axis": -1}, (6,)),
    "along the second axis": ({"axis": 1}, (4,)),
    "blocks by default": ({"block_size": 2}, (2, 2, 6)),
    "blocks of the first axis": ({"axis": 0, "block_size": 1}, (2, 4, 6)),
    "blocks of the last axis": ({"axis": -1, "block_size": 3}, (2, 4, 2)),
    "one block": ({"axis": 1, "block_size": 4}, (2, 1, 6)),
}


def operands(form: str, kind: str, dtype: str, point: str, at_run_time: bool) -> Any:
    """Operands of the model, and what is fed."""
    shape = FORMS[form][1]
    random = np.random.default_rng(7)
    limits = np.iinfo(dtype)
    if kind == "QuantizeLinear":
        x = random.normal(0, 40, SHAPE).astype(np.float32)
    else:
        x = random.integers(limits.min, limits.max, SHAPE).astype(dtype)
    scale = random.uniform(0.1, 0.9, shape).astype(np.float32)
    zero = random.integers(max(limits.min, -90), min(limits.max, 90), shape).astype(dtype)
    given: list[Any] = [("x", str(x.dtype), SHAPE)]
    feeds = [x]
    for name, array, is_fed in (("s", scale, at_run_time), ("z", zero, point == "at run time")):
        if name == "z" and point == "none":
            continue
        given.append((name, str(array.dtype), shape) if is_fed else array)
        feeds += [array] if is_fed else []
    return given, feeds


def cases() -> list[tuple[str, str, str]]:
    """Operators, types, zero points: without one the result is uint8, and int32 has 0."""
    found = [
        (kind, dtype, point)
        for kind in ("QuantizeLinear", "DequantizeLinear")
        for dtype in ("int8", "uint8")
        for point in ("none", "known", "at run time")
    ]
    found.remove(("QuantizeLinear", "int8", "none"))
    return [*found, ("DequantizeLinear", "int32", "none")]


@pytest.mark.parametrize("at_run_time", [False, True], ids=["known scales", "given scales"])
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("kind", "dtype", "point"), cases())
def test_every_form_means_what_onnx_says(
    kind: str, dtype: str, point: str, form: str, at_run_time: bool
) -> None:
    given, feeds = operands(form, kind, dtype, point, at_run_time)
    data = onnx_model(kind, given, FORMS[form][0], opset=21)
    session = reference.ReferenceEvaluator(data)
    (want,) = session.run(None, dict(zip(session.input_names, feeds, strict=True)))
    graph = read_model(data, "m.onnx")
    assert [value.name for value in graph.inputs] == session.input_names
    (got,) = run_graph(graph, feeds)
    assert got.dtype == want.dtype
    assert got.shape == want.shape
    if kind == "QuantizeLinear":
        assert np.abs(got.astype(int) - want.astype(int)).max() == 0
    else:
        np.testing.assert_allclose(got, want, rtol=1e-6, atol=1e-6)
