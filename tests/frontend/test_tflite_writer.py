"""What the writer makes is a model to the two runtimes that matter, and means what was said."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import flatbuffers
import numpy as np
import pytest
import tflite

from glowmcu.errors import GlowmcuError
from glowmcu.frontend.tflite.schema import schema_enum
from glowmcu.frontend.tflite.writer import ModelBuilder, TensorRef
from glowmcu.frontend.tflite.writer_options import option_names, write_options
from tests.support.oracle import run_litert_reference, run_tflm

INT32 = np.int32
Operands = Callable[[ModelBuilder, TensorRef], list]


@dataclass(frozen=True)
class Case:
    """One operator on an int8 input of scale 0.5 and zero point -3."""

    kind: str
    input_shape: tuple[int, ...]
    output_shape: tuple[int, ...]
    operands: Operands = lambda _model, x: [x]
    options: dict = field(default_factory=dict)
    output_dtype: str = "int8"
    output_scale: float | None = 0.5
    output_zero_point: int = -3


def weights(shape: tuple[int, ...], channels: int, axis: int, bias: bool = True) -> Operands:
    """x, int8 weights with one scale a channel and, unless told otherwise, an int32 bias."""

    def operands(model: ModelBuilder, x: TensorRef) -> list:
        rng = np.random.default_rng(7)
        scales = np.linspace(0.01, 0.03, channels)
        values = rng.integers(-127, 128, shape, dtype=np.int8)
        w = model.constant("w", values, scales, axis=axis)
        if not bias:
            return [x, w, None]
        offsets = rng.integers(-500, 500, channels, dtype=INT32)
        return [x, w, model.constant("b", offsets, scales * 0.5)]

    return operands


def with_ints(*values: object) -> Operands:
    """x and int32 constants: a shape, axes, paddings."""
    return lambda model, x: [
        x,
        *(model.constant(f"c{i}", np.asarray(v, INT32)) for i, v in enumerate(values)),
    ]


def ints_first(*values: object) -> Operands:
    return lambda model, x: [*with_ints(*values)(model, x)[1:], x]


def twice(_model: ModelBuilder, x: TensorRef) -> list:
    return [x, x]


WINDOW = {"stride_w": 2, "stride_h": 2, "padding": "VALID", "filter_width": 2, "filter_height": 2}
STRIDE_1 = {"stride_w": 1, "stride_h": 1}
RELU = {"fused_activation_function": "RELU"}
IMAGE = (1, 6, 6, 4)

CASES = [
    Case(
        "CONV_2D",
        IMAGE,
        (1, 3, 3, 5),
        weights((5, 3, 3, 4), 5, 0),
        {"stride_w": 2, "stride_h": 2, "padding": "SAME", **RELU},
    ),
    Case(
        "DEPTHWISE_CONV_2D",
        IMAGE,
        (1, 4, 4, 4),
        weights((1, 3, 3, 4), 4, 3),
        {**STRIDE_1, "padding": "VALID", "depth_multiplier": 1, **RELU},
    ),
    Case("FULLY_CONNECTED", (2, 16), (2, 5), weights((5, 16), 1, 0, bias=False)),
    Case("AVERAGE_POOL_2D", IMAGE, (1, 3, 3, 4), options=WINDOW),
    Case("MAX_POOL_2D", IMAGE, (1, 3, 3, 4), options=WINDOW),
    Case("MEAN", IMAGE, (1, 4), with_ints([1, 2]), {"keep_dims": False}),
    Case("ADD", IMAGE, IMAGE, twice, RELU),
    Case("MUL", IMAGE, IMAGE, twice, output_scale=4.0),
    Case(
        "SOFTMAX",
        (1, 10),
        (1, 10),
        options={"beta": 1.0},
        output_scale=1 / 256,
        output_zero_point=-128,
    ),
    Case("LOGISTIC", (1, 10), (1, 10), output_scale=1 / 256, output_zero_point=-128),
    Case("LEAKY_RELU", IMAGE, IMAGE, options={"alpha": 0.125}),
    Case("RESHAPE", IMAGE, (1, 144), with_ints([1, 144]), {"new_shape": [1, 144]}),
    Case("TRANSPOSE", IMAGE, (1, 4, 6, 6), with_ints([0, 3, 1, 2])),
    Case("PAD", IMAGE, (1, 8, 9, 4), with_ints([[0, 0], [1, 1], [1, 2], [0, 0]])),
    Case("CONCATENATION", IMAGE, (1, 6, 6, 8), twice, {"axis": 3}),
    Case("SPLIT_V", IMAGE, (1, 6, 6, 4), with_ints([4], 3), {"num_splits": 1}),
    Case(
        "STRIDED_SLICE",
        IMAGE,
        (1, 3, 5, 4),
        with_ints([0, 0, 1, 0], [0, 6, 6, 0], [1, 2, 1, 1]),
        {"begin_mask": 9, "end_mask": 9},
    ),
    Case("SQUEEZE", (1, 6, 1, 4), (6, 4), options={"squeeze_dims": [0, 2]}),
    Case(
        "RESIZE_NEAREST_NEIGHBOR",
        IMAGE,
        (1, 12, 12, 4),
        with_ints([12, 12]),
        {"align_corners": False, "half_pixel_centers": True},
    ),
    Case("ARG_MAX", (1, 10), (1,), with_ints(1), {"output_type": "INT32"}, "int32", None),
    Case("GATHER", IMAGE, (1, 6, 6, 2), with_ints([3, 0]), {"axis": 3}),
    Case("GREATER", IMAGE, IMAGE, twice, output_dtype="bool", output_scale=None),
    Case("DEQUANTIZE", IMAGE, IMAGE, output_dtype="float32", output_scale=None),
    Case("SPLIT", IMAGE, IMAGE, ints_first(3), {"num_splits": 1}),
]


def build(case: Case) -> bytes:
    model = ModelBuilder(f"one {case.kind}")
    x = model.input("x", case.input_shape, "int8", scale=0.5, zero_point=-3)
    y = model.tensor(
        "y", case.output_shape, case.output_dtype, case.output_scale, case.output_zero_point
    )
    model.op(case.kind, case.operands(model, x), [y], case.options)
    model.output(y)
    return model.finish()


def random_input(case: Case) -> np.ndarray:
    return np.random.default_rng(3).integers(-128, 128, case.input_shape, dtype=np.int8)


def tensors(data: bytes) -> list:
    graph = tflite.Model.GetRootAs(data).Subgraphs(0)
    return [graph.Tensors(index) for index in range(graph.TensorsLength())]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.kind.lower())
def test_both_runtimes_load_and_run_what_was_written(case: Case) -> None:
    data = build(case)
    x = random_input(case)
    (micro,) = run_tflm(data, [x])
    (lite,) = run_litert_reference(data, [x])
    assert micro.shape == lite.shape == case.output_shape
    assert micro.dtype == lite.dtype == np.dtype(case.output_dtype)
    if case.kind != "FULLY_CONNECTED":  # LiteRT rounds once there, TFLM twice
        np.testing.assert_array_equal(micro, lite)


def test_a_transposition_moves_the_values_it_was_told_to() -> None:
    case = next(case for case in CASES if case.kind == "TRANSPOSE")
    x = random_input(case)
    (y,) = run_tflm(build(case), [x])
    np.testing.assert_array_equal(y, x.transpose(0, 3, 1, 2))


def test_an_identity_convolution_returns_its_input() -> None:
    model = ModelBuilder()
    x = model.input("x", (1, 4, 5, 3), "int8", 0.25, 7)
    unit = np.eye(3, dtype=np.int8).reshape(3, 1, 1, 3) * np.int8(64)
    w = model.constant("w", unit, [1 / 64] * 3)
    b = model.constant("b", np.zeros(3, INT32), [0.25 / 64] * 3)
    y = model.tensor("y", (1, 4, 5, 3), "int8", 0.25, 7)
    model.op("CONV_2D", [x, w, b], [y], {**STRIDE_1, "padding": "SAME"})
    model.output(y)
    values = np.random.default_rng(1).integers(-128, 128, (1, 4, 5, 3), dtype=np.int8)
    (result,) = run_tflm(model.finish(), [values])
    np.testing.assert_array_equal(result, values)


def test_int4_weights_are_packed_low_nibble_first() -> None:
    case = CASES[2]
    model = ModelBuilder()
    x = model.input("x", (1, 5), "int8", 1.0)
    w = model.constant("w", [[1, -2, 3, -4, 5], [-8, 7, 0, 0, 1]], 1.0, dtype="int4")
    y = model.tensor("y", (1, 2), "int8", 1.0)
    model.op(case.kind, [x, w, None], [y])
    model.output(y)
    data = model.finish()
    stored = tflite.Model.GetRootAs(data).Buffers(tensors(data)[1].Buffer()).DataAsNumpy()
    assert stored.tolist() == [0xE1, 0xC3, 0x85, 0x07, 0x10]
    (result,) = run_tflm(data, [np.array([[1, 1, 1, 1, 1]], np.int8)])
    assert result.tolist() == [[3, 0]]


def test_constants_lie_on_sixteen_byte_addresses() -> None:
    model = ModelBuilder()
    patterns = []
    for length in (1, 3, 16, 17, 31):
        patterns.append(np.full(length, length, np.uint8) ^ np.arange(length, dtype=np.uint8))
        model.constant(f"c{length}", patterns[-1])
    root = tflite.Model.GetRootAs(model.finish())
    for index, pattern in enumerate(patterns, start=1):
        table = root.Buffers(index)._tab
        assert table.Vector(table.Offset(4)) % 16 == 0
        np.testing.assert_array_equal(root.Buffers(index).DataAsNumpy(), pattern)


def test_a_file_names_its_format_and_keeps_the_description() -> None:
    data = build(CASES[0])
    assert data[4:8] == b"TFL3"
    assert tflite.Model.GetRootAs(data).Description() == b"one CONV_2D"


def test_quantization_and_dynamic_shape_are_read_back_as_given() -> None:
    model = ModelBuilder()
    model.input("x", (1, 2), "int8", 0.5, -3, shape_signature=(-1, 2))
    model.constant("w", np.zeros((4, 2), np.int8), [1.0, 2.0, 3.0, 4.0], axis=0)
    x, w = tensors(model.finish())
    assert x.ShapeSignatureAsNumpy().tolist() == [-1, 2]
    assert x.Quantization().ZeroPointAsNumpy().tolist() == [-3]
    assert w.Quantization().ScaleAsNumpy().tolist() == [1.0, 2.0, 3.0, 4.0]
    assert w.Quantization().ZeroPointAsNumpy().tolist() == [0, 0, 0, 0]


def test_operators_of_one_kind_share_an_entry_and_custom_ones_keep_their_options() -> None:
    model = ModelBuilder()
    x = model.input("x", (1, 4), "int8", 0.5)
    y, z, q = (model.tensor(name, (1, 4), "int8", 0.5) for name in "yzq")
    model.op("RELU", [x], [y])
    model.op("RELU", [y], [z])
    model.custom_op("My_Op", [z], [q], b"\x01\x02")
    root = tflite.Model.GetRootAs(model.finish())
    assert root.OperatorCodesLength() == 2
    assert root.OperatorCodes(1).CustomCode() == b"My_Op"
    assert root.Subgraphs(0).Operators(2).CustomOptionsAsNumpy().tolist() == [1, 2]


@pytest.mark.parametrize(
    ("kind", "dtype", "version"),
    [
        ("CONV_2D", "int8", 3),
        ("CONV_2D", "float32", 1),
        ("BROADCAST_TO", "int8", 3),
        ("ADD", "int8", 2),
        ("PRELU", "int8", 1),
        ("SPLIT_V", "int8", 2),
    ],
)
def test_the_version_follows_the_operand_types(kind: str, dtype: str, version: int) -> None:
    model = ModelBuilder()
    x = model.input("x", (1, 2, 2, 3), dtype)
    w = model.tensor("w", (3, 1, 1, 3), dtype)
    b = model.tensor("b", (3,), "int32")
    y = model.tensor("y", (1, 2, 2, 3), dtype)
    model.op(kind, [x, w, b], [y])
    assert tflite.Model.GetRootAs(model.finish()).OperatorCodes(0).Version() == version


BUILTIN_KINDS = [
    name
    for name, code in schema_enum("BuiltinOperator").items()
    if name not in ("CUSTOM", "DELEGATE", "PLACEHOLDER_FOR_GREATER_OP_CODES")
]


def read_options(data: bytes, name: str) -> object:
    """Options of the only operator, through the schema's own reader of table `name`."""
    operator = tflite.Model.GetRootAs(data).Subgraphs(0).Operators(0)
    is_late = operator.BuiltinOptions2() is not None
    table = operator.BuiltinOptions2() if is_late else operator.BuiltinOptions()
    number = operator.BuiltinOptions2Type() if is_late else operator.BuiltinOptionsType()
    union = "BuiltinOptions2" if is_late else "BuiltinOptions"
    (table_name,) = [key for key, value in schema_enum(union).items() if value == number]
    reader = getattr(tflite, table_name)()
    reader.Init(table.Bytes, table.Pos)
    camel = "".join(part.capitalize() for part in name.split("_"))
    if hasattr(reader, f"{camel}AsNumpy"):
        return getattr(reader, f"{camel}AsNumpy")().tolist()
    return getattr(reader, camel)()


@pytest.mark.parametrize("kind", BUILTIN_KINDS)
def test_every_option_of_every_builtin_operator_is_read_back_as_written(kind: str) -> None:
    def write(options: dict) -> bytes:
        model = ModelBuilder()
        x = model.input("x", (1, 4), "int8", 0.5)
        model.op(kind, [x, x], [x], options)
        return model.finish()

    code = tflite.Model.GetRootAs(write({})).OperatorCodes(0).BuiltinCode()
    assert code == getattr(tflite.BuiltinOperator, kind)
    for name in option_names(kind):
        value = sample_value(kind, name)
        expected = value.encode() if isinstance(value, str) else value
        assert read_options(write({name: value}), name) == expected, name


def sample_value(kind: str, name: str) -> object:
    """The first of a list, a number and a text that the option takes."""
    for value in ([1, 0, 1], 1, "text"):
        try:
            write_options(flatbuffers.Builder(64), kind, {name: value})
        except GlowmcuError:
            continue
        return value
    raise AssertionError(f"{kind}.{name} takes no value that was tried")


def test_the_same_calls_give_the_same_bytes() -> None:
    assert all(build(case) == build(case) for case in CASES)


@pytest.mark.parametrize(
    ("kind", "options", "code", "hint"),
    [
        ("CONV_2DD", {}, "GM190", "near: CONV_2D, CONV_3D"),
        ("SOFTMAX", {"betta": 1.0}, "GM191", "its options: beta"),
        ("RELU", {"alpha": 1.0}, "GM191", "its options: none"),
        ("SOFTMAX", {"beta": "hot"}, "GM192", ""),
        ("VAR_HANDLE", {"shared_name": 3}, "GM192", ""),
        ("SQUEEZE", {"squeeze_dims": [0.5]}, "GM192", ""),
        ("SQUEEZE", {"squeeze_dims": [1 << 40]}, "GM192", ""),
        ("SQUEEZE", {"squeeze_dims": 1}, "GM192", ""),
        ("CONCATENATION", {"axis": 1 << 40}, "GM192", ""),
        ("CONCATENATION", {"axis": [1]}, "GM192", ""),
        (
            "ADD",
            {"fused_activation_function": "GELU"},
            "GM192",
            "one of NONE, RELU, RELU_N1_TO_1, RELU6, TANH, SIGN_BIT",
        ),
    ],
)
def test_names_and_values_that_the_schema_lacks_are_refused(
    kind: str, options: dict, code: str, hint: str
) -> None:
    model = ModelBuilder()
    x = model.input("x", (1, 4), "int8", 0.5)

    def write() -> None:
        model.op(kind, [x], [x], options)
        model.finish()

    with pytest.raises(GlowmcuError) as caught:
        write()
    assert caught.value.code == code
    assert caught.value.problems[0].hint.startswith(hint)


@pytest.mark.parametrize(
    "add",
    [
        lambda model: model.tensor("t", (1,), "int7"),
        lambda model: model.constant("t", [8], dtype="int4"),
        lambda model: model.constant("t", np.zeros(1, np.int16), dtype="int8"),
    ],
    ids=["unknown type", "too large for int4", "another type than the array's"],
)
def test_constants_that_no_tensor_can_hold_are_refused(add: Callable) -> None:
    with pytest.raises(GlowmcuError) as caught:
        add(ModelBuilder())
    assert caught.value.code == "GM193"
