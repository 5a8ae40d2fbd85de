"""REVERSE_SEQUENCE equals TensorFlow Lite, for lengths that are known and that are computed."""

from __future__ import annotations

import numpy as np
import pytest

from glowmcu.compilation import Options
from glowmcu.errors import GlowmcuError
from glowmcu.frontend.tflite.reader import read_tflite
from glowmcu.ir.interpreter import run_graph
from glowmcu.pipeline import compile_model
from tests.support.check_model import check_model, expect_equal
from tests.support.oracle import run_litert_reference
from tests.support.single_op import Tensor, single_op_model


def reverse_model(shape, time, batch, lengths, dtype="float32", of="int32") -> bytes:
    """`lengths` is an array (a constant) or None (an input)."""
    operand = Tensor((shape[batch],), of) if lengths is None else np.asarray(lengths, of)
    options = {"seq_dim": time, "batch_dim": batch}
    operands = [Tensor(shape, dtype), operand]
    return single_op_model("REVERSE_SEQUENCE", operands, [Tensor(shape, dtype)], options)


# shape, time, batch
SHAPES = {
    "batch first": ((3, 5, 2), 1, 0),
    "time first": ((4, 3, 2), 0, 1),
    "time last": ((2, 3, 7), 2, 0),
    "batch last": ((5, 2, 3), 0, 2),
    "a matrix": ((4, 6), 1, 0),
    "a matrix, time first": ((6, 4), 0, 1),
    "rank 4, axes in the middle": ((2, 3, 4, 5), 2, 1),
    "rank 5": ((2, 2, 3, 1, 4), 2, 4),
    "one sequence": ((1, 7), 1, 0),
    "one step": ((3, 1, 2), 1, 0),
}


@pytest.mark.parametrize("of", ["int32", "int64"])
@pytest.mark.parametrize("is_known", [True, False], ids=["known", "computed"])
@pytest.mark.parametrize("case", SHAPES.values(), ids=SHAPES)
def test_sequences_are_reversed_as_in_litert(case, is_known: bool, of: str) -> None:
    shape, time, batch = case
    generator = np.random.default_rng(sum(shape) + time)
    lengths = generator.integers(0, shape[time] + 1, shape[batch]).astype(of)
    x = generator.normal(size=shape).astype(np.float32)
    data = reverse_model(shape, time, batch, lengths if is_known else None, of=of)
    check_model(data, [[x] if is_known else [x, lengths]], run_litert_reference, rtol=0.0)


def test_random_sequences_equal_litert_in_meaning() -> None:
    generator = np.random.default_rng(4)
    for number in range(150):
        shape = tuple(int(n) for n in generator.integers(1, 6, generator.integers(2, 6)))
        time, batch = (int(axis) for axis in generator.permutation(len(shape))[:2])
        dtype = ("float32", "uint8", "int16", "int32", "int64")[number % 5]
        lengths = generator.integers(0, shape[time] + 1, shape[batch]).astype(np.int32)
        data = reverse_model(shape, time, batch, None if number % 2 else lengths, dtype)
        x = generator.integers(0, 100, shape).astype(dtype)
        arrays = [x, lengths] if number % 2 else [x]
        (got,) = run_graph(read_tflite(data, "m.tflite"), arrays)
        expect_equal(got, run_litert_reference(data, arrays)[0], f"{shape} {time} {batch}")


@pytest.mark.parametrize("dtype", ["int8", "bool"])
def test_elements_that_litert_refuses_move_alike(dtype: str) -> None:
    x = np.arange(12).reshape(3, 4).astype(dtype)
    want = x.copy()
    want[0, :3], want[1, :2] = x[0, 2::-1], x[1, 1::-1]
    data = reverse_model((3, 4), 1, 0, [3, 2, 0], dtype)
    check_model(data, [[x]], lambda *_: [want])


def test_computed_lengths_outside_stay_inside_the_tensor() -> None:
    x = np.arange(8, dtype=np.float32).reshape(2, 4)
    lengths = np.array([-5, 6], np.int32)
    want = np.stack([x[0], x[1, [3, 3, 3, 2]]])
    check_model(reverse_model((2, 4), 1, 0, None), [[x, lengths]], lambda *_: [want], rtol=0.0)


REFUSED = {
    "one axis for both": (((3, 4), 1, 1, [1, 1, 1, 1]), "time and batch at once"),
    "time outside": (((3, 4), 2, 0, [1, 1, 1]), "axis 2 is outside rank 2"),
    "time far outside": (((3, 4), -7, 0, [1, 1, 1]), "axis -7 is outside rank 2"),
    "too few lengths": (((3, 4), 1, 0, [1, 1]), "expected 3 lengths"),
    "a matrix of lengths": (((3, 4), 1, 0, [[1], [1], [1]]), "expected 3 lengths"),
    "a length below zero": (((3, 4), 1, 0, [1, -1, 1]), "a length of -1 in an axis of 4"),
    "a length beyond": (((3, 4), 1, 0, [1, 5, 1]), "a length of 5 in an axis of 4"),
}


@pytest.mark.parametrize(("arguments", "said"), REFUSED.values(), ids=REFUSED)
def test_sequences_that_do_not_fit_are_refused(arguments, said: str) -> None:
    with pytest.raises(GlowmcuError, match=said) as caught:
        compile_model(reverse_model(*arguments), "m.tflite", Options("m"))
    assert caught.value.problems[0].code == "GM106"


def test_lengths_of_another_type_are_refused() -> None:
    data = reverse_model((3, 4), 1, 0, None, of="float32")
    with pytest.raises(GlowmcuError, match="of int32 or int64, got float32"):
        compile_model(data, "m.tflite", Options("m"))
