"""Windows that slide: every run equals a run of the model on the whole window, bit for bit."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

import glowmcu
from glowmcu.errors import GlowmcuError
from glowmcu.frontend.tflite.writer import ModelBuilder
from glowmcu.frontend.tflite.writer_tables import TensorRef
from glowmcu.ir.graph import Graph
from glowmcu.ir.interpreter import Session, run_graph
from glowmcu.ir.operation import Array
from glowmcu.lowering.passes import lower
from glowmcu.lowering.slide_windows import Slid, slide
from glowmcu.pipeline import reference_graph
from glowmcu.slides import Slide
from tests.memplan.foreign_models import MODELS as FOREIGN
from tests.memplan.spatial_models import Image, SpatialModel, Window
from tests.support.stream_models import random_stream_model

SHARED = Path(__file__).resolve().parents[3] / "shared" / "models"
STEPS = 12


def check(graph: Graph, slid: Graph, steps: int = STEPS, seed: int = 0) -> None:
    """Both as they are and lowered, from the window of zeros on."""
    (x,), (new,) = graph.arguments, slid.arguments
    random = np.random.default_rng(seed)
    window = np.full(x.type.element_count, x.type.zero_point, np.int8)
    sessions = [Session(slid), Session(lower(slid))]
    for _ in range(steps):
        rows = random.integers(-128, 128, new.type.shape).astype(np.int8)
        window = np.concatenate([window[rows.size :], rows.ravel()])
        wanted = run_graph(graph, [window.reshape(x.type.shape)])
        for session in sessions:
            for got, want in zip(session.run([rows]), wanted, strict=True):
                assert np.array_equal(got, want)


def slid_model(data: bytes, hop: int) -> tuple[Graph, Slid]:
    graph = reference_graph(data, "m.tflite")
    return graph, slide(graph, graph.arguments[0].name, Slide(hop), "m.tflite")


def spatial(*windows: Window, rows: int = 24) -> bytes:
    """Convolutions, one behind the other."""
    model = SpatialModel(7)
    x: Image = model.input(rows, 6, 4)
    for number, window in enumerate(windows):
        x = model.depthwise(x, window) if number % 2 else model.conv(x, 5, window)
    return model.finish(x)


CHAINS: dict[str, tuple[bytes, Sequence[int]]] = {
    "valid": (spatial(Window((3, 3), padding="VALID"), Window((2, 1), padding="VALID")), (1, 2, 5)),
    "same": (spatial(Window((3, 3)), Window((5, 3)), Window((1, 1))), (1, 3)),
    "strides": (
        spatial(Window((3, 3), stride=(2, 1)), Window((3, 3), stride=(2, 2))),
        (1, 2, 4, 8),
    ),
    "even windows": (spatial(Window((4, 2)), Window((2, 2), stride=(2, 2))), (2, 4)),
}


@pytest.mark.parametrize("name", CHAINS)
def test_chains_of_windows_slide_exactly(name: str) -> None:
    data, hops = CHAINS[name]
    for hop in hops:
        graph, slid = slid_model(data, hop)
        check(graph, slid.graph)
        assert slid.macs == graph.macs


@pytest.mark.parametrize("name", FOREIGN)
def test_networks_of_other_kinds_slide_exactly(name: str) -> None:
    """Sums, joins, means, several results; where rows do not follow from rows, all is computed."""
    graph = reference_graph(FOREIGN[name](), "m.tflite")
    if len(graph.arguments) > 1:
        pytest.skip("one input slides")
    slid = slide(graph, graph.arguments[0].name, Slide(4), "m.tflite")
    assert slid.graph.macs <= graph.macs
    check(graph, slid.graph, steps=4)


def test_rows_that_stay_are_not_computed_again() -> None:
    data = spatial(*[Window((3, 1), padding="VALID")] * 3)
    graph, slid = slid_model(data, 1)
    rows = graph.results[0].type.shape[1]
    # One row of each layer a run, where the whole window has 22, 20 and 18.
    assert rows == 18
    assert slid.graph.macs < graph.macs / 15


def test_strides_that_do_not_divide_the_hop_are_said() -> None:
    _, slid = slid_model(CHAINS["strides"][0], 2)
    assert "stride does not divide 1 new rows" in slid.whole_from
    _, slid = slid_model(CHAINS["strides"][0], 4)
    assert slid.whole_from == ""


def causal(layers: int, channels: int = 8) -> bytes:
    """A causal network of ever wider dilations, of which the newest step is classified."""
    rows = 2 ** (layers + 1) - 1
    model, random = ModelBuilder(), np.random.default_rng(layers)
    x = model.input("x", [1, rows, 1, channels], "int8", 0.05, 3)
    for number in range(layers):
        above = 2**number * 2 if number < layers else 0
        x = _causal_layer(model, random, x, number, above, rows, channels)
    ends = np.array([[0, rows - 1, 0, 0], [1, rows, 1, channels], [1] * 4], np.int32)
    newest = model.tensor("newest", [1, 1, 1, channels], "int8", 0.05, -128)
    model.op("STRIDED_SLICE", [x, *(model.constant(f"e{i}", e) for i, e in enumerate(ends))],
             [newest], {})  # fmt: skip
    w = model.constant("fc", random.integers(-127, 128, (4, channels)).astype(np.int8), 0.02, 0)
    b = model.constant("fb", random.integers(-99, 99, 4).astype(np.int32), 0.05 * 0.02, 0)
    y = model.tensor("y", [1, 4], "int8", 0.1, 0)
    model.op("FULLY_CONNECTED", [newest, w, b], [y], {})
    model.output(y)
    return model.finish()


def _causal_layer(
    model: ModelBuilder, random: np.random.Generator, x: TensorRef, number: int, above: int,
    rows: int, channels: int,
) -> TensorRef:  # fmt: skip
    point = x.zero_point[0]
    pads = model.constant(f"p{number}", np.array([[0, 0], [above, 0], [0, 0], [0, 0]], np.int32))
    padded = model.tensor(f"padded{number}", [1, rows + above, 1, channels], "int8", 0.05, point)
    model.op("PAD", [x, pads], [padded], {})
    weights = random.integers(-127, 128, (channels, 3, 1, channels)).astype(np.int8)
    w = model.constant(f"w{number}", weights, 0.004, 0)
    bias = random.integers(-99, 99, channels).astype(np.int32)
    b = model.constant(f"b{number}", bias, 0.05 * 0.004, 0)
    y = model.tensor(f"y{number}", [1, rows, 1, channels], "int8", 0.05, -128)
    options = {"padding": "VALID", "stride_w": 1, "stride_h": 1, "dilation_h_factor": above // 2,
               "dilation_w_factor": 1, "fused_activation_function": "RELU"}  # fmt: skip
    model.op("CONV_2D", [padded, w, b], [y], options)
    return y


@pytest.mark.parametrize(("layers", "steps"), [(5, 70), (11, 40)])
def test_a_causal_network_costs_what_one_step_costs(layers: int, steps: int) -> None:
    """And keeps the rows that its windows will read, no others."""
    graph, slid = slid_model(causal(layers), 1)
    check(graph, slid.graph, steps)
    one_step = sum(
        node.macs // (node.output.type.shape[1] if node.output.type.rank == 4 else 1)
        for node in graph.nodes
    )
    lowered = lower(slid.graph)
    assert lowered.macs <= 1.02 * one_step
    kept = [state.value.type.shape[1] for state in lowered.states]
    assert kept == [2 << number for number in range(layers)]


@pytest.mark.skipif(not SHARED.is_dir(), reason="needs shared/models beside the repository")
@pytest.mark.parametrize(
    ("name", "hop", "steps", "most"),
    [
        ("kws_int8", 2, 30, 0.42), ("kws_int8", 4, 30, 0.46), ("sww_int8", 1, 30, 0.06),
        ("sww_int8", 3, 30, 0.16), ("ic_int8", 4, 4, 0.48), ("vww_int8", 8, 4, 0.71),
    ],
)  # fmt: skip
def test_real_models_slide_exactly(name: str, hop: int, steps: int, most: float) -> None:
    graph, slid = slid_model((SHARED / f"{name}.tflite").read_bytes(), hop)
    assert slid.graph.macs <= most * slid.macs
    check(graph, slid.graph, steps)


def inputs_of(bundle: glowmcu.Bundle, graph: Graph, steps: int) -> tuple[list[Array], list[Array]]:
    random, x = np.random.default_rng(1), graph.arguments[0]
    window = np.full(x.type.element_count, x.type.zero_point, np.int8)
    rows, wanted = [], []
    for _ in range(steps):
        rows.append(random.integers(-128, 128, bundle.manifest.inputs[0].shape).astype(np.int8))
        window = np.concatenate([window[rows[-1].size :], rows[-1].ravel()])
        wanted.append(run_graph(graph, [window.reshape(x.type.shape)])[0])
    return rows, wanted


@pytest.mark.parametrize("goal", ["balanced", "ram"])
def test_bundles_slide_exactly(goal: str, tmp_path: Path) -> None:
    data = spatial(Window((3, 3)), Window((3, 3), stride=(2, 1)), Window((1, 1)))
    (tmp_path / "m.tflite").write_bytes(data)
    graph = reference_graph(data, "m.tflite")
    name = graph.arguments[0].name
    bundle = glowmcu.compile(
        tmp_path / "m.tflite",
        board="nrf52",
        output=tmp_path / "net",
        slide={name: 2},
        optimize=goal,
    )
    assert bundle.manifest.inputs[0].shape == (1, 2, 6, 4)
    assert bundle.manifest.options["slide"] == f"{name}=2"
    assert any("slides by 2 rows" in note for note in bundle.notes)
    rows, wanted = inputs_of(bundle, graph, 20)
    session = bundle.session()
    for new, want in zip(rows, wanted, strict=True):
        assert np.array_equal(session.run([new])[0], want)


@pytest.mark.parametrize(
    ("name", "hop", "said"),
    [("nothing", 2, "no input"), ("", 24, "24 new rows of 24"), ("", 30, "30 new rows of 24")],
)
def test_what_cannot_slide_is_refused(name: str, hop: int, said: str) -> None:
    graph = reference_graph(CHAINS["same"][0], "m.tflite")
    with pytest.raises(GlowmcuError) as caught:
        slide(graph, name or graph.arguments[0].name, Slide(hop), "m.tflite")
    assert caught.value.code == "GM130"
    assert said in caught.value.problems[0].message


def test_a_model_with_states_does_not_slide() -> None:
    graph = reference_graph(random_stream_model(6), "m.tflite")
    with pytest.raises(GlowmcuError) as caught:
        slide(graph, graph.arguments[0].name, 1, "m.tflite")
    assert caught.value.code == "GM130"


def test_states_that_no_result_depends_on_go() -> None:
    """A 1x1 convolution keeps its rows, so that those under it need not be kept."""
    data = spatial(Window((3, 3)), Window((3, 3)), Window((1, 1)))
    _, slid = slid_model(data, 1)
    assert len(lower(slid.graph).states) == len(slid.graph.states) - 1
