"""Files with pairs around some layers only, as PyTorch's quantizers for computers write them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import glowmcu
from glowmcu.option_words import RoundingWord
from tests.bundle.models import digits
from tests.support.onnx_models import run_onnxruntime

onnx = pytest.importorskip("onnx", reason="pip install onnx")

RANDOM = np.random.default_rng(12)


def partly_quantized(paired: bool, island: bool = False) -> bytes:
    """Two layers of int8 weights; the first has no range for its result, which a HardSwish reads.
    `paired`: it has one, and nothing computes in float, but for an `island`: a Sigmoid behind it.
    """
    helper, numpy_helper = onnx.helper, onnx.numpy_helper
    data = {
        "w1": RANDOM.integers(-128, 128, (8, 3, 3, 3)).astype(np.int8),
        "s1": RANDOM.uniform(0.002, 0.004, 8).astype(np.float32), "z1": np.zeros(8, np.int8),
        "b1": RANDOM.normal(size=8).astype(np.float32),
        "w2": RANDOM.integers(-127, 128, (4, 8, 1, 1)).astype(np.int8),
        "s2": RANDOM.uniform(0.002, 0.004, 4).astype(np.float32), "z2": np.zeros(4, np.int8),
        "xs": np.array(0.03, np.float32), "xz": np.array(128, np.uint8),
        "hs": np.array(0.02, np.float32), "hz": np.array(20, np.uint8),
        "ys": np.array(0.04, np.float32), "yz": np.array(128, np.uint8),
    }  # fmt: skip

    def pair(name: str, kind: str) -> list[object]:
        scale = (f"{kind}s", f"{kind}z")
        return [
            helper.make_node("QuantizeLinear", [name, *scale], [f"{name}q"]),
            helper.make_node("DequantizeLinear", [f"{name}q", *scale], [f"{name}r"]),
        ]

    nodes = [
        helper.make_node("DequantizeLinear", ["w1", "s1", "z1"], ["w1r"], axis=0),
        helper.make_node("DequantizeLinear", ["w2", "s2", "z2"], ["w2r"], axis=0),
        *pair("x", "x"),
        helper.make_node("Conv", ["xr", "w1r", "b1"], ["c"], pads=[1, 1, 1, 1]),
        *(pair("c", "x") if paired else []),
        helper.make_node("HardSwish", ["cr" if paired else "c"], ["g" if island else "h"]),
        *([helper.make_node("Sigmoid", ["g"], ["h"])] if island else []),
        *pair("h", "h"),
        helper.make_node("Conv", ["hr", "w2r"], ["y0"]),
        *pair("y0", "y"),
        helper.make_node("Relu", ["y0r"], ["y"]),
    ]
    graph = helper.make_graph(
        nodes, "main", [helper.make_tensor_value_info("x", 1, (1, 3, 8, 8))],
        [helper.make_tensor_value_info("y", 1, (1, 4, 8, 8))],
        [numpy_helper.from_array(np.asarray(array), name) for name, array in data.items()],
    )  # fmt: skip
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)
    return bytes(model.SerializeToString())


def float_layers(bundle: glowmcu.Bundle) -> list[str]:
    return [layer.kernel for layer in bundle.manifest.layers if layer.kernel.endswith("_f32")]


def test_samples_give_the_ranges_that_a_file_leaves_open(tmp_path: Path) -> None:
    data = partly_quantized(paired=False)
    as_it_is = glowmcu.compile(data, output=tmp_path / "a", name="a")
    assert len(float_layers(as_it_is)) == 1
    (note,) = [note for note in as_it_is.notes if "compute in float" in note]
    assert note.startswith("1 of 2 layers compute in float, as the file does not say")
    assert "samples=" in note
    samples = RANDOM.normal(size=(24, 3, 8, 8)).astype(np.float32)
    bundle = glowmcu.compile(data, samples=samples, output=tmp_path / "b", name="b")
    assert float_layers(bundle) == []
    assert glowmcu.verify(bundle).passed
    (quality,) = bundle.manifest.quality
    assert quality.figures.sqnr_db is not None
    assert quality.figures.sqnr_db > 22
    x = samples[:1]
    (want,) = run_onnxruntime(data, [x])
    (got,) = bundle.run([x], real=True)
    assert 10 * np.log10((want**2).sum() / ((want - got) ** 2).sum()) > 22


def test_samples_make_int8_of_what_computes_in_float_between_pairs(tmp_path: Path) -> None:
    """What has a range in the file keeps it: the model's input and what is computed on integers."""
    data = partly_quantized(paired=True, island=True)
    as_it_is = glowmcu.compile(data, output=tmp_path / "a", name="a")
    (note,) = [note for note in as_it_is.notes if "in float" in note]
    assert note.startswith("2 operators between int8 ones compute in float (g, h), as the file")
    samples = RANDOM.normal(size=(24, 3, 8, 8)).astype(np.float32)
    bundle = glowmcu.compile(data, samples=samples, output=tmp_path / "b", name="b", io="int8")
    assert glowmcu.verify(bundle).passed
    assert not any("stays float" in note for note in bundle.notes)
    assert not {layer.op for layer in bundle.manifest.layers} & {"quantize", "dequantize"}
    assert bundle.manifest.inputs[0].scale == pytest.approx(0.03)
    (want,) = run_onnxruntime(data, [samples[:1]])
    (got,) = bundle.run([samples[:1]], real=True)
    assert np.abs(got - want).max() <= 2.01 * 0.04


def test_a_file_with_all_ranges_has_no_layer_to_speak_of(tmp_path: Path) -> None:
    bundle = glowmcu.compile(partly_quantized(paired=True), output=tmp_path / "b", name="b")
    assert float_layers(bundle) == []
    assert not any("compute in float" in note for note in bundle.notes)


@pytest.mark.parametrize("rounding", ["double", "single"])
def test_pairs_are_said_to_be_rounded_once_where_sums_are_rounded_twice(
    rounding: RoundingWord, tmp_path: Path
) -> None:
    data = partly_quantized(paired=True)
    bundle = glowmcu.compile(data, output=tmp_path / "b", name="b", rounding=rounding)
    said = any("rounding='single'" in note for note in bundle.notes)
    assert said == (rounding == "double")


@pytest.mark.parametrize("what", ["last=1", "bias"])
def test_an_int8_model_that_learns_in_float_has_nothing_to_quantize(
    what: str, tmp_path: Path
) -> None:
    """It was told to make a profile, which was refused."""
    path = tmp_path / "digits.tflite"
    path.write_bytes(digits())
    bundle = glowmcu.compile(path, "nrf52", tmp_path / "b", "b", train=what)
    assert not any("in float" in note for note in bundle.notes)
