"""BUCKETIZE equals LiteRT, at the boundaries and beside them too."""

from __future__ import annotations

import numpy as np
import pytest

from glowmcu.errors import GlowmcuError
from glowmcu.frontend.tflite.writer import ModelBuilder
from glowmcu.pipeline import reference_graph
from tests.support.check_model import check_model
from tests.support.oracle import run_litert_reference

BOUNDARIES = (-1.5, 0.0, 0.25, 0.25, 7.0)


def model(dtype: str, boundaries: tuple[float, ...] = BOUNDARIES) -> bytes:
    b = ModelBuilder()
    x, y = b.input("x", (3, 4), dtype), b.tensor("y", (3, 4), "int32")
    b.op("BUCKETIZE", [x], [y], {"boundaries": boundaries})
    b.output(y)
    return b.finish()


def test_numbers_find_their_place() -> None:
    below = np.nextafter(np.float32(BOUNDARIES), np.float32(-9))
    some = [*BOUNDARIES, *below, np.nan, np.inf]
    x = np.array(some, np.float32).reshape(3, 4)
    check_model(model("float32"), [[x], [-x]], oracle=run_litert_reference)


@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_integers_are_compared_as_real_numbers(dtype: str) -> None:
    x = np.array([-9, -2, -1, 0, 1, 6, 7, 8, 2**24, 2**24 + 1, -(2**31), 2**31 - 1], dtype)
    check_model(model(dtype), [[x.reshape(3, 4)]], oracle=run_litert_reference)


@pytest.mark.parametrize("boundaries", [(), (1.0, 0.0)])
def test_boundaries_in_no_order_are_refused(boundaries: tuple[float, ...]) -> None:
    with pytest.raises(GlowmcuError, match="in ascending order"):
        reference_graph(model("float32", boundaries), "m.tflite")
