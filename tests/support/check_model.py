"""One call that proves a model right: Python meaning == generated C == oracle.

In every byte, but for outputs that are computed in float: those within a tolerance.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from glowmcu.compilation import Compilation, Options
from glowmcu.ir.exactness import exact_outputs, rounded_outputs
from glowmcu.ir.interpreter import run_graph
from glowmcu.ir.types import TensorType
from glowmcu.lowering.passes import lower
from glowmcu.pipeline import compile_model
from glowmcu.test_vectors import FLOAT_TOLERANCE
from glowmcu.verify.comparison import wrong_elements
from tests.support.one_unit import write_unit
from tests.support.quick_host import host_for

Array = npt.NDArray[Any]
Oracle = Callable[[bytes, Sequence[Array]], list[Array]]


def write_bundle(compilation: Compilation, folder: Path) -> Path:
    """The compilation's files in `folder`."""
    for name, text in compilation.files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder


def random_inputs(compilation: Compilation, count: int, seed: int = 0) -> list[list[Array]]:
    """`count` random input sets, then all lowest, all highest and all at the zero point."""
    return random_sets([value.type for value in compilation.imported.arguments], count, seed)


def random_sets(types: Sequence[TensorType], count: int, seed: int = 0) -> list[list[Array]]:
    """As `random_inputs`, for arguments of these types."""
    generator = np.random.default_rng(seed)
    sets: list[list[Array]] = []
    for _ in range(count):
        sets.append([_random(generator, type_) for type_ in types])
    integer = [type_ for type_ in types if not type_.element.is_float]
    if len(integer) == len(types):
        for pick in (0, 1):
            sets.append([np.full(t.shape, t.element.limits[pick], t.element.numpy) for t in types])
        if all(type_.quantization is not None for type_ in types):
            sets.append([np.full(t.shape, t.zero_point, t.element.numpy) for t in types])
    return sets


def _random(generator: np.random.Generator, type_: Any) -> Array:
    if type_.element.is_float:
        return generator.normal(0, 2, type_.shape).astype(np.float32)
    low, high = type_.element.limits
    if type_.element.numpy == np.uint64:
        return generator.integers(0, high, type_.shape, np.uint64, endpoint=True)
    return generator.integers(low, high + 1, type_.shape).astype(type_.element.numpy)


def check_model(
    data: bytes,
    inputs: Sequence[Sequence[Array]] | None = None,
    oracle: Oracle | None = None,
    options: Options | None = None,
    count: int = 3,
    rtol: float = FLOAT_TOLERANCE,
    atol: float = 0.0,
) -> Compilation:
    """Compile `data` (TFLite or ONNX); compare the imported graph, the lowered graph (simplified or
    not), the C and the oracle.

    Without `options` the C computes all channels: a layer that saturates is to be tested, too.
    Outputs computed in float may be off by `atol` and `rtol` of their largest magnitude.
    """
    name = "model.tflite" if data[4:8] == b"TFL3" else "model.onnx"
    compilation = compile_model(data, name, options or Options("m", simplify=False))
    simplified = lower(compilation.imported)
    graph = compilation.imported
    exact = [
        found or not (is_rounded or value.type.element.is_float)
        for found, is_rounded, value in zip(
            exact_outputs(graph), rounded_outputs(graph), graph.results, strict=True
        )
    ]
    sets = inputs if inputs is not None else random_inputs(compilation, count)
    with tempfile.TemporaryDirectory() as work:
        folder = write_unit(compilation, Path(work))
        measured = host_for(data).run(folder, sets)
    for arrays, result in zip(sets, measured, strict=True):
        meaning = run_graph(compilation.imported, arrays)
        lowered = run_graph(compilation.graph, arrays)
        simple = run_graph(simplified, arrays)
        wanted = oracle(data, arrays) if oracle else meaning
        for index, want in enumerate(wanted):
            for got, what in (
                (meaning[index], "Python meaning against oracle"),
                (lowered[index], "lowered graph against meaning"),
                (simple[index], "simplified graph against meaning"),
                (result.outputs[index], "C against meaning"),
            ):
                expect_close(got, want, f"output {index}: {what}", exact[index], rtol, atol)
    return compilation


def expect_equal(got: Array, want: Array, what: str) -> None:
    """AssertionError with the first differences unless shape, dtype and every bit agree."""
    expect_close(got, want, what, exact=True)


def expect_close(
    got: Array,
    want: Array,
    what: str,
    exact: bool = False,
    rtol: float = FLOAT_TOLERANCE,
    atol: float = 0.0,
) -> None:
    """As `expect_equal`, but floats that are near (see `glowmcu/verify/comparison.py`) will do."""
    assert got.dtype == want.dtype, f"{what}: {got.dtype}, expected {want.dtype}"
    assert got.shape == want.shape, f"{what}: {got.shape}, expected {want.shape}"
    if got.tobytes() == want.tobytes():
        return
    differs = wrong_elements(np.atleast_1d(got), np.atleast_1d(want), exact, rtol, atol)
    if not differs.any():
        return
    wrong = np.argwhere(differs)
    first = [tuple(map(int, place)) for place in wrong[:5]]
    samples = ", ".join(
        f"{place}: {np.atleast_1d(got)[place]} != {np.atleast_1d(want)[place]}" for place in first
    )
    raise AssertionError(f"{what}: {len(wrong)} of {got.size} differ; {samples}")
