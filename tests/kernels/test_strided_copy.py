"""strided_copy.longest: what a moved element takes, of the sizes that networks have."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from glowmcu.frontend.tflite.writer import ModelBuilder
from tests.support.forced_variant import check_forced


def planes_to_pixels(dtype: str) -> bytes:
    """What a network of PyTorch does with an image first."""
    scales: dict[str, Any] = {"int8": (0.5, 3), "int16": (0.5, 0), "float32": ()}
    model = ModelBuilder()
    x = model.input("x", (1, 3, 24, 24), dtype, *scales[dtype])
    y = model.tensor("y", (1, 24, 24, 3), dtype, *scales[dtype])
    model.op("TRANSPOSE", [x, model.constant("order", np.array([0, 2, 3, 1], np.int32))], [y])
    model.output(y)
    return model.finish()


@pytest.mark.arm
@pytest.mark.parametrize(("dtype", "most"), [("int8", 5.5), ("int16", 9.5), ("float32", 9.5)])
def test_cycles_of_an_element_of_an_image(dtype: str, most: float) -> None:
    cycles = check_forced(
        planes_to_pixels(dtype), "strided_copy.longest", counts_cycles=True
    ).cycles
    assert cycles is not None
    assert cycles < most * 3 * 24 * 24
