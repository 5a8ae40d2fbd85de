"""The `host` executor: the bundle compiled by this machine's C compiler, called through cffi."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from glowmcu.errors import GlowmcuError, Problem, error
from glowmcu.manifest import Manifest, SizeEntry, TensorEntry, read_manifest
from glowmcu.verify.host_library import host_library, loaded, missing_compiler
from glowmcu.verify.kept_inputs import expect_kept
from glowmcu.verify.measurement import Array, Measurement
from glowmcu.verify.run_status import expect_done

#: Bytes around the arena that must survive a run.
_GUARD_BYTES = 64
_POISON = 0xA5
#: What a session of `Host` does with cffi's `FFI` and the loaded library before it runs.
Connect = Callable[[Any, Any], object]


class Host:
    """Runs bundles on this computer. It cannot tell instructions, cycles or stack.

    `pieces`: rows of a streamed input that are pushed at a time, the last number again and again;
    without it in one piece. `connect` gets cffi's `FFI` and the loaded library of each session
    before anything is run, and may hand functions of Python to the C (an emulator of a part that
    this computer has not); what it returns is kept as long.
    """

    name = "host"

    def __init__(
        self,
        extra_flags: Sequence[str] = (),
        pieces: Sequence[int] = (),
        connect: Connect | None = None,
    ) -> None:
        self.extra_flags = tuple(extra_flags)
        self.pieces = tuple(pieces)
        self.connect = connect

    def missing(self) -> str | None:
        """What has to be installed, or None."""
        return missing_compiler()

    def run(self, bundle_dir: Path, inputs: Sequence[Sequence[Array]]) -> list[Measurement]:
        """One inference for each entry of `inputs`, of a bundle with states those of one stream.

        Raises GM602, GM603, GM604.
        """
        with self.session(bundle_dir) as session:
            return [session.measure(arrays) for arrays in inputs]

    def session(self, bundle_dir: Path) -> HostSession:
        """A stream of inferences, one at a time. Raises GM602, GM603, GM620."""
        return HostSession(bundle_dir, self.extra_flags, self.pieces, self.connect)


def size_given(manifest: Manifest, arrays: Sequence[Array]) -> tuple[int, ...]:
    """The size that a run with these inputs is given, if any."""
    if manifest.size is None:
        return ()
    return (manifest.size_of([tuple(array.shape) for array in arrays]),)


def check_inputs(manifest: Manifest, arrays: Sequence[Array]) -> None:
    """Raise GM604 unless `arrays` are the model's inputs by count, shape and dtype, at some size
    where a run is given one.
    """
    entries = (
        manifest.at(*size_given(manifest, arrays)).inputs if manifest.size else manifest.inputs
    )
    expected = ", ".join(f"{t.name} {_type_text(t.dtype, t.shape)}" for t in manifest.inputs)
    if len(arrays) != len(manifest.inputs):
        count = len(manifest.inputs)
        raise error(
            "GM604",
            f"the model has {count} input{'s' if count != 1 else ''} ({expected}), "
            f"got {len(arrays) or 'none'}",
            manifest.name,
            "give one --input each, in that order",
        )
    problems = [
        Problem(
            "GM604",
            f"expected {_type_text(entry.dtype, entry.shape)}, "
            f"got {_type_text(str(array.dtype), array.shape)}",
            f"{manifest.name}, input {entry.name!r}",
            input_hint(whole, array, manifest.size),
        )
        for array, entry, whole in zip(arrays, entries, manifest.inputs, strict=True)
        if array.shape != entry.shape or str(array.dtype) != entry.dtype
    ]
    if problems:
        raise GlowmcuError(problems)


def _type_text(dtype: str, shape: Sequence[int]) -> str:
    return f"{dtype}[{'x'.join(map(str, shape))}]"


def input_hint(entry: TensorEntry, array: Array, size: SizeEntry | None = None) -> str:
    """What would make `array` fit, as numpy says it."""
    if str(array.dtype) != entry.dtype and array.dtype.kind == "f" and entry.scale is not None:
        return (
            f"quantize it: numpy.clip(numpy.round(x / {np.float32(entry.scale)!s}) "
            f"{entry.zero_point or 0:+d}, {np.iinfo(entry.dtype).min}, {np.iinfo(entry.dtype).max})"
            f".astype({entry.dtype!r})"
        )
    if str(array.dtype) != entry.dtype:
        return f"convert it: x.astype({entry.dtype!r})"
    if size is not None and entry.shape_forms:
        smallest, largest = (
            _type_text(entry.dtype, entry.at(end).shape) for end in (size.smallest, size.largest)
        )
        steps = f" in steps of {size.step}" if size.step > 1 else ""
        return (
            f"{size.symbol} is {size.smallest} to {size.largest}{steps}, so that shapes are those "
            f"from {smallest} to {largest}"
        )
    if array.size == int(np.prod(entry.shape)):
        return f"the same number of elements: x.reshape({', '.join(map(str, entry.shape))})"
    return "shapes are fixed when a bundle is compiled; its header lists them as a run takes them"


class HostSession:
    """The loaded library and one arena: `Session`."""

    def __init__(
        self,
        bundle_dir: Path,
        extra_flags: Sequence[str] = (),
        pieces: Sequence[int] = (),
        connect: Connect | None = None,
    ) -> None:
        import cffi

        self._ffi: Any = cffi.FFI()
        self._manifest = manifest = read_manifest(bundle_dir)
        self._pieces = pieces
        self._declare()
        # While a session has it, the library's file stays where it has one.
        self._file = host_library(bundle_dir, manifest, extra_flags)
        self._loaded = loaded(self._ffi, self._file)
        self._connected = None if connect is None else connect(self._ffi, self._loaded)
        self._expect_whole()
        self._functions = [getattr(self._loaded, name) for name in manifest.entry_points]
        self._arena = _Arena(manifest)
        self.reset()

    def _declare(self) -> None:
        manifest = self._manifest
        if manifest.streamed_input is None:
            more = ", const void *" * len(manifest.external)
            more += ", int32_t size" if manifest.size is not None else ""
            self._ffi.cdef(f"int32_t {manifest.entry_points[0]}(void *arena{more});")
        else:
            start, push = manifest.entry_points
            self._ffi.cdef(f"void {start}(void *arena);")
            self._ffi.cdef(f"int32_t {push}(void *arena, const void *rows, int32_t count);")
        self._ffi.cdef(f"int32_t {manifest.name}_check(void);")
        if manifest.states:
            self._ffi.cdef(f"int32_t {manifest.reset_function}(void *arena);")

    def __enter__(self) -> HostSession:
        return self

    def __exit__(self, *_: object) -> None:
        self._ffi.dlclose(self._loaded)

    def _expect_whole(self) -> None:
        """Raise GM620 if a constant is not what was compiled; bundles before 0.1.0 cannot
        say.
        """
        manifest = self._manifest
        if manifest.compiler and getattr(self._loaded, f"{manifest.name}_check")() != 0:
            raise error(
                "GM620",
                f"{manifest.name}_check() found a constant that is not what glowmcu wrote",
                manifest.name,
                "were its files edited? compile the model again",
            )

    def reset(self) -> None:
        """Begin a stream."""
        if self._manifest.states:
            reset = getattr(self._loaded, self._manifest.reset_function)
            reset(self._ffi.cast("void *", self._arena.address))

    def measure(self, arrays: Sequence[Array]) -> Measurement:
        """One run in a poisoned arena; inputs outside of it must not change. Raises GM604,
        GM605, GM619.
        """
        given = size_given(self._manifest, arrays)
        manifest, memory = self._manifest.at(*given) if given else self._manifest, self._arena
        check_inputs(self._manifest, arrays)
        memory.poison()
        held, external = memory.bytes, []
        for array, entry in zip(arrays, manifest.inputs, strict=True):
            raw = np.frombuffer(np.ascontiguousarray(array).tobytes(), np.uint8)
            if entry.external:
                external.append((_aligned_copy(raw, entry.outside_align), raw))
            elif entry.rows is None:
                held[entry.start : entry.start + entry.bytes] = raw
        arena = self._ffi.cast("void *", memory.address)
        if manifest.streamed_input is None:
            pointers = (self._ffi.cast("const void *", copy.ctypes.data) for copy, _ in external)
            expect_done(manifest, self._functions[0](arena, *pointers, *given))
        else:
            self._push(arena, arrays[manifest.streamed_input])
        if not memory.is_guarded or any((copy != raw).any() for copy, raw in external):
            where = manifest.name
            raise error("GM605", "the bundle wrote outside its arena", where, "report this bug")
        expect_kept(manifest, arrays, lambda at, count: held[at:][:count].tobytes())
        outputs = tuple(
            np.frombuffer(
                held[entry.start : entry.start + entry.bytes].tobytes(), entry.dtype
            ).reshape(entry.shape)
            for entry in manifest.outputs
        )
        return Measurement(outputs)

    def _push(self, arena: Any, array: Array) -> None:
        """Every row of the streamed input, each piece in memory of its own. Raises GM617, GM619."""
        begin, push = self._functions
        assert self._manifest.streamed_input is not None
        rows = self._manifest.inputs[self._manifest.streamed_input].rows
        assert rows is not None
        data, sizes, place, wanted = array.tobytes(), list(self._pieces), 0, rows.read
        begin(arena)
        while place < rows.count:
            most = rows.count - place
            count = min(most, (sizes.pop(0) if len(sizes) > 1 else sizes[0]) if sizes else most)
            piece = np.frombuffer(data, np.uint8, count * rows.bytes, place * rows.bytes).copy()
            wanted = push(arena, self._ffi.cast("void *", piece.ctypes.data), count)
            place += count
            expect_done(self._manifest, min(wanted, 0))
            if wanted != max(rows.read - place, 0):
                message = f"after {place} of {rows.count} rows the bundle waits for {wanted} more"
                raise error("GM617", message, self._manifest.name, "report this bug")


class _Arena:
    """An arena between two guards. What no state holds is poison before each run."""

    def __init__(self, manifest: Manifest) -> None:
        size, align = manifest.arena_bytes, manifest.arena_align
        self._memory = np.full(size + 2 * _GUARD_BYTES + align, _POISON, np.uint8)
        start = _GUARD_BYTES + (-(self._memory.ctypes.data + _GUARD_BYTES)) % align
        self.bytes: Array = self._memory[start : start + size]
        self._around = [self._memory[:start], self._memory[start + size :]]
        self._states = [
            slice(entry.offset, entry.offset + entry.bytes) for entry in manifest.states
        ]

    @property
    def address(self) -> int:
        """Of the first byte."""
        return int(self.bytes.ctypes.data)

    @property
    def is_guarded(self) -> bool:
        """Whether nothing was written around it."""
        return all((guard == _POISON).all() for guard in self._around)

    def poison(self) -> None:
        """Make what a run must not rely on hurt."""
        kept = [self.bytes[place].copy() for place in self._states]
        self.bytes[:] = _POISON
        for place, data in zip(self._states, kept, strict=True):
            self.bytes[place] = data


def _aligned_copy(raw: Array, align: int) -> Array:
    """The bytes in memory of their own, at such an address."""
    memory = np.empty(raw.size + align, np.uint8)
    start = -memory.ctypes.data % align
    copy: Array = memory[start : start + raw.size]
    copy[:] = raw
    return copy
