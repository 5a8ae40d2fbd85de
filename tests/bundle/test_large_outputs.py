"""Large outputs: the self test has digests of them, or samples, and still finds what is wrong."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from glowmcu.compilation import Compilation, Options
from glowmcu.frontend.tflite.writer import ModelBuilder
from glowmcu.ir.interpreter import run_graph
from glowmcu.pipeline import compile_model
from glowmcu.test_vectors import STORED_BYTES, Digest, Sample, crc32_of, expected_outputs
from glowmcu.verify.comparison import difference
from glowmcu.verify.host import Host
from glowmcu.verify.verification import check_executor, golden_vectors
from tests.bundle.test_use import build, run_program, selftest_program
from tests.support.check_model import write_bundle

SIDE = 320  # rows and columns: 100 KiB of int8


def widened(dtype: str) -> bytes:
    """Its input and constants of SIDE elements, added with broadcasting."""
    quantized = (0.5, 1) if dtype == "int8" else ()
    model = ModelBuilder()
    x = model.input("x", (1, SIDE, 1), dtype, *quantized)
    bias = np.arange(SIDE) % 100 - 50
    b = model.constant("b", bias.reshape(1, 1, SIDE).astype(dtype), *quantized)
    y = model.tensor("y", (1, SIDE, SIDE), dtype, *((1.0, 0) if quantized else ()))
    model.op("ADD", [x, b], [y])
    model.output(y)
    return model.finish()


@pytest.fixture(scope="module", params=["int8", "float32"])
def compiled(request: pytest.FixtureRequest) -> Compilation:
    return compile_model(widened(request.param), "m.tflite", Options("m"))


def test_a_large_output_is_not_stored(compiled: Compilation) -> None:
    rows = json.loads(compiled.files["selftest/golden.json"])["vectors"]
    texts = [compiled.files[f"selftest/{file}"] for file in ("golden.json", "m_selftest.c")]
    assert rows
    assert all(len(text) < 12 * STORED_BYTES * len(rows) for text in texts)
    if compiled.manifest.outputs[0].exact:
        assert all(len(text) < 8192 for text in texts)


def test_the_self_test_of_a_large_output_passes_on_the_right_bundle_alone(
    compiled: Compilation, tmp_path: Path
) -> None:
    bundle = write_bundle(compiled, tmp_path / "m")
    program = selftest_program("m", bundle)
    assert build(tmp_path, program, [bundle], ["-Wno-conversion"]).returncode == 0
    assert run_program(tmp_path).returncode == 0
    source = bundle / "selftest" / "m_selftest.c"
    text = source.read_text(encoding="utf-8")
    source.write_text(text.replace("seed >> 28)) * 0.0625f", "seed >> 28)) * 0.0626f")
                      .replace("- 128) >> (seed >> 28))", "- 127) >> (seed >> 28))"))  # fmt: skip
    assert build(tmp_path, program, [bundle], ["-Wno-conversion"]).returncode == 0
    assert run_program(tmp_path).returncode != 0


def test_executors_are_compared_with_what_is_stored(compiled: Compilation, tmp_path: Path) -> None:
    bundle = write_bundle(compiled, tmp_path)
    vectors = golden_vectors(bundle, compiled.manifest)
    assert check_executor(Host(), bundle, compiled.manifest, vectors).passed
    (entry,), (want,) = compiled.manifest.outputs, vectors[0].expected
    assert isinstance(want, Digest if entry.exact else Sample)
    (right,) = run_graph(compiled.imported, vectors[0].inputs)
    assert not difference(right, want, entry)
    every = want.every if isinstance(want, Sample) else 1
    for place in (0, every * 7, (right.size - 1) // every * every):
        wrong = right.copy()
        wrong.reshape(-1)[place] += 1
        assert difference(wrong, want, entry), place


def test_outputs_are_stored_whole_up_to_the_limit() -> None:
    whole = np.arange(STORED_BYTES, dtype=np.int64).astype(np.int8)
    assert expected_outputs([whole], [True])[0] is whole
    more = np.append(whole, np.int8(1))
    assert expected_outputs([more], [True]) == (Digest(crc32_of(more)),)
    (sample,) = expected_outputs([more], [False])
    assert isinstance(sample, Sample)
    assert sample.every == 2
    assert sample.elements.nbytes <= STORED_BYTES
    both = expected_outputs([whole, np.ones(3, np.float32)], [True, False])
    assert isinstance(both[0], Digest)
    assert isinstance(both[1], Sample)


def test_the_digest_is_that_of_the_elements_low_byte_first() -> None:
    array = np.array([1, -2, 300], np.int16)
    assert crc32_of(array) == crc32_of(array.astype(">i2")) == crc32_of(array.view(np.uint8))
