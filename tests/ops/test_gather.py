"""Gathering equals TensorFlow Lite Micro, and no index can make it read beyond its tensor."""

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
from tests.support.single_op import Tensor, single_op_model

# shape, indices' shape, axis, batch_dims
GATHERS = {
    "vector": ((5,), (3,), 0, 0),
    "rows": ((6, 4), (2,), 0, 0),
    "columns": ((3, 7), (4,), 1, 0),
    "one index without an axis": ((3, 4), (), 0, 0),
    "matrix of indices in the middle": ((2, 5, 3), (2, 2), 1, 0),
    "negative axis": ((2, 3, 4), (3,), -1, 0),
    "batch": ((3, 5, 2), (3, 4), 1, 1),
    "batch with an axis between": ((2, 3, 4), (2, 2), 2, 1),
    "negative batch axes": ((2, 4), (2, 3), 1, -1),
}


def gather_model(shape, indices, axis, batch_dims, dtype: str = "int8") -> bytes:
    """`indices` is an array (a constant) or a shape (an input)."""
    index_shape = indices.shape if isinstance(indices, np.ndarray) else indices
    positive = axis % len(shape)
    batch = batch_dims if batch_dims >= 0 else batch_dims + len(index_shape)
    out = (*shape[:positive], *index_shape[batch:], *shape[positive + 1 :])
    operand = indices if isinstance(indices, np.ndarray) else Tensor(indices, "int32")
    return single_op_model(
        "GATHER",
        [Tensor(shape, dtype), operand],
        [Tensor(out, dtype)],
        {"axis": axis, "batch_dims": batch_dims},
    )


@pytest.mark.parametrize("known", [True, False], ids=["known", "computed"])
@pytest.mark.parametrize(("shape", "indices", "axis", "batch_dims"), GATHERS.values(), ids=GATHERS)
def test_gather_equals_tflm(shape, indices, axis, batch_dims, known: bool) -> None:
    generator = np.random.default_rng(7)
    positions = generator.integers(0, shape[axis], indices).astype(np.int32)
    x = generator.integers(-128, 128, shape).astype(np.int8)
    if known:
        data = gather_model(shape, np.asarray(positions), axis, batch_dims)
        check_model(data, [[x]], run_tflm)
    else:
        data = gather_model(shape, indices, axis, batch_dims)
        check_model(data, [[x, np.asarray(positions)]], run_tflm)


@pytest.mark.parametrize("kind", ["GATHER", "GATHER_ND"])
@pytest.mark.parametrize("known", [True, False], ids=["known", "computed"])
def test_places_may_be_int64(kind: str, known: bool) -> None:
    """As Keras' take_along_axis has them; TensorFlow Lite Micro takes int32 alone."""
    places = np.array([[1, 3], [2, 0]], np.int64)
    x = np.arange(20, dtype=np.float32).reshape(4, 5)
    operand = places if known else Tensor(places.shape, "int64")
    shape, options = ((2, 2, 5), {"axis": 0}) if kind == "GATHER" else ((2,), {})
    tensors = [Tensor(x.shape, "float32"), operand]
    data = single_op_model(kind, tensors, [Tensor(shape, "float32")], options)
    check_model(data, [[x] if known else [x, places]], run_litert_reference)


@pytest.mark.parametrize("dtype", ["int16", "int32", "int64", "float32", "bool"])
def test_gather_moves_elements_of_any_size(dtype: str) -> None:
    data = gather_model((4, 3), np.array([3, 0, 3], np.int32), 0, 0, dtype)
    check_model(data, oracle=run_litert_reference, count=1)


def test_computed_indices_outside_the_axis_are_clamped() -> None:
    data = gather_model((4, 3), (6,), 0, 0)
    x = np.arange(12, dtype=np.int8).reshape(4, 3)
    indices = np.array([-1, 4, 2**31 - 1, -(2**31), 3, 0], np.int32)
    compilation = check_model(data, [[x, indices]])
    (result,) = run_graph(compilation.imported, [x, indices])
    np.testing.assert_array_equal(result, x[[0, 3, 3, 0, 3, 0]])


def test_known_indices_outside_the_axis_are_refused() -> None:
    data = gather_model((4, 3), np.array([0, 4], np.int32), 0, 0)
    with pytest.raises(GlowmcuError) as caught:
        compile_model(data, "m.tflite", Options("m"))
    assert "gather: index [4] is outside [4]" in str(caught.value)


def test_indices_of_another_type_are_refused() -> None:
    operands = [Tensor((4, 3)), Tensor((2,), "int16")]
    data = single_op_model("GATHER", operands, [Tensor((2, 3))], {"axis": 0})
    with pytest.raises(GlowmcuError, match="expected i32 indices, got int16"):
        compile_model(data, "m.tflite", Options("m"))


# shape, indices' shape
COORDINATES = {
    "elements": ((3, 4), (5, 2)),
    "rows": ((4, 3), (2, 1)),
    "slices of two axes": ((2, 3, 4, 2), (2, 3, 2)),
    "one element": ((3, 4), (2,)),
}


@pytest.mark.parametrize(("shape", "indices"), COORDINATES.values(), ids=COORDINATES)
def test_gather_nd_equals_tflm(shape, indices) -> None:
    generator = np.random.default_rng(7)
    depth = indices[-1]
    positions = generator.integers(0, shape[:depth], indices).astype(np.int32)
    out = (*indices[:-1], *shape[depth:])
    x = generator.integers(-128, 128, shape).astype(np.int8)
    operands = [Tensor(shape), Tensor(indices, "int32")]
    check_model(single_op_model("GATHER_ND", operands, [Tensor(out)]), [[x, positions]], run_tflm)


def test_coordinates_outside_the_tensor_are_clamped() -> None:
    operands = [Tensor((3, 4)), Tensor((3, 2), "int32")]
    data = single_op_model("GATHER_ND", operands, [Tensor((3,))])
    x = np.arange(12, dtype=np.int8).reshape(3, 4)
    indices = np.array([[-5, 9], [2**31 - 1, -1], [1, 2]], np.int32)
    compilation = check_model(data, [[x, indices]])
    (result,) = run_graph(compilation.imported, [x, indices])
    assert result.tolist() == [3, 8, 6]


def test_known_coordinates_outside_the_tensor_are_refused() -> None:
    operands = [Tensor((3, 4)), np.array([[0, 1], [2, 4]], np.int32)]
    data = single_op_model("GATHER_ND", operands, [Tensor((2,))])
    with pytest.raises(GlowmcuError) as caught:
        compile_model(data, "m.tflite", Options("m"))
    assert "gather_nd: index [2, 4] is outside [3, 4]" in str(caught.value)


def lookup_model(table, rows, out="float32", scale=0.5, zero_point=0, out_scale=(0.5, 0)) -> bytes:
    """`table` and `rows` are arrays (constants) or shapes (inputs); `rows` may be a shape too."""
    model = ModelBuilder()
    is_int8 = not isinstance(table, np.ndarray) or table.dtype == np.int8
    quantization = (scale, zero_point) if is_int8 else ()
    if isinstance(rows, np.ndarray):
        index = model.constant("rows", rows)
    else:
        index = model.input("rows", rows, "int32")
    if isinstance(table, np.ndarray):
        values = model.constant("table", table, *quantization)
    else:
        values = model.input("table", table, "int8", *quantization)
    count = rows.shape if isinstance(rows, np.ndarray) else rows
    shape = (*count, *(table.shape if isinstance(table, np.ndarray) else table)[1:])
    y = model.tensor("y", shape, out, *(out_scale if out == "int8" else ()))
    model.op("EMBEDDING_LOOKUP", [index, values], [y])
    model.output(y)
    return model.finish()


@pytest.mark.parametrize("out", ["float32", "int8"])
@pytest.mark.parametrize("shape", [(5, 3), (1, 1), (7, 2, 3), (130, 17), (3, 1, 2, 2)])
def test_embeddings_of_int8_equal_tflm(shape, out: str) -> None:
    generator = np.random.default_rng(sum(shape))
    table = generator.integers(-128, 128, shape).astype(np.int8)
    rows = generator.integers(0, shape[0], 6).astype(np.int32)
    check_model(lookup_model(table, (6,), out, 0.0371), [[rows]], run_tflm, rtol=0.0)


def test_random_embeddings_equal_tflm_to_the_bit() -> None:
    generator = np.random.default_rng(8)
    for number in range(150):
        shape = tuple(int(n) for n in generator.integers(1, 9, generator.integers(2, 5)))
        rows = generator.integers(0, shape[0], generator.integers(1, 9)).astype(np.int32)
        table = generator.integers(-128, 128, shape).astype(np.int8)
        if number % 3 == 0:
            data = lookup_model(generator.normal(size=shape).astype(np.float32), rows.shape)
        else:
            scale = float(np.exp(generator.uniform(-30, 30)))
            data = lookup_model(table, rows.shape, ("float32", "int8")[number % 3 - 1], scale)
        (got,) = run_graph(read_tflite(data, "m.tflite"), [rows])
        expect_equal(got, run_tflm(data, [rows])[0], f"{shape}")


def test_a_computed_table_is_looked_up() -> None:
    table = np.arange(-6, 6, dtype=np.int8).reshape(4, 3)
    rows = np.array([3, 0], np.int32)
    check_model(lookup_model((4, 3), (2,)), [[rows, table]], run_tflm, rtol=0.0)


def test_bytes_are_copied_whatever_scale_the_result_says() -> None:
    table = np.arange(-6, 6, dtype=np.int8).reshape(4, 3)
    data = lookup_model(table, (2,), "int8", zero_point=9, out_scale=(0.1, 4))
    check_model(data, [[np.array([3, 1], np.int32)]], run_tflm)


def test_rows_outside_the_table_are_clamped() -> None:
    table = np.arange(12, dtype=np.float32).reshape(4, 3)
    rows = np.array([-1, 4, 2**31 - 1], np.int32)
    check_model(lookup_model(table, (3,)), [[rows]], lambda *_: [table[[0, 3, 3]]], rtol=0.0)


TABLE = np.zeros((4, 3), np.int8)
REFUSED = {
    "a row beyond": ((TABLE, np.array([0, 4], np.int32)), "index \\[4\\] is outside \\[4\\]"),
    "a zero point": ((TABLE, (2,), "float32", 0.5, 3), "one a row, and zero points 0"),
    "no scale": ((TABLE, (2,), "float32", None), "one a row, and zero points 0"),
    "a vector": ((TABLE[0], (2,)), "rows .* of a table"),
    "a matrix of rows": ((TABLE, (2, 2)), "rows .* of a table"),
    "int16": ((TABLE.astype(np.int16), (2,), "int16"), "expected float32 or int8, got int16"),
    "float32 to int8": ((TABLE.astype(np.float32), (2,), "int8"), "does not become int8"),
    "int8 to int16": ((TABLE, (2,), "int16"), "does not become int16"),
}


@pytest.mark.parametrize(("arguments", "said"), REFUSED.values(), ids=REFUSED)
def test_embeddings_that_do_not_fit_are_refused(arguments, said: str) -> None:
    with pytest.raises(GlowmcuError, match=said) as caught:
        compile_model(lookup_model(*arguments), "m.tflite", Options("m"))
    assert caught.value.problems[0].code == "GM106"
