"""What a tensor of a .tflite file is in the graph: its type, and the data of a constant."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from glowmcu.frontend.tflite.container import TensorRecord
from glowmcu.frontend.tflite.tensors import constant_data, real_values, tensor_type
from glowmcu.frontend.unsupported import Unsupported
from glowmcu.ir.types import ElementType, Quantization, TensorType

I8 = ElementType.I8


def tensor(
    kind: str = "INT8", shape: tuple[int, ...] = (2, 3), scales: tuple[float, ...] = (),
    points: tuple[int, ...] = (), axis: int = 0, data: Any = None, open_axes: tuple[int, ...] = (),
) -> TensorRecord:  # fmt: skip
    stored = None if data is None else memoryview(np.asarray(data).tobytes())
    return TensorRecord(0, "t", kind, shape, scales, points, axis, open_axes, stored)


def said(record: TensorRecord, is_ending: bool = False) -> str:
    """The type, with scales and points by axis, or what is refused."""
    try:
        type_ = tensor_type(record, is_ending)
    except Unsupported as cause:
        return f"{cause.code} {cause.message}"
    text = f"{type_.element.value}{list(type_.shape)}"
    if type_.quantization is None:
        return text
    found = type_.quantization
    return f"{text} {list(found.scales)} {list(found.zero_points)} {found.axis}"


BYTES = np.arange(6, dtype=np.int8)
NONE = np.zeros(6, np.int8)
_SCALES = "expected one a scale ({}) within i8, -128 to 127"
TYPES: dict[str, tuple[TensorRecord, str]] = {
    "bytes": (tensor(), "i8[2, 3]"),
    "four bits": (tensor("INT4"), "i8[2, 3]"),
    "halves of a constant": (tensor("FLOAT16", data=np.zeros(6, "f2")), "f32[2, 3]"),
    "halves that are computed": (
        tensor("FLOAT16"),
        "GM105 tensor 't' is FLOAT16; supported: INT8, INT4, INT2, UINT8, INT16, INT32, UINT32, "
        "INT64, UINT64, FLOAT32, BOOL",
    ),
    "text": (tensor("STRING", data=BYTES), "GM105 tensor 't' is STRING; supported: INT8, INT4, "
             "INT2, UINT8, INT16, INT32, UINT32, INT64, UINT64, FLOAT32, BOOL"),
    "an open axis": (
        tensor(shape=(2, -1), open_axes=(1,)),
        "GM104 input 't' has a dynamic shape, 2x?; expected every size fixed",
    ),
    "no elements": (tensor(shape=(0, 3)), "i8[0, 3]"),
    "one scale": (tensor(scales=(0.5,), points=(3,)), "i8[2, 3] [0.5] [3] None"),
    "two points for it": (tensor(scales=(0.5,), points=(3, 4)), "i8[2, 3] [0.5] [3] None"),
    "no point for it": (
        tensor(scales=(0.5,)), f"GM105 tensor 't' has 0 zero points; {_SCALES.format(1)}"
    ),
    "scales of what is computed": (
        tensor(scales=(0.5, 0.25), points=(3, 4)), "i8[2, 3] [0.5] [3] None"
    ),
    "one point for scales": (
        tensor(scales=(0.5, 0.25), points=(3,), data=BYTES), "i8[2, 3] [0.5, 0.25] [3, 3] 0"
    ),
    "a point for each": (
        tensor(scales=(0.5, 0.25), points=(3, 4), data=BYTES), "i8[2, 3] [0.5, 0.25] [3, 4] 0"
    ),
    "three points for two": (
        tensor(scales=(0.5, 0.25), points=(3, 4, 5), data=BYTES),
        f"GM105 tensor 't' has 3 zero points; {_SCALES.format(2)}",
    ),
    "the last axis": (
        tensor(scales=(1.0, 0.5, 0.25), points=(0,), axis=1, data=BYTES),
        "i8[2, 3] [1.0, 0.5, 0.25] [0, 0, 0] 1",
    ),
    "an axis behind it": (
        tensor(scales=(0.5, 0.25), points=(0,), axis=2, data=BYTES),
        "GM105 tensor 't' has 2 scales along axis 2 of (2, 3)",
    ),
    "an axis before the first": (
        tensor(shape=(3, 2), scales=(0.5, 0.25), points=(0,), axis=-1, data=BYTES),
        "GM105 tensor 't' has 2 scales along axis -1 of (3, 2)",
    ),
    "an axis of another length": (
        tensor(scales=(0.5, 0.25), points=(0,), axis=1, data=BYTES),
        "GM105 tensor 't' has 2 scales along axis 1 of (2, 3)",
    ),
    "an axis of one scale": (
        tensor(scales=(0.5,), points=(0,), axis=9, data=BYTES), "i8[2, 3] [0.5] [0] None"
    ),
    "the lowest point": (tensor(scales=(0.5,), points=(-128,)), "i8[2, 3] [0.5] [-128] None"),
    "a point below": (
        tensor(scales=(0.5,), points=(-129,)),
        f"GM105 tensor 't' has zero point -129; {_SCALES.format(1)}",
    ),
    "the highest point": (tensor(scales=(0.5,), points=(127,)), "i8[2, 3] [0.5] [127] None"),
    "a point above": (
        tensor(scales=(0.5,), points=(128,)),
        f"GM105 tensor 't' has zero point 128; {_SCALES.format(1)}",
    ),
    "the second point above": (
        tensor(scales=(0.5, 0.5), points=(0, 300), data=BYTES),
        f"GM105 tensor 't' has zero point 300; {_SCALES.format(2)}",
    ),
    "a negative scale": (
        tensor(scales=(-0.5,), points=(0,), data=NONE),
        "GM105 tensor 't' has a scale that is not positive and finite",
    ),
    "an infinite scale": (
        tensor(scales=(float("inf"),), points=(0,), data=NONE),
        "GM105 tensor 't' has a scale that is not positive and finite",
    ),
    "no scale of what is computed": (
        tensor(scales=(0.0,), points=(0,)), f"i8[2, 3] [{2.0**-149}] [0] None"
    ),
    "no scale of nothing": (
        tensor(scales=(0.0,), points=(0,), data=NONE), f"i8[2, 3] [{2.0**-149}] [0] None"
    ),
    "no scale of something": (
        tensor(scales=(0.0,), points=(0,), data=BYTES),
        "GM105 constant 't' has a scale of 0 and numbers other than zero",
    ),
    "no scale of points": (
        tensor(scales=(0.0,), points=(7,), data=NONE + 7), f"i8[2, 3] [{2.0**-149}] [7] None"
    ),
    "no scale of a row of nothing": (
        tensor(scales=(0.0, 0.5), points=(0,), data=np.int8([0, 0, 0, 1, 2, 3])),
        f"i8[2, 3] [{2.0**-149}, 0.5] [0, 0] 0",
    ),
    "no scale of a row of something": (
        tensor(scales=(0.5, 0.0), points=(0,), data=BYTES // 3 * np.int8(9)),
        "GM105 constant 't' has a scale of 0 and numbers other than zero",
    ),
    "no scale of a column of nothing": (
        tensor(scales=(0.0, 1.0, 1.0), points=(0,), axis=1, data=np.int8([0, 1, 2, 0, 3, 4])),
        f"i8[2, 3] [{2.0**-149}, 1.0, 1.0] [0, 0, 0] 1",
    ),
    "a bias with a scale": (
        tensor("INT32", scales=(0.5,), points=(0,), data=np.zeros(6, "i4")),
        "i32[2, 3] [0.5] [0] None",
    ),
    "a bias with scales that mean nothing": (
        tensor("INT32", scales=(-0.5,), points=(0,), data=np.zeros(6, "i4")), "i32[2, 3]"
    ),
    "sums with a scale that means nothing": (
        tensor("INT32", scales=(-0.5,), points=(0,)),
        "GM105 tensor 't' has a scale that is not positive and finite",
    ),
    **{
        f"scaled {kind}": (tensor(kind, scales=(0.5,), points=(0,)), f"{element}[2, 3]")
        for kind, element in (("FLOAT32", "f32"), ("BOOL", "i1"), ("INT64", "i64"),
                              ("UINT32", "ui32"), ("UINT64", "ui64"))
    },
}  # fmt: skip


@pytest.mark.parametrize(("record", "expected"), TYPES.values(), ids=TYPES)
def test_a_tensor_has_the_type_that_its_parameters_allow(
    record: TensorRecord, expected: str
) -> None:
    assert said(record) == expected


@pytest.mark.parametrize(
    ("kind", "point", "is_taken"),
    [("INT8", 128, True), ("INT8", 129, False), ("UINT8", 256, False)],
)
def test_the_point_of_an_ending_may_lie_one_above_its_bytes(
    kind: str, point: int, is_taken: bool
) -> None:
    record = tensor(kind, scales=(0.5,), points=(point,))
    assert said(record, is_ending=True).startswith("GM105") != is_taken


@pytest.mark.parametrize(
    ("record", "expected"),
    [
        (tensor("INT4", (3,), data=np.uint8([0x2F, 0x08])), np.int8([-1, 2, -8])),
        (tensor("FLOAT16", (2,), data=np.float16([0.5, 2])), np.float32([0.5, 2])),
        (tensor("INT16", (2, 1), data=np.int16([1, -2])), np.int16([[1], [-2]])),
        (tensor("BOOL", (2,), data=np.array([True, False])), np.array([True, False])),
        (tensor("INT8", (0, 3)), np.zeros((0, 3), np.int8)),
    ],
)  # fmt: skip
def test_a_constant_has_the_data_of_the_file(record: TensorRecord, expected: Any) -> None:
    data = constant_data(record)
    assert data.dtype == expected.dtype
    assert np.array_equal(data, expected)


@pytest.mark.parametrize(
    ("record", "message"),
    [
        (tensor("INT16", (2,), data=BYTES[:3]), "constant 't' holds 3 bytes; int16[2] needs 4"),
        (tensor("INT16", (2,), data=BYTES[:5]), "constant 't' holds 5 bytes; int16[2] needs 4"),
        (tensor("FLOAT16", (2,), data=BYTES[:3]), "constant 't' holds 3 bytes; float32[2] needs 4"),
        (tensor("INT4", (3,), data=BYTES[:1]), "3 int4 elements need 2 bytes, got 1"),
        (tensor("INT4", (3,), data=BYTES[:3]), "3 int4 elements need 2 bytes, got 3"),
    ],
)  # fmt: skip
def test_a_constant_of_another_length_is_refused(record: TensorRecord, message: str) -> None:
    with pytest.raises(Unsupported) as caught:
        constant_data(record)
    assert (caught.value.code, caught.value.message) == ("GM105", message)


@pytest.mark.parametrize(
    ("quantization", "expected"),
    [
        (None, [[0, 1, 2], [3, 4, 5]]),
        (Quantization((0.5,), (1,)), [[-0.5, 0, 0.5], [1, 1.5, 2]]),
        (Quantization((0.5, 2.0), (1, 3), 0), [[-0.5, 0, 0.5], [0, 2, 4]]),
        (Quantization((1.0, 2.0, 4.0), (0, 1, 2), 1), [[0, 0, 0], [3, 6, 12]]),
    ],
)  # fmt: skip
def test_real_values_are_offsets_times_the_scale(
    quantization: Quantization | None, expected: Any
) -> None:
    found = real_values(BYTES.reshape(2, 3), TensorType((2, 3), I8, quantization))
    assert found.dtype == np.float32
    assert np.array_equal(found, expected)


def test_text_says_where_to_make_numbers_of_it() -> None:
    with pytest.raises(Unsupported) as caught:
        tensor_type(tensor("STRING"))
    assert "cut the model behind its tokenizer" in caught.value.problem("m.tflite").hint
