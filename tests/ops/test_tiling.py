"""Repeated elements: BROADCAST_TO and BROADCAST_ARGS against TFLM, TILE, which it lacks, LiteRT."""

from __future__ import annotations

import numpy as np
import pytest

from glowmcu.compilation import Options
from glowmcu.errors import GlowmcuError
from glowmcu.frontend.tflite.reader import read_tflite
from glowmcu.frontend.tflite.writer import ModelBuilder
from glowmcu.ir.interpreter import run_graph
from glowmcu.pipeline import compile_model
from tests.support.check_model import check_model, expect_equal
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


def shapes_model(a, b, length: int, dtype: str = "int32") -> bytes:
    """`a` and `b` are lists of sizes (constants) or lengths (inputs)."""
    operands = [
        Tensor((sizes,), dtype) if isinstance(sizes, int) else np.array(sizes, dtype)
        for sizes in (a, b)
    ]
    return single_op_model("BROADCAST_ARGS", operands, [Tensor((length,), dtype)])


def random_shapes(generator: np.random.Generator) -> tuple[list[int], list[int]]:
    """Two that broadcast."""
    common = generator.integers(0, 9, generator.integers(1, 7))
    both = [np.where(generator.random(common.size) < 0.4, 1, common) for _ in range(2)]
    firsts = generator.integers(0, common.size, 2) * [1, 0]
    a, b = (list(map(int, s[f:])) for s, f in zip(both, generator.permutation(firsts), strict=True))
    return a, b


@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_computed_shapes_broadcast_as_in_tflm(dtype: str) -> None:
    generator = np.random.default_rng(3)
    for _ in range(100):
        a, b = random_shapes(generator)
        data = shapes_model(len(a), len(b), max(len(a), len(b)), dtype)
        arrays = [np.array(a, dtype), np.array(b, dtype)]
        (got,) = run_graph(read_tflite(data, "m.tflite"), arrays)
        expect_equal(got, run_tflm(data, arrays)[0], f"{a} {b}")


@pytest.mark.parametrize("dtype", ["int32", "int64"])
@pytest.mark.parametrize(("a", "b"), [([2, 1, 5], [3, 1]), ([4], [1, 1, 1, 4]), ([1], [1]),
                                      ([7, 0], [7, 1])])  # fmt: skip
def test_shapes_broadcast_in_c(a, b, dtype: str) -> None:
    data = shapes_model(len(a), len(b), max(len(a), len(b)), dtype)
    check_model(data, [[np.array(a, dtype), np.array(b, dtype)]], run_tflm)
    half = shapes_model(len(a), b, max(len(a), len(b)), dtype)
    check_model(half, [[np.array(a, dtype)]], run_tflm)


@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_a_tensor_is_broadcast_to_the_shape_that_two_known_ones_make(dtype: str) -> None:
    model = ModelBuilder()
    x = model.input("x", (3, 1), "int8", 0.5, 0)
    a, b = (model.constant(n, np.array(s, dtype)) for n, s in (("a", [2, 1, 1]), ("b", [3, 4])))
    shape = model.tensor("shape", (3,), dtype)
    y = model.tensor("y", (2, 3, 4), "int8", 0.5, 0)
    model.op("BROADCAST_ARGS", [a, b], [shape])
    model.op("BROADCAST_TO", [x, shape], [y])
    model.output(y)
    check_model(model.finish(), oracle=run_litert_reference, count=1)


SHAPES_REFUSED = {
    "sizes differ": (shapes_model([2, 3], [4], 2), r"\[2, 3\] and \[1, 4\] do not broadcast"),
    "types": (single_op_model("BROADCAST_ARGS", [ints(1), Tensor((1,), "int64")],
                              [Tensor((1,), "int32")]), "one type for both"),
    "float": (shapes_model(1, 1, 1, "float32"), "expected a vector of int32 or int64"),
    "a scalar": (single_op_model("BROADCAST_ARGS", [ints(1), Tensor((), "int32")],
                                 [Tensor((1,), "int32")]), "expected a vector of int32"),
    "another length": (shapes_model(2, 3, 4), "the file declares"),
}  # fmt: skip


@pytest.mark.parametrize(("data", "said"), SHAPES_REFUSED.values(), ids=SHAPES_REFUSED)
def test_shapes_that_do_not_fit_are_refused(data: bytes, said: str) -> None:
    with pytest.raises(GlowmcuError, match=said) as caught:
        compile_model(data, "m.tflite", Options("m"))
    assert caught.value.problems[0].code == "GM106"
