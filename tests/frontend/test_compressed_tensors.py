"""TFLM_DECODE: constants in value tables, Huffman codes or without what was pruned."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from glowmcu.errors import GlowmcuError
from glowmcu.frontend.tflite.writer import ModelBuilder
from glowmcu.pipeline import reference_graph
from tests.support.check_model import check_model
from tests.support.oracle import run_tflm

Array = npt.NDArray[Any]
LUT, HUFFMAN, PRUNING = 0, 1, 2
GENERATOR = np.random.default_rng(11)


def packed(indices: npt.ArrayLike, width: int) -> bytes:
    """Indices in `width` bits each, the most significant bit first."""
    text = "".join(f"{index:0{width}b}" for index in np.asarray(indices).reshape(-1).tolist())
    return bytes(int(text[at : at + 8].ljust(8, "0"), 2) for at in range(0, len(text), 8))


def metadata(kind: int, *own: int, payload: bytes = b"", version: int = 1) -> bytes:
    return bytes([kind, version, 0, 0, *own]).ljust(16, b"\0") + payload


def decoded_model(
    encoded: bytes,
    ancillary: bytes,
    shape: tuple[int, ...],
    dtype: str = "int8",
    scales: float | Sequence[float] | None = None,
    points: int | Sequence[int] = 0,
    axis: int = 0,
) -> bytes:
    """Weights that DECODE makes: int8 of rank 2 or 4 are a layer's, others are added to x."""
    model = ModelBuilder()
    pair = [
        model.constant("encoded", np.frombuffer(encoded, np.uint8)),
        model.constant("ancillary", np.frombuffer(ancillary, np.uint8)),
    ]
    weights = model.tensor("weights", shape, dtype, scales, points, axis=axis)
    model.custom_op("TFLM_DECODE", pair, [weights])
    if dtype != "int8":
        x = model.input("x", shape, dtype, scales, 0)
        y = model.tensor("y", shape, dtype, scales, 0)
        model.op("ADD", [x, weights], [y])
    elif len(shape) == 2:
        x = model.input("x", (1, shape[1]), "int8", 0.05, 3)
        y = model.tensor("y", (1, shape[0]), "int8", 0.3, -5)
        model.op("FULLY_CONNECTED", [x, weights, None], [y])
    else:
        kind = "CONV_2D" if axis == 0 else "DEPTHWISE_CONV_2D"
        channels = shape[axis]
        x = model.input("x", (1, 6, 6, shape[3]), "int8", 0.05, 3)
        y = model.tensor("y", (1, 7 - shape[1], 7 - shape[2], channels), "int8", 0.3, -5)
        options: dict[str, Any] = {"padding": "VALID", "stride_h": 1, "stride_w": 1}
        if axis == 3:
            options["depth_multiplier"] = 1
        model.op(
            kind,
            [x, weights, model.constant("bias", np.arange(channels, dtype=np.int32))],
            [y],
            options,
        )
    model.output(y)
    return model.finish()


def weights_of(data: bytes) -> Array:
    graph = reference_graph(data, "m.tflite")
    (found,) = [
        graph.constant_data(value)
        for node in graph.nodes
        for value in node.inputs
        if value.name == "weights"
    ]
    assert found is not None
    return found


@pytest.mark.parametrize("width", range(1, 8))
def test_a_table_of_values_is_looked_up_by_indices_of_any_width(width: int) -> None:
    table = GENERATOR.integers(-127, 128, 1 << width).astype(np.int8)
    indices = GENERATOR.integers(0, 1 << width, (5, 37))
    ancillary = metadata(LUT, 1, width, 1 << width, payload=table.tobytes())
    data = decoded_model(packed(indices, width), ancillary, (5, 37), scales=0.01)
    assert np.array_equal(weights_of(data), table[indices])
    check_model(data, oracle=run_tflm)


@pytest.mark.parametrize(("axis", "shape"), [(0, (4, 3, 3, 5)), (3, (1, 3, 3, 6))])
@pytest.mark.parametrize("width", [2, 3, 4, 5])
def test_each_channel_has_a_table(width: int, axis: int, shape: tuple[int, ...]) -> None:
    channels, stride = shape[axis], (1 << width) - 1
    tables = GENERATOR.integers(-127, 128, (channels, stride)).astype(np.int8)
    indices = GENERATOR.integers(0, stride, shape)
    scales = GENERATOR.uniform(0.002, 0.02, channels).tolist()
    ancillary = metadata(LUT, 1, width, stride, payload=tables.tobytes())
    data = decoded_model(
        packed(indices, width), ancillary, shape, scales=scales, points=[0] * channels, axis=axis
    )
    channel = np.arange(channels).reshape([-1 if a == axis else 1 for a in range(4)])
    assert np.array_equal(weights_of(data), tables[channel, indices])
    check_model(data, oracle=run_tflm)


@pytest.mark.parametrize("dtype", ["float32", "int16"])
def test_values_of_tables_are_of_the_tensors_type(dtype: str) -> None:
    table = GENERATOR.integers(-99, 99, 8).astype(dtype)
    indices = GENERATOR.integers(0, 8, (2, 11))
    ancillary = metadata(LUT, 1, 3, 8, payload=table.tobytes())
    scales = None if dtype == "float32" else 0.5
    data = decoded_model(packed(indices, 3), ancillary, (2, 11), dtype, scales)
    assert np.array_equal(weights_of(data), table[indices])
    check_model(data, oracle=run_tflm)


@pytest.mark.parametrize(
    ("scales", "points", "axis", "shape"),
    [
        (0.02, 0, 0, (3, 29)),
        ([0.02, 0.01, 0.03], [0, 0, 0], 0, (3, 3, 3, 4)),
        ([0.02, 0.01, 0.03], [0, 0, 0], 3, (1, 3, 3, 3)),
    ],
)
def test_what_was_pruned_is_the_zero_point(
    scales: Any, points: Any, axis: int, shape: tuple[int, ...]
) -> None:
    is_kept = GENERATOR.random(shape) < 0.4
    values = GENERATOR.integers(-127, 128, is_kept.sum()).astype(np.int8)
    dense = np.zeros(shape, np.int8)
    dense[is_kept] = values
    ancillary = metadata(PRUNING, 1, payload=values.tobytes())
    data = decoded_model(
        packed(is_kept.astype(int), 1), ancillary, shape, "int8", scales, points, axis
    )
    assert np.array_equal(weights_of(data), dense)
    check_model(data, oracle=run_tflm)


#: Symbol to code: 0, 10, 110 and 111, by a table of two bits and, behind 11, one of one bit.
CODES = {5: "0", -3: "10", 77: "110", -128: "111"}


def huffman_table(is_wide: bool) -> bytes:
    shift, found = (27, 1 << 31) if is_wide else (11, 1 << 15)

    def symbol(value: int, own_bits: int) -> int:
        mask = 0xFFFF if is_wide else 0xFF
        return found | own_bits << shift | (value & mask)

    entries = [
        symbol(5, 1), symbol(5, 1), symbol(-3, 2), 0 << shift | 1, symbol(77, 1), symbol(-128, 1)
    ]  # fmt: skip
    return np.array(entries, "<u4" if is_wide else "<u2").tobytes()


@pytest.mark.parametrize(("dtype", "is_wide"), [("int8", False), ("int8", True), ("int16", True)])
def test_codes_are_read_by_tables_behind_tables(dtype: str, is_wide: bool) -> None:
    dense = GENERATOR.choice(list(CODES), (4, 25), p=[0.5, 0.25, 0.15, 0.1]).astype(dtype)
    text = "".join(CODES[int(value)] for value in dense.reshape(-1))
    text = text.ljust(-(-len(text) // 32) * 32, "0")
    encoded = packed([int(bit) for bit in text], 1)
    ancillary = metadata(HUFFMAN, 1, 1 << 4 | is_wide, payload=huffman_table(is_wide))
    data = decoded_model(encoded, ancillary, (4, 25), dtype, 0.01)
    assert np.array_equal(weights_of(data), dense)
    check_model(data, oracle=run_tflm)


NIBBLES = packed([1] * 12, 4)
BROKEN = {
    "short metadata": (NIBBLES, b"\0\1", "2 bytes of metadata; expected 16"),
    "version": (NIBBLES, metadata(LUT, 1, 4, 16, version=2), "metadata of version 2; expected 1"),
    "its version": (NIBBLES, metadata(LUT, 3, 4, 16), "format 0 of version 3; expected 1"),
    "format": (NIBBLES, metadata(127, 1), "format 127; expected 0 "),
    "no width": (NIBBLES, metadata(LUT, 1, 8, 16), "indices are 0 bits wide"),
    "few indices": (NIBBLES[:5], metadata(LUT, 1, 4, 16), "48 bits are read, and 40 are there"),
    "few values": (NIBBLES, metadata(LUT, 1, 4, 16, payload=b"1"), "2 values are read .* 1 are"),
    "few kept": (b"\xff\xff", metadata(PRUNING, 1, payload=b"1" * 11), "12 values are read"),
    "no entry": (NIBBLES, metadata(HUFFMAN, 1, 0x10), "entry 0 is read of a table of 0"),
    "code of no bits": (
        NIBBLES, metadata(HUFFMAN, 1, 0, payload=b"\0\x80\0\x80"),
        "a code from bit 0 of 48 ends at bit 0",
    ),
    "codes end": (
        b"\0", metadata(HUFFMAN, 1, 0, payload=b"\0\x88\0\x88"),
        "a code from bit 8 of 8 ends at bit 9",
    ),
    "tables in a circle": (
        b"\0" * 8, metadata(HUFFMAN, 1, 0, payload=b"\0\x00\0\x00"), "bit 72 of 64 is read"
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", BROKEN)
def test_what_contradicts_itself_is_refused(case: str) -> None:
    encoded, ancillary, words = BROKEN[case]
    with pytest.raises(GlowmcuError, match=f"GM105.*TFLM_DECODE: 'weights': {words}"):
        weights_of(decoded_model(encoded, ancillary, (3, 4), scales=0.01))


def test_two_operands_make_one_result() -> None:
    model = ModelBuilder()
    encoded = model.constant("encoded", np.zeros(4, np.uint8))
    model.custom_op("TFLM_DECODE", [encoded], [model.tensor("w", (2, 2), "int8", 0.1)])
    x, y = model.input("x", (1, 2), "int8", 0.1), model.tensor("y", (1, 2), "int8", 0.1)
    model.op("TANH", [x], [y])
    model.output(y)
    with pytest.raises(GlowmcuError, match=r"GM106.*1 operands and 1 results"):
        reference_graph(model.finish(), "m.tflite")


def test_what_is_compressed_is_known_at_compile_time() -> None:
    model = ModelBuilder()
    x = model.input("x", (4,), "uint8")
    ancillary = model.constant("a", np.frombuffer(metadata(LUT, 1, 4, 16), np.uint8))
    weights = model.tensor("w", (2, 2), "int8", 0.1)
    model.custom_op("TFLM_DECODE", [x, ancillary], [weights])
    model.output(weights)
    with pytest.raises(GlowmcuError, match="the compressed tensor"):
        reference_graph(model.finish(), "m.tflite")
