"""Streams in chunks of an open length: what is remembered goes on, whatever each chunk's size."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import glowmcu
from glowmcu.api.verification import verify_bundle
from glowmcu.errors import GlowmcuError
from glowmcu.verify.executors import executor
from glowmcu.verify.verification import check_executor, golden_vectors
from tests.bundle.test_use import selftest_result
from tests.support.onnx_models import run_onnxruntime
from tests.support.open_streams import GROWING, STREAMS, chunk, open_stream, states_of

LARGEST = 16
#: Lengths of the chunks of a stream, the ends among them.
CHUNKS = (16, 1, 2, 1, 1, 3, 7, 16, 5, 1, 9, 15, 4, 8, 16, 2, 6, 11)


def compiled(
    name: str, tmp_path: Path, board: str = "generic", quantized: bool = False,
    sizes: tuple[int, ...] = (1, LARGEST), optimize: str = "balanced",
) -> tuple[glowmcu.Bundle, Path, Path | None]:  # fmt: skip
    """The bundle, its model and its profile."""
    file, profile = tmp_path / f"{name}.onnx", None
    file.write_bytes(open_stream(name))
    if quantized:
        profile = tmp_path / "profile.json"
        samples = np.stack([chunk(name, LARGEST, seed) for seed in range(32)])
        glowmcu.profile(file, {"x": samples}, output=profile, define={"T": LARGEST})
    bundle = glowmcu.compile(
        file, board, tmp_path / "out", name="net", define={"T": sizes}, profile=profile,
        optimize=optimize,
    )  # type: ignore[arg-type] # fmt: skip
    return bundle, file, profile


@pytest.mark.parametrize("optimize", ["balanced", "ram", "speed", "size", "flash"])
@pytest.mark.parametrize("name", STREAMS)
def test_chunks_of_any_length_are_one_stream(name: str, optimize: str, tmp_path: Path) -> None:
    bundle, file, _ = compiled(name, tmp_path, optimize=optimize)
    data, session = file.read_bytes(), bundle.session()
    for _ in range(2):
        states = states_of(name)
        for number, length in enumerate(CHUNKS):
            x = chunk(name, length, number)
            want, *states = run_onnxruntime(data, [x, *states])
            (got,) = session.run([x])
            assert got.shape == want.shape
            np.testing.assert_allclose(got, want, 1e-5, 1e-5)
        session.reset()


def test_lengths_in_steps_are_one_stream(tmp_path: Path) -> None:
    bundle, file, _ = compiled("causal", tmp_path, sizes=(4, 16, 4))
    data, session, states = file.read_bytes(), bundle.session(), states_of("causal")
    for number, length in enumerate((8, 4, 16, 4, 12)):
        x = chunk("causal", length, number)
        want, *states = run_onnxruntime(data, [x, *states])
        np.testing.assert_allclose(session.run([x])[0], want, 1e-5, 1e-5)


@pytest.mark.arm
@pytest.mark.parametrize("name", STREAMS)
def test_a_stream_in_int8_is_the_references_on_its_core(name: str, tmp_path: Path) -> None:
    bundle, file, profile = compiled(name, tmp_path, "nrf52", quantized=True)
    report = verify_bundle(bundle, ["host", "cortex-m"], 24, 1, file, profile=profile)
    assert report.passed, report.checks


@pytest.mark.parametrize("name", STREAMS)
def test_the_self_test_is_a_stream_of_several_sizes(name: str, tmp_path: Path) -> None:
    bundle, _, _ = compiled(name, tmp_path, quantized=True)
    assert selftest_result("net", bundle.path, tmp_path) == 0
    vectors = golden_vectors(bundle.path, bundle.manifest)
    assert len({vector.inputs[0].shape for vector in vectors}) == 3
    host = executor("host", bundle.board)
    assert check_executor(host, bundle.path, bundle.manifest, vectors).passed
    # Begun in the middle, it gives other outputs: the vectors show what is remembered.
    assert not check_executor(host, bundle.path, bundle.manifest, vectors[1:]).passed


def test_a_state_that_is_as_long_as_the_chunk_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "net.onnx"
    file.write_bytes(open_stream(GROWING))
    with pytest.raises(GlowmcuError) as caught:
        glowmcu.compile(file, output=tmp_path / "out", define={"T": (1, 9)})
    problem = caught.value.problems[0]
    assert problem.code == "GM148"
    assert "the state 'cache_in' is 1x8x9 at T=9 and 1x8x1 at T=1" in problem.message
    assert "--state none" in problem.hint
    assert "--define T=9" in problem.hint
    assert not (tmp_path / "out").exists()
    glowmcu.compile(file, output=tmp_path / "out", define={"T": (1, 9)}, states={})
