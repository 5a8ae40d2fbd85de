"""IREE: compiles MLIR's text of a dialect for this computer, and runs it."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from glowmcu.ir.operation import Array
from tests.support.tosa_tools import tool


def run_iree(text: str, dialect: str, inputs: Sequence[Array], tmp_path: Path) -> list[Array]:
    """Results of `main`; `dialect` is `tosa` or `stablehlo`."""
    runtime = pytest.importorskip("iree.runtime", reason="needs iree-base-runtime (extra `test`)")
    source, made = tmp_path / "model.mlir", tmp_path / "model.vmfb"
    source.write_text(text, encoding="utf-8")
    command = [
        tool("iree-compile"), f"--iree-input-type={dialect}", "--iree-hal-target-device=local",
        "--iree-hal-local-target-device-backends=llvm-cpu", "--iree-llvmcpu-target-cpu=generic",
        str(source), "-o", str(made),
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[:2000]
    context = runtime.SystemContext(config=runtime.Config("local-sync"))
    module = runtime.VmModule.copy_buffer(context.instance, made.read_bytes())
    context.add_vm_module(module)
    results = context.modules.module.main(*inputs)
    found = results if isinstance(results, list | tuple) else [results]
    return [np.asarray(result) for result in found]
