"""Layers whose operands and results lie wherever a test wants them."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import cffi
import numpy as np
import numpy.typing as npt
import pytest

from glowmcu.compilation import Compilation
from glowmcu.emit_c.bundle_facts import BundleFacts
from glowmcu.emit_c.bundle_files import bundle_files
from glowmcu.ir.kernel_code import KernelCode
from glowmcu.ir.program import ARENA_ALIGN, Buffer, aligned
from glowmcu.memplan.build_program import build_program
from glowmcu.memplan.instructions import insert_lifetimes
from glowmcu.verify.host_library import STRICT_FLAGS, host_compiler
from tests.support.one_unit import QUICK_LINK

Array = npt.NDArray[Any]


class PlacedLayer:
    """The only layer of a compilation, before memory planning."""

    def __init__(self, compilation: Compilation) -> None:
        self._compilation = compilation
        self.program = insert_lifetimes(build_program(compilation.graph, compilation.selections))
        (self.run,) = self.program.runs

    @classmethod
    def all_of(cls, compilation: Compilation) -> list[PlacedLayer]:
        """The layers of a compilation, of one program: by the result that each makes, in order."""
        program = insert_lifetimes(build_program(compilation.graph, compilation.selections))
        found: dict[Buffer, PlacedLayer] = {}
        for run in program.runs:
            layer = cls.__new__(cls)
            layer._compilation, layer.program, layer.run = compilation, program, run
            found[layer.result] = layer
        return [found.pop(program.root(output)[0]) for output in program.outputs]

    @property
    def code(self) -> KernelCode:
        return self._compilation.selections[self.run.node].code

    def operand(self, position: int) -> Buffer:
        return self._root(self.run.inputs[self.run.positions.index(position)])

    @property
    def result(self) -> Buffer:
        return self._root(self.run.outputs[0])

    def _root(self, buffer: Buffer) -> Buffer:
        root, inner = self.program.root(buffer)
        assert inner == 0
        return root

    def places(self, position: int | None = None, distance: int = 0) -> dict[Buffer, int]:
        """All buffers apart, those of other layers as well; but the operand `distance` bytes behind
        the result's start.
        """
        offsets: dict[Buffer, int] = {}
        end = 0
        if position is not None:
            operand = self.operand(position)
            offsets[operand] = max(distance, 0)
            offsets[self.result] = max(-distance, 0)
            end = max(at + buffer.size_bytes for buffer, at in offsets.items())
        for buffer in self.program.lives:
            if buffer not in offsets:
                offsets[buffer] = aligned(end, ARENA_ALIGN)
                end = offsets[buffer] + max(buffer.size_bytes, 1)
        return offsets

    def files(self, offsets: Mapping[Buffer, int]) -> Mapping[str, str]:
        """A bundle with these offsets, which nobody has verified."""
        arena = max(at + buffer.size_bytes for buffer, at in offsets.items())
        facts = BundleFacts(
            name="m",
            tool_version="",
            model_file="m.tflite",
            model_sha256="",
            board="generic",
            options={},
            arena_bytes=aligned(arena, ARENA_ALIGN),
            arena_lower_bound_bytes=0,
            arena_align=ARENA_ALIGN,
            rounding="double",
            exact_outputs=(True,) * len(self._compilation.graph.results),
            rounded_outputs=(False,) * len(self._compilation.graph.results),
        )
        program = self.program.with_offsets(offsets)
        files, _ = bundle_files(program, self._compilation.selections, facts)
        return files


class HostLayer:
    """A placed layer, and those beside it, as a library whose offsets are variables: `run` on an
    arena of its own.
    """

    def __init__(self, layer: PlacedLayer, folder: Path) -> None:
        self._layer = layer
        apart = layer.places()
        files = layer.files(apart)
        folder.mkdir(parents=True)
        for name, text in files.items():
            if "/" not in name:
                (folder / name).write_text(text, encoding="utf-8")
        (folder / "m.c").write_text(_with_variable_places(files["m.c"]), encoding="utf-8")
        library = folder / "m.so"
        compiler = host_compiler() or pytest.skip("needs a C compiler")
        sources = [str(folder / "m.c"), str(folder / "m_weights.c")]
        # Arrays overlap on purpose: what the compiler may assume of them is part of the test.
        flags = [*STRICT_FLAGS, "-O2", "-fPIC", "-shared", *QUICK_LINK, f"-I{folder}"]
        subprocess.run([compiler, *flags, *sources, "-o", str(library)], check=True)
        self._ffi: Any = cffi.FFI()
        self._ffi.cdef("extern int32_t m_places[]; int32_t m_run(void *arena);")
        self._library = self._ffi.dlopen(str(library))
        places = re.findall(r"^    AT_\w+ = (\d+),?$", files["m.c"], re.MULTILINE)
        by_offset = {offset: buffer for buffer, offset in apart.items()}
        self._buffers = [by_offset[int(place)] for place in places]

    def run(
        self,
        inputs: Mapping[Buffer, Array],
        offsets: Mapping[Buffer, int],
        result: Buffer | None = None,
    ) -> bytes:
        """The bytes of the layer's result, or of another's, with the buffers at `offsets`; inputs
        that are not given are anything.
        """
        result = result or self._layer.result
        size = max(at + buffer.size_bytes for buffer, at in offsets.items())
        arena = np.random.default_rng(7).integers(0, 256, size, np.uint8)
        for buffer, data in inputs.items():
            at = offsets[buffer]
            arena[at : at + buffer.size_bytes] = (
                np.ascontiguousarray(data).reshape(-1).view(np.uint8)
            )
        for index, buffer in enumerate(self._buffers):
            self._library.m_places[index] = offsets[buffer]
        self._library.m_run(self._ffi.cast("void *", arena.ctypes.data))
        start = offsets[result]
        return arena[start : start + result.size_bytes].tobytes()


def _with_variable_places(text: str) -> str:
    """`m.c` with an array `m_places` for the offsets of its buffers."""
    names = re.findall(r"^    (AT_\w+) = \d+,?$", text, re.MULTILINE)
    defines = [f"#define {name} m_places[{index}]" for index, name in enumerate(names)]
    text = re.sub(r"^GLOWMCU_STATIC_ASSERT\(\s*AT_[^;]*;\n", "", text, flags=re.MULTILINE)
    variables = f"extern int32_t m_places[];\nint32_t m_places[{len(defines)}];"
    replaced, count = re.subn(
        r"^enum \{[^}]*AT_[^}]*\};\n",
        "\n".join([variables, *defines, ""]),
        text,
        flags=re.MULTILINE,
    )
    assert count == 1, text
    return replaced
