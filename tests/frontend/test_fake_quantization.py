"""What quantization-aware training exports: integer graphs with the file's own scales.

Quant of QONNX is compared with its definition in numpy, QCDQ with onnxruntime.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from glowmcu.errors import GlowmcuError
from glowmcu.ir.graph import Graph
from glowmcu.ir.interpreter import run_graph
from glowmcu.ir.types import ElementType
from glowmcu.ops.convolution import Conv2D
from glowmcu.ops.matmul import FullyConnected
from glowmcu.ops.quantization import Dequantize, Quantize
from glowmcu.pipeline import reference_graph
from tests.support.check_model import check_model
from tests.support.onnx_models import finished, run_onnxruntime

onnx = pytest.importorskip("onnx", reason="pip install onnx")
Array = npt.NDArray[Any]
QONNX = "qonnx.custom_op.general"


class Parts:
    """Nodes and constants of a file in the making."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self.x = onnx.helper.make_tensor_value_info("x", 1, shape)

    def constant(self, data: npt.ArrayLike) -> str:
        name = f"c{len(self.constants)}"
        array = np.asarray(data)
        wide = array.dtype in (np.float64,)
        self.constants.append(
            onnx.numpy_helper.from_array(array.astype(np.float32) if wide else array, name)
        )
        return name

    def add(self, kind: str, *inputs: str, **attributes: Any) -> str:
        name = f"v{len(self.nodes)}"
        self.nodes.append(onnx.helper.make_node(kind, list(inputs), [name], **attributes))
        return name

    def quant(
        self, x: str, scale: npt.ArrayLike, bits: float, zero: float = 0.0,
        domain: str = QONNX, **attributes: Any,
    ) -> str:  # fmt: skip
        operands = [self.constant(np.float32(v)) for v in (scale, zero, bits)]
        return self.add("Quant", x, *operands, domain=domain, **attributes)

    def finish(self, result: str, domain: str = QONNX, opset: int = 17) -> bytes:
        graph = onnx.helper.make_graph(
            self.nodes, "main", [self.x],
            [onnx.helper.make_tensor_value_info(result, 1, None)], self.constants,
        )  # fmt: skip
        opsets = [onnx.helper.make_opsetid("", opset), onnx.helper.make_opsetid(domain, 1)]
        model = onnx.helper.make_model(graph, opset_imports=opsets, ir_version=8)
        data: bytes = model.SerializeToString()
        return data


def quantized(
    x: Array, scale: npt.ArrayLike, bits: int, zero: float = 0.0, signed: int = 1, narrow: int = 0
) -> Array:
    """QONNX's definition of Quant with rounding_mode ROUND."""
    low = -(2 ** (bits - 1)) + narrow if signed else 0
    high = 2 ** (bits - 1) - 1 if signed else 2**bits - 1 - narrow
    scale = np.float32(scale)
    steps = np.clip(np.rint(x / scale + np.float32(zero)), low, high)
    return np.asarray((steps - np.float32(zero)) * scale, np.float32)


def stored_values(scale: float, width: int = 3) -> Array:
    """Multiples of a third of `scale` across and beyond the range of 8 bits."""
    return (np.arange(-200 * width, 200 * width) * (scale / width)).astype(np.float32)[np.newaxis]


ACTIVATIONS = {
    "8 bits": {"bits": 8},
    "8 bits, narrow": {"bits": 8, "narrow": 1},
    "8 bits, unsigned": {"bits": 8, "signed": 0},
    "8 bits, unsigned, zero point 17": {"bits": 8, "signed": 0, "zero": 17.0},
    "4 bits": {"bits": 4},
    "3 bits, unsigned": {"bits": 3, "signed": 0},
    "2 bits, narrow": {"bits": 2, "narrow": 1},
    "5 bits, zero point -4": {"bits": 5, "zero": -4.0},
}


@pytest.mark.parametrize("case", ACTIVATIONS.values(), ids=ACTIVATIONS)
@pytest.mark.parametrize("domain", [QONNX, "onnx.brevitas", "finn.custom_op.general"])
def test_quant_of_an_activation_is_its_definition(case: dict[str, Any], domain: str) -> None:
    x = stored_values(0.0625)
    parts = Parts(x.shape)
    options = {key: value for key, value in case.items() if key in ("signed", "narrow")}
    y = parts.quant("x", 0.0625, case["bits"], case.get("zero", 0.0), domain, **options)
    data = parts.finish(y, domain)
    (got,) = run_graph(reference_graph(data, "m.onnx"), [x])
    np.testing.assert_array_equal(got, quantized(x, 0.0625, **case))
    check_model(data, [[x]])


def layers(bits: int) -> tuple[bytes, dict[str, Array]]:
    """Conv and Gemm between Quant nodes, weights in `bits` with a scale a channel."""
    generator = np.random.default_rng(bits)
    scale = generator.uniform(0.05, 0.2, (4, 1, 1, 1)).astype(np.float32)
    w = generator.normal(0, 0.4, (4, 2, 3, 3)).astype(np.float32)
    v = generator.normal(0, 0.4, (5, 64)).astype(np.float32)
    parts = Parts((1, 2, 4, 4))
    x = parts.quant("x", 2.0**-5, 8)
    weights = parts.quant(parts.constant(w), scale, bits, narrow=1)
    y = parts.add("Conv", x, weights, kernel_shape=[3, 3], pads=[1, 1, 1, 1])
    y = parts.quant(parts.add("Relu", y), 2.0**-4, 4, signed=0)
    y = parts.add("Flatten", y)
    rows = parts.quant(parts.constant(v), 0.125, bits)
    y = parts.quant(parts.add("Gemm", y, rows, transB=1), 2.0**-2, 8)
    stored = {
        "conv": np.rint(quantized(w, scale, bits, narrow=1) / scale),
        "gemm": np.rint(quantized(v, 0.125, bits) / np.float32(0.125)),
    }
    return parts.finish(y), stored


def integer_layers(graph: Graph) -> dict[str, Array]:
    found = {}
    for node in graph.nodes:
        if isinstance(node.op, Conv2D | FullyConnected):
            assert node.output.type.element is ElementType.I8, node.op.name
            data = graph.constant_data(node.inputs[1])
            assert data is not None
            found["conv" if isinstance(node.op, Conv2D) else "gemm"] = data
    return found


@pytest.mark.parametrize("bits", [2, 3, 4, 8])
def test_layers_between_quants_are_integers_with_the_file_s_weights(bits: int) -> None:
    data, stored = layers(bits)
    graph = reference_graph(data, "m.onnx")
    found = integer_layers(graph)
    np.testing.assert_array_equal(found["conv"], stored["conv"].transpose(0, 2, 3, 1))
    # The graph keeps channels last, so that rows of the second layer are in another order.
    np.testing.assert_array_equal(
        np.sort(found["gemm"], axis=1), np.sort(stored["gemm"], axis=1).astype(np.int8)
    )
    inner = [node for node in graph.nodes if not isinstance(node.op, Quantize | Dequantize)]
    assert all(ElementType.F32 not in [v.type.element for v in n.outputs] for n in inner)
    x = np.random.default_rng(0).normal(0, 2, (1, 2, 4, 4)).astype(np.float32)
    check_model(data, [[x]])


def qcdq(bits: int, weights_stored: bool) -> bytes:
    """A layer as Brevitas' QCDQ has it: Clip in the middle of each pair."""
    generator = np.random.default_rng(bits)
    low, high = -(2 ** (bits - 1)), 2 ** (bits - 1) - 1
    parts = Parts((1, 16))
    limits = [parts.constant(np.int8(low)), parts.constant(np.int8(high))]
    zero = parts.constant(np.int8(0))
    step = parts.constant(np.float32(0.25))
    q = parts.add("Clip", parts.add("QuantizeLinear", "x", step, zero), *limits)
    x = parts.add("DequantizeLinear", q, step, zero)
    scales = generator.uniform(0.05, 0.1, 6).astype(np.float32)
    scale, zeros = parts.constant(scales), parts.constant(np.zeros(6, np.int8))
    if weights_stored:
        stored = parts.constant(generator.integers(low, high + 1, (6, 16)).astype(np.int8))
    else:
        real = parts.constant(generator.normal(0, 0.3, (6, 16)).astype(np.float32))
        stored = parts.add("QuantizeLinear", real, scale, zeros, axis=0)
    weights = parts.add("Clip", stored, *limits)
    w = parts.add("DequantizeLinear", weights, scale, zeros, axis=0)
    y = parts.add("Gemm", x, w, transB=1)
    out = parts.constant(np.float32(0.5))
    last = parts.add("QuantizeLinear", y, out, zero)
    result = parts.add("DequantizeLinear", last, out, zero)
    return finished(
        onnx, parts.nodes, [parts.x], [onnx.ValueInfoProto(name=result)], parts.constants, 17
    )


@pytest.mark.parametrize("bits", [2, 4, 6])
@pytest.mark.parametrize("weights_stored", [True, False], ids=["stored weights", "real weights"])
def test_clips_between_pairs_leave_an_integer_graph(bits: int, weights_stored: bool) -> None:
    data = qcdq(bits, weights_stored)
    graph = reference_graph(data, "m.onnx")
    weights = integer_layers(graph)["gemm"]
    assert np.abs(weights.astype(int)).max() <= 2 ** (bits - 1)
    for seed in range(3):
        x = np.random.default_rng(seed).normal(0, 2, (1, 16)).astype(np.float32)
        (want,) = run_onnxruntime(data, [x])
        (got,) = run_graph(graph, [x])
        assert np.abs(got - want).max() <= 0.5 * 1.001, "halves are rounded otherwise"
    check_model(data, [[x]])


def test_weights_of_one_bit_are_signs() -> None:
    parts = Parts((1, 8))
    real = np.random.default_rng(1).normal(0, 1, (3, 8)).astype(np.float32)
    real[0, 0] = 0.0
    w = parts.add(
        "BipolarQuant", parts.constant(real), parts.constant(np.float32(0.5)), domain=QONNX
    )
    x = parts.quant("x", 0.125, 8)
    y = parts.quant(parts.add("Gemm", x, w, transB=1), 0.25, 8)
    graph = reference_graph(parts.finish(y), "m.onnx")
    np.testing.assert_array_equal(integer_layers(graph)["gemm"], np.where(real >= 0, 1, -1))


def test_activations_of_one_bit_are_the_scale_or_its_negative() -> None:
    parts = Parts((1, 9))
    y = parts.add("BipolarQuant", "x", parts.constant(np.float32(0.5)), domain=QONNX)
    data = parts.finish(y)
    x = np.array([[-2, -1e-30, -0.0, 0, 1e-30, 0.25, 3, np.inf, -np.inf]], np.float32)
    (got,) = run_graph(reference_graph(data, "m.onnx"), [x])
    np.testing.assert_array_equal(got, np.where(x >= 0, 0.5, -0.5).astype(np.float32))
    check_model(data, [[x]])


def test_a_layer_of_one_bit_both_ways_is_an_integer_layer() -> None:
    parts = Parts((1, 16))
    real = np.random.default_rng(2).normal(0, 1, (5, 16)).astype(np.float32)
    w = parts.add("BipolarQuant", parts.constant(real), parts.constant(np.float32(1)), domain=QONNX)
    x = parts.add("BipolarQuant", "x", parts.constant(np.float32(1)), domain=QONNX)
    data = parts.finish(parts.quant(parts.add("Gemm", x, w, transB=1), 0.25, 8))
    graph = reference_graph(data, "m.onnx")
    signs = np.where(real >= 0, 1, -1)
    np.testing.assert_array_equal(integer_layers(graph)["gemm"], signs)
    given = np.random.default_rng(3).normal(0, 1, (1, 16)).astype(np.float32)
    (got,) = run_graph(graph, [given])
    np.testing.assert_array_equal(got, np.where(given >= 0, 1, -1) @ signs.T)
    check_model(data, [[given]])


@pytest.mark.parametrize(
    ("scale", "said"),
    [([0.5, 0.25], "2 scales; expected one"), (-1.0, "scale -1; expected one, positive")],
)
def test_other_scales_of_activations_of_one_bit_are_refused(scale: Any, said: str) -> None:
    parts = Parts((1, 2))
    y = parts.add("BipolarQuant", "x", parts.constant(np.array(scale, np.float32)), domain=QONNX)
    with pytest.raises(GlowmcuError, match=said) as caught:
        reference_graph(parts.finish(y), "m.onnx")
    assert caught.value.code == "GM105"


REFUSED = {
    "nine bits": ({"bits": 9}, "9 bits, ROUND; expected one scale, up to 8 bits"),
    "half a bit": ({"bits": 2.5}, "2.5 bits; expected 1 to 32"),
    "a scale a channel": ({"bits": 8, "scale": [0.1, 0.2]}, "2 scales, 8 bits"),
    "floor": ({"bits": 8, "rounding_mode": "FLOOR"}, "FLOOR; expected one scale"),
    "a mode of its own": ({"bits": 8, "rounding_mode": "MINE"}, "known are CEIL, DOWN"),
    "zero point beside the numbers": ({"bits": 4, "zero": 9.0}, "zero point 9 is none"),
    "a scale of 0": ({"bits": 4, "scale": 0.0}, "a scale is not positive"),
}


@pytest.mark.parametrize(("case", "said"), REFUSED.values(), ids=REFUSED)
def test_what_no_pair_says_is_refused(case: dict[str, Any], said: str) -> None:
    parts = Parts((1, 2))
    given = {"scale": 0.1, **case}
    y = parts.quant("x", given.pop("scale"), given.pop("bits"), given.pop("zero", 0.0), **given)
    with pytest.raises(GlowmcuError, match=said) as caught:
        reference_graph(parts.finish(y), "m.onnx")
    assert caught.value.code == "GM105"
