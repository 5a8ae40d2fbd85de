"""Kernels that take ranges of rows, as functions that a test hands memory to."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import cffi
import numpy.typing as npt
import pytest

from glowmcu.compilation import Compilation
from glowmcu.ir.graph import Node
from glowmcu.verify.host_library import STRICT_FLAGS, host_compiler
from tests.support.check_model import write_bundle

Array = npt.NDArray[Any]


class RowKernel:
    """A step's kernel, on one batch item: `run(x, out, first, end)`."""

    def __init__(self, ffi: Any, library: Any, number: int) -> None:
        self._ffi, self._function = ffi, getattr(library, f"m_rows_{number}")

    def run(self, x: Array, out: Array, first: int, end: int) -> None:
        pointers = [self._ffi.cast("int8_t *", array.ctypes.data) for array in (x, out)]
        self._function(*pointers, first, end)


def row_kernels(compilation: Compilation, nodes: Sequence[Node], folder: Path) -> list[RowKernel]:
    """The kernel of each of the nodes, in one library."""
    folder.mkdir()
    write_bundle(compilation, folder)
    wrapper, library = folder / "rows.c", folder / "rows.so"
    text, prototypes = _wrapper(compilation, nodes)
    wrapper.write_text(text)
    compiler = host_compiler() or pytest.skip("needs a C compiler")
    sources = [str(wrapper), str(folder / "m_weights.c")]
    flags = [*STRICT_FLAGS, "-O1", "-fPIC", "-shared", f"-I{folder}"]
    subprocess.run([compiler, *flags, *sources, "-o", str(library)], check=True)
    ffi: Any = cffi.FFI()
    ffi.cdef("".join(prototypes))
    loaded = ffi.dlopen(str(library))
    return [RowKernel(ffi, loaded, number) for number in range(len(nodes))]


def _wrapper(compilation: Compilation, nodes: Sequence[Node]) -> tuple[str, list[str]]:
    """`m.c` with a function more for each node: its run of a batch item, on what is handed in."""
    text, prototypes = compilation.files["m.c"], list[str]()
    steps = {run.node: index for index, run in enumerate(compilation.plan.program.runs)}
    checks = r"int32_t m_run\(void \*arena\)\n\{\n.*?GLOWMCU_BAD_ARENA;\n    \}\n"
    (whole,) = re.findall(rf"{checks}(.*?)    return 0;\n\}}\n", text, re.DOTALL)
    bodies = re.split(r"    GLOWMCU_STEP\(\d+\);[^\n]*\n", whole)[1:]
    assert len(bodies) == len(nodes) == len(steps), text
    for number, node in enumerate(nodes):
        code = compilation.selections[node].code
        body, inputs = re.subn(r"\ba \+ AT_IN\d+\b", "in", bodies[steps[node]])
        name = f"m_scratch_{number}"
        body, scratch = re.subn(r"\ba \+ AT_\d+_SCRATCH\b", name, body)
        body, outputs = re.subn(r"\ba \+ AT_\d+_\w+", "out", body)
        body = re.sub(r"b < \d+; \+\+b", "b < 1; ++b", body)
        body, calls = re.subn(rf"\b0,\s+{code.rows}\);", "first_row, end_row);", body)
        assert (inputs, outputs, calls, scratch) == (1, 1, 1, int(code.scratch_bytes > 0)), text
        if scratch:
            text += f"\nstatic GLOWMCU_ALIGNED(4) int8_t {name}[{code.scratch_bytes}];\n"
        arguments = "(int8_t *in, int8_t *out, int32_t first_row, int32_t end_row)"
        prototypes.append(f"void m_rows_{number}{arguments};\n")
        text += f"\n{prototypes[-1]}void m_rows_{number}{arguments}\n{{\n{body}}}\n"
    return text, prototypes
