"""Repeated elements: BROADCAST_TO against TensorFlow Lite Micro, TILE, which it lacks, LiteRT."""

from __future__ import annotations

import pytest

from glowmcu.errors import GlowmcuError
from glowmcu.pipeline import Options, compile_model
from tests.support.check_model import check_model
from tests.support.oracle import run_litert_reference, run_tflm
from tests.support.single_op import Tensor, ints, single_op_model

BROADCASTS = {
    "rows": ((1, 4), (3, 4)),
    "columns": ((3, 1), (3, 5)),
    "new axes": ((3,), (2, 2, 3)),
    "inner and outer": ((1, 3, 1), (2, 3, 4)),
    "one element": ((1,), (7,)),
    "nothing": ((2, 3), (2, 3)),
}


@pytest.mark.parametrize(("shape", "out"), BROADCASTS.values(), ids=BROADCASTS)
def test_broadcast_to_equals_tflm(shape, out) -> None:
    data = single_op_model("BROADCAST_TO", [Tensor(shape), ints(*out)], [Tensor(out)])
    check_model(data, oracle=run_tflm, count=1)


TILES = {
    "vector": ((3,), (4,)),
    "both axes": ((2, 3), (3, 2)),
    "inner axis": ((2, 1, 3), (1, 1, 3)),
    "four axes": ((1, 2, 3, 2), (2, 1, 2, 3)),
    "nothing": ((2, 3), (1, 1)),
}


@pytest.mark.parametrize(("shape", "multiples"), TILES.values(), ids=TILES)
@pytest.mark.parametrize("dtype", ["int8", "int32"])
def test_tile_equals_litert(shape, multiples, dtype: str) -> None:
    out = tuple(n * count for n, count in zip(shape, multiples, strict=True))
    operands = [Tensor(shape, dtype), ints(*multiples)]
    data = single_op_model("TILE", operands, [Tensor(out, dtype)], version=1)
    check_model(data, oracle=run_litert_reference, count=1)


def test_a_shape_that_does_not_broadcast_is_refused() -> None:
    data = single_op_model("BROADCAST_TO", [Tensor((2, 3)), ints(4, 3)], [Tensor((4, 3))])
    with pytest.raises(GlowmcuError) as caught:
        compile_model(data, "m.tflite", Options("m"))
    assert "(2, 3) does not broadcast to (4, 3)" in str(caught.value)


def test_a_negative_shape_is_refused() -> None:
    data = single_op_model("BROADCAST_TO", [Tensor((1, 3)), ints(-4, 3)], [Tensor((4, 3))])
    with pytest.raises(GlowmcuError, match="does not broadcast to"):
        compile_model(data, "m.tflite", Options("m"))


def test_multiples_for_other_axes_are_refused() -> None:
    data = single_op_model("TILE", [Tensor((2, 3)), ints(4)], [Tensor((8, 3))], version=1)
    with pytest.raises(GlowmcuError, match="are no multiples for the axes of"):
        compile_model(data, "m.tflite", Options("m"))
