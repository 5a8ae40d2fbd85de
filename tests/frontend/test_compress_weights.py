"""Weights compressed for TensorFlow Lite Micro's DECODE: in the shortest form, and the same."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import glowmcu
from glowmcu.errors import GlowmcuError
from glowmcu.frontend.tflite import compress_weights
from glowmcu.frontend.tflite.compress_weights import (
    CompressedWeights,
    _as_codes,
    _by_table,
    _table,
    _without_zeros,
    compressed_weights,
)
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


#: Each with its axis of channels: rows of unlike values, columns, one value, two, 128, 129.
FORMS: dict[str, tuple[Array, int | None]] = {
    "rows": (np.array([[5] * 8, [1, 2, 3, 0] * 2, [0, -7] * 4], np.int8), 0),
    "columns": ((np.arange(48, dtype=np.int8) * 7 % 5 - 2).reshape(16, 3), 1),
    "one": (np.full((2, 9), -3, np.int8), None),
    "two": (np.arange(36, dtype=np.int8).reshape(2, 18) % 2, None),
    "128": (np.arange(-64, 64, dtype=np.int8).reshape(2, 64), None),
    "129": (np.arange(-64, 65, dtype=np.int8).reshape(3, 43), None),
    # Codes of up to 11 bits, which takes two tables.
    "rare": (np.repeat(np.arange(12, dtype=np.int8), [1, 1, *2 ** np.arange(1, 11)])[None], None),
}


def test_forms_are_these_bytes(golden: Callable[[str, str], None]) -> None:
    lines = []
    for name, (data, axis) in FORMS.items():
        type_, flat = weights_type(data.shape, axis), data.reshape(-1)
        for form in (_by_table(flat, type_), _without_zeros(flat, type_), _as_codes(flat)):
            told = "none"
            if form is not None:
                told = f"{form.ancillary.hex()} {len(form.encoded)} B {form.encoded[:40].hex()}"
                assert np.array_equal(back(form, type_), data)
            lines.append(f"{name}: {told}\n")
    golden("compressed_weights.txt", "".join(lines))


@pytest.mark.parametrize(("last", "is_reached"), [(0, False), (1, True)])
def test_a_table_lies_no_farther_than_an_entry_says(last: int, is_reached: bool) -> None:
    """31 tables of 64 lie behind the first, and one more that is asked for by an early entry."""
    heads = [*range(2, 33), last]
    table = _table({at: f"{head:06b}000000" for at, head in enumerate(heads)})
    assert (table is not None) is is_reached
    assert table is None or (table[last], table[63]) == (5 << 11 | 0x7FF, 0)


def test_codes_whose_tables_lie_too_far_are_no_form(monkeypatch: pytest.MonkeyPatch) -> None:
    rare = FORMS["rare"][0].reshape(-1)
    assert _as_codes(rare) is not None
    monkeypatch.setattr(compress_weights, "_FAR", 0)
    assert _as_codes(rare) is None


@pytest.mark.parametrize(("count", "is_shorter"), [(20, False), (21, True)])
def test_a_form_is_taken_that_is_shorter_by_a_byte(count: int, is_shorter: bool) -> None:
    data = np.full((1, count), -3, np.int8)
    assert (compressed_weights(data, weights_type(data.shape)) is not None) is is_shorter


def test_zeros_are_left_out_where_no_channel_has_another_zero_point() -> None:
    data, plain = np.int8([0, 3]), TensorType((2,), ElementType.I8)
    for points, are_left_out in (((0, 0), True), ((0, 1), False), ((1, 1), False)):
        type_ = replace(plain, quantization=Quantization((0.5, 0.25), points, 0))
        assert (_without_zeros(data, type_) is not None) is are_left_out
    assert _without_zeros(data, plain) is not None


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
