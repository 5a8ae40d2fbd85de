"""QuantizeLinear and its relatives equal onnxruntime: ties, borders, axes, blocks, ranges."""

from __future__ import annotations

import numpy as np
import pytest

from glowmcu.compilation import Options
from glowmcu.errors import GlowmcuError
from glowmcu.pipeline import compile_model
from tests.support.check_model import check_model
from tests.support.onnx_models import onnx_model, run_onnxruntime

F32 = "float32"


def scalar(value: float, dtype: str = F32) -> np.ndarray:
    return np.array(value, dtype)


@pytest.mark.parametrize(("dtype", "zero_point"), [("int8", -3), ("uint8", 128), ("uint8", 0)])
def test_halves_go_to_the_even_neighbour_and_what_is_beyond_saturates(dtype, zero_point) -> None:
    ties = (np.arange(-600, 600) / 2 * 0.25).astype(np.float32)
    x = np.concatenate([ties, np.float32([np.inf, -np.inf, 1e9, -1e9, 0.0, -0.0])])
    below, above = np.nextafter(x, np.float32(-1e30)), np.nextafter(x, np.float32(1e30))
    x = np.concatenate([x, below, above])
    operands = [("x", F32, x.shape), scalar(0.25), scalar(zero_point, dtype)]
    with np.errstate(over="ignore"):
        whole = np.round(x.astype(np.float32) / np.float32(0.25)) + zero_point
    limits = np.iinfo(dtype)
    want = np.clip(whole, limits.min, limits.max).astype(dtype)
    data = onnx_model("QuantizeLinear", operands)
    check_model(data, [[x]], oracle=lambda model, inputs: [want])


@pytest.mark.parametrize("axis", [0, 1, -1, None])
def test_each_slice_has_its_own_scale(axis) -> None:
    """Along axis 1 where the file does not say."""
    shape = (3, 4, 5)
    count = shape[1 if axis is None else axis]
    where = {} if axis is None else {"axis": axis}
    scales = np.linspace(0.01, 0.2, count).astype(np.float32)
    points = np.arange(count).astype(np.uint8) * 40
    x = np.random.default_rng(1).normal(0, 3, shape).astype(np.float32)
    data = onnx_model("QuantizeLinear", [("x", F32, shape), scales, points], where)
    check_model(data, [[x]], oracle=run_onnxruntime)
    stored = np.random.default_rng(2).integers(0, 256, shape).astype(np.uint8)
    operands = [("x", "uint8", shape), scales, points]
    data = onnx_model("DequantizeLinear", operands, where)
    check_model(data, [[stored]], oracle=run_onnxruntime)


def test_scales_may_come_at_run_time() -> None:
    operands = [("x", "int8", (3, 4)), ("s", F32, (4,)), ("z", "int8", (4,))]
    generator = np.random.default_rng(3)
    inputs = [generator.integers(-128, 128, (3, 4)).astype(np.int8),
              generator.uniform(0.1, 1, 4).astype(np.float32),
              generator.integers(-128, 128, 4).astype(np.int8)]  # fmt: skip
    data = onnx_model("DequantizeLinear", operands, {"axis": 1})
    check_model(data, [inputs], oracle=run_onnxruntime)


@pytest.mark.parametrize("axis", [0, 1])
def test_blocks_have_a_scale_each(axis) -> None:
    stored = np.random.default_rng(4).integers(-128, 128, (4, 6)).astype(np.int8)
    shape = tuple(n // 2 if position == axis else n for position, n in enumerate((4, 6)))
    scales = np.random.default_rng(5).uniform(0.1, 1, shape).astype(np.float32)
    operands = [("x", "int8", (4, 6)), scales]
    data = onnx_model("DequantizeLinear", operands, {"axis": axis, "block_size": 2}, opset=21)
    want = stored * np.repeat(scales, 2, axis)
    check_model(data, [[stored]], oracle=lambda model, inputs: [want.astype(np.float32)])


def test_int32_is_dequantized_as_a_bias_is() -> None:
    stored = np.array([0, 1, -1, 2**24 + 1, -(2**31)], np.int32)
    data = onnx_model("DequantizeLinear", [("x", "int32", (5,)), scalar(0.003)])
    check_model(data, [[stored]], oracle=run_onnxruntime)


@pytest.mark.parametrize("case", ["around zero", "positive", "negative"])
def test_a_range_measured_at_run_time_equals_onnxruntime(case) -> None:
    x = np.random.default_rng(6).normal(0, 2, (3, 7)).astype(np.float32)
    x = {"around zero": x, "positive": np.abs(x) + 1, "negative": -np.abs(x) - 1}[case]
    data = onnx_model("DynamicQuantizeLinear", [("x", F32, (3, 7))], outputs=3)
    check_model(data, [[x]], oracle=run_onnxruntime)


REFUSED = {
    "blocks that do not divide the axis": (
        "DequantizeLinear",
        ([("x", "int8", (5, 2)), np.ones((3, 2), np.float32)], {"axis": 0, "block_size": 2}),
        "blocks of 2 on an axis of 5",
    ),
    "a scale of zero": (
        "DequantizeLinear", ([("x", "int8", (5,)), scalar(0.0)], {}), "a scale is not positive",
    ),
    "integers to be quantized": (
        "QuantizeLinear", ([("x", "int32", (5,)), scalar(1.0), scalar(0, "int8")], {}),
        "int32[5] to i8 is not supported",
    ),
    "a result without kernels": (
        "QuantizeLinear", ([("x", F32, (5,)), scalar(1.0), scalar(0, "int32")], {}),
        "float32[5] to i32 is not supported",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("kind", "case", "text"), REFUSED.values(), ids=REFUSED)
def test_what_is_refused_says_why(kind, case, text) -> None:
    with pytest.raises(GlowmcuError) as caught:
        compile_model(onnx_model(kind, *case, opset=21), "m.onnx", Options("m"))
    assert f"{kind}: {text}" in str(caught.value)
