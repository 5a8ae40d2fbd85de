"""`python -m benchmarks.quantization`: writes docs/quantization.md.

Accuracy of the examples' networks for each schema, method and option, the noise of the MLPerf
models, and how long a larger model takes. Outputs are those of the quantized graph, which the
generated C equals byte for byte (tests/quant/test_accuracy.py runs that).
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

import glowmcu
from benchmarks.four_bits import four_bit_lines
from benchmarks.quantization_models import (
    MLPERF_MODELS,
    OWN_MODELS,
    REPO,
    Array,
    Case,
    large_model,
    mlperf_model,
    own_model,
    random_walks,
)
from glowmcu.ir.graph import Graph
from glowmcu.ir.interpreter import run_graph
from glowmcu.quant.automatic import choose
from glowmcu.quant.batching import batched
from glowmcu.quant.choices import choice_text
from glowmcu.quant.judgement import judge_of
from glowmcu.quant.options import Interface, QuantizationOptions
from glowmcu.quant.quantizer import quantize_graph
from glowmcu.quant.ranges import Calibration, Method
from glowmcu.quant.schemas import Schema
from glowmcu.quant.search_space import SearchSpace
from glowmcu.quant.side_by_side import real_values, stored_values

PAGE = REPO / "docs" / "quantization.md"
_SAMPLES = 1000
_INT16 = QuantizationOptions(int16=("all",))
_INT16_INSIDE = replace(_INT16, interface=Interface.FLOAT)
HEAD = """# Accuracy and noise after quantization

Made by `python -m benchmarks.quantization`; do not edit.

## Networks with held-out data

Calibrated on samples of the training split alone (`calibration.npz` of each example), judged on
held-out samples. The samples choose among ranges, equalization and bias correction
([tuning.md](tuning.md#chosen-by-the-samples)). Of the other rows each is the defaults but for what
it names: asymmetric, minmax, int8 throughout, weights per channel, bias correction. A cell is
accuracy in per cent / outputs whose largest entry is float's in per cent / signal to quantization
noise of the outputs in dB.
"""
FRONT_ENDS = """
## Front ends

Front ends of ONNX models, from raw samples to logarithms of mel bands, are one operator of integers
([onnx.md](onnx.md#front-ends)). `tests/quant/test_front_ends.py` holds its int8 features to 30 dB
of signal to error and int16 ones to 45 dB, of speech and noise at full scale and 40 dB below.
"""
TRANSFORMERS = """
## Transformers

Normalizations of rows (LayerNormalization, RMSNormalization, and the same written in steps) are one
operator of integers with exact sums, within 0.6 steps of real numbers; with the sums, products and
means that they are joined to they have 16 bits by themselves. Layers with weights stay int8, GELU
and SiLU are tables. `pytest tests/quant/test_transformers.py` holds a vision transformer of two
blocks to 30 dB without an option; it has 31.4 dB, and no float32 layer.
"""
MLPERF = """
## MLPerf Tiny's float models

Signal to quantization noise of the outputs in dB, without a closing softmax (which hides most of
it). No data come with these models: inputs are random walks along both axes, stretched to the range
that each model was trained on, so that neighbours are alike as in spectra and images. Calibration
and judgement use different walks.
"""


def main() -> None:
    """Measure everything and write the page."""
    lines = [
        HEAD,
        *own_table(),
        "",
        *four_bit_lines(),
        FRONT_ENDS.rstrip(),
        TRANSFORMERS.rstrip(),
        MLPERF,
        *mlperf_table(),
        "",
        *speed_lines(),
    ]
    PAGE.write_text("\n".join(lines) + "\n", encoding="utf-8")


def variants() -> Iterator[tuple[str, QuantizationOptions]]:
    """What is compared, and what it is called."""
    for schema in Schema:
        for method in Method:
            options = QuantizationOptions(Calibration(method, schema))
            default = " (plain)" if options == QuantizationOptions() else ""
            yield f"{schema.value}, {method.value}{default}", options
    yield "without bias correction", QuantizationOptions(bias_correction=False)
    yield "one scale for dense weights", QuantizationOptions(per_channel=False)
    yield "equalized", QuantizationOptions(equalization=True)
    yield "adaptive rounding", QuantizationOptions(adaptive_rounding=True)
    yield "int16 activations, int8 in and out", _INT16
    yield "int16 activations, float in and out", _INT16_INSIDE


def own_table() -> list[str]:
    cases = [own_model(name) for name in OWN_MODELS]
    rows = [["", *(case.name for case in cases)], ["---"] * (len(cases) + 1)]
    wanted = [run_real(case.graph, case.inputs) for case in cases]
    floats = [
        f"{accuracy(want, case.labels):.2f}" for case, want in zip(cases, wanted, strict=True)
    ]
    rows.append(["float32", *floats])
    chosen = [chosen_options(case) for case in cases]
    rows.append(["chosen by the samples", *_own_cells(cases, wanted, chosen)])
    rows.append(["what that is", *(choice_text(options) for options in chosen)])
    for label, options in variants():
        rows.append([label, *_own_cells(cases, wanted, [options] * len(cases))])
    return [_row(row) for row in rows]


def chosen_options(case: Case) -> QuantizationOptions:
    """What `glowmcu profile` chooses by the calibration's samples."""
    judge = judge_of(case.graph, case.calibration, case.profile, is_own=True)
    return choose(judge, QuantizationOptions(), SearchSpace()).options


def _own_cells(
    cases: Sequence[Case], wanted: Sequence[Array], options: Sequence[QuantizationOptions]
) -> list[str]:
    return [_own_cell(*each) for each in zip(cases, wanted, options, strict=True)]


def _own_cell(case: Case, want: Array, options: QuantizationOptions) -> str:
    got = run_real(quantize_graph(case.graph, case.profile, options, case.calibration), case.inputs)
    agreement = 100 * float((got.argmax(axis=1) == want.argmax(axis=1)).mean())
    return f"{accuracy(got, case.labels):.2f} / {agreement:.1f} / {sqnr_db(want, got):.0f}"


def mlperf_table() -> list[str]:
    head = [
        "",
        "chosen by the samples",
        "plain",
        "mse",
        "equalized",
        "int16, int8 in and out",
        "int16, float in and out",
    ]
    rows = [head, ["---"] * len(head)]
    for arguments in MLPERF_MODELS:
        case = mlperf_model(*arguments)
        if case is None:
            return ["The models were not there when this page was made."]
        graph = without_softmax(case.graph)
        want = run_real(graph, case.inputs)
        cells = []
        for options in (
            chosen_options(replace(case, graph=graph)),
            QuantizationOptions(),
            QuantizationOptions(Calibration(Method.MSE)),
            QuantizationOptions(equalization=True),
            _INT16,
            _INT16_INSIDE,
        ):
            made = quantize_graph(graph, case.profile, options, case.calibration)
            cells.append(f"{sqnr_db(want, run_real(made, case.inputs)):.1f}")
        rows.append([case.name, *cells])
    return [_row(row) for row in rows]


def without_softmax(graph: Graph) -> Graph:
    """The graph up to the logits."""
    producer = graph.producers[graph.outputs[0]]
    if producer.op.name != "softmax":
        return graph
    used = [node for node in graph.nodes if node is not producer]
    return graph.replace(nodes=used, outputs=[producer.inputs[0]])


def speed_lines() -> list[str]:
    """Time of profile and compile together, the way a user calls them."""
    with tempfile.TemporaryDirectory() as work:
        model = Path(work) / "large.tflite"
        model.write_bytes(large_model())
        inputs = random_walks((32, 32, 3), (-1.0, 1.0), _SAMPLES, 0)
        start = time.perf_counter()
        profile = glowmcu.profile(model, inputs)
        middle = time.perf_counter()
        bundle = glowmcu.compile(model, board="nrf52", profile=profile, output=Path(work) / "large")
        end = time.perf_counter()
    return [
        "## How long it takes",
        "",
        f"A convolutional network of {bundle.report.weights_bytes:,} B of int8 constants and "
        f"{bundle.report.macs:,} MACs, {_SAMPLES:,} calibration samples: profiled in "
        f"{middle - start:.1f} s, quantized and compiled in {end - middle:.1f} s, "
        f"on {len(os.sched_getaffinity(0))} cores that others used as well.",
    ]


def run_real(graph: Graph, inputs: Array) -> Array:
    """Outputs as real numbers for all inputs, one after the other where no batch is possible."""
    many = batched(graph, len(inputs))
    runs = [(many[0], inputs)] if many else [(graph, x[np.newaxis]) for x in inputs]
    return np.concatenate([_run(one, batch) for one, batch in runs])


def _run(graph: Graph, inputs: Array) -> Array:
    stored = stored_values(inputs.reshape(graph.inputs[0].type.shape), graph.inputs[0].type)
    return real_values(run_graph(graph, [stored])[0], graph.outputs[0].type)


def accuracy(outputs: Array, labels: Array | None) -> float:
    """Share of the right classes in per cent."""
    assert labels is not None
    return 100 * float((outputs.argmax(axis=1) == labels).mean())


def sqnr_db(want: Array, got: Array) -> float:
    """Signal to noise of `got` against `want`."""
    noise = float(np.sum((got.astype(np.float64) - want) ** 2))
    return float(10 * np.log10(float(np.sum(want.astype(np.float64) ** 2)) / noise))


def _row(cells: list[str]) -> str:
    return "| " + " | ".join(cells) + " |"


if __name__ == "__main__":
    main()
