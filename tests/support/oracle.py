"""Other people's interpreters, asked what a model's outputs are.

`tflm` is TensorFlow Lite Micro's own interpreter with reference kernels: the contract of every
int8 operator. `litert_reference` is LiteRT with its reference kernels: a second opinion, and the
first for operators that TFLM does not register (docs/oracles.md). A model that an interpreter
refuses raises `OracleRefused`; both are C++ that can also take the process down, so
`isolated=True` runs them in a process of their own and hands back an `OracleFailure`.
"""

from __future__ import annotations

import os
import struct
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

Arrays = list[npt.NDArray[Any]]
Session = Callable[[Sequence[npt.NDArray[Any]]], Arrays]

FIRST_ARENA_BYTES = 1 << 20
LARGEST_ARENA_BYTES = 1 << 27
TIMEOUT_S = 60.0


class OracleRefused(RuntimeError):
    """The interpreter does not take this model or these inputs, and says why."""


@dataclass(frozen=True)
class OracleFailure:
    """What an isolated run gives instead of outputs; `kind` is refused, crashed or timeout."""

    kind: str
    message: str


def run_tflm(
    model: bytes, inputs: Sequence[npt.NDArray[Any]], *, isolated: bool = False
) -> Arrays | OracleFailure:
    """Outputs in model order, by TFLM as if just loaded. Skips the test where tflite-micro is not
    installed.
    """
    if isolated:
        return _run_isolated("tflm", model, inputs)
    interpreter, run = _last_tflm(model)
    interpreter.reset()
    return run(inputs)


def run_litert_reference(
    model: bytes, inputs: Sequence[npt.NDArray[Any]], *, isolated: bool = False
) -> Arrays | OracleFailure:
    """Outputs in model order, by LiteRT's reference kernels; skips without ai-edge-litert."""
    if isolated:
        return _run_isolated("litert_reference", model, inputs)
    return open_litert_reference(model)(inputs)


def open_tflm(model: bytes) -> Session:
    """A loaded TFLM interpreter, for many inputs of one model."""
    return _load_tflm(model)[1]


def _load_tflm(model: bytes) -> tuple[Any, Session]:
    runtime = _import_or_skip("tflite_micro.python.tflite_micro.runtime", "tflite-micro")
    output_count = _output_count(model)
    interpreter = _grow_arena(model, runtime)

    def run(inputs: Sequence[npt.NDArray[Any]]) -> Arrays:
        try:
            for index, array in enumerate(inputs):
                interpreter.set_input(np.asarray(array, order="C"), index)
            interpreter.invoke()
            return [np.array(interpreter.get_output(index)) for index in range(output_count)]
        except (RuntimeError, ValueError) as cause:
            raise OracleRefused(str(cause)) from cause

    return interpreter, run


#: Loading unpacks the model in Python: a test often asks for one input after the other.
_last_tflm = lru_cache(maxsize=1)(_load_tflm)


def open_litert_reference(model: bytes) -> Session:
    """A loaded LiteRT interpreter with reference kernels, for many inputs of one model."""
    litert = _import_or_skip("ai_edge_litert.interpreter", "ai-edge-litert")
    resolver = litert.OpResolverType.BUILTIN_REF
    try:
        interpreter = litert.Interpreter(
            model_content=model, experimental_op_resolver_type=resolver
        )
        interpreter.allocate_tensors()
    except (RuntimeError, ValueError) as cause:
        raise OracleRefused(str(cause)) from cause

    def run(inputs: Sequence[npt.NDArray[Any]]) -> Arrays:
        try:
            for details, array in zip(interpreter.get_input_details(), inputs, strict=True):
                interpreter.set_tensor(details["index"], np.asarray(array, order="C"))
            interpreter.invoke()
        except (RuntimeError, ValueError) as cause:
            raise OracleRefused(str(cause)) from cause
        return [interpreter.get_tensor(item["index"]) for item in interpreter.get_output_details()]

    return run


def _grow_arena(model: bytes, runtime: Any) -> Any:
    """TFLM needs its arena's size beforehand and tells "too small" and "refused" alike."""
    arena_bytes = FIRST_ARENA_BYTES
    while True:
        try:
            return runtime.Interpreter.from_bytes(model, arena_size=arena_bytes)
        except (RuntimeError, ValueError) as cause:
            if arena_bytes >= LARGEST_ARENA_BYTES:
                raise OracleRefused(str(cause)) from cause
        arena_bytes *= 8


def _output_count(model: bytes) -> int:
    import tflite

    return int(tflite.Model.GetRootAs(model).Subgraphs(0).OutputsLength())


def _import_or_skip(module: str, package: str) -> Any:
    if __name__ == "__main__":
        import importlib

        return importlib.import_module(module)
    import pytest

    return pytest.importorskip(module, reason=f"pip install --pre {package}")


def _run_isolated(
    oracle: str, model: bytes, inputs: Sequence[npt.NDArray[Any]]
) -> Arrays | OracleFailure:
    packages = {"tflm": "tflite_micro", "litert_reference": "ai_edge_litert"}
    _import_or_skip(packages[oracle], packages[oracle].replace("_", "-"))
    with tempfile.TemporaryDirectory() as folder:
        files = Path(folder)
        (files / "model.tflite").write_bytes(model)
        _save(files / "inputs.npz", inputs)
        command = [sys.executable, str(Path(__file__).resolve()), oracle, folder]
        try:
            done = subprocess.run(
                command,
                capture_output=True,
                check=False,
                timeout=TIMEOUT_S,
                env=_child_environment(),
            )
        except subprocess.TimeoutExpired:
            return OracleFailure("timeout", f"no answer within {TIMEOUT_S:.0f} s")
        if done.returncode == 0:
            return _load(files / "outputs.npz")
        kind = "refused" if done.returncode == _REFUSED else "crashed"
        return OracleFailure(kind, _said(done.stderr))


_REFUSED = 3
"""Exit code of the child for a model that the interpreter declined in an orderly way."""


def _said(stderr: bytes) -> str:
    """Every line once: an interpreter that is tried with several arenas repeats itself."""
    lines = (line.strip() for line in stderr.decode(errors="replace").splitlines())
    return "\n".join(dict.fromkeys(line for line in lines if line))


_UNREADABLE = (
    *(struct.error, TypeError, ValueError, IndexError, AttributeError),
    *(OverflowError, MemoryError, RecursionError),
)
"""What the interpreters' Python halves raise for a file that is no model at all."""


def _child_environment() -> dict[str, str]:
    """The child runs this file as a script: the repository is not on its path, nor needed."""
    return {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}


def _save(path: Path, arrays: Sequence[npt.NDArray[Any]]) -> None:
    np.savez(path, **{f"a{index:03d}": array for index, array in enumerate(arrays)})


def _load(path: Path) -> Arrays:
    with np.load(path) as stored:
        return [stored[name] for name in sorted(stored.files)]


def _main(oracle: str, folder: str) -> int:
    files = Path(folder)
    run = {"tflm": run_tflm, "litert_reference": run_litert_reference}[oracle]
    try:
        outputs = run((files / "model.tflite").read_bytes(), _load(files / "inputs.npz"))
    except (OracleRefused, *_UNREADABLE) as refusal:
        print(refusal, file=sys.stderr)
        return _REFUSED
    assert isinstance(outputs, list)
    _save(files / "outputs.npz", outputs)
    return 0


if __name__ == "__main__":
    sys.exit(_main(*sys.argv[1:]))
