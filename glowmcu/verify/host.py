"""The `host` executor: the bundle compiled by this machine's C compiler, called through cffi."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from glowmcu.errors import error
from glowmcu.manifest import Manifest, read_manifest
from glowmcu.verify.measurement import Array, Measurement

STRICT_FLAGS = (
    "-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror",
    "-Wconversion", "-Wshadow", "-Wcast-qual",
)  # fmt: skip
#: Bytes around the arena that must survive a run.
_GUARD_BYTES = 64
_POISON = 0xA5


def host_compiler() -> str | None:
    """The C compiler: $CC, else cc, gcc or clang on PATH."""
    candidates = (os.environ.get("CC", ""), "cc", "gcc", "clang")
    return next((found for name in candidates if name and (found := shutil.which(name))), None)


class Host:
    """Runs bundles on this computer. It cannot tell instructions, cycles or stack."""

    name = "host"

    def __init__(self, extra_flags: Sequence[str] = ()) -> None:
        self.extra_flags = tuple(extra_flags)

    def missing(self) -> str | None:
        """What has to be installed, or None."""
        if host_compiler() is None:
            return "a C compiler (Debian: apt-get install gcc), or set CC"
        return None

    def run(self, bundle_dir: Path, inputs: Sequence[Sequence[Array]]) -> list[Measurement]:
        """One inference for each entry of `inputs`. Raises GM602, GM603, GM604."""
        manifest = read_manifest(bundle_dir)
        with tempfile.TemporaryDirectory(prefix="glowmcu-") as work:
            library = _build(bundle_dir, manifest, Path(work) / "bundle.so", self.extra_flags)
            return _run_library(library, manifest, inputs)


def _build(bundle_dir: Path, manifest: Manifest, output: Path, extra: Sequence[str]) -> Path:
    compiler = host_compiler()
    if compiler is None:
        raise error("GM602", "no C compiler found", hint="apt-get install gcc, or set CC")
    sources = [str(bundle_dir / source) for source in manifest.sources]
    command = [compiler, *STRICT_FLAGS, "-O2", "-fPIC", "-shared", *extra, f"-I{bundle_dir}"]
    done = subprocess.run(
        [*command, *sources, "-o", str(output)], capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise error(
            "GM603",
            f"the bundle does not compile on this computer:\n{done.stderr[:2000]}",
            str(bundle_dir),
            "were its files edited? compile the model again",
        )
    return output


def check_inputs(manifest: Manifest, arrays: Sequence[Array]) -> None:
    """Raise GM604 unless `arrays` are the model's inputs by count, shape and dtype."""
    expected = ", ".join(f"{t.name} {t.dtype}{list(t.shape)}" for t in manifest.inputs)
    got = ", ".join(f"{array.dtype}{list(array.shape)}" for array in arrays)
    fits = len(arrays) == len(manifest.inputs) and all(
        array.shape == entry.shape and str(array.dtype) == entry.dtype
        for array, entry in zip(arrays, manifest.inputs, strict=True)
    )
    if not fits:
        raise error(
            "GM604",
            f"inputs do not fit the model: expected {expected}; got {got}",
            manifest.name,
            "pass one array an input, in model order, already quantized where the dtype is int8",
        )


def _run_library(
    library: Path, manifest: Manifest, inputs: Sequence[Sequence[Array]]
) -> list[Measurement]:
    import cffi

    ffi: Any = cffi.FFI()
    ffi.cdef(f"void {manifest.name}_run(void *arena);")
    loaded = ffi.dlopen(str(library))
    run = getattr(loaded, f"{manifest.name}_run")
    results = []
    for arrays in inputs:
        check_inputs(manifest, arrays)
        results.append(_infer(ffi, run, manifest, arrays))
    ffi.dlclose(loaded)
    return results


def _infer(ffi: Any, run: Any, manifest: Manifest, arrays: Sequence[Array]) -> Measurement:
    """One run in a poisoned arena between two guards."""
    size, align = manifest.arena_bytes, manifest.arena_align
    memory = np.full(size + 2 * _GUARD_BYTES + align, _POISON, np.uint8)
    start = _GUARD_BYTES + (-(memory.ctypes.data + _GUARD_BYTES)) % align
    for array, entry in zip(arrays, manifest.inputs, strict=True):
        raw = np.frombuffer(np.ascontiguousarray(array).tobytes(), np.uint8)
        memory[start + entry.offset : start + entry.offset + entry.bytes] = raw
    run(ffi.cast("void *", memory.ctypes.data + start))
    outside = np.concatenate([memory[:start], memory[start + size :]])
    if (outside != _POISON).any():
        raise error("GM605", "the bundle wrote outside its arena", manifest.name, "report this bug")
    outputs = tuple(
        np.frombuffer(
            memory[start + entry.offset : start + entry.offset + entry.bytes].tobytes(), entry.dtype
        ).reshape(entry.shape)
        for entry in manifest.outputs
    )
    return Measurement(outputs)
