"""Text of every operator case of others: it round-trips, and MLIR's tools read it."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

from glowmcu.errors import GlowmcuError
from glowmcu.ir.equality import same_graph
from glowmcu.ir.graph import Graph
from glowmcu.ir.text import parse_graph, print_graph
from glowmcu.lowering.passes import lower
from glowmcu.ops.registry import load_operations
from glowmcu.pipeline import reference_graph
from tests.ir.test_graph_text import tool

SUITES = ("cmsis_tflite", "mlonmcu")

pytestmark = pytest.mark.slow


def importable(path: Path) -> Graph | None:
    try:
        return reference_graph(path.read_bytes(), path.name)
    except GlowmcuError:
        return None  # the conformance table lists what is refused, and why


@pytest.fixture(scope="module")
def graphs(shared_dir: Path) -> list[Graph]:
    """Imported and lowered graphs of all cases that are supported."""
    files = [f for suite in SUITES for f in (shared_dir / "cases" / suite).rglob("*.tflite")]
    if not files:
        pytest.skip("needs the operator cases in shared/cases")
    found = [graph for path in sorted(files) if (graph := importable(path)) is not None]
    assert len(found) > len(files) / 2
    return [graph for imported in found for graph in (imported, lower(imported))]


def test_every_case_round_trips(graphs: list[Graph]) -> None:
    operations = load_operations()
    for graph in graphs:
        sidecar: dict[str, Any] = {}
        text = print_graph(graph, sidecar)
        assert same_graph(graph, parse_graph(text, operations, sidecar)), text


@pytest.mark.parametrize("reader", ["iree-opt", "xdsl-opt"])
def test_mlir_tools_read_every_case(reader: str, graphs: list[Graph], tmp_path: Path) -> None:
    path = tmp_path / "all.mlir"
    texts = [print_graph(graph, {}) for graph in graphs]
    path.write_text("// -----\n".join(texts), encoding="utf-8")
    command = [tool(reader), "--allow-unregistered-dialect", "--split-input-file", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[:2000]
    assert done.stdout.count("func.func @") == len(graphs)
