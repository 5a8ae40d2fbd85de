"""Networks as both of PyTorch's exporters write them, in float and in int8."""

from __future__ import annotations

from functools import cache

import pytest

pytest.importorskip("torch", reason="pip install torch onnxscript")
pytest.importorskip("onnxscript", reason="pip install onnxscript")

from glowmcu.compilation import Options
from glowmcu.ir.exactness import exact_outputs
from glowmcu.pipeline import compile_model
from glowmcu.quant.request import QuantizationRequest
from glowmcu.quant.sample_source import SampleSource
from glowmcu.quant.samples import samples_of
from tests.frontend.exporter_models import MODULES, export
from tests.quant.networks import Floats, draw, sqnr_db
from tests.support.check_model import check_model
from tests.support.onnx_models import run_onnxruntime

EXPORTERS = pytest.mark.parametrize("dynamo", [False, True], ids=["traced", "dynamo"])
#: Of the outputs on data like the calibration samples, in dB.
LEAST_SQNR = 25

exported = cache(export)


@EXPORTERS
@pytest.mark.parametrize("name", MODULES)
def test_what_pytorch_exports_gives_what_onnxruntime_gives(name: str, dynamo: bool) -> None:
    check_model(exported(name, dynamo), count=2, oracle=run_onnxruntime)


@pytest.mark.parametrize("name", MODULES)
def test_what_pytorch_exports_keeps_its_signal_in_int8(name: str) -> None:
    compilation = check_model(exported(name, False), options=quantized(name), count=2)
    graph = compilation.imported
    assert not compilation.is_float
    assert all(exact_outputs(graph))
    original = compilation.float_graph
    assert original is not None
    assert sqnr_db(original, graph, samples_of(original, samples(name, 16, 2))) > LEAST_SQNR


@pytest.mark.parametrize("name", ["residual", "lstm"])
def test_both_exporters_lead_to_the_same_int8_layers(name: str) -> None:
    kinds = []
    for dynamo in (False, True):
        graph = compile_model(exported(name, dynamo), "model.onnx", quantized(name)).imported
        layers = [node.op for node in graph.nodes if node.macs]
        kinds.append([type(layer).__name__ for layer in layers])
    assert kinds[0] == kinds[1]


def quantized(name: str) -> Options:
    source = SampleSource(samples(name, 64, 1))
    return Options("m", quantization=QuantizationRequest(samples=source))


def samples(name: str, count: int, seed: int) -> Floats:
    return draw(seed, count, *MODULES[name][1][1:])


@pytest.mark.parametrize("name", ["lstm", "rnn"])
def test_states_that_only_the_next_layer_reads_are_never_stacked(name: str) -> None:
    graph = compile_model(exported(name, False), "model.onnx", Options("m")).graph
    assert "concatenation" not in [node.op.name for node in graph.nodes]
