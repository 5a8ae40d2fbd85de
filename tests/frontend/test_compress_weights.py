"""Weights compressed for TensorFlow Lite Micro's DECODE: in the shortest form, and the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import glowmcu
from glowmcu.errors import GlowmcuError
from glowmcu.frontend.tflite.compress_weights import CompressedWeights, compressed_weights
from glowmcu.frontend.tflite.compressed_tensors import (
    HUFFMAN,
    LUT,
    PRUNING,
    Compressed,
    decompressed,
)
from glowmcu.frontend.tflite.container import read_container
from glowmcu.frontend.tflite.writer import ModelBuilder
from glowmcu.ir.types import ElementType, Quantization, TensorType
from glowmcu.pipeline import reference_graph
from tests.support.oracle import run_tflm

Array = npt.NDArray[Any]
GENERATOR = np.random.default_rng(3)


def weights_type(shape: tuple[int, ...], axis: int | None = None, point: int = 0) -> TensorType:
    count = 1 if axis is None else shape[axis]
    scales = tuple(GENERATOR.uniform(0.002, 0.02, count).tolist())
    return TensorType(shape, ElementType.I8, Quantization(scales, (point,) * count, axis))


def back(found: CompressedWeights, type_: TensorType) -> Array:
    pair = (np.frombuffer(data, np.uint8) for data in (found.encoded, found.ancillary))
    return decompressed(Compressed(*pair, type_))


def few_values(shape: tuple[int, ...], values: int) -> Array:
    return GENERATOR.choice(GENERATOR.integers(-127, 128, values), shape).astype(np.int8)


def mostly_zero(shape: tuple[int, ...], share: float) -> Array:
    data = GENERATOR.integers(-127, 128, shape).astype(np.int8)
    data[GENERATOR.random(shape) < share] = 0
    return data


def bell(shape: tuple[int, ...], deviation: float) -> Array:
    return np.clip(np.round(GENERATOR.normal(0, deviation, shape)), -127, 127).astype(np.int8)


@pytest.mark.parametrize("axis", [None, 0, 3])
@pytest.mark.parametrize("values", [1, 2, 3, 16, 17, 100])
def test_few_values_take_a_table_and_narrow_indices(values: int, axis: int | None) -> None:
    shape = (8, 40, 5, 8)
    data, type_ = few_values(shape, values), weights_type(shape, axis)
    found = compressed_weights(data, type_)
    assert found is not None
    assert np.array_equal(back(found, type_), data)
    if values <= 16:
        width = max(1, (len(np.unique(data)) - 1).bit_length())
        tables = (1 if axis is None else shape[axis]) * 2**width
        assert found.size_bytes <= -(-data.size * width // 8) + tables + 16


@pytest.mark.parametrize("share", [0.3, 0.6, 0.9, 1.0])
def test_zeros_take_a_bit_each(share: float) -> None:
    data, type_ = mostly_zero((64, 64), share), weights_type((64, 64), 0)
    found = compressed_weights(data, type_)
    assert found is not None
    assert found.size_bytes <= 64 * 64 // 8 + np.count_nonzero(data) + 16
    assert np.array_equal(back(found, type_), data)


@pytest.mark.parametrize("deviation", [1.0, 4.0, 15.0])
def test_codes_come_close_to_the_entropy(deviation: float) -> None:
    data, type_ = bell((128, 128), deviation), weights_type((128, 128))
    found = compressed_weights(data, type_)
    assert found is not None
    assert found.ancillary[0] == HUFFMAN
    shares = np.unique(data, return_counts=True)[1] / data.size
    least = -np.sum(shares * np.log2(shares)) * data.size / 8
    assert least <= len(found.encoded) <= 1.06 * least + 8
    assert np.array_equal(back(found, type_), data)


def test_the_shortest_form_is_taken() -> None:
    kinds = {
        LUT: few_values((64, 64), 16), PRUNING: mostly_zero((64, 64), 0.93),
        HUFFMAN: bell((64, 64), 6.0),
    }  # fmt: skip
    for kind, data in kinds.items():
        found = compressed_weights(data, weights_type((64, 64)))
        assert found is not None
        assert found.ancillary[0] == kind


def test_what_no_form_makes_shorter_stays() -> None:
    data = np.arange(-128, 128).astype(np.int8).reshape(16, 16)
    assert compressed_weights(data, weights_type((16, 16))) is None
    assert compressed_weights(data[:1, :4], weights_type((1, 4))) is None


def test_a_zero_point_forbids_to_leave_zeros_out() -> None:
    data, type_ = mostly_zero((64, 64), 0.93), weights_type((64, 64), point=2)
    found = compressed_weights(data, type_)
    assert found is not None
    assert found.ancillary[0] != PRUNING
    assert np.array_equal(back(found, type_), data)


def network() -> bytes:
    """A convolution, a depthwise one and two products with the same weights."""
    model = ModelBuilder()
    x = model.input("x", (1, 6, 6, 8), "int8", 0.05, 3)
    steps = {"padding": "SAME", "stride_h": 1, "stride_w": 1}
    scales = GENERATOR.uniform(0.002, 0.02, 8).tolist()
    bias = model.constant("bias", np.arange(8, dtype=np.int32))
    first = model.constant("w1", few_values((8, 3, 3, 8), 12), scales, [0] * 8)
    y = model.tensor("y", (1, 6, 6, 8), "int8", 0.1, 5)
    model.op("CONV_2D", [x, first, bias], [y], steps)
    second = model.constant("w2", mostly_zero((1, 5, 5, 8), 0.9), scales, [0] * 8, axis=3)
    z = model.tensor("z", (1, 6, 6, 8), "int8", 0.1, -5)
    model.op("DEPTHWISE_CONV_2D", [y, second, bias], [z], {**steps, "depth_multiplier": 1})
    third = model.constant("w3", bell((288, 288), 5.0), 0.01)
    one, two = (model.tensor(name, (1, 288), "int8", 0.2, 1) for name in ("one", "two"))
    model.op("FULLY_CONNECTED", [z, third, None], [one])
    model.op("FULLY_CONNECTED", [one, third, None], [two])
    model.output(two)
    return model.finish()


def test_tflm_computes_the_same_from_compressed_weights(tmp_path: Path) -> None:
    data = network()
    made = glowmcu.export(data, tmp_path / "small.tflite", format="tflm")
    small = made.path.read_bytes()
    assert len(small) < 0.62 * len(data)
    record = read_container(small, "small.tflite")
    names = [op.name for op in record.operators]
    assert names == [
        "CUSTOM TFLM_DECODE", "CONV_2D", "CUSTOM TFLM_DECODE", "DEPTHWISE_CONV_2D", "RESHAPE",
        "CUSTOM TFLM_DECODE", "FULLY_CONNECTED", "CUSTOM TFLM_DECODE", "FULLY_CONNECTED",
    ]  # fmt: skip
    for _ in range(3):
        x = GENERATOR.integers(-128, 128, (1, 6, 6, 8)).astype(np.int8)
        assert np.array_equal(run_tflm(small, [x])[0], run_tflm(data, [x])[0])
    first, second = (glowmcu.compile(each, name="net") for each in (data, small))
    assert first.report.arena_bytes == second.report.arena_bytes
    assert reference_graph(small, "s.tflite").outputs[0].type.shape == (1, 288)


def test_other_roundings_have_no_such_file(tmp_path: Path) -> None:
    with pytest.raises(GlowmcuError, match=r"GM710.*format tflm is TensorFlow Lite Micro's"):
        glowmcu.export(network(), tmp_path / "m.tflite", format="tflm", rounding="single")
