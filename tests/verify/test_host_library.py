"""A bundle is compiled once for this computer, for as long as it stays the same."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import glowmcu
from glowmcu.verify import host_library
from glowmcu.verify.host_library import host_compiler

REPO = Path(__file__).resolve().parents[2]
MODEL = REPO / "examples" / "digits" / "digits_int8.tflite"


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


#: Runs a bundle, says what is in TMPDIR, and is killed before it could tidy up.
KILLED = """
import os, signal, sys, tempfile
import numpy as np, glowmcu
bundle = glowmcu.load(sys.argv[1])
entry = bundle.manifest.inputs[0]
for _ in range(2):
    bundle.run([np.zeros(entry.shape, entry.dtype)])
print(os.listdir(tempfile.gettempdir()), flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.skipif(os.name == "nt", reason="Windows keeps what is loaded")
def test_a_process_that_is_killed_leaves_no_library(tmp_path: Path) -> None:
    bundle = glowmcu.compile(MODEL, output=tmp_path / "b", name="digits")
    (tmp_path / "temporary").mkdir()
    done = subprocess.run(
        [sys.executable, "-c", KILLED, str(bundle.path)],
        cwd=REPO, env={**os.environ, "TMPDIR": str(tmp_path / "temporary")},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == -9
    assert done.stdout == "[]\n"


def run_in_a_worker(path: Path) -> None:
    bundle = glowmcu.load(path)
    entry = bundle.manifest.inputs[0]
    bundle.run([np.zeros(entry.shape, entry.dtype)])


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_a_worker_leaves_no_library(
    method: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    ours, theirs = [
        glowmcu.compile(MODEL, output=tmp_path / name, name=name) for name in ("ours", "theirs")
    ]
    run_in_a_worker(ours.path)
    with ProcessPoolExecutor(1, multiprocessing.get_context(method)) as pool:
        for path in (theirs.path, ours.path):
            pool.submit(run_in_a_worker, path).result()
    run_in_a_worker(ours.path)
    assert not list(tmp_path.glob("glowmcu-*"))
