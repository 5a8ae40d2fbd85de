"""scikit-learn's KNNImputer as skl2onnx writes it: functions that gather the rows with missing
features, whose number data decide, become operators of fixed sizes on all rows.

Donors of a feature are the rows of the training data that have it. Their squared distances are
counted over the features that both rows have; the mean of the nearest `n_neighbors` goes where the
feature is missing, and the training data's mean where no distance is known.
Source: `sklearn/impute/_knn.py`, and skl2onnx's `nearest_neighbours.py` for what it computes.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from glowmcu.frontend.onnx.composed import MICROSOFT
from glowmcu.frontend.onnx.container import tensor_data
from glowmcu.ir.operation import Array
from glowmcu.lazy_dataclass import dataclass

_DOMAIN, _COLUMN = "local_domain", "knn_imputer_column"
#: Operands of a column's function.
_PLACE, _X, _DISTANCES, _MASK, _FITTED, _NEIGHBOURS = 0, 1, 2, 4, 8, 9
#: The functions' operators: another body is another meaning, and is not taken for this one.
_BODIES = {
    _COLUMN: "Constant Constant Gather Gather Reshape Cast ReduceMax Equal If",
    "calc_impute_weights": "Constant IsNaN Shape ConstantOfShape Where",
    "calc_impute_make_new_neights": "Cast Mul",
    "dist_nan_euclidean": (
        "Constant Constant Constant Constant Constant Constant Constant Constant Constant Constant "
        "IsNaN IsNaN Shape Cast Cast Cast Not Reshape Reshape Reshape Where Where Cast Mul Mul Mul "
        "Sub Gemm Gemm Gemm Gemm ReduceSum ReduceSum Add Equal Max Reshape Add Sub Sub Clip Where "
        "Div Mul Sqrt"
    ),
}
_PREFIX = "knn_imputer"
#: In the place of a distance that is not known.
_FARTHEST = float(np.finfo(np.float32).max)


@dataclass(frozen=True)
class _Imputer:
    """What is imputed in `x`: the features `columns`, of rows `fitted` where not `missing`."""

    x: str
    fitted: Array
    missing: Array
    neighbours: int
    columns: tuple[int, ...]


def with_fixed_imputer(model: Any) -> Any:
    """The model with operators of fixed sizes in the place of those functions; itself without."""
    if not _is_of_skl2onnx(model):
        return model
    import onnx

    changed = onnx.ModelProto()
    changed.CopyFrom(model)
    graph = changed.graph
    calls = [node for node in graph.node if (node.domain, node.op_type) == (_DOMAIN, _COLUMN)]
    imputer = _read(calls, {item.name: item for item in graph.initializer})
    if imputer is None:
        return model
    _replace(graph, calls, _Writer(onnx), imputer)
    _drop_unused(graph, onnx)
    if not any(item.domain == MICROSOFT for item in changed.opset_import):
        changed.opset_import.append(onnx.helper.make_opsetid(MICROSOFT, 1))
    return changed


def _is_of_skl2onnx(model: Any) -> bool:
    bodies = {
        item.name: " ".join(node.op_type for node in item.node)
        for item in model.functions
        if item.domain == _DOMAIN
    }
    return all(bodies.get(name) == body for name, body in _BODIES.items())


def _read(calls: Sequence[Any], constants: dict[str, Any]) -> _Imputer | None:
    """What the calls share, each of which reads what the one before made; None where they do not,
    or say what no imputer says. skl2onnx writes no more than one.
    """
    passed = itertools.pairwise(calls)
    if not calls or any(before.output[0] != after.input[_X] for before, after in passed):
        return None
    shared = {tuple(call.input[place] for place in (_DISTANCES, _MASK, _FITTED, _NEIGHBOURS))
              for call in calls}  # fmt: skip
    names = {call.input[place] for call in calls for place in (_PLACE, _MASK, _FITTED, _NEIGHBOURS)}
    if len(shared) != 1 or not names <= constants.keys():
        return None
    data = {name: tensor_data(constants[name], None) for name in names}
    first = calls[0]
    fitted, missing = data[first.input[_FITTED]], data[first.input[_MASK]]
    counts = data[first.input[_NEIGHBOURS]].reshape(-1)
    places = [data[call.input[_PLACE]].reshape(-1) for call in calls]
    if fitted.ndim != 2 or not fitted.size or missing.shape != fitted.shape or counts.size != 1:
        return None
    if any(place.size != 1 or not 0 <= place[0] < fitted.shape[1] for place in places):
        return None
    columns = tuple(sorted({int(place[0]) for place in places}))
    neighbours = max(1, int(counts[0]))
    return _Imputer(first.input[_X], fitted, missing.astype(bool), neighbours, columns)


class _Writer:
    """Nodes and constants in the place of the functions, or of a body of theirs."""

    def __init__(self, onnx: Any, place: str = _PREFIX) -> None:
        self.onnx, self._place = onnx, place
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def constant(self, data: Array) -> str:
        name = f"{self._place}/c{len(self.constants)}"
        data = np.ascontiguousarray(data)
        self.constants.append(self.onnx.numpy_helper.from_array(data, name))
        return name

    def node(self, kind: str, *inputs: str, **attributes: Any) -> str:
        return self.nodes_of(kind, inputs, 1, **attributes)[0]

    def nodes_of(
        self, kind: str, inputs: Sequence[str], count: int, domain: str = "", **attributes: Any
    ) -> list[str]:
        names = [f"{self._place}/{kind}{len(self.nodes)}_{i}" for i in range(count)]
        node = self.onnx.helper.make_node(
            kind, list(inputs), names, name=names[0], domain=domain, **attributes
        )
        self.nodes.append(node)
        return names


def _replace(graph: Any, calls: Sequence[Any], write: _Writer, imputer: _Imputer) -> None:
    last, result = calls[-1].output[0], _written(write, imputer)
    place = list(graph.node).index(calls[0])
    nodes = [*graph.node[:place], *write.nodes, *graph.node[place:]]
    for node in nodes:
        for position, name in enumerate(node.input):
            if name == last:
                node.input[position] = result
    _set_nodes(graph, nodes)
    graph.initializer.extend(write.constants)


def _written(write: _Writer, imputer: _Imputer) -> str:
    """The name of the table without missing features."""
    dtype = imputer.fitted.dtype
    width = imputer.fitted.shape[1]
    is_missing = write.node("IsNaN", imputer.x)
    zero = write.constant(np.zeros((), dtype))
    known = write.node("Where", is_missing, zero, imputer.x)
    distances = _distances(write, imputer, is_missing, known)
    columns = [column for column in imputer.columns if not imputer.missing[:, column].all()]
    if not columns:
        return write.node("Identity", imputer.x)
    way = _column_by_column if imputer.missing.any() else _all_columns
    joined = way(write, imputer, distances, columns)
    if columns != list(range(width)):
        places = [columns.index(place) if place in columns else 0 for place in range(width)]
        joined = write.node("Gather", joined, write.constant(np.array(places)), axis=1)
        is_imputed = np.isin(np.arange(width), columns).reshape(1, -1)
        is_missing = write.node("And", is_missing, write.constant(is_imputed))
    return write.node("Where", is_missing, joined, imputer.x)


def _distances(write: _Writer, imputer: _Imputer, is_missing: str, known: str) -> str:
    """(N, rows): squared, for each feature that both rows have; `_FARTHEST` where they share none.

    Differences are squared and summed, and what a missing feature of either adds is taken away.
    """
    dtype, holes = imputer.fitted.dtype, imputer.missing
    to = {"float32": 1, "float64": 11}[dtype.name]
    rows = np.where(holes, 0, imputer.fitted).astype(dtype)
    gap = write.node("Cast", is_missing, to=to)
    (total,) = write.nodes_of(
        "CDist", [known, write.constant(rows)], 1, MICROSOFT, metric="sqeuclidean"
    )
    extra = write.node("MatMul", gap, write.constant((rows * rows).T))
    total = write.node("Sub", total, extra)
    one, zero = (write.constant(np.array(n, dtype)) for n in (1, 0))
    present = write.node("Sub", one, gap)
    if holes.any():
        square = write.node("Mul", known, known)
        extra = write.node("MatMul", square, write.constant(holes.T.astype(dtype)))
        total = write.node("Sub", total, extra)
        count = write.node("MatMul", present, write.constant((~holes).T.astype(dtype)))
    else:
        count = write.node("ReduceSum", present, write.constant(np.array([1])), keepdims=1)
    total = write.node("Div", write.node("Max", total, zero), write.node("Max", count, one))
    none = write.node("Equal", count, zero)
    return write.node("Where", none, write.constant(np.array(_FARTHEST, dtype)), total)


def _all_columns(write: _Writer, imputer: _Imputer, distances: str, columns: list[int]) -> str:
    """(N, columns): what goes where they are missing, where all rows are donors of all."""
    table = imputer.fitted[:, columns]
    nearest, places = _nearest(write, imputer, distances)
    values = write.node("Gather", write.constant(table), places, axis=0)
    return _mean(write, nearest, values, write.constant(_means(table).reshape(1, -1)), True)


def _column_by_column(write: _Writer, imputer: _Imputer, distances: str, columns: list[int]) -> str:
    """The same by a Scan, each of whose trips has donors of its own: the others are too far."""
    dtype, holes = imputer.fitted.dtype, imputer.missing[:, columns].T
    table = np.where(holes, np.nan, imputer.fitted[:, columns].T)
    element = {"float32": 1, "float64": 11}[dtype.name]
    body = _Writer(write.onnx, f"{_PREFIX}/column")
    far = body.constant(np.array(_FARTHEST, dtype))
    reached = body.node("Where", "holes", far, "distances")
    nearest, places = _nearest(body, imputer, reached)
    values = body.node("Gather", "values", places, axis=0)
    mean = _mean(body, nearest, values, "of_all", False)
    kept = body.node("Identity", "distances")
    helper, rows = write.onnx.helper, imputer.fitted.shape[0]
    value = helper.make_tensor_value_info
    inputs = [
        value("distances", element, [None, rows]), value("holes", 9, [rows]),
        value("values", element, [rows]), value("of_all", element, []),
    ]  # fmt: skip
    outputs = [value(kept, element, [None, rows]), value(mean, element, [None])]
    graph = helper.make_graph(body.nodes, _PREFIX, inputs, outputs, body.constants)
    scanned = [
        write.constant(array)
        for array in (holes, np.nan_to_num(table).astype(dtype), _means(table.T).astype(dtype))
    ]
    _, found = write.nodes_of("Scan", [distances, *scanned], 2, body=graph, num_scan_inputs=3)
    return write.node("Transpose", found, perm=[1, 0])


def _means(table: Array) -> Array:
    """Of columns, without what is missing."""
    return np.asarray(np.nanmean(table, 0, dtype=np.float64).astype(table.dtype))


def _nearest(write: _Writer, imputer: _Imputer, distances: str) -> list[str]:
    """Distances and places of the nearest donors, best first."""
    count = min(imputer.neighbours, len(imputer.fitted))
    return write.nodes_of("TopK", [distances, write.constant(np.array([count]))], 2, largest=0)


def _mean(write: _Writer, nearest: str, values: str, of_all: str, is_table: bool) -> str:
    """Of the values (N, nearest) of donors that are not too far, or of a table of them (N, nearest,
    columns); `of_all` where there is none.
    """
    far, one = (write.constant(np.array(n, np.float32)) for n in (_FARTHEST, 1))
    weights = write.node("Cast", write.node("Less", nearest, far), to=1)
    of_each = weights
    if is_table:
        of_each = write.node("Unsqueeze", weights, write.constant(np.array([2])))
    axis = write.constant(np.array([1]))
    total = write.node("ReduceSum", write.node("Mul", values, of_each), axis, keepdims=0)
    number = write.node("ReduceSum", weights, axis, keepdims=int(is_table))
    mean = write.node("Div", total, write.node("Max", number, one))
    return write.node("Where", write.node("Less", number, one), of_all, mean)


def _drop_unused(graph: Any, onnx: Any) -> None:
    """Nodes of which no output of the model is made."""
    made_by = {name: place for place, node in enumerate(graph.node) for name in node.output}
    used, todo = set[int](), [item.name for item in graph.output]
    while todo:
        place = made_by.get(todo.pop(), -1)
        if place < 0 or place in used:
            continue
        used.add(place)
        todo += _reads(graph.node[place], onnx)
    _set_nodes(graph, [node for place, node in enumerate(graph.node) if place in used])


def _set_nodes(graph: Any, nodes: Sequence[Any]) -> None:
    copies = [type(node).FromString(node.SerializeToString()) for node in nodes]
    del graph.node[:]
    graph.node.extend(copies)


def _reads(node: Any, onnx: Any) -> Iterator[str]:
    yield from node.input
    for attribute in node.attribute:
        if attribute.type == onnx.AttributeProto.GRAPH:
            for inner in attribute.g.node:
                yield from _reads(inner, onnx)
