"""The TOSA project's own tools: MLIR's verifier and serializer, and the reference model.

The package `tosa-tools` wants an older NumPy than this project's tests, so that it has an
environment of its own: `.venv/tosa-tools` (scripts/setup.sh), or what GLOWMCU_TOSA_TOOLS names.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from glowmcu.ir.operation import Array

_TARGET = "profiles=pro_int extensions=doubleround specification_version=1.0 level=8k"
_RUN = """
import sys
import numpy as np
from tosa_reference_model import run
_, program, given, made = sys.argv
arrays = np.load(given)
inputs = [arrays[name] for name in sorted(arrays)]
results, status = run(open(program, "rb").read(), inputs, tosa_level="EIGHTK")
assert "TOSA_VALID" in str(status), status
np.savez(made, **{f"o{number:03}": result for number, result in enumerate(results)})
"""


def _folder() -> Path:
    named = os.environ.get("GLOWMCU_TOSA_TOOLS")
    beside = Path(sys.executable).parent.parent / "tosa-tools"
    found = shutil.which("tosa-opt")
    for folder in (*([Path(named)] if named else []), beside):
        if (folder / "bin" / "tosa-opt").exists():
            return folder / "bin"
    if found is None:
        pytest.skip("needs the package tosa-tools, in .venv/tosa-tools (scripts/setup.sh)")
    return Path(found).parent


def tool(name: str) -> str:
    """`tosa-opt`, or MLIR's reader of another package beside this Python."""
    if name.startswith("tosa"):
        return str(_folder() / name)
    beside = Path(sys.executable).with_name(name)
    found = str(beside) if beside.exists() else shutil.which(name)
    if found is None:
        pytest.skip(f"needs {name} (extra `test`)")
    return found


def validated(text: str, tmp_path: Path) -> Path:
    """The function as TOSA's flatbuffer: its text was parsed, verified, and found to be of TOSA
    1.0's integer profile.
    """
    source, made = tmp_path / "model.mlir", tmp_path / "model.tosa"
    source.write_text(text, encoding="utf-8")
    command = [
        str(_folder() / "tosa-opt"), f"--tosa-attach-target={_TARGET}",
        "--tosa-validate=strict-op-spec-alignment", "--tosa-serialize",
        f"--tosa-flatbuffer-filename={made}", str(source),
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[:2000]
    return made


def run_reference(
    text: str, inputs: Sequence[Array], like: Sequence[Array], tmp_path: Path
) -> list[Array]:
    """Results of TOSA's reference model, with the types of `like`."""
    program = validated(text, tmp_path)
    given, made = tmp_path / "given.npz", tmp_path / "made.npz"
    # TOSA's bytes have no sign of their own.
    bytes_ = [array.view(np.int8) if array.dtype == np.uint8 else array for array in inputs]
    np.savez(given, **{f"i{number:03}": array for number, array in enumerate(bytes_)})
    command = [str(_folder() / "python"), "-c", _RUN, str(program), str(given), str(made)]
    # This package's own modules would be found before those of the other environment.
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, (done.stdout + done.stderr)[-2000:]
    arrays = np.load(made)
    results = [arrays[name] for name in sorted(arrays)]
    return [
        np.frombuffer(result.tobytes(), want.dtype).reshape(want.shape)
        for result, want in zip(results, like, strict=True)
    ]
