"""Where the frames of a spectrum come from: which samples of which value, and their window.

Frames are cut, joined, padded and windowed in as many ways as there are exporters. What counts is
which sample every element is; the farthest value of which frame f has those from
`first + f * step` on is the signal.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from glowmcu.ir.graph import Graph, Node, Value
from glowmcu.ir.operation import Array
from glowmcu.lazy_dataclass import dataclass
from glowmcu.ops.elementwise import Mul
from glowmcu.ops.gather import Gather
from glowmcu.quant.spectrum_traces import moved, moves

#: A weight of the window below 1 / 32 767 of the largest is stored as 0.
_WINDOW_MOST = 2**15 - 1


@dataclass(frozen=True, eq=False)
class Frames:
    """Frames of `signal`: frame f begins with its sample `first + f * step`. `window` is stored in
    int16, times `scale`, without zeros at its ends.
    """

    signal: Value
    first: int
    step: int
    count: int
    window: Array
    scale: float


@dataclass(frozen=True, eq=False)
class _View:
    """Which sample each element is, from 1 on (0 is none), times what."""

    places: Array
    factors: Array


def frames_of(graph: Graph, framed: Value) -> Frames | None:
    """Those that a transform reads along the last axis of `framed`; None if they are none."""
    signals = [framed]
    while (node := graph.producers.get(signals[-1])) is not None and _is_seen_through(graph, node):
        signals.append(next(v for v in node.inputs if graph.constant_data(v) is None))
    for signal in reversed(signals):
        view = _view(graph, framed, signal, {})
        found = None if view is None else _regular(signal, view)
        if found is not None:
            return found
    return None


def _is_seen_through(graph: Graph, node: Node) -> bool:
    known = [graph.constant_data(value) is not None for value in node.inputs]
    if isinstance(node.op, Mul):
        return node.op.clamp is None and sum(known) == 1
    return moves(node.op) and not all(known) and getattr(node.op, "value", 0) == 0


def _view(
    graph: Graph, value: Value, signal: Value, seen: dict[Value, _View | None]
) -> _View | None:
    if value is signal:
        shape = value.type.shape
        count = value.type.element_count
        return _View(np.arange(1, count + 1).reshape(shape), np.ones(shape))
    if value not in seen:
        seen[value] = _computed_view(graph, value, signal, seen)
    return seen[value]


def _computed_view(
    graph: Graph, value: Value, signal: Value, seen: dict[Value, _View | None]
) -> _View | None:
    node = graph.producers.get(value)
    if node is None or not _is_seen_through(graph, node) or len(node.outputs) != 1:
        return None
    constants = [graph.constant_data(operand) for operand in node.inputs]
    views = [
        None if data is not None else _view(graph, operand, signal, seen)
        for operand, data in zip(node.inputs, constants, strict=True)
    ]
    known = [view for view in views if view is not None]
    if len(known) < sum(data is None for data in constants):
        return None
    if isinstance(node.op, Mul):
        (data,) = (data for data in constants if data is not None)
        if np.broadcast_shapes(data.shape, known[0].places.shape) != known[0].places.shape:
            return None
        return _View(known[0].places, known[0].factors * data.astype(np.float64))
    if len(known) < len(views) and not isinstance(node.op, Gather):
        return None
    found = []
    for pick in ("places", "factors"):
        operands: list[Any] = [
            data if view is None else getattr(view, pick)
            for view, data in zip(views, constants, strict=True)
        ]
        found.append(moved(node, operands))
    return _View(*found)


def _regular(signal: Value, view: _View) -> Frames | None:
    """The frames of a view, if they follow each other at equal steps under one window."""
    places = view.places.reshape(-1, view.places.shape[-1]) - 1
    factors = view.factors.reshape(places.shape)
    largest = float(np.abs(factors[0]).max())
    is_mono = signal.type.element_count in signal.type.shape
    if not largest > 0 or not (factors == factors[0]).all() or not is_mono:
        return None
    scale = float(np.float32(largest / _WINDOW_MOST))
    stored = np.clip(np.rint(factors[0] / scale), -_WINDOW_MOST, _WINDOW_MOST).astype(np.int16)
    counted = np.flatnonzero(stored)
    begin, end = int(counted[0]), int(counted[-1]) + 1
    count = len(places)
    first = int(places[0, begin])
    step = int(places[1, begin]) - first if count > 1 else end - begin
    expected = first + step * np.arange(count)[:, np.newaxis] + np.arange(end - begin)
    # Where there is no sample the factor is 0, so that no frame begins there.
    if step < 1 or not (places[:, begin:end] == expected).all():
        return None
    return Frames(signal, first, step, count, stored[begin:end], scale)
