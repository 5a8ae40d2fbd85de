"""reduce_sum.dsp: means and sums over pixels, of any channel count, beyond what 16 bits can add."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.forced_layers import ForcedLayers
from tests.support.forced_variant import check_forced, compile_forced, variants_of
from tests.support.single_op import Tensor, ints, single_op_model

NAME = "reduce_sum.dsp"
CASES = {
    "image": ((1, 7, 7, 12), (1, 2)),
    "batch of images": ((2, 3, 5, 8), (1, 2)),
    "four channels, one pixel": ((1, 1, 1, 4), (1, 2)),
    "five channels": ((1, 4, 3, 5), (1, 2)),
    "seven channels, prime pixels": ((1, 1, 13, 7), (1, 2)),
    "rows only": ((1, 9, 3, 4), (1,)),
    "columns only": ((1, 3, 9, 4), (2,)),
    "first axis": ((6, 11), (0,)),
    "255 pixels": ((1, 15, 17, 4), (1, 2)),
    "256 pixels": ((1, 16, 16, 4), (1, 2)),
    "257 pixels": ((1, 257, 1, 4), (1, 2)),
    "more than twice 256 pixels": ((1, 24, 24, 6), (1, 2)),
}


def model(kind: str, shape: tuple[int, ...], axes: tuple[int, ...], scale: float = 0.7) -> bytes:
    kept = tuple(size for axis, size in enumerate(shape) if axis not in axes)
    operands = [Tensor(shape), ints(*axes)]
    return single_op_model(kind, operands, [Tensor(kept, scale=scale)], {"keep_dims": False})


KINDS = {"MEAN": lambda case: model("MEAN", *case), "SUM": lambda case: model("SUM", *case)}
LAYERS = {kind: ForcedLayers(NAME, CASES, made) for kind, made in KINDS.items()}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", CASES)
def test_every_shape(kind: str, name: str) -> None:
    LAYERS[kind].check(name)


@pytest.mark.parametrize("core", ["cortex-m7", "cortex-m33"])
def test_other_cores(core: str) -> None:
    check_forced(model("MEAN", *CASES["five channels"]), NAME, core)


def test_the_largest_sums() -> None:
    shape = (1, 16, 17, 4)
    sets = [[np.full(shape, value, np.int8)] for value in (-128, 127)]
    check_forced(model("SUM", shape, (1, 2), scale=200.0), NAME, inputs=sets)


@pytest.mark.parametrize(
    "case", [((1, 5, 5, 3), (1, 2)), ((1, 5, 5, 8), (3,)), ((1, 5, 4, 8), (1, 3))],
    ids=["three channels", "over channels", "results apart"],
)  # fmt: skip
def test_other_layouts_stay_with_the_portable_kernel(case: tuple[tuple[int, ...], ...]) -> None:
    compilation = compile_forced(model("MEAN", *case), NAME, "cortex-m4")
    assert NAME not in variants_of(compilation)
