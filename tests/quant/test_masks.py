"""Attention masks of -1e9 and the like leave the scores their scale."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import glowmcu
from tests.support.onnx_models import finished, run_onnxruntime

onnx = pytest.importorskip("onnx", reason="pip install onnx")
ROWS, FEATURES = 16, 8
LOWEST = float(np.finfo(np.float32).min)


def attention(how: str, never: float) -> bytes:
    """Two layers of attention to the rows before each, which share a mask."""
    node = onnx.helper.make_node
    random = np.random.default_rng(3)
    future = np.triu(np.ones((ROWS, ROWS), bool), 1)
    constants = {
        "w": random.normal(0, 0.5, (FEATURES, FEATURES)).astype(np.float32),
        "never": np.float32(never),
        "future": future,
        "mask": np.where(future, np.float32(never), np.float32(0)),
        "size": np.array([ROWS, ROWS], np.int64),
        "one": np.int64(1),
    }
    nodes = []
    if how == "computed":
        del constants["mask"]
        nodes += [node("Expand", ["never", "size"], ["all"])]
        nodes += [node("Trilu", ["all", "one"], ["mask"], upper=1)]
    x = "x"
    for layer in range(2):
        q, k, s, m, p, y = (f"{name}{layer}" for name in "qksmpy")
        nodes += [
            node("MatMul", [x, "w"], [q]),
            node("Transpose", [x], [k], perm=[0, 2, 1]),
            node("MatMul", [q, k], [s]),
            node("Where", ["future", "never", s], [m])
            if how == "chosen"
            else node("Add", [s, "mask"], [m]),
            node("Softmax", [m], [p], axis=-1),
            node("MatMul", [p, x], [y]),
        ]
        x = y
    used = {name for item in nodes for name in item.input}
    arrays = [
        onnx.numpy_helper.from_array(np.asarray(data), name)
        for name, data in constants.items()
        if name in used
    ]
    value = onnx.helper.make_tensor_value_info
    shape = (1, ROWS, FEATURES)
    return finished(onnx, nodes, [value("x", 1, shape)], [value("y1", 1, shape)], arrays)


@pytest.mark.parametrize("never", [-1e4, -1e9, LOWEST])
@pytest.mark.parametrize("how", ["added", "computed", "chosen"])
def test_a_mask_takes_no_steps_of_the_scores(how: str, never: float, tmp_path: Path) -> None:
    data = attention(how, never)
    (tmp_path / "m.onnx").write_bytes(data)
    samples = np.random.default_rng(1).normal(size=(16, ROWS, FEATURES)).astype(np.float32)
    bundle = glowmcu.compile(tmp_path / "m.onnx", output=tmp_path / "out", samples={"x": samples})
    (given,), (made,) = bundle.manifest.inputs, bundle.manifest.outputs
    assert given.scale is not None
    assert made.scale is not None
    signal = noise = 0.0
    for x in samples[:4, np.newaxis]:
        stored = np.clip(np.round(x / given.scale) + (given.zero_point or 0), -128, 127)
        (got,) = bundle.run([stored.astype(np.int8)])
        (want,) = run_onnxruntime(data, [x])
        real = (got.astype(np.float64) - (made.zero_point or 0)) * made.scale
        signal += float((want**2).sum())
        noise += float(((real - want) ** 2).sum())
    assert 10 * np.log10(signal / noise) > 25
