"""ATAN2: Python is LiteRT's, C is Python; zeros have signs, and only float32 has angles."""

from __future__ import annotations

import numpy as np
import pytest

from glowmcu.compilation import Options
from glowmcu.errors import GlowmcuError
from glowmcu.pipeline import compile_model
from tests.support.check_model import check_model
from tests.support.oracle import run_litert_reference
from tests.support.single_op import Tensor, single_op_model

#: All quadrants and both axes with zeros of either sign, diagonals, overflow, subnormal quotients.
COORDINATES = np.array(
    [0.0, -0.0, 1.0, -1.0, 0.3, -7.5, 2.4142135, 0.41421357, 1e-38, -3e38, 1e30, np.inf, -np.inf],
    np.float32,
)


def angle_model(y: tuple[int, ...], x: tuple[int, ...], kind: str = "float32") -> bytes:
    out = Tensor(tuple(np.broadcast_shapes(y, x)), kind)
    return single_op_model("ATAN2", [Tensor(y, kind), Tensor(x, kind)], [out])


def test_angles_in_every_quadrant_equal_litert() -> None:
    y, x = (grid.reshape(-1) for grid in np.meshgrid(COORDINATES, COORDINATES))
    data = angle_model(y.shape, x.shape)
    check_model(data, [[y, x]], oracle=run_litert_reference, atol=1e-12)


@pytest.mark.parametrize("length", [1, 2, 7, 64])
def test_random_vectors_equal_litert(length: int) -> None:
    random = np.random.default_rng(length)
    sets = [[random.normal(0, 3, (length, 3)).astype(np.float32) for _ in range(2)] for _ in "ab"]
    check_model(angle_model((length, 3), (length, 3)), sets, oracle=run_litert_reference)


def test_coordinates_broadcast() -> None:
    y, x = np.array([[1], [-2]], np.float32), np.array([[-3, 0.5, 4]], np.float32)
    found = check_model(angle_model((2, 1), (1, 3)), [[y, x]])
    assert found.imported.outputs[0].type.shape == (2, 3)


def test_stored_coordinates_have_no_angle() -> None:
    with pytest.raises(GlowmcuError, match="expected f32 throughout") as refused:
        compile_model(angle_model((4,), (4,), "int32"), "model.tflite", Options("m"))
    assert refused.value.code == "GM106"
