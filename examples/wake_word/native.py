"""Bundles on hours of sound: the generated C, compiled for this computer and called in a loop.

What is trained and measured with is what a board will run. (`bundle.run` gives the same, with far
more work around each invocation.)
"""

from __future__ import annotations

import ctypes
import subprocess
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from glowmcu.bundle import Bundle

_LOOP = """#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include "{name}.h"
int run_all(const uint8_t *in, ptrdiff_t step, ptrdiff_t count, uint8_t *out);
int run_all(const uint8_t *in, ptrdiff_t step, ptrdiff_t count, uint8_t *out)
{{
    static {NAME}_ARENA(arena);
    int status = {name}_reset(arena);
    for (ptrdiff_t i = 0; status == 0 && i < count; ++i) {{
        memcpy({name}_input(arena), in + i * step, {NAME}_INPUT_BYTES);
        status = {name}_run(arena);
        memcpy(out + i * {NAME}_OUTPUT_BYTES, {name}_output(arena), {NAME}_OUTPUT_BYTES);
    }}
    return status;
}}
"""


@dataclass(frozen=True)
class Native:
    """A bundle with states, one input and one int8 output, as a function of a whole stream."""

    library: ctypes.CDLL
    input_bytes: int
    output_length: int

    @staticmethod
    def build(bundle: Bundle) -> Native:
        """Compiles the bundle, beside itself. Raises CalledProcessError where that fails."""
        name, folder = bundle.manifest.name, bundle.path
        loop, library = folder / "run_all.c", (folder / "run_all.so").resolve()
        loop.write_text(_LOOP.format(name=name, NAME=name.upper()), encoding="utf-8")
        sources = [str(loop), str(folder / f"{name}.c"), str(folder / f"{name}_weights.c")]
        command = ["cc", "-std=c99", "-O2", "-shared", "-fPIC", f"-I{folder}", *sources]
        subprocess.run([*command, "-o", str(library)], check=True)
        ((entry,), (result,)) = bundle.manifest.inputs, bundle.manifest.outputs
        size = int(np.prod(entry.shape)) * np.dtype(entry.dtype).itemsize
        return Native(ctypes.CDLL(str(library)), size, int(np.prod(result.shape)))

    def run(self, stream: npt.NDArray[np.integer], step: int) -> npt.NDArray[np.int8]:
        """Outputs of a new stream: each invocation begins `step` elements after the one before."""
        data = np.ascontiguousarray(stream).reshape(-1)
        step_bytes = step * data.itemsize
        count = max(0, (data.nbytes - self.input_bytes) // step_bytes + 1)
        outputs = np.zeros((count, self.output_length), np.int8)
        status = self.library.run_all(
            ctypes.c_void_p(data.ctypes.data), ctypes.c_ssize_t(step_bytes),
            ctypes.c_ssize_t(count), ctypes.c_void_p(outputs.ctypes.data),
        )  # fmt: skip
        assert status == 0, f"a run returned {status}"
        return outputs
