"""TOSA's text as a model: what an export of ours was, and what other compilers write."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import glowmcu
from glowmcu.errors import GlowmcuError
from glowmcu.frontend.tosa.exporter import export_function
from glowmcu.frontend.tosa.text import print_tosa
from glowmcu.input_options import InputOptions
from glowmcu.ir.graph import Graph
from glowmcu.ir.interpreter import run_graph
from glowmcu.ir.operation import Constant, Rounding
from glowmcu.ir.text import parse_graph, print_graph
from glowmcu.ops.registry import load_operations
from glowmcu.pipeline import reference_graph
from tests.conftest import SHARED
from tests.frontend.tosa_cases import CASES, SOFTMAX, bare, case, stateful
from tests.ir.graphs import random_arrays
from tests.support.tosa_tools import run_reference, tool

ROUNDINGS = [Rounding.DOUBLE, Rounding.SINGLE]


#: What is read without notes, too.
READABLE = [name for name in CASES if name not in SOFTMAX]


def read(text: str, rounding: Rounding = Rounding.DOUBLE) -> Graph:
    return reference_graph(text.encode(), "model.mlir", rounding)


def kinds(graph: Graph) -> list[str]:
    return [node.op.name for node in graph.nodes if not isinstance(node.op, Constant)]


def expect_same(graph: Graph, back: Graph) -> None:
    for seed in range(3):
        inputs = random_arrays(graph.inputs, seed)
        # TOSA's bytes have no sign of their own.
        given = [
            array.view(value.type.element.numpy)
            for array, value in zip(inputs, back.inputs, strict=True)
        ]
        for want, got in zip(run_graph(graph, inputs), run_graph(back, given), strict=True):
            assert np.array_equal(want, got.view(want.dtype))


@pytest.mark.parametrize("rounding", ROUNDINGS)
@pytest.mark.parametrize("name", CASES)
def test_an_export_of_ours_comes_back_as_the_operator_that_it_was(
    name: str, rounding: Rounding
) -> None:
    graph = case(name, rounding)
    back = read(print_tosa(export_function(graph)), rounding)
    assert [(node.op, node.signature) for node in back.nodes if node.op.name != "constant"] == [
        (node.op, node.signature) for node in graph.nodes if node.op.name != "constant"
    ]
    assert [value.name for value in back.outputs] == [value.name for value in graph.outputs]
    expect_same(graph, back)


@pytest.mark.parametrize("rounding", ROUNDINGS)
@pytest.mark.parametrize("name", READABLE)
def test_without_notes_the_operations_mean_the_same(name: str, rounding: Rounding) -> None:
    graph = case(name, rounding)
    expect_same(graph, read(print_tosa(bare(export_function(graph))), rounding))


@pytest.mark.parametrize("name", ["add", "add of very different scales, clamped", "sub"])
def test_sums_of_tflites_lowering_become_the_layer_without_notes_too(name: str) -> None:
    graph = case(name)
    back = read(print_tosa(bare(export_function(graph))))
    wanted = set(back.outputs)
    for node in reversed(back.nodes):
        if not wanted.isdisjoint(node.outputs):
            wanted.update(node.inputs)
    alive = [node.op.name for node in back.nodes if node.output in wanted]
    assert [kind for kind in alive if kind != "reshape"] == [graph.nodes[-1].op.name]


def test_a_stream_comes_back_with_its_states() -> None:
    graph = stateful()
    back = read(print_tosa(export_function(graph)))
    assert [state.value.name for state in back.states] == ["rows"]
    assert np.array_equal(back.states[0].initial, graph.states[0].initial)
    expect_same(graph, back)


def test_a_note_that_says_something_else_is_not_believed() -> None:
    """The operator in the note clamps; the operations do not, and they are what counts."""
    graph = case("fully connected")
    text = print_tosa(export_function(graph))
    assert text.count("clamp = none") == 1
    back = read(text.replace("clamp = none", "clamp = [-1.0, 1.0]"))
    assert kinds(back) != ["fully_connected"]
    expect_same(graph, back)


def test_operations_that_changed_are_not_taken_for_what_they_were() -> None:
    graph = case("softmax")
    text = print_tosa(export_function(graph))
    changed = text.replace("dense<127> : tensor<1x1xi32>", "dense<126> : tensor<1x1xi32>")
    changed = changed.replace("dense<[[127]]>", "dense<[[126]]>")
    assert changed != text
    with pytest.raises(GlowmcuError, match="logical_left_shift is not supported"):
        read(changed)


def printed_by(name: str, text: str, tmp_path: Path, *flags: str) -> str:
    source = tmp_path / "source.mlir"
    source.write_text(text, encoding="utf-8")
    command = [tool(name), *flags, str(source)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[:2000]
    return done.stdout


@pytest.mark.parametrize(
    ("name", "flags"),
    [
        ("tosa-opt", []), ("tosa-opt", ["-mlir-print-op-generic", "-mlir-print-debuginfo"]),
        ("iree-opt", []), ("iree-opt", ["-mlir-print-op-generic"]),
    ],
    ids=["tosa-opt", "tosa-opt generic", "iree-opt", "iree-opt generic"],
)  # fmt: skip
@pytest.mark.parametrize("which", ["conv with padding and stride", "softmax", "split", "tile"])
def test_what_mlir_prints_of_it_is_read(
    which: str, name: str, flags: list[str], tmp_path: Path
) -> None:
    """Pretty forms of two releases, the generic form with locations; names are others."""
    graph = case(which)
    text = printed_by(name, print_tosa(export_function(graph)), tmp_path, *flags)
    back = read(text)
    assert kinds(back) == kinds(graph)
    expect_same(graph, back)


def test_a_text_written_by_hand_means_what_tosa_says() -> None:
    graph = read((Path(__file__).parent / "tosa_by_hand.mlir").read_text(encoding="utf-8"))
    assert kinds(graph) == ["conv_2d", "max_pool_2d"]
    assert graph.inputs[0].name == "x"
    x = np.array([[[[3, 1], [10, -4]], [[-128, 127], [0, 0]]]], np.int8)
    # (x + 5) * [1, -2] + 7, times 3/4 with halves up, clamped, the largest.
    sums = [(a + 5) - 2 * (b + 5) + 7 for a, b in x.reshape(-1, 2).astype(int)]
    scaled = [(3 * each + 2) // 4 for each in sums]
    want = max(min(max(each, -20), 20) for each in scaled)
    assert int(run_graph(graph, [x])[0].item()) == want


@pytest.mark.parametrize(
    ("count", "point"), [((4, 4), -128), ((8, 8), -128), ((3, 6), 100), ((5, 5), 12), ((2, 3), -3)]
)
def test_average_pools_round_away_from_the_zero_point(count: tuple[int, int], point: int) -> None:
    height, width = count
    types = f"(tensor<1x{height}x{width}x3xi8>, tensor<1xi8>, tensor<1xi8>)"
    text = f"""
func.func @main(%x: tensor<1x{height}x{width}x3xi8>) -> tensor<1x1x1x3xi8> {{
  %z = "tosa.const"() {{values = dense<{point}> : tensor<1xi8>}} : () -> tensor<1xi8>
  %0 = tosa.avg_pool2d %x, %z, %z kernel([{height}, {width}]) stride([1, 1]) pad([0, 0, 0, 0])
    acc_type(i32) : {types} -> tensor<1x1x1x3xi8>
  return %0 : tensor<1x1x1x3xi8>
}}"""
    graph = read(text)
    taps = height * width
    for seed in range(20):
        (x,) = random_arrays(graph.inputs, seed)
        if seed % 2:  # near halves
            x = x // 100
        sums = x.astype(np.int64).sum((1, 2)) - taps * point
        bits = (taps - 1).bit_length()
        factor = (((1 << 30) + 1) << bits) // taps
        want = ((sums * factor + (1 << (29 + bits))) >> (30 + bits)) + point
        assert np.array_equal(run_graph(graph, [x])[0].reshape(1, 3), np.clip(want, -128, 127))


def test_scales_that_are_no_float32_survive_our_own_text() -> None:
    graph = read(print_tosa(bare(export_function(case("fully connected")))))
    text = print_graph(graph)
    assert "quant.uniform<i8:f64" in text
    back = parse_graph(text, load_operations())
    assert [node.signature for node in back.nodes] == [node.signature for node in graph.nodes]


def test_a_model_of_others_compiles_to_c_with_the_same_bytes(tmp_path: Path) -> None:
    for name in ("conv with padding and stride", "add", "mul", "requantize", "mean of two axes"):
        graph = case(name)
        path = tmp_path / "model.mlir"
        path.write_text(print_tosa(bare(export_function(graph))), encoding="utf-8")
        bundle = glowmcu.compile(path, output=tmp_path / name.replace(" ", "_"), name="m")
        inputs = random_arrays(graph.inputs, 5)
        for want, got in zip(run_graph(graph, inputs), bundle.run(inputs), strict=True):
            assert np.array_equal(want, got), name


@pytest.mark.parametrize("name", ["ad", "ic", "kws", "sww", "vww"])
def test_the_models_of_mlperf_tiny_come_back_with_the_same_code(name: str, tmp_path: Path) -> None:
    """The same C, but for what it says of the file; so arena, weights and cycles are the same."""
    path = SHARED / "models" / f"{name}_int8.tflite"
    if not path.exists():
        pytest.skip("needs the MLPerf Tiny models")
    made = tmp_path / f"{name}.mlir"
    glowmcu.export(path, made, format="tosa")
    bundles = [
        glowmcu.compile(model, board="nrf52", name=name, output=tmp_path / kind)
        for kind, model in (("tflite", path), ("tosa", made))
    ]
    first, second = (bundle.report for bundle in bundles)
    assert first.arena_bytes == second.arena_bytes
    assert first.weights_bytes == second.weights_bytes
    for file in (f"{name}.c", f"{name}_model.c", f"{name}_weights.c"):
        texts = [
            _without_origin((tmp_path / kind / file).read_text(encoding="utf-8"))
            for kind in ("tflite", "tosa")
        ]
        assert texts[0] == texts[1], file
    inputs = random_arrays(reference_graph(path.read_bytes(), str(path)).inputs, 3)
    for want, got in zip(bundles[0].run(inputs), bundles[1].run(inputs), strict=True):
        assert np.array_equal(want, got)


def _without_origin(text: str) -> list[str]:
    """Lines of code: comments name operators of the file, and macros its hash."""
    lines: list[str] = []
    in_comment = False
    for line in text.splitlines():
        in_comment |= line.lstrip().startswith("/*")
        if not in_comment and not re.search(
            r"sha256|[0-9a-f]{64}|_H \+ 0|#error", line, re.IGNORECASE
        ):
            lines.append(line)
        in_comment &= "*/" not in line
    return lines


def test_inputs_can_be_bound_and_have_the_shapes_of_the_file() -> None:
    graph = case("add")
    text = print_tosa(export_function(graph))
    a, b = random_arrays(graph.inputs, 2)
    options = InputOptions(shapes={"in0": (2, 5)}, bind={"in1": b})
    back = reference_graph(text.encode(), "model.mlir", inputs=options)
    assert [value.name for value in back.inputs] == ["in0"]
    assert np.array_equal(run_graph(back, [a])[0], run_graph(graph, [a, b])[0])
    with pytest.raises(GlowmcuError, match="a TOSA function has fixed shapes"):
        reference_graph(text.encode(), "m.mlir", inputs=InputOptions(shapes={"in0": (3, 5)}))
    with pytest.raises(GlowmcuError, match="no input is named 'x'"):
        reference_graph(text.encode(), "m.mlir", inputs=InputOptions(bind={"x": b}))


def test_a_bundle_is_verified_against_the_file(tmp_path: Path) -> None:
    path = tmp_path / "model.mlir"
    path.write_text(print_tosa(bare(export_function(case("fully connected")))), encoding="utf-8")
    glowmcu.compile(path, output=tmp_path / "bundle")
    assert glowmcu.verify(tmp_path / "bundle", on="host", model=path).passed


def test_one_rounding_is_asked_for_and_said() -> None:
    text = print_tosa(export_function(case("fully connected", Rounding.SINGLE)))
    with pytest.raises(GlowmcuError, match="compile it with rounding='single'") as raised:
        read(text)
    assert raised.value.code == "GM157"


def test_roundings_are_not_mixed() -> None:
    """Where it makes a difference: two layers, of which one rounds twice."""
    text = print_tosa(bare(export_function(case("conv with padding and stride"))))
    lines = text.splitlines()
    start = next(n for n, line in enumerate(lines) if "tosa.conv2d" in line)
    layer = "\n".join(lines[start : start + 3])
    again = layer.replace("%0", "%3").replace("%1", "%4").replace("%2", "%5")
    both = text.replace(layer, f"{layer}\n{again.replace('DOUBLE_ROUND', 'SINGLE_ROUND')}")
    with pytest.raises(GlowmcuError, match="rounds once, and others of the file do not") as raised:
        read(both)
    assert raised.value.code == "GM156"


def _with_short_multipliers(mode: str) -> str:
    """A layer whose multipliers have 7 bits, with shifts below 32: other compilers write these."""
    text = print_tosa(bare(export_function(case("fully connected", Rounding.SINGLE))))
    found = re.search(r'"tosa.rescale"\(%\d+, (%c\d+), (%c\d+)', text)
    assert found is not None
    for name, number in ((found[1], 81 << 16), (found[2], 31)):
        text = re.sub(rf"({name} = .*dense<\[?)[^>]*?(\]?> : tensor<1x)", rf"\g<1>{number}\2", text)
    return text.replace("SINGLE_ROUND", mode)


@pytest.mark.parametrize("mode", ["SINGLE_ROUND", "DOUBLE_ROUND"])
def test_short_multipliers_round_once_whatever_the_mode(mode: str, tmp_path: Path) -> None:
    """TOSA's second rounding begins at shift 32. Requantizing has multipliers of 31 bits, and so
    larger shifts.
    """
    text = _with_short_multipliers(mode)
    with pytest.raises(GlowmcuError, match="compile it with rounding='single'") as raised:
        read(text)
    assert raised.value.code == "GM157"
    graph = read(text, Rounding.SINGLE)
    for seed in range(3):
        inputs = random_arrays(graph.inputs, seed)
        want = run_graph(graph, inputs)
        for expected, found in zip(want, run_reference(text, inputs, want, tmp_path), strict=True):
            assert np.array_equal(expected, found)


def test_short_multipliers_that_round_twice_are_said_to_do_so() -> None:
    text = _with_short_multipliers("DOUBLE_ROUND").replace("dense<[31]>", "dense<[35]>")
    for rounding in ROUNDINGS:
        with pytest.raises(GlowmcuError, match="scale the multiplier to 2\\^30 or more") as raised:
            read(text, rounding)
        assert raised.value.code == "GM156"


def test_the_command_line_writes_and_reads_it(tmp_path: Path) -> None:
    path = SHARED / "models" / "kws_int8.tflite"
    if not path.exists():
        pytest.skip("needs the MLPerf Tiny models")
    made = tmp_path / "kws.mlir"
    command = [sys.executable, "-m", "glowmcu"]
    export = [*command, "export", str(path), "-o", str(made), "--format", "tosa", "--json"]
    done = subprocess.run(export, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout)["bytes"] == made.stat().st_size
    inspect = [*command, "inspect", str(made), "--json"]
    done = subprocess.run(inspect, capture_output=True, text=True, check=True)
    assert len(json.loads(done.stdout)["operators"]) == 13
    wrong = [*command, "export", str(path), "-o", str(made)]
    refused = subprocess.run(wrong, capture_output=True, text=True, check=False)
    assert refused.returncode == 2
    assert "GM158" in refused.stderr
    assert shutil.which("glowmcu") is None or made.exists()
