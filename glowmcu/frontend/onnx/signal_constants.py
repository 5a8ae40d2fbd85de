"""HannWindow, HammingWindow, BlackmanWindow and MelWeightMatrix: constants of known sizes.

Source: ONNX's definitions, and its reference evaluator where these leave rounding open.
"""

from __future__ import annotations

import math

import numpy as np

from glowmcu.frontend.onnx.axes import required_integers
from glowmcu.frontend.onnx.container import NodeRecord, element_of
from glowmcu.frontend.onnx.importer import Import, importer
from glowmcu.frontend.unsupported import Unsupported
from glowmcu.ir.operation import Array

_FLOAT = 1
#: Coefficients of the cosines of 0, 1, 2 turns.
_COSINES = {
    "HannWindow": (0.5, -0.5),
    "HammingWindow": (25 / 46, -21 / 46),
    "BlackmanWindow": (0.42, -0.5, 0.08),
}


@importer(*_COSINES)
def import_window(state: Import, op: NodeRecord) -> None:
    """A sum of cosines of one period, or symmetric where `periodic` is 0."""
    size = _scalar_integer(state, op, 0, "its size")
    if size < 0:
        raise Unsupported("GM106", f"{op.kind} of {size} samples")
    state.builder.afford((size,), 8, "a window")
    period = size if op.flag("periodic", True) else size - 1
    turns = 2 * np.pi * np.arange(size) / max(period, 1)
    values = sum(
        (factor * np.cos(k * turns) for k, factor in enumerate(_COSINES[op.kind])),
        np.zeros(size),
    )
    state.bind_constant(op, _stored(op, values))


@importer("MelWeightMatrix")
def import_mel_weight_matrix(state: Import, op: NodeRecord) -> None:
    """Triangles on the mel scale: a row for each bin of a spectrum, a column for each channel."""
    channels, length, rate = (
        _scalar_integer(state, op, i, what)
        for i, what in enumerate(("its channels", "its dft_length", "its sample rate"))
    )
    lower, upper = (
        _scalar_number(state, op, 3 + i, what) for i, what in enumerate(("its edge", "its edge"))
    )
    bins = length // 2 + 1
    is_range = 0.0 <= lower <= upper < math.inf
    if min(channels, length, rate) < 1 or not is_range:
        raise Unsupported(
            "GM106",
            f"MelWeightMatrix: {channels} channels from {lower} to {upper} Hz of {length} samples "
            f"at {rate} Hz",
        )
    state.builder.afford((bins, channels), 8, "a matrix")
    edges = _mel_edges(channels, length, rate, lower, upper)
    if int(edges[-1]) >= bins:
        raise Unsupported(
            "GM106",
            f"MelWeightMatrix: {upper} Hz lies beyond the {bins} bins of {length} samples "
            f"at {rate} Hz",
        )
    state.bind_constant(op, _stored(op, _triangles(edges, bins)))


def _mel_edges(channels: int, length: int, rate: int, lower: float, upper: float) -> Array:
    """Bins where channels begin, peak and end."""
    low, high = (2595 * np.log1p(edge / 700) / np.log(10) for edge in (lower, upper))
    mels = np.arange(channels + 2) * ((high - low) / (channels + 2)) + low
    hertz = 700 * np.expm1(mels / 2595 * np.log(10))
    return np.asarray((length + 1) * hertz // rate).astype(np.int64)


def _triangles(edges: Array, bins: int) -> Array:
    """Each rises to its peak and falls to where it ends, which is not part of it."""
    weights = np.zeros((bins, len(edges) - 2))
    for channel in range(len(edges) - 2):
        first, peak, end = (int(edge) for edge in edges[channel : channel + 3])
        rising = np.arange(first, peak + 1)
        weights[rising, channel] = (rising - first) / (peak - first) if peak > first else 1.0
        falling = np.arange(peak, end)
        if falling.size:
            weights[falling, channel] = (end - falling) / (end - peak)
    return weights


def _scalar_integer(state: Import, op: NodeRecord, position: int, what: str) -> int:
    found = required_integers(state, op, position, "", what)
    if len(found) != 1:
        raise Unsupported("GM106", f"{op.kind}: {what} is one number, got {len(found)}")
    return found[0]


def _scalar_number(state: Import, op: NodeRecord, position: int, what: str) -> float:
    data = state.constant(op, position, what).reshape(-1)
    if data.size != 1 or data.dtype.kind not in "fiu":
        raise Unsupported(
            "GM106", f"{op.kind}: {what} is one number, got {data.dtype}[{data.size}]"
        )
    return float(data[0])


def _stored(op: NodeRecord, values: Array) -> Array:
    """In the type that `output_datatype` names; other floats become float32."""
    element, name = element_of(op.integer("output_datatype", _FLOAT))
    if element is None:
        raise Unsupported("GM105", f"{op.kind} of {name} is not supported")
    return values.astype(element.numpy)
