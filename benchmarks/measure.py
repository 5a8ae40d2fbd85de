"""One row a model and target: what compiling and running came to."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

import glowmcu
from benchmarks.models import Model, Target
from glowmcu.ir.interpreter import run_graph
from glowmcu.pipeline import reference_graph
from glowmcu.verify.verification import random_inputs, seeded_inputs


@dataclass(frozen=True)
class Row:
    """Bytes, instructions and cycles. `cycles` is None where the executor models none."""

    model: str
    core: str
    board: str
    instructions: int
    cycles: int | None
    stack_bytes: int
    arena_bytes: int
    arena_lower_bound_bytes: int
    arena_optimal: bool
    code_bytes: int
    weights_bytes: int
    macs: int

    def to_json(self) -> dict[str, object]:
        """For results.json."""
        return asdict(self)


@dataclass(frozen=True)
class Equality:
    """Outputs compared in every byte: generated C on this computer, Python meaning, oracle."""

    model: str
    oracle: str
    inputs: int
    python_inputs: int
    different: int


def measure(
    model: Model,
    target: Target,
    folder: Path,
    goal: str = "balanced",
    simplify: bool = True,
    way: str = "",
) -> Row:
    """Compile for the target's board and run one inference on its executor.

    `way`: "streamed" with the input pushed row by row, in one piece; "outside" the arena.
    """
    inputs = (model.input_of_rows,)
    bundle = glowmcu.compile(
        model.path, board=target.board, output=folder / model.name, name=model.name, optimize=goal,
        simplify=simplify, stream_inputs=inputs if way == "streamed" else (),
        outside_inputs=inputs if way == "outside" else (),
    )  # fmt: skip
    arrays = seeded_inputs(bundle.manifest, 1)
    found = bundle.measure(arrays, on=target.executor)
    report = bundle.report
    host = bundle.run(arrays)
    same = all(a.tobytes() == b.tobytes() for a, b in zip(found.outputs, host, strict=True))
    assert same, f"{model.name} on {target.core} differs from the host"
    assert found.instructions is not None
    assert found.stack_bytes is not None
    assert report.code_bytes is not None
    return Row(
        model.name, target.core, target.board, found.instructions, found.cycles,
        found.stack_bytes, report.arena_bytes, report.arena_lower_bound_bytes,
        report.arena_optimal, report.code_bytes, report.weights_bytes, report.macs,
    )  # fmt: skip


def compile_seconds(model: Model) -> float:
    """`compile_model` in a new interpreter, its start included, without any C compiler."""
    program = (
        "import sys; from pathlib import Path; from glowmcu.pipeline import Options, compile_model;"
        "path, options = Path(sys.argv[1]), Options('m', core='cortex-m4');"
        "compile_model(path.read_bytes(), path.name, options)"
    )
    seconds = []
    for _ in range(3):
        start = time.perf_counter()
        subprocess.run([sys.executable, "-c", program, str(model.path)], check=True)
        seconds.append(time.perf_counter() - start)
    return min(seconds)


#: The Python meaning is slower than C, so it sees fewer of the inputs.
_PYTHON_INPUTS = 10


def check_equality(model: Model, seed: int = 7) -> Equality:
    """Random inputs, and inputs of only -128, only 127 and only the zero point, against TFLM."""
    from tests.support.oracle import open_tflm

    data = model.path.read_bytes()
    with tempfile.TemporaryDirectory() as work:
        bundle = glowmcu.compile(model.path, output=Path(work) / "b", name=model.name)
        inputs = [
            list(item) for item in random_inputs(bundle.manifest, model.equality_inputs, seed)
        ]
        entries = bundle.manifest.inputs
        for fill in (-128, 127, None):
            inputs.append(
                [np.full(e.shape, e.zero_point if fill is None else fill, e.dtype) for e in entries]
            )
        results = bundle.measure_all(inputs, on="host")
    oracle, graph = open_tflm(data), reference_graph(data, model.path.name)
    different = 0
    for number, (arrays, result) in enumerate(zip(inputs, results, strict=True)):
        wanted = [item.tobytes() for item in oracle(arrays)]
        different += [item.tobytes() for item in result.outputs] != wanted
        if number % len(inputs) < _PYTHON_INPUTS or number >= model.equality_inputs:
            different += [item.tobytes() for item in run_graph(graph, arrays)] != wanted
    return Equality(
        model.name, "tflite-micro", len(inputs), min(_PYTHON_INPUTS + 3, len(inputs)), different
    )
