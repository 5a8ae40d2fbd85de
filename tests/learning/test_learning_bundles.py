"""Bundles that learn: C against the Python meaning, cores against this computer, and the C API."""

from __future__ import annotations

import itertools
import subprocess
from pathlib import Path

import numpy as np
import pytest

import glowmcu
from glowmcu.errors import GlowmcuError
from glowmcu.input_options import InputOptions
from glowmcu.ir.graph import Graph
from glowmcu.ir.interpreter import Session
from glowmcu.ir.operation import Array
from glowmcu.manifest import read_manifest
from glowmcu.pipeline import application_graph
from glowmcu.report.tables import learning_line
from glowmcu.training import training_of
from glowmcu.verify.executors import executor
from tests.bundle.test_use import build, run_program, selftest_result

DIGITS = Path("examples/digits/digits_int8.tflite")
GESTURES = Path("examples/gestures/model_float.tflite")


def compiled(folder: Path, path: Path, board: str = "nrf52", **options: object) -> glowmcu.Bundle:
    return glowmcu.compile(path, board, folder / "net", "net", **options)  # type: ignore[arg-type]


def meaning(path: Path, **options: object) -> Graph:
    inputs = InputOptions(training=training_of(**options))  # type: ignore[arg-type]
    return application_graph(path.read_bytes(), path.name, inputs=inputs)[0]


def settings_of(what: str) -> dict[str, object]:
    if what.startswith(("prototypes", "neighbours", "normal")):
        return {"train": what}
    return {"train": what, "learning_rate": 0.05, "momentum": 0.5}


def samples(bundle: glowmcu.Bundle, count: int) -> list[tuple[Array, int]]:
    random, entry = np.random.default_rng(1), bundle.report.inputs[0]
    classes = bundle.manifest.training.classes if bundle.manifest.training else 1
    found = []
    for number in range(count):
        if entry.dtype == "int8":
            x = random.integers(-128, 128, entry.shape).astype(np.int8)
        else:
            x = random.standard_normal(entry.shape).astype(np.float32)
        found.append((x, number % classes))
    return found


def learnt(
    bundle: glowmcu.Bundle, data: list[tuple[Array, int]], on: str, core: str | None = None
) -> list[tuple[float, Array]]:
    """Loss, and what the next run says, of each step."""
    session = bundle.session(on, core)  # type: ignore[arg-type]
    return [(session.train([x], label), session.run([x])[0]) for x, label in data]


@pytest.mark.parametrize(
    ("path", "options"),
    [
        (DIGITS, {"train": "last=1", "learning_rate": 0.05}),
        (DIGITS, {"train": "last=2", "momentum": 0.9}),
        (DIGITS, {"train": "last=3,bias"}),
        (GESTURES, {"train": "last=1", "momentum": 0.5}),
        (GESTURES, {"train": "last=4"}),
        (GESTURES, {"train": "conv_1"}),
        (DIGITS, {"train": "prototypes=4"}),
        (GESTURES, {"train": "prototypes=3"}),
        (DIGITS, {"train": "neighbours=4x2"}),
        (GESTURES, {"train": "neighbours=3x5"}),
        (GESTURES, {"train": "normal"}),
        (DIGITS, {"train": "normal"}),
    ],
    ids=str,
)
def test_c_learns_what_the_graph_learns(
    path: Path, options: dict[str, object], tmp_path: Path
) -> None:
    bundle, session = compiled(tmp_path, path, **options), Session(meaning(path, **options))
    data = samples(bundle, 12)
    got = learnt(bundle, data, "host")
    for (x, number), (loss, output) in zip(data, got, strict=True):
        want = session.run([x, np.array([number], np.int32)])[1]
        np.testing.assert_allclose(loss, want[0], rtol=1e-4, atol=1e-6)
        after = session.run([x, np.array([-1], np.int32)])[0]
        step = 1 if output.dtype == np.int8 else 1e-5
        np.testing.assert_allclose(output, after, rtol=1e-3, atol=step)


@pytest.mark.parametrize("on", [
    pytest.param(("cortex-m", "cortex-m4", "nrf52"), marks=pytest.mark.arm),
    pytest.param(("cortex-m", "cortex-m0plus", "nrf52"), marks=pytest.mark.arm),
    pytest.param(("qemu", "cortex-m4", "mps2-an386"), marks=pytest.mark.qemu),
    pytest.param(("qemu", "cortex-m55", "mps3-an547"), marks=pytest.mark.qemu),
], ids=str)  # fmt: skip
@pytest.mark.parametrize(
    ("path", "what"),
    [
        (DIGITS, "last=2"),
        (GESTURES, "last=2,bias"),
        (DIGITS, "prototypes=3"),
        (DIGITS, "neighbours=3x2"),
        (DIGITS, "normal"),
    ],
)
def test_cores_learn_the_same_bits(
    on: tuple[str, str, str], path: Path, what: str, tmp_path: Path
) -> None:
    name, core, board = on
    bundle = compiled(tmp_path, path, board, **settings_of(what))
    if (missing := executor(name, bundle.board, core).missing()) is not None:
        pytest.skip(missing)
    data = samples(bundle, 4)
    host, there = learnt(bundle, data, "host"), learnt(bundle, data, name, core)
    for (loss, output), (other_loss, other) in zip(host, there, strict=True):
        assert loss == other_loss
        np.testing.assert_array_equal(output, other)


def test_verify_compares_learning_with_the_model_made_again(tmp_path: Path) -> None:
    bundle = compiled(tmp_path, DIGITS, train="last=2", momentum=0.9)
    assert glowmcu.verify(bundle, on=["host"], model=DIGITS).passed
    # Golden vectors hold labels that are classes and others; without a step the later differ.
    source = bundle.path / "net.c"
    text = source.read_text(encoding="utf-8")
    spoilt = text.replace("(label >= 0 && label <", "(label >= 1000 && label <")
    assert spoilt != text
    source.write_text(spoilt, encoding="utf-8")
    assert not glowmcu.verify(glowmcu.load(bundle.path), on=["host"], samples=0).passed


def test_the_self_test_learns(tmp_path: Path) -> None:
    bundle = compiled(tmp_path, GESTURES, train="last=2", momentum=0.5)
    assert selftest_result("net", bundle.path, tmp_path) == 0


MAIN = """#include <string.h>
#include "net.h"
static NET_ARENA(arena);
static NET_ARENA(other);
static float x[NET_INPUT_LENGTH], y[NET_OUTPUT_LENGTH], z[NET_OUTPUT_LENGTH];
static uint8_t first[NET_PARAMETERS_BYTES], bytes[NET_PARAMETERS_BYTES + 1];
int main(void)
{
    int wrong = 0;
    float loss;
    for (int i = 0; i < NET_INPUT_LENGTH; ++i) {
        x[i] = 0.25f * (float)(i % 7 - 3);
    }
    memset(arena, 0xA5, sizeof arena);
    memset(other, 0xA5, sizeof other);
    wrong += net_train(arena, x, 1) != GLOWMCU_NOT_BEGUN;
    wrong += net_learn(arena) != GLOWMCU_NOT_BEGUN;
    wrong += net_parameters_save(arena, first) != GLOWMCU_NOT_BEGUN;
    wrong += net_parameters_load(arena, first) != GLOWMCU_NOT_BEGUN;
    wrong += net_reset(arena) != 0 || net_reset(other) != 0;
    wrong += net_train(NULL, x, 1) != GLOWMCU_BAD_ARENA;
    wrong += net_train(arena + 1, x, 1) != GLOWMCU_BAD_ARENA;
    wrong += net_train(arena, NULL, 1) != GLOWMCU_BAD_INPUT;
    wrong += net_loss(arena) != 0.0f;
    wrong += net_parameters_save(arena, first) != 0;
    /* What is no class changes nothing. */
    wrong += net_train(arena, x, -1) != GLOWMCU_BAD_LABEL;
    wrong += net_train(arena, x, 4) != GLOWMCU_BAD_LABEL;
    wrong += net_train(arena, x, 2147483647) != GLOWMCU_BAD_LABEL;
    wrong += net_infer(arena, x, y) != 0 || net_run(arena) != 0;
    wrong += net_parameters_save(arena, bytes) != 0 || memcmp(first, bytes, sizeof first) != 0;
    /* Learning does. */
    *net_learning_rate(arena) = 0.125f;
    wrong += net_train(arena, x, 2) != 0;
    loss = net_loss(arena);
    for (int i = 0; i < 5; ++i) {
        wrong += net_train(arena, x, 2) != 0;
        wrong += !(net_loss(arena) < loss);
        loss = net_loss(arena);
    }
    wrong += *net_learning_rate(arena) != 0.125f;
    /* Kept anywhere, and taken by another arena, which then says the same. */
    wrong += net_parameters_save(arena, bytes + 1) != 0;
    wrong += memcmp(first, bytes + 1, sizeof first) == 0;
    wrong += net_parameters_load(other, bytes + 1) != 0;
    wrong += net_infer(arena, x, y) != 0 || net_infer(other, x, z) != 0;
    wrong += memcmp(y, z, sizeof y) != 0;
    /* A changed byte, whichever, is noticed, and nothing is taken. */
    for (int i = 0; i < NET_PARAMETERS_BYTES; ++i) {
        bytes[1 + i] ^= 0x10u;
        wrong += net_parameters_load(other, bytes + 1) != GLOWMCU_BAD_PARAMETERS;
        bytes[1 + i] ^= 0x10u;
    }
    wrong += net_parameters_load(other, NULL) != GLOWMCU_BAD_PARAMETERS;
    wrong += net_parameters_save(other, NULL) != GLOWMCU_BAD_PARAMETERS;
    wrong += net_infer(other, x, z) != 0 || memcmp(y, z, sizeof y) != 0;
    /* The model's own again. */
    wrong += net_reset(arena) != 0 || net_parameters_save(arena, bytes) != 0;
    wrong += memcmp(first, bytes, sizeof first) != 0;
    return wrong;
}
"""


@pytest.mark.parametrize("momentum", [None, 0.5])
def test_the_c_interface_does_what_the_header_says(momentum: float | None, tmp_path: Path) -> None:
    bundle = compiled(tmp_path, GESTURES, train="last=2", momentum=momentum)
    done = build(tmp_path, MAIN, [bundle.path], ["-fsanitize=address,undefined"])
    assert done.returncode == 0, done.stderr
    assert run_program(tmp_path).returncode == 0


def test_parameters_of_other_layers_are_refused(tmp_path: Path) -> None:
    owners = set()
    for number, (path, what) in enumerate(
        [(GESTURES, "last=2"), (GESTURES, "last=1"), (DIGITS, "last=1"), (GESTURES, "last=2,bias")]
    ):
        bundle = compiled(tmp_path / str(number), path, train=what)
        assert bundle.manifest.training is not None
        owners.add(bundle.manifest.training.digest)
    assert len(owners) == 4


@pytest.mark.parametrize("numbers", ["fixed", "float32"])
def test_parameters_of_another_quantization_are_refused(numbers: str, tmp_path: Path) -> None:
    samples = np.random.default_rng(1).standard_normal((8, 25, 1, 6)).astype(np.float32)

    def owner(calibration: str, board: str = "nrf52", momentum: float = 0.0) -> str:
        bundle = compiled(
            tmp_path, GESTURES, board, train="last=2", train_numbers=numbers, momentum=momentum,
            samples=samples, quantization=glowmcu.Quantization(calibration=calibration),
        )  # fmt: skip
        assert bundle.manifest.training is not None
        return bundle.manifest.training.digest

    assert owner("minmax") == owner("minmax", "rp2040", 0.5) != owner("percentile:90")


def test_squared_error_has_a_target_in_c(tmp_path: Path) -> None:
    bundle = compiled(tmp_path, GESTURES, train="last=1", loss="squared-error", learning_rate=0.5)
    session, x = bundle.session(), np.full((1, 25, 1, 6), 0.05, np.float32)
    target = np.array([[0.1, 0.2, 0.3, 0.4]], np.float32)
    losses = [session.train([x], target) for _ in range(40)]
    assert losses[-1] < 0.2 * losses[0]
    header = (bundle.path / "net.h").read_text(encoding="utf-8")
    assert "const float target[NET_INPUT_TARGET_LENGTH]" in header


@pytest.mark.parametrize(
    ("path", "label", "said"),
    [
        (GESTURES, 4, "label 4 is no class: there are 4"),
        (GESTURES, -1, "label -1 is no class"),
        (GESTURES, 1.0, "a label is one integer"),
        (GESTURES, [1, 2], "a label is one integer"),
    ],
)
def test_a_label_that_is_no_class_is_refused(
    path: Path, label: object, said: str, tmp_path: Path
) -> None:
    session = compiled(tmp_path, path, train="last=1").session()
    x = np.zeros((1, 25, 1, 6), np.float32)
    with pytest.raises(GlowmcuError, match="GM630") as found:
        session.train([x], label)  # type: ignore[arg-type]
    assert said in str(found.value)


def test_inputs_are_counted_without_the_label(tmp_path: Path) -> None:
    session = compiled(tmp_path, GESTURES, train="last=1").session()
    x = np.zeros((1, 25, 1, 6), np.float32)
    for inputs in ([], [x, x]):
        with pytest.raises(GlowmcuError, match=rf"has 1 inputs \(motion\), got {len(inputs)}"):
            session.train(inputs, 1)


def test_a_target_of_ragged_rows_is_refused(tmp_path: Path) -> None:
    session = compiled(tmp_path, GESTURES, train="last=1", loss="squared-error").session()
    with pytest.raises(GlowmcuError, match="GM630"):
        session.train([np.zeros((1, 25, 1, 6), np.float32)], [[1], [2, 3]])


def test_a_bundle_that_does_not_learn_says_so(tmp_path: Path) -> None:
    session = compiled(tmp_path, GESTURES).session()
    with pytest.raises(GlowmcuError, match="GM630"):
        session.train([np.zeros((1, 25, 1, 6), np.float32)], 0)


@pytest.mark.parametrize(
    "options",
    [{"steps": True}, {"cores": 2}, {"weights": "pointer"}, {"stream_inputs": ["motion"]},
     {"outside_inputs": ["motion"]}, {"instrument": True}],
    ids=str,
)  # fmt: skip
def test_options_that_learning_does_not_go_with_are_named(
    options: dict[str, object], tmp_path: Path
) -> None:
    with pytest.raises(GlowmcuError, match="GM363"):
        compiled(tmp_path, GESTURES, train="last=1", **options)


def test_the_header_says_what_learning_costs(tmp_path: Path) -> None:
    bundle = compiled(tmp_path, DIGITS, train="last=1")
    training = read_manifest(bundle.path).training
    assert training is not None
    plain = compiled(tmp_path / "plain", DIGITS)
    assert training.inference_arena_bytes == plain.report.arena_bytes
    header = (bundle.path / "net.h").read_text(encoding="utf-8")
    assert f"does not learn is {training.inference_arena_bytes:,} B".replace(",", " ") in header
    assert "NET_LEARN_STACK_BYTES" in header


@pytest.mark.arm
def test_bench_measures_a_run_that_learns(tmp_path: Path) -> None:
    bundle = compiled(tmp_path, DIGITS, train="last=1")
    found = glowmcu.bench(bundle)
    assert bundle.manifest.training is not None
    steps = bundle.manifest.training.steps
    assert [layer.index for layer in bundle.report.layers][-len(steps) :] == list(steps)
    cycles = [layer.cycles or 0 for layer in found.measured.layers if layer.index in steps]
    assert sum(cycles) > 1000
    line = learning_line(bundle.manifest, found.measured)
    assert line is not None
    assert f"{sum(cycles):,}".replace(",", " ") in line


@pytest.mark.arm
@pytest.mark.parametrize("goal", ["balanced", "size"])
@pytest.mark.parametrize("board", ["rp2040", "bluepill"])
def test_cycles_of_learning_are_stated_by_core_and_goal(
    board: str, goal: str, tmp_path: Path
) -> None:
    bundle = compiled(tmp_path, DIGITS, board, train="last=1", optimize=goal)
    training, measured = bundle.manifest.training, glowmcu.bench(bundle).measured
    assert training is not None
    cycles = sum(layer.cycles or 0 for layer in measured.layers if layer.index in training.steps)
    assert training.learning_cycles == pytest.approx(cycles, rel=0.15)


def test_a_pipeline_does_not_learn(tmp_path: Path) -> None:
    with pytest.raises(GlowmcuError, match="GM152"):
        compiled(tmp_path, Path("examples/wake_word/wake_word.toml"), train="last=1")


@pytest.mark.arm
def test_mlperf_kws_learns_its_last_layer_within_what_was_asked(
    shared_dir: Path, tmp_path: Path
) -> None:
    """At most 1.35 times the arena and 1.6 times the cycles of an inference."""
    kws = shared_dir / "models" / "kws_int8.tflite"
    bundle = compiled(tmp_path, kws, train="last=1")
    plain = compiled(tmp_path / "plain", kws)
    assert bundle.report.arena_bytes <= 1.35 * plain.report.arena_bytes
    x = np.zeros(plain.report.inputs[0].shape, np.int8)
    inference = plain.measure([x], on="cortex-m").cycles
    learning = bundle.measure([x, np.array([3], np.int32)], on="cortex-m").cycles
    assert inference is not None
    assert learning is not None
    assert learning <= 1.6 * inference


def test_arm_compilers_take_a_bundle_that_learns_without_a_word(tmp_path: Path) -> None:
    if executor("cortex-m", compiled(tmp_path, GESTURES, train="last=1").board).missing():
        pytest.skip("needs the Arm compiler")
    for goal, core in itertools.product(("size", "speed"), ("cortex-m0plus", "cortex-m4")):
        folder = tmp_path / f"{goal}{core}"
        bundle = compiled(folder, DIGITS, train="last=2", momentum=0.5, optimize=goal)
        flags = [f"-mcpu={core}", "-mthumb", "-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror",
                 "-Wconversion", "-Wshadow", "-Wcast-qual"]  # fmt: skip
        for source in bundle.manifest.sources:
            command = [
                "arm-none-eabi-gcc",
                *flags,
                "-c",
                str(bundle.path / source),
                "-o",
                "/dev/null",
            ]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            assert done.returncode == 0, done.stderr
        header = bundle.path / "net.h"
        command = [
            "g++",
            "-x",
            "c++",
            "-std=c++11",
            "-Wall",
            "-Werror",
            "-fsyntax-only",
            str(header),
        ]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0 or "pragma once" in done.stderr, done.stderr
