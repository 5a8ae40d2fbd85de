"""The C of simplified networks, which have odd channel counts, single channels and constants."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from itertools import count, islice
from pathlib import Path

import pytest

from glowmcu.compilation import Options
from glowmcu.errors import GlowmcuError
from glowmcu.frontend.tflite.exporter import export_tflite
from glowmcu.ir.graph import Graph
from glowmcu.ir.interpreter import run_graph
from glowmcu.pipeline import compile_model
from glowmcu.verify.host import Host
from tests.lowering.channel_graphs import random_network
from tests.support.check_model import expect_equal, random_inputs, write_bundle


def networks_as_models() -> Iterator[tuple[Graph, bytes]]:
    """Random networks of operators that a `.tflite` file can hold."""
    for seed in count():
        graph = random_network(seed)
        try:
            yield graph, export_tflite(graph)
        except GlowmcuError:
            continue


@pytest.mark.parametrize("core", ["generic", "cortex-m4"])
def test_simplified_networks_give_the_same_bytes_in_c(core: str) -> None:
    simplified = 0
    for graph, data in islice(networks_as_models(), 6):
        compilation = compile_model(data, "m.tflite", Options("m", core=core))
        simplified += compilation.manifest.simplification is not None
        sets = random_inputs(compilation, 2)
        with tempfile.TemporaryDirectory() as work:
            measured = Host(("-O1",)).run(write_bundle(compilation, Path(work)), sets)
        for arrays, result in zip(sets, measured, strict=True):
            for want, got in zip(run_graph(graph, arrays), result.outputs, strict=True):
                expect_equal(got, want, "C of a simplified network")
    assert simplified >= 2
