"""DYNAMIC_UPDATE_SLICE equals TensorFlow Lite Micro, and no start makes it write outside."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import glowmcu
from glowmcu.compilation import Options
from glowmcu.errors import GlowmcuError
from glowmcu.frontend.tflite.reader import read_tflite
from glowmcu.frontend.tflite.writer import ModelBuilder
from glowmcu.ir.interpreter import Session, run_graph
from glowmcu.pipeline import compile_model
from tests.support.check_model import check_model, expect_equal
from tests.support.oracle import open_tflm, run_litert_reference, run_tflm
from tests.support.single_op import Tensor, single_op_model

LEAST, MOST = -(2**31), 2**31 - 1


def update_model(shape, part, starts=None, dtype="int8", of="int32", knows_x=False) -> bytes:
    """`starts` is a list (a constant) or None (an input)."""
    x = np.ones(shape, dtype) if knows_x else Tensor(shape, dtype)
    known = Tensor((len(shape),), of) if starts is None else np.array(starts, of)
    operands = [x, Tensor(part, dtype), known]
    return single_op_model("DYNAMIC_UPDATE_SLICE", operands, [Tensor(shape, dtype)])


# shape, part
SHAPES = {
    "a vector": ((9,), (4,)),
    "an element": ((9,), (1,)),
    "rows": ((5, 6), (2, 6)),
    "columns": ((5, 6), (5, 3)),
    "a corner": ((5, 6), (2, 3)),
    "a row of a cache": ((1, 16, 2, 8), (1, 1, 2, 8)),
    "axes in turns": ((3, 4, 5, 6), (1, 4, 2, 6)),
    "every axis": ((3, 4, 3, 4), (2, 3, 1, 2)),
    "rank 6": ((2, 3, 2, 3, 2, 3), (1, 2, 2, 1, 1, 3)),
    "long runs": ((4, 64), (2, 33)),
    "all of it": ((3, 4), (3, 4)),
    "channels of an image": ((1, 4, 3, 6), (1, 4, 3, 2)),
    "a channel of two images": ((2, 3, 2, 9), (2, 3, 2, 1)),
}


def arrays_for(generator: np.random.Generator, shape, part, dtype: str):
    """A tensor and a part of it."""
    if dtype == "float32":
        return [generator.normal(size=s).astype(np.float32) for s in (shape, part)]
    limits = (0, 2) if dtype == "bool" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
    return [generator.integers(*limits, s).astype(dtype) for s in (shape, part)]


@pytest.mark.parametrize("is_known", [True, False], ids=["known", "computed"])
@pytest.mark.parametrize("case", SHAPES.values(), ids=SHAPES)
def test_parts_are_replaced_as_in_tflm(case, is_known: bool) -> None:
    shape, part = case
    generator = np.random.default_rng(sum(shape))
    sets = []
    starts = generator.integers(-2, 6, (1 if is_known else 5, len(shape))).astype(np.int32)
    for start in starts:
        arrays = arrays_for(generator, shape, part, "int8")
        sets.append([a for a in (*arrays, None if is_known else start) if a is not None])
    data = update_model(shape, part, list(map(int, starts[0])) if is_known else None)
    check_model(data, sets, run_tflm)


@pytest.mark.parametrize("start", [-3, 1, 4, 9])
def test_channels_beyond_an_end_are_the_last_that_there_are(start: int) -> None:
    shape, part = SHAPES["channels of an image"]
    arrays = arrays_for(np.random.default_rng(4), shape, part, "int8")
    check_model(update_model(shape, part, [0, 2, 0, start]), [arrays], run_tflm)


@pytest.mark.parametrize("of", ["int32", "int64"])
@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "float32"])
def test_elements_and_starts_of_any_type_equal_tflm(dtype: str, of: str) -> None:
    data = update_model((4, 5), (2, 3), None, dtype, of)
    generator = np.random.default_rng(1)
    wild = [LEAST, -1, 0, 1, 2, 3, MOST] + [-(2**63), 2**63 - 1, 2**32 + 1] * (of == "int64")
    sets = [
        [*arrays_for(generator, (4, 5), (2, 3), dtype), np.array([a, b], of)]
        for a in wild for b in wild[::2]
    ]  # fmt: skip
    check_model(data, sets, run_tflm, rtol=0.0)


@pytest.mark.parametrize("dtype", ["bool", "int64"])
def test_elements_that_tflm_refuses_move_as_in_litert(dtype: str) -> None:
    generator = np.random.default_rng(2)
    arrays = arrays_for(generator, (4, 5), (2, 3), dtype)
    data = update_model((4, 5), (2, 3), None, dtype)
    check_model(data, [[*arrays, np.array([1, 9], np.int32)]], run_litert_reference)


def test_random_updates_equal_tflm_in_meaning() -> None:
    generator = np.random.default_rng(5)
    for _ in range(200):
        shape = tuple(int(n) for n in generator.integers(1, 6, generator.integers(1, 6)))
        part = tuple(int(generator.integers(1, size + 1)) for size in shape)
        dtype, of = str(generator.choice(["int8", "int16", "int32"])), generator.integers(2)
        starts = generator.integers(-3, 8, len(shape)).astype(("int32", "int64")[of])
        data = update_model(shape, part, None, dtype, str(starts.dtype))
        arrays = [*arrays_for(generator, shape, part, dtype), starts]
        (got,) = run_graph(read_tflite(data, "m.tflite"), arrays)
        expect_equal(got, run_tflm(data, arrays)[0], f"{shape} {part} {starts}")


def test_a_known_tensor_is_updated() -> None:
    data = update_model((4, 5), (2, 3), knows_x=True)
    part = np.full((2, 3), -7, np.int8)
    sets = [[part, np.array(start, np.int32)] for start in ([0, 0], [2, 1], [1, 2], [9, 9])]
    check_model(data, sets, run_tflm)


@pytest.mark.parametrize("part", [(0, 4), (2, 0), (0, 0)])
def test_a_part_without_elements_replaces_nothing(part) -> None:
    operands = [Tensor((3, 4)), np.zeros(part, np.int8), Tensor((2,), "int32")]
    data = single_op_model("DYNAMIC_UPDATE_SLICE", operands, [Tensor((3, 4))])
    x = np.arange(12, dtype=np.int8).reshape(3, 4)
    check_model(data, [[x, np.array([1, 1], np.int32)]], run_tflm)


def cache_model(rows: int = 12, width: int = 8) -> bytes:
    """A variable of which every run replaces a row at a place that it is told, and its mean."""
    model, quantization = ModelBuilder(), ("int8", 0.5, 0)
    x = model.input("x", (1, 1, width), *quantization)
    at = model.input("at", (3,), "int32")
    handle = model.tensor("handle", (), "resource")
    old = model.tensor("old", (1, rows, width), *quantization)
    new = model.tensor("new", (1, rows, width), *quantization)
    total = model.tensor("total", (1, width), "int8", 0.7, 3)
    model.op("VAR_HANDLE", [], [handle], {"shared_name": "cache"})
    model.op("READ_VARIABLE", [handle], [old])
    model.op("DYNAMIC_UPDATE_SLICE", [old, x, at], [new])
    model.op("ASSIGN_VARIABLE", [handle, new], [])
    axis = model.constant("axis", np.array([1], np.int32))
    model.op("MEAN", [new, axis], [total], {"keep_dims": False})
    model.output(total)
    return model.finish()


def test_a_cache_is_updated_where_it_lies(tmp_path: Path) -> None:
    data = cache_model()
    (tmp_path / "m.tflite").write_bytes(data)
    bundle = glowmcu.compile(tmp_path / "m.tflite", output=tmp_path / "m")
    session, meaning, oracle = bundle.session(), Session(read_tflite(data, "m.t")), open_tflm(data)
    generator = np.random.default_rng(3)
    for run in range(40):
        arrays = [
            generator.integers(-128, 128, (1, 1, 8)).astype(np.int8),
            np.array([0, run % 15 - 1, 0], np.int32),
        ]
        (want,) = oracle(arrays)
        expect_equal(meaning.run(arrays)[0], want, f"run {run}")
        expect_equal(session.run(arrays)[0], want, f"run {run} in C")
    assert bundle.report.arena_bytes < 2 * 12 * 8


REFUSED = {
    "a part too long": (update_model((3, 4), (2, 5)), "a part of .* does not fit"),
    "a part of another rank": (update_model((3, 4), (4,)), "a part of .* does not fit"),
    "no axes": (update_model((), ()), "expected a start for each axis"),
    "a start too few": (update_model((3, 4), (1, 1), [1]), "expected a start for each axis"),
    "a matrix of starts": (update_model((3, 4), (1, 1), [[1, 1]]), "a start for each axis"),
    "starts of int16": (update_model((3, 4), (1, 1), [1, 1], of="int16"), "starts of i32 or i64"),
    "types": (
        single_op_model(
            "DYNAMIC_UPDATE_SLICE",
            [Tensor((4,)), Tensor((2,), "int16"), Tensor((1,), "int32")],
            [Tensor((4,))],
        ),
        "expected a part and a result like",
    ),
    "an operand too few": (
        single_op_model("DYNAMIC_UPDATE_SLICE", [Tensor((4,)), Tensor((2,))], [Tensor((4,))]),
        "2 operands and 1 results",
    ),
}


@pytest.mark.parametrize(("data", "said"), REFUSED.values(), ids=REFUSED)
def test_updates_that_do_not_fit_are_refused(data: bytes, said: str) -> None:
    with pytest.raises(GlowmcuError, match=said) as caught:
        compile_model(data, "m.tflite", Options("m"))
    assert caught.value.problems[0].code == "GM106"
