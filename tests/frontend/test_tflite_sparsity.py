"""Sparse weights of `.tflite` files: LiteRT's own converter writes them, its kernels run them."""

from __future__ import annotations

import itertools
import re
from typing import Any

import numpy as np
import pytest

from glowmcu.errors import GlowmcuError
from glowmcu.frontend.tflite import container, sparsity
from glowmcu.frontend.tflite.sparsity import Level, Places, _integers, _vector, dense, densified
from glowmcu.frontend.tflite.writer import ModelBuilder
from glowmcu.ir.interpreter import Session
from glowmcu.pipeline import reference_graph
from tests.support.oracle import run_litert_reference

converter = pytest.importorskip(
    "ai_edge_litert.format_converter_wrapper_pybind11", reason="pip install ai-edge-litert"
)
schema = pytest.importorskip("ai_edge_litert.schema_py_generated", reason="ai-edge-litert")
DENSE, SPARSE = 0, 1


def drawn(shape: tuple[int, ...], seed: int = 0) -> Any:
    """A third of it is not zero."""
    draw = np.random.default_rng(seed)
    return np.where(draw.random(shape) < 1 / 3, draw.normal(size=shape), 0).astype(np.float32)


def sparse(
    data: Any, order: list[int], formats: list[int], sizes: list[int], blocks: list[int]
) -> tuple[Any, list[Level]]:
    """Values and levels as LiteRT's converter stores `data`; formats are by axis."""
    kinds = converter.TfLiteDimensionType
    kinds = [kinds.TF_LITE_DIM_SPARSE_CSR if each else kinds.TF_LITE_DIM_DENSE for each in formats]
    stored = converter.FormatConverterFp32(list(data.shape), order, kinds, sizes, blocks)
    stored.DenseToSparse(data)
    lists = stored.GetDimMetadata()
    all_formats = [*formats, *[DENSE] * len(sizes)]
    levels = [
        Places(*(np.array(lists[2 * at + each], np.int64) for each in range(2)))
        if is_sparse
        else lists[2 * at][0]
        for at, is_sparse in enumerate(all_formats[axis] for axis in order)
    ]
    return np.array(stored.GetData(), np.float32), levels


CASES = {
    **{
        f"{order}, {formats}": ((4, 3, 5), list(order), list(formats), [], [])
        for order in itertools.permutations(range(3))
        for formats in itertools.product((DENSE, SPARSE), repeat=3)
    },
    "blocks of 2 x 4": ((6, 8), [0, 1, 2, 3], [DENSE, SPARSE], [2, 4], [0, 1]),
    "blocks of columns": ((6, 8), [0, 1, 2], [DENSE, SPARSE], [4], [1]),
    "blocks of another order": ((6, 8), [1, 0, 3, 2], [DENSE, SPARSE], [2, 4], [0, 1]),
    "a vector": ((9,), [0], [SPARSE], [], []),
}


@pytest.mark.parametrize(
    ("shape", "order", "formats", "sizes", "blocks"), CASES.values(), ids=CASES
)
def test_what_litert_s_converter_stores_is_read(
    shape: tuple[int, ...],
    order: list[int],
    formats: list[int],
    sizes: list[int],
    blocks: list[int],
) -> None:
    data = drawn(shape)
    values, levels = sparse(data, order, formats, sizes, blocks)
    assert np.array_equal(densified(values, shape, order, blocks, levels), data)


def model(weights: Any, order: list[int], formats: list[int], through_densify: bool) -> bytes:
    """A fully connected layer with these weights; the file has no zeros of them."""
    builder = ModelBuilder()
    x = builder.input("x", (1, weights.shape[1]), "float32")
    w = builder.constant("w", weights)
    y = builder.tensor("y", (1, weights.shape[0]), "float32")
    builder.op("FULLY_CONNECTED", [x, w, None], [y])
    builder.output(y)
    tables = schema.ModelT.InitFromObj(schema.Model.GetRootAs(builder.finish(), 0))
    graph = tables.subgraphs[0]
    index = next(i for i, tensor in enumerate(graph.tensors) if tensor.name == b"w")
    values, levels = sparse(weights, order, formats, [], [])
    stored = graph.tensors[index]
    tables.buffers[stored.buffer].data = np.frombuffer(values.tobytes(), np.uint8)
    stored.sparsity = schema.SparsityParametersT()
    stored.sparsity.traversalOrder = order
    stored.sparsity.blockMap = []
    stored.sparsity.dimMetadata = [metadata(level) for level in levels]
    if through_densify:
        made = schema.TensorT()
        made.name, made.shape, made.type = b"dense", list(weights.shape), stored.type
        graph.tensors.append(made)
        code = schema.OperatorCodeT()
        code.builtinCode = code.deprecatedBuiltinCode = schema.BuiltinOperator.DENSIFY
        tables.operatorCodes.append(code)
        densify = schema.OperatorT()
        densify.opcodeIndex = len(tables.operatorCodes) - 1
        densify.inputs, densify.outputs = [index], [len(graph.tensors) - 1]
        densify.builtinOptionsType = schema.BuiltinOptions.DensifyOptions
        densify.builtinOptions = schema.DensifyOptionsT()
        first, _, *others = graph.operators[0].inputs
        graph.operators[0].inputs = [first, len(graph.tensors) - 1, *others]
        graph.operators.insert(0, densify)
    flatbuffers = pytest.importorskip("flatbuffers")
    packed = flatbuffers.Builder(0)
    packed.Finish(tables.Pack(packed), b"TFL3")
    return bytes(packed.Output())


def metadata(level: Level) -> Any:
    """In the smallest vectors: of bytes, halves and words all are in use."""
    made = schema.DimensionMetadataT()
    if isinstance(level, int):
        made.format, made.denseSize = DENSE, level
        return made
    made.format = SPARSE
    kinds = schema.SparseIndexVector
    made.arraySegmentsType, made.arraySegments = kinds.Uint16Vector, schema.Uint16VectorT()
    made.arrayIndicesType, made.arrayIndices = kinds.Uint8Vector, schema.Uint8VectorT()
    made.arraySegments.values = level.segments.astype(np.uint16)
    made.arrayIndices.values = level.indices.astype(np.uint8)
    return made


@pytest.mark.parametrize("through_densify", [True, False])
def test_a_layer_of_sparse_weights_equals_litert(through_densify: bool) -> None:
    data = model(drawn((8, 16)), [0, 1], [DENSE, SPARSE], through_densify)
    x = np.random.default_rng(1).normal(size=(1, 16)).astype(np.float32)
    (ours,) = Session(reference_graph(data, "m.tflite")).run([x])
    oracle = data if through_densify else model(drawn((8, 16)), [0, 1], [DENSE, SPARSE], True)
    theirs = run_litert_reference(oracle, [x])
    assert np.allclose(ours, theirs[0], 1e-6, 1e-6)


ROWS = Places(np.array([0, 2, 3]), np.array([0, 2, 1]))
_ORDER, _FOLLOW = (
    "a sparse tensor of rank 2 goes through ",
    "the rows of a sparse tensor do not follow",
)
_BEYOND, _AXIS = (
    "a row of a sparse tensor lies beyond",
    "a sparse tensor of 3 places has an axis of ",
)
_OUTSIDE, _BLOCKS = (
    "a value of a sparse tensor lies outside",
    "a sparse tensor of rank 2 has blocks of ",
)
_COUNT = "a sparse tensor has 3 values for {} places"


def rows(segments: list[int], indices: list[int]) -> Places:
    return Places(np.array(segments, np.int64), np.array(indices, np.int64))


WRONG: dict[str, tuple[list[int], list[int], list[Level], str]] = {
    "no order": ([], [], [], f"{_ORDER}[]"),
    "an axis twice": ([0, 0], [], [2, ROWS], f"{_ORDER}[0, 0]"),
    "a level is missing": ([0, 1], [], [2], f"{_ORDER}[0, 1]"),
    "more values than places": ([0, 1], [], [2, 1], _COUNT.format(2)),
    "places that do not begin with the first": (
        [0, 1], [], [2, rows([1, 2, 4], [0, 1, 0, 1])], _COUNT.format(3)
    ),
    "an axis of less than nothing": ([0, 1], [], [-1, ROWS], f"{_AXIS}-1"),
    "an axis of billions": ([0, 1], [], [1 << 31, ROWS], f"{_AXIS}{1 << 31}"),
    "an axis of one more than all places": ([0, 1], [], [4, ROWS], f"{_AXIS}4"),
    "axes that are too large together": ([0, 1], [], [2, 2], f"{_AXIS}2"),
    "more rows than are told of": ([0, 1], [], [3, ROWS], _FOLLOW),
    "rows that go back": ([0, 1], [], [2, rows([0, 3, 2], [0, 2, 1])], _FOLLOW),
    "rows beyond the indices": ([0, 1], [], [2, rows([0, 2, 4], [0, 2, 1])], _BEYOND),
    "rows before them": ([0, 1], [], [2, rows([-1, 2, 3], [0, 2, 1])], _BEYOND),
    "a place outside": ([0, 1], [], [2, rows([0, 2, 3], [0, 3, 1])], _OUTSIDE),
    "a place before": ([0, 1], [], [2, rows([0, 2, 3], [0, -1, 1])], _OUTSIDE),
    "no rows": ([0, 1], [], [2, rows([], [])], _FOLLOW),
    "a block of no axis": ([0, 1, 2], [2], [2, ROWS, 1], f"{_BLOCKS}[2]"),
    "a block of an axis before": ([0, 1, 2], [-1], [2, ROWS, 1], f"{_BLOCKS}[-1]"),
    "a block that is no size": (
        [0, 1, 2], [1], [1, 1, rows([0, 3], [0, 2, 1])], "a block of a sparse tensor has a list"
    ),
}  # fmt: skip


@pytest.mark.parametrize(("order", "blocks", "levels", "said"), WRONG.values(), ids=WRONG)
def test_what_contradicts_itself_is_damaged(
    order: list[int], blocks: list[int], levels: list[Level], said: str
) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(said)}"):
        densified(np.ones(3, np.float32), (2, 3), order, blocks, levels)


@pytest.mark.parametrize("shape", [(1 << 40,), (0, 1 << 40)])
def test_a_tensor_that_is_too_large_is_refused_before_it_is_made(shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="a sparse tensor has the shape"):
        dense(memoryview(b""), "INT8", shape, None, lambda count: count)


@pytest.mark.parametrize(("shape", "most"), [((2, 3), 24), ((0, 3), 12)])
def test_a_tensor_is_as_large_as_tensors_may_be(
    shape: tuple[int, ...], most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sparsity.limits, "tensor_bytes", lambda: most - 1)
    with pytest.raises(ValueError, match="a sparse tensor has the shape"):
        dense(memoryview(b""), "FLOAT32", shape, None, lambda count: count)
    monkeypatch.setattr(sparsity.limits, "tensor_bytes", lambda: most)
    with pytest.raises(AttributeError):  # the parameters, which there are none of
        dense(memoryview(b""), "FLOAT32", shape, None, lambda count: count)


def test_types_without_a_way_to_store_them_are_damaged() -> None:
    said = "a sparse tensor is INT16; supported: FLOAT32, FLOAT16, INT8"
    with pytest.raises(ValueError, match=said):
        dense(memoryview(b""), "INT16", (2,), None, lambda count: count)


@pytest.mark.parametrize(
    ("kind", "table"),
    [(0, None), (schema.SparseIndexVector.Uint8Vector, None), (0, object()), (9, object())],
)
def test_an_axis_without_a_list_is_damaged(kind: int, table: Any) -> None:
    with pytest.raises(ValueError, match="a sparse axis has no list of its places"):
        _vector(kind, table, lambda count: count)


def test_no_integers_are_not_read() -> None:
    found = _integers(0, lambda: [1], lambda count: count)
    assert (found.size, found.dtype) == (0, np.int64)
    assert _integers(1, lambda: 7, lambda count: count).tolist() == [7]


def test_an_axis_may_have_no_places() -> None:
    nothing = np.zeros(0, np.float32)
    assert densified(nothing, (0,), [0], [], [0]).shape == (0,)
    assert densified(nothing, (0, 3), [0, 1], [], [0, rows([0], [])]).shape == (0, 3)
    with pytest.raises(ValueError, match=_FOLLOW):
        densified(nothing, (0, 3), [0, 1], [], [0, rows([], [])])


def test_a_file_that_contradicts_itself_is_refused() -> None:
    data = bytearray(model(drawn((8, 16)), [0, 1], [DENSE, SPARSE], True))
    tables = schema.ModelT.InitFromObj(schema.Model.GetRootAs(bytes(data), 0))
    wide = next(t for t in tables.subgraphs[0].tensors if t.sparsity is not None)
    wide.shape = [8, 3]
    packed = pytest.importorskip("flatbuffers").Builder(0)
    packed.Finish(tables.Pack(packed), b"TFL3")
    with pytest.raises(GlowmcuError, match=r"GM101.*lies outside its shape"):
        reference_graph(bytes(packed.Output()), "m.tflite")


def test_what_is_stored_without_zeros_counts_as_results(monkeypatch: pytest.MonkeyPatch) -> None:
    """All of a file's together: as many bytes as results may have, and no more."""
    monkeypatch.setattr(container, "dense", lambda *_: memoryview(b"1234"))
    monkeypatch.setattr(container.limits, "results_bytes", lambda: 8)
    reader = container._Reader(b"")
    for _ in range(2):
        assert bytes(reader.dense(memoryview(b""), "INT8", (4,), None)) == b"1234"
    with pytest.raises(ValueError, match="its sparse tensors have 12 "):
        reader.dense(memoryview(b""), "INT8", (4,), None)
