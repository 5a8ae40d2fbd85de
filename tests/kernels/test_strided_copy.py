"""strided_copy.longest: what a moved element takes, of the sizes that networks have."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from glowmcu.compilation import Options
from glowmcu.frontend.tflite.writer import ModelBuilder
from glowmcu.pipeline import compile_model
from tests.support.forced_variant import check_forced, variants_of


def planes_to_pixels(dtype: str) -> bytes:
    """What a network of PyTorch does with an image first."""
    scales: dict[str, Any] = {"int8": (0.5, 3), "int16": (0.5, 0), "float32": ()}
    model = ModelBuilder()
    x = model.input("x", (1, 3, 24, 24), dtype, *scales[dtype])
    y = model.tensor("y", (1, 24, 24, 3), dtype, *scales[dtype])
    model.op("TRANSPOSE", [x, model.constant("order", np.array([0, 2, 3, 1], np.int32))], [y])
    model.output(y)
    return model.finish()


@pytest.mark.parametrize(
    ("shape", "order", "taken"),
    [((1, 3, 8, 8), (0, 2, 3, 1), True), ((1, 8, 8, 3), (0, 3, 1, 2), False)],
    ids=["planes to pixels", "pixels to planes"],
)
def test_it_is_taken_where_another_loop_is_innermost(
    shape: tuple[int, ...], order: tuple[int, ...], taken: bool
) -> None:
    model = ModelBuilder()
    x = model.input("x", shape, "int8", 0.5, 3)
    y = model.tensor("y", tuple(shape[axis] for axis in order), "int8", 0.5, 3)
    model.op("TRANSPOSE", [x, model.constant("order", np.array(order, np.int32))], [y])
    model.output(y)
    compilation = compile_model(model.finish(), "m.tflite", Options("m", core="cortex-m4"))
    assert variants_of(compilation) == {f"strided_copy.{'longest' if taken else 'portable'}"}


@pytest.mark.arm
@pytest.mark.parametrize(("dtype", "most"), [("int8", 5.5), ("int16", 9.5), ("float32", 9.5)])
def test_cycles_of_an_element_of_an_image(dtype: str, most: float) -> None:
    cycles = check_forced(
        planes_to_pixels(dtype), "strided_copy.longest", counts_cycles=True
    ).cycles
    assert cycles is not None
    assert cycles < most * 3 * 24 * 24
