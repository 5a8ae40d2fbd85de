"""How many layers store a byte for a weight of four bits, told to the user."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest

import glowmcu

REPO = Path(__file__).resolve().parents[2]
DIGITS = REPO / "examples" / "digits" / "digits.onnx"


@pytest.mark.parametrize("board", ["rp2040", "nucleo-l4r5zi", "nrf5340"])
def test_layers_that_store_a_byte_each_are_counted(board: str, tmp_path: Path) -> None:
    data = np.random.default_rng(1).uniform(0, 1, (16, 1, 8, 8)).astype(np.float32)
    bundle = glowmcu.compile(
        DIGITS, board, tmp_path / "b", samples=[data],
        quantization=glowmcu.Quantization(weights=4),
    )  # fmt: skip
    told = [note for note in bundle.notes if note.startswith("weights of four bits: ")]
    layers = [layer for layer in bundle.manifest.layers if layer.macs]
    narrow = [layer for layer in layers if "nibbles" in layer.kernel]
    assert len(told) == (len(narrow) < len(layers)), bundle.notes
    if told:
        expected = f"{len(layers) - len(narrow)} of {len(layers)} layers with a byte for each"
        assert expected in told[0]


def test_a_layer_with_two_weights_in_a_byte_is_not_counted(tmp_path: Path) -> None:
    random = np.random.default_rng(2)
    weights = random.normal(size=(128, 64)).astype(np.float32)
    graph = onnx.helper.make_graph(
        [onnx.helper.make_node("MatMul", ["x", "w"], ["y"])], "dense",
        [onnx.helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [1, 128])],
        [onnx.helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, [1, 64])],
        [onnx.numpy_helper.from_array(weights, "w")],
    )  # fmt: skip
    opset = [onnx.helper.make_opsetid("", 17)]
    file = tmp_path / "m.onnx"
    onnx.save(onnx.helper.make_model(graph, opset_imports=opset, ir_version=9), file)
    data = random.normal(size=(16, 128)).astype(np.float32)
    told = {}
    for board in ("rp2040", "nucleo-l4r5zi"):
        bundle = glowmcu.compile(
            file, board, tmp_path / board, "m", samples=[data],
            quantization=glowmcu.Quantization(weights=4),
        )  # fmt: skip
        kernels = [layer.kernel for layer in bundle.manifest.layers]
        told[board] = [note for note in bundle.notes if "with a byte for each" in note]
        assert ("fully_connected.nibbles_dsp" in kernels) == (board == "nucleo-l4r5zi")
    assert told["nucleo-l4r5zi"] == []
    assert "1 of 1 layers with a byte for each" in told["rp2040"][0]
    assert "--optimize flash" in told["rp2040"][0]
