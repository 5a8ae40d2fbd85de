"""Reshapes cost nothing; shapes that a model computes are known when it is compiled."""

from __future__ import annotations

import numpy as np
import pytest

from glowmcu.compilation import Options
from glowmcu.errors import GlowmcuError
from glowmcu.frontend.tflite.writer import ModelBuilder
from glowmcu.input_options import InputOptions
from glowmcu.pipeline import compile_model, reference_graph
from tests.support.check_model import check_model
from tests.support.oracle import run_litert_reference, run_tflm
from tests.support.single_op import Tensor, ints, single_op_model


def reshape_of(shape: tuple[int, ...]) -> tuple[int, ...]:
    data = single_op_model("RESHAPE", [Tensor((2, 6)), ints(*shape)], [Tensor((3, 4))])
    return compile_model(data, "m.tflite", Options("m")).imported.outputs[0].type.shape


def test_reshape_equals_tflm_and_costs_nothing() -> None:
    data = single_op_model("RESHAPE", [Tensor((2, 6)), ints(3, -1)], [Tensor((3, 4))])
    assert not check_model(data, oracle=run_tflm, count=1).plan.program.runs


def test_a_shape_for_another_batch_gives_way_to_the_declared_one() -> None:
    assert reshape_of((6, 4)) == (3, 4)
    assert reshape_of((3, -1)) == (3, 4)
    assert reshape_of((-3, -4)) == (3, 4)


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_expand_dims_equals_tflm(axis: int) -> None:
    out = [2, 3]
    out.insert(axis % 3, 1)
    data = single_op_model("EXPAND_DIMS", [Tensor((2, 3)), ints(axis)], [Tensor(tuple(out))])
    check_model(data, oracle=run_tflm, count=1)


@pytest.mark.parametrize(("dims", "out"), [([], (2, 3)), ([0], (2, 1, 3)), ([-2], (1, 2, 3))])
def test_squeeze_equals_tflm(dims: list[int], out: tuple[int, ...]) -> None:
    data = single_op_model("SQUEEZE", [Tensor((1, 2, 1, 3))], [Tensor(out)], {"squeeze_dims": dims})
    check_model(data, oracle=run_tflm, count=1)


@pytest.mark.parametrize(("dims", "out"), [([], (1, 3)), ([1], (1, 1, 3)), ([-3, 2], (1, 3))])
def test_a_squeeze_declared_for_another_size_goes_by_its_axes(
    dims: list[int], out: tuple[int, ...]
) -> None:
    """A file whose input is open declares results for 1."""
    model = ModelBuilder()
    x = model.input("x", (1, 1, 1, 3), "float32", shape_signature=(-1, 1, 1, 3))
    y = model.tensor("y", out, "float32", shape_signature=(-1, *out[1:]))
    model.op("SQUEEZE", [x], [y], {"squeeze_dims": dims})
    model.output(y)
    data = model.finish()
    options = InputOptions(shapes={"x": (5, 1, 1, 3)})
    assert reference_graph(data, "m.tflite", inputs=options).outputs[0].type.shape == (5, *out[1:])


def test_a_squeeze_of_a_long_axis_is_refused() -> None:
    data = single_op_model("SQUEEZE", [Tensor((2, 3))], [Tensor((6,))], {"squeeze_dims": [0]})
    with pytest.raises(GlowmcuError) as caught:
        compile_model(data, "m.tflite", Options("m"))
    assert "squeeze: (2, 3) does not squeeze to (6,)" in str(caught.value)


def test_a_reshape_to_another_size_is_refused() -> None:
    data = single_op_model("RESHAPE", [Tensor((2, 6)), ints(5)], [Tensor((5,))])
    with pytest.raises(GlowmcuError) as caught:
        compile_model(data, "m.tflite", Options("m"))
    assert "cannot reshape (2, 6) to (5,): sizes differ" in str(caught.value)


def computed_reshape() -> bytes:
    """x -> SHAPE -> its batch -> PACK with -1 -> RESHAPE: how exporters flatten."""
    model = ModelBuilder()
    x = model.input("x", (2, 3, 4), "int8", 0.5, -3)
    shape = model.tensor("shape", (3,), "int32")
    model.op("SHAPE", [x], [shape], {"out_type": "INT32"})
    batch = model.tensor("batch", (), "int32")
    bounds = [model.constant(f"b{i}", ints(value)) for i, value in enumerate((0, 1, 1))]
    model.op("STRIDED_SLICE", [shape, *bounds], [batch], {"shrink_axis_mask": 1})
    wanted = model.tensor("wanted", (2,), "int32")
    rest = model.constant("rest", np.array(-1, np.int32))
    model.op("PACK", [batch, rest], [wanted], {"values_count": 2, "axis": 0})
    y = model.tensor("y", (2, 12), "int8", 0.5, -3)
    model.op("RESHAPE", [x, wanted], [y])
    model.output(y)
    return model.finish()


def test_a_computed_shape_is_known_at_compile_time() -> None:
    compilation = check_model(computed_reshape(), oracle=run_litert_reference, count=1)
    assert not compilation.plan.program.runs


def test_a_computed_shape_follows_another_input_shape() -> None:
    options = Options("m", inputs=InputOptions({"x": (5, 3, 4)}))
    compilation = compile_model(computed_reshape(), "m.tflite", options)
    assert compilation.imported.outputs[0].type.shape == (5, 12)


def test_filled_and_counted_tensors_are_constants() -> None:
    model = ModelBuilder()
    x = model.input("x", (2, 4), "int32")
    filled = model.tensor("filled", (2, 4), "int32")
    seven = model.constant("seven", np.array(7, np.int32))
    model.op("FILL", [model.constant("dims", ints(2, 4)), seven], [filled])
    zeros = model.tensor("zeros", (2, 4), "int32")
    model.op("ZEROS_LIKE", [x], [zeros])
    counted = model.tensor("counted", (4,), "int32")
    bounds = [model.constant(f"r{i}", np.array(v, np.int32)) for i, v in enumerate((9, -2, -3))]
    model.op("RANGE", bounds, [counted])
    rank = model.tensor("rank", (), "int32")
    model.op("RANK", [x], [rank])
    row = model.tensor("row", (1, 4), "int32")
    model.op("RESHAPE", [counted, model.constant("rows", ints(1, 4))], [row])
    y = model.tensor("y", (7, 4), "int32")
    model.op("CONCATENATION", [x, filled, zeros, row], [y], {"axis": 0})
    model.output(y)
    check_model(model.finish(), oracle=run_litert_reference, count=1)


def test_fill_with_a_computed_value_equals_tflm() -> None:
    data = single_op_model("FILL", [ints(2, 3), Tensor((), "int32")], [Tensor((2, 3), "int32")])
    check_model(data, oracle=run_tflm, count=1)


@pytest.mark.parametrize(
    ("bounds", "text"),
    [
        ((0, 5, 0), "range: expected three numbers, the step not 0"),
        ((0, 2**31 - 1, 1), "a constant of shape 2147483647 takes 16 GiB, and 16 MiB are allowed"),
    ],
)
def test_ranges_that_make_no_sense_are_refused(bounds: tuple[int, ...], text: str) -> None:
    operands = [np.array(bound, np.int32) for bound in bounds]
    data = single_op_model("RANGE", operands, [Tensor((5,), "int32")])
    with pytest.raises(GlowmcuError) as caught:
        compile_model(data, "m.tflite", Options("m"))
    assert text in str(caught.value)


def test_a_shape_that_the_file_leaves_open_is_inferred() -> None:
    data = single_op_model("TRANSPOSE", [Tensor((2, 3)), ints(1, 0)], [Tensor(())])
    compilation = compile_model(data, "m.tflite", Options("m"))
    assert compilation.imported.outputs[0].type.shape == (3, 2)
