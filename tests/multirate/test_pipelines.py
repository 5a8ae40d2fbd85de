"""Pipelines of random models: Python, C and interpreters one behind the other are one."""

from __future__ import annotations

from pathlib import Path
from shutil import which

import numpy as np
import pytest

import glowmcu
from benchmarks.misra import unexplained
from glowmcu.api.pipeline_files import read_pipeline
from glowmcu.cli.stream_file import read_stream
from glowmcu.compilation import Compilation, Options
from glowmcu.errors import GlowmcuError
from glowmcu.input_options import InputOptions
from glowmcu.ir.equality import same_graph
from glowmcu.ir.interpreter import Session, run_graph
from glowmcu.ir.operation import Array
from glowmcu.ir.text import parse_graph, parse_program, print_graph, print_program
from glowmcu.multirate.compilation import compile_pipeline
from glowmcu.ops.registry import load_operations
from glowmcu.pipeline import application_graph
from glowmcu.report.classes import new_results
from glowmcu.verify.executors import executor
from tests.bundle.test_use import build, c_array, run_program, selftest_result
from tests.memplan.spatial_models import SpatialModel, Window
from tests.support.misra import findings
from tests.support.onnx_models import onnx_model
from tests.support.pipelines import Pipeline, random_pipeline

GOALS = ("balanced", "ram", "speed", "size")
RUNS = 40


def compiled(pipeline: Pipeline, folder: Path) -> Compilation:
    file = pipeline.write(folder)
    return compile_pipeline(read_pipeline(file), Options("pipe", core="cortex-m4"))


def samples_for(pipeline: Pipeline, runs: int, seed: int = 0) -> tuple[Array, list[list[Array]]]:
    """Samples [n, channels] of so many runs, and what an application reads after each run."""
    random = np.random.default_rng([5, seed])
    hop, channels = pipeline.hops[0], pipeline.networks[0].channels
    samples = random.integers(-128, 128, (hop * runs, channels)).astype(np.int8)
    return samples, [pipeline.push(samples[hop * k : hop * (k + 1)]) for k in range(runs)]


def behind_backlog(pipeline: Pipeline, samples: Array) -> Array:
    """Samples as runs see them: windows of the first stage begin where samples do."""
    hop, rows = pipeline.hops[0], pipeline.networks[0].rows
    zeros = np.zeros((-rows % hop, samples.shape[1]), samples.dtype)
    return np.concatenate([zeros, samples])


@pytest.mark.parametrize("seed", range(30))
def test_python_and_c_are_interpreters_one_behind_the_other(seed: int, tmp_path: Path) -> None:
    pipeline = random_pipeline(seed)
    samples, results = samples_for(pipeline, RUNS)
    wanted = [item for found in results for item in found]
    compilation = compiled(pipeline, tmp_path)
    bundle = glowmcu.compile(
        tmp_path / "pipe.toml", board="nrf52", output=tmp_path / "out",
        optimize=GOALS[seed % 4], name="pipe",
    )  # fmt: skip
    hop = pipeline.hops[0]
    shifted = behind_backlog(pipeline, samples)
    shape = compilation.imported.arguments[0].type.shape
    arrays = [shifted[hop * k : hop * (k + 1)].reshape(shape) for k in range(len(shifted) // hop)]
    last = compilation.imported.rates[-1]
    in_c = bundle.session()
    sessions = [Session(graph) for graph in (compilation.imported, compilation.graph)]
    want: list[Array] = []
    for run, x in enumerate(arrays):
        outputs = [in_c.run([x]), *(session.run([x]) for session in sessions)]
        if last.is_due(run):
            want = wanted.pop(0)
        for found in outputs:
            if not want:
                assert len(found) == 1 or found[1][0] == -1
                continue
            for a, b in zip(found, want, strict=True):
                assert np.array_equal(a, b.reshape(a.shape))
    assert not wanted


@pytest.mark.parametrize("seed", range(30))
def test_text_and_back(seed: int, tmp_path: Path) -> None:
    compilation = compiled(random_pipeline(seed), tmp_path)
    operations = load_operations()
    for graph in (compilation.imported, compilation.graph):
        assert same_graph(graph, parse_graph(print_graph(graph), operations))
    program = compilation.plan.program
    again = parse_program(print_program(program), operations)
    assert again.rates == program.rates
    assert [run.node.stage for run in again.runs] == [run.node.stage for run in program.runs]


CAMERA = """
#include <string.h>
#include "see.h"
static SEE_ARENA(arena);
{frames}
{wanted}
int main(void)
{{
    int wrong = see_reset(arena) != 0;
    for (int i = 0; i < 3; ++i) {{
        const uint8_t *frame = frames + i * 17 * 44;

        wrong += see_push(arena, frame, 5) != 0;
        wrong += see_push(arena, frame + 5 * 44, 12) != 1;
        wrong += memcmp(see_output_look(arena), wanted + i * {size}, {size}) != 0;
        wrong += see_output_decision(arena)[0] < 0;
    }}
    return wrong;
}}
"""


def test_rows_of_a_camera_are_samples_of_the_first_stage(tmp_path: Path) -> None:
    image = SpatialModel(3)
    model = image.finish(image.conv(image.input(6, 8, 3), 5, Window((3, 3))))
    (tmp_path / "look.tflite").write_bytes(model)
    (tmp_path / "see.toml").write_text(
        '[[stage]]\nname = "look"\nmodel = "look.tflite"\ncamera = "uyvy:22x17"\n[decision]\n'
    )
    bundle = glowmcu.compile(tmp_path / "see.toml", output=tmp_path / "out")
    name = application_graph(model, "look.tflite")[0].arguments[0].name
    cameras = InputOptions(cameras={name: "uyvy:22x17"})
    graph, _ = application_graph(model, "look.tflite", inputs=cameras)
    frames = np.random.default_rng(1).integers(0, 256, (3, 1, 17, 22, 2), dtype=np.uint8)
    wanted = [run_graph(graph, [frame])[0] for frame in frames]
    session = bundle.session()
    for frame, want in zip(frames, wanted, strict=True):
        assert np.array_equal(session.run([frame])[0], want)
    text = CAMERA.format(
        frames=c_array("frames", frames.reshape(-1), "uint8_t"), size=wanted[0].nbytes,
        wanted=c_array("wanted", np.concatenate([x.reshape(-1) for x in wanted]), "int8_t"),
    )  # fmt: skip
    done = build(tmp_path, text, [bundle.path], ["-fsanitize=address,undefined"])
    assert done.returncode == 0, done.stderr
    assert run_program(tmp_path).returncode == 0


def test_a_float_network_of_a_camera_is_quantized_to_bytes(tmp_path: Path) -> None:
    """And an image in ONNX has its channels first."""
    weights = np.random.default_rng(0).normal(size=(4, 3, 3, 3)).astype(np.float32)
    data = onnx_model("Conv", [("x", "float32", (1, 3, 6, 8)), weights])
    (tmp_path / "m.onnx").write_bytes(data)
    np.save(tmp_path / "x.npy", np.random.default_rng(1).random((8, 3, 6, 8), np.float32))
    (tmp_path / "see.toml").write_text(
        '[[stage]]\nname = "look"\nmodel = "m.onnx"\nsamples = "x.npy"\ncamera = "grey:20x16"\n'
    )
    bundle = glowmcu.compile(tmp_path / "see.toml", output=tmp_path / "out")
    assert bundle.manifest.inputs[0].shape == (1, 16, 20, 1)
    frame = np.random.default_rng(2).integers(0, 256, (1, 16, 20, 1), dtype=np.uint8)
    alone = glowmcu.compile(
        tmp_path / "m.onnx", output=tmp_path / "alone", samples=tmp_path / "x.npy",
        camera={"x": "grey:20x16"},
    )  # fmt: skip
    assert np.array_equal(bundle.session().run([frame])[0], alone.run([frame])[0])


MAIN = """#include <string.h>
#include "pipe.h"
static PIPE_ARENA(arena);
static PIPE_ARENA(other);
{samples}
{pieces}
{outputs}
int main(void)
{{
    int wrong = 0, results = 0, at = 0;
    wrong += pipe_push(arena, samples, 1) != GLOWMCU_NOT_BEGUN;
    wrong += pipe_push(NULL, samples, 1) != GLOWMCU_BAD_ARENA;
    wrong += pipe_push(arena + 1, samples, 1) != GLOWMCU_BAD_ARENA;
    wrong += pipe_reset(arena) != 0 || pipe_reset(other) != 0;
    wrong += pipe_push(arena, NULL, 1) != GLOWMCU_BAD_INPUT;
    wrong += pipe_push(arena, NULL, 0) != 0;
    for (int i = 0; i < {piece_count}; ++i) {{
        const int32_t found = pipe_push(arena, samples + {channels} * at, (size_t)pieces[i]);
        at += pieces[i];
        (void)pipe_push(other, samples, (size_t)(i % 3));
        if (found < 0) {{ return 200; }}
        results += found;
        if (found > 0) {{
            wrong += memcmp({accessor}(arena), wanted + {size} * (results - 1), {size}) != 0;
        }}
    }}
    return wrong + 2 * (results != {result_count});
}}
"""


@pytest.mark.parametrize("seed", range(12))
def test_samples_may_come_in_any_pieces(seed: int, tmp_path: Path) -> None:
    """With partial samples in the input, the results of every piece are those that came so far."""
    pipeline = random_pipeline(seed)
    samples, results = samples_for(pipeline, RUNS)
    wanted = [item[0] for found in results for item in found]
    bundle = glowmcu.compile(
        pipeline.write(tmp_path), board="generic", output=tmp_path / "out", name="pipe"
    )
    random = np.random.default_rng(seed)
    pieces: list[int] = []
    while sum(pieces) < len(samples):
        left = len(samples) - sum(pieces)
        pieces.append(min(left, int(random.integers(0, 4 * pipeline.hops[0]))))
    output = bundle.manifest.outputs[0]
    accessor = "pipe_output" if len(bundle.manifest.outputs) == 1 else f"pipe_output_{output.name}"
    text = MAIN.format(
        samples=c_array("samples", samples.reshape(-1), "int8_t"),
        pieces=c_array("pieces", np.array(pieces, np.int32), "int32_t"),
        outputs=c_array("wanted", np.concatenate([x.reshape(-1) for x in wanted]), "int8_t"),
        piece_count=len(pieces), channels=samples.shape[1], accessor=accessor,
        size=output.bytes, result_count=len(wanted),
    )  # fmt: skip
    done = build(tmp_path, text, [bundle.path], ["-fsanitize=address,undefined"])
    assert done.returncode == 0, done.stderr
    assert run_program(tmp_path).returncode == 0


@pytest.mark.parametrize("seed", [0, 1, 2, 3])
def test_sound_from_a_file_is_heard_as_if_it_were_pushed(seed: int, tmp_path: Path) -> None:
    """Windows begin with its first sample, also where they are no whole number of runs."""
    uneven = [p for p in map(random_pipeline, range(30)) if p.networks[0].rows % p.hops[0]]
    pipeline = uneven[seed]
    samples, results = samples_for(pipeline, RUNS)
    wanted = [item[0] for found in results for item in found]
    bundle = glowmcu.compile(pipeline.write(tmp_path), output=tmp_path / "out", name="pipe")
    np.save(tmp_path / "sound.npy", samples.reshape(-1))
    stream = read_stream(tmp_path / "sound.npy", bundle.manifest)
    session = bundle.session()
    runs = [session.run(arrays)[0] for arrays in stream.inputs]
    heard = [runs[run] for run in new_results(bundle.manifest, len(runs))]
    assert len(heard) == len(wanted) > 0
    for found, want in zip(heard, wanted, strict=True):
        assert np.array_equal(found.reshape(-1), want.reshape(-1))
    assert "zeros, so that the first window begins" in (bundle.path / "pipe.h").read_text()
    # Whole runs are the application's: nothing comes before them.
    np.save(tmp_path / "runs.npy", np.stack([arrays[0] for arrays in stream.inputs]))
    again = read_stream(tmp_path / "runs.npy", bundle.manifest).inputs
    assert all(np.array_equal(a[0], b[0]) for a, b in zip(again, stream.inputs, strict=True))


def test_the_self_test_runs_every_stage(tmp_path: Path) -> None:
    pipeline = random_pipeline(4)
    bundle = glowmcu.compile(
        pipeline.write(tmp_path), board="generic", output=tmp_path / "out", name="pipe"
    )
    assert selftest_result("pipe", bundle.path, tmp_path) == 0
    source = bundle.path / "pipe.c"
    text = source.read_text(encoding="utf-8")
    spoiled = text.replace("if (left == 0u) {", "if (left == 1u) {")
    assert spoiled != text
    source.write_text(spoiled, encoding="utf-8")
    assert selftest_result("pipe", bundle.path, tmp_path) != 0


@pytest.mark.skipif(which("cppcheck") is None, reason="needs cppcheck (apt-get install cppcheck)")
def test_every_finding_of_misra_is_explained(tmp_path: Path) -> None:
    glowmcu.compile(
        random_pipeline(4).write(tmp_path), board="nrf52", output=tmp_path / "out", name="pipe"
    )
    found = findings(tmp_path / "out", "cortex-m4", ("pipe.c",))
    assert found
    assert unexplained(found) == []


@pytest.mark.parametrize(
    ("board", "on"),
    [
        pytest.param("rp2040", "cortex-m", marks=pytest.mark.arm),
        pytest.param("nrf52", "cortex-m", marks=pytest.mark.arm),
        pytest.param("mps3-an547", "qemu", marks=pytest.mark.qemu),
    ],
)
def test_pipelines_run_on_cores(board: str, on: str, tmp_path: Path) -> None:
    pipeline = random_pipeline(4)
    bundle = glowmcu.compile(
        pipeline.write(tmp_path), board=board, output=tmp_path / "out", name="pipe"
    )
    runner = executor(on, bundle.board, count=False)
    if (missing := runner.missing()) is not None:
        pytest.skip(missing)
    hop = pipeline.hops[0]
    samples, _ = samples_for(pipeline, 12)
    shape = bundle.manifest.inputs[0].shape
    inputs = [[samples[hop * k : hop * (k + 1)].reshape(shape)] for k in range(12)]
    host = bundle.measure_all(inputs, on="host")
    for got, want in zip(runner.run(bundle.path, inputs), host, strict=True):
        assert all(np.array_equal(a, b) for a, b in zip(got.outputs, want.outputs, strict=True))
        stated = bundle.manifest.costs.stack_bytes.get("pipe_run")
        assert stated is None or got.stack_bytes is None or got.stack_bytes <= stated


@pytest.mark.parametrize(("labels", "is_noted"), [("abc", True), ("abcdefghi", False), ("", False)])
def test_labels_are_counted_against_what_is_decided_between(
    labels: str, is_noted: bool, tmp_path: Path
) -> None:
    image = SpatialModel(3)
    model = image.finish(image.conv(image.input(3, 1, 1), 3, Window((3, 1))))
    (tmp_path / "look.tflite").write_bytes(model)
    (tmp_path / "see.toml").write_text(
        f'labels = {list(labels)}\n[[stage]]\nname = "look"\nmodel = "look.tflite"\n[decision]\n'
    )
    bundle = glowmcu.compile(tmp_path / "see.toml", output=tmp_path / "out")
    assert bundle.manifest.outputs[0].shape == (1, 3, 1, 3)
    said = "there are 3 labels, and the decision is over 9 scores"
    assert (said in bundle.notes) == is_noted
    assert not any("no output has as many" in note for note in bundle.notes)


def test_a_pipeline_in_float_is_told_where_samples_stand(tmp_path: Path) -> None:
    (tmp_path / "m.onnx").write_bytes(onnx_model("Relu", [("x", "float32", (1, 4))]))
    (tmp_path / "p.toml").write_text('[[stage]]\nname = "a"\nmodel = "m.onnx"\n')
    (note,) = glowmcu.compile(tmp_path / "p.toml", output=tmp_path / "out").notes
    assert note.startswith("stages of this pipeline compute in float")
    assert "glowmcu profile" not in note


def test_no_name_of_a_stage_is_one_of_its_file_in_c(tmp_path: Path) -> None:
    (tmp_path / "m.onnx").write_bytes(onnx_model("Relu", [("x", "float32", (1, 4))]))
    names = ("a", "a_2", "is_due", "int32_t", "stages", "arena", "left")
    text = "".join(f'[[stage]]\nname = "{name}"\nmodel = "m.onnx"\nhop = 2\n' for name in names)
    (tmp_path / "p.toml").write_text(f"{text}[decision]\n")
    bundle = glowmcu.compile(tmp_path / "p.toml", output=tmp_path / "out")
    done = build(tmp_path, "int main(void) { return 0; }", [bundle.path], [])
    assert done.returncode == 0, done.stderr


def test_a_threshold_that_no_score_reaches_is_refused(tmp_path: Path) -> None:
    image = SpatialModel(3)
    model = image.finish(image.conv(image.input(3, 1, 1), 3, Window((3, 1))))
    (tmp_path / "look.tflite").write_bytes(model)
    (result,) = application_graph(model, "look.tflite")[0].results
    most = (127 - result.type.zero_point) * result.type.scale
    for threshold, is_refused in ((most, False), (most * 1.001, True)):
        (tmp_path / "see.toml").write_text(
            '[[stage]]\nname = "look"\nmodel = "look.tflite"\n'
            f"[decision]\nthreshold = {threshold!r}\n"
        )
        compilation = read_pipeline(tmp_path / "see.toml"), Options("see", core="cortex-m4")
        if is_refused:
            with pytest.raises(GlowmcuError, match=r"GM151.*never reached: scores are at most"):
                compile_pipeline(*compilation)
        else:
            compile_pipeline(*compilation)
