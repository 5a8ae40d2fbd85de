"""Which layers of a sliding window keep rows: as many as the arena has room for."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import glowmcu
from glowmcu.errors import GlowmcuError
from glowmcu.ir.interpreter import Session
from glowmcu.lowering.slide_windows import slide
from glowmcu.pipeline import reference_graph
from glowmcu.slides import Slide
from tests.lowering.test_slide_windows import check
from tests.memplan.spatial_models import SpatialModel, Window


def chain() -> bytes:
    """Four convolutions of many rows and few columns."""
    model = SpatialModel(7)
    x = model.input(40, 4, 4)
    for _ in range(4):
        x = model.conv(x, 12, Window((3, 3)))
    return model.finish(x)


def test_every_number_of_layers_is_exact() -> None:
    graph = reference_graph(chain(), "m.tflite")
    macs = []
    for layers in range(5):
        slid = slide(graph, graph.arguments[0].name, Slide(1), "m.tflite", layers)
        assert slid.layers == layers
        check(graph, slid.graph, steps=6)
        macs.append(slid.graph.macs)
    assert macs == sorted(macs, reverse=True)
    assert len(set(macs)) == 5


def test_less_memory_keeps_fewer_layers(tmp_path: Path) -> None:
    model = tmp_path / "m.tflite"
    model.write_bytes(chain())
    graph = reference_graph(chain(), "m.tflite")
    name = graph.arguments[0].name

    def compiled(budget: int | None, pareto: bool = False) -> glowmcu.Bundle:
        return glowmcu.compile(
            model, board="nrf52", output=tmp_path / "out", slide={name: 1}, arena_budget=budget,
            pareto=pareto,
        )  # fmt: skip

    free = compiled(None, pareto=True)
    assert "slide_layers" not in free.manifest.options or free.manifest.macs
    assert len({point.macs for point in free.curve}) > 2
    assert [point.cycles for point in free.curve] == sorted(
        (point.cycles for point in free.curve), reverse=True
    )
    sizes = [point.arena_bytes for point in free.curve]
    assert sizes == sorted(sizes)
    middle = compiled(sizes[len(sizes) // 2])
    assert middle.manifest.arena_bytes <= sizes[len(sizes) // 2]
    assert free.manifest.macs < middle.manifest.macs <= graph.macs
    random = np.random.default_rng(3)
    session = Session(slide(graph, name, Slide(1), "m.tflite").graph)
    inputs = [
        random.integers(-128, 128, middle.manifest.inputs[0].shape).astype(np.int8)
        for _ in range(8)
    ]
    for x, got in zip(inputs, middle.measure_all([[x] for x in inputs], on="host"), strict=True):
        assert np.array_equal(got.outputs[0], session.run([x])[0])
    with pytest.raises(GlowmcuError, match="GM403"):
        compiled(sizes[0] // 4)
