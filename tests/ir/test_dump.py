"""`--dump-ir`: one file a stage that changed something, comparable, and clear when it cannot be."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest

from glowmcu import installation
from glowmcu.compilation import Compilation, Options
from glowmcu.errors import GlowmcuError
from glowmcu.frontend.tflite.writer import ModelBuilder
from glowmcu.goals import Goal
from glowmcu.ir import graph_picture
from glowmcu.ir.equality import same_graph
from glowmcu.ir.graph import Graph
from glowmcu.ir.text import parse_graph, parse_program, print_program, read_sidecar
from glowmcu.lowering import passes
from glowmcu.ops.activation import Relu
from glowmcu.ops.registry import load_operations
from glowmcu.pipeline import compile_model
from tests.ir.graphs import GraphBuilder, int8
from tests.ir.test_graph_text import MODELS, tool
from tests.lowering.check_text import check_text


def model() -> bytes:
    """relu(pad by nothing(x)) * W: two stages have something to do."""
    b = ModelBuilder()
    rng = np.random.default_rng(3)
    x = b.input("x", (1, 20), "int8", 0.5, -3)
    weights = b.constant("w", rng.integers(-9, 9, (10, 20)).astype(np.int8), 0.25, 0)
    padded, relu, y = (
        b.tensor(name, shape, "int8", 0.5, -3)
        for name, shape in (("padded", (1, 20)), ("relu", (1, 20)), ("y", (1, 10)))
    )
    b.op("PAD", [x, b.constant("none", np.zeros((2, 2), np.int32))], [padded])
    b.op("RELU", [padded], [relu])
    b.op("FULLY_CONNECTED", [relu, weights], [y], {})
    b.output(y)
    return b.finish()


def dump(folder: Path, constants: bool = False) -> Compilation:
    options = Options("m", dump_ir=folder, dump_constants=constants)
    return compile_model(model(), "m.tflite", options)


def test_a_stage_that_changed_something_has_a_file_with_its_number(tmp_path: Path) -> None:
    dump(tmp_path)
    stages = ["import", *(name for name, _ in passes.all_passes()), "unplanned", "planned"]
    files = sorted(path.name for path in tmp_path.glob("*.mlir"))
    assert all(stages[int(name[:2])] == name[3:-5] for name in files)
    changed = {name[3:-5] for name in files}
    assert {"import", "remove_identities", "lower_to_tables", "planned"} <= changed
    assert not {"remove_dead_nodes", "fold_padding"} & changed
    assert "pad" in (tmp_path / "00-import.mlir").read_text()
    assert "glowmcu.pad" not in next(tmp_path.glob("*-remove_identities.mlir")).read_text()


def test_dumps_and_their_constants_parse_back(tmp_path: Path) -> None:
    compilation = dump(tmp_path, constants=True)
    sidecar = read_sidecar(tmp_path / "constants.npz")
    text = (tmp_path / "00-import.mlir").read_text()
    assert "dense_resource" in text
    assert same_graph(parse_graph(text, load_operations(), sidecar), compilation.imported)
    planned = next(tmp_path.glob("*-planned.mlir")).read_text()
    program = parse_program(planned, load_operations(), sidecar)
    assert print_program(program) == print_program(compilation.plan.program)


def test_two_dumps_of_one_model_are_the_same_files(tmp_path: Path) -> None:
    for name in ("a", "b"):
        dump(tmp_path / name, constants=True)
    left, right = (
        {path.name: path.read_bytes() for path in (tmp_path / name).iterdir()} for name in "ab"
    )
    assert left == right


def test_an_older_dump_goes_and_files_of_others_stay(tmp_path: Path) -> None:
    dump(tmp_path)
    mine = tmp_path / "05-mine.mlir"
    mine.write_text("// my notes")
    stale = tmp_path / "77-old.mlir"
    stale.write_text((tmp_path / "00-import.mlir").read_text())
    dump(tmp_path)
    assert mine.exists()
    assert not stale.exists()


@pytest.mark.parametrize("name", ["graph.dot", "constants.npz", "00-import.mlir"])
def test_a_file_that_is_no_dump_is_not_replaced(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text("mine")
    with pytest.raises(GlowmcuError, match=name) as caught:
        dump(tmp_path, constants=True)
    assert caught.value.code == "GM220"
    assert (tmp_path / name).read_text() == "mine"


def test_without_a_folder_nothing_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    compile_model(model(), "m.tflite", Options("m"))
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_made_is_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(GlowmcuError) as caught:
        dump(tmp_path / "file" / "dump")
    assert str(caught.value) == (
        "error[GM220]: cannot write the IR dump: Not a directory\n"
        f"  --> {tmp_path / 'file' / 'dump'}\n"
        "  hint: dump_ir needs a folder that can be written, or made"
    )


def test_without_graphviz_the_report_says_what_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(graph_picture.shutil, "which", lambda name: None)
    compilation = dump(tmp_path)
    assert compilation.notes == (
        f"graph.svg skipped: needs `dot` on PATH: {installation.GRAPHVIZ.advice}",
    )
    assert (tmp_path / "graph.dot").exists()
    assert not (tmp_path / "graph.svg").exists()


def test_a_picture_that_cannot_be_drawn_is_a_note_and_no_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(graph_picture, "missing_dot", lambda: None)
    monkeypatch.setattr(graph_picture, "render_svg", lambda dot: None)
    assert dump(tmp_path).notes == ("graph.svg skipped: `dot` could not draw this graph",)


def test_graphviz_draws_the_picture(tmp_path: Path) -> None:
    if graph_picture.missing_dot() is not None:
        pytest.skip("needs dot (Debian package graphviz)")
    assert dump(tmp_path).notes == ()
    svg = (tmp_path / "graph.svg").read_text()
    assert svg.count('class="node"') == 4
    assert "fully_connected" in svg


def picture_of(*names: str) -> Graph:
    b = GraphBuilder()
    x = b.input(int8(1, 4), "in")
    for name in names:
        x = b.add(Relu(), x, name=name)
    return b.finish(x)


def test_the_picture_is_one_line_a_node_and_an_edge() -> None:
    check_text(
        graph_picture.print_dot(picture_of("a", 'b"c\\\n')),
        r"""
        CHECK: digraph "main" {
        CHECK: "in" [label="input\nin\nint8[1x4] scale 0.5 zp -3"
        CHECK: "a" [label="relu\na"
        CHECK: "b_c" [label="relu\nb\"c\\ "
        CHECK: "in" -> "a"
        CHECK: "a" -> "b_c"
        CHECK: "output_0" [label="output\nb\"c\\ \nint8[1x4] scale 0.5 zp -3"
        CHECK: "b_c" -> "output_0"
        """,
    )


def test_a_new_node_adds_lines_and_leaves_the_others() -> None:
    before = graph_picture.print_dot(picture_of("a", "z")).splitlines()
    after = graph_picture.print_dot(picture_of("a", "m", "z")).splitlines()
    gone = [line for line in before if line not in after]
    assert gone == [line for line in before if '"a" -> "z"' in line]


@pytest.mark.parametrize(
    ("name", "goal"), [*((name, Goal.BALANCED) for name in MODELS), ("kws", Goal.RAM)]
)
def test_mlir_tools_read_every_dump_of_a_real_model(
    name: str, goal: Goal, shared_dir: Path, tmp_path: Path
) -> None:
    data = (shared_dir / "models" / f"{name}_int8.tflite").read_bytes()
    options = Options(name, goal=goal, core="cortex-m4", dump_ir=tmp_path)
    compile_model(data, f"{name}.tflite", options)
    files = sorted(tmp_path.glob("*.mlir"))
    assert ("glowmcu.cascade" in files[-1].read_text(encoding="utf-8")) == (goal is Goal.RAM)
    assert len(files) >= 3
    readers = {"iree-opt": files, "xdsl-opt": [files[0], files[-1]]}
    for reader, inputs in readers.items():
        for path in inputs:
            command = [tool(reader), "--allow-unregistered-dialect", str(path)]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            assert done.returncode == 0, f"{reader} {path.name}: {done.stderr[:2000]}"
            assert "glowmcu." in done.stdout
