"""RNN, GRU and LSTM of several steps, as one operator with a loop over them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from glowmcu.frontend.onnx.recurrent_cells import CELLS, Emitter
from glowmcu.frontend.onnx.recurrent_sizes import RecurrentSizes
from glowmcu.frontend.onnx.spatial import reshaped
from glowmcu.ir.graph import Value
from glowmcu.ir.types import Shape
from glowmcu.ops.recurrence import CellKind, Recurrence
from glowmcu.ops.recurrence_cells import CellFunction

_PEEPHOLES = 7


def emit_loop(
    emitter: Emitter, sizes: RecurrentSizes, functions: Sequence[tuple[CellFunction, ...]]
) -> None:
    """The operator's results, bound."""
    state, op = emitter.state, emitter.op
    rows = sizes.directions * CELLS[op.kind].gates * sizes.hidden
    resets_after = op.kind == "GRU" and op.flag("linear_before_reset")
    operands = [
        state.value(op, 0),
        _reshaped(emitter, state.value(op, 1), (rows, sizes.depth)),
        _reshaped(emitter, state.value(op, 2), (rows, sizes.hidden)),
        *_biases(emitter, rows, resets_after),
    ]
    initial = _initial_states(emitter, sizes)
    operands += initial
    has_peepholes = op.kind == "LSTM" and state.has(op, _PEEPHOLES)
    if has_peepholes:
        flat = (sizes.directions * 3 * sizes.hidden,)
        operands.append(_reshaped(emitter, state.value(op, _PEEPHOLES), flat))
    lengths = _lengths(emitter, sizes)
    operation = Recurrence(
        CellKind(op.kind.lower()),
        tuple(function for some in functions for function in some),
        sizes.reversed,
        sizes.batch_first,
        max(op.number("clip", 0.0), 0.0),
        resets_after,
        op.kind == "LSTM" and op.flag("input_forget"),
        bool(initial),
        has_peepholes,
        lengths is not None,
    )
    state.emit(op, operation, [*operands, *([] if lengths is None else [lengths])])


def _reshaped(emitter: Emitter, x: Value, shape: Shape) -> Value:
    known = emitter.state.builder.known.get(x)
    if known is None or x.type.shape == shape:
        return reshaped(emitter.state, emitter.op, x, shape)
    return emitter.state.add_constant(known.reshape(shape), x.name)


def _biases(emitter: Emitter, rows: int, are_apart: bool) -> list[Value]:
    """Of the products with the input and with the hidden state; one for both unless `are_apart`."""
    state, op = emitter.state, emitter.op
    if not state.has(op, 3):
        zeros = state.builder.add_no_bias(rows)
        return [zeros] * (2 if are_apart else 1)
    both, width = state.value(op, 3), CELLS[op.kind].gates * state.value(op, 2).type.shape[2]
    halves = [emitter.part(both, begin, width, 1) for begin in (0, width)]
    if are_apart:
        return [_reshaped(emitter, half, (rows,)) for half in halves]
    total = emitter.sum(*halves)
    assert total is not None
    return [_reshaped(emitter, total, (rows,))]


def _initial_states(emitter: Emitter, sizes: RecurrentSizes) -> list[Value]:
    """Hidden state, and cell state of LSTM; nothing if all of them are zeros."""
    state, op = emitter.state, emitter.op
    given = [
        state.value(op, position) if state.has(op, position) else None
        for position in range(5, 5 + CELLS[op.kind].state_count)
    ]
    known = [None if value is None else state.builder.known.get(value) for value in given]
    pairs = zip(given, known, strict=True)
    if all(value is None or (data is not None and not data.any()) for value, data in pairs):
        return []
    return [
        state.add_constant(np.zeros(sizes.state, np.float32), "zeros") if value is None else value
        for value in given
    ]


def _lengths(emitter: Emitter, sizes: RecurrentSizes) -> Value | None:
    """None if every sequence has all steps."""
    state, op = emitter.state, emitter.op
    if not state.has(op, 4):
        return None
    lengths = state.value(op, 4)
    known = state.builder.known.get(lengths)
    return None if known is not None and bool((known >= sizes.steps).all()) else lengths
