"""What TensorFlow Lite Micro's own interpreter allocates for a model, as it says itself."""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

_PROGRAM = """
import sys
from tflite_micro.python.tflite_micro import runtime
for size in (1 << 20, 1 << 23, 1 << 26):
    try:
        interpreter = runtime.Interpreter.from_file(sys.argv[1], arena_size=size)
    except (RuntimeError, ValueError) as cause:
        print(cause, file=sys.stderr)
        continue
    interpreter.print_allocations()
    break
"""
_SAID = re.compile(r"Arena allocation (total|head) (\d+) bytes")


@dataclass(frozen=True)
class TflmArena:
    """`tensors_bytes` are those alive together and scratch; `total_bytes` has the interpreter's
    structures besides, which hold pointers of this computer's size.
    """

    tensors_bytes: int
    total_bytes: int


def tflm_arena(model: bytes) -> TflmArena:
    """Of a model with reference kernels. It prints past Python, so it runs on its own."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.tflite"
        path.write_bytes(model)
        command = [sys.executable, "-c", _PROGRAM, str(path)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    found = dict(_SAID.findall(done.stdout + done.stderr))
    return TflmArena(int(found["head"]), int(found["total"]))
