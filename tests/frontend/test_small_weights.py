"""Weights of 2 bits, and of blocks with a scale each, as AI Edge Quantizer writes them.

LiteRT's reference kernels do not read scales of blocks; those of XNNPACK do, and round activations.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from glowmcu.errors import GlowmcuError
from glowmcu.frontend.read_model import read_model
from glowmcu.frontend.tflite.notes import notes_on_tflite
from glowmcu.frontend.tflite.packed_integers import unpack
from glowmcu.frontend.tflite.writer import ModelBuilder
from glowmcu.frontend.unsupported import Unsupported
from glowmcu.input_options import InputOptions
from glowmcu.ir.interpreter import run_graph
from tests.support.check_model import check_model

schema = pytest.importorskip("ai_edge_litert.schema_py_generated", reason="ai-edge-litert")
Array = npt.NDArray[Any]
ROWS, COLUMNS = 6, 64
TYPES = {2: schema.TensorType.INT2, 4: schema.TensorType.INT4, 8: schema.TensorType.INT8}


def packed(elements: Array, bits: int) -> Array:
    """The lowest bits of a byte first."""
    lanes = (elements.astype(np.uint8) & ((1 << bits) - 1)).reshape(-1, 8 // bits)
    shifts = np.arange(0, 8, bits, dtype=np.uint8)
    return np.bitwise_or.reduce(lanes << shifts, axis=-1).astype(np.uint8)


def drawn(bits: int) -> Array:
    half = 1 << (bits - 1)
    return np.random.default_rng(bits).integers(-half, half, (ROWS, COLUMNS), dtype=np.int8)


def layer(bits: int, weights: Array, scales: Array, block: int = 0, **wrong: Any) -> bytes:
    """FULLY_CONNECTED of float32; `scales` by row, or by row and block."""
    model = ModelBuilder()
    x = model.input("x", (1, COLUMNS), "float32")
    w = model.constant("w", np.zeros((ROWS, COLUMNS), np.float32))
    factors = model.constant("scales", scales.astype(wrong.pop("scale_type", np.float16)))
    y = model.tensor("y", (1, ROWS), "float32")
    model.op("FULLY_CONNECTED", [x, w], [y], {"fused_activation_function": "NONE"})
    model.output(y)
    tree = schema.ModelT.InitFromObj(schema.Model.GetRootAs(model.finish()))
    tensors = tree.subgraphs[0].tensors
    tensor = tensors[w.index]
    tensor.type = TYPES[bits]
    tree.buffers[tensor.buffer].data = packed(weights, bits)
    tensor.quantization = schema.QuantizationParametersT()
    if not block:
        tensor.quantization.scale = scales.reshape(-1).astype(np.float32)
        tensor.quantization.zeroPoint = np.zeros(ROWS, np.int64)
    else:
        details = schema.BlockwiseQuantizationT()
        details.scales = wrong.pop("tensor", factors.index)
        details.zeroPoints, details.blockSize = -1, block
        for name, value in wrong.items():
            setattr(details, name, value)
        tensor.quantization.details = details
        tensor.quantization.detailsType = schema.QuantizationDetails.BlockwiseQuantization
    return packed_file(tree)


def packed_file(tree: Any) -> bytes:
    import flatbuffers

    builder = flatbuffers.Builder(1024)
    builder.Finish(tree.Pack(builder), b"TFL3")
    return bytes(builder.Output())


def expected(weights: Array, scales: Array, x: Array) -> Array:
    """In float64."""
    steps = np.repeat(scales.astype(np.float64), COLUMNS // scales.shape[1], axis=1)
    return x.astype(np.float64) @ (weights * steps).T


@pytest.mark.parametrize("bits", [2, 4, 8])
@pytest.mark.parametrize("block", [0, 16, 32, 64])
def test_real_weights_are_those_of_the_file(bits: int, block: int) -> None:
    weights = drawn(bits)
    shape = (ROWS, COLUMNS // block) if block else (ROWS, 1)
    scales = np.random.default_rng(1).uniform(0.01, 0.1, shape).astype(np.float16)
    data = layer(bits, weights, scales, block)
    x = np.random.default_rng(2).normal(size=(1, COLUMNS)).astype(np.float32)
    (result,) = run_graph(read_model(data, "m.tflite"), [x])
    np.testing.assert_allclose(result, expected(weights, scales, x), rtol=1e-5, atol=1e-5)
    check_model(data, [[x]])


@pytest.mark.parametrize("block", [32, 64])
def test_they_are_near_what_xnnpack_computes(block: int) -> None:
    litert = pytest.importorskip("ai_edge_litert.interpreter", reason="ai-edge-litert")
    weights = drawn(4)
    scales = np.full((ROWS, COLUMNS // block), 0.05, np.float16)
    scales[1] *= 3
    data = layer(4, weights, scales, block)
    interpreter = litert.Interpreter(model_content=data)
    interpreter.allocate_tensors()
    x = np.random.default_rng(2).normal(size=(1, COLUMNS)).astype(np.float32)
    interpreter.set_tensor(interpreter.get_input_details()[0]["index"], x)
    interpreter.invoke()
    theirs = interpreter.get_tensor(interpreter.get_output_details()[0]["index"])
    (ours,) = run_graph(read_model(data, "m.tflite"), [x])
    # Activations have 8 bits there.
    np.testing.assert_allclose(ours, theirs, atol=0.02 * np.abs(theirs).max())


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"blockSize": 24}, "in blocks of 24 with scales FLOAT16 (6, 2)"),
        ({"blockSize": 16}, "expected (6, 4)"),
        ({"blockSize": 0}, "blocks of 0"),
        ({"tensor": 99}, "scales 99"),
        ({"zeroPoints": 1}, "zero points"),
        ({"blockShape": [1, 32]}, "blocks of several rows"),
        ({"scale_type": np.int32}, "scales INT32"),
    ],
)
def test_blocks_that_do_not_fit_are_refused(wrong: dict[str, Any], said: str) -> None:
    data = layer(4, drawn(4), np.full((ROWS, 2), 0.5), **{"block": 32, **wrong})
    with pytest.raises(GlowmcuError) as caught:
        read_model(data, "m.tflite")
    assert said in caught.value.problems[0].message


@pytest.mark.parametrize("bits", [2, 4])
def test_bits_of_a_byte_in_order(bits: int) -> None:
    elements = np.arange(-(1 << bits >> 1), 1 << bits >> 1, dtype=np.int8)
    assert unpack(packed(elements, bits).tobytes(), len(elements), bits).tolist() == list(elements)
    with pytest.raises(Unsupported, match=f"9 int{bits} elements need"):
        unpack(b"\0", 9, bits)


def test_a_note_says_what_blocks_become() -> None:
    data = layer(4, drawn(4), np.full((ROWS, 2), 0.5), 32)
    (note,) = notes_on_tflite(data, "m.tflite", InputOptions(), quantizing=False)
    assert f"become {4 * ROWS * COLUMNS} B of float32" in note


@pytest.mark.parametrize("bits", [4, 8])
def test_rows_of_a_table_may_have_a_scale_each(bits: int) -> None:
    weights, scales = drawn(bits), np.linspace(0.01, 0.06, ROWS).reshape(-1, 1)
    data = _looked_up(layer(bits, weights, scales))
    rows = np.array([3, 0, 5], np.int32)
    (result,) = run_graph(read_model(data, "m.tflite"), [rows])
    assert np.array_equal(result, weights[rows] * scales.astype(np.float32)[rows])
    check_model(data, [[rows]])


def test_columns_of_a_table_have_one_scale() -> None:
    data = _looked_up(layer(8, drawn(8), np.full((ROWS, 1), 0.5)), by_column=True)
    with pytest.raises(GlowmcuError, match="one scale, or one a row"):
        read_model(data, "m.tflite")


def _looked_up(data: bytes, by_column: bool = False) -> bytes:
    """EMBEDDING_LOOKUP in the place of the layer, by an int32[3]."""
    tree = schema.ModelT.InitFromObj(schema.Model.GetRootAs(data))
    graph = tree.subgraphs[0]
    x, y = graph.tensors[graph.inputs[0]], graph.tensors[graph.outputs[0]]
    x.type, x.shape, y.shape = schema.TensorType.INT32, [3], [3, COLUMNS]
    if by_column:
        (table,) = (each.quantization for each in graph.tensors if each.name == b"w")
        table.quantizedDimension, table.scale = 1, np.full(COLUMNS, 0.5, np.float32)
        table.zeroPoint = np.zeros(COLUMNS, np.int64)
    code = tree.operatorCodes[0]
    code.builtinCode = code.deprecatedBuiltinCode = schema.BuiltinOperator.EMBEDDING_LOOKUP
    graph.operators[0].builtinOptionsType, graph.operators[0].builtinOptions = 0, None
    return packed_file(tree)
