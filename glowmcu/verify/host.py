"""The `host` executor: the bundle compiled by this machine's C compiler, called through cffi."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from glowmcu.errors import GlowmcuError, Problem, error
from glowmcu.manifest import Manifest, TensorEntry, read_manifest
from glowmcu.verify.host_library import host_compiler, host_library
from glowmcu.verify.kept_inputs import expect_kept
from glowmcu.verify.measurement import Array, Measurement

#: Bytes around the arena that must survive a run.
_GUARD_BYTES = 64
_POISON = 0xA5


class Host:
    """Runs bundles on this computer. It cannot tell instructions, cycles or stack.

    `pieces`: a streamed input is pushed so many rows at a time, the last number again and again;
    without it in one piece.
    """

    name = "host"

    def __init__(self, extra_flags: Sequence[str] = (), pieces: Sequence[int] = ()) -> None:
        self.extra_flags = tuple(extra_flags)
        self.pieces = tuple(pieces)

    def missing(self) -> str | None:
        """What has to be installed, or None."""
        if host_compiler() is None:
            return "a C compiler (Debian: apt-get install gcc), or set CC"
        return None

    def run(self, bundle_dir: Path, inputs: Sequence[Sequence[Array]]) -> list[Measurement]:
        """One inference for each entry of `inputs`. Raises GM602, GM603, GM604."""
        manifest = read_manifest(bundle_dir)
        library = host_library(bundle_dir, manifest, self.extra_flags)
        return _run_library(library.path, manifest, inputs, self.pieces)


def check_inputs(manifest: Manifest, arrays: Sequence[Array]) -> None:
    """Raise GM604 unless `arrays` are the model's inputs by count, shape and dtype."""
    expected = ", ".join(f"{t.name} {_type_text(t.dtype, t.shape)}" for t in manifest.inputs)
    if len(arrays) != len(manifest.inputs):
        count = len(manifest.inputs)
        raise error(
            "GM604",
            f"the model has {count} input{'s' if count != 1 else ''} ({expected}), "
            f"got {len(arrays) or 'none'}",
            manifest.name,
            "give each with an --input of its own, in that order",
        )
    problems = [
        Problem(
            "GM604",
            f"expected {_type_text(entry.dtype, entry.shape)}, "
            f"got {_type_text(str(array.dtype), array.shape)}",
            f"{manifest.name}, input {entry.name!r}",
            _input_hint(entry, array),
        )
        for array, entry in zip(arrays, manifest.inputs, strict=True)
        if array.shape != entry.shape or str(array.dtype) != entry.dtype
    ]
    if problems:
        raise GlowmcuError(problems)


def _type_text(dtype: str, shape: Sequence[int]) -> str:
    return f"{dtype}[{'x'.join(map(str, shape))}]"


def _input_hint(entry: TensorEntry, array: Array) -> str:
    """What would make `array` fit, as numpy says it."""
    if str(array.dtype) != entry.dtype and array.dtype.kind == "f" and entry.scale is not None:
        return (
            f"quantize it: numpy.clip(numpy.round(x / {np.float32(entry.scale)!s}) "
            f"{entry.zero_point or 0:+d}, {np.iinfo(entry.dtype).min}, {np.iinfo(entry.dtype).max})"
            f".astype({entry.dtype!r})"
        )
    if str(array.dtype) != entry.dtype:
        return f"convert it: x.astype({entry.dtype!r})"
    if array.size == int(np.prod(entry.shape)):
        return f"the same number of elements: x.reshape({', '.join(map(str, entry.shape))})"
    return "`glowmcu inspect` of the model shows its inputs; the shape is fixed when it is compiled"


def _run_library(
    library: Path, manifest: Manifest, inputs: Sequence[Sequence[Array]], pieces: Sequence[int]
) -> list[Measurement]:
    import cffi

    ffi: Any = cffi.FFI()
    if manifest.streamed_input is None:
        pointers = ", const void *" * len(manifest.outside)
        ffi.cdef(f"void {manifest.entry_points[0]}(void *arena{pointers});")
    else:
        start, push = manifest.entry_points
        ffi.cdef(f"void {start}(void *arena);")
        ffi.cdef(f"int32_t {push}(void *arena, const void *rows, int32_t count);")
    ffi.cdef(f"int32_t {manifest.name}_check(void);")
    loaded = ffi.dlopen(str(library))
    _expect_whole(loaded, manifest)
    functions = [getattr(loaded, name) for name in manifest.entry_points]
    results = []
    for arrays in inputs:
        check_inputs(manifest, arrays)
        results.append(_infer(ffi, functions, manifest, arrays, pieces))
    ffi.dlclose(loaded)
    return results


def _expect_whole(loaded: Any, manifest: Manifest) -> None:
    """Raise GM620 where a constant is not what was compiled; bundles before 0.1.0 cannot say."""
    if manifest.compiler and getattr(loaded, f"{manifest.name}_check")() != 0:
        raise error(
            "GM620",
            f"{manifest.name}_check() found a constant that is not what glowmcu wrote",
            manifest.name,
            "were its files edited? compile the model again",
        )


def _infer(
    ffi: Any,
    functions: Sequence[Any],
    manifest: Manifest,
    arrays: Sequence[Array],
    pieces: Sequence[int],
) -> Measurement:
    """One run in a poisoned arena between two guards; inputs outside of it must not change."""
    size, align = manifest.arena_bytes, manifest.arena_align
    memory = np.full(size + 2 * _GUARD_BYTES + align, _POISON, np.uint8)
    start = _GUARD_BYTES + (-(memory.ctypes.data + _GUARD_BYTES)) % align
    outside = []
    for array, entry in zip(arrays, manifest.inputs, strict=True):
        raw = np.frombuffer(np.ascontiguousarray(array).tobytes(), np.uint8)
        if entry.outside:
            outside.append((_aligned_copy(raw, entry.outside_align), raw))
        elif entry.rows is None:
            memory[start + entry.start : start + entry.start + entry.bytes] = raw
    arena = ffi.cast("void *", memory.ctypes.data + start)
    if manifest.streamed_input is None:
        functions[0](arena, *(ffi.cast("const void *", copy.ctypes.data) for copy, _ in outside))
    else:
        _push(ffi, functions, arena, manifest, arrays[manifest.streamed_input], pieces)
    around = np.concatenate([memory[:start], memory[start + size :]])
    if (around != _POISON).any() or any((copy != raw).any() for copy, raw in outside):
        raise error("GM605", "the bundle wrote outside its arena", manifest.name, "report this bug")
    expect_kept(manifest, arrays, lambda at, count: memory[start + at :][:count].tobytes())
    outputs = tuple(
        np.frombuffer(
            memory[start + entry.start : start + entry.start + entry.bytes].tobytes(), entry.dtype
        ).reshape(entry.shape)
        for entry in manifest.outputs
    )
    return Measurement(outputs)


def _aligned_copy(raw: Array, align: int) -> Array:
    """The bytes in memory of their own, at such an address."""
    memory = np.empty(raw.size + align, np.uint8)
    start = -memory.ctypes.data % align
    copy: Array = memory[start : start + raw.size]
    copy[:] = raw
    return copy


def _push(
    ffi: Any,
    functions: Sequence[Any],
    arena: Any,
    manifest: Manifest,
    array: Array,
    pieces: Sequence[int],
) -> None:
    """Every row of the streamed input, each piece from memory of its own. Raises GM617."""
    begin, push = functions
    assert manifest.streamed_input is not None
    rows = manifest.inputs[manifest.streamed_input].rows
    assert rows is not None
    data, sizes, place, wanted = array.tobytes(), list(pieces), 0, rows.read
    begin(arena)
    while place < rows.count:
        most = rows.count - place
        count = min(most, (sizes.pop(0) if len(sizes) > 1 else sizes[0]) if sizes else most)
        piece = np.frombuffer(data, np.uint8, count * rows.bytes, place * rows.bytes).copy()
        wanted = push(arena, ffi.cast("void *", piece.ctypes.data), count)
        place += count
        if wanted != max(rows.read - place, 0):
            message = f"after {place} of {rows.count} rows the bundle waits for {wanted} more"
            raise error("GM617", message, manifest.name, "report this bug")
