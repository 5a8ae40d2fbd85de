"""Recurrent layers take many samples at once, as PyTorch exports them: their axis of samples moves.

They ran one by one: two and a half minutes for 200 samples of a small network.
"""

from __future__ import annotations

import numpy as np
import pytest

from glowmcu.ir.graph import Graph
from glowmcu.ir.interpreter import run_graph
from glowmcu.ir.types import ElementType
from glowmcu.pipeline import float_graph
from glowmcu.quant import batching
from glowmcu.quant.profiling import profile_graph
from glowmcu.quant.quantizer import quantize_graph
from glowmcu.quant.real_outputs import real_outputs, stored_samples
from glowmcu.quant.samples import samples_of
from glowmcu.quant.side_by_side import real_values
from tests.quant.networks import draw
from tests.quant.test_measuring import counts
from tests.support.onnx_models import Nodes, finished

STEPS, FEATURES, UNITS, SAMPLES = 5, 3, 4, 7
GATES = {"GRU": 3, "LSTM": 4, "RNN": 1}


def network(kind: str, directions: int) -> Graph:
    """Two layers between transpositions, and what the last step gives."""
    onnx = pytest.importorskip("onnx", reason="pip install onnx")
    part, rows = Nodes(), GATES[kind] * UNITS
    way = {"direction": "bidirectional"} if directions == 2 else {}
    now, depth = part.add("Transpose", "x", perm=[1, 0, 2]), FEATURES
    for seed in (1, 4):
        weights = [
            part.number(draw(seed + i, directions, *shape) * 0.5)
            for i, shape in enumerate([(rows, depth), (rows, UNITS), (2 * rows,)])
        ]
        made = part.add(kind, now, *weights, hidden_size=UNITS, **way)
        moved = part.add("Transpose", made, perm=[0, 2, 1, 3])
        now = part.add("Reshape", moved, part.number([0, 0, -1], "int64"))
        depth = directions * UNITS
    last = part.add("Gather", part.add("Transpose", now, perm=[1, 0, 2]),
                    part.number(-1, "int64"), axis=1)  # fmt: skip
    helper = onnx.helper
    x = helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [1, STEPS, FEATURES])
    y = helper.make_empty_tensor_value_info(last)
    return float_graph(finished(onnx, part.nodes, [x], [y], part.constants), "m.onnx")


@pytest.mark.parametrize("directions", [1, 2])
@pytest.mark.parametrize("kind", GATES)
def test_samples_run_together_and_give_what_each_gives(kind: str, directions: int) -> None:
    graph = network(kind, directions)
    data = draw(9, SAMPLES, STEPS, FEATURES)
    samples = samples_of(graph, data)
    quantized = quantize_graph(graph, profile_graph(graph, samples))
    for each, given in ((graph, samples), (quantized, stored_samples(quantized, samples))):
        assert counts(each, given) == [SAMPLES]
        (together,) = real_outputs(each, given)
        alone = [real_values(run_graph(each, sample)[0], each.outputs[0].type) for sample in given]
        np.testing.assert_allclose(together, np.stack(alone), rtol=0, atol=1e-5)


def test_graphs_that_differ_in_weights_alone_are_asked_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Candidates of a search are run to judge them, and were run thrice more to be batched."""
    runs = list[Graph]()
    real = batching.run_graph
    monkeypatch.setattr(batching, "run_graph", lambda g, x: runs.append(g) or real(g, x))
    monkeypatch.setattr(batching, "_AGREED", set())
    graph, data = network("GRU", 1), draw(9, SAMPLES, STEPS, FEATURES)
    for scale in (1, 2):
        samples = samples_of(graph, data * scale)
        quantized = quantize_graph(graph, profile_graph(graph, samples))
        probe = list(stored_samples(quantized, samples))[:2]
        assert batching.batches_agree(quantized, probe)
    assert len([g for g in runs if g.outputs[0].type.element is not ElementType.F32]) == 3
    assert batching.batches_agree(network("GRU", 2), list(samples_of(graph, data))[:2])
    assert len(runs) > 3
