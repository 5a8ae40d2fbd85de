"""FULLY_CONNECTED and BATCH_MATMUL equal TensorFlow Lite Micro."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest

from glowmcu.compilation import Options
from glowmcu.errors import GlowmcuError
from glowmcu.frontend.tflite.writer import ModelBuilder
from glowmcu.pipeline import compile_model
from tests.support.check_model import check_model
from tests.support.oracle import run_tflm


@dataclass(frozen=True)
class Dense:
    rows: int
    depth_in: int
    depth_out: int
    shape: tuple[int, ...] | None = None
    keep_dims: bool = False
    bias: bool = True
    per_channel: bool = False
    activation: str = "NONE"
    scale: float = 0.1
    zero_point: int = -7
    out_scale: float = 0.9
    out_zero_point: int = 9
    weights: int | None = None
    weights_scale: float = 0.02
    weights_zero_point: int = 0
    weights_type: str = "int8"
    #: Of weights from -127 on, as quantizers give them.
    symmetric: bool = False


FLOAT32_PRODUCT = float(np.float32(0.1) * np.float32(0.1))
DENSE_CASES = {
    "one input, one output": Dense(1, 1, 1),
    "three outputs": Dense(1, 16, 3),
    "four outputs": Dense(1, 16, 4),
    "five outputs": Dense(1, 16, 5),
    "prime sizes, several rows": Dense(5, 31, 17),
    "input of rank 4": Dense(1, 24, 6, shape=(1, 2, 3, 4)),
    "input of rank 3, two rows": Dense(2, 12, 6, shape=(2, 3, 4)),
    "dimensions kept": Dense(6, 4, 5, shape=(2, 3, 4), keep_dims=True),
    "no bias": Dense(2, 16, 5, bias=False),
    "a scale for each output": Dense(2, 16, 5, per_channel=True),
    "a scale for each output, no bias": Dense(2, 16, 5, per_channel=True, bias=False),
    "relu": Dense(2, 16, 5, activation="RELU"),
    "relu6": Dense(2, 16, 5, activation="RELU6", out_scale=0.04),
    "relu between -1 and 1": Dense(2, 16, 5, activation="RELU_N1_TO_1"),
    "weights zero point 5": Dense(2, 16, 5, weights_zero_point=5),
    "weights zero point -128": Dense(2, 16, 6, weights_zero_point=-128),
    "weights all -128, input zero point 127": Dense(2, 16, 5, zero_point=127, weights=-128),
    "weights all 0": Dense(2, 16, 5, weights=0),
    "int4 weights, odd count": Dense(2, 7, 5, weights_type="int4"),
    "scale above 1": Dense(2, 16, 5, out_scale=1e-4),
    "scale of exactly 1/2": Dense(2, 16, 5, scale=0.5, weights_scale=0.5, out_scale=0.5),
    "tiny scale": Dense(2, 16, 5, out_scale=500.0),
    # The oracle multiplies the scales in double; in float32 odd sums would round up here.
    "scale just below 1/2": Dense(
        64, 1, 1, scale=0.1, weights_scale=0.1, out_scale=2 * FLOAT32_PRODUCT, weights=1, bias=False
    ),
}


def dense_model(case: Dense) -> bytes:
    generator = np.random.default_rng(13)
    low, high = (-8, 7) if case.weights_type == "int4" else (-128 + case.symmetric, 127)
    values = generator.integers(low, high + 1, (case.depth_out, case.depth_in))
    if case.weights is not None:
        values = np.full_like(values, case.weights)
    factors = generator.uniform(0.05, 1.5, case.depth_out) if case.per_channel else np.ones(1)
    scales = case.weights_scale * factors
    shape = case.shape or (case.rows, case.depth_in)
    model = ModelBuilder()
    x = model.input("x", shape, "int8", case.scale, case.zero_point)
    w = model.constant(
        "w", values.astype(np.int8), scales, case.weights_zero_point, dtype=case.weights_type
    )
    bias = None
    if case.bias:
        data = generator.integers(-2000, 2000, case.depth_out).astype(np.int32)
        bias = model.constant("bias", data, np.float32(scales) * np.float32(case.scale))
    out_shape = (*shape[:-1], case.depth_out) if case.keep_dims else (case.rows, case.depth_out)
    y = model.tensor("y", out_shape, "int8", case.out_scale, case.out_zero_point)
    options = {"fused_activation_function": case.activation, "keep_num_dims": case.keep_dims}
    model.op("FULLY_CONNECTED", [x, w, bias], [y], options)
    model.output(y)
    return model.finish()


@pytest.mark.parametrize("case", DENSE_CASES.values(), ids=DENSE_CASES)
def test_fully_connected_equals_tflm(case: Dense) -> None:
    check_model(dense_model(case), oracle=run_tflm)


@dataclass(frozen=True)
class Product:
    """Shapes as stored; `constant` names the operands that are in the file."""

    x: tuple[int, ...]
    y: tuple[int, ...]
    adj_x: bool = False
    adj_y: bool = False
    constant: str = ""
    x_zero_point: int = 3
    y_zero_point: int = -5
    scale: float = 0.11
    out_scale: float = 0.7

    @property
    def out(self) -> tuple[int, ...]:
        rows = self.x[-1] if self.adj_x else self.x[-2]
        columns = self.y[-2] if self.adj_y else self.y[-1]
        return (*np.broadcast_shapes(self.x[:-2], self.y[:-2]), rows, columns)


PRODUCTS = {
    "scale just below 1/2": Product(
        (127, 1), (1, 1), x_zero_point=0, y_zero_point=0, scale=0.1, out_scale=2 * FLOAT32_PRODUCT
    ),
    "one by one": Product((1, 1), (1, 1)),
    "two matrices": Product((3, 4), (4, 5)),
    "x transposed": Product((4, 3), (4, 5), adj_x=True),
    "y transposed": Product((3, 4), (5, 4), adj_y=True),
    "both transposed": Product((4, 3), (5, 4), adj_x=True, adj_y=True),
    "batch of two": Product((2, 3, 7), (2, 7, 5)),
    "batch of x broadcast": Product((1, 3, 4), (5, 4, 2)),
    "batch of y broadcast": Product((5, 3, 4), (1, 4, 2)),
    "y without batch": Product((5, 3, 4), (4, 2)),
    "batches broadcast both ways": Product((2, 1, 3, 4), (1, 3, 4, 2)),
    "rank 5": Product((2, 1, 2, 3, 4), (1, 3, 2, 4, 2)),
    "rank 5, transposed": Product((2, 1, 2, 4, 3), (1, 3, 2, 2, 4), adj_x=True, adj_y=True),
    "small constant y": Product((2, 3, 7), (7, 5), constant="y"),
    "constant y": Product((2, 9, 31), (31, 17), constant="y", out_scale=4.0),
    "constant y, transposed": Product((2, 9, 31), (17, 31), adj_y=True, constant="y"),
    "constant y with zero point 127": Product(
        (9, 31), (31, 17), constant="y", y_zero_point=127, out_scale=9.0
    ),
    "constant y with batch": Product((2, 3, 7), (2, 7, 5), constant="y"),
    "constant y, x transposed": Product((2, 7, 3), (7, 5), adj_x=True, constant="y"),
    "constant x": Product((3, 7), (2, 7, 5), constant="x"),
    "zero points -128 and 127": Product(
        (3, 31), (31, 4), x_zero_point=-128, y_zero_point=127, out_scale=3.0
    ),
    "scale above 1": Product((3, 4), (4, 5), out_scale=0.001),
}


def product_model(case: Product, out_zero_point: int = 4, dtype: str = "int8") -> bytes:
    generator = np.random.default_rng(17)
    model = ModelBuilder()
    operands = []
    sides = [("x", case.x, 0.1, case.x_zero_point), ("y", case.y, case.scale, case.y_zero_point)]
    for name, shape, scale, zero_point in sides:
        if name in case.constant:
            limits = np.iinfo(dtype)
            data = generator.integers(limits.min, limits.max + 1, shape).astype(dtype)
            operands.append(model.constant(name, data, scale, zero_point))
        else:
            operands.append(model.input(name, shape, dtype, scale, zero_point))
    out = model.tensor("out", case.out, dtype, case.out_scale, out_zero_point)
    model.op("BATCH_MATMUL", operands, [out], {"adj_x": case.adj_x, "adj_y": case.adj_y})
    model.output(out)
    return model.finish()


@pytest.mark.parametrize("case", PRODUCTS.values(), ids=PRODUCTS)
def test_batch_matmul_equals_tflm(case: Product) -> None:
    check_model(product_model(case), oracle=run_tflm)


_PLAIN = {"x_zero_point": 0, "y_zero_point": 0, "scale": 1e-3}
WIDE = {
    "two matrices": replace(PRODUCTS["two matrices"], **_PLAIN, out_scale=9.0),
    "both transposed": replace(PRODUCTS["both transposed"], **_PLAIN, out_scale=9.0),
    "batches broadcast both ways": replace(
        PRODUCTS["batches broadcast both ways"], **_PLAIN, out_scale=5.0
    ),
    "constant y": replace(PRODUCTS["constant y"], **_PLAIN, out_scale=20.0),
    "scale above 1": Product((3, 4), (4, 5), x_zero_point=0, y_zero_point=0, out_scale=1e-3),
    "sums beyond int32": Product((2, 3000), (3000, 2), out_scale=3e4, **_PLAIN),
}


@pytest.mark.parametrize("case", WIDE.values(), ids=WIDE)
def test_batch_matmul_of_16_bits_equals_tflm(case: Product) -> None:
    check_model(product_model(case, 0, "int16"), oracle=run_tflm)


def test_a_constant_matrix_goes_through_fully_connected() -> None:
    expected = {
        "constant y": "batch_matmul.fully_connected",
        "constant y, transposed": "batch_matmul.fully_connected",
        "constant y with zero point 127": "batch_matmul.fully_connected",
        "constant y with batch": "batch_matmul.portable",
        "constant y, x transposed": "batch_matmul.portable",
    }
    for name, kernel in expected.items():
        done = compile_model(product_model(PRODUCTS[name]), "m.tflite", Options("m"))
        assert [chosen.kernel_name for chosen in done.selections.values()] == [kernel], name


REFUSED = {
    "depths that differ": (
        Product((3, 4), (5, 2)),
        r"x is \(3, 4\) and y is \(5, 2\): 4 columns meet 5 rows",
    ),
    "sum that may overflow": (Product((1, 40000), (40000, 1)), "40000 products may overflow"),
}


@pytest.mark.parametrize(("case", "text"), REFUSED.values(), ids=REFUSED)
def test_products_that_cannot_be_computed_are_refused(case: Product, text: str) -> None:
    with pytest.raises(GlowmcuError, match=text) as caught:
        compile_model(product_model(case), "m.tflite", Options("m"))
    assert caught.value.problems[0].code == "GM106"


WIDE_REFUSED = {
    "zero point": (replace(WIDE["two matrices"], x_zero_point=1), "zero point 0"),
    "scale of 128": (replace(WIDE["two matrices"], out_scale=1e-4 / 128), "must be below 128"),
    "as many products as 47 bits": (
        Product((1, 1 << 17), (1 << 17, 1), **_PLAIN),
        "131072 products",
    ),
}


@pytest.mark.parametrize(("case", "text"), WIDE_REFUSED.values(), ids=WIDE_REFUSED)
def test_products_that_16_bits_cannot_express_are_refused(case: Product, text: str) -> None:
    with pytest.raises(GlowmcuError, match=text):
        compile_model(product_model(case, 0, "int16"), "m.tflite", Options("m"))
