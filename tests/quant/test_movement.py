"""What moves, picks or adds elements becomes int8 with its neighbours: no float partitions."""

from __future__ import annotations

import numpy as np
import pytest

from glowmcu.ir.graph import Graph
from glowmcu.ir.interpreter import run_graph
from glowmcu.lowering.float_passes import prepare_for_quantization
from glowmcu.ops.joining import Concatenation
from glowmcu.pipeline import reference_graph
from glowmcu.quant.profiling import profile_graph
from glowmcu.quant.quantizer import quantize
from glowmcu.quant.samples import samples_of
from tests.support.onnx_models import finished

Step = tuple[str, list[str], list[str], dict[str, object]]

STEPS: list[Step] = [
    ("Pad", ["x"], ["padded"], {"pads": [0, 0, 1, 1, 0, 0, 1, 1], "value": -0.7}),
    ("Transpose", ["padded"], ["turned"], {"perm": [0, 2, 1, 3]}),
    ("Split", ["turned"], ["left", "right"], {"axis": 1}),
    ("Gather", ["right", "some"], ["picked"], {"axis": 3}),
    ("Slice", ["left"], ["start"], {"starts": [0], "ends": [2], "axes": [3]}),
    ("Concat", ["start", "picked"], ["joined"], {"axis": 3}),
    ("Tile", ["joined", "twice"], ["tiled"], {}),
    ("ReduceMean", ["tiled"], ["mean"], {"axes": [3], "keepdims": 0}),
    ("ReduceMax", ["tiled"], ["most"], {"axes": [3], "keepdims": 0}),
    ("Concat", ["mean", "most"], ["both"], {"axis": 2}),
    ("Reshape", ["both", "flat"], ["y"], {}),
    ("ArgMax", ["y"], ["best"], {"axis": 1}),
]


@pytest.fixture
def graph() -> Graph:
    onnx = pytest.importorskip("onnx")
    helper = onnx.helper
    nodes = [
        helper.make_node(kind, inputs, outputs, **attributes)
        for kind, inputs, outputs, attributes in STEPS
    ]
    constants = {"some": [2, 0, 2], "twice": [1, 1, 1, 2], "flat": [1, -1]}
    data = [
        onnx.numpy_helper.from_array(np.array(values, np.int64), name)
        for name, values in constants.items()
    ]
    inputs = [helper.make_tensor_value_info("x", 1, (1, 3, 4, 4))]
    outputs = [onnx.ValueInfoProto(name=name) for name in ("y", "best")]
    model = finished(onnx, nodes, inputs, outputs, data, opset=9)
    return prepare_for_quantization(reference_graph(model, "m.onnx"))


def test_all_of_it_becomes_int8(graph: Graph) -> None:
    samples = np.random.default_rng(0).normal(size=(64, 1, 3, 4, 4)).astype(np.float32)
    profile = profile_graph(graph, samples_of(graph, samples))
    quantized = quantize(graph, profile)
    assert quantized.float_nodes == {}
    for node in quantized.graph.nodes:
        if isinstance(node.op, Concatenation):
            assert {v.type.quantization for v in node.inputs} == {node.output.type.quantization}
    x, y = quantized.graph.inputs[0].type, quantized.graph.outputs[0].type
    stored = np.clip(np.round(samples[0] / x.scale) + x.zero_point, -128, 127).astype(np.int8)
    got, best = run_graph(quantized.graph, [stored])
    want, _ = run_graph(graph, [samples[0]])
    real = (got.astype(np.float64) - y.zero_point) * y.scale
    assert np.abs(real - want).max() < 3 * y.scale
    assert int(best.reshape(-1)[0]) == int(got.argmax())
