"""Decisions by the mean of the last scores: Python is a plain loop, C is Python, of every type."""

from __future__ import annotations

import itertools
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import glowmcu
from glowmcu.ir.operation import Array, OperationError, Rounding, Signature
from glowmcu.ir.types import ElementType, Quantization, TensorType
from glowmcu.ops.decide import Decide
from tests.support.single_op import Tensor, ints, single_op_model

ONE = TensorType((1,), ElementType.I32)
SCORES = {
    "int8": (ElementType.I8, Quantization((1 / 256,), (-128,))),
    "uint8": (ElementType.UI8, Quantization((1 / 256,), (0,))),
    "int16": (ElementType.I16, Quantization((1 / 32768,), (0,))),
    "int32": (ElementType.I32, None),
    "float32": (ElementType.F32, None),
}


def signature(element: str, rows: int, classes: int) -> Signature:
    kind, quantization = SCORES[element]
    return Signature((TensorType((rows, classes), kind, quantization), ONE), (ONE, ONE))


def decided(op: Decide, types: Signature, scores: Array, wait: int) -> tuple[int, int]:
    op.verify(types)
    assert op.infer(types.inputs) == ((1,), (1,))
    found = op.evaluate([scores, np.array([wait], np.int32)], types, Rounding.DOUBLE)
    return int(found[0][0]), int(found[1][0])


@pytest.mark.parametrize("element", ["int8", "uint8", "int16", "int32"])
def test_means_are_exact(element: str) -> None:
    random = np.random.default_rng(7)
    for _ in range(300):
        rows, classes = (int(random.integers(1, 5)) for _ in range(2))
        types = signature(element, rows, classes)
        scores = types.inputs[0]
        limits = np.iinfo(scores.element.numpy)
        # Of few values: means at the threshold and equal ones are frequent.
        x = random.integers(0, 4, (rows, classes)) * 8 + max(int(limits.min), -128)
        x = x.astype(scores.element.numpy)
        scale = Fraction(scores.scale if scores.quantization else 1)
        zero = scores.zero_point if scores.quantization else 0
        threshold = float(scale * (int(random.choice(x.reshape(-1))) - zero))
        distance, wait = int(random.integers(0, 3)), int(random.integers(0, 2))
        means = [scale * (Fraction(int(column.sum()), rows) - zero) for column in x.T]
        best = means.index(max(means))
        found = wait == 0 and means[best] >= Fraction(threshold)
        want = (best, distance) if found else (-1, max(wait - 1, 0))
        assert decided(Decide(threshold, distance), types, x, wait) == want


def test_real_scores() -> None:
    types = signature("float32", 2, 3)
    x = np.array([[0.1, 0.5, 0.5], [0.3, 0.7, 0.7]], np.float32)
    assert decided(Decide(0.6, 5), types, x, 0) == (1, 5)
    assert decided(Decide(0.601, 5), types, x, 0) == (-1, 0)
    assert decided(Decide(0.6, 5, (1,)), types, x, 0) == (2, 5)
    x[0, 0] = np.nan
    assert decided(Decide(0.1, 5), types, x, 0) == (-1, 0)  # as C compares: nothing is above


def test_what_is_refused() -> None:
    types = signature("int8", 2, 2)
    for op in (Decide(float("inf")), Decide(0.5, -1), Decide(0.5, 0, (0, 1))):
        with pytest.raises(OperationError):
            op.verify(types)
    wide = TensorType((2, 2), ElementType.I64)
    with pytest.raises(OperationError, match="cannot decide by i64"):
        Decide().verify(Signature((wide, ONE), (ONE, ONE)))
    for shape in ((2,), (0, 2), (2, 0)):
        scores = TensorType(shape, ElementType.I8)
        with pytest.raises(OperationError):
            Decide().infer((scores, ONE))


@pytest.mark.parametrize(
    ("element", "threshold"),
    [*itertools.product(SCORES, [0.5, -1e30]), ("int32", 1e30), ("float32", 1e30)],
)
def test_c_is_python(element: str, threshold: float, tmp_path: Path) -> None:
    """Scores as they come, through a model that only reshapes."""
    quantization = SCORES[element][1]
    scale = (None,) if quantization is None else (quantization.scales[0], 0)
    if element in ("int8",):
        scale = (1 / 256, -128)
    given = [Tensor((1, 3), element, *scale), ints(3)]
    model = single_op_model("RESHAPE", given, [Tensor((3,), element, *scale)])
    (tmp_path / "scores.tflite").write_bytes(model)
    (tmp_path / "p.toml").write_text(
        '[[stage]]\nname = "scores"\nmodel = "scores.tflite"\nhop = 3\n'
        f"[decision]\naverage = 3\nthreshold = {threshold}\ndistance = 1\nignore = [1]\n"
    )
    bundle = glowmcu.compile(tmp_path / "p.toml", output=tmp_path / "out", name="p")
    session = bundle.session()
    random, wait = np.random.default_rng(1), 0
    entry = bundle.manifest.outputs[0]
    found = 0
    known = None if entry.scale is None else Quantization((entry.scale,), (entry.zero_point or 0,))
    scores = TensorType((3, 3), SCORES[element][0], known)
    types = Signature((scores, ONE), (ONE, ONE))
    window = np.full((3, 3), entry.zero_point or 0, scores.element.numpy)
    for _ in range(40):
        if element == "float32":
            x = random.uniform(0, 1.3, (1, 3)).astype(np.float32)
        else:
            limits = np.iinfo(window.dtype)
            high = min(int(limits.max), 1 << 20)
            x = random.integers(max(int(limits.min), -2), high, (1, 3), window.dtype, True)
        window = np.concatenate([window[1:], x])
        result, decision = session.run([x])
        assert np.array_equal(result.reshape(-1), x.reshape(-1))
        want, wait = decided(Decide(threshold, 1, (1,)), types, window, wait)
        assert decision[0] == want
        found += want >= 0
    assert found == (0 if threshold > 1e9 else found)
    assert found or threshold > 0
