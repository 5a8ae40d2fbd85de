"""Bundles that remember: streams of runs in C, what begins them, and what is refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import glowmcu
from glowmcu.ir.interpreter import Session
from glowmcu.ir.operation import Array
from glowmcu.pipeline import reference_graph
from glowmcu.verify.executors import executor
from glowmcu.verify.verification import check_executor, golden_vectors
from tests.bundle.test_use import build, run_program, selftest_result
from tests.support.stream_models import random_stream_model

GOALS = ("balanced", "ram", "speed", "size")
#: Queues, sums, and variables that are exchanged.
SEED = 6


def compiled(folder: Path, seed: int, **options: object) -> tuple[glowmcu.Bundle, bytes]:
    data = random_stream_model(seed)
    model = folder / "net.tflite"
    model.write_bytes(data)
    arguments = {"board": "nrf52", "output": folder / "net", **options}
    return glowmcu.compile(model, **arguments), data  # type: ignore[arg-type]


def stream(data: bytes, steps: int, seed: int = 0) -> tuple[list[Array], list[Array]]:
    """Inputs, and what each run gives."""
    graph = reference_graph(data, "m.tflite")
    session, random = Session(graph), np.random.default_rng(seed)
    shape = graph.arguments[0].type.shape
    inputs = [random.integers(-128, 128, shape).astype(np.int8) for _ in range(steps)]
    return inputs, [session.run([x])[0] for x in inputs]


@pytest.mark.parametrize("seed", range(12))
def test_a_stream_in_c_is_the_graphs(seed: int, tmp_path: Path) -> None:
    bundle, data = compiled(tmp_path, seed, optimize=GOALS[seed % 4])
    inputs, wanted = stream(data, 12)
    session = bundle.session()
    for x, want in zip(inputs, wanted, strict=True):
        assert np.array_equal(session.run([x])[0], want)


def test_two_sessions_are_two_streams_and_reset_begins_again(tmp_path: Path) -> None:
    bundle, data = compiled(tmp_path, SEED)
    one, other = stream(data, 8, 1), stream(data, 8, 2)
    first, second = bundle.session(), bundle.session()
    for step in range(8):
        assert np.array_equal(first.run([one[0][step]])[0], one[1][step])
        assert np.array_equal(second.run([other[0][step]])[0], other[1][step])
    first.reset()
    for step in range(8):
        assert np.array_equal(first.run([other[0][step]])[0], other[1][step])


@pytest.mark.parametrize(
    ("on", "core"),
    [
        pytest.param("cortex-m", "cortex-m4", marks=pytest.mark.arm),
        pytest.param("qemu", "cortex-m55", marks=pytest.mark.qemu),
    ],
)
def test_sessions_run_on_cores(on: str, core: str, tmp_path: Path) -> None:
    bundle, data = compiled(tmp_path, SEED)
    if (missing := executor(on, bundle.board, core).missing()) is not None:
        pytest.skip(missing)
    inputs, wanted = stream(data, 3)
    session = bundle.session(on, core)
    for x, want in zip(inputs, wanted, strict=True):
        assert np.array_equal(session.run([x])[0], want)
    session.reset()
    assert np.array_equal(session.run([inputs[0]])[0], wanted[0])


@pytest.mark.parametrize("options", [{}, {"steps": True}, {"weights": "pointer"}])
def test_the_self_test_is_a_stream(options: dict[str, object], tmp_path: Path) -> None:
    bundle, _ = compiled(tmp_path, SEED, **options)
    assert selftest_result("net", bundle.path, tmp_path) == 0
    vectors = golden_vectors(bundle.path, bundle.manifest)
    assert len(vectors) >= 6
    host = executor("host", bundle.board)
    assert check_executor(host, bundle.path, bundle.manifest, vectors).passed
    # Begun in the middle, it gives other outputs: the vectors show what is remembered.
    late = check_executor(host, bundle.path, bundle.manifest, vectors[1:])
    assert not late.passed


MAIN = """#include <string.h>
#include "net.h"
static NET_ARENA(arena);
static NET_ARENA(other);
static int8_t x[NET_INPUT_LENGTH], first[NET_OUTPUT_LENGTH], y[NET_OUTPUT_LENGTH];
int main(void)
{
    int wrong = 0;
    if (CHECKED) {
        wrong += net_run(arena) != GLOWMCU_NOT_BEGUN;
        wrong += net_infer(arena, x, y) != GLOWMCU_NOT_BEGUN;
        wrong += net_reset(NULL) != GLOWMCU_BAD_ARENA;
        wrong += net_reset(arena + 1) != GLOWMCU_BAD_ARENA;
    }
    memset(other, 0xA5, sizeof other);
    wrong += net_reset(arena) != 0 || net_reset(other) != 0;
    memset(x, 17, sizeof x);
    wrong += net_infer(arena, x, first) != 0;
    for (int i = 0; i < 5; ++i) {
        wrong += net_infer(arena, x, y) != 0;
    }
    wrong += net_infer(other, x, y) != 0 || memcmp(first, y, sizeof y) != 0;
    wrong += net_reset(arena) != 0 || net_infer(arena, x, y) != 0;
    wrong += memcmp(first, y, sizeof y) != 0;
    return wrong;
}
"""


@pytest.mark.parametrize("checked", [True, False])
def test_a_run_before_reset_does_nothing_and_says_so(checked: bool, tmp_path: Path) -> None:
    bundle, _ = compiled(tmp_path, SEED)
    flags = [f"-DCHECKED={int(checked)}", "-fsanitize=address,undefined"]
    if not checked:
        flags.append("-DGLOWMCU_NO_CHECKS")
    done = build(tmp_path, MAIN, [bundle.path], flags)
    assert done.returncode == 0, done.stderr
    assert run_program(tmp_path).returncode == 0


def test_the_header_says_what_outlives_a_run(tmp_path: Path) -> None:
    bundle, data = compiled(tmp_path, SEED)
    graph = reference_graph(data, "m.tflite")
    header = (bundle.path / "net.h").read_text(encoding="utf-8")
    total = sum(state.initial.nbytes for state in graph.states)
    assert f"#define NET_STATE_BYTES {total}\n" in header
    assert all(state.value.name in header for state in graph.states)
    assert bundle.manifest.reset_function == "net_reset"
    assert sum(entry.bytes for entry in bundle.manifest.states) == total + 4


def test_readme_and_crate_begin_a_stream(tmp_path: Path) -> None:
    bundle, _ = compiled(tmp_path, SEED, emit=["rust"])
    assert "net_reset(arena);" in (bundle.path / "README.md").read_text(encoding="utf-8")
    crate = next(bundle.path.rglob("lib.rs")).read_text(encoding="utf-8")
    assert "pub fn reset(&mut self)" in crate
    assert "arena.reset();" in crate
