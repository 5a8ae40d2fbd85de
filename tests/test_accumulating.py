"""What every kernel that takes rows of its operand promises: any split of them, in ascending order,
is the whole, to the byte, with no more of the operand in reach than the rows of the call.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import cffi
import numpy as np
import numpy.typing as npt
import pytest

from glowmcu.compilation import Compilation, Options
from glowmcu.cores import core, core_names
from glowmcu.ir.graph import Node
from glowmcu.ir.interpreter import run_graph
from glowmcu.kernels.kernel import Kernel, Target, load_kernels, site_of
from glowmcu.pipeline import compile_model
from glowmcu.verify.host_library import STRICT_FLAGS, host_compiler
from tests.kernels import test_row_sums
from tests.support.check_model import write_bundle
from tests.support.forced_variant import SANITIZED, compile_forced
from tests.test_contract import computing_node

Array = npt.NDArray[Any]
#: Undefined behaviour ends the process.


def accumulating() -> list[Kernel]:
    """All variants that take rows of their operand."""
    found = {kernel.name: kernel for known in load_kernels().values() for kernel in known}
    return [kernel for _, kernel in sorted(found.items()) if kernel.accumulates]


def accepting(data: bytes) -> list[tuple[Kernel, str]]:
    """Accumulating variants that accept the model's node, each with a core where it does."""
    graph = compile_model(data, "m.tflite", Options("m", simplify=False)).graph
    site = site_of(graph, computing_node(graph))
    return [
        (kernel, name)
        for kernel in accumulating()
        if isinstance(site.node.op, kernel.operations)
        for name in [n for n in core_names() if kernel.accepts(site, Target(core(n)))][:1]
    ]


class PartsOfRows:
    """The kernel of a model's single step: `run(x, out, first, end)` with its own scratch."""

    def __init__(self, compilation: Compilation, folder: Path) -> None:
        write_bundle(compilation, folder)
        node = computing_node(compilation.graph)
        self.code = compilation.selections[node].code
        wrapper = folder / "parts.c"
        wrapper.write_text(_wrapper(compilation.files["m.c"], self.code.function))
        library = folder / "parts.so"
        compiler = host_compiler() or pytest.skip("needs a C compiler")
        sources = [str(wrapper), str(folder / "m_weights.c")]
        flags = [*STRICT_FLAGS, *SANITIZED, "-fPIC", "-shared", f"-I{folder}"]
        subprocess.run([compiler, *flags, *sources, "-o", str(library)], check=True)
        self._ffi: Any = cffi.FFI()
        self._ffi.cdef("void m_part(int8_t *, int8_t *, int8_t *, int32_t, int32_t);")
        self._library = self._ffi.dlopen(str(library))

    def run(self, x: Array, out: Array, scratch: Array, first: int, end: int) -> None:
        arrays = (x, out, scratch)
        pointers = [self._ffi.cast("int8_t *", array.ctypes.data) for array in arrays]
        self._library.m_part(*pointers, first, end)


def _wrapper(text: str, function: str) -> str:
    """`m.c` and one call of its only kernel."""
    (parameters,) = set(re.findall(r"&p_\d+", text))
    head = (
        "void m_part(int8_t *in, int8_t *out, int8_t *scratch, int32_t first_row, int32_t end_row)"
    )
    operands = f"{parameters}, (const void *)in, (void *)out, scratch"
    call = f"{function}({operands}, first_row, end_row);"
    return f"{text}\n{head};\n{head}\n{{\n    {call}\n}}\n"


def splits(rows: int, generator: np.random.Generator) -> list[list[tuple[int, int]]]:
    """Parts: all at once, single rows, and some at random."""
    found = [[0, rows], list(range(rows + 1))]
    for _ in range(3):
        inner = generator.choice(np.arange(1, rows), generator.integers(rows), replace=False)
        found.append([0, *map(int, sorted(inner)), rows])
    return [list(pairwise(edges)) for edges in found]


Prepare = Callable[[bytes, Kernel, str], tuple[Compilation, PartsOfRows]]


@pytest.fixture
def prepare(tmp_path: Path) -> Prepare:
    def prepare(data: bytes, kernel: Kernel, core_name: str) -> tuple[Compilation, PartsOfRows]:
        compilation = compile_forced(data, kernel.name, core_name)
        folder = tmp_path / kernel.name
        folder.mkdir()
        return compilation, PartsOfRows(compilation, folder)

    return prepare


SAMPLES = test_row_sums.samples()


def test_every_accumulating_variant_is_reached() -> None:
    reached = {kernel.name for data in SAMPLES.values() for kernel, _ in accepting(data)}
    assert reached == {kernel.name for kernel in accumulating()} != set()


@pytest.mark.parametrize("data", SAMPLES.values(), ids=SAMPLES)
def test_rows_in_parts_from_above_equal_the_whole(data: bytes, prepare: Prepare) -> None:
    found = accepting(data)
    assert found
    for kernel, core_name in found:
        compilation, parts = prepare(data, kernel, core_name)
        node = computing_node(compilation.graph)
        assert parts.code.accumulates
        assert parts.code.rows == node.inputs[0].type.shape[1]
        assert parts.code.batches == node.inputs[0].type.shape[0]
        generator = np.random.default_rng(5)
        x = _random(node, generator)
        (given,) = compilation.graph.inputs
        (want,) = run_graph(compilation.graph, [x.reshape(given.type.shape)])
        for item, expected in zip(x, np.asarray(want).reshape(len(x), -1), strict=True):
            whole = expected
            if node.output.type.element.is_float:
                whole = _in_parts(parts, item, [(0, len(item))], expected)
                np.testing.assert_allclose(whole, expected, rtol=1e-5, atol=1e-5)
            for ranges in splits(len(item), generator):
                got = _in_parts(parts, item, ranges, whole)
                assert np.array_equal(got, whole), f"{kernel.name}: {ranges}"


def _random(node: Node, generator: np.random.Generator) -> Array:
    type_ = node.inputs[0].type
    if type_.element.is_float:
        return generator.normal(size=type_.shape).astype(np.float32)
    return generator.integers(-128, 128, type_.shape).astype(np.int8)


def _in_parts(
    parts: PartsOfRows, item: Array, ranges: list[tuple[int, int]], expected: Array
) -> Array:
    """The result, with garbage in the scratch, around it and wherever no row of a call is; nothing
    is written before the last call, and neither operand nor what lies behind results ever is.
    """
    generator = np.random.default_rng(7)
    size = parts.code.scratch_bytes
    scratch = np.frombuffer(generator.bytes(size + 8), np.uint8).copy()
    behind = scratch[size:].copy()
    results = np.ascontiguousarray(expected).view(np.int8)
    guarded = np.concatenate([~results, np.full(8, 77, np.int8)])
    before = guarded.copy()
    for first, end in ranges:
        assert np.array_equal(guarded, before), "results before the last call"
        rows = np.ascontiguousarray(item[first:end]).reshape(-1).view(np.int8)
        # At an address that is a multiple of no more than elements need, between other bytes.
        start = 32 + item.itemsize
        place = np.frombuffer(generator.bytes(rows.nbytes + 64), np.int8).copy()
        place[start : start + rows.nbytes] = rows
        kept = place.copy()
        parts.run(place[start:], guarded, scratch, first, end)
        assert np.array_equal(place, kept)
    assert np.array_equal(scratch[size:], behind)
    assert (guarded[len(results) :] == 77).all()
    return guarded[: len(results)].view(expected.dtype)


def test_a_row_left_out_is_noticed(prepare: Prepare) -> None:
    data = test_row_sums.pool_model("AVERAGE_POOL_2D", test_row_sums.POOLS["odd size"])
    ((kernel, core_name),) = accepting(data)
    compilation, parts = prepare(data, kernel, core_name)
    x = np.full(computing_node(compilation.graph).inputs[0].type.shape, 100, np.int8)
    expected = np.full(x.shape[3], 100, np.int8)
    height = x.shape[1]
    assert np.array_equal(_in_parts(parts, x[0], [(0, 1), (1, height)], expected), expected)
    assert (_in_parts(parts, x[0], [(0, 1), (2, height)], expected) < expected).all()
