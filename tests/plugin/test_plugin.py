"""A package that is installed beside GlowMCU adds an operator, a kernel, a pass and a board.

`site/` stands for what pip installs: the package and its entry points. Each test starts a Python of
its own, since plug-ins register once a process.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from glowmcu.emit_c.contract import stamped
from glowmcu.frontend.tflite.writer import ModelBuilder

REPO = Path(__file__).resolve().parents[2]
SITE = Path(__file__).resolve().parent / "site"

COMPILE_AND_RUN = """
import json, sys
import numpy as np
import glowmcu

model, folder, dump = sys.argv[1:]
bundle = glowmcu.compile(model, board="acme-one", output=folder, dump_ir=dump)
rng = np.random.default_rng(4)
inputs = [rng.integers(-128, 128, (1, 37)).astype(np.int8) for _ in range(3)]
outputs = bundle.run(inputs)
kernels = [layer.kernel for layer in bundle.report.layers]
same = np.array_equal(outputs[0], np.max(inputs, axis=0))
print(json.dumps({"kernels": kernels, "same": bool(same), "mcu": bundle.board.mcu}))
"""

ROUND_TRIP = """
import sys
from pathlib import Path
from glowmcu.ir.text import parse_graph, print_graph
from glowmcu.ops.registry import load_operations

text = Path(sys.argv[1]).read_text()
graph = parse_graph(text, load_operations())
assert text.endswith(print_graph(graph)), print_graph(graph)
"""


def model(path: Path) -> Path:
    """maximum(maximum(a, b), c)."""
    b = ModelBuilder()
    refs = [b.input(name, (1, 37), "int8", 0.5, -3) for name in "abc"]
    inner, out = (b.tensor(name, (1, 37), "int8", 0.5, -3) for name in ("inner", "out"))
    b.op("MAXIMUM", refs[:2], [inner])
    b.op("MAXIMUM", [inner, refs[2]], [out])
    b.output(out)
    path.write_bytes(b.finish())
    return path


def python(code: str, *arguments: object, plugin: bool = True) -> subprocess.CompletedProcess[str]:
    paths = [str(REPO), *([str(SITE)] if plugin else [])]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(paths)}
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, env=environment, check=False)


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    folder = tmp_path_factory.mktemp("plugin")
    path = model(folder / "m.tflite")
    done = python(COMPILE_AND_RUN, path, folder / "bundle", folder / "dump")
    assert done.returncode == 0, done.stderr
    return folder, json.loads(done.stdout)


def test_its_pass_operator_and_kernel_compute_on_its_board(
    compiled: tuple[Path, dict[str, Any]],
) -> None:
    _, result = compiled
    assert result == {"kernels": ["acme.maximum_3"], "same": True, "mcu": "ACME1"}


def test_its_header_is_part_of_the_bundle(compiled: tuple[Path, dict[str, Any]]) -> None:
    folder, _ = compiled
    header = folder / "bundle" / "acme_maximum_3.h"
    original = SITE / "acme_glowmcu" / "libjit" / "acme_maximum_3.h"
    assert header.read_text() == stamped(header.name, original.read_text())
    assert (folder / "bundle" / "glowmcu_base.h").exists()


def test_its_operator_has_a_text_form(compiled: tuple[Path, dict[str, Any]]) -> None:
    folder, _ = compiled
    (dumped,) = (folder / "dump").glob("*-acme_merge_maxima.mlir")
    assert dumped.name == "01-acme_merge_maxima.mlir"
    assert '"acme.maximum_3"(%a, %b, %c)' in dumped.read_text()
    assert python(ROUND_TRIP, dumped).stderr == ""
    without = python(ROUND_TRIP, dumped, plugin=False)
    assert "error[GM211]: unknown operator 'acme.maximum_3'" in without.stderr


def test_without_the_package_nothing_of_it_is_there(tmp_path: Path) -> None:
    arguments = (model(tmp_path / "m.tflite"), tmp_path / "bundle", tmp_path / "dump")
    done = python(COMPILE_AND_RUN, *arguments, plugin=False)
    assert "error[GM701]: unknown board 'acme-one'" in done.stderr
