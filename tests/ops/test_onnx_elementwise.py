"""Element-wise ONNX operators equal onnxruntime: arithmetic, comparisons, logic, functions."""

from __future__ import annotations

import numpy as np
import pytest

from glowmcu.compilation import Options
from glowmcu.errors import GlowmcuError
from glowmcu.pipeline import compile_model
from tests.support.check_model import check_model
from tests.support.onnx_models import onnx_model, run_onnxruntime

F32 = "float32"


def real_numbers(shape, low=-4.0, high=4.0, seed=1) -> np.ndarray:
    values = np.random.default_rng(seed).uniform(low, high, shape).astype(np.float32)
    flat = values.reshape(-1)
    halves = np.array([0.0, 0.5, 1.0, 1.5, 2.0, 2.5], np.float32)
    flat[: len(halves)] = np.clip(halves, low, high)[: len(flat)]
    return values


def check_pair(kind, shapes, dtype, a, b, attributes=None, opset=18, **tolerance) -> None:
    operands = [("a", dtype, shapes[0]), ("b", dtype, shapes[1])]
    data = onnx_model(kind, operands, attributes, opset=opset)
    check_model(data, [[a, b]], oracle=run_onnxruntime, **tolerance)


SHAPES = {
    "the same": ((2, 3, 5), (2, 3, 5)),
    "scalars": ((), ()),
    "a channel": ((1, 3, 4, 5), (3, 1, 1)),
    "rank 6 in turns": ((2, 1, 2, 1, 3, 1), (1, 3, 1, 2, 1, 2)),
}


@pytest.mark.parametrize("kind", ["Add", "Sub", "Mul", "Div"])
@pytest.mark.parametrize("shapes", SHAPES.values(), ids=SHAPES)
def test_arithmetic_of_real_numbers_broadcasts(kind, shapes) -> None:
    b = real_numbers(shapes[1], 0.5, 3.0, 2)
    check_pair(kind, shapes, F32, real_numbers(shapes[0]), b)


@pytest.mark.parametrize("slope", [(3, 1, 1), (5,), (1,), (2, 3, 4, 5)])
def test_slopes_broadcast(slope) -> None:
    shapes = (2, 3, 4, 5), slope
    check_pair("PRelu", shapes, F32, real_numbers(shapes[0]), real_numbers(slope, 0.5, 3.0, 2))


@pytest.mark.parametrize("kind", ["Add", "Sub", "Mul", "Div", "Max", "Min"])
@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "int32", "int64"])
def test_integers_wrap_as_numpy_does(kind, dtype) -> None:
    limits = np.iinfo(dtype)
    generator = np.random.default_rng(3)
    a = generator.integers(limits.min, limits.max, (3, 40), dtype, endpoint=True)
    b = generator.integers(limits.min, limits.max, (40,), dtype, endpoint=True)
    b[b == 0] = 1
    data = onnx_model(kind, [("a", dtype, a.shape), ("b", dtype, b.shape)])
    with np.errstate(all="ignore"):
        exact = {"Add": a + b, "Sub": a - b, "Mul": a * b, "Max": np.maximum(a, b),
                 "Min": np.minimum(a, b)}  # fmt: skip
    if kind == "Div":
        wide = np.abs(a.astype(object)) // np.abs(b.astype(object))
        signs = np.where((a < 0) != (b < 0), -1, 1)
        quotients = [int(q) for q in (wide * signs).reshape(-1)]
        exact["Div"] = np.array([q - 2 * (limits.max + 1) if q > limits.max else q
                                 for q in quotients], dtype).reshape(a.shape)  # fmt: skip
    check_model(data, [[a, b]], oracle=lambda model, inputs: [exact[kind]])


@pytest.mark.parametrize("fmod", [0, 1])
@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "int64"])
def test_remainders_have_the_sign_that_is_asked_for(fmod, dtype) -> None:
    a = np.array([7, 7, 5, 6, 100, 0, 3], dtype)
    b = np.array([3, 5, 5, 4, 7, 9, 100], dtype)
    if np.iinfo(dtype).min < 0:
        a[:3] *= -1
        b[1:4] *= -1
    check_pair("Mod", (a.shape, b.shape), dtype, a, b, {"fmod": fmod})


def test_the_remainder_of_real_numbers_is_exact() -> None:
    a, b = real_numbers((400,), -1e5, 1e5), real_numbers((400,), 0.01, 9.0, 2)
    check_pair("Mod", (a.shape, b.shape), F32, a, b, {"fmod": 1}, rtol=0)


@pytest.mark.parametrize("exponent", [2.0, 3.0, 0.5, -1.0, -0.5, 1.7, -2.3, 0.0, np.inf])
def test_constant_exponents_equal_onnxruntime(exponent) -> None:
    data = onnx_model("Pow", [("x", F32, (3, 50)), np.array(exponent, np.float32)])
    check_model(data, [[real_numbers((3, 50), 0.1, 9.0)]], oracle=run_onnxruntime)


@pytest.mark.parametrize(
    ("base", "exponent"), [(F32, F32), (F32, "int64"), ("int32", "int32"), ("int32", F32)]
)
def test_powers_of_every_pair_of_types_equal_onnxruntime(base, exponent) -> None:
    a = np.array([1, 2, 3, -4, 7, 10], base)
    b = np.array([0, 5, 2, 3, 4, 6], exponent)
    data = onnx_model("Pow", [("a", base, (6,)), ("b", exponent, (6,))])
    check_model(data, [[a, b]], oracle=run_onnxruntime)


@pytest.mark.parametrize("kind", ["Max", "Min", "Sum", "Mean"])
@pytest.mark.parametrize("count", [1, 2, 3])
def test_operators_of_many_tensors_equal_onnxruntime(kind, count) -> None:
    shapes = [(2, 3, 4), (4,), (3, 1)][:count]
    operands = [(f"x{i}", F32, shape) for i, shape in enumerate(shapes)]
    data = onnx_model(kind, operands)
    check_model(data, [[real_numbers(s, seed=i) for i, s in enumerate(shapes)]], run_onnxruntime)


COMPARISONS = ["Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual"]


@pytest.mark.parametrize("kind", COMPARISONS)
@pytest.mark.parametrize("dtype", [F32, "int32", "int64", "uint8", "int8"])
def test_comparisons_equal_numpy(kind, dtype) -> None:
    generator = np.random.default_rng(4)
    a, b = generator.integers(0, 4, (2, 60)).astype(dtype)
    functions = dict(zip(COMPARISONS, [np.equal, np.greater, np.greater_equal, np.less,
                                       np.less_equal], strict=True))  # fmt: skip
    data = onnx_model(kind, [("a", dtype, (60,)), ("b", dtype, (60,))])
    check_model(data, [[a, b]], oracle=lambda model, inputs: [functions[kind](*inputs)])


def test_logic_and_selection_equal_onnxruntime() -> None:
    a, b = np.array([0, 0, 1, 1], bool), np.array([0, 1, 0, 1], bool)
    for kind in ("And", "Or", "Xor"):
        check_pair(kind, ((4,), (4,)), "bool", a, b)
    check_model(onnx_model("Not", [("a", "bool", (4,))]), [[a]], oracle=run_onnxruntime)
    operands = [("c", "bool", (4, 1)), ("x", F32, (3,)), ("y", F32, (4, 3))]
    inputs = [a.reshape(4, 1), real_numbers((3,)), real_numbers((4, 3), seed=2)]
    check_model(onnx_model("Where", operands), [inputs], oracle=run_onnxruntime)


@pytest.mark.parametrize("attributes", [{}, {"detect_negative": 0}, {"detect_positive": 0}])
def test_infinities_and_what_is_not_a_number_are_found(attributes) -> None:
    x = np.array([1.0, np.inf, -np.inf, np.nan, 0.0, 3e38], np.float32)
    data = onnx_model("IsInf", [("x", F32, x.shape)], attributes)
    check_model(data, [[x]], oracle=run_onnxruntime)
    check_model(onnx_model("IsNaN", [("x", F32, x.shape)]), [[x]], oracle=run_onnxruntime)


@pytest.mark.parametrize("kind", ["BitwiseAnd", "BitwiseOr", "BitwiseXor"])
@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "int64"])
def test_bits_equal_onnxruntime(kind, dtype) -> None:
    limits = np.iinfo(dtype)
    a, b = np.random.default_rng(6).integers(limits.min, limits.max, (2, 50), dtype)
    check_pair(kind, ((50,), (50,)), dtype, a, b)
    check_model(onnx_model("BitwiseNot", [("a", dtype, (50,))]), [[a]], oracle=run_onnxruntime)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "int64"])
@pytest.mark.parametrize("direction", ["LEFT", "RIGHT"])
def test_shifts_by_too_much_push_every_bit_out(direction, dtype) -> None:
    bits, least = 8 * np.dtype(dtype).itemsize, np.iinfo(dtype).min
    a = np.array([1, 5, least, least, 100, 100, least], dtype)
    b = np.array([1, bits - 1, bits - 1, bits, bits, bits + 1, 2], dtype)
    wide = np.where(b >= bits, 0 if direction == "LEFT" else np.where(a < 0, -1, 0), 0)
    inside = np.left_shift(a, b % bits) if direction == "LEFT" else np.right_shift(a, b % bits)
    want = np.where(b >= bits, wide, inside).astype(dtype)
    operands = [("a", dtype, (7,)), ("b", dtype, (7,))]
    data = onnx_model("BitShift", operands, {"direction": direction})
    check_model(data, [[a, b]], oracle=lambda model, inputs: [want])


#: Arguments and attributes.
FUNCTIONS = {
    "Abs": (-4, 4), "Acos": (-1, 1), "Acosh": (1, 50), "Asin": (-1, 1), "Asinh": (-50, 50),
    "Atan": (-9, 9), "Atanh": (-0.99, 0.99), "Ceil": (-9, 9), "Cos": (-90, 90), "Cosh": (-9, 9),
    "Erf": (-5, 5), "Exp": (-20, 9), "Floor": (-9, 9), "HardSwish": (-9, 9), "Log": (0.001, 99),
    "Neg": (-4, 4), "Reciprocal": (0.1, 9), "Relu": (-4, 4), "Round": (-9, 9),
    "Sigmoid": (-20, 20), "Sign": (-1, 1), "Sin": (-90, 90), "Sinh": (-9, 9),
    "Softplus": (-20, 20), "Softsign": (-20, 20), "Sqrt": (0, 99), "Tan": (-1.4, 1.4),
    "Tanh": (-9, 9), "Mish": (-20, 20),
}  # fmt: skip


@pytest.mark.parametrize("kind", FUNCTIONS)
def test_functions_of_one_tensor_equal_onnxruntime(kind) -> None:
    data = onnx_model(kind, [("x", F32, (3, 5, 7))])
    x = real_numbers((3, 5, 7), *FUNCTIONS[kind])
    check_model(data, [[x]], oracle=run_onnxruntime)


@pytest.mark.parametrize(
    ("kind", "attributes", "opset"),
    [("Elu", {"alpha": 1.0}, 18), ("Elu", {"alpha": 0.3}, 18), ("Selu", {}, 18),
     ("Selu", {"alpha": 2.0, "gamma": 3.0}, 18), ("Celu", {"alpha": 2.0}, 18),
     ("LeakyRelu", {"alpha": 0.2}, 18), ("ThresholdedRelu", {"alpha": 1.5}, 18),
     ("HardSigmoid", {"alpha": 0.3, "beta": 0.4}, 18), ("Gelu", {}, 20),
     ("Gelu", {"approximate": "tanh"}, 20), ("Shrink", {"lambd": 1.5, "bias": 0.5}, 18)],
)  # fmt: skip
def test_activations_with_attributes_equal_onnxruntime(kind, attributes, opset) -> None:
    data = onnx_model(kind, [("x", F32, (3, 5, 7))], attributes, opset=opset)
    check_model(data, [[real_numbers((3, 5, 7))]], oracle=run_onnxruntime)


def test_swish_is_x_times_its_own_sigmoid() -> None:
    x = real_numbers((3, 50))
    data = onnx_model("Swish", [("x", F32, (3, 50))], {"alpha": 1.7}, opset=24)
    check_model(data, [[x]], oracle=lambda model, inputs: [x / (1 + np.exp(-np.float32(1.7) * x))])


CLIPS = {
    "both": (np.float32(-1), np.float32(2)),
    "only the lower": (np.float32(-1), None),
    "only the upper": (None, np.float32(2)),
    "neither": (None, None),
    "crossed": (np.float32(2), np.float32(1)),
}


@pytest.mark.parametrize("bounds", CLIPS.values(), ids=CLIPS)
def test_clip_equals_onnxruntime(bounds) -> None:
    operands = [None if bound is None else np.array(bound) for bound in bounds]
    data = onnx_model("Clip", [("x", F32, (3, 5, 7)), *operands])
    x = real_numbers((3, 5, 7))
    check_model(data, [[x]], oracle=run_onnxruntime)


def test_clip_of_integers_and_with_bounds_known_at_run_time() -> None:
    x = np.arange(-40, 40, dtype=np.int8)
    data = onnx_model("Clip", [("x", "int8", (80,)), np.array(-3, np.int8), np.array(9, np.int8)])
    check_model(data, [[x]], oracle=run_onnxruntime)
    data = onnx_model("Clip", [("x", F32, (9,)), ("low", F32, ()), ("high", F32, ())])
    inputs = [real_numbers((9,)), np.array(-1, np.float32), np.array(1, np.float32)]
    check_model(data, [inputs], oracle=run_onnxruntime)


def test_division_by_a_constant_is_a_multiplication() -> None:
    data = onnx_model("Div", [("x", F32, (3, 5)), np.array([1, 3, 7, -0.1, 9], np.float32)])
    compilation = check_model(data, oracle=run_onnxruntime)
    assert [node.op.name for node in compilation.graph.nodes if node.inputs] == ["mul"]


def test_a_chain_of_functions_is_one_loop() -> None:
    from onnx import TensorProto, ValueInfoProto, helper

    from tests.support.onnx_models import finished

    nodes = [
        helper.make_node("Sigmoid", ["x"], ["a"]),
        helper.make_node("Mul", ["x", "a"], ["b"]),
        helper.make_node("Sin", ["b"], ["c"]),
        helper.make_node("Add", ["c", "x"], ["y"]),
    ]
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, (4, 9))
    data = finished(__import__("onnx"), nodes, [x], [ValueInfoProto(name="y")], [])
    compilation = check_model(data, oracle=run_onnxruntime)
    assert [node.op.name for node in compilation.graph.nodes] == ["stack"]


REFUSED = {
    "bits of real numbers": (
        ("BitwiseNot", [("x", F32, (3,))], None),
        "BitwiseNot: expected one integer type without scales, got float32[3]",
    ),
    "an unknown approximation": (
        ("Gelu", [("x", F32, (3,))], {"approximate": "cubic"}),
        "Gelu: approximate 'cubic' is neither none nor tanh",
    ),
    "no direction": (
        ("BitShift", [("x", "uint8", (3,)), ("z", "uint8", (3,))], {"direction": "UP"}),
        "BitShift: direction 'UP' is neither LEFT nor RIGHT",
    ),
    "shapes that do not broadcast": (
        ("Add", [("x", F32, (3,)), ("z", F32, (4,))], None),
        "Add: (3,) and (4,) do not broadcast: sizes must be equal or 1",
    ),
}


@pytest.mark.parametrize(("case", "text"), REFUSED.values(), ids=REFUSED)
def test_what_is_refused_says_why(case, text) -> None:
    kind, operands, attributes = case
    import onnx
    from onnx import helper

    inputs = [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(np.dtype(t)), s)
              for n, t, s in operands]  # fmt: skip
    node = helper.make_node(kind, [n for n, _, _ in operands], ["y"], **(attributes or {}))
    graph = helper.make_graph([node], "g", inputs, [onnx.ValueInfoProto(name="y")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)])
    with pytest.raises(GlowmcuError) as caught:
        compile_model(model.SerializeToString(), "m.onnx", Options("m"))
    assert text in str(caught.value)
