"""Resize, one axis at a time: where every result lies, which inputs it is made of.

A result at position p of the input is a sum of its neighbours weighted by a kernel of (i - p);
neighbours beyond an end are that end's element, or left out (`exclude_outside`). Positions are
float32 as in onnxruntime: halves must fall on the same side.
"""

from __future__ import annotations

import numpy as np

from glowmcu.frontend.unsupported import Unsupported
from glowmcu.ir.operation import Array
from glowmcu.lazy_dataclass import dataclass

#: Longest axis; also bounds what tables take.
LARGEST_SIZE = 2**15 - 1


@dataclass(frozen=True)
class Axis:
    """`scale` is results an input; `roi` the part of the input that `tf_crop_and_resize` takes."""

    in_size: int
    out_size: int
    scale: float
    roi: tuple[float, float] = (0.0, 1.0)

    @property
    def is_identity(self) -> bool:
        return self.in_size == self.out_size and self.scale == 1.0 and self.roi == (0.0, 1.0)

    @property
    def is_exact(self) -> bool:
        """Whether the scale is that of the sizes, to float32."""
        return bool(np.float32(self.scale) == np.float32(self.out_size) / np.float32(self.in_size))


def positions(axis: Axis, mode: str) -> Array:
    """Where the results lie between the inputs, float32; `mode` transforms coordinates."""
    x, scale = np.arange(axis.out_size, dtype=np.float32), np.float32(axis.scale)
    last, out_last = np.float32(axis.in_size - 1), np.float32(axis.out_size - 1)
    half = np.float32(0.5)
    place: Array
    if mode == "asymmetric":
        place = x / scale
    elif mode == "half_pixel" or (mode == "pytorch_half_pixel" and axis.out_size > 1):
        place = (x + half) / scale - half
    elif mode == "half_pixel_symmetric":
        adjustment = np.float32(axis.out_size) / (scale * np.float32(axis.in_size))
        offset = half * np.float32(axis.in_size) * (np.float32(1) - adjustment)
        place = offset + (x + half) / scale - half
    elif mode == "tf_half_pixel_for_nn":
        place = (x + half) / scale
    elif mode in ("align_corners", "pytorch_half_pixel"):
        place = x * last / out_last if axis.out_size > 1 else x
    elif mode == "tf_crop_and_resize":
        start, end = map(np.float32, axis.roi)
        place = x + half * (start + end) * last
        if axis.out_size > 1:
            place = start * last + x * (end - start) * last / out_last
    else:
        raise Unsupported("GM105", f"Resize: coordinate_transformation_mode {mode} is unknown")
    return place


def nearest_indices(axis: Axis, mode: str, rounding: str) -> Array:
    """The input of every result, int32."""
    place = positions(axis, mode).astype(np.float64)
    if rounding == "round_prefer_floor":
        nearest = np.ceil(place - 0.5)
    elif rounding == "round_prefer_ceil":
        nearest = np.floor(place + 0.5)
    elif rounding in ("floor", "ceil"):
        nearest = np.floor(place) if rounding == "floor" else np.ceil(place)
    else:
        raise Unsupported("GM105", f"Resize: nearest_mode {rounding} is unknown")
    return np.asarray(np.clip(nearest, 0, axis.in_size - 1), np.int32)


def outside(axis: Axis, mode: str) -> Array:
    """Which results lie outside of the input."""
    place = positions(axis, mode)
    return np.asarray((place < 0) | (place > axis.in_size - 1))


@dataclass(frozen=True)
class Interpolation:
    """How neighbours are weighted. `extrapolation` replaces results from outside of the input."""

    cubic_a: float | None
    antialias: bool
    exclude_outside: bool
    extrapolation: float | None = None

    def tables(self, axis: Axis, mode: str) -> tuple[Array, Array, Array]:
        """`starts` (O,), `weights` (O, taps) and `offsets` (O,) of a `resample`."""
        rows: list[dict[int, float]] = []
        offsets = np.zeros(axis.out_size, np.float32)
        beyond = outside(axis, mode)
        for index, place in enumerate(positions(axis, mode).astype(np.float64)):
            if self.extrapolation is not None and beyond[index]:
                rows.append({0: 0.0})
                offsets[index] = self.extrapolation
            else:
                rows.append(self._row(float(place), axis))
        return *_as_windows(rows, axis.in_size), offsets

    def _kernel(self, distance: Array) -> Array:
        """Weights before they are brought to a sum of 1."""
        return _linear(distance) if self.cubic_a is None else _cubic(distance, self.cubic_a)

    def _row(self, place: float, axis: Axis) -> dict[int, float]:
        """Input to weight, for one result."""
        stretch, size = min(axis.scale, 1.0) if self.antialias else 1.0, axis.in_size
        reach = (1.0 if self.cubic_a is None else 2.0) / stretch
        neighbours = np.arange(np.floor(place - reach) + 1, np.ceil(place + reach), dtype=np.int64)
        weights = self._kernel(np.abs(neighbours - place) * stretch)
        if self.exclude_outside:
            weights = np.where((neighbours >= 0) & (neighbours < size), weights, 0.0)
        if self.exclude_outside or self.antialias:
            weights = weights / weights.sum()
        row: dict[int, float] = {}
        for neighbour, weight in zip(np.clip(neighbours, 0, size - 1), weights, strict=True):
            row[int(neighbour)] = row.get(int(neighbour), 0.0) + float(weight)
        return row


def _linear(distance: Array) -> Array:
    return np.asarray(np.maximum(1.0 - distance, 0.0))


def _cubic(distance: Array, a: float) -> Array:
    near = ((a + 2) * distance - (a + 3)) * distance**2 + 1
    far = ((a * distance - 5 * a) * distance + 8 * a) * distance - 4 * a
    return np.where(distance <= 1, near, np.where(distance < 2, far, 0.0))


def _as_windows(rows: list[dict[int, float]], size: int) -> tuple[Array, Array]:
    """Rows of weights as unbroken windows of one length inside the axis."""
    used = [[place for place, weight in row.items() if weight] or [0] for row in rows]
    taps = max(max(places) - min(places) + 1 for places in used)
    starts = np.array([min(*places, size - taps) for places in used], np.int64)
    weights = np.zeros((len(rows), taps), np.float32)
    for row, start, line in zip(rows, starts, weights, strict=True):
        for place, weight in row.items():
            if weight:
                line[place - start] = weight
    return starts, weights
