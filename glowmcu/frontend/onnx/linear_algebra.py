"""CDist and Solve of onnxruntime's own domain, which skl2onnx writes for neighbours and Gaussian
processes.

Source: onnxruntime's `cdist.h`; of Solve, `numpy.linalg.solve`.
"""

from __future__ import annotations

import numpy as np

from glowmcu.frontend.onnx.composed import MICROSOFT
from glowmcu.frontend.onnx.container import NodeRecord
from glowmcu.frontend.onnx.importer import Import, importer
from glowmcu.frontend.unsupported import Unsupported
from glowmcu.ops.distances import SquaredDistances
from glowmcu.ops.matmul import BatchMatMul
from glowmcu.ops.real_functions import Sqrt

#: Rows of a matrix that is inverted at compile time.
_LARGEST = 2048


@importer("CDist", domain=MICROSOFT)
def import_cdist(state: Import, op: NodeRecord) -> None:
    """Distances of all vectors of one list to all of another: Euclidean, or their squares."""
    metric = op.text("metric", "sqeuclidean")
    if metric not in ("euclidean", "sqeuclidean"):
        raise Unsupported(
            "GM105", f"CDist: metric {metric[:40]} is none of euclidean, sqeuclidean",
            "convert the model without optim='cdist'",
        )  # fmt: skip
    squares = state.add(op, SquaredDistances(), [state.value(op, 0), state.value(op, 1)])
    state.bind(op, [squares if metric == "sqeuclidean" else state.add(op, Sqrt(), [squares])])


@importer("Solve", domain=MICROSOFT)
def import_solve(state: Import, op: NodeRecord) -> None:
    """The X of A X = B, of a matrix A known at compile time: a product with its inverse."""
    a, b = state.constant(op, 0, "its matrix").astype(np.float64), state.value(op, 1)
    if a.ndim != 2 or a.shape[0] != a.shape[1] or b.type.shape[:1] != a.shape[:1]:
        raise Unsupported("GM106", f"Solve: a matrix of {a.shape} for {b.type}")
    if len(a) > _LARGEST:
        raise Unsupported("GM105", f"Solve: a matrix of {a.shape}; {_LARGEST} rows are taken")
    if op.flag("lower"):
        a = np.tril(a)
    a = a.T if op.flag("transposed") else a
    try:
        inverse = np.linalg.inv(a)
    except np.linalg.LinAlgError:
        raise Unsupported("GM105", "Solve: its matrix has no inverse") from None
    rows = state.add_constant(inverse.astype(np.float32), "inverse")
    state.emit(op, BatchMatMul(), [rows, b])
