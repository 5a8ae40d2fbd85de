"""Vision transformers: what becomes int16 by itself, and how near to float the whole is."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest

import glowmcu
from glowmcu.errors import GlowmcuError
from glowmcu.frontend.tflite.exporter import export_tflite
from glowmcu.ir.graph import Graph
from glowmcu.ir.types import ElementType
from glowmcu.lowering.float_passes import prepare_for_quantization
from glowmcu.ops.elementwise import Add
from glowmcu.ops.matmul import FullyConnected
from glowmcu.ops.moments import MeanVarianceNormalization
from glowmcu.pipeline import float_graph
from glowmcu.quant.options import QuantizationOptions
from glowmcu.quant.profiling import profile_graph
from glowmcu.quant.quantizer import quantize
from glowmcu.quant.samples import samples_of
from tests.support.onnx_models import run_onnxruntime
from tests.support.transformers import BLOCKS, images, vision_transformer

I8, I16 = ElementType.I8, ElementType.I16


@cache
def real_graph(in_steps: bool) -> Graph:
    return prepare_for_quantization(float_graph(vision_transformer(in_steps), "v.onnx"))


def quantized(in_steps: bool, **options: tuple[str, ...]) -> tuple[Graph, list[str]]:
    graph = real_graph(in_steps)
    profile = profile_graph(graph, samples_of(graph, images(32, 1)))
    made = quantize(graph, profile, QuantizationOptions(**options))  # type: ignore[arg-type]
    return made.graph, list(made.float_nodes)


def elements(graph: Graph, kind: type) -> set[ElementType]:
    return {node.output.type.element for node in graph.nodes if isinstance(node.op, kind)}


@pytest.mark.parametrize("in_steps", [False, True], ids=["one operator", "in steps"])
def test_sums_around_normalizations_are_int16_and_layers_int8(in_steps: bool) -> None:
    graph, in_float = quantized(in_steps)
    assert in_float == []
    normal = [n for n in graph.nodes if isinstance(n.op, MeanVarianceNormalization)]
    assert len(normal) == 2 * BLOCKS + 1
    assert elements(graph, MeanVarianceNormalization) == elements(graph, Add) == {I16}
    assert elements(graph, FullyConnected) == {I8}


def test_a_normalization_that_is_to_stay_float_does() -> None:
    graph, in_float = quantized(False, keep_float=("mean_variance_normalization",))
    assert len(in_float) == 2 * BLOCKS + 1
    assert elements(graph, MeanVarianceNormalization) == {ElementType.F32}


def test_what_tflite_has_no_operator_for_is_named() -> None:
    graph, _ = quantized(False)
    with pytest.raises(GlowmcuError) as caught:
        export_tflite(graph)
    assert "mean_variance_normalization" in str(caught.value)


@pytest.mark.slow
@pytest.mark.parametrize("in_steps", [False, True], ids=["one operator", "in steps"])
def test_a_vision_transformer_has_30_db_without_an_option(in_steps: bool, tmp_path: Path) -> None:
    file, data = tmp_path / "vit.onnx", tmp_path / "data.npy"
    file.write_bytes(vision_transformer(in_steps))
    np.save(data, images(200, 1))
    bundle = glowmcu.compile(str(file), samples=str(data), output=str(tmp_path / "vit"))
    want, got = [], []
    for image in images(32, 2)[:, np.newaxis]:
        want += run_onnxruntime(file.read_bytes(), [image])
        got += bundle.run([image], real=True)
    error = np.square(np.subtract(want, got)).sum()
    assert 10 * np.log10(np.square(want).sum() / error) >= 30
