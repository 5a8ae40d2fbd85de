"""Writes docs/quantization.md: held-out accuracy of the examples for each schema and method.

    python scripts/quantization_table.py [--check]

Calibrated on the examples' own calibration samples, which are from their training splits.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from glowmcu.frontend.tflite.reader import read_tflite
from glowmcu.ir.graph import Graph
from glowmcu.ir.interpreter import run_graph
from glowmcu.lowering.float_passes import prepare_for_quantization
from glowmcu.quant.batching import batched
from glowmcu.quant.options import QuantizationOptions
from glowmcu.quant.profiling import profile_graph
from glowmcu.quant.quantizer import quantize_graph
from glowmcu.quant.ranges import Calibration, Method
from glowmcu.quant.samples import samples_of
from glowmcu.quant.schemas import Schema, quantize_array

REPO = Path(__file__).resolve().parents[1]
PAGE = REPO / "docs" / "quantization.md"
MODELS = {
    "digits": "digits/digits_float.tflite",
    "gestures": "gestures/model_float.tflite",
    "vowels": "vowels/model_float.tflite",
}
HEAD = """# Accuracy after quantization

Made by `python scripts/quantization_table.py`; do not edit. Accuracy on held-out data in per cent,
and in parentheses the signal to quantization noise of the outputs in dB. Calibration samples are
from the training split. Default options but for what a row names: int8 throughout, weights per
channel, bias correction.
"""
Array = npt.NDArray[Any]


def main() -> int:
    """Write the page, or with `--check` say whether it is up to date."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="only compare with the page")
    text = page()
    if not parser.parse_args().check:
        PAGE.write_text(text, encoding="utf-8")
        return 0
    if PAGE.is_file() and PAGE.read_text(encoding="utf-8") == text:
        return 0
    print(f"{PAGE.name} is stale: run python scripts/quantization_table.py", file=sys.stderr)
    return 1


def page() -> str:
    columns = [list(rows(name)) for name in MODELS]
    lines = [HEAD, f"| | {' | '.join(MODELS)} |", f"|---|{'---|' * len(MODELS)}"]
    for cells in zip(*columns, strict=True):
        label = cells[0][0]
        lines.append(f"| {label} | {' | '.join(cell for _, cell in cells)} |")
    return "\n".join(lines) + "\n"


def rows(name: str) -> Iterator[tuple[str, str]]:
    """Label and cell of each row of the table for one model."""
    path = REPO / "examples" / MODELS[name]
    graph = prepare_for_quantization(read_tflite(path.read_bytes(), path.name))
    shape = graph.inputs[0].type.shape[1:]
    with np.load(path.parent / "calibration.npz") as stored:
        samples = samples_of(graph, channels_last(stored["inputs"], shape))
    with np.load(path.parent / "test_samples.npz") as stored:
        inputs, labels = stored["inputs"], stored["labels"]
    if inputs.dtype == np.int8:  # those of the int8 model: pixels of 0 to 1, scale 1/255
        inputs = (inputs.astype(np.float32) + 128) / 255
    inputs = channels_last(inputs, shape)
    profile = profile_graph(graph, samples)
    want = run_real(graph, inputs)
    yield "float32", f"{accuracy(want, labels):.2f}"
    for label, options in variants():
        got = run_real(quantize_graph(graph, profile, options, samples), inputs)
        noise = float(np.sum((got.astype(np.float64) - want) ** 2))
        ratio = 10 * np.log10(float(np.sum(want.astype(np.float64) ** 2)) / noise)
        yield label, f"{accuracy(got, labels):.2f} ({ratio:.0f})"


def variants() -> Iterator[tuple[str, QuantizationOptions]]:
    for schema in Schema:
        for method in Method:
            options = QuantizationOptions(Calibration(method, schema))
            default = " (default)" if options == QuantizationOptions() else ""
            yield f"{schema.value}, {method.value}{default}", options
    yield "default without bias correction", QuantizationOptions(bias_correction=False)
    yield "default with one scale for dense weights", QuantizationOptions(per_channel=False)
    yield "default with adaptive rounding", QuantizationOptions(adaptive_rounding=True)


def channels_last(batch: Array, shape: tuple[int, ...]) -> Array:
    """The samples as the TFLite model wants them; they are stored for its ONNX twin."""
    if batch.shape[1:] == shape:
        return batch
    return np.ascontiguousarray(np.moveaxis(batch, 1, -1), np.float32)


def run_real(graph: Graph, inputs: Array) -> Array:
    """Outputs as real numbers for all inputs."""
    many = batched(graph, len(inputs))
    assert many is not None
    quantization = graph.inputs[0].type.quantization
    stored = inputs if quantization is None else quantize_array(inputs, quantization)
    output = run_graph(many[0], [stored])[0]
    type_ = graph.outputs[0].type
    if type_.quantization is None:
        return output
    return (output.astype(np.float32) - type_.zero_point) * np.float32(type_.scale)


def accuracy(outputs: Array, labels: Array) -> float:
    return 100 * float((outputs.argmax(axis=1) == labels).mean())


if __name__ == "__main__":
    sys.exit(main())
