"""Space to depth and batch, and back, equal TensorFlow Lite Micro: odd paddings, any block.

LiteRT answers for paddings: TFLM fills them with whatever its memory held.
"""

from __future__ import annotations

import numpy as np
import pytest

from glowmcu.compilation import Options
from glowmcu.errors import GlowmcuError
from glowmcu.pipeline import compile_model
from tests.support.check_model import check_model
from tests.support.oracle import run_litert_reference, run_tflm
from tests.support.single_op import Tensor, ints, single_op_model


@pytest.mark.parametrize(
    ("shape", "block"), [((1, 4, 6, 3), 2), ((2, 3, 3, 1), 3), ((1, 2, 2, 5), 1)]
)
def test_space_to_depth_and_back_equal_tflm(shape, block: int) -> None:
    n, height, width, depth = shape
    deep = (n, height // block, width // block, depth * block * block)
    options = {"block_size": block}
    there = single_op_model("SPACE_TO_DEPTH", [Tensor(shape)], [Tensor(deep)], options)
    back = single_op_model("DEPTH_TO_SPACE", [Tensor(deep)], [Tensor(shape)], options)
    check_model(there, oracle=run_tflm, count=1)
    check_model(back, oracle=run_tflm, count=1)


BATCHES = {
    "no padding": ((1, 4, 6, 3), (2, 3), ((0, 0), (0, 0))),
    "padding before": ((1, 3, 5, 2), (2, 2), ((1, 0), (3, 0))),
    "padding after": ((1, 3, 4, 2), (2, 3), ((0, 1), (0, 2))),
    "more padding than the block": ((1, 3, 3, 1), (2, 2), ((3, 2), (1, 4))),
    "batch of two": ((2, 5, 4, 3), (3, 2), ((1, 0), (1, 1))),
    "large block": ((1, 7, 5, 2), (8, 8), ((0, 1), (2, 1))),
    "rank 3": ((1, 5, 3), (2,), ((1, 0),)),
}


def batch_shape(shape, block, edges):
    out = list(shape)
    for axis, (size, pair) in enumerate(zip(block, edges, strict=True), 1):
        out[0] *= size
        out[axis] = (shape[axis] + sum(pair)) // size
    return tuple(out)


def moved(kind: str, source, block, edges, target, dtype: str = "int8") -> bytes:
    operands = [Tensor(source, dtype), ints(*block), np.array(edges, np.int32)]
    return single_op_model(kind, operands, [Tensor(target, dtype)])


@pytest.mark.parametrize(("shape", "block", "edges"), BATCHES.values(), ids=BATCHES)
def test_space_to_batch_and_back_equal_tflm(shape, block, edges) -> None:
    images = batch_shape(shape, block, edges)
    there = moved("SPACE_TO_BATCH_ND", shape, block, edges, images)
    back = moved("BATCH_TO_SPACE_ND", images, block, edges, shape)
    # TFLM pads with a value that it never sets; LiteRT with the zero point.
    padded = any(map(any, edges))
    check_model(there, oracle=run_litert_reference if padded else run_tflm, count=1)
    check_model(back, oracle=run_tflm, count=1)


def test_a_large_block_needs_few_copies() -> None:
    shape, block, edges = BATCHES["large block"]
    images = batch_shape(shape, block, edges)
    data = moved("SPACE_TO_BATCH_ND", shape, block, edges, images)
    text = compile_model(data, "m.tflite", Options("m")).files["m.c"]
    assert 1 <= text.count("glowmcu_strided_copy_loops(m_w") <= 9


def test_space_to_batch_moves_elements_of_four_bytes() -> None:
    data = moved("SPACE_TO_BATCH_ND", (1, 3, 3, 2), (2, 2), ((1, 0), (0, 1)), (4, 2, 2, 2), "int32")
    check_model(data, oracle=run_litert_reference, count=1)


def test_a_block_that_does_not_divide_is_refused() -> None:
    data = moved("SPACE_TO_BATCH_ND", (1, 3, 3, 2), (2, 2), ((0, 0), (0, 1)), (4, 2, 2, 2))
    with pytest.raises(GlowmcuError, match=r"\(3, 4\) does not split into blocks of \(2, 2\)"):
        compile_model(data, "m.tflite", Options("m"))
