"""Models of which onnxruntime's tools have quantized the weights alone."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from glowmcu.errors import GlowmcuError
from glowmcu.frontend.notes import notes_on_file
from glowmcu.frontend.read_model import read_model
from tests.ops.test_onnx_fused import model_of
from tests.support.check_model import check_model
from tests.support.onnx_models import run_onnxruntime

onnx = pytest.importorskip("onnx", reason="pip install onnx")

RANDOM = np.random.default_rng(21)


def packed(numbers: np.ndarray, bits: int) -> np.ndarray:
    """uint8 (columns, blocks, size * bits / 8), the first number in the lowest bits."""
    shifts = np.arange(0, 8, bits)
    groups = numbers.reshape(*numbers.shape[:-1], -1, len(shifts))
    return np.asarray((groups << shifts).sum(-1), np.uint8)


@pytest.mark.parametrize("bits", [2, 4, 8])
@pytest.mark.parametrize("points", ["", "packed", "float"])
@pytest.mark.parametrize("inner", [32, 40, 16, 7])
def test_products_with_weights_in_blocks(inner: int, points: str, bits: int) -> None:
    """onnxruntime is asked for 4 bits, which all of its versions know."""
    columns, size = 5, 16
    blocks = -(-inner // size)
    stored = RANDOM.integers(0, 1 << bits, (columns, blocks, size))
    scales = RANDOM.uniform(0.1, 0.3, (columns, blocks)).astype(np.float32)
    middle = RANDOM.integers(0, 1 << bits, (columns, blocks)) if points else 1 << (bits - 1)
    attributes = {"K": inner, "N": columns, "bits": bits, "block_size": size}
    operands: list[Any] = [(2, inner), packed(stored, bits), scales.reshape(-1)]
    if points == "packed":
        whole = -(-blocks * bits // 8) * 8 // bits
        padded = np.zeros((columns, whole), int)
        padded[:, :blocks] = middle
        operands.append(packed(padded, bits).reshape(-1))
    elif points:
        operands.append(middle.astype(np.float32))
    else:
        operands.append(None)
    bias = RANDOM.normal(size=columns).astype(np.float32)
    operands += [None, bias]
    offsets = stored - np.broadcast_to(middle, (columns, blocks))[:, :, np.newaxis]
    real = (offsets * scales[:, :, np.newaxis]).reshape(columns, -1)[:, :inner]

    def by_numbers(_: bytes, inputs: Sequence[np.ndarray]) -> list[np.ndarray]:
        return [(inputs[0] @ real.T + bias).astype(np.float32)]

    data = model_of("MatMulNBits", operands, attributes)
    check_model(data, oracle=by_numbers)
    if bits == 4:
        check_model(data, oracle=run_onnxruntime, rtol=1e-4)


@pytest.mark.parametrize(
    ("attributes", "operands", "text"),
    [
        ({"bits": 3}, [], "of 3 bits"),
        ({"block_size": 0}, [], "in blocks of 0"),
        ({"N": -1}, [], "16x-1"),
        ({"K": 2**40}, [], "are allowed"),
        ({"N": 3}, [], "32 weights, 2 scales"),
        ({}, [None, np.zeros(16, np.int32)], "g_idx"),
        ({}, [np.zeros(0, np.uint8)], "0 zero points"),
    ],
)
def test_damaged_blocks_are_refused(
    attributes: dict[str, int], operands: list[Any], text: str
) -> None:
    usual: list[Any] = [(2, 16), np.zeros((2, 1, 8), np.uint8), np.ones(2, np.float32)]
    given = {"K": 16, "N": 2, "bits": 4, "block_size": 16, **attributes}
    with pytest.raises(GlowmcuError, match=text):
        read_model(model_of("MatMulNBits", usual + operands, given), "m.onnx")


def _lstms(direction: str, per_column: bool, dtype: str, reach: int) -> tuple[bytes, bytes]:
    """An LSTM with stored weights, at most `reach` from their zero point, and with real ones."""
    directions, depth, hidden = (2 if direction == "bidirectional" else 1), 3, 4
    columns = (directions, 4 * hidden) if per_column else (directions,)
    limits = np.iinfo(dtype)
    zero = 0 if dtype == "int8" else 131
    low, high = max(limits.min, zero - reach), min(limits.max, zero + reach)
    stored, real, scales = [], [], []
    for inputs in (depth, hidden):
        numbers = RANDOM.integers(low, high + 1, (directions, inputs, 4 * hidden))
        scale = RANDOM.uniform(0.002, 0.006, columns).astype(np.float32)
        stored.append(numbers.astype(dtype))
        scales += [scale, np.full(columns, zero, dtype)]
        offsets = (numbers - zero).astype(np.float32)
        real.append(np.moveaxis(offsets * scale.reshape(directions, 1, -1), 1, 2))
    bias = RANDOM.normal(size=(directions, 8 * hidden)).astype(np.float32)
    attributes: dict[str, Any] = {"hidden_size": hidden, "direction": direction}
    operands: list[Any] = [(6, 1, depth), *stored, bias, None, None, None, None, *scales]
    data = model_of("DynamicQuantizeLSTM", operands, attributes)
    return data, model_of("LSTM", [(6, 1, depth), *real, bias], attributes, domain="")


@pytest.mark.parametrize("direction", ["forward", "bidirectional"])
@pytest.mark.parametrize("per_column", [False, True], ids=["a scale a matrix", "a scale a column"])
@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_an_lstm_with_rounded_weights(direction: str, per_column: bool, dtype: str) -> None:
    data, same = _lstms(direction, per_column, dtype, 255)
    check_model(data, oracle=lambda _, inputs: run_onnxruntime(same, inputs))
    # What is rounded on the fly differs a little. Two products of weights of 60 and bytes fit 16
    # bits, in which onnxruntime sums them on processors without VNNI.
    data, _ = _lstms(direction, per_column, dtype, 60)
    check_model(data, oracle=run_onnxruntime, rtol=0.05)


@pytest.mark.parametrize("per_column", [False, True], ids=["a scale a matrix", "a scale a column"])
@pytest.mark.parametrize("dtype", ["int8", "uint8"])
@pytest.mark.parametrize("bias", [False, True], ids=["no bias", "bias"])
def test_a_product_that_onnxruntime_joined(dtype: str, per_column: bool, bias: bool) -> None:
    """What its optimizer makes of a product of `quantize_dynamic`."""
    zero = 0 if dtype == "int8" else 131
    stored = RANDOM.integers(zero - 60, zero + 60, (6, 5)).astype(dtype)
    scales = RANDOM.uniform(0.01, 0.02, 5 if per_column else 1).astype(np.float32)
    points = np.full(scales.shape, zero, dtype)
    added = RANDOM.normal(size=5).astype(np.float32) if bias else None
    real = (stored.astype(np.float32) - zero) * scales

    def by_numbers(_: bytes, inputs: Sequence[np.ndarray]) -> list[np.ndarray]:
        return [np.asarray(inputs[0] @ real + (0 if added is None else added), np.float32)]

    data = model_of("DynamicQuantizeMatMul", [(3, 6), stored, scales, points, added], {})
    check_model(data, oracle=by_numbers, rtol=1e-5)
    check_model(data, oracle=run_onnxruntime, rtol=0.05)
    assert any("1 layer has rounded weights" in note for note in notes_on_file(data, "m.onnx"))


def dynamic_model(kind: str, columns: bool = False, **change: Any) -> tuple[bytes, np.ndarray]:
    """What quantize_dynamic writes, and the weights' real values; `change` breaks the pattern."""
    helper, numpy_helper = onnx.helper, onnx.numpy_helper
    is_matrix = kind == "MatMulInteger"
    weights = RANDOM.integers(0, 256, (6, 5) if is_matrix else (4, 6, 1, 3)).astype(np.uint8)
    sizes = change.get("sizes", weights.shape[1:2] if columns else ())
    scale = RANDOM.uniform(0.01, 0.02, sizes).astype(np.float32)
    point = np.full(scale.shape if scale.ndim < 2 else (), 117, np.uint8)
    data = {"w": weights, "ws": scale, "wz": point, "s": np.float32(0.5)}
    nodes = [
        helper.make_node("Relu", ["x"], ["xr"]),
        helper.make_node("DynamicQuantizeLinear", ["xr"], ["xq", "xs", "xz"]),
        helper.make_node("Mul", ["xs", change.get("scale", "ws")], ["scales"]),
        helper.make_node(kind, ["xq", "w", "xz", "wz"], ["sums"],
                         **({} if is_matrix else {"pads": [0, 1, 0, 1]})),
        helper.make_node("Cast", ["sums"], ["real"], to=onnx.TensorProto.FLOAT),
        helper.make_node(change.get("last", "Mul"), ["real", "scales"], ["y"]),
    ]  # fmt: skip
    shape = (3, 6) if is_matrix else (1, 6, 2, 7)
    outputs = [("y", onnx.TensorProto.FLOAT), *change.get("outputs", [])]
    graph = helper.make_graph(
        nodes, "main",
        [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info(name, type_, None) for name, type_ in outputs],
        [numpy_helper.from_array(array, name) for name, array in data.items()],
    )  # fmt: skip
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)
    real = (weights.astype(np.float32) - 117) * scale
    return bytes(model.SerializeToString()), real


@pytest.mark.parametrize(
    ("kind", "columns"),
    [("MatMulInteger", False), ("MatMulInteger", True), ("ConvInteger", False)],
)
def test_what_a_runtime_rounds_as_it_runs_stays_real(kind: str, columns: bool) -> None:
    """Nearer to the float model, and one layer instead of a dozen."""
    data, real = dynamic_model(kind, columns)
    float_kind = kind.removesuffix("Integer")
    shape = (3, 6) if kind == "MatMulInteger" else (1, 6, 2, 7)
    attributes = {} if kind == "MatMulInteger" else {"pads": [0, 1, 0, 1]}
    same = model_of(float_kind, [shape, real], attributes, domain="")
    compilation = check_model(
        data, oracle=lambda _, inputs: run_onnxruntime(same, [np.maximum(inputs[0], 0)])
    )
    names = [node.op.name for node in compilation.imported.nodes]
    assert "round" not in names
    assert "reduce_max" not in names
    check_model(data, oracle=run_onnxruntime, rtol=0.02)
    (note,) = notes_on_file(data, "m.onnx")
    assert note.startswith("1 layer has rounded weights in the file")
    assert "--samples" in note
    (note,) = notes_on_file(data, "m.onnx", quantizing=True)
    assert "may lose less" in note


@pytest.mark.parametrize(
    "change",
    [
        {"outputs": [("sums", 6)]}, {"outputs": [("real", 1)]}, {"last": "Add"}, {"scale": "xs"},
        {"sizes": (1, 5)},
    ],
    ids=["integers are an output", "and as float", "no product", "another scale", "a row of them"],
)  # fmt: skip
def test_anything_else_is_computed_on_the_integers_that_it_says(change: dict[str, Any]) -> None:
    data, _ = dynamic_model("MatMulInteger", **change)
    check_model(data, oracle=run_onnxruntime, rtol=1e-5)
    assert "round" in [node.op.name for node in read_model(data, "m.onnx").nodes]
    assert notes_on_file(data, "m.onnx") == ()


@pytest.mark.parametrize("place", range(6))
@pytest.mark.parametrize("part", ["input", "output"])
def test_damaged_nodes_of_such_a_product_are_read_or_refused(place: int, part: str) -> None:
    data, _ = dynamic_model("MatMulInteger")
    for keep in (0, 1):
        model = onnx.load_model_from_string(data)
        names = getattr(model.graph.node[place], part)
        del names[keep:]
        with contextlib.suppress(GlowmcuError):  # nothing else leaves the reader
            read_model(model.SerializeToString(), "m.onnx")
