"""This computer running a bundle by the functions that options add: in parts, by two cores, with
weights that were exchanged, told of every step, or with copies of weights that come late.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

from glowmcu.board import Board
from glowmcu.manifest import read_manifest
from glowmcu.verify.cortex_m.two_cores import TwoCores
from glowmcu.verify.host import Host, HostSession
from glowmcu.verify.host_cores import HostCores
from glowmcu.verify.measurement import Array, Measurement
from tests.support.incoherent_caches import IncoherentCaches
from tests.support.quick_host import TCC, QuickHost

#: A DMA that copies at once, and one that copies at the last moment and leaves garbage until then.
PORTS = {
    "early": """
static void begin(int8_t *to, const int8_t *from, int32_t size) { memcpy(to, from, size); }
static void end(int8_t *to, const int8_t *from, int32_t size) { (void)to, (void)from, (void)size; }
""",
    "late": """
static int8_t *to_now; static const int8_t *from_now; static int32_t size_now;
static void begin(int8_t *to, const int8_t *from, int32_t size)
{
    if (size_now != 0 || (uintptr_t)to % 4 || (uintptr_t)from % 4 || size % 4) { return; }
    memset(to, 0xA5, size);
    to_now = to, from_now = from, size_now = size;
}
static void end(int8_t *to, const int8_t *from, int32_t size)
{
    int32_t at, same = (to == to_now && from == from_now && size == size_now);
    for (at = 0; at < size; ++at) { same &= (uint8_t)to[at] == 0xA5; }
    if (same) { memcpy(to, from, size); }
    size_now = 0;
}
""",
}
_OBSERVER = """
typedef struct {
    void (*before)(void *context, const void *step);
    void (*after)(void *context, const void *step);
    void (*tensor)(void *context, const void *step, const void *tensor, const void *data,
        uint32_t first_byte, uint32_t bytes);
    void *context;
} observer;
"""


def port_flags(kind: str, folder: Path) -> tuple[str, ...]:
    """The flags with which a bundle is compiled for a DMA of `PORTS`."""
    header = folder / f"{kind}.h"
    header.write_text(
        "#include <stdint.h>\n#include <string.h>\n#pragma GCC system_header\n"
        f"{PORTS[kind].replace('static void', '__attribute__((unused)) static void')}"
        "#define GLOWMCU_STAGE_BEGIN(to, from, size) begin(to, from, size)\n"
        "#define GLOWMCU_STAGE_END(to, from, size) end(to, from, size)\n"
    )
    return ("-include", str(header))


@dataclass(frozen=True)
class Calls:
    """How a bundle is run beside `NAME_run`.

    `steps` are numbers of steps that calls of `NAME_run_steps` make in turn. `weights` are given to
    `NAME_set_weights` before, if there are any; `code` is then the bundle whose code runs (None:
    the one that is asked for). With `observed` an observer is told of each step.
    """

    steps: tuple[int, ...] = ()
    weights: bytes = b""
    code: Path | None = None
    observed: bool = False

    @property
    def are_plain(self) -> bool:
        """Whether that is `NAME_run` alone."""
        return self == Calls()


class CallingHost(Host):
    """This computer, by `calls`; tcc compiles if `is_quick`."""

    def __init__(
        self, calls: Calls, flags: Sequence[str], pieces: Sequence[int], is_quick: bool
    ) -> None:
        own = QuickHost(pieces).extra_flags if is_quick else ()
        super().__init__((*own, *flags), pieces)
        self._calls, self._is_quick = calls, is_quick
        said = {
            "in steps": calls.steps, "observed": calls.observed, "weights set": calls.weights,
            "by other weights' code": calls.code, "DMA": "-include" in flags,
        }  # fmt: skip
        self.name = ", ".join(["host", *(word for word, given in said.items() if given)])

    def run(self, bundle_dir: Path, inputs: Sequence[Sequence[Array]]) -> list[Measurement]:
        """As `Host.run`."""
        with mock.patch.dict(os.environ, CC=TCC) if self._is_quick else nullcontext():
            return super().run(self._calls.code or bundle_dir, inputs)

    def session(self, bundle_dir: Path) -> HostSession:
        """As `Host.session`."""
        return _CallingSession(bundle_dir, self.extra_flags, self.pieces, self._calls)


class _CallingSession(HostSession):
    def __init__(
        self, bundle_dir: Path, flags: Sequence[str], pieces: Sequence[int], calls: Calls
    ) -> None:
        super().__init__(bundle_dir, flags, pieces)
        self._held: list[Any] = []
        self._told = [0, 0, 0]
        # Without layers there is nothing to be told of, and no function for it.
        self._observed = calls.observed and bool(self._manifest.layers)
        if calls.weights:
            self._exchange(calls.weights)
        if self._observed:
            self._observe()
        if calls.steps:
            self._run_in_steps(calls.steps)

    def measure(self, arrays: Sequence[Array]) -> Measurement:
        """As `HostSession.measure`; who observes is told of each step before and after it."""
        self._told = [0, 0, 0]
        measured = super().measure(arrays)
        before, after, tensors = self._told
        assert before == after, f"told {before} times before a step, {after} times after one"
        assert not self._observed or before, "nobody was told"
        is_told = self._observed and self._manifest.options["instrument"] == "tensors"
        assert not is_told or tensors or not before, "no tensor was shown"
        return measured

    def _exchange(self, weights: bytes) -> None:
        name = self._manifest.name
        self._ffi.cdef(f"int32_t {name}_set_weights(const void *weights, size_t size);")
        memory = np.zeros(len(weights) + 16, np.uint8)
        start = -memory.ctypes.data % 16
        memory[start : start + len(weights)] = np.frombuffer(weights, np.uint8)
        self._held.append(memory)
        place = self._ffi.cast("void *", memory.ctypes.data + start)
        status = getattr(self._loaded, f"{name}_set_weights")(place, len(weights))
        assert status == 0, f"weights of the same layout were refused: {status}"
        assert getattr(self._loaded, f"{name}_check")() == 0, "they are not whole"

    def _observe(self) -> None:
        ffi, name = self._ffi, self._manifest.name
        ffi.cdef(f"{_OBSERVER} void {name}_observe(const observer *who);")

        def told(number: int) -> Any:
            def tell(*_: object) -> None:
                self._told[number] += 1

            return tell

        step = "void(void *, const void *)"
        tensor = "void(void *, const void *, const void *, const void *, uint32_t, uint32_t)"
        calls = [ffi.callback(kind, told(at)) for at, kind in enumerate((step, step, tensor))]
        who = ffi.new("observer *", [*calls, ffi.NULL])
        self._held += [calls, who]
        getattr(self._loaded, f"{name}_observe")(who)

    def _run_in_steps(self, steps: tuple[int, ...]) -> None:
        manifest = self._manifest
        entry = f"{manifest.name}_run_steps{'_from' if manifest.external else ''}"
        outside = ", const void *" * len(manifest.external)
        begin = f"{manifest.name}_begin"
        self._ffi.cdef(f"int32_t {begin}(void *arena);")
        self._ffi.cdef(f"int32_t {entry}(void *arena{outside}, int32_t count);")
        first, more = (getattr(self._loaded, name) for name in (begin, entry))

        def run(arena: Any, *given: Any) -> int:
            status = first(arena)
            assert status == 0, f"{begin} returned {status}"
            left = None
            for count in cycle(steps):
                now = int(more(arena, *given, count))
                assert now >= 0, f"{entry} returned {now}"
                assert left is None or now == max(left - count, 0), f"{left} - {count} is {now}"
                if now == 0:
                    return 0
                left = now
            raise AssertionError("there is no end of counts")

        self._functions = [run]


class SharedCores:
    """Two modelled cores, of which either is ahead; of bundles without states."""

    name = "two cores"

    def __init__(self, board: Board, second_first: bool) -> None:
        self._cores = TwoCores(
            board.core, second_first, clock_hz=board.clock_hz, second=board.second_core
        )

    def missing(self) -> str | None:
        """Nothing that the ordinary model does not lack, too."""
        return None

    def run(self, bundle_dir: Path, inputs: Sequence[Sequence[Array]]) -> list[Measurement]:
        """As an executor."""
        return [Measurement(found.outputs) for found in self._cores.measure(bundle_dir, inputs)]


def cores_apart(board: Board, seed: int) -> list[IncoherentCaches]:
    """Of a board whose cores have caches that do not show what the other one writes."""
    return [] if board.second_core is None else [IncoherentCaches(seed % 3, seed)]


def threads(is_second_first: bool) -> HostCores:
    """Two threads of this computer, or one that takes the second core's turns first."""
    return HostCores(second_first=is_second_first)


def weights_of(bundle_dir: Path) -> bytes:
    """The blob that `NAME_weights.hex` of the bundle holds, as a flashing tool reads it."""
    image, upper = bytearray(), 0
    text = (bundle_dir / f"{read_manifest(bundle_dir).name}_weights.hex").read_text()
    for line in text.splitlines():
        record = bytes.fromhex(line.removeprefix(":"))
        size, address, kind = record[0], int.from_bytes(record[1:3], "big"), record[3]
        if kind == 4:
            upper = int.from_bytes(record[4:6], "big") << 16
        if kind == 0:
            assert len(image) == upper + address, "the blob has no holes"
            image += record[4 : 4 + size]
    return bytes(image)


def have_one_layout(one: bytes, other: bytes) -> bool:
    """Whether weights may be exchanged for one another."""
    return one[4:8] == other[4:8] and len(one) == len(other)
