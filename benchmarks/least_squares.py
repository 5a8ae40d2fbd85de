"""Non-negative least squares, by Lawson and Hanson's active set.

Source: Lawson, Hanson: Solving Least Squares Problems (1974), chapter 23.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Vector = npt.NDArray[np.float64]


def non_negative_least_squares(matrix: Vector, wanted: Vector) -> Vector:
    """The x >= 0 with the least |matrix @ x - wanted|; columns may depend on each other."""
    columns = matrix.shape[1]
    found = np.zeros(columns)
    free = np.zeros(columns, bool)
    tolerance = 1e-10 * max(float(np.abs(matrix).sum()), 1.0)
    for _ in range(3 * columns + 3):
        slope = matrix.T @ (wanted - matrix @ found)
        slope[free] = -np.inf
        if free.all() or slope.max() <= tolerance:
            break
        free[int(slope.argmax())] = True
        found = _inside(matrix, wanted, free, found)
    return found


def _inside(matrix: Vector, wanted: Vector, free: npt.NDArray[np.bool_], found: Vector) -> Vector:
    """The best point on the `free` columns that can be reached without leaving x >= 0.

    Columns that hit zero on the way are taken out of `free`.
    """
    while True:
        target = np.zeros_like(found)
        target[free] = np.linalg.lstsq(matrix[:, free], wanted, rcond=None)[0]
        leaving = free & (target <= 0)
        if not leaving.any():
            return target
        steps = found[leaving] / np.maximum(found[leaving] - target[leaving], 1e-300)
        found = found + float(steps.min()) * (target - found)
        free &= found > 1e-12 * max(float(np.abs(found).max()), 1e-300)
        found = np.where(free, found, 0.0)


def fit_unit_costs(amounts: Vector, cycles: Vector, weights: Vector) -> Vector:
    """Unit costs of the columns of `amounts`, a row a layer whose misfit counts `weights` times."""
    weighted = amounts * weights[:, np.newaxis]
    sizes = np.maximum(np.abs(weighted).max(axis=0), 1e-300)
    return non_negative_least_squares(weighted / sizes, cycles * weights) / sizes
