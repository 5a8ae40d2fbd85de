"""A bundle is compiled once for this computer, for as long as it stays the same."""

from __future__ import annotations

import multiprocessing
import tempfile
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import glowmcu
from glowmcu.verify import host_library
from glowmcu.verify.host_library import host_compiler

MODEL = Path(__file__).resolve().parents[2] / "examples" / "digits" / "digits_int8.tflite"


@pytest.fixture
def compilations(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file with a line for each time that the C compiler ran."""
    calls, compiler = tmp_path / "calls", tmp_path / "cc"
    calls.touch()
    compiler.write_text(f'#!/bin/sh\necho >> {calls}\nexec {host_compiler()} "$@"\n')
    compiler.chmod(0o755)
    monkeypatch.setenv("CC", str(compiler))
    return calls


def count(compilations: Path) -> int:
    return len(compilations.read_text().splitlines())


def test_a_bundle_that_runs_again_and_again_is_compiled_once(
    tmp_path: Path, compilations: Path
) -> None:
    bundle = glowmcu.compile(MODEL, output=tmp_path / "b", name="digits")
    before = count(compilations)
    entry = bundle.manifest.inputs[0]
    for fill in (-128, 0, 127):
        bundle.run([np.full(entry.shape, fill, entry.dtype)])
    assert count(compilations) == before + 1
    glowmcu.load(bundle.path).run([np.zeros(entry.shape, entry.dtype)])
    assert count(compilations) == before + 1


@pytest.mark.parametrize("file", ["digits.c", "digits.h"])
def test_an_edited_file_is_compiled_anew(tmp_path: Path, compilations: Path, file: str) -> None:
    bundle = glowmcu.compile(MODEL, output=tmp_path / "b", name="digits")
    entry = bundle.manifest.inputs[0]
    zeros = [np.zeros(entry.shape, entry.dtype)]
    bundle.run(zeros)
    before = count(compilations)
    path = bundle.path / file
    path.write_text(path.read_text() + "#error edited\n")
    with pytest.raises(glowmcu.GlowmcuError, match="edited"):
        bundle.run(zeros)
    assert count(compilations) == before + 1


def test_only_so_many_libraries_are_kept(
    tmp_path: Path, compilations: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(host_library, "_KEPT", 1)
    bundles = [glowmcu.compile(MODEL, output=tmp_path / name, name=name) for name in ("one", "two")]
    entry = bundles[0].manifest.inputs[0]
    zeros = [np.zeros(entry.shape, entry.dtype)]
    before = count(compilations)
    for bundle in (*bundles, bundles[1], bundles[0]):
        bundle.run(zeros)
    assert count(compilations) == before + 3


def run_in_a_worker(path: Path) -> list[Path]:
    """Folders of libraries once the bundle has run."""
    bundle = glowmcu.load(path)
    entry = bundle.manifest.inputs[0]
    bundle.run([np.zeros(entry.shape, entry.dtype)])
    return sorted(Path(tempfile.gettempdir()).glob("glowmcu-*/bundle.so"))


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_a_worker_takes_the_libraries_along_that_it_made(
    method: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    ours, theirs = [
        glowmcu.compile(MODEL, output=tmp_path / name, name=name) for name in ("ours", "theirs")
    ]
    (kept,) = run_in_a_worker(ours.path)
    with ProcessPoolExecutor(1, multiprocessing.get_context(method)) as pool:
        assert len(pool.submit(run_in_a_worker, theirs.path).result()) == 2
    assert sorted(tmp_path.glob("glowmcu-*")) == [kept.parent]
