"""How many layers store a byte for a weight of four bits, told to the user."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Literal

import numpy as np
import onnx
import pytest

import glowmcu
from glowmcu.facts.document import SCHEMA_FILE

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


@pytest.mark.parametrize("bits", [4, 8])
def test_the_manifest_says_how_wide_weights_are(bits: Literal[4, 8], tmp_path: Path) -> None:
    data = np.random.default_rng(1).uniform(0, 1, (16, 1, 8, 8)).astype(np.float32)
    bundle = glowmcu.compile(
        DIGITS, "nucleo-l4r5zi", tmp_path / "b", samples=[data],
        quantization=glowmcu.Quantization(weights=bits),
    )  # fmt: skip
    manifest = glowmcu.load(tmp_path / "b").manifest
    assert manifest.layers == bundle.manifest.layers
    for layer in manifest.layers:
        assert layer.weights_bits == (bits if layer.macs else 0)
        assert layer.weights_packed == ("nibbles" in layer.kernel)
    assert any(layer.weights_packed for layer in manifest.layers) == (bits == 4)
    (dense,) = (layer for layer in manifest.layers if layer.op == "fully_connected")
    assert dense.weights_group * 10 == dense.macs, "a scale for each of ten outputs"
    described = json.loads(SCHEMA_FILE.read_text(encoding="utf-8"))["$defs"]["layer"]["properties"]
    assert {field.name for field in dataclasses.fields(dense)} <= set(described)


def test_weights_that_a_layer_unpacks_are_packed_in_flash(tmp_path: Path) -> None:
    data = np.random.default_rng(1).uniform(0, 1, (16, 1, 8, 8)).astype(np.float32)
    bundle = glowmcu.compile(
        DIGITS, "rp2040", tmp_path / "b", samples=[data], optimize="size",
        quantization=glowmcu.Quantization(weights=4, search="plain"),
    )  # fmt: skip
    for layer in bundle.manifest.layers:
        is_coded = any(part.coding == "nibbles" for part in layer.constants)
        assert layer.weights_packed == (is_coded or "nibbles" in layer.kernel)
    assert any(part.coding for layer in bundle.manifest.layers for part in layer.constants)


def test_float_weights_have_no_group(tmp_path: Path) -> None:
    layers = glowmcu.compile(DIGITS, "generic", tmp_path / "b").manifest.layers
    found = {(layer.weights_bits, layer.weights_group) for layer in layers if layer.macs}
    assert found == {(32, 0)}


def four_bit_notes(
    node: onnx.NodeProto, weights: tuple[int, ...], x: list[int], board: str, folder: Path
) -> tuple[list[str], list[str]]:
    """Kernels of a model of one layer with weights of four bits, and notes on how they lie."""
    random = np.random.default_rng(2)
    graph = onnx.helper.make_graph(
        [node], "layer",
        [onnx.helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, x)],
        [onnx.helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, None)],
        [onnx.numpy_helper.from_array(random.normal(size=weights).astype(np.float32), "w")],
    )  # fmt: skip
    opset = [onnx.helper.make_opsetid("", 17)]
    file = folder / "m.onnx"
    onnx.save(onnx.helper.make_model(graph, opset_imports=opset, ir_version=9), file)
    data = random.normal(size=(16, *x[1:])).astype(np.float32)
    bundle = glowmcu.compile(
        file, board, folder / board, "m", samples=[data],
        quantization=glowmcu.Quantization(weights=4),
    )  # fmt: skip
    told = [note for note in bundle.notes if "with a byte for each" in note]
    return [layer.kernel for layer in bundle.manifest.layers], told


@pytest.mark.parametrize(
    ("board", "kernel"),
    [("rp2040", "dense.nibbles_nodsp"), ("nucleo-l4r5zi", "fully_connected.nibbles_dsp")],
)
def test_a_layer_with_two_weights_in_a_byte_is_not_counted(
    board: str, kernel: str, tmp_path: Path
) -> None:
    node = onnx.helper.make_node("MatMul", ["x", "w"], ["y"])
    kernels, told = four_bit_notes(node, (128, 64), [1, 128], board, tmp_path)
    assert kernel in kernels
    assert told == []


def test_a_depthwise_layer_has_a_byte_for_each(tmp_path: Path) -> None:
    node = onnx.helper.make_node("Conv", ["x", "w"], ["y"], group=8)
    _, (told,) = four_bit_notes(node, (8, 1, 3, 3), [1, 8, 9, 9], "rp2040", tmp_path)
    assert "1 of 1 layers with a byte for each" in told
    assert "--optimize flash" in told
